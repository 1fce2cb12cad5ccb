"""ROUGE-L: how long a sequence of words prediction and reference share in order (Lin, 2004).

Belongs here: the F1 of the longest common subsequence over the whole text. Does not belong here: ROUGE-Lsum,
which works line by line, or tokenizing (`tokens.py`).
"""

from collections.abc import Sequence

from rapidfuzz.distance import LCSseq

from ml.metrics.tokens import rouge_words, words


def rouge_l(prediction: Sequence[str], reference: Sequence[str]) -> float:
    """F1 of the longest common subsequence; 0 if either has no token."""
    if not prediction or not reference:
        return 0.0
    common = LCSseq.similarity(prediction, reference)
    precision, recall = common / len(prediction), common / len(reference)
    return 2 * precision * recall / (precision + recall) if common else 0.0


def score(prediction: str, reference: str) -> float:
    """ROUGE-L F1, 0 to 1, on the words of every script; two texts without a word give 1."""
    found, wanted = words(prediction), words(reference)
    return 1.0 if not found and not wanted else rouge_l(found, wanted)


def score_paper(prediction: str, reference: str) -> float:
    """ROUGE-L F1, 0 to 1, as `rouge_score` computes it: only ASCII letters count; empty texts give 0."""
    return rouge_l(rouge_words(prediction), rouge_words(reference))
