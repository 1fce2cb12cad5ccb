"""Scores per article, intervals by publisher, comparisons on the same pages."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from ml.article import Article
from ml.evaluation import (
    METRICS,
    Direction,
    Reference,
    Summary,
    clearly_best,
    paired_difference,
    score_predictions,
    summarise,
)
from ml.records import Prediction, Score

TEXT = "The council voted on Monday evening.\n\nThe mayor was not there."


def reference(page_id: str, publisher: str = "Gazette") -> Reference:
    return Reference(
        page_id=page_id,
        url=f"https://gazette.example/{page_id}",
        publisher=publisher,
        language="en",
        plaintext=TEXT,
        json=Article(title="Vote").to_json(),
        compact=f"<h1>Vote</h1><p>{TEXT}</p>",
    )


def prediction(page_id: str, text: str = TEXT, json: str | None = None, **changes: object) -> Prediction:
    fields: dict[str, object] = {
        "page_id": page_id,
        "url": f"https://gazette.example/{page_id}",
        "publisher": "Gazette",
        "language": "en",
        "extractor": "reader",
        "text": text,
        "json": json,
        "truncated": False,
        "seconds": 0.1,
        "error": None,
    }
    return Prediction(**(fields | changes))  # type: ignore[arg-type]


def references(*page_ids: str) -> dict[str, Reference]:
    return {page_id: reference(page_id) for page_id in page_ids}


def values(scores: Sequence[Score], page_id: str) -> dict[str, float | None]:
    return {row.metric: row.value for row in scores if row.page_id == page_id}


def score(value: float | None, *, page: str, publisher: str, extractor: str, metric: str = "bleu") -> Score:
    return Score(
        page_id=page, publisher=publisher, language="en", extractor=extractor, metric=metric, value=value
    )


def test_a_perfect_prediction_has_the_best_value_of_every_metric() -> None:
    found = values(score_predictions([prediction("a", json=Article().to_json())], references("a")), "a")
    assert found.keys() == METRICS.keys()
    for name, metric in METRICS.items():
        assert found[name] == pytest.approx(float(metric.better is Direction.HIGHER)), name


def test_a_failed_prediction_is_an_empty_text() -> None:
    failed = prediction("a", text="", json="", error="no answer within 60 s")
    found = values(score_predictions([failed], references("a")), "a")
    assert found["repetition"] == 0
    assert found["levenshtein"] == 1
    assert {found[name] for name in METRICS if name not in ("repetition", "levenshtein")} == {0.0}


def test_json_metrics_do_not_apply_to_an_extractor_without_json() -> None:
    scores = score_predictions([prediction("a")], references("a"))
    assert {row.metric for row in scores if row.value is None} == {"json_validity", "schema_validity"}
    assert not [row for row in summarise(scores) if row.metric == "json_validity"]


def test_no_json_from_an_extractor_that_writes_json_is_invalid() -> None:
    rows = [prediction("a", json="{}"), prediction("b", text="", json=None, error="crashed")]
    scores = score_predictions(rows, references("a", "b"))
    assert (values(scores, "a")["json_validity"], values(scores, "b")["json_validity"]) == (1, 0)


def test_mismatched_pages_are_all_named_with_counts() -> None:
    rows = [
        *[prediction(page, extractor="gappy") for page in ("a", "x")],
        *[prediction(page, extractor="double") for page in ("a", "a", "b", "c")],
        *[prediction(page, extractor="whole") for page in ("a", "b", "c")],
    ]
    with pytest.raises(ValueError, match="3 reference pages") as caught:
        score_predictions(rows, references("a", "b", "c"))
    message = str(caught.value)
    assert "double: 1 repeated (such as a)" in message
    assert "gappy: 2 missing (such as b)" in message
    assert "gappy: 1 unknown (such as x)" in message
    assert "whole" not in message


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
    assert summarise(rows) == [
        Summary(**{**vars(row), "mean": pytest.approx(row.mean)}) for row in summarise(rows[::-1])
    ]
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
    difference = paired_difference(rows, "bleu", "a", "b")
    assert difference.mean == pytest.approx(0.02)
    assert difference.first_is_better
    assert not paired_difference(rows, "bleu", "b", "a").first_is_better


def test_lower_is_better_where_the_metric_says_so() -> None:
    assert clearly_best(_two_extractors(0.02, "bleu"), "bleu") == "a"
    assert clearly_best(_two_extractors(0.02, "levenshtein"), "levenshtein") == "b"


def test_nobody_is_best_without_a_difference_or_a_rival() -> None:
    assert clearly_best(_two_extractors(0.0), "bleu") is None
    assert clearly_best([row for row in _two_extractors(0.1) if row.extractor == "a"], "bleu") is None
    assert clearly_best([], "bleu") is None


def test_comparing_different_pages_raises() -> None:
    rows = _two_extractors(0.1)[:-1]
    with pytest.raises(ValueError, match="found 12 and 11 pages, 11 of them shared"):
        paired_difference(rows, "bleu", "a", "b")
    with pytest.raises(ValueError, match="found 12 and 0 pages"):
        paired_difference(rows, "bleu", "a", "nobody")


def test_summaries_are_records() -> None:
    table = Summary.table(summarise(_two_extractors(0.1)))
    assert list(Summary.rows(table)) == summarise(_two_extractors(0.1))


def test_every_metric_says_what_it_is() -> None:
    assert all(metric.label and metric.description for metric in METRICS.values())
    assert len({metric.label for metric in METRICS.values()}) == len(METRICS)
