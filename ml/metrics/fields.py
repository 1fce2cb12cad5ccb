"""Fields: the values of an article's keys, compared with those that are right.

Belongs here: what counts as found, wanted and shared for each key of one JSON output. Does not belong here:
precision, recall and F1 of a set, or the paper's way of counting (`fields_paper.py`).

Texts are equal if they read the same: case, typographic or plain quotes and dashes, Unicode forms and spaces
are style, in which a page's metadata and its visible text often differ. A value of a wrong type is found and
wrong; null, an empty text and a missing key are nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from ml.metrics import json_validity
from ml.metrics.tokens import normalise


@dataclass(frozen=True)
class Counts:
    """Values of a key in the output, in the reference, and in both."""

    found: int
    wanted: int
    shared: float


Values = Mapping[str, object]
"""An article's JSON as it was read; of an output, nothing is certain about it."""

Item = tuple[str, str] | None
"""What a text is (a topic, a headline) and the text as it is compared; None for what is no text."""

_STYLE = str.maketrans(
    dict.fromkeys("‘’‚‛′ʼ`‹›", "'") | dict.fromkeys("“”„‟″«»", '"') | dict.fromkeys("‐‑‒–—―−", "-")
)


def read(text: str) -> Values | None:
    """The keys and values of an output; None if it is no strict JSON object."""
    return json_validity.read(text)


@lru_cache(maxsize=512)  # several metrics look at the lines of one article
def _plain(text: str) -> str:
    return " ".join(normalise(text.translate(_STYLE)).split())


def _texts(value: object, role: str) -> Iterator[Item]:
    """The texts of a list; whatever else stands there, or in its place, is None."""
    for text in value if isinstance(value, list) else _some(value):
        if not isinstance(text, str) or not isinstance(value, list):
            yield None
        elif plain := _plain(text):
            yield role, plain


def _some(value: object) -> list[object]:
    return [] if value is None or value == "" else [value]


def _title(article: Values) -> Iterator[Item]:
    return _texts(_some(article.get("title")), "title")


def _authors(article: Values) -> Iterator[Item]:
    return _texts(article.get("authors"), "author")


def _topics(article: Values) -> Iterator[Item]:
    return _texts(article.get("topics"), "topic")


def _body(article: Values) -> Iterator[Item]:
    """Summary lines, headlines and paragraphs, wherever in the body they stand."""
    for body in _some(article.get("body")):
        if isinstance(body, dict):
            yield from _texts(body.get("summary"), "summary")
            yield from _sections(body.get("sections"))
        else:
            yield None


def _sections(value: object) -> Iterator[Item]:
    for section in value if isinstance(value, list) else _some(value):
        if isinstance(section, dict) and isinstance(value, list):
            yield from _texts(section.get("headline"), "headline")
            yield from _texts(section.get("paragraphs"), "paragraph")
        else:
            yield None


Compare = Callable[[Values | None, Values], Counts]


def _shared_items(items: Callable[[Values], Iterator[Item]]) -> Compare:
    """In any order, each as often as both have it."""

    def compare(found: Values | None, wanted: Values) -> Counts:
        has, needs = list(items(found or {})), list(items(wanted))
        common = Counter(has) & Counter(needs)
        del common[None]
        return Counts(found=len(has), wanted=len(needs), shared=common.total())

    return compare


def _same_date(equal: Callable[[datetime, datetime], bool]) -> Compare:
    def compare(found: Values | None, wanted: Values) -> Counts:
        has, needs = (_some((article or {}).get("publishing_date")) for article in (found, wanted))
        dates = [_date(value) for value in (*has, *needs)]
        shared = (
            len(dates) == 2 and dates[0] is not None and dates[1] is not None and equal(dates[0], dates[1])
        )
        return Counts(found=len(has), wanted=len(needs), shared=int(shared))

    return compare


def _date(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _same_instant(first: datetime, second: datetime) -> bool:
    """Of a date without a zone nothing is known but what is written: then only that is compared."""
    if first.tzinfo is None or second.tzinfo is None:
        return first.replace(tzinfo=None) == second.replace(tzinfo=None)
    return first == second


def _same_day(first: datetime, second: datetime) -> bool:
    """As written, each in its own zone: what a reader sees."""
    return first.date() == second.date()


FIELDS: dict[str, Compare] = {
    "title": _shared_items(_title),
    "authors": _shared_items(_authors),
    "date_instant": _same_date(_same_instant),
    "date_day": _same_date(_same_day),
    "topics": _shared_items(_topics),
    "body": _shared_items(_body),
}
"""How each key is compared: the output's values (None: no strict JSON, everything is missed), the right ones."""
