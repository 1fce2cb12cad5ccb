"""Boilerpipe (Kohlschütter et al., 2010) in its Python port: blocks judged by length and links."""

from typing import ClassVar

from ml.baselines.base import Baseline
from ml.baselines.extraction import Extraction, ExtractionFailedError


class Boilerpipe(Baseline):
    """The `ArticleExtractor`, the variant that was tuned on news."""

    name: ClassVar[str] = "boilerpipe"
    package: ClassVar[str] = "boilerpy3"
    distribution: ClassVar[str] = "boilerpy3"

    def extract(self, html: str, url: str) -> Extraction:
        """The text of the blocks taken for content, each starting a line."""
        from boilerpy3.exceptions import HTMLExtractionError
        from boilerpy3.extractors import ArticleExtractor

        try:
            return Extraction(text=ArticleExtractor().get_content(html))
        except HTMLExtractionError as error:
            raise ExtractionFailedError(f"Boilerpipe could not parse the page: {error.__cause__}") from error
