"""What a page offers for each field: values copied from it, and every place that each was found in.

Belongs here: collecting, splitting and merging candidates. Does not belong here: which of them is right
(`ml/fields/model.py`), or what is told of a candidate (`ml/fields/features.py`).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Generic, TypeVar

from ml.blocks import Block
from ml.fields.dates import dates_in, parse_date
from ml.fields.names import looks_like_name, names_of_byline, split_names, starts_as_byline
from ml.fields.text import folded
from ml.metadata import Candidate, Fact, Source
from ml.page import JSON_LD_HINT, Page

T = TypeVar("T")

MAX_TITLE_CHARACTERS = 400
MAX_TOPIC_CHARACTERS = 100
MAX_OPTIONS = 100  # of a field; a page with more is a trap, and comparing them all would take long
MAX_STATEMENTS = 300  # of a fact
_BYLINE_CHARACTERS = 160
_BYLINE_BEFORE, _BYLINE_AFTER = 6, 18  # blocks around the headline
_FAR_BYLINE_CHARACTERS = 60
_NAME_BEFORE, _NAME_AFTER, _NAME_LINE_CHARACTERS = 2, 6, 80  # where a bare name may be an author's
_DATE_BEFORE, _DATE_AFTER, _DATE_FAR_AFTER = 8, 14, 45
_DATE_CHARACTERS, _FAR_DATE_CHARACTERS = 120, 40
_DATE_HINT = re.compile("date|time|publish|update|meta|byline")
_BYLINE_HINT = re.compile("author|autor|byline|editor|reporter|credit|signature|meta|bio")
_TOPIC_HINT = re.compile("tag|topic|keyword")
_TITLE_BREAK = re.compile(r"\s+[|–—\-·•»«:]+\s+|--+|::|[｜|]")
_WORD = re.compile(r"\w+")
_COMMA = re.compile(r"[,;，、；]")
_DIGIT = re.compile(r"\d")
_HAN = re.compile(r"[\u3400-\u9fff]")


class Place(StrEnum):
    """Where a candidate was found; MODIFIED and SECTION are statements that may hold the value of another."""

    JSON_LD = "json_ld"
    META = "meta"
    TITLE_TAG = "title_tag"
    HEADING = "heading"
    TIME = "time"
    MODIFIED = "modified"
    SECTION = "section"
    BYLINE = "byline"
    VISIBLE = "visible"


@dataclass(frozen=True, kw_only=True, slots=True)
class Mention:
    """One finding of a value: in which statement of a place, counted from 0, as which of how many parts.

    `distance` is that of a visible block from the headline's, in blocks; `hint` and `links` are the block's.
    """

    place: Place
    statement: int = 0
    part: int = 0
    parts: int = 1
    distance: int = 0
    hint: str = ""
    links: float = 0.0
    prefixed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Option(Generic[T]):
    """A value that may be a field's, and where the page has it, first mention first."""

    value: T
    mentions: tuple[Mention, ...]

    def at(self, place: Place) -> Mention | None:
        """The first mention in a place."""
        return next((mention for mention in self.mentions if mention.place is place), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class FieldCandidates:
    """The options of each field in reading order; for free access, what is stated."""

    title: tuple[Option[str], ...]
    authors: tuple[Option[str], ...]
    publishing_date: tuple[Option[datetime], ...]
    topics: tuple[Option[str], ...]
    free_access: tuple[tuple[Source, str], ...]
    headline: int
    """The number of the block that holds the headline; 0 where none is marked up as one."""


_PLACES = {
    Source.JSON_LD: Place.JSON_LD,
    Source.META: Place.META,
    Source.TITLE_TAG: Place.TITLE_TAG,
    Source.HEADING: Place.HEADING,
    Source.TIME: Place.TIME,
}


def candidates(page: Page) -> FieldCandidates:
    """Every option of a page, in one pass over its metadata and its blocks near the headline."""
    headline = _headline_block(page)
    return FieldCandidates(
        title=_merged(_titles(page), folded),
        authors=_merged(_authors(page, headline), _words),
        publishing_date=_merged(_dates(page, headline), _written),
        topics=_merged(_topics(page, headline), folded),
        free_access=tuple((c.source, c.value) for c in _stated(page, Fact.FREE_ACCESS)),
        headline=headline,
    )


def _merged(found: Iterable[tuple[T, Mention]], key: Callable[[T], str]) -> tuple[Option[T], ...]:
    """One option for values that read the same, in the form that came first."""
    values: dict[str, T] = {}
    mentions: dict[str, list[Mention]] = {}
    for value, mention in found:
        if not (same := key(value)):
            continue
        if same not in values and len(values) >= MAX_OPTIONS:
            continue
        values.setdefault(same, value)
        mentions.setdefault(same, []).append(mention)
    return tuple(Option(value=values[same], mentions=tuple(mentions[same])) for same in values)


def _words(name: str) -> str:
    """A name by its words alone: "ann-lee", as addresses have it, is Ann Lee."""
    return " ".join(_WORD.findall(folded(name)))


def _written(date: datetime) -> str:
    return date.isoformat()


def _headline_block(page: Page) -> int:
    """The first h1 that says what the metadata say, else the first h1, else a block that does, else 0."""
    stated = {folded(value) for value in page.metadata.values(Fact.TITLE, Source.JSON_LD, Source.META)}
    headings = [at for at, block in enumerate(page.blocks) if block.tag == "h1"]
    agreeing = (at for at in headings if folded(page.blocks[at].text) in stated)
    if (at := next(agreeing, None)) is not None:
        return at
    if headings:
        return headings[0]
    short = (
        (at, block.text) for at, block in enumerate(page.blocks) if len(block.text) <= MAX_TITLE_CHARACTERS
    )
    same = (at for at, text in short if folded(text) in stated)
    return next(same, 0)


def _stated(page: Page, fact: Fact) -> list[Candidate]:
    stated = (candidate for candidate in page.metadata.candidates if candidate.fact is fact)
    return list(islice(stated, MAX_STATEMENTS))


def _numbered(page: Page, fact: Fact) -> Iterator[tuple[Place, int, str]]:
    """The statements of a fact with their number within their source."""
    count: dict[Source, int] = {}
    for candidate in _stated(page, fact):
        number = count.get(candidate.source, 0)
        count[candidate.source] = number + 1
        yield _PLACES[candidate.source], number, candidate.value


def _titles(page: Page) -> Iterator[tuple[str, Mention]]:
    cut: list[tuple[str, Mention]] = []
    for place, number, value in _numbered(page, Fact.TITLE):
        if len(value) <= MAX_TITLE_CHARACTERS:
            yield value, Mention(place=place, statement=number)
            if place is not Place.HEADING:
                cut += _without_endings(value, place, number)
    yield from cut


def _without_endings(title: str, place: Place, number: int) -> Iterator[tuple[str, Mention]]:
    """The title without its last, its last two … parts: a site's name, a section, a date."""
    breaks = [found.start() for found in _TITLE_BREAK.finditer(title) if found.start() > 0]
    for part, at in enumerate(reversed(breaks[-3:]), start=1):
        if ":" not in title[at : at + 2]:
            yield title[:at], Mention(place=place, statement=number, part=part, parts=part + 1)


def _authors(page: Page, headline: int) -> Iterator[tuple[str, Mention]]:
    for place, number, value in _numbered(page, Fact.AUTHOR):
        yield from _each(list(split_names(value)), Mention(place=place, statement=number))
    for at, block in _near(page.blocks, headline, _BYLINE_BEFORE, _BYLINE_AFTER):
        if len(block.text) <= _BYLINE_CHARACTERS:
            yield from _byline(block, at - headline)
    for at, block in enumerate(page.blocks[headline + _BYLINE_AFTER + 1 :], start=_BYLINE_AFTER + 1):
        if len(block.text) <= _FAR_BYLINE_CHARACTERS and starts_as_byline(block.text):
            yield from _byline(block, at)


def _byline(block: Block, distance: int) -> Iterator[tuple[str, Mention]]:
    """The names in a block that says that it holds some, or that has what may be one a few blocks from the headline."""
    prefixed = starts_as_byline(block.text)
    if prefixed or _BYLINE_HINT.search(block.hint):
        where = _at_block(Place.BYLINE, block, distance, prefixed=prefixed)
        yield from _each(list(names_of_byline(block.text)), where)
    elif distance and -_NAME_BEFORE <= distance <= _NAME_AFTER and len(block.text) <= _NAME_LINE_CHARACTERS:
        names = [name for name in names_of_byline(block.text) if looks_like_name(name)]
        yield from _each(names, _at_block(Place.BYLINE, block, distance))


def _each(values: Sequence[str], where: Mention) -> Iterator[tuple[str, Mention]]:
    """The parts of a statement, each with its number."""
    for part, value in enumerate(values):
        yield value, replace(where, part=part, parts=len(values))


def _at_block(place: Place, block: Block, distance: int, *, prefixed: bool = False) -> Mention:
    return Mention(
        place=place, distance=distance, hint=block.hint, links=block.link_density, prefixed=prefixed
    )


def _near(blocks: tuple[Block, ...], headline: int, before: int, after: int) -> Iterator[tuple[int, Block]]:
    """The blocks around the headline, those after it first."""
    for at in (*range(headline, headline + after + 1), *range(headline - 1, headline - before - 1, -1)):
        if 0 <= at < len(blocks) and blocks[at].hint != JSON_LD_HINT:
            yield at, blocks[at]


def _dates(page: Page, headline: int) -> Iterator[tuple[datetime, Mention]]:
    for place, number, value in _numbered(page, Fact.PUBLISHED):
        if date := parse_date(value):
            yield date, Mention(place=place, statement=number)
    for _, number, value in _numbered(page, Fact.MODIFIED):
        if date := parse_date(value):
            yield date, Mention(place=Place.MODIFIED, statement=number)
    visible = (
        (date, at - headline, block.hint)
        for at, block in _near(page.blocks, headline, _DATE_BEFORE, _DATE_FAR_AFTER)
        if _may_hold_date(block, at - headline)
        for date in dates_in(block.text)
    )
    for number, (date, distance, hint) in enumerate(visible):
        yield date, Mention(place=Place.VISIBLE, statement=number, distance=distance, hint=hint)


def _may_hold_date(block: Block, distance: int) -> bool:
    """Whether a line is worth a look: a short one, and far from the headline only what is little more than a date."""
    near = distance <= _DATE_AFTER or _DATE_HINT.search(block.hint)
    limit = _DATE_CHARACTERS if near else _FAR_DATE_CHARACTERS
    return len(block.text) <= limit and _DIGIT.search(block.text) is not None


def _topics(page: Page, headline: int) -> Iterator[tuple[str, Mention]]:
    for place, number, value in _numbered(page, Fact.TOPIC):
        yield from _each(_keywords(value), Mention(place=place, statement=number))
    for _, number, value in _numbered(page, Fact.SECTION):
        yield from _each(_keywords(value), Mention(place=Place.SECTION, statement=number))
    for at, block in enumerate(page.blocks):
        if block.hint and len(block.text) <= MAX_TOPIC_CHARACTERS and _TOPIC_HINT.search(block.hint):
            yield from _each(_keywords(block.text), _at_block(Place.VISIBLE, block, at - headline))


def _keywords(statement: str) -> list[str]:
    """The keywords of a list; Chinese pages set spaces between them, and nothing else."""
    parts = [" ".join(part.split()) for part in _COMMA.split(statement)]
    if len(parts) == 1 and len(_HAN.findall(statement)) > 1:
        parts = statement.split()
    return [part for part in parts if part and len(part) <= MAX_TOPIC_CHARACTERS]
