"""Scores per article, then means with intervals, then comparisons on the same pages.

Belongs here: which metrics exist, what each compares, and how per-article values become a statement.
Does not belong here: how one metric is computed (`ml/metrics/`) or shown (`ml/report/`).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from statistics import fmean

import numpy as np

from ml.metrics import (
    bleu,
    groundedness,
    jaro_winkler,
    json_validity,
    levenshtein,
    repetition,
    rouge_l,
    schema_validity,
)
from ml.records import Prediction, Record, Score


class Direction(StrEnum):
    """Which way a metric improves."""

    HIGHER = "higher"
    LOWER = "lower"


class Protocol(StrEnum):
    """`paper`: as the paper's code computes it; `unicode`: ours, fair to every script; `both`: equal."""

    PAPER = "paper"
    UNICODE = "unicode"
    BOTH = "both"


@dataclass(frozen=True, kw_only=True)
class Reference:
    """What Fundus extracted from one page, and the page itself."""

    page_id: str
    url: str
    publisher: str
    language: str | None
    plaintext: str
    json: str
    compact: str  # the page as text, for groundedness


Pair = tuple[str, str]


def _text(prediction: Prediction, reference: Reference) -> Pair:
    return prediction.text, reference.plaintext


def _json(prediction: Prediction, reference: Reference) -> Pair | None:
    return None if prediction.json is None else (prediction.json, reference.json)


def _page(prediction: Prediction, reference: Reference) -> Pair:
    return prediction.text, reference.compact


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric, what it is shown as, and the two texts that it compares (None: does not apply)."""

    label: str
    description: str
    protocol: Protocol
    better: Direction = Direction.HIGHER
    function: Callable[[str, str], float]
    compared: Callable[[Prediction, Reference], Pair | None] = _text


METRICS: dict[str, Metric] = {
    "rouge_l": Metric(
        label="ROUGE-L",
        description="F1 of the longest common word sequence; words of every script",
        protocol=Protocol.UNICODE,
        function=rouge_l.score,
    ),
    "bleu": Metric(
        label="BLEU",
        description="precision of 1- to 4-word sequences per article, unsmoothed; words of every script",
        protocol=Protocol.UNICODE,
        function=bleu.score,
    ),
    "groundedness": Metric(
        label="Groundedness",
        description="share of the output's 5-word sequences that the page contains",
        protocol=Protocol.UNICODE,
        function=groundedness.score,
        compared=_page,
    ),
    "repetition": Metric(
        label="Repetition",
        description="share of the output's 5-word sequences that it already used",
        protocol=Protocol.UNICODE,
        better=Direction.LOWER,
        function=repetition.score,
    ),
    "json_validity": Metric(
        label="Valid JSON",
        description="share of outputs that are one strict JSON object",
        protocol=Protocol.UNICODE,
        function=json_validity.score,
        compared=_json,
    ),
    "schema_validity": Metric(
        label="Valid article",
        description="share of outputs that also have exactly an article's keys and types",
        protocol=Protocol.UNICODE,
        function=schema_validity.score,
        compared=_json,
    ),
    "rouge_l_paper": Metric(
        label="ROUGE-L (paper)",
        description="ROUGE-L on rouge_score's tokens, which lack every letter outside ASCII",
        protocol=Protocol.PAPER,
        function=rouge_l.score_paper,
    ),
    "bleu_paper": Metric(
        label="BLEU (paper)",
        description="BLEU on 13a tokens",
        protocol=Protocol.PAPER,
        function=bleu.score_paper,
    ),
    "levenshtein": Metric(
        label="Levenshtein distance",
        description="characters to edit, divided by the longer text's length",
        protocol=Protocol.BOTH,
        better=Direction.LOWER,
        function=levenshtein.score,
    ),
    "jaro_winkler": Metric(
        label="Jaro-Winkler",
        description="characters matched nearby, with a bonus for the same first four",
        protocol=Protocol.BOTH,
        function=jaro_winkler.score,
    ),
}
"""Every metric by its stored name, protocol by protocol. A new one is a module and an entry."""


def score_predictions(predictions: Iterable[Prediction], references: Mapping[str, Reference]) -> list[Score]:
    """One row per prediction and metric, `references` being keyed by page id.

    A failed prediction is scored as the empty text that it holds. Raises `ValueError` when an extractor did
    not answer exactly the reference pages, once each: means over different pages cannot be compared.
    """
    rows = _with_failed_json(list(predictions))
    _require_same_pages(rows, references)
    return [score for row in rows for score in _score(row, references[row.page_id])]


def _with_failed_json(predictions: Sequence[Prediction]) -> list[Prediction]:
    """No JSON from an extractor that writes it elsewhere is an invalid output, not an inapplicable metric."""
    writers = {row.extractor for row in predictions if row.json is not None}
    return [
        replace(row, json="") if row.json is None and row.extractor in writers else row for row in predictions
    ]


def _require_same_pages(predictions: Sequence[Prediction], references: Mapping[str, Reference]) -> None:
    answered: dict[str, Counter[str]] = defaultdict(Counter)
    for row in predictions:
        answered[row.extractor][row.page_id] += 1
    problems = [
        f"{extractor}: {problem}"
        for extractor, pages in sorted(answered.items())
        for problem in _page_problems(pages, references)
    ]
    if problems:
        raise ValueError(
            f"expected one prediction of every extractor for each of the {len(references)} reference pages, "
            f"found {'; '.join(problems)}. Score complete runs over one split version only."
        )


def _page_problems(pages: Counter[str], references: Mapping[str, Reference]) -> Iterator[str]:
    found = {
        "missing": sorted(references.keys() - pages.keys()),
        "unknown": sorted(pages.keys() - references.keys()),
        "repeated": sorted(page for page, count in pages.items() if count > 1),
    }
    return (f"{len(ids)} {kind} (such as {ids[0]})" for kind, ids in found.items() if ids)


def _score(prediction: Prediction, reference: Reference) -> Iterator[Score]:
    for name, metric in METRICS.items():
        pair = metric.compared(prediction, reference)
        yield Score(
            page_id=prediction.page_id,
            publisher=prediction.publisher,
            language=prediction.language,
            extractor=prediction.extractor,
            metric=name,
            value=None if pair is None else metric.function(*pair),
        )


@dataclass(frozen=True, kw_only=True)
class Summary(Record):
    """Mean of one metric over the pages of one extractor, with its 95% interval."""

    extractor: str
    metric: str
    mean: float
    low: float | None  # None for fewer than two publishers: nothing is known about others
    high: float | None
    pages: int
    publishers: int


def summarise(scores: Iterable[Score], *, seed: int = 0, resamples: int = 1000) -> list[Summary]:
    """Means with 95% percentile intervals of a bootstrap that draws whole publishers.

    Pages of one publisher share a template and succeed or fail together, so they are no independent draws.
    Metrics that do not apply to an extractor have no row.
    """
    return [
        _summary(extractor, metric, column, seed=seed, resamples=resamples)
        for (extractor, metric), column in _columns(scores).items()
    ]


@dataclass
class _Column:
    """One metric of one extractor, by page id, where it applies."""

    values: dict[str, float] = field(default_factory=dict)
    publishers: dict[str, str] = field(default_factory=dict)


def _columns(scores: Iterable[Score]) -> dict[tuple[str, str], _Column]:
    columns: dict[tuple[str, str], _Column] = defaultdict(_Column)
    for row in scores:
        if row.value is not None:
            column = columns[row.extractor, row.metric]
            column.values[row.page_id] = row.value
            column.publishers[row.page_id] = row.publisher
    return columns


def _summary(extractor: str, metric: str, column: _Column, *, seed: int, resamples: int) -> Summary:
    low, high = _interval(column.values, column.publishers, seed=seed, resamples=resamples)
    return Summary(
        extractor=extractor,
        metric=metric,
        mean=fmean(column.values.values()),
        low=low,
        high=high,
        pages=len(column.values),
        publishers=len(set(column.publishers.values())),
    )


Interval = tuple[float | None, float | None]


def _interval(
    values: Mapping[str, float], clusters: Mapping[str, str], *, seed: int, resamples: int
) -> Interval:
    """2.5% and 97.5% of the mean over pages when clusters are redrawn; None for fewer than two clusters."""
    pages = sorted(values)  # the same pages in any order give the same interval
    names, index = np.unique(np.array([clusters[page] for page in pages]), return_inverse=True)
    if len(names) < 2:
        return None, None
    sizes = np.bincount(index)  # (clusters,)
    sums = np.bincount(index, weights=[values[page] for page in pages])
    evenly = np.full(len(names), 1 / len(names))
    draws = np.random.default_rng(seed).multinomial(
        len(names), evenly, size=resamples
    )  # (resamples, clusters)
    low, high = np.quantile((draws @ sums) / (draws @ sizes), (0.025, 0.975))
    return float(low), float(high)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Mean of `first` minus `second` on the same pages, with its 95% interval."""

    metric: str
    first: str
    second: str
    mean: float
    low: float | None
    high: float | None

    @property
    def first_is_better(self) -> bool:
        """Whether the whole interval lies on the better side of zero."""
        if self.low is None or self.high is None:
            return False
        return self.low > 0 if METRICS[self.metric].better is Direction.HIGHER else self.high < 0


def paired_difference(
    scores: Iterable[Score], metric: str, first: str, second: str, *, seed: int = 0, resamples: int = 1000
) -> Difference:
    """Compare two extractors page by page; raises `ValueError` where their pages differ."""
    columns = _columns(row for row in scores if row.metric == metric)
    left, right = columns[first, metric], columns[second, metric]
    if not left.values or left.values.keys() != right.values.keys():
        raise ValueError(
            f"expected {metric} of {first} and {second} on the same pages, found {len(left.values)} and "
            f"{len(right.values)} pages, {len(left.values.keys() & right.values.keys())} of them shared. "
            "Score both on one split version."
        )
    gaps = {page: left.values[page] - right.values[page] for page in left.values}
    low, high = _interval(gaps, left.publishers, seed=seed, resamples=resamples)
    return Difference(
        metric=metric, first=first, second=second, mean=fmean(gaps.values()), low=low, high=high
    )


def clearly_best(scores: Iterable[Score], metric: str) -> str | None:
    """The extractor that is better than every other one by the paired interval, if there is such."""
    rows = [row for row in scores if row.metric == metric and row.value is not None]
    extractors = sorted({row.extractor for row in rows})

    def beats(first: str, second: str) -> bool:
        return paired_difference(rows, metric, first, second).first_is_better

    for candidate in extractors:
        rivals = [other for other in extractors if other != candidate]
        if rivals and all(beats(candidate, rival) for rival in rivals):
            return candidate
    return None
