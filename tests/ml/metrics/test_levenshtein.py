"""Levenshtein by hand."""

import pytest

from ml.metrics import levenshtein


def test_edits_per_character_of_the_longer_text() -> None:
    # kitten, sitten, sittin, sitting: 3 edits, 7 characters
    assert levenshtein.score("kitten", "sitting") == pytest.approx(3 / 7)


def test_lone_surrogates_and_right_to_left_text_are_characters() -> None:
    assert levenshtein.score("\ud800a", "a") == pytest.approx(1 / 2)
    assert levenshtein.score("שלום", "שלומ") == pytest.approx(1 / 4)
