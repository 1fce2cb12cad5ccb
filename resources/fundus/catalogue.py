"""Which publishers there are: Fundus' collection, or the demo newsroom's.

Belongs here: facts about publishers and how to find one by key. Does not belong here: versions of their
rules (`rules.py`), crawling (`sources.py`), extraction (`extraction.py`).
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fundus.publishers.base_objects import Publisher


def fundus_version() -> str:
    """The installed Fundus release; recorded beside the data, never part of a content version."""
    return version("fundus")


@dataclass(frozen=True, kw_only=True)
class PublisherFacts:
    """What the pipeline knows of a publisher without asking its website."""

    key: str  # Fundus' class attribute, such as "DieZeit"; the partition key
    name: str
    country: str  # Fundus' group, mostly ISO 3166 alpha-2
    domain: str
    languages: tuple[str, ...]
    family: str  # root parser module: publishers of one family share a template
    deprecated: bool
    disallows_training: bool  # Fundus' own flag; robots.txt is read when crawling


class Catalogue(Mapping[str, "Publisher"]):
    """Publishers by key, in a stable order."""

    def __init__(self, publishers: Iterable[Publisher]) -> None:
        self._publishers = {str(publisher.__name__): publisher for publisher in publishers}
        self._families = _families(self._publishers)

    def __getitem__(self, key: str) -> Publisher:
        if key not in self._publishers:
            close = difflib.get_close_matches(key, self._publishers, n=3, cutoff=0.5)
            hint = f"; did you mean {', '.join(close)}?" if close else ""
            raise ValueError(
                f"unknown publisher {key!r}: {len(self)} are known, such as "
                f"{', '.join(list(self)[:3])}{hint} (list them with `newslm publishers`)"
            )
        return self._publishers[key]

    def __contains__(self, key: object) -> bool:
        return key in self._publishers

    def __iter__(self) -> Iterator[str]:
        return iter(self._publishers)

    def __len__(self) -> int:
        return len(self._publishers)

    def family(self, key: str) -> str:
        """The family of a publisher: the module of the root parser that it shares with others, or its key."""
        return self._families[key]

    def facts(self, key: str) -> PublisherFacts:
        """What is known of one publisher."""
        publisher = self[key]
        return PublisherFacts(
            key=key,
            name=publisher.name,
            country=publisher.__group__.__name__,
            domain=publisher.domain,
            languages=tuple(sorted(publisher.languages)),
            family=self.family(key),
            deprecated=publisher.deprecated,
            disallows_training=publisher._disallows_training,
        )

    def key_of(self, publisher_name: str) -> str:
        """The key of a publisher by the name that Fundus puts into `source_info`."""
        return next(key for key, publisher in self._publishers.items() if publisher.name == publisher_name)


@cache
def fundus_catalogue() -> Catalogue:
    """All publishers of the installed Fundus."""
    from fundus import PublisherCollection

    return Catalogue(PublisherCollection)


@cache
def demo_catalogue() -> Catalogue:
    """The fictional publishers that ship with the product."""
    from resources.demo.publishers import DemoPublishers

    return Catalogue(DemoPublishers)


def parser_modules(publisher: Publisher) -> list[str]:
    """The modules outside Fundus' own parser package whose classes a publisher's parser is made of.

    Ordered from the publisher's own module to the root that a whole family may share.
    """
    classes = [base for parser in publisher.parser for base in parser.__mro__]
    modules = [type(publisher.parser).__module__, *(base.__module__ for base in classes)]
    shared = ("fundus.parser.", "abc", "builtins", "typing")
    return list(dict.fromkeys(name for name in modules if not name.startswith(shared)))


def _families(publishers: Mapping[str, Publisher]) -> dict[str, str]:
    """Group publishers whose parsers meet in a module: connected components, named by that module."""
    modules = {key: parser_modules(publisher) for key, publisher in publishers.items()}
    users = Counter(name for names in modules.values() for name in names)
    families: dict[str, str] = {}
    for key, names in modules.items():
        shared = [name for name in names if users[name] > 1]
        families[key] = shared[-1].rsplit(".", 1)[-1] if shared else key
    return families
