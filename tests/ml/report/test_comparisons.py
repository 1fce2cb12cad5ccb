"""Sentences and verdicts: better is said only where an interval says so."""

from itertools import chain
from typing import Any

import pytest

from ml.intervals import Difference
from ml.report.comparisons import Verdict, compare_all, leader, statements, verdict
from ml.report.inputs import EvaluatedSet, ExtractorKind, ReportInput


def difference(metric: str, low: float | None, high: float | None) -> Difference:
    return Difference(metric=metric, first="a", second="b", mean=0.1, low=low, high=high, pages=9)


@pytest.mark.parametrize(
    ("metric", "low", "high", "expected"),
    [
        ("rouge_l", 0.01, 0.2, Verdict.BETTER),
        ("rouge_l", -0.2, -0.01, Verdict.WORSE),
        ("rouge_l", -0.01, 0.2, Verdict.OPEN),
        ("rouge_l", 0.0, 0.2, Verdict.OPEN),
        ("rouge_l", None, None, Verdict.OPEN),
        ("levenshtein", 0.01, 0.2, Verdict.WORSE),
        ("levenshtein", -0.2, -0.01, Verdict.BETTER),
    ],
)
def test_a_verdict_needs_the_whole_interval_on_one_side(
    metric: str, low: float | None, high: float | None, expected: Verdict
) -> None:
    assert verdict(difference(metric, low, high)) is expected


def twins(evaluation: Any, count: int) -> EvaluatedSet:
    names = [f"twin{number}" for number in range(count)]
    rows = list(chain.from_iterable(evaluation.predictions(name, evaluation.text) for name in names))
    made: ReportInput = evaluation.report(rows, kinds=dict.fromkeys(names, ExtractorKind.LIBRARY))
    return made


def test_rivals_that_may_be_as_good_are_named(evaluation: Any) -> None:
    rows = [
        *evaluation.predictions("trafilatura", evaluation.text),
        *evaluation.predictions("only", evaluation.text),
        *evaluation.predictions("boilerpipe", "The"),
    ]
    (sentence,) = statements(evaluation.report(rows))
    assert sentence.endswith("leads with ROUGE-L 1.000 (1.000–1.000), but these pages do not show it to be better "
                             "than trafilatura.")  # fmt: skip
    assert sentence.startswith("Plaintext: only ")


def test_no_more_than_a_few_rivals_are_named(evaluation: Any) -> None:
    rows = [row for name in "abcdef" for row in evaluation.predictions(name, evaluation.text)]
    rows += evaluation.predictions("poor", "The")
    kinds = dict.fromkeys([*"abcdef", "poor"], ExtractorKind.LIBRARY)
    (sentence,) = statements(evaluation.report(rows, kinds=kinds))
    assert sentence.endswith("better than b, c, d or 2 more.")


def test_one_extractor_is_compared_with_nobody(evaluation: Any) -> None:
    (sentence,) = statements(twins(evaluation, 1))
    assert sentence == "Plaintext: twin0 stands alone with ROUGE-L 1.000 (1.000–1.000)."


def test_nobody_leads_where_there_is_nobody(evaluation: Any) -> None:
    empty = EvaluatedSet(scores=[], predictions=[])
    assert statements(empty) == []
    assert leader(empty, "rouge_l") is None


def test_the_leader_has_the_lowest_value_where_lower_is_better(whole: ReportInput) -> None:
    assert leader(whole, "levenshtein") == "trafilatura"


def test_every_pair_is_compared_by_every_metric_that_both_have(whole: ReportInput) -> None:
    rows = list(compare_all(whole))
    assert len([row for row in rows if row.metric == "rouge_l"]) == 6
    assert [(row.first, row.second) for row in rows if row.metric == "fields_f1"] == [("tiny-json", "zero")]
