"""BLEU of one article: how many of the prediction's 1- to 4-grams the reference has (Papineni et al., 2002).

Belongs here: sentence BLEU of token sequences, unsmoothed, and its two protocols. Does not belong here:
corpus BLEU, which hides per-article values, counting n-grams (`ngrams.py`)
or tokenizing (`tokens.py`).
"""

import math
from collections.abc import Sequence

from ml.metrics.ngrams import overlaps
from ml.metrics.tokens import tokens_13a, words

MAX_ORDER = 4


def bleu(prediction: Sequence[str], reference: Sequence[str], *, max_order: int = MAX_ORDER) -> float:
    """Geometric mean of the clipped n-gram precisions times the brevity penalty; 0 if a precision is 0."""
    counts = list(overlaps(prediction, reference, max_order))
    if not all(order.shared for order in counts):
        return 0.0
    brevity = min(1.0, math.exp(1 - len(reference) / len(prediction)))
    return brevity * math.exp(sum(math.log(order.shared / order.found) for order in counts) / max_order)


def score(prediction: str, reference: str) -> float:
    """BLEU, 0 to 1, on the words of every script.

    A reference shorter than four words is compared up to its own length, so that a text always equals itself;
    two texts without a word give 1.
    """
    found, wanted = words(prediction), words(reference)
    if not wanted:
        return float(not found)
    return bleu(found, wanted, max_order=min(MAX_ORDER, len(wanted)))


def score_paper(prediction: str, reference: str) -> float:
    """BLEU, 0 to 1, as the paper's code computes it: 13a tokens, always up to 4-grams; empty texts give 0."""
    return bleu(tokens_13a(prediction), tokens_13a(reference))
