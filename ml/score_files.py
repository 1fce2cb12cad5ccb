"""Predictions and references of any system, read from JSON Lines for scoring.

Belongs here: what a row may hold, and every way in which it can be wrong. Does not belong here: scoring
(`ml/evaluation.py`) or printing.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, StrictStr, ValidationError, model_validator

from ml.article import Article
from ml.metrics import fields, json_validity
from ml.metrics.registry import Reference
from ml.records import Prediction

SHOWN_PROBLEMS = 10

_FIELDS_OF_KEY = {
    "title": {"title"},
    "authors": {"authors"},
    "publishing_date": {"date_instant", "date_day"},
    "topics": {"topics"},
}


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    id: StrictStr
    text: StrictStr | None = None
    json_: StrictStr | dict[str, object] | None = None

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, row: object) -> object:
        """`json` names a method of pydantic's."""
        if not isinstance(row, dict):
            return row
        if row.get("text") is None and row.get("json") is None:
            raise ValueError("found neither text nor json; a failure is an empty text")
        return {("json_" if key == "json" else key): value for key, value in row.items() if key != "json_"}

    @cached_property
    def written(self) -> str | None:
        """The JSON as text; an object is written canonically."""
        if self.json_ is None or isinstance(self.json_, str):
            return self.json_
        return json.dumps(self.json_, ensure_ascii=False, separators=(",", ":"))

    @cached_property
    def article(self) -> Article | None:
        """The JSON as an article, if it is one."""
        try:
            return Article.from_json(self.written or "")
        except ValueError:
            return None

    @property
    def plaintext(self) -> str | None:
        """The text as it is given, or that of the article."""
        if self.text is not None:
            return self.text
        return None if self.article is None else self.article.plaintext


class PredictionRow(_Row):
    """What a system made of one page: `text`, or `json` as it was written (or as an object)."""

    def prediction(self, reference: Reference) -> Prediction:
        """As our own extractors' answers are stored; JSON that is no article holds no text."""
        return Prediction(
            page_id=self.id,
            url=reference.url,
            publisher=reference.publisher,
            language=reference.language,
            extractor="predictions",
            text=self.plaintext or "",
            json=self.written,
            truncated=False,
            seconds=0.0,
            error=None,
        )


class ReferenceRow(_Row):
    """What is right for one page: `text`, `json` or both; `page` is its text or HTML, for groundedness."""

    publisher: StrictStr | None = None  # pages of one are drawn together; without, each page is its own
    language: StrictStr | None = None
    page: StrictStr = ""

    @model_validator(mode="after")
    def _is_comparable(self) -> "ReferenceRow":
        if self.written is not None and not json_validity.score(self.written):
            raise ValueError("json is no JSON object, so nothing can be compared with it")
        if self.plaintext is None:
            raise ValueError("json is no article of ours, so the article's text is needed as text")
        return self

    def reference(self) -> Reference:
        """With the keys that the JSON states; the rest is compared with nothing."""
        return Reference(
            page_id=self.id,
            url=self.id,
            publisher=self.publisher or self.id,
            language=self.language,
            plaintext=self.plaintext or "",
            json=self.written or "{}",
            compact=self.page,
            fields=self._fields(),
        )

    def _fields(self) -> frozenset[str]:
        if self.article:
            return frozenset(fields.FIELDS)
        stated = fields.read(self.written or "{}") or {}
        return frozenset().union(*(_FIELDS_OF_KEY.get(key, set()) for key in stated))


R = TypeVar("R", bound=_Row)


@dataclass(frozen=True, kw_only=True)
class _File(Generic[R]):
    rows: dict[str, R]
    problems: list[str]


def read_pairs(predictions: Path, references: Path) -> tuple[list[Prediction], dict[str, Reference]]:
    """The rows of both files, paired by `id`.

    Raises `ValueError` with everything that is wrong: lines that are no such row, ids that are there twice,
    and ids that only one of the files has.
    """
    found, wanted = _read(predictions, PredictionRow), _read(references, ReferenceRow)
    problems = [*found.problems, *wanted.problems]
    if not problems:
        problems = list(_unpaired(found.rows, predictions, wanted.rows, references))
    if problems:
        more = f"\nand {len(problems) - SHOWN_PROBLEMS} more" if len(problems) > SHOWN_PROBLEMS else ""
        raise ValueError("\n".join(problems[:SHOWN_PROBLEMS]) + more)
    known = {page_id: row.reference() for page_id, row in wanted.rows.items()}
    return [row.prediction(known[page_id]) for page_id, row in found.rows.items()], known


def _read(path: Path, kind: type[R]) -> _File[R]:
    rows: dict[str, R] = {}
    problems: list[str] = []
    counts: Counter[str] = Counter()
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = kind.model_validate(json.loads(line))
        except ValidationError as error:
            problems.append(f"{path}, line {number}: {_first(error)}")
        except (ValueError, RecursionError) as error:  # no JSON, or no UTF-8
            problems.append(f"{path}, line {number}: expected one JSON object, {error}")
        else:
            rows[row.id] = row
            counts[row.id] += 1
    problems += [f"{path}: id {row_id!r} is there {n} times" for row_id, n in counts.items() if n > 1]
    if not rows and not problems:
        problems.append(f"{path}: found no rows; expected JSON objects with id and text or json, one a line")
    return _File(rows=rows, problems=problems)


def _first(error: ValidationError) -> str:
    detail = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(part).rstrip("_") for part in detail["loc"][:1])
    return f"{where}: {detail['msg']}" if where else str(detail["msg"])


def _unpaired(
    found: dict[str, PredictionRow], predictions: Path, wanted: dict[str, ReferenceRow], references: Path
) -> Iterator[str]:
    if missing := sorted(wanted.keys() - found.keys()):
        yield (
            f"{predictions} lacks {len(missing)} of the {len(wanted)} ids of {references}, such as {missing[0]!r}; "
            f"a page that a system failed on is a row with an empty text"
        )
    if unknown := sorted(found.keys() - wanted.keys()):
        yield f"{predictions} has {len(unknown)} ids that {references} lacks, such as {unknown[0]!r}"
