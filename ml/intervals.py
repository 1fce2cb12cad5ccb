"""What a set of scores says: means with intervals, and comparisons on the same pages.

Belongs here: the bootstrap over publishers, paired differences, who is clearly best. Does not belong here:
scores of single pages (`ml/evaluation.py`) or which metrics there are (`ml/metrics/registry.py`).
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ml.metrics.registry import METRICS, Average, Direction
from ml.records import Record, Score

Values = npt.NDArray[np.float64]


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


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Mean of `first` minus mean of `second` on the same pages, with its 95% interval."""

    metric: str
    first: str
    second: str
    mean: float
    low: float | None
    high: float | None
    pages: int

    @property
    def first_is_better(self) -> bool:
        """Whether the whole interval lies on the better side of zero."""
        if self.low is None or self.high is None:
            return False
        return self.low > 0 if METRICS[self.metric].better is Direction.HIGHER else self.high < 0

    @property
    def first_is_worse(self) -> bool:
        """Whether the whole interval lies on the worse side of zero."""
        if self.low is None or self.high is None:
            return False
        return self.high < 0 if METRICS[self.metric].better is Direction.HIGHER else self.low > 0


@dataclass
class _Column:
    """One metric of one extractor: by publisher, the weighted values and the weights summed."""

    pages: int = 0
    weighted: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    weights: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))


class ScoreTable:
    """Scores of any number of extractors, ready for statements about them.

    Intervals are 2.5% and 97.5% of a bootstrap that draws whole publishers: pages of one publisher share a
    template and succeed or fail together, so they are no independent draws. The draws depend on `seed` and
    the number of publishers alone, so extractors on the same pages are resampled alike. Raises `ValueError`
    on a score that is not a number, or of an unknown metric.
    """

    def __init__(self, scores: Iterable[Score], *, seed: int = 0, resamples: int = 1000) -> None:
        self._seed, self._resamples = seed, resamples
        self._pages: dict[str, dict[str, str]] = defaultdict(dict)  # publisher by page, by extractor
        self._columns: dict[tuple[str, str], _Column] = defaultdict(_Column)
        self._samples: dict[tuple[str, str], Values] = {}
        self._drawn: dict[int, Values] = {}
        for row in scores:
            self._add(row)

    def _add(self, row: Score) -> None:
        if row.metric not in METRICS or METRICS[row.metric].measure is None:
            raise ValueError(f"found a score of {row.metric!r}, which no page is measured by; score anew")
        self._pages[row.extractor][row.page_id] = row.publisher
        if row.value is None:
            return
        if math.isnan(row.value) or math.isnan(row.weight):
            raise ValueError(
                f"{row.metric} of {row.extractor} on page {row.page_id} is not a number; expected a value, or None "
                f"where the metric does not apply"
            )
        column = self._columns[row.extractor, row.metric]
        column.pages += 1
        column.weighted[row.publisher] += row.weight * _inward(row.metric, row.value)
        column.weights[row.publisher] += row.weight

    @cached_property
    def extractors(self) -> list[str]:
        """Names of the extractors, sorted."""
        return sorted(self._pages)

    def applies(self, extractor: str, metric: str) -> bool:
        """Whether the metric has a value for any page of the extractor."""
        return any((extractor, part) in self._columns for part in _parts(metric))

    def summaries(self) -> list[Summary]:
        """One row per extractor and metric that applies to it, metrics in their order."""
        return [
            self._summary(extractor, metric)
            for extractor in self.extractors
            for metric in METRICS
            if self.applies(extractor, metric)
        ]

    def _summary(self, extractor: str, metric: str) -> Summary:
        low, high = _interval(self._resampled(extractor, metric))
        return Summary(
            extractor=extractor,
            metric=metric,
            mean=self._mean(extractor, metric),
            low=low,
            high=high,
            pages=max(self._column(extractor, part).pages for part in _parts(metric)),
            publishers=len(self._publishers(extractor)),
        )

    def difference(self, metric: str, first: str, second: str) -> Difference:
        """Compare two extractors; raises `ValueError` where their pages differ or the metric does not apply."""
        left, right = self._pages.get(first, {}), self._pages.get(second, {})
        if not left or left != right or not self.applies(first, metric) or not self.applies(second, metric):
            raise ValueError(
                f"expected {metric} of {first} and {second} on the same pages, found {len(left)} and {len(right)} "
                f"pages, {len(left.keys() & right.keys())} of them shared. Score both on one split version, by a "
                f"metric that applies to both."
            )
        low, high = _interval(self._resampled(first, metric) - self._resampled(second, metric))
        mean = self._mean(first, metric) - self._mean(second, metric)
        return Difference(
            metric=metric, first=first, second=second, mean=mean, low=low, high=high, pages=len(left)
        )

    def clearly_best(self, metric: str) -> str | None:
        """The extractor that is better than every other one by the paired interval, if there is such.

        Nobody is where the metric does not rank extractors.
        """
        if not METRICS[metric].ranks:
            return None
        rivals = [name for name in self.extractors if self.applies(name, metric)]
        for candidate in rivals if len(rivals) > 1 else ():
            others = (name for name in rivals if name != candidate)
            if all(self.difference(metric, candidate, other).first_is_better for other in others):
                return candidate
        return None

    def _column(self, extractor: str, metric: str) -> _Column:
        return self._columns.get((extractor, metric), _Column())

    def _publishers(self, extractor: str) -> list[str]:
        return sorted(set(self._pages[extractor].values()))

    def _mean(self, extractor: str, metric: str) -> float:
        publishers = len(self._publishers(extractor))
        return float(self._values(extractor, metric, np.ones((1, publishers)))[0])

    def _resampled(self, extractor: str, metric: str) -> Values:
        """The metric in every resample, (resamples,); empty for fewer than two publishers."""
        if (extractor, metric) not in self._samples:  # every comparison asks again
            draws = self._draws(len(self._publishers(extractor)))
            self._samples[extractor, metric] = self._values(extractor, metric, draws)
        return self._samples[extractor, metric]

    def _draws(self, publishers: int) -> Values:
        """How often each of so many publishers is drawn in each resample, (resamples, publishers)."""
        if publishers < 2:
            return np.empty((0, publishers))
        if publishers not in self._drawn:  # every extractor and metric asks for the same
            evenly = np.full(publishers, 1 / publishers)
            drawn = np.random.default_rng(self._seed).multinomial(publishers, evenly, size=self._resamples)
            self._drawn[publishers] = drawn.astype(np.float64)
        return self._drawn[publishers]

    def _values(self, extractor: str, metric: str, draws: Values) -> Values:
        """The metric of the set for each row of `draws`, how often each publisher was drawn: (R, P) to (R,)."""
        if parts := METRICS[metric].harmonic_of:
            return _harmonic_mean(*(self._values(extractor, part, draws) for part in parts))
        column, publishers = self._column(extractor, metric), self._publishers(extractor)
        weighted = draws @ np.array([column.weighted[name] for name in publishers])
        weights = draws @ np.array([column.weights[name] for name in publishers])
        # A resample without a single page that counts says nothing: it is left out of the interval.
        means = np.divide(weighted, weights, out=np.full_like(weights, np.nan), where=weights != 0)
        averaged: Values = np.exp(means) if METRICS[metric].average is Average.GEOMETRIC else means
        return averaged


def _parts(metric: str) -> tuple[str, ...]:
    """The metrics that pages are measured by for this one."""
    return METRICS[metric].harmonic_of or (metric,)


def _harmonic_mean(precision: Values, recall: Values) -> Values:
    """F1. Nothing found is a precision over nothing, and an F1 of 0; only without anything wanted is there none."""
    unknown = np.isnan(precision) & np.isnan(recall)
    precision, recall = np.nan_to_num(precision), np.nan_to_num(recall)
    both = precision + recall
    means = np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both != 0)
    return np.where(unknown, np.nan, means)


def _inward(metric: str, value: float) -> float:
    """The value in the form in which it is averaged."""
    return math.log(value) if METRICS[metric].average is Average.GEOMETRIC else value


def _interval(values: Values) -> tuple[float | None, float | None]:
    known = values[~np.isnan(values)]
    if len(known) == 0:
        return None, None
    low, high = np.quantile(known, (0.025, 0.975))
    return float(low), float(high)


def summarise(scores: Iterable[Score], *, seed: int = 0, resamples: int = 1000) -> list[Summary]:
    """Means with 95% intervals, one row per extractor and metric, as `ScoreTable` computes them."""
    return ScoreTable(scores, seed=seed, resamples=resamples).summaries()
