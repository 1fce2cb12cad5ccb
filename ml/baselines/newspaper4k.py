"""newspaper4k (Paraschiv, after Ou-Yang's newspaper): the element whose paragraphs hold most stop words.

It takes the language from the page; the tokenizers of some are distributions of their own (its extras `ja`, `zh`,
`hi` …) or NLTK's data (Korean), and a page in such a language fails with the name of what is missing. Where two
elements score the same it takes either, so that one page in 250 comes out differently in another process.
"""

from typing import ClassVar

from ml.baselines.base import Baseline
from ml.baselines.extraction import Extraction, ExtractionFailedError


class Newspaper4k(Baseline):
    """Its parser on the page as it is: no download, no images, no summary, which would need NLTK's data."""

    name: ClassVar[str] = "newspaper4k"
    package: ClassVar[str] = "newspaper"
    distribution: ClassVar[str] = "newspaper4k"
    gives: ClassVar[frozenset[str]] = frozenset({"title", "authors", "publishing_date", "topics"})

    def extract(self, html: str, url: str) -> Extraction:
        """The text, one paragraph a line, and the metadata; topics are the keywords that the page declares."""
        from newspaper import Article

        article = Article(url, fetch_images=False)
        article.download(input_html=html)
        article.parse()
        if not article.text:
            raise ExtractionFailedError("newspaper4k found no article body")
        return Extraction(
            text=article.text,
            title=article.title,
            authors=tuple(article.authors),
            publishing_date=article.publish_date,
            topics=tuple(article.meta_keywords),
        )
