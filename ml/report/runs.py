"""How the runs of extractors went: time, failures, tokens and what a thousand pages cost.

Belongs here: facts of predictions that need no reference. Does not belong here: scores.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from ml.records import Prediction, Record

SECONDS_PER_HOUR = 3600.0
COSTED_PAGES = 1000


@dataclass(frozen=True, kw_only=True)
class RunFacts(Record):
    """An extractor's run over a set of pages; None where its predictions do not say."""

    extractor: str
    pages: int
    publishers: int
    failures: int
    truncated: int  # outputs that hit their length limit
    median_seconds: float
    mean_seconds: float  # all time spent, that of failed pages included
    pages_per_hour: float | None  # one after the other; None where no time passed
    input_tokens: float | None  # mean over the pages that have a count
    output_tokens: float | None
    device: str | None  # one, or several joined by commas
    usd_per_1000_pages: float | None


def run_facts(predictions: Iterable[Prediction], prices: Mapping[str, float]) -> dict[str, RunFacts]:
    """Facts by extractor; `prices` are USD an hour by device."""
    by_extractor: dict[str, list[Prediction]] = defaultdict(list)
    for row in predictions:
        by_extractor[row.extractor].append(row)
    return {name: _facts(name, rows, prices) for name, rows in by_extractor.items()}


def _facts(extractor: str, rows: Sequence[Prediction], prices: Mapping[str, float]) -> RunFacts:
    mean_seconds = fmean(row.seconds for row in rows)
    return RunFacts(
        extractor=extractor,
        pages=len(rows),
        publishers=len({row.publisher for row in rows}),
        failures=sum(row.error is not None for row in rows),
        truncated=sum(row.truncated for row in rows),
        median_seconds=median(row.seconds for row in rows),
        mean_seconds=mean_seconds,
        pages_per_hour=SECONDS_PER_HOUR / mean_seconds if mean_seconds else None,
        input_tokens=_mean_known(row.input_tokens for row in rows),
        output_tokens=_mean_known(row.output_tokens for row in rows),
        device=", ".join(sorted({row.device for row in rows if row.device})) or None,
        usd_per_1000_pages=_cost(rows, prices),
    )


def _cost(rows: Sequence[Prediction], prices: Mapping[str, float]) -> float | None:
    """USD for a thousand such pages; None if the price of any second is unknown."""
    if any(row.device not in prices for row in rows):
        return None
    paid = sum(row.seconds * prices[row.device] for row in rows if row.device)
    return COSTED_PAGES * paid / SECONDS_PER_HOUR / len(rows)


def _mean_known(values: Iterable[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
