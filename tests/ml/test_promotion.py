"""The rule of promotion: each way of refusing, and nothing else refuses."""

from collections.abc import Iterator, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.intervals import ScoreTable
from ml.metrics.registry import METRICS
from ml.promotion import GUARDS, HEADLINE, Decision, Verdict, compare, decide, markdown
from ml.records import Score
from ml.training_sets import Task

Values = Mapping[str, Sequence[float | None]]
"""Values of the pages, by publisher."""

STEADY: Values = {name: [0.5, 0.5] for name in ("North", "South", "East", "West")}


def scores(extractor: str, **metrics: Values) -> Iterator[Score]:
    for metric, values in metrics.items():
        for publisher, pages in values.items():
            for number, value in enumerate(pages):
                yield Score(
                    page_id=f"{publisher}{number}",
                    publisher=publisher,
                    language="en",
                    extractor=extractor,
                    metric=metric,
                    value=value,
                )


def moved(values: Values, **by: float) -> Values:
    """The values of some publishers, or of all of them as `every`, moved by an amount."""
    return {
        publisher: [
            None if value is None else value + by.get(publisher, by.get("every", 0.0)) for value in pages
        ]
        for publisher, pages in values.items()
    }


def decision(new: Mapping[str, Values], old: Mapping[str, Values], task: Task = Task.PLAINTEXT) -> Decision:
    """Of a model against a champion; ROUGE-L is the same where it is not given."""
    rows = [*scores("m/2", **{"rouge_l": STEADY, **new}), *scores("m/1", **{"rouge_l": STEADY, **old})]
    return decide(ScoreTable(rows), candidate="m/2", champion="m/1", task=task)


def test_a_model_that_is_better_everywhere_is_accepted() -> None:
    found = decision({"bleu": moved(STEADY, every=0.1)}, {"bleu": STEADY})
    assert found.accepted
    assert {row.metric: row.verdict for row in found.rows} == {
        "rouge_l": Verdict.UNCLEAR,
        "bleu": Verdict.BETTER,
        "groundedness": Verdict.MISSING,
    }


@pytest.mark.parametrize("metric", ["rouge_l", "bleu", "groundedness"])
def test_worse_on_every_publisher_is_refused(metric: str) -> None:
    found = decision({metric: moved(STEADY, every=-0.005)}, {metric: STEADY})
    assert [row.metric for row in found.rows if row.refusal] == [metric]
    (reason,) = found.reasons
    assert reason.startswith(f"{METRICS[metric].label} went from 0.500 to 0.495 (-0.005 [-0.005, -0.005])")


def test_worse_inside_the_interval_is_accepted() -> None:
    """West loses as much as three others win together: some resamples are better, some are worse."""
    found = decision({"bleu": moved(STEADY, West=-0.3, North=0.05)}, {"bleu": STEADY})
    row = next(row for row in found.rows if row.metric == "bleu")
    assert row.difference == pytest.approx((0.05 - 0.3) / 4)
    assert row.low is not None
    assert row.high is not None
    assert row.low < 0 < row.high
    assert (row.verdict, found.accepted) == (Verdict.UNCLEAR, True)


@pytest.mark.parametrize(("loss", "accepted"), [(0.036, True), (0.044, False)])
def test_groundedness_may_fall_by_a_hundredth_however_wide_the_interval(loss: float, accepted: bool) -> None:
    """One of four publishers loses 0.036 or 0.044, so the mean loses 0.009 or 0.011; another one wins a little."""
    found = decision({"groundedness": moved(STEADY, West=-loss)}, {"groundedness": STEADY})
    row = next(row for row in found.rows if row.metric == "groundedness")
    assert row.high == 0, "resamples without West show no loss, so the interval alone does not refuse"
    assert found.accepted is accepted
    if not accepted:
        assert "may not get worse by more than 0.01, whatever the interval" in found.reasons[0]


def test_valid_json_may_not_fall_by_a_single_page() -> None:
    valid: Values = {name: [1.0] * 50 for name in STEADY}
    one_less = {**valid, "West": [0.0, *valid["West"][1:]]}
    same = {"rouge_l": {name: [0.5] * 50 for name in STEADY}}
    found = decision({**same, "json_validity": one_less}, {**same, "json_validity": valid}, Task.JSON)
    assert found.reasons == (
        "Valid JSON went from 1.000 to 0.995 (-0.005 [-0.015, +0.000]): it may not get worse, whatever the interval",
    )
    back = decision({**same, "json_validity": valid}, {**same, "json_validity": one_less}, Task.JSON)
    assert back.accepted


def test_all_reasons_are_given_at_once() -> None:
    worse = moved(STEADY, every=-0.1)
    found = decision({"rouge_l": worse, "bleu": worse}, {"bleu": STEADY})
    assert len(found.reasons) == 2


def test_a_metric_that_the_candidate_alone_lacks_refuses_it() -> None:
    nothing = {name: [None, None] for name in STEADY}
    found = decision({"json_validity": nothing}, {"json_validity": STEADY}, Task.JSON)
    assert found.reasons == ("Valid JSON could not be measured on any page; the champion has 0.500",)
    assert decision({"json_validity": STEADY}, {"json_validity": nothing}, Task.JSON).accepted


@pytest.mark.parametrize(("change", "accepted"), [(-0.001, False), (0.0, True), (0.001, True)])
def test_on_one_publisher_the_mean_decides_and_says_so(change: float, accepted: bool) -> None:
    one = {"North": [0.4, 0.6]}
    found = decision({"rouge_l": moved(one, every=change)}, {"rouge_l": one})
    assert found.accepted is accepted
    assert (
        found.basis
        == "2 held-out pages of 1 publisher; too few publishers for an interval, so the means decide"
    )
    if not accepted:
        assert found.reasons == ("ROUGE-L went from 0.500 to 0.499 (-0.001): worse in the mean",)


def test_a_first_champion_has_to_have_found_something() -> None:
    def first(value: float) -> Decision:
        table = ScoreTable(scores("m/1", rouge_l={"North": [0.0, value]}))
        return decide(table, candidate="m/1", champion=None, task="plaintext")

    assert first(0.01).accepted
    assert first(0.01).basis.startswith("first champion of plaintext: nothing to compare with")
    assert first(0.0).reasons == ("ROUGE-L is 0: nothing of any article was found",)


def test_different_pages_cannot_be_compared() -> None:
    fewer = {name: values for name, values in STEADY.items() if name != "West"}
    with pytest.raises(
        ValueError, match=r"m/2 and m/1 on the same pages, found 6 and 8 pages, 6 of them shared"
    ):
        decision({"rouge_l": fewer}, {})


def test_scores_that_are_not_there_are_not_zero() -> None:
    table = ScoreTable(scores("m/1", rouge_l=STEADY))
    with pytest.raises(ValueError, match="found 0 and 8 pages"):
        decide(table, candidate="m/2", champion="m/1", task=Task.JSON)
    with pytest.raises(ValueError, match="found no scores of m/2"):
        decide(table, candidate="m/2", champion=None, task=Task.JSON)


def test_the_champion_is_not_compared_with_itself() -> None:
    table = ScoreTable(scores("m/1", rouge_l=STEADY))
    with pytest.raises(ValueError, match="m/1 is the champion of json already"):
        decide(table, candidate="m/1", champion="m/1", task=Task.JSON)


def test_every_headline_metric_and_guard_exists() -> None:
    assert HEADLINE.keys() == set(Task)
    assert {name for names in HEADLINE.values() for name in names} <= METRICS.keys()
    assert GUARDS.keys() <= set(HEADLINE[Task.JSON])


PAGES = st.lists(st.lists(st.floats(0, 1), min_size=2, max_size=2), min_size=1, max_size=4)


@given(pages=PAGES, task=st.sampled_from(Task))
def test_equal_answers_are_never_refused(pages: list[list[float]], task: Task) -> None:
    values = {f"P{number}": each for number, each in enumerate(pages)}
    assert decision(
        {name: values for name in HEADLINE[task] if name != "fields_f1"},
        {name: values for name in HEADLINE[task] if name != "fields_f1"},
        task,
    ).accepted


@given(old=PAGES, gains=st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_a_gain_on_every_page_is_never_refused(old: list[list[float]], gains: list[float]) -> None:
    before = {f"P{number}": pages for number, pages in enumerate(old)}
    after = moved(before, **{f"P{number}": gain for number, gain in enumerate(gains)})
    for metric in HEADLINE[Task.PLAINTEXT]:
        assert decision({"rouge_l": before, metric: after}, {"rouge_l": before, metric: before}).accepted


def test_models_are_compared_without_a_judgement() -> None:
    table = ScoreTable([*scores("a", rouge_l=STEADY), *scores("b", rouge_l=moved(STEADY, every=0.1))])
    row = next(row for row in compare(table, "a", "b", task=Task.JSON) if row.metric == "rouge_l")
    assert (row.verdict, row.refusal) == (Verdict.WORSE, None)


def test_a_decision_reads_as_a_page() -> None:
    page = markdown(decision({"bleu": moved(STEADY, every=-0.1)}, {"bleu": STEADY}))
    assert page.startswith(
        "# m/2: refused as champion of plaintext\n\nCompared with m/1: 8 held-out pages of 4 "
    )
    assert "\n- BLEU went from 0.500 to 0.400" in page
    assert "\n| BLEU | 0.400 | 0.500 | -0.100 [-0.100, -0.100] | worse, refuses |" in page
    assert "\n| Groundedness | – | – | – | not measured |" in page
