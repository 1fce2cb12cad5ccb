"""The report asset: written to whatever store there is, and attached to the runs of the models it judges."""

import json
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from held_out import corpus_row, page_split

from assets.corpus import CORPUS, PAGE_SPLITS
from assets.evaluation import scores
from assets.models import CURVES, MODELS
from assets.report import DATA_FOLDER, evaluation_report
from ml.article import Article, Body, Section
from ml.records import CorpusRow, CurveRecord, ModelRecord, Prediction, Score
from ml.splits import PageSplit
from resources.crawl import Crawl
from resources.registered import ADAPTER
from resources.store import Store
from resources.test_set import REPORT_FILE, Evaluation, GoldSet, TestSet
from resources.tracking import Tracking

MODEL, PAGES, ADAPTER_SHA256 = "tiny-json", ("a", "b"), "5" * 64
ARTICLE = Article(
    title="Title", body=Body(sections=(Section(paragraphs=("Title", "The words of the article.")),))
)


@pytest.fixture
def tracking(tmp_path: Path) -> Tracking:
    return Tracking(
        tracking_uri=f"sqlite:///{tmp_path / 'mlflow.db'}", artifact_folder=str(tmp_path / "artifacts")
    )


@pytest.fixture(params=["memory", "folder"])
def store(request: pytest.FixtureRequest, tmp_path: Path, tracking: Tracking) -> Store:
    """A store with two test pages that a model has answered."""
    uri = f"memory:/{tmp_path}/store" if request.param == "memory" else str(tmp_path / "store")
    store = Store(uri=uri)
    store.replace(
        CORPUS, CorpusRow, [corpus_row(page, "P", ARTICLE, json='{"title":"Title"}') for page in PAGES]
    )
    store.replace(PAGE_SPLITS, PageSplit, [page_split(page, "P") for page in PAGES])
    store.replace(MODELS, ModelRecord, [trained(tracking, tmp_path)], experiment=MODEL)
    store.replace(CURVES, CurveRecord, [CurveRecord(name="loss", step=1, value=1.0)], experiment=MODEL)
    TestSet(store).complete(MODEL, ADAPTER_SHA256[:16], lambda _: [answer(page) for page in PAGES])
    return store


def trained(tracking: Tracking, tmp_path: Path) -> ModelRecord:
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_model.safetensors").write_bytes(b"weights")
    registered = tracking.register(
        name=MODEL,
        artifact=ADAPTER,
        folder=adapter,
        identity={},
        parameters={},
        tags={},
        curves=[],
        figures={},
    )
    return ModelRecord(
        experiment=MODEL,
        weights_sha256=ADAPTER_SHA256,
        folder=str(adapter),
        training_set="t",
        steps=1,
        validation_perplexity=9.0,
        run_id=registered.run_id,
        model_name=registered.model_name,
        model_version=registered.model_version,
    )


def answer(page: str) -> Prediction:
    return Prediction(
        page_id=page,
        url=f"https://example.org/{page}",
        publisher="P",
        language="en",
        extractor=MODEL,
        text="Title\n\nThe words of the article.",
        json=None,
        truncated=False,
        seconds=0.1,
        error=None,
    )


def evaluated(store: Store, tracking: Tracking, evaluation: Evaluation) -> dg.ExecuteInProcessResult:
    resources = {"store": store, "crawl": Crawl(), "tracking": tracking, "evaluation": evaluation}
    return dg.materialize([scores, evaluation_report], resources=resources)


def test_the_report_lies_in_the_store_and_with_the_run_of_its_model(store: Store, tracking: Tracking) -> None:
    result = evaluated(store, tracking, Evaluation())
    path = store.root / REPORT_FILE
    assert b"<html" in path.read_bytes()
    metadata = result.asset_materializations_for_node("evaluation_report")[0].metadata
    assert metadata["dagster/row_count"].value == len(PAGES)
    assert metadata["path"].value == str(path)
    (record,) = store.rows(MODELS, ModelRecord, experiment=MODEL)
    assert metadata[MODEL].value.endswith(f"/runs/{record.run_id}/artifacts/report/report.html")
    attached = tracking.client().list_artifacts(record.run_id, "report")
    assert [file.path for file in attached] == ["report/report.html", "report/report.md"]
    data = {file.name for file in (store.root / DATA_FOLDER).iterdir()}
    assert {"scores.parquet", "summaries.csv", "comparisons.csv"} <= data


def test_the_external_gold_is_scored_apart(store: Store, tracking: Tracking, tmp_path: Path) -> None:
    gold = tmp_path / "annotated"
    gold.mkdir()
    (gold / "g.html").write_text("<h1>Ferry</h1><p>The ferry runs again.")
    annotation = {"title": "Ferry", "authors": "", "date": None, "text": "The ferry runs again."}
    line = {"id": "g", "url": "https://island.example/g", "file": "g.html", "gold": annotation}
    (gold / "manifest.jsonl").write_text(json.dumps(line))
    found = replace(answer("g"), publisher="island.example", text="The ferry runs again.")
    GoldSet(store, gold).complete(MODEL, ADAPTER_SHA256[:16], lambda _: [found])

    result = evaluated(store, tracking, Evaluation(gold_folder=str(gold), gold_source="people of the island"))

    assert {row.page_id for row in store.rows("scores", Score)} == set(PAGES)
    assert {row.page_id for row in store.rows("gold_scores", Score)} == {"g"}
    metadata = result.asset_materializations_for_node("scores")[0].metadata
    assert metadata["gold_extractors"].value == MODEL
    assert b"people of the island" in (store.root / REPORT_FILE).read_bytes()


def test_a_gold_set_that_nobody_has_answered_is_an_error(
    store: Store, tracking: Tracking, tmp_path: Path
) -> None:
    (tmp_path / "g.html").write_text("<p>x")
    line = {"id": "g", "url": "https://island.example/g", "file": "g.html", "gold": {"text": "x"}}
    (tmp_path / "manifest.jsonl").write_text(json.dumps(line))
    with pytest.raises(RuntimeError, match="no extractor has answered all 1 gold pages"):
        evaluated(store, tracking, Evaluation(gold_folder=str(tmp_path)))
