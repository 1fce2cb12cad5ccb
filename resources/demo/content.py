"""Writes little local news from the sentence templates in `content/<language>.json`.

Belongs here: filling templates and composing a text. Every choice comes from one generator seeded by a
string, so a text is the same in every process. Does not belong here: which site prints it (`newsroom.py`).
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

FOLDER = Path(__file__).parent / "content"

_SLOT = re.compile(r"\{(\w+)(?:\.(\d))?\}")


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Subject(_Data):
    """What one department of a newsroom writes about."""

    section: str
    path: str  # of the department in URLs
    topics: list[str]
    subjects: list[str]
    titles: list[str]
    summaries: list[str]
    headlines: list[str]
    sentences: list[str]


class Phrases(_Data):
    """The words of one language. A slot value may hold its inflected forms: `{town.1}` is the second one."""

    smallest: int  # the counts and the rounding that the grammar of the templates allows
    largest: int
    round_to: int
    space: str  # between sentences
    thousands: str
    decimal: str
    direction: str  # ltr or rtl
    money: str
    days: list[str]
    months: list[str]
    towns: list[str]
    people: list[str]  # title and name, then the surname
    groups: list[str]
    places: list[str]
    authors: list[str]
    commenters: list[str]
    agency: str
    ui: dict[str, str]  # the labels of a site's furniture
    comments: list[str]
    captions: list[str]
    list_intros: list[str]
    list_items: list[str]
    sentences: list[str]
    quotes: list[str]
    stories: list[Subject]


@cache
def phrases(language: str) -> Phrases:
    """The words of `language` (ISO 639-1)."""
    return Phrases.model_validate_json((FOLDER / f"{language}.json").read_text(encoding="utf-8"))


class Kind(StrEnum):
    """How a layout prints a block; all but headlines count as paragraphs of the article."""

    HEADLINE = "headline"
    PARAGRAPH = "paragraph"
    ITEMS = "items"
    QUOTE = "quote"
    FIGURE = "figure"  # a picture whose caption tells a part of the story


@dataclass(frozen=True)
class Block:
    """One piece of a body: a single line, or one line per item of a list."""

    kind: Kind
    lines: tuple[str, ...]


class Genre(StrEnum):
    """How a text is built."""

    REPORT = "report"
    TICKER = "ticker"
    PHOTO_STORY = "photo_story"


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A text as written, before a site prints it. `titles` are alternatives to choose from."""

    subject: Subject
    town: str
    surname: str
    titles: tuple[str, ...]
    summary: str
    topics: tuple[str, ...]
    blocks: tuple[Block, ...]
    captions: tuple[str, ...]
    comments: tuple[tuple[str, str], ...]  # name and text

    def sentences(self) -> list[str]:
        """The quotations of the text, or else its paragraphs: what a pull quote may repeat."""
        quotes = [block.lines[0] for block in self.blocks if block.kind is Kind.QUOTE]
        return quotes or [block.lines[0] for block in self.blocks if block.kind is Kind.PARAGRAPH]


class Writer:
    """Writes in one language about one town, one person and one subject; all drawn from `seed`."""

    def __init__(self, language: str, seed: str) -> None:
        self.words = phrases(language)
        self.rng = random.Random(seed)
        self.subject = self.rng.choice(self.words.stories)
        self.bound = {
            "town": self.rng.choice(self.words.towns),
            "person": self.rng.choice(self.words.people),
            "subject": self.rng.choice(self.subject.subjects),
        }
        self.bound["surname"] = self.bound["person"].split("|")[1]
        quotes = self.rng.sample(self.words.quotes, len(self.words.quotes))
        self.set_apart, self.run_in = quotes[:2], quotes[2:]  # no quotation is printed both ways

    def write(self, template: str, shared: dict[str, str] | None = None) -> str:
        """Fill the slots of `template`; a slot keeps its value within one template.

        Templates written with the same `shared` dictionary agree on all their slots.
        """
        values = dict(self.bound) if shared is None else shared

        def fill(match: re.Match[str]) -> str:
            name, form = match[1], int(match[2] or 0)
            if name not in values:
                values[name] = self._draw(name, values)
            return values[name].split("|")[form]

        text = _SLOT.sub(fill, template)
        return text[0].upper() + text[1:]

    def _draw(self, name: str, values: dict[str, str]) -> str:
        words, rng = self.words, self.rng
        match name:
            case "town2":
                return rng.choice([town for town in words.towns if town != self.bound["town"]])
            case "person2":
                return rng.choice([one for one in words.people if one != self.bound["person"]])
            case "group" | "place" | "day" | "month":
                choices: list[str] = getattr(words, f"{name}s")
                return rng.choice(choices)
            case "n":
                return str(rng.randint(words.smallest, words.largest))
            case "n2":
                return str(rng.randint(1, int(values["n"]) - 1))
            case "big":
                number = rng.randint(120, 9800) // words.round_to * words.round_to
                return f"{number:,}".replace(",", words.thousands)
            case "year":
                return str(rng.randint(1908, 2019))
            case "time":
                return f"{rng.randint(8, 21)}:{rng.randrange(0, 60, 5):02}"
            case "money":
                return words.money.format(f"{rng.randint(11, 98) / 10:.1f}".replace(".", words.decimal))
        raise ValueError(f"unknown slot {name!r} in a template; see `Writer._draw` for the known ones")

    def lines(self) -> Iterator[str]:
        """Endless sentences; a template comes back only when all others were used."""
        while True:
            pool = [*self.subject.sentences, *self.words.sentences, *self.run_in]
            yield from map(self.write, _shuffled(self.rng, pool))

    def some(self, templates: list[str], count: int) -> tuple[str, ...]:
        """`count` different templates, filled."""
        return tuple(map(self.write, self.rng.sample(templates, count)))


def _shuffled(rng: random.Random, templates: list[str]) -> list[str]:
    """The templates in another order."""
    return rng.sample(templates, len(templates))


def write_draft(language: str, seed: str, genre: Genre = Genre.REPORT) -> Draft:
    """A whole text of 4 to about 20 paragraphs."""
    writer = Writer(language, seed)
    subject, words = writer.subject, writer.words
    town = writer.bound["town"].split("|")[0]
    front = dict(writer.bound)  # title and summary speak of the same numbers
    return Draft(
        subject=subject,
        town=town,
        surname=writer.bound["surname"],
        titles=tuple(writer.write(title, front) for title in _shuffled(writer.rng, subject.titles)),
        summary=writer.write(writer.rng.choice(subject.summaries), front),
        topics=(*writer.rng.sample(subject.topics, writer.rng.randint(2, 4)), town),
        blocks=tuple(_blocks(writer, genre)),
        captions=writer.some(words.captions, 2),
        comments=tuple(
            zip(writer.rng.sample(words.commenters, 3), writer.some(words.comments, 3), strict=True),
        ),
    )


def _blocks(writer: Writer, genre: Genre) -> Iterator[Block]:
    rng, lines = writer.rng, writer.lines()
    headlines = map(writer.write, _shuffled(rng, writer.subject.headlines))
    quotes = map(writer.write, writer.set_apart)
    count = rng.randint(4, 11)
    list_after = rng.randrange(1, 8)  # beyond a short text: then it has no list
    for number in range(count):
        if _wants_headline(genre, number, count) and (headline := next(headlines, None)):
            yield Block(Kind.HEADLINE, (headline,))
        sentences = [next(lines) for _ in range(rng.choice((1, 2, 2, 3)))]
        yield Block(Kind.PARAGRAPH, (writer.words.space.join(sentences),))
        if genre is Genre.PHOTO_STORY and number < len(writer.words.captions):
            yield Block(Kind.FIGURE, (writer.write(writer.words.captions[number]),))
        if number == list_after and count < 10:
            yield Block(Kind.PARAGRAPH, writer.some(writer.words.list_intros, 1))
            yield Block(Kind.ITEMS, writer.some(writer.words.list_items, rng.randint(2, 4)))
        elif rng.random() < 0.2 and (quote := next(quotes, None)):
            yield Block(Kind.QUOTE, (quote,))


def _wants_headline(genre: Genre, number: int, count: int) -> bool:
    if genre is Genre.TICKER:
        return number % 2 == 0
    return number > 0 and number % 3 == 0 and number < count - 1
