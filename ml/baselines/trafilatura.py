"""Trafilatura (Barbaresi, 2021): rules over the parsed page, with fallbacks."""

import unicodedata
from contextlib import suppress
from datetime import datetime
from typing import ClassVar

from ml.baselines.base import Baseline
from ml.baselines.extraction import Extraction, ExtractionFailedError


class Trafilatura(Baseline):
    """Main text without comments and tables, which news articles of the reference do not have either."""

    name: ClassVar[str] = "trafilatura"
    package: ClassVar[str] = "trafilatura"
    distribution: ClassVar[str] = "trafilatura"
    revision: ClassVar[int] = 2
    gives: ClassVar[frozenset[str]] = frozenset({"title", "authors", "publishing_date", "topics"})

    def extract(self, html: str, url: str) -> Extraction:
        """The main text, one paragraph a line, and the metadata; a date is a day, so its time is midnight."""
        from trafilatura import bare_extraction
        from trafilatura.settings import Document

        found = bare_extraction(
            html, url=url, include_comments=False, include_tables=False, with_metadata=True
        )
        if not isinstance(found, Document):
            raise ExtractionFailedError("Trafilatura found no main text")
        return Extraction(
            # Composed, as by its `extract`, which gives the text alone.
            text=unicodedata.normalize("NFC", found.text or ""),
            title=found.title,
            authors=tuple((found.author or "").split("; ")),
            publishing_date=_day(found.date),
            # Each tag is the content of one meta element, its keywords still joined by commas.
            topics=tuple(topic.strip() for tag in found.tags or () for topic in tag.split(",")),
        )


def _day(text: str | None) -> datetime | None:
    with suppress(ValueError):
        return datetime.fromisoformat(text or "")
    return None
