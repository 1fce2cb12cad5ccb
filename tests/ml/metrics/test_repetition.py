"""Repetition by hand."""

import pytest

from ml.metrics import repetition


def test_share_of_5_grams_seen_before() -> None:
    # a b c d e a b c d e: 6 five-grams, abcde twice: 5 distinct
    assert repetition.score("a b c d e a b c d e") == pytest.approx(1 / 6)


def test_a_loop_of_one_word_is_almost_all_repetition() -> None:
    assert repetition.score("no " * 104) == pytest.approx(99 / 100)


def test_texts_shorter_than_5_words_do_not_repeat() -> None:
    assert repetition.score("no no no no") == 0
