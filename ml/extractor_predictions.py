"""What an extractor answers to evaluation pages, as every other extractor does.

Belongs here: the loop over pages and an extraction as a prediction. Does not belong here: extracting
(`ml/extractor.py`).
"""

import time
from collections.abc import Iterable, Iterator

from ml.article import Article
from ml.baselines.base import PageInput
from ml.extractor import Extractor
from ml.page import PageError
from ml.records import Prediction


def predictions(extractor: Extractor, pages: Iterable[PageInput], *, name: str) -> Iterator[Prediction]:
    """One prediction a page, in order. A page that is probably no article has the JSON of an empty one."""
    for page in pages:
        started = time.perf_counter()
        try:
            found = extractor.extract(page.html)
        except PageError as error:
            seconds = time.perf_counter() - started
            yield Prediction.failed(page, extractor=name, error=error, seconds=seconds, device="cpu")
            continue
        article = found.article or Article()
        yield Prediction(
            page_id=page.page_id,
            url=page.url,
            publisher=page.publisher,
            language=page.language,
            extractor=name,
            text=article.plaintext,
            json=article.to_json(),
            truncated=False,
            seconds=time.perf_counter() - started,
            error=None if found.article else "probably no article",
            device="cpu",
        )
