r"""Shingles: 4-grams of words that two texts share, as the article-extraction benchmark counts them.

Belongs here: precision and recall of one article with the tokens (`\w+`) and conventions of Scrapinghub's
benchmark. Does not belong here: its figures of a set, the plain means of the articles that count and the
harmonic mean of these two.
"""

from functools import lru_cache

from ml.metrics.ngrams import Overlap, overlaps
from ml.metrics.tokens import raw_words

ORDER = 4


def precision(prediction: str, reference: str) -> float | None:
    """Share of the prediction's shingles that the reference has; None, for left out, if it has none."""
    overlap = _overlap(prediction, reference)
    return overlap.shared / overlap.found if overlap.found else None


def recall(prediction: str, reference: str) -> float | None:
    """Share of the reference's shingles that the prediction has; None, for left out, if it has none."""
    overlap = _overlap(prediction, reference)
    return overlap.shared / overlap.wanted if overlap.wanted else None


@lru_cache(maxsize=8)  # both ask for it
def _overlap(prediction: str, reference: str) -> Overlap:
    found, wanted = raw_words(prediction), raw_words(reference)
    if min(len(found), len(wanted)) >= ORDER:
        *_, longest = overlaps(found, wanted, ORDER)
        return longest
    # A text of fewer words is one shingle, which only the same text has.
    return Overlap(found=_count(found), wanted=_count(wanted), shared=int(bool(found) and found == wanted))


def _count(tokens: tuple[str, ...]) -> int:
    return max(len(tokens) - ORDER + 1, int(bool(tokens)))
