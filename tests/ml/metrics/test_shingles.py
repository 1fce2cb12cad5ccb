"""Shingles by hand."""

import pytest

from ml.metrics import shingles


def test_share_of_4_grams() -> None:
    # abcd bcde cdex | abcd bcde cdef defg: 2 shared of 3 and of 4
    assert shingles.precision("a b c d e x", "a b c d e f g") == pytest.approx(2 / 3)
    assert shingles.recall("a b c d e x", "a b c d e f g") == pytest.approx(2 / 4)


def test_repeated_shingles_count_as_often_as_both_have_them() -> None:
    # aaaa 3 times and once
    assert shingles.precision("a a a a a a", "a a a a") == pytest.approx(1 / 3)
    assert shingles.recall("a a a a a a", "a a a a") == 1


def test_a_text_of_fewer_words_is_one_shingle() -> None:
    assert shingles.precision("a b", "a b") == shingles.recall("a b", "a b") == 1
    assert shingles.precision("a b", "a b c d") == shingles.recall("a b", "a b c d") == 0
    assert shingles.precision("a b c", "a b d") == 0


def test_an_article_without_words_is_left_out() -> None:
    assert (shingles.precision("", "a"), shingles.recall("", "a")) == (None, 0)
    assert (shingles.precision("a", "…"), shingles.recall("a", "…")) == (0, None)


def test_case_counts_and_punctuation_does_not() -> None:
    assert shingles.precision("Ja! Die Straße, bitte.", "Ja die Straße bitte") == 0
    assert shingles.precision("Ja! Die Straße, bitte.", "Ja Die Straße bitte") == 1
