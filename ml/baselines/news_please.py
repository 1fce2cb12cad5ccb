"""news-please (Hamborg et al., 2017): newspaper, readability and a date finder, and a vote among them."""

from typing import ClassVar

from ml.baselines.base import Baseline
from ml.baselines.extraction import Extraction, ExtractionFailedError


class NewsPlease(Baseline):
    """Its extractors for news in their default order; without the images that it would look up on the web."""

    name: ClassVar[str] = "news-please"
    package: ClassVar[str] = "newsplease"
    distribution: ClassVar[str] = "news-please"
    gives: ClassVar[frozenset[str]] = frozenset({"title", "authors", "publishing_date"})

    def extract(self, html: str, url: str) -> Extraction:
        """The main text, one paragraph a line, and the metadata; the date is the page's, without its zone."""
        from newsplease import NewsPlease as Library

        found = Library.from_html(html, url=url, fetch_images=False)
        if not found or not found.maintext:  # an empty page gives an empty dictionary
            raise ExtractionFailedError("news-please found no main text")
        return Extraction(
            text=found.maintext,
            title=found.title,
            authors=tuple(found.authors or ()),
            publishing_date=found.date_publish,
        )
