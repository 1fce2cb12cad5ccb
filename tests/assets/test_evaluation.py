"""Answers of libraries and language models to the held-out pages, through the real assets."""

from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest
from held_out import corpus_row, page_split
from openai_stub import completion, refusal, serving

from assets.corpus import CORPUS, PAGE_SPLITS
from assets.evaluation import baseline_predictions, scores, zero_shot_predictions
from ml.article import Article, Body, Section
from ml.records import CorpusRow, Prediction, RawPage, Score
from ml.splits import PageSplit
from ml.zero_shot.registry import ZERO_SHOT
from resources.harvest import RAW_PAGES
from resources.language_models import LanguageModels
from resources.store import Store
from resources.test_set import Evaluation, TestSet

ASKED = "zero-shot-qwen2.5-32b-instruct-json"
MODEL, TASK = ZERO_SHOT[ASKED]
TEXT = "The ferry runs again from Monday on, the harbour office says, after two weeks of repairs."
ARTICLE = Article(title="Ferry back", body=Body(sections=(Section(paragraphs=(TEXT,)),)))
HTML = f"<html lang=en><body><nav>Home</nav><article><h1>Ferry back</h1><p>{TEXT}</p></article></body></html>"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two held-out pages of two publishers, as they were received and as Fundus extracted them."""
    store = Store(uri=str(tmp_path / "store"))
    pages = {"a": "A", "b": "B"}
    store.replace(
        CORPUS, CorpusRow, [corpus_row(page, publisher, ARTICLE) for page, publisher in pages.items()]
    )
    store.replace(PAGE_SPLITS, PageSplit, [page_split(page, publisher) for page, publisher in pages.items()])
    for page, publisher in pages.items():
        store.append(RAW_PAGES, [raw_page(page, publisher)], publisher=publisher)
    return store


def raw_page(page: str, publisher: str) -> RawPage:
    return RawPage(
        page_id=page,
        url=f"https://example.org/{page}",
        final_url=f"https://example.org/{page}",
        publisher=publisher,
        crawl_date=datetime(2025, 1, 1, tzinfo=UTC),
        source="web",
        origin="",
        fundus_version="1",
        html=HTML,
        html_sha256=page,
    )


def ask(store: Store, server: str) -> dg.ExecuteInProcessResult:
    language_models = LanguageModels(cache_dir="unused", server=server, concurrency=1)
    return dg.materialize(
        [zero_shot_predictions],
        partition_key=ASKED,
        resources={"store": store, "evaluation": Evaluation(), "language_models": language_models},
        raise_on_error=False,
    )


def answers(store: Store) -> list[Prediction]:
    return TestSet(store).answers(ASKED, MODEL.version(TASK))


def test_a_language_model_behind_a_server_answers_and_is_scored(store: Store) -> None:
    with serving() as server:
        server.model = MODEL.source
        server.says(completion(f"```json\n{ARTICLE.to_json()}\n```"), refusal(400, "too strange"))
        assert ask(store, server.url).success
    assert [(row.text, row.device) for row in answers(store)] == [(TEXT, "server"), ("", "server")]

    dg.materialize([scores], resources={"store": store, "evaluation": Evaluation()})
    rows = {(row.metric, row.page_id): row.value for row in store.rows("scores", Score)}
    assert (rows["rouge_l", "a"], rows["rouge_l", "b"]) == (1, 0)
    assert (rows["json_validity", "a"], rows["json_validity", "b"]) == (1, 0)
    assert rows["title_recall", "b"] == 0  # no answer misses all that there was


def test_pages_that_are_answered_are_not_asked_again(store: Store) -> None:
    with serving() as server:
        server.model = MODEL.source
        server.says(completion(ARTICLE.to_json()))
        assert ask(store, server.url).success
        assert ask(store, server.url).success
    assert len(server.requests) == 2


def test_a_server_that_is_not_there_fails_the_run_and_stores_nothing(store: Store) -> None:
    with serving() as server:
        url = server.url
    result = ask(store, url)
    assert not result.success
    assert answers(store) == []


def test_a_library_answers_the_pages_as_they_were_received(store: Store) -> None:
    result = dg.materialize(
        [baseline_predictions],
        partition_key="resiliparse",
        resources={"store": store, "evaluation": Evaluation()},
    )
    (materialization,) = result.asset_materializations_for_node("baseline_predictions")
    assert materialization.metadata["dagster/row_count"].value == 2
    assert materialization.metadata["errors"].value == 0
