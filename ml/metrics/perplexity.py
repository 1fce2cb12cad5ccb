"""Perplexity: how surprised a model is by the right output, as a number of equally likely tokens.

Belongs here: one target's loss turned into perplexity. Does not belong here: computing the loss
(`ml/losses.py`).
"""

import math


def score(nll: float, tokens: int) -> float:
    """exp of the mean negative log-likelihood (natural log, summed over `tokens` target tokens), 1 or more.

    Infinite where the mean exceeds what a float can hold (about 709.8). Raises `ValueError` without a token or
    a non-negative sum.
    """
    if tokens < 1:
        raise ValueError(f"found {tokens} target tokens, expected at least one: skip empty targets")
    if not nll >= 0:  # NaN is not
        raise ValueError(f"found {nll} as summed negative log-likelihood, expected a number from 0 on")
    try:
        return math.exp(nll / tokens)
    except OverflowError:
        return math.inf
