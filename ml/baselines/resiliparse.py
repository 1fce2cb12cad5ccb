"""Resiliparse (Bevendorff et al., 2018): fast rules over tags, classes and ids."""

from typing import ClassVar

from ml.baselines.base import Baseline
from ml.baselines.extraction import Extraction


class Resiliparse(Baseline):
    """Main content as its authors ask for it in their comparison of extractors: without bullets and links."""

    name: ClassVar[str] = "resiliparse"
    package: ClassVar[str] = "resiliparse"
    distribution: ClassVar[str] = "Resiliparse"

    def extract(self, html: str, url: str) -> Extraction:
        """The main content, one paragraph a line."""
        from resiliparse.extract.html2text import extract_plain_text

        text = extract_plain_text(
            html, main_content=True, list_bullets=False, links=False, alt_texts=False, comments=False
        )
        return Extraction(text=text)
