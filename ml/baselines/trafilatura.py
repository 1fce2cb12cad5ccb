"""Trafilatura (Barbaresi, 2021): rules over the parsed page, with fallbacks."""

from typing import ClassVar

from ml.baselines.base import Baseline, ExtractionFailedError


class Trafilatura(Baseline):
    """Main text without comments and tables, which news articles of the reference do not have either."""

    name: ClassVar[str] = "trafilatura"
    package: ClassVar[str] = "trafilatura"

    def extract(self, html: str, url: str) -> str:
        """The main text, one paragraph a line."""
        import trafilatura

        text: str | None = trafilatura.extract(html, url=url, include_comments=False, include_tables=False)
        if not text:
            raise ExtractionFailedError("Trafilatura found no main text")
        return text
