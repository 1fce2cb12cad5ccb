"""What `newslm extract` says of a page: one row, as JSON and as Arrow.

Belongs here: the columns and how an extraction becomes them. Does not belong here: extracting (`ml/extractor.py`),
processes and files (`ml/bulk.py`).
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Annotated

from ml.archives import ArchivedPage
from ml.extractor import Extraction, Extractor
from ml.page import PageError, decode
from ml.records import Record

Key = tuple[str | None, str | None, datetime | None]

_AS_OBJECTS = ("article", "field_confidence", "provenance")
"""Columns that hold JSON in Arrow, and are objects in a JSON line."""


@dataclass(frozen=True, kw_only=True)
class ExtractionRow(Record):
    """A page that was read, or the error in its place."""

    file: str | None
    url: str | None
    date: Annotated[datetime | None, "of the capture; None for a page that was fetched now"]
    is_article: bool
    confidence: Annotated[float, "0 to 1, that the page is an article"]
    language: Annotated[str | None, "as the page declares it"] = None
    title: str | None = None
    authors: tuple[str, ...] = ()
    publishing_date: Annotated[str | None, "ISO 8601, with the zone that the page states"] = None
    topics: tuple[str, ...] = ()
    free_access: bool | None = None
    text: Annotated[str | None, "summary, headlines and paragraphs, joined by blank lines"] = None
    article: Annotated[str | None, "canonical JSON"] = None
    field_confidence: Annotated[str | None, "JSON: by field, 0 to 1"] = None
    provenance: Annotated[str | None, "JSON: where each line and value was copied from"] = None
    error: str | None = None
    model: Annotated[str, "the first digits of its file's SHA-256"]

    @property
    def key(self) -> Key:
        """What tells the page from every other: where it lies, or its URL alone if it was fetched."""
        return (self.file, self.url, self.date)

    def to_json(self) -> str:
        """One JSON line, which `from_json` reads again."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        for name in _AS_OBJECTS:
            values[name] = json.loads(values[name]) if values[name] else None
        return json.dumps(values, ensure_ascii=False, default=datetime.isoformat)

    @classmethod
    def from_json(cls, line: str | bytes) -> "ExtractionRow":
        """Raises `ValueError` for what `to_json` did not write."""
        values = json.loads(line)
        if not isinstance(values, dict) or values.keys() != {each.name for each in fields(cls)}:
            raise ValueError(f"expected a row that `newslm extract` wrote, found {line[:60]!r}")
        for name in _AS_OBJECTS:
            values[name] = _compact(values[name]) if values[name] is not None else None
        values |= {name: tuple(values[name]) for name in ("authors", "topics")}
        values["date"] = datetime.fromisoformat(values["date"]) if values["date"] else None
        return cls(**values)


def extraction_row(
    extractor: Extractor, page: ArchivedPage, *, model: str, provenance: bool
) -> ExtractionRow:
    """What the page holds; one that cannot be read has an error and no text."""
    try:
        found = extractor.extract(decode(page.data, charset=page.charset))
    except PageError as error:
        return failed_row(page, f"{error} ({error.reason})", model=model)
    row = replace(_row(page, model), confidence=found.confidence, language=found.language)
    if not (article := found.article):
        return row
    return replace(
        row,
        is_article=True,
        title=article.title,
        authors=article.authors,
        publishing_date=article.publishing_date.isoformat() if article.publishing_date else None,
        topics=article.topics,
        free_access=article.free_access,
        text=article.plaintext,
        article=article.to_json(),
        field_confidence=_compact({name: round(value, 4) for name, value in found.field_confidence.items()}),
        provenance=_compact(list(_provenance(found))) if provenance else None,
    )


def failed_row(page: ArchivedPage, error: str, *, model: str) -> ExtractionRow:
    """The row of a page of which nothing can be said."""
    return replace(_row(page, model), error=error)


def key_of(page: ArchivedPage) -> Key:
    """The key that the page's row will have."""
    return (page.origin, page.url, page.date) if page.origin else (None, page.url, None)


def _row(page: ArchivedPage, model: str) -> ExtractionRow:
    file, url, date = key_of(page)
    return ExtractionRow(file=file, url=url, date=date, is_article=False, confidence=0, model=model)


def _provenance(found: Extraction) -> Iterator[dict[str, str | int | None]]:
    for line in found.lines:
        yield {"of": line.role, "text": line.text, "from": "block", "block": line.block, "path": line.path}
    for origin in found.origins:
        yield {
            "of": origin.field,
            "text": origin.value,
            "from": origin.place,
            "block": origin.block,
            "path": origin.path,
        }


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
