"""The whole job on the demo newsroom: one run, looked at from every side."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest
from newslm_command import newslm, store_of

from ml.article import SCHEMA_PATH
from ml.baselines.registry import BASELINES
from ml.records import CorpusRow, ModelRecord, Reason, Split
from ml.splits import PageSplit
from pipeline.whole_job import TRAINING
from resources.demo.newsroom import articles
from resources.demo.sites import SITES
from resources.fundus.catalogue import demo_catalogue
from resources.tracking import Tracking

TRAINED = {"block-model", "tiny-plaintext", "tiny-json"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def result(home: Path) -> Any:
    answer = newslm("run", "--home", str(home), "--json")
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_everything_is_scored_and_nothing_failed(result: Any) -> None:
    assert result["failed"] == []
    extractors = {summary["extractor"] for summary in result["scores"]}
    assert extractors == {*BASELINES, *TRAINED}
    rouge = {s["extractor"]: s["mean"] for s in result["scores"] if s["metric"] == "rouge_l"}
    assert rouge["trafilatura"] > 0.8
    assert rouge["boilerpipe"] > 0.8
    validity = [s for s in result["scores"] if s["metric"] == "json_validity"]
    writers = {name for name, baseline in BASELINES.items() if baseline.gives}
    assert {s["extractor"] for s in validity} == {*writers, "tiny-json", "block-model"}
    dates = {s["extractor"]: s["mean"] for s in result["scores"] if s["metric"] == "date_day_f1"}
    assert dates["trafilatura"] > 0.9


def test_the_corpus_holds_what_the_editors_wrote(result: Any, home: Path) -> None:
    rows = list(store_of(home).rows("corpus", CorpusRow))
    kept = {row.url: row for row in rows if row.reason is None}
    written = {story.url: story.article for site in SITES for story in articles(site.key)}
    found = {url: row.json for url, row in kept.items() if url in written}
    assert len(found) > 280
    assert all(json.loads(found[url]) == json.loads(written[url].to_json()) for url in found)


def test_every_row_is_kept_or_has_a_named_reason(result: Any, home: Path) -> None:
    rows = list(store_of(home).rows("corpus", CorpusRow))
    assert {row.reason for row in rows} - {None} <= set(Reason)
    assert all(row.detail for row in rows if row.reason)
    assert {Reason.EMPTY_PAGE, Reason.DUPLICATE_CONTENT} <= {row.reason for row in rows}


def test_every_json_target_fulfils_the_published_schema(result: Any, home: Path) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA_PATH.read_text()))
    for row in store_of(home).rows("corpus", CorpusRow):
        if row.reason is None:
            validator.validate(json.loads(row.json))
            assert len(row.roles) > 0
            assert row.target_coverage >= 0.9


def test_who_objects_is_not_in_it(result: Any, home: Path) -> None:
    publishers = {row.publisher for row in store_of(home).rows("corpus", CorpusRow)}
    assert "NadiSamachar" not in publishers, "disallows training"
    assert "QuietValleyReview" not in publishers, "disallows crawling"
    assert len(publishers) == len(SITES) - 2


def test_splits_hold_out_whole_families(result: Any, home: Path) -> None:
    pages = [page for page in store_of(home).rows("page_splits", PageSplit) if page.split]
    splits: dict[str, set[str]] = {}
    for page in pages:
        splits.setdefault(page.family, set()).add(page.split or "")
    assert all(len(found) == 1 for found in splits.values())
    assert Counter(page.split for page in pages).keys() == set(Split)
    assert demo_catalogue().family("HarbourGazette") == demo_catalogue().family("FenwickEcho")


def test_models_are_registered_with_what_they_came_from(result: Any, home: Path) -> None:
    folder = home / "mlflow"
    tracking = Tracking(
        tracking_uri=f"sqlite:///{folder / 'mlflow.db'}", artifact_folder=str(folder / "artifacts")
    )
    versions = {version.name: version for version in tracking.versions()}
    assert versions.keys() == TRAINED
    for name, version in versions.items():
        (record,) = store_of(home).rows("models", ModelRecord, experiment=name)
        run = tracking.client().get_run(version.run_id)
        assert version.aliases == ("challenger",)
        assert version.tags["corpus_version"] == store_of(home).version("corpus")
        assert version.tags["fundus_version"]
        if name == "block-model":
            assert 0.8 < run.data.metrics["validation_rouge_l"] <= 1
        else:
            assert run.data.params["lora_rank"] == "16"
            curve = tracking.client().get_metric_history(version.run_id, "loss")
            assert curve[-1].value < curve[0].value
        path = version.artifact.path
        artifacts = {f.path for f in tracking.client().list_artifacts(version.run_id, path)}
        assert f"{path}/README.md" in artifacts
        reports = {f.path for f in tracking.client().list_artifacts(version.run_id, "report")}
        assert reports == {"report/report.html", "report/report.md"}
        assert Path(record.folder, version.artifact.weights).is_file()


def test_the_report_is_one_page_that_needs_nothing_else(result: Any) -> None:
    html = Path(result["report"]).read_text()
    assert "<script" not in html
    assert "src=" not in html.replace('src="data:', "")
    assert "tiny-plaintext" in html


def test_models_and_report_can_be_asked_for(result: Any, home: Path) -> None:
    models = json.loads(newslm("models", "list", "--home", str(home), "--json").stdout)
    assert {model["name"] for model in models} == TRAINED
    report = json.loads(newslm("report", "--home", str(home), "--json").stdout)
    assert report["scores"] == result["scores"]


def test_running_again_repeats_nothing(result: Any, home: Path) -> None:
    before = rows_on_disk(home)
    again = newslm("run", "--home", str(home), "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["scores"] == result["scores"]
    assert rows_on_disk(home) == before, "no page is stored twice, none is answered twice"
    assert json.loads(again.stdout)["seconds"][TRAINING] < result["seconds"][TRAINING] / 2
    models = json.loads(newslm("models", "list", "--home", str(home), "--json").stdout)
    assert {model["version"] for model in models} == {"1"}, "the same adapter is not registered twice"


def rows_on_disk(home: Path) -> dict[str, int]:
    """Rows in all files of the datasets that only ever grow."""
    return {
        name: sum(
            pq.ParquetFile(path).metadata.num_rows for path in (home / "store" / name).rglob("*.parquet")
        )
        for name in ("raw_pages", "seen_urls", "predictions")
    }
