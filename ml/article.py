"""The extraction target: what an article is, as text and as canonical JSON.

Belongs here: the `Article` value, its plaintext and JSON forms, its JSON Schema and the strict reader.
Does not belong here: how an article is found in a page (`ml/alignment.py`), or Fundus' own classes
(`resources/fundus/extraction.py` converts them).
"""

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NaiveDatetime,
    StrictBool,
    ValidationInfo,
    model_validator,
)

SCHEMA_PATH = Path(__file__).parent / "schemas" / "article.schema.json"

_SPACE = re.compile(r"\s+")
_DATE = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})?$"


def normalise_text(text: str) -> str:
    """Collapse every run of Unicode whitespace to one space and strip the ends."""
    return _SPACE.sub(" ", text).strip()


def _clean(value: object) -> object:
    """Normalised text; half a surrogate pair, which JSON-LD can hold and no file can, becomes U+FFFD."""
    if not isinstance(value, str):
        return value
    if not value.isascii():
        value = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return normalise_text(value)


def _iso_text(value: object, info: ValidationInfo) -> object:
    """In JSON a date is the text that `to_json` writes; pydantic alone would also read "1709278200"."""
    if info.mode == "json" and value is not None and not (isinstance(value, str) and re.match(_DATE, value)):
        raise ValueError(f"found {value!r}, expected a date and time such as 2024-03-01T07:30:00+01:00")
    return value


Text = Annotated[str, BeforeValidator(_clean), Field(min_length=1)]
"""One line of text without leading, trailing or repeated whitespace; never empty."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _is_complete(cls, value: object, info: ValidationInfo) -> object:
        """Defaults are for code that builds a value; JSON that leaves a key out is not canonical."""
        found = value if info.mode == "json" and isinstance(value, dict) else cls.model_fields
        if missing := [name for name in cls.model_fields if name not in found]:
            raise ValueError(f"found no {', '.join(missing)}; expected {', '.join(cls.model_fields)}")
        return value


class Section(_Strict):
    """Paragraphs under at most a few headlines; the first section of a body often has no headline."""

    headline: tuple[Text, ...] = ()
    paragraphs: tuple[Text, ...] = ()


class Body(_Strict):
    """The text of an article in reading order: summary lines, then sections."""

    summary: tuple[Text, ...] = ()
    sections: tuple[Section, ...] = ()

    def lines(self) -> list[str]:
        """Every summary line, headline and paragraph in reading order."""
        sections = (line for part in self.sections for line in (*part.headline, *part.paragraphs))
        return [*self.summary, *sections]


class Article(_Strict):
    """A news article, as Fundus extracts one and as every extractor of ours returns one.

    `publishing_date` keeps the zone that the page gives; a page that gives none yields a naive date.
    """

    title: Text | None = None
    authors: tuple[Text, ...] = ()
    publishing_date: Annotated[AwareDatetime | NaiveDatetime | None, BeforeValidator(_iso_text)] = None
    topics: tuple[Text, ...] = ()
    free_access: StrictBool = True
    body: Body = Body()

    @property
    def plaintext(self) -> str:
        """Summary, headlines and paragraphs joined by blank lines, as Fundus' `str(body)` does."""
        return "\n\n".join(self.body.lines())

    def to_json(self) -> str:
        """Canonical JSON: fixed key order, real characters, no spaces to spare, ISO 8601 dates.

        Two equal articles give the same bytes, so the text can be hashed, compared and learnt.
        """
        date: datetime | None = self.publishing_date
        fields: dict[str, Any] = {
            "title": self.title,
            "authors": list(self.authors),
            "publishing_date": date.isoformat() if date else None,
            "topics": list(self.topics),
            "free_access": self.free_access,
            "body": {
                "summary": list(self.body.summary),
                "sections": [
                    {"headline": list(part.headline), "paragraphs": list(part.paragraphs)}
                    for part in self.body.sections
                ],
            },
        }
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Article":
        """Read canonical JSON back; raises `ValueError` with every mismatch when the text is not it."""
        return cls.model_validate_json(text)


def article_json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) that `Article.to_json` fulfils; published at `SCHEMA_PATH`."""
    text = {"type": "string", "pattern": r"\S"}
    texts = {"type": "array", "items": text}
    # ISO 8601 with an optional zone: pages without a zone exist, so RFC 3339's "date-time" is too strict.
    date = {"type": "string", "pattern": _DATE}

    def strict_object(**properties: Any) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    section = strict_object(headline=texts, paragraphs=texts)
    article = strict_object(
        title={"anyOf": [text, {"type": "null"}]},
        authors=texts,
        publishing_date={"anyOf": [date, {"type": "null"}]},
        topics=texts,
        free_access={"type": "boolean"},
        body=strict_object(summary=texts, sections={"type": "array", "items": section}),
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "News article",
        "description": "What news-crawler-LM extracts from a news page.",
        **article,
    }
