"""Jaro-Winkler by hand."""

import pytest

from ml.metrics import jaro_winkler


def test_matches_transpositions_and_prefix() -> None:
    # MARTHA, MARHTA: 6 matches, T and H swapped = 1 transposition; prefix of 3
    jaro = (6 / 6 + 6 / 6 + (6 - 1) / 6) / 3
    assert jaro_winkler.score("MARTHA", "MARHTA") == pytest.approx(jaro + 3 * 0.1 * (1 - jaro))


def test_no_prefix_bonus_below_a_jaro_similarity_of_0_7() -> None:
    # abcdef, axyzuvw: one match, no transposition; prefix of 1 does not count
    jaro = (1 / 6 + 1 / 7 + 1) / 3
    assert jaro_winkler.score("abcdef", "axyzuvw") == pytest.approx(jaro)
