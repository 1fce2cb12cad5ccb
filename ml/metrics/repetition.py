"""Repetition: the share of 5-grams that the output already used, as SimCTG's rep-n (Su et al., 2022).

Belongs here: repetition inside one output; lower is better. News repeats itself too: compare with the
references' own value.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from ml.metrics.tokens import words

ORDER = 5


def score(prediction: str, reference: str = "") -> float:
    """1 minus distinct over all 5-grams of words, 0 to 1; 0 for shorter texts; needs no reference."""
    return _again(_counts(words(prediction)))


def score_paper(prediction: str, reference: str = "") -> float:
    """The same over what stands between spaces, as the paper's code counts: from 0.1 on, it drops the output."""
    return _again(_paper_counts(prediction))


def score_paper_words(prediction: str, reference: str = "") -> float:
    """Share of distinct 5-grams, between spaces, that occur more than once, 0 to 1; 0 for shorter texts.

    Our reading of the paper's words, a "ratio of repeated n-grams", by which a loop of one sentence has 1.
    """
    counts = _paper_counts(prediction)
    return sum(count > 1 for count in counts.values()) / len(counts) if counts else 0.0


@lru_cache(maxsize=8)
def _paper_counts(prediction: str) -> Counter[tuple[str, ...]]:
    return _counts(prediction.split())


def _counts(tokens: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[start:] for start in range(ORDER)), strict=False))


def _again(counts: Counter[tuple[str, ...]]) -> float:
    return 1 - len(counts) / counts.total() if counts else 0.0
