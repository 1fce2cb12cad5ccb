"""Repetition by hand."""

import pytest

from ml.metrics import repetition


def test_share_of_5_grams_seen_before() -> None:
    # a b c d e a b c d e: 6 five-grams, abcde twice: 5 distinct
    assert repetition.score("a b c d e a b c d e") == pytest.approx(1 / 6)
    assert repetition.score_paper("a b c d e a b c d e") == pytest.approx(1 / 6)


def test_share_of_distinct_5_grams_that_occur_again() -> None:
    # of the 5 distinct ones abcde occurs again
    assert repetition.score_paper_words("a b c d e a b c d e") == pytest.approx(1 / 5)
    # a loop: all 5 rotations occur again
    assert repetition.score_paper_words("a b c d e " * 9) == 1


def test_a_loop_of_one_word_is_almost_all_repetition() -> None:
    assert repetition.score("no " * 104) == repetition.score_paper("no " * 104) == pytest.approx(99 / 100)


def test_the_paper_counts_what_stands_between_spaces() -> None:
    # "no," and "no" differ: no five of them are the same
    assert repetition.score("no, no no, no no no") == pytest.approx(1 / 2)
    assert repetition.score_paper("no, no no, no no no") == 0


@pytest.mark.parametrize("text", ["", "no no no no"])
def test_texts_shorter_than_5_words_do_not_repeat(text: str) -> None:
    assert repetition.score(text) == repetition.score_paper(text) == repetition.score_paper_words(text) == 0
