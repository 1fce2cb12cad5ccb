"""Whether a trained model may take the champion's place: the comparison, the rule and its reasons.

Belongs here: the headline metrics of a task, the guards, and a decision as rows, reasons and Markdown. Does
not belong here: where answers come from (`resources/promotion.py`), the registry (`resources/tracking.py`), or
what an interval is (`ml/intervals.py`).
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated

from ml.intervals import Difference, ScoreTable, Summary
from ml.metrics.registry import METRICS, Direction
from ml.records import Record
from ml.training_sets import Task

TEXT_METRICS = ("rouge_l", "bleu", "groundedness")

HEADLINE: Mapping[Task, tuple[str, ...]] = {
    Task.PLAINTEXT: TEXT_METRICS,
    Task.JSON: (*TEXT_METRICS, "json_validity", "schema_validity", "fields_f1"),
}
"""What a model is judged by, per task: does it find the article (ROUGE-L), all in one piece (BLEU), does it say only
what the page says (groundedness), and, for JSON, can a program read it and are the keys right.

Few on purpose: each interval is wrong one time in forty on the worse side, so that every metric more refuses more
models that are as good. Repetition is not among them: articles repeat themselves, and a model that leaves half of
each out repeats less than one that is perfect. Text that goes round in circles costs ROUGE-L and BLEU.
"""

GUARDS: Mapping[str, float] = {"groundedness": 0.01, "json_validity": 0.0}
"""How far a mean may fall at most, however wide the interval is.

Invented text and unreadable output are the failures that nobody downstream can repair, so that "the pages were too
few to tell" is no excuse for them. The rate of valid JSON must not fall at all. Groundedness is a mean of shares
and moves with every page that is worded differently, so that a hundredth is let pass.
"""

FIRST_METRIC = "rouge_l"
"""What a first champion, which has nobody to be compared with, needs some of."""


class Verdict(StrEnum):
    """What a comparison says of the candidate in one metric."""

    BETTER = "better"
    WORSE = "worse"
    UNCLEAR = "no clear difference"
    ALONE = "nothing to compare with"
    MISSING = "not measured"


@dataclass(frozen=True, kw_only=True)
class Comparison(Record):
    """Two models in one metric on the same pages. `difference` is the candidate's mean minus the champion's."""

    task: Annotated[str, "what both were judged by: plaintext or json"]
    candidate: Annotated[str, "model/version"]
    champion: Annotated[str | None, "model/version; None where the task has no champion yet"]
    metric: Annotated[str, "a key of `ml.metrics.registry.METRICS`"]
    candidate_mean: Annotated[float | None, "None where no page of the candidate could be measured"]
    champion_mean: float | None
    difference: float | None
    low: Annotated[float | None, "of the 95% interval by publisher; None for fewer than two publishers"]
    high: float | None
    pages: int
    publishers: int
    verdict: Annotated[str, "a `Verdict`; where there is no interval, of the mean alone"]
    refusal: Annotated[str | None, "why this metric alone refuses the candidate"] = None


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Whether a candidate may become champion, with every number that said so."""

    task: str
    candidate: str
    champion: str | None
    rows: tuple[Comparison, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the candidate is refused, a sentence per metric; empty where it is accepted."""
        return tuple(row.refusal for row in self.rows if row.refusal)

    @property
    def accepted(self) -> bool:
        """Whether no metric refuses the candidate."""
        return not self.reasons

    @property
    def basis(self) -> str:
        """What the decision rests on, in a sentence."""
        pages, publishers = (max(getattr(row, name) for row in self.rows) for name in ("pages", "publishers"))
        extent = (
            f"{pages} held-out {_plural('page', pages)} of {publishers} {_plural('publisher', publishers)}"
        )
        if self.champion is None:
            return f"first champion of {self.task}: nothing to compare with; measured on {extent}"
        how = (
            "95% intervals, paired by page and drawn by publisher"
            if publishers > 1
            else "too few publishers for an interval, so the means decide"
        )
        return f"{extent}; {how}"

    @property
    def verdict(self) -> str:
        """The decision in a word."""
        return "accepted" if self.accepted else "refused"


def decide(table: ScoreTable, *, candidate: str, champion: str | None, task: Task | str) -> Decision:
    """Accept the candidate unless a headline metric of the task refuses it.

    A metric refuses where its whole interval lies on the worse side; where its mean falls by more than its guard
    allows; where the candidate has no value and the champion has one; and, below two publishers, where its mean
    is worse. Without a champion, whatever found something of some article is accepted. Raises `ValueError` where
    the two did not answer the same pages, or are one and the same.
    """
    if candidate == champion:
        raise ValueError(f"{candidate} is the champion of {task} already; there is nothing to decide")
    rows = (
        _alone(table, candidate, Task(task))
        if champion is None
        else compare(table, candidate, champion, task=task)
    )
    judged = tuple(replace(row, refusal=_refusal(row)) for row in rows)
    return Decision(task=str(task), candidate=candidate, champion=champion, rows=judged)


def compare(table: ScoreTable, first: str, second: str, *, task: Task | str) -> list[Comparison]:
    """Two extractors in every headline metric of a task, without a judgement.

    Raises `ValueError` where they did not answer the same pages.
    """
    table.difference(FIRST_METRIC, first, second)  # raises for different pages, whatever else can be measured
    known = _measured(table)
    rows = (_row(Task(task), metric, first, known.get((first, metric))) for metric in HEADLINE[Task(task)])
    return [_versus(row, second, known.get((second, row.metric)), table) for row in rows]


def markdown(decision: Decision) -> str:
    """The decision as a page: verdict, reasons, and a table of the numbers."""
    lines = [
        f"# {decision.candidate}: {decision.verdict} as champion of {decision.task}",
        "",
        f"Compared with {decision.champion or 'nobody'}: {decision.basis}.",
        "",
        *(f"- {reason}" for reason in decision.reasons),
        *([""] if decision.reasons else []),
        markdown_table(decision.rows),
    ]
    return "\n".join(lines) + "\n"


def markdown_table(rows: Iterable[Comparison]) -> str:
    """One line per metric: both means, the difference with its interval, the verdict."""
    head = "| metric | candidate | champion | difference | verdict |\n| --- | ---: | ---: | ---: | --- |"
    lines = (
        f"| {METRICS[row.metric].label} | {number(row.candidate_mean)} | {number(row.champion_mean)} "
        f"| {difference(row)} | {row.verdict}{', refuses' if row.refusal else ''} |"
        for row in rows
    )
    return "\n".join([head, *lines])


def number(value: float | None) -> str:
    """Three decimals, or a dash."""
    return "–" if value is None else f"{value:.3f}"


def difference(row: Comparison) -> str:
    """The signed difference with its interval where there is one."""
    if row.difference is None:
        return "–"
    interval = "" if row.low is None or row.high is None else f" [{row.low:+.3f}, {row.high:+.3f}]"
    return f"{row.difference:+.3f}{interval}"


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"


def _measured(table: ScoreTable) -> dict[tuple[str, str], Summary]:
    """Every mean that is a number, by extractor and metric."""
    return {(row.extractor, row.metric): row for row in table.summaries() if not math.isnan(row.mean)}


def _alone(table: ScoreTable, candidate: str, task: Task) -> list[Comparison]:
    known = _measured(table)
    if (candidate, FIRST_METRIC) not in known:
        raise ValueError(
            f"found no scores of {candidate}; expected its answers to the held-out pages, scored"
        )
    return [_row(task, metric, candidate, known.get((candidate, metric))) for metric in HEADLINE[task]]


def _row(task: Task, metric: str, candidate: str, summary: Summary | None) -> Comparison:
    """The candidate in one metric, compared with nobody yet."""
    return Comparison(
        task=task,
        candidate=candidate,
        champion=None,
        metric=metric,
        candidate_mean=summary.mean if summary else None,
        champion_mean=None,
        difference=None,
        low=None,
        high=None,
        pages=summary.pages if summary else 0,
        publishers=summary.publishers if summary else 0,
        verdict=Verdict.ALONE if summary else Verdict.MISSING,
    )


def _versus(row: Comparison, champion: str, summary: Summary | None, table: ScoreTable) -> Comparison:
    """The row with the champion's side; a difference only where both could be measured."""
    row = replace(
        row, champion=champion, champion_mean=summary.mean if summary else None, verdict=Verdict.MISSING
    )
    if row.candidate_mean is None or summary is None:
        return row
    found = table.difference(row.metric, row.candidate, champion)
    return replace(
        row, difference=found.mean, low=found.low, high=found.high, pages=found.pages, verdict=_verdict(found)
    )


def _verdict(found: Difference) -> Verdict:
    """By the interval; by the mean where there is none."""
    loss = _loss(found.metric, found.mean)
    alone = found.low is None
    if found.first_is_worse or (alone and loss > 0):
        return Verdict.WORSE
    return Verdict.BETTER if found.first_is_better or (alone and loss < 0) else Verdict.UNCLEAR


def _loss(metric: str, change: float) -> float:
    """How much was lost by a change of the metric, whichever way it improves."""
    return -change if METRICS[metric].better is Direction.HIGHER else change


def _refusal(row: Comparison) -> str | None:
    """Why the metric refuses the candidate, in a sentence; None where it does not."""
    label = METRICS[row.metric].label
    if row.champion is None:
        found_nothing = row.metric == FIRST_METRIC and not row.candidate_mean
        return f"{label} is 0: nothing of any article was found" if found_nothing else None
    if row.candidate_mean is None and row.champion_mean is not None:
        return f"{label} could not be measured on any page; the champion has {row.champion_mean:.3f}"
    if row.difference is None or row.candidate_mean is None or row.champion_mean is None:
        return None
    change = f"{label} went from {row.champion_mean:.3f} to {row.candidate_mean:.3f} ({difference(row)})"
    if row.verdict == Verdict.WORSE:
        return f"{change}: worse {'beyond its interval' if row.low is not None else 'in the mean'}"
    allowed = GUARDS.get(row.metric)
    if allowed is not None and _loss(row.metric, row.difference) > allowed:
        return f"{change}: it may not get worse{f' by more than {allowed}' if allowed else ''}, whatever the interval"
    return None
