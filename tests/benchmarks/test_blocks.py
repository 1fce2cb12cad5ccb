"""The benchmark's own promises, on the demo newsroom: nothing seen is scored, refusals count, memory is measured."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from hashlib import sha256
from pathlib import Path

import blocks
import pytest
from blocks import annotated, answered, ccnews, cross_validated
from default_model import TrainingFacts, write_default_model
from figures import ROWS, Figure
from measures import METRICS, Answer, LabelledItem, on_ccnews, predictions
from memory import memory_of

from ml.article import Article
from ml.block_model.rendering import body_lines
from ml.block_model.training import TrainingParameters
from ml.extractor import Extraction, Extractor, LabelledPage, train
from ml.language import detect_language
from resources.fundus.catalogue import Catalogue, PublisherFacts, fundus_catalogue

FIELDS = ("title", "authors", "publishing_date", "topics", "free_access")


@pytest.fixture(scope="module")
def extractor(items: list[LabelledItem], quick: TrainingParameters) -> Extractor:
    return train((item.labelled for item in items), quick)


def perfect(item: LabelledItem) -> Answer:
    """The right article, with a confidence that is right."""
    found = Extraction(
        article=item.labelled.article,
        language=None,
        confidence=1.0,
        field_confidence=dict.fromkeys(FIELDS, 1.0),
        lines=body_lines(item.labelled.page, item.roles),
    )
    return Answer(extraction=found)


def refused(item: LabelledItem) -> Answer:
    """A refusal of what was read well."""
    found = Extraction(article=None, language=None, confidence=0.0, field_confidence={}, lines=())
    return Answer(extraction=found, kept_back=item.reference.plaintext)


def test_perfect_answers_have_perfect_figures(items: list[LabelledItem]) -> None:
    figures = on_ccnews(items, [perfect(item) for item in items], [])
    assert {key: figures[key].value for key in METRICS} == dict.fromkeys(METRICS, pytest.approx(1))
    for role in ("headline", "summary", "paragraph"):
        assert figures[f"{role}_f1"] == Figure(1, 1, 1)
    errors = {key: found.value for key, found in figures.items() if key.startswith("calibration_error_")}
    assert errors == dict.fromkeys(errors, 0)
    assert len(errors) == 1 + len(FIELDS)
    assert figures["refused"].value == figures["share_under_06"].value == 0


def test_a_refusal_counts_as_an_empty_article(items: list[LabelledItem]) -> None:
    half = len(items) // 2
    answers = [*map(refused, items[:half]), *map(perfect, items[half:])]
    figures = on_ccnews(items, answers, [])
    share = pytest.approx(half / len(items))
    assert (
        figures["refused"].value == figures["good_refused"].value == figures["share_under_06"].value == share
    )
    assert figures["rouge_l"].value == figures["title"].value == 1 - half / len(items)
    assert figures["valid_json"].value == figures["schema_valid"].value == 1
    assert figures["unrefused_rouge_l"].value == 1
    assert figures["calibration_error_text"].value == share  # sure of a refusal, and wrong


def test_what_is_no_page_is_refused_without_confidence(items: list[LabelledItem]) -> None:
    figures = on_ccnews(items, [Answer(extraction=None)] * len(items), [])
    assert figures["refused"].value == 1
    assert figures["good_refused"].value == figures["rouge_l"].value == 0


def test_others_stand_beside_ours_on_the_same_pages(items: list[LabelledItem]) -> None:
    empty = predictions("trafilatura", items, (Article() for _ in items))
    figures = on_ccnews(items, [perfect(item) for item in items], empty)
    assert figures["ahead_rouge_l"] == Figure(pytest.approx(1), pytest.approx(1), pytest.approx(1))
    assert figures["ahead_share_under_06"].value == -1
    assert figures["trafilatura_authors_f1"].value == 0


def test_no_family_is_seen_by_the_extractor_that_answers_it(
    items: list[LabelledItem], quick: TrainingParameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    family_of = {item.received.html: item.labelled.family for item in items}
    seen: set[str] = set()

    def remembering(pages: Iterable[LabelledPage], parameters: TrainingParameters) -> Extractor:
        known = list(pages)
        seen.clear()
        seen.update(page.family for page in known)
        return train(known, parameters)

    def checking(extractor: Extractor, html: str) -> Answer:
        assert family_of[html] not in seen
        return answered(extractor, html)

    monkeypatch.setattr(blocks, "train", remembering)
    monkeypatch.setattr(blocks, "answered", checking)
    figures = on_ccnews(items, cross_validated(items, quick, folds=2), [])
    assert figures["unrefused_rouge_l"].value > 0.5
    assert figures["oracle_rouge_l"].value > 0.99


def test_a_page_that_is_none_is_answered_too(extractor: Extractor) -> None:
    assert answered(extractor, "").is_refused
    home = answered(extractor, "<body><h1>Home</h1>" + "<p><a href=/>A story</a></p>" * 30)
    assert home.is_refused
    assert home.article == Article()


def test_memory_is_that_of_a_process_of_its_own(extractor: Extractor, items: list[LabelledItem]) -> None:
    ballast = bytearray(1 << 29)
    memory = memory_of(extractor, (item.received.html for item in items), 3 * len(items))
    assert 20 < memory["early_mib"] <= memory["peak_mib"] < 500
    assert memory["streamed_pages"] == 3 * len(items)
    del ballast


def test_the_model_is_the_same_again_and_its_card_tells_which(
    extractor: Extractor, items: list[LabelledItem], quick: TrainingParameters, tmp_path: Path
) -> None:
    days = [date(2023, 3, 14), date(2026, 8, 2)]
    figures = {row.key: Figure(0.5, 0.25, 0.75) for row in ROWS}
    figures |= {key: Figure(200.0) for key in ("streamed_pages", "early_mib", "end_mib")}
    again = train((item.labelled for item in items), quick)
    for name, model in (("one", extractor), ("other", again)):
        write_default_model(tmp_path / name, model, TrainingFacts.of(items, days), figures)
    models = [(tmp_path / name / "model.json").read_bytes() for name in ("one", "other")]
    assert models[0] == models[1]
    card = (tmp_path / "one" / "README.md").read_text(encoding="utf-8")
    assert sha256(models[0]).hexdigest() in card
    assert f"{len(items)} pages" in card
    assert "2023" in card
    assert "0.5000 [0.2500, 0.7500]" in card


def test_real_pages_are_read_with_what_is_right(shared: Path) -> None:
    items, gold = ccnews(shared / "ccnews", limit=6), annotated(shared / "news-gold", limit=6)
    assert len(items) == len(gold) == 6
    for item in (*items, *gold):
        assert item.reference.language == detect_language(item.reference.plaintext)
    assert all("topics" not in item.reference.fields for item in gold)  # people noted none


def test_publishers_that_object_to_training_are_left_out(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ccnews(shared / "ccnews", limit=1)[0].received.publisher

    class Objecting(Catalogue):
        def facts(self, key: str) -> PublisherFacts:
            return replace(super().facts(key), disallows_training=key == first)

    monkeypatch.setattr(blocks, "fundus_catalogue", lambda: Objecting(fundus_catalogue().values()))
    items = ccnews(shared / "ccnews", limit=10)
    assert len(items) == 10
    assert all(item.received.publisher != first for item in items)
