"""Figures hold what they were given, come out the same every time, and survive having nothing to show."""

from dataclasses import dataclass
from xml.etree import ElementTree

import pytest

from ml.intervals import Summary
from ml.plots import (
    as_markdown_image,
    language_bars,
    reason_bars,
    score_intervals,
    token_histogram,
    training_curves,
)

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Point:
    name: str
    step: int
    value: float


POINTS = [Point("loss", step, 3 / step) for step in range(1, 30)] + [Point("validation_perplexity", 10, 4.0)]


def summary(extractor: str, metric: str, mean: float, low: float | None, high: float | None) -> Summary:
    return Summary(extractor=extractor, metric=metric, mean=mean, low=low, high=high, pages=9, publishers=3)


def texts(svg: bytes) -> str:
    """The words of a figure."""
    return " ".join(ElementTree.fromstring(svg).itertext())


def test_png_by_default_and_svg_on_demand() -> None:
    assert language_bars({"de": 3}).startswith(PNG_SIGNATURE)
    assert b"<svg" in language_bars({"de": 3}, image="svg")


@pytest.mark.parametrize("image", ["png", "svg"])
def test_the_same_numbers_give_the_same_bytes(image: str) -> None:
    first, second = (token_histogram([10, 2000], [5, 90], image=image) for _ in range(2))  # type: ignore[arg-type]
    assert first == second


def test_nothing_to_show_is_still_a_figure() -> None:
    figures = [
        token_histogram([], []),
        language_bars({}),
        reason_bars({}),
        training_curves([]),
        score_intervals([]),
    ]
    assert all(figure.startswith(PNG_SIGNATURE) for figure in figures)


def test_histogram_names_the_medians_and_takes_lengths_of_0() -> None:
    found = texts(token_histogram([0, 4000, 5000], [900], image="svg"))
    assert "pages, median 4,000" in found
    assert "articles, median 900" in found


def test_bars_show_every_count_and_gather_what_does_not_fit() -> None:
    counts = {f"language{number}": 100 - number for number in range(25)}
    found = texts(language_bars(counts, image="svg"))
    assert "language18" in found
    assert "language19" not in found
    rest = sum(100 - number for number in range(19, 25))
    assert "6 others" in found
    assert str(rest) in found


def test_reasons_are_read_as_words() -> None:
    assert "low coverage" in texts(reason_bars({"kept": 4, "low_coverage": 2}, image="svg"))


def test_one_panel_per_curve() -> None:
    found = texts(training_curves(POINTS, image="svg"))
    assert "loss" in found
    assert "validation perplexity" in found


def test_intervals_rank_extractors_and_tolerate_missing_ones() -> None:
    rows = [
        summary("low", "rouge_l", 0.2, 0.1, 0.3),
        summary("high", "rouge_l", 0.9, None, None),
        summary("low", "levenshtein", 0.5, 0.4, 0.6),
    ]
    found = texts(score_intervals(rows, image="svg"))
    assert found.index("high") < found.index("low")
    assert "Levenshtein" in found
    assert "distance ↓" in found


def test_names_are_text_and_not_mathematics() -> None:
    assert "a$\\frac$b<i>" in texts(reason_bars({"a$\\frac$b<i>": 1}, image="svg"))


def test_a_markdown_image_needs_no_file() -> None:
    assert as_markdown_image(b"abc", "curve") == "![curve](data:image/png;base64,YWJj)"
