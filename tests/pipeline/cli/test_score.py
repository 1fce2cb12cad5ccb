"""`newslm score` on files of another system."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ml.metrics.registry import METRICS
from pipeline.cli.main import app

PAGES = {"a": "The ferry runs again on Monday.", "b": "町の図書館が再び開いた。"}


def newslm(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["score", *map(str, arguments)])


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    predictions, references = tmp_path / "predictions.jsonl", tmp_path / "references.jsonl"
    predictions.write_text(
        "".join(json.dumps({"id": key, "text": text}) + "\n" for key, text in PAGES.items())
    )
    references.write_text(
        "".join(json.dumps({"id": key, "text": text, "page": text}) + "\n" for key, text in PAGES.items())
    )
    return predictions, references


def test_the_text_itself_scores_one(files: tuple[Path, Path]) -> None:
    result = newslm(*files)
    assert result.exit_code == 0
    assert "ROUGE-L" in result.stdout
    assert "1.000" in result.stdout
    assert "(paper)" not in result.stdout


def test_json_for_programs(files: tuple[Path, Path]) -> None:
    document = json.loads(newslm(*files, "--protocol", "all", "--json").stdout)
    assert (document["pages"], document["clusters"], document["protocol"]) == (2, 2, "all")
    assert document["scores"]["rouge_l"] == {"mean": 1, "low": 1, "high": 1, "pages": 2}
    assert document["scores"]["rouge_l_paper"]["mean"] == 0.5  # the paper's tokens have no Japanese
    assert "json_validity" not in document["scores"]
    assert document["scores"].keys() <= METRICS.keys()


def test_every_pages_values(files: tuple[Path, Path], tmp_path: Path) -> None:
    newslm(*files, "--per-page", tmp_path / "values.csv")
    with (tmp_path / "values.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "bleu"]
    assert {row["page_id"]: float(row["value"]) for row in rows} == {"a": 1, "b": 1}


def test_a_bad_file_is_an_error_that_says_where(files: tuple[Path, Path]) -> None:
    files[0].write_text('{"id": "a"}\n')
    result = newslm(*files)
    assert result.exit_code == 1
    assert "line 1" in result.stderr
    assert "neither text nor json" in result.stderr


def test_a_missing_file_is_wrong_usage(files: tuple[Path, Path], tmp_path: Path) -> None:
    assert newslm(tmp_path / "none.jsonl", files[1]).exit_code == 2
