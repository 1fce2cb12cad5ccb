"""What an extractor of others finds in a page, and how it says that it found nothing.

Belongs here: the value that every baseline returns, as an article. Does not belong here: finding it.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from ml.article import Article, Body, Section, normalise_text


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """What a library found, in its own words: nothing is added, and what it did not find is absent."""

    text: str  # every paragraph on lines of its own
    title: str | None = None
    authors: tuple[str, ...] = ()
    publishing_date: datetime | None = None
    topics: tuple[str, ...] = ()

    def article(self) -> Article:
        """The same as an article: blank or impossible values absent, lines of the text as paragraphs of one section."""
        return Article(
            title=normalise_text(self.title or "") or None,
            authors=_without_blank(self.authors),
            publishing_date=_possible(self.publishing_date),
            topics=_without_blank(self.topics),
            body=Body(sections=(Section(paragraphs=_without_blank(self.text.splitlines())),)),
        )


def _without_blank(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(value for value in values if normalise_text(value))


def _possible(date: datetime | None) -> datetime | None:
    """The date, unless its zone cannot be written: parsers of dates take any number for one."""
    with suppress(ValueError):  # a day or more from UTC
        offset = date.utcoffset() if date else None
        return date if not offset or offset % timedelta(minutes=1) == timedelta() else None
    return None


class ExtractionFailedError(Exception):
    """The library found no article, or gave up on the page in a way that it documents."""
