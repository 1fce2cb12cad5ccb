"""The report's data as tidy tables, for whoever wants to compute on what the report shows.

Belongs here: one table per kind of fact, and their files. Does not belong here: page texts, which stay with
the predictions, or looks. The external gold has tables of its own, so that the two never mix.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ml.intervals import Difference, Summary
from ml.records import Record, Score
from ml.report.comparisons import compare_all, verdict
from ml.report.inputs import EvaluatedSet, ReportInput
from ml.report.published import PUBLISHED, PublishedValue
from ml.report.runs import RunFacts, run_facts


@dataclass(frozen=True, kw_only=True)
class Comparison(Record):
    """Mean of `first` minus mean of `second` on the same pages, and what the interval says of `first`."""

    metric: str
    first: str
    second: str
    difference: float
    low: float | None
    high: float | None
    pages: int
    verdict: str  # a `Verdict`


def to_tables(report: ReportInput) -> dict[str, pa.Table]:
    """Tables by name: `scores`, a row per page, extractor and metric, and those made of them; `gold_…` alike."""
    tables = _tables(report, report)
    if report.gold:
        tables |= {f"gold_{name}": table for name, table in _tables(report.gold, report).items()}
    return tables | {"published": PublishedValue.table(PUBLISHED)}


def to_files(report: ReportInput) -> dict[str, bytes]:
    """Contents by file name: scores as Parquet, for there are many; the rest as CSV, which anything opens.

    The same report gives the same bytes. Missing values are empty cells in CSV.
    """
    return dict(_file(name, table) for name, table in to_tables(report).items())


def _tables(scored: EvaluatedSet, report: ReportInput) -> dict[str, pa.Table]:
    return {
        "scores": Score.table(scored.scores),
        "summaries": Summary.table(scored.summaries),
        "comparisons": Comparison.table(_comparisons(scored)),
        "runs": RunFacts.table(run_facts(scored.predictions, report.prices).values()),
    }


def _comparisons(scored: EvaluatedSet) -> Iterator[Comparison]:
    for row in compare_all(scored):
        yield _comparison(row)


def _comparison(row: Difference) -> Comparison:
    return Comparison(
        metric=row.metric,
        first=row.first,
        second=row.second,
        difference=row.mean,
        low=row.low,
        high=row.high,
        pages=row.pages,
        verdict=verdict(row),
    )


def _file(name: str, table: pa.Table) -> tuple[str, bytes]:
    target = io.BytesIO()
    if name.endswith("scores"):
        pyarrow.parquet.write_table(table, target, compression="zstd")
        return f"{name}.parquet", target.getvalue()
    pyarrow.csv.write_csv(table, target)
    return f"{name}.csv", target.getvalue()
