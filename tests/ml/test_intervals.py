"""Intervals by publisher, and comparisons on the same pages."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from ml.intervals import ScoreTable, Summary, summarise
from ml.records import Score


def score(
    value: float | None,
    *,
    page: str,
    publisher: str,
    extractor: str,
    metric: str = "bleu",
    weight: float = 1.0,
) -> Score:
    return Score(
        page_id=page,
        publisher=publisher,
        language="en",
        extractor=extractor,
        metric=metric,
        value=value,
        weight=weight,
    )


def test_the_mean_is_over_pages_and_the_interval_over_publishers() -> None:
    # two publishers, 3 pages at 0.9 and 1 page at 0.5: mean 3.2 / 4. Drawing two of them with replacement
    # gives (0.9, 0.9), (0.9, 0.5) or (0.5, 0.5): the outer ones come one time in four each.
    rows = [score(0.9, page=f"a{i}", publisher="A", extractor="e") for i in range(3)]
    rows.append(score(0.5, page="b", publisher="B", extractor="e"))
    (summary,) = summarise(rows)
    assert (summary.mean, summary.low, summary.high) == pytest.approx((0.8, 0.5, 0.9))
    assert (summary.pages, summary.publishers) == (4, 2)


def test_one_publisher_gives_no_interval() -> None:
    (summary,) = summarise([score(0.9, page=str(i), publisher="A", extractor="e") for i in range(9)])
    assert (summary.mean, summary.low, summary.high) == (pytest.approx(0.9), None, None)


def test_clusters_widen_the_interval() -> None:
    def width(publisher_of: Sequence[str]) -> float:
        rows = [
            score(float(i % 2), page=str(i), publisher=publisher, extractor="e")
            for i, publisher in enumerate(publisher_of)
        ]
        (summary,) = summarise(rows)
        assert summary.low is not None
        assert summary.high is not None
        return summary.high - summary.low

    # pages alternate 0 and 1; whole publishers that only have zeros or ones are far fewer draws
    assert width([f"{i % 2}-{i % 10}" for i in range(100)]) > 2 * width([str(i) for i in range(100)])


def test_the_interval_holds_the_true_mean_about_95_times_of_100() -> None:
    chance = np.random.default_rng(3)
    hits = 0
    for _ in range(200):
        levels = chance.normal(0.5, 0.1, size=40)  # publishers differ more than their pages
        rows = [
            score(level + chance.normal(0, 0.02), page=f"{i}-{j}", publisher=str(i), extractor="e")
            for (i, level), j in product(enumerate(levels), range(5))
        ]
        (summary,) = summarise(rows, resamples=300)
        assert summary.low is not None
        assert summary.high is not None
        hits += summary.low <= 0.5 <= summary.high
    assert 0.89 <= hits / 200 <= 0.99


def test_summaries_depend_on_the_seed_and_not_on_row_order() -> None:
    chance = np.random.default_rng(0)
    rows = [
        score(float(chance.random()), page=str(i), publisher=str(i % 7), extractor="e") for i in range(50)
    ]
    forwards, backwards = (vars(summarise(order)[0]) for order in (rows, rows[::-1]))
    numbers = ("mean", "low", "high")
    assert [forwards[name] for name in numbers] == pytest.approx([backwards[name] for name in numbers])
    assert summarise(rows, seed=1) != summarise(rows)


def _two_extractors(gap: float, metric: str = "bleu") -> list[Score]:
    """Twelve publishers that differ widely; extractor b is `gap` below a on each page."""
    return [
        score(level, page=f"{i}", publisher=f"{i}", extractor=extractor, metric=metric)
        for i in range(12)
        for extractor, level in (("a", 0.4 + i / 20), ("b", 0.4 + i / 20 - gap))
    ]


def test_pairing_finds_a_small_steady_gap_that_separate_intervals_hide() -> None:
    rows = _two_extractors(0.02)
    first, second = summarise(rows)
    assert first.low is not None
    assert second.high is not None
    assert first.low < second.high  # the intervals overlap
    difference = ScoreTable(rows).difference("bleu", "a", "b")
    assert difference.mean == pytest.approx(0.02)
    assert difference.first_is_better
    assert not difference.first_is_worse
    assert ScoreTable(rows).difference("bleu", "b", "a").first_is_worse


def test_lower_is_better_where_the_metric_says_so() -> None:
    assert ScoreTable(_two_extractors(0.02, "bleu")).clearly_best("bleu") == "a"
    assert ScoreTable(_two_extractors(0.02, "levenshtein")).clearly_best("levenshtein") == "b"


def test_nobody_is_best_without_a_difference_or_a_rival() -> None:
    assert ScoreTable(_two_extractors(0.0)).clearly_best("bleu") is None
    assert (
        ScoreTable([row for row in _two_extractors(0.1) if row.extractor == "a"]).clearly_best("bleu") is None
    )
    assert ScoreTable([]).clearly_best("bleu") is None


def test_nobody_is_best_by_a_perplexity_of_other_tokens() -> None:
    rows = [replace(row, value=2 - (row.value or 0)) for row in _two_extractors(0.02, "perplexity")]
    assert ScoreTable(rows).difference("perplexity", "a", "b").first_is_better
    assert ScoreTable(rows).clearly_best("perplexity") is None


def test_comparing_different_pages_raises() -> None:
    rows = _two_extractors(0.1)[:-1]
    with pytest.raises(ValueError, match="found 12 and 11 pages, 11 of them shared"):
        ScoreTable(rows).difference("bleu", "a", "b")
    with pytest.raises(ValueError, match="found 12 and 0 pages"):
        ScoreTable(rows).difference("bleu", "a", "nobody")


def test_summaries_are_records() -> None:
    table = Summary.table(summarise(_two_extractors(0.1)))
    assert list(Summary.rows(table)) == summarise(_two_extractors(0.1))


def test_weights_count_over_all_pages_together() -> None:
    # 1 of 2 and 9 of 10 right: 10 of 12, and not the mean of the two shares
    rows = [
        score(1 / 2, weight=2, page="a", publisher="A", extractor="e", metric="title_precision"),
        score(9 / 10, weight=10, page="b", publisher="B", extractor="e", metric="title_precision"),
    ]
    summary = next(row for row in summarise(rows) if row.metric == "title_precision")
    assert summary.mean == pytest.approx(10 / 12)


def test_f1_is_of_the_set_and_not_of_its_pages() -> None:
    # precision 1/2, recall 1/4 over the set: 2 * 1/8 / (3/4) = 1/3
    rows = [
        score(value, weight=weight, page="a", publisher="A", extractor="e", metric=metric)
        for metric, value, weight in (("title_precision", 1 / 2, 2), ("title_recall", 1 / 4, 4))
    ]
    (f1,) = [row for row in summarise(rows) if row.metric == "title_f1"]
    assert f1.mean == pytest.approx(1 / 3)


def test_f1_is_zero_where_nothing_was_found() -> None:
    rows = [
        score(None, page="a", publisher="A", extractor="e", metric="title_precision"),
        score(0.0, page="a", publisher="A", extractor="e", metric="title_recall"),
    ]
    assert {row.metric: row.mean for row in summarise(rows)}["title_f1"] == 0


def test_perplexity_is_over_all_tokens() -> None:
    # losses of 1 and 4 a token over 30 and 10 tokens: exp(70 / 40)
    rows = [
        score(math.e, weight=30, page="a", publisher="A", extractor="e", metric="perplexity"),
        score(math.e**4, weight=10, page="b", publisher="B", extractor="e", metric="perplexity"),
    ]
    (summary,) = summarise(rows)
    assert summary.mean == pytest.approx(math.exp(70 / 40))


def test_a_resample_without_a_page_that_counts_is_left_out() -> None:
    # half the publishers state no date: a draw of those alone has no precision
    rows = [
        score(1.0 if i else None, page=str(i), publisher=str(i), extractor="e", metric="date_day_precision")
        for i in range(2)
    ]
    summary = next(row for row in summarise(rows) if row.metric == "date_day_precision")
    assert (summary.low, summary.high, summary.pages, summary.publishers) == (1, 1, 1, 2)


def test_a_score_that_is_no_number_is_an_error() -> None:
    with pytest.raises(ValueError, match="bleu of e on page a is not a number"):
        summarise([score(math.nan, page="a", publisher="A", extractor="e")])


@pytest.mark.parametrize("metric", ["charm", "title_f1"])
def test_a_score_that_no_page_is_measured_by_is_an_error(metric: str) -> None:
    with pytest.raises(ValueError, match=f"found a score of '{metric}'"):
        summarise([score(0.5, page="a", publisher="A", extractor="e", metric=metric)])
