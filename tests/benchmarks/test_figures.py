"""Figures as they are shown: bars, cells, and the keys of the file."""

import pytest
from figures import ROWS, Figure, Figures, Row, cell, flat, rows

BY_KEY = {row.key: row for row in ROWS}


@pytest.mark.parametrize(
    ("key", "figures", "verdict"),
    [
        ("title", {"title": Figure(0.96)}, "yes"),
        ("title", {"title": Figure(0.9599)}, "NO"),
        ("share_under_06", {"share_under_06": Figure(0.015)}, "yes"),
        ("share_under_06", {"share_under_06": Figure(0.016)}, "NO"),
        ("bleu", {"bleu": Figure(0.96), "ahead_bleu": Figure(0.02, 0.01, 0.03)}, "yes"),
        ("bleu", {"bleu": Figure(0.96), "ahead_bleu": Figure(0.02, -0.01, 0.05)}, "NO"),
        ("bleu", {"bleu": Figure(0.96), "ahead_bleu": Figure(0.02)}, "NO"),
        ("pages_per_s", {"pages_per_s": Figure(90), "trafilatura_pages_per_s": Figure(45)}, "yes"),
        ("pages_per_s", {"pages_per_s": Figure(90), "trafilatura_pages_per_s": Figure(46)}, "NO"),
        ("paragraph_f1", {"paragraph_f1": Figure(0.1)}, ""),
    ],
)
def test_a_bar_is_reached_or_not(key: str, figures: Figures, verdict: str) -> None:
    assert BY_KEY[key].verdict(figures) == verdict


def test_one_peer_ahead_is_enough_to_miss_being_ahead_of_all() -> None:
    row = BY_KEY["gold_shingle_f1"]
    peers = {f"{name}_gold_shingle_f1": Figure(0.9) for name in ("trafilatura", "resiliparse", "boilerpipe")}
    assert row.verdict({**peers, row.key: Figure(0.91)}) == "yes"
    assert row.verdict({**peers, row.key: Figure(0.91), f"boilerpipe_{row.key}": Figure(0.92)}) == "NO"


def test_rows_are_those_that_were_measured_with_each_language_and_confidence() -> None:
    measured = {"language_ko": Figure(0.92), "title": Figure(1), "calibration_error_title": Figure(0.05)}
    shown = list(rows(measured))
    assert [row.key for row in shown] == ["title", "language_ko", "calibration_error_title"]
    assert [row.verdict(measured) for row in shown] == ["yes", "NO", ""]


def test_a_cell_has_its_interval_where_there_is_one() -> None:
    figures = {"a": Figure(0.5, 0.25, 0.75), "b": Figure(81.4)}
    assert cell(figures, "a", 2) == "0.50 [0.25, 0.75]"
    assert cell(figures, "b", 0) == "81"
    assert cell(figures, "c", 0) == ""


def test_the_file_has_bounds_beside_values() -> None:
    assert flat({"a": Figure(0.5, 0.25, 0.75), "b": Figure(2)}) == {
        "a": 0.5,
        "a_low": 0.25,
        "a_high": 0.75,
        "b": 2,
    }


def test_every_key_is_listed_once() -> None:
    keys = [row.key for row in ROWS]
    assert len(keys) == len(set(keys))
    assert all(isinstance(row, Row) for row in ROWS)
