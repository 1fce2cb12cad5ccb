"""ROUGE-L by hand."""

import pytest

from ml.metrics import rouge_l


def test_f1_of_the_longest_common_subsequence() -> None:
    # common in order: a c d = 3 of 4 predicted, 3 of 5 wanted: 2 * 3 / (4 + 5)
    assert rouge_l.score("a x c d", "a b c d e") == pytest.approx(6 / 9)


def test_order_counts() -> None:
    # of two swapped halves only one is in order: 2 of 4 words both ways
    assert rouge_l.score("c d a b", "a b c d") == pytest.approx(0.5)


def test_scripts_without_spaces_compare_characters() -> None:
    # 7 of 8 characters: 2 * 7 / (7 + 8)
    assert rouge_l.score("東京で大きな地", "東京で大きな地震") == pytest.approx(14 / 15)


def test_the_paper_splits_at_umlauts() -> None:
    # "bürger" is b, rger and "burger" is burger
    assert rouge_l.score_paper("der Bürger", "der Burger") == pytest.approx(2 * 1 / (3 + 2))
    assert rouge_l.score("der Bürger", "der Burger") == pytest.approx(0.5)
