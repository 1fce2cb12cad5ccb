"""Repetition: the share of 5-grams that the output already used, as SimCTG's rep-n (Su et al., 2022).

Belongs here: repetition inside one output; lower is better. News repeats itself too: compare with the
references' own value.
"""

from ml.metrics.tokens import words

ORDER = 5


def score(prediction: str, reference: str = "") -> float:
    """1 minus distinct over all 5-grams of words, 0 to 1; 0 for shorter texts; needs no reference."""
    tokens = words(prediction)
    ngrams = list(zip(*(tokens[start:] for start in range(ORDER)), strict=False))
    return 1 - len(set(ngrams)) / len(ngrams) if ngrams else 0.0
