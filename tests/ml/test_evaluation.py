"""Scores per article: every metric that applies, of exactly the reference pages."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from ml.article import Article, Body, Section
from ml.evaluation import score_predictions
from ml.intervals import summarise
from ml.metrics.registry import METRICS, Direction, Protocol, Reference, missing
from ml.records import Prediction, Score

TEXT = "The council voted on Monday evening.\n\nThe mayor was not there."


ARTICLE = Article(
    title="Vote",
    authors=("Ada Byron",),
    publishing_date=datetime(2026, 3, 2, 7, 30, tzinfo=UTC),
    topics=("Council",),
    body=Body(sections=(Section(paragraphs=tuple(TEXT.split("\n\n"))),)),
)
KEYS = ("title", "authors", "date_instant", "date_day", "topics", "body")


def reference(page_id: str, article: Article = ARTICLE, **changes: object) -> Reference:
    fields: dict[str, object] = {
        "page_id": page_id,
        "url": f"https://gazette.example/{page_id}",
        "publisher": "Gazette",
        "language": "en",
        "plaintext": TEXT,
        "json": article.to_json(),
        "compact": f"<h1>Vote</h1><p>{TEXT}</p>",
    }
    return Reference(**(fields | changes))  # type: ignore[arg-type]


def prediction(page_id: str, text: str = TEXT, json: str | None = None, **changes: object) -> Prediction:
    fields: dict[str, object] = {
        "page_id": page_id,
        "url": f"https://gazette.example/{page_id}",
        "publisher": "Gazette",
        "language": "en",
        "extractor": "reader",
        "text": text,
        "json": json,
        "truncated": False,
        "seconds": 0.1,
        "error": None,
    }
    return Prediction(**(fields | changes))  # type: ignore[arg-type]


def references(*page_ids: str) -> dict[str, Reference]:
    return {page_id: reference(page_id) for page_id in page_ids}


def values(scores: Sequence[Score], page_id: str) -> dict[str, float | None]:
    return {row.metric: row.value for row in scores if row.page_id == page_id}


MEASURED = {name for name, metric in METRICS.items() if metric.measure} - missing().keys()
PERFECT = ARTICLE.to_json()


def test_a_perfect_prediction_has_the_best_value_of_every_metric() -> None:
    perfect = prediction("a", json=PERFECT, target_perplexity=1.0, target_tokens=9)
    found = values(score_predictions([perfect], references("a")), "a")
    assert found.keys() == MEASURED
    for name in MEASURED - {"perplexity", "meteor", "meteor_paper", "json_meteor_paper"}:
        assert found[name] == pytest.approx(float(METRICS[name].better is Direction.HIGHER)), name
    assert found["perplexity"] == 1
    for name in MEASURED & {"meteor", "meteor_paper", "json_meteor_paper"}:
        # one chunk of n matched words: the penalty is 0.5 / n^3, not 0
        assert found[name] == pytest.approx(1, abs=0.001)


def test_a_failed_prediction_is_an_empty_text() -> None:
    failed = prediction("a", text="", json="", error="no answer within 60 s")
    found = values(score_predictions([failed], references("a")), "a")
    inapplicable = {name for name, value in found.items() if value is None}
    # nothing was found, so there is no precision; the paper's code looks at valid outputs alone
    assert inapplicable == {
        *(f"{key}_precision" for key in ("shingle", "fields", *KEYS)),
        "fields_precision_paper",
        "fields_recall_paper",
        "perplexity",
    }
    best = {"repetition", "repetition_paper", "repetition_paper_words"}
    assert {found[name] for name in best} == {0.0}
    assert {found[name] for name in ("levenshtein", "json_levenshtein")} == {1.0}
    others = found.keys() - inapplicable - best - {"levenshtein", "json_levenshtein"}
    assert {found[name] for name in others} == {0.0}


def test_json_metrics_do_not_apply_to_an_extractor_without_json() -> None:
    scores = score_predictions([prediction("a")], references("a"))
    unscored = {row.metric for row in scores if row.value is None}
    assert {"json_validity", "schema_validity", "title_recall", "json_bleu_paper"} <= unscored
    assert not [row for row in summarise(scores) if row.metric in ("json_validity", "title_f1")]


def test_keys_count_over_all_pages_together() -> None:
    # page a: the title right, 1 of 2 authors found, with one wrong besides; page b: nothing valid
    wanted = Article(title="Vote", authors=("A", "B"))
    rows = {"a": reference("a", article=wanted), "b": reference("b", article=wanted)}
    found = Article(title="Vote", authors=("A", "C")).to_json()
    scores = score_predictions([prediction("a", json=found), prediction("b", json="{")], rows)
    means = {row.metric: row.mean for row in summarise(scores)}
    assert means["title_precision"] == 1
    assert means["title_recall"] == 1 / 2
    assert means["title_f1"] == pytest.approx(2 / 3)
    assert means["authors_precision"] == 1 / 2  # of the two that were named at all
    assert means["authors_recall"] == 1 / 4  # of the two wanted on each page
    assert means["authors_f1"] == pytest.approx(2 * 1 / (2 + 4))  # 2 tp / (found + wanted)


def test_a_key_that_the_reference_does_not_state_is_compared_with_nothing() -> None:
    partial = reference("a", article=Article(title="Vote"), fields=frozenset({"title"}))
    found = values(score_predictions([prediction("a", json=PERFECT)], {"a": partial}), "a")
    assert found["title_precision"] == 1
    assert found["authors_precision"] is None
    assert found["json_bleu_paper"] is None
    assert found["json_validity"] == 1


def test_one_protocol_alone() -> None:
    scores = score_predictions([prediction("a")], references("a"), protocols=[Protocol.PAPER])
    assert {row.metric for row in scores} == {
        name for name in MEASURED if METRICS[name].protocol is Protocol.PAPER
    }


def test_processes_score_alike() -> None:
    rows = [prediction(page, text=TEXT * (number + 1)) for number, page in enumerate("abcdefghi")]
    assert score_predictions(rows, references(*"abcdefghi"), processes=2) == score_predictions(
        rows, references(*"abcdefghi"), processes=1
    )


def test_a_prediction_that_is_not_text_is_named() -> None:
    with pytest.raises(ValueError, match="found int as text of reader on page a"):
        score_predictions([prediction("a", text=3)], references("a"))  # type: ignore[arg-type]


def test_a_reference_that_is_no_json_is_an_error() -> None:
    broken = {"a": reference("a", json="{")}
    with pytest.raises(ValueError, match="reference of page a is no JSON object"):
        score_predictions([prediction("a", json=PERFECT)], broken)


def test_every_metric_says_what_it_is() -> None:
    assert all(metric.label and metric.description for metric in METRICS.values())
    assert len({metric.label for metric in METRICS.values()}) == len(METRICS)
    for metric in METRICS.values():
        assert (metric.measure is None) == (metric.harmonic_of is not None)
        assert all(METRICS[part].measure for part in metric.harmonic_of or ())


def test_no_json_from_an_extractor_that_writes_json_is_invalid() -> None:
    rows = [prediction("a", json="{}"), prediction("b", text="", json=None, error="crashed")]
    scores = score_predictions(rows, references("a", "b"))
    assert (values(scores, "a")["json_validity"], values(scores, "b")["json_validity"]) == (1, 0)


def test_mismatched_pages_are_all_named_with_counts() -> None:
    rows = [
        *[prediction(page, extractor="gappy") for page in ("a", "x")],
        *[prediction(page, extractor="double") for page in ("a", "a", "b", "c")],
        *[prediction(page, extractor="whole") for page in ("a", "b", "c")],
    ]
    with pytest.raises(ValueError, match="3 reference pages") as caught:
        score_predictions(rows, references("a", "b", "c"))
    message = str(caught.value)
    assert "double: 1 repeated (such as a)" in message
    assert "gappy: 2 missing (such as b)" in message
    assert "gappy: 1 unknown (such as x)" in message
    assert "whole" not in message
