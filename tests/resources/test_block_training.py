"""A block model from the store: what it learns from, that nothing is learnt twice, what its folder answers."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from held_out import corpus_row

from ml.article import Article, Body, Section
from ml.experiments import BlockExperiment
from ml.metrics import rouge_l
from ml.page import decode
from ml.records import CorpusRow, RawPage, Split
from ml.splits import PageSplit
from resources.answers import answerer
from resources.block_training import BlockOutcome, train_block_model
from resources.demo.newsroom import articles
from resources.demo.pages import reply
from resources.harvest import RAW_PAGES
from resources.provenance import MadeFrom
from resources.store import Store
from resources.test_set import TestSet

SPLITS = {
    "Morgenblatt": Split.TRAIN,
    "HarbourGazette": Split.TRAIN,
    "BrackwaterPost": Split.TRAIN,
    "GlosDoliny": Split.TRAIN,
    "Kuestenbote": Split.VALIDATION,
    "CorreoDelValle": Split.TEST,
}
PAGES_EACH = 8
MADE_FROM = MadeFrom(
    source="demo", corpus_version="c", split_version="s", fundus_version="0", git_commit=None
)
EXPERIMENT = BlockExperiment(name="block-model")
STRANGE = Article(body=Body(sections=(Section(paragraphs=("No word of this stands in the page at all.",)),)))


def stored_pages(store: Store) -> Iterator[CorpusRow]:
    """The rows of all pages, whose HTML is stored; one of them has an article that is not in its page."""
    for key in SPLITS:
        for number, story in enumerate(articles(key)[:PAGES_EACH]):
            article = STRANGE if (key, number) == ("Morgenblatt", 0) else story.article
            row = corpus_row(f"{key}-{number}", key, article, url=story.url)
            page = RawPage(
                page_id=row.page_id,
                url=row.url,
                final_url=row.url,
                publisher=key,
                crawl_date=datetime(2025, 1, 1, tzinfo=UTC),
                source="demo",
                origin="demo",
                fundus_version="0",
                html=decode(reply(story.url).body),
                html_sha256=row.html_sha256,
            )
            store.append(RAW_PAGES, [page], publisher=key)
            yield row


def split_page(row: CorpusRow) -> PageSplit:
    return PageSplit(
        page_id=row.page_id,
        publisher=row.publisher,
        family=row.family,
        cluster=row.page_id,
        split=SPLITS[row.publisher],
        reason=None,
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store(uri=str(tmp_path_factory.mktemp("store")))
    rows = list(stored_pages(store))
    store.replace("corpus", CorpusRow, rows)
    store.replace("page_splits", PageSplit, list(map(split_page, rows)))
    return store


@pytest.fixture(scope="module")
def work_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work")


@pytest.fixture(scope="module")
def outcome(store: Store, work_dir: Path) -> BlockOutcome:
    return train_block_model(store, EXPERIMENT, MADE_FROM, work_dir)


def test_it_learns_from_the_train_split_and_says_what_it_could_not_use(outcome: BlockOutcome) -> None:
    assert outcome.train_pages == 4 * PAGES_EACH - 1
    assert outcome.validation_pages == PAGES_EACH
    (fault,) = outcome.faults.values()
    assert "its blocks hold 0.00 of the article" in fault
    assert outcome.validation_rouge_l is not None
    assert 0 < outcome.validation_rouge_l <= 1


def test_its_folder_has_a_card(outcome: BlockOutcome) -> None:
    card = Path(outcome.folder, "README.md").read_text()
    assert "| train | 31 | 4 |" in card
    assert "1 more pages taught nothing" in card
    assert f"ROUGE-L {outcome.validation_rouge_l:.3f}" in card


def test_the_same_pages_are_not_learnt_again(store: Store, outcome: BlockOutcome, work_dir: Path) -> None:
    assert train_block_model(store, EXPERIMENT, MADE_FROM, work_dir) == outcome, "its seconds, too"


def test_fewer_pages_are_taken_evenly(store: Store, tmp_path: Path) -> None:
    few = train_block_model(store, EXPERIMENT.model_copy(update={"max_pages": 13}), MADE_FROM, tmp_path)
    assert few.train_pages + len(few.faults) == 13
    assert f"| train | {few.train_pages} | 4 |" in Path(few.folder, "README.md").read_text()


def test_too_few_families_are_an_error(store: Store, tmp_path: Path) -> None:
    one = Store(uri=str(tmp_path / "one"))
    rows = [row for row in store.rows("corpus", CorpusRow) if row.publisher == "Morgenblatt"]
    one.replace("corpus", CorpusRow, rows)
    one.replace("page_splits", PageSplit, list(map(split_page, rows)))
    with pytest.raises(ValueError, match="families"):
        train_block_model(one, EXPERIMENT, MADE_FROM, tmp_path)


def test_it_answers_by_its_folder(store: Store, outcome: BlockOutcome, tmp_path: Path) -> None:
    questions = TestSet(store)
    ask = answerer(Path(outcome.folder), extractor="block-model", cache_dir=tmp_path)
    answers = list(ask(questions, lambda page_id: page_id != "CorreoDelValle-0"))
    assert {answer.page_id for answer in answers} == questions.page_ids - {"CorreoDelValle-0"}
    wanted = questions.references()
    for answer in answers:
        assert Article.from_json(answer.json or "").plaintext == answer.text
        assert not answer.text or rouge_l.score(answer.text, wanted[answer.page_id].plaintext) > 0.5
        assert answer.error == (None if answer.text else "probably no article")


def test_pages_that_changed_are_learnt_anew(store: Store, outcome: BlockOutcome, tmp_path: Path) -> None:
    """Seen by the failure: the changed rows have no HTML in the store that they are in."""
    changed = Store(uri=str(tmp_path / "changed"))
    rows = [replace(row, html_sha256=f"{row.html_sha256}-2") for row in store.rows("corpus", CorpusRow)]
    changed.replace("corpus", CorpusRow, rows)
    changed.replace("page_splits", PageSplit, list(map(split_page, rows)))
    with pytest.raises(ValueError, match="cannot train on these 0 pages"):
        train_block_model(changed, EXPERIMENT, MADE_FROM, Path(outcome.folder).parents[2])
