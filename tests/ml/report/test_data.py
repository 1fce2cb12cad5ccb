"""The report's data: tidy, complete, without page texts, and the same bytes for the same report."""

import io
from dataclasses import replace
from typing import Any

import pyarrow.csv
import pyarrow.parquet
import pytest

from ml.intervals import Summary
from ml.metrics.registry import METRICS
from ml.records import Score
from ml.report.data import to_files, to_tables
from ml.report.inputs import ReportInput
from ml.report.published import PUBLISHED


@pytest.fixture(scope="module")
def files(whole: ReportInput) -> dict[str, bytes]:
    return to_files(whole)


def test_every_table_is_a_file(files: dict[str, bytes]) -> None:
    kinds = {"scores.parquet", "summaries.csv", "comparisons.csv", "runs.csv"}
    assert set(files) == kinds | {f"gold_{name}" for name in kinds} | {"published.csv"}


def test_scores_come_back_as_they_were(whole: ReportInput, files: dict[str, bytes]) -> None:
    table = pyarrow.parquet.read_table(io.BytesIO(files["scores.parquet"]))
    assert list(Score.rows(table)) == list(whole.scores)
    assert list(Summary.rows(to_tables(whole)["summaries"])) == list(whole.summaries)


def test_comparisons_carry_their_verdict(files: dict[str, bytes]) -> None:
    rows = pyarrow.csv.read_csv(io.BytesIO(files["comparisons.csv"])).to_pylist()
    found = {(row["metric"], row["first"], row["second"]): row["verdict"] for row in rows}
    assert found["rouge_l", "tiny-json", "trafilatura"] == "worse"
    assert found["rouge_l", "trafilatura", "zero"] == "no difference shown"


def test_runs_know_their_cost_or_leave_it_empty(files: dict[str, bytes]) -> None:
    rows = pyarrow.csv.read_csv(io.BytesIO(files["runs.csv"])).to_pylist()
    costs = {row["extractor"]: row["usd_per_1000_pages"] for row in rows}
    assert costs["tiny-json"] == pytest.approx(2.0)
    assert costs["zero"] is None


def test_gold_stays_apart(whole: ReportInput) -> None:
    tables = to_tables(whole)
    assert set(tables["gold_runs"]["extractor"].to_pylist()) == {"zero", "trafilatura"}
    assert tables["scores"].num_rows == len(whole.scores)
    without = to_tables(replace(whole, gold=None))
    assert not [name for name in without if name.startswith("gold")]


def test_no_text_of_a_page_is_among_the_data(evaluation: Any, files: dict[str, bytes]) -> None:
    assert not [name for name, data in files.items() if evaluation.text[:20].encode() in data]


def test_the_same_report_gives_the_same_bytes(whole: ReportInput, files: dict[str, bytes]) -> None:
    assert to_files(replace(whole)) == files


def test_published_values_follow_known_metrics_and_say_where_they_are_from() -> None:
    assert len({(row.system, row.metric) for row in PUBLISHED}) == len(PUBLISHED)
    for row in PUBLISHED:
        assert row.metric in METRICS
        assert 0 <= row.value <= 1
        assert row.source
