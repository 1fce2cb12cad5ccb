"""Perplexity by hand."""

import math

import pytest

from ml.metrics import perplexity


def test_as_many_equally_likely_tokens() -> None:
    # 5 tokens, each one of 8 equally likely: nll = 5 ln 8
    assert perplexity.score(5 * math.log(8), 5) == pytest.approx(8)
    assert perplexity.score(0, 3) == 1


def test_beyond_a_float_it_is_infinite() -> None:
    assert perplexity.score(710.0, 1) == math.inf
    assert perplexity.score(math.inf, 1) == math.inf


@pytest.mark.parametrize(("nll", "tokens"), [(1.0, 0), (1.0, -3), (math.nan, 3), (-0.1, 3)])
def test_impossible_losses_are_refused(nll: float, tokens: int) -> None:
    with pytest.raises(ValueError, match=r"found .*, expected"):
        perplexity.score(nll, tokens)
