"""BLEU by hand."""

import math

import pytest

from ml.metrics import bleu


def test_precisions_clipping_and_no_penalty() -> None:
    # a b c d e against a b c d x: 4/5 words, 3/4 pairs, 2/3 triples, 1/2 quadruples, same length
    expected = (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** (1 / 4)
    assert bleu.score("a b c d e", "a b c d x") == pytest.approx(expected)
    assert expected == pytest.approx((1 / 5) ** (1 / 4))


def test_a_shorter_prediction_is_penalised() -> None:
    # every n-gram is right, but 4 of 6 words: exp(1 - 6/4)
    assert bleu.score("a b c d", "a b c d e f") == pytest.approx(math.exp(-0.5))


def test_repeating_a_word_earns_nothing() -> None:
    # reference x y (two words: up to pairs); prediction x x x x: 1/4 words, 0 pairs
    assert bleu.score("x x x x", "x y") == 0
    # one-word reference: 1/4 words
    assert bleu.score("x x x x", "x") == pytest.approx(1 / 4)


def test_unsmoothed_means_0_without_a_common_4_gram() -> None:
    assert bleu.score("a b c x d e f", "a b c y d e f") == 0
    assert bleu.score_paper("a b c", "a b c") == 0


def test_the_paper_counts_case_and_punctuation() -> None:
    assert bleu.score("A b, c d e.", "a b c d e") == 1
    assert bleu.score_paper("A b c d e", "a b c d e") == pytest.approx((1 / 5) ** (1 / 4))
