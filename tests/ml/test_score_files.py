"""Rows of predictions and references: what may stand in them, and what is wrong with those that don't."""

import json
from pathlib import Path

import pytest

from ml.article import Article, Body, Section
from ml.evaluation import score_predictions
from ml.score_files import read_pairs

ARTICLE = Article(title="Vote", body=Body(sections=(Section(paragraphs=("One.", "Two.")),)))


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "predictions.jsonl", tmp_path / "references.jsonl"


def test_text_and_json_are_paired_by_id(files: tuple[Path, Path]) -> None:
    predictions, references = files
    write(
        predictions,
        {"id": "b", "json": ARTICLE.to_json()},  # as written
        {"id": "a", "text": "One. Two."},
        "",
        {"id": "c", "json": json.loads(ARTICLE.to_json())},  # as an object
    )
    write(
        references,
        {"id": "a", "text": "One. Two.", "publisher": "P", "language": "en", "page": "<p>One. Two."},
        {"id": "b", "json": json.loads(ARTICLE.to_json())},
        {"id": "c", "text": "One.\n\nTwo.", "json": {"title": "Vote"}},
    )
    found, wanted = read_pairs(predictions, references)
    assert {row.page_id: row.text for row in found} == {
        "a": "One. Two.",
        "b": "One.\n\nTwo.",
        "c": "One.\n\nTwo.",
    }
    assert found[0].json == found[2].json == ARTICLE.to_json()
    assert (wanted["a"].publisher, wanted["b"].publisher) == ("P", "b")
    assert wanted["c"].fields == {"title"}
    assert "body" in wanted["b"].fields


def test_json_that_is_no_article_holds_no_text(files: tuple[Path, Path]) -> None:
    predictions, references = files
    write(predictions, {"id": "a", "json": "{'title': 'Vote'}"})
    write(references, {"id": "a", "json": json.loads(ARTICLE.to_json())})
    ((prediction,), _) = read_pairs(predictions, references)
    assert (prediction.text, prediction.json) == ("", "{'title': 'Vote'}")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("{", "line 1: expected one JSON object"),
        ("[1]", "line 1: Input should be"),
        ({"text": "x"}, "line 1: id: Field required"),
        ({"id": 3, "text": "x"}, "line 1: id: Input should be a valid string"),
        ({"id": "a"}, "line 1: Value error, found neither text nor json"),
        ({"id": "a", "text": 3}, "line 1: text: Input should be a valid string"),
        ({"id": "a", "text": None}, "line 1: Value error, found neither text nor json"),
        ({"id": "a", "json": 3}, "line 1: json: Input should be a valid string"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(files: tuple[Path, Path], row: object, problem: str) -> None:
    predictions, references = files
    write(predictions, row)
    write(references, {"id": "a", "text": "x"})
    with pytest.raises(ValueError, match=r"predictions\.jsonl") as caught:
        read_pairs(predictions, references)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"id": "a", "json": "{"}, "json is no JSON object"),
        ({"id": "a", "json": {"title": "Vote"}}, "the article's text is needed as text"),
    ],
)
def test_a_reference_that_nothing_compares_with(files: tuple[Path, Path], row: object, problem: str) -> None:
    predictions, references = files
    write(predictions, {"id": "a", "text": "x"})
    write(references, row)
    with pytest.raises(ValueError, match=problem):
        read_pairs(predictions, references)


def test_everything_that_is_wrong_is_said_at_once(files: tuple[Path, Path]) -> None:
    predictions, references = files
    write(predictions, "{", {"id": "a", "text": "x"}, {"id": "a", "text": "y"})
    write(references, {"id": "a"})
    with pytest.raises(ValueError, match="line 1") as caught:
        read_pairs(predictions, references)
    assert "id 'a' is there 2 times" in str(caught.value)
    assert "references.jsonl, line 1" in str(caught.value)


def test_ids_that_one_side_lacks(files: tuple[Path, Path]) -> None:
    predictions, references = files
    write(predictions, {"id": "a", "text": "x"}, {"id": "c", "text": "x"})
    write(references, {"id": "a", "text": "x"}, {"id": "b", "text": "x"})
    with pytest.raises(ValueError, match="lacks 1 of the 2 ids") as caught:
        read_pairs(predictions, references)
    assert "has 1 ids that" in str(caught.value)
    assert "a row with an empty text" in str(caught.value)


def test_an_empty_file_is_said_to_be_one(files: tuple[Path, Path]) -> None:
    predictions, references = files
    write(predictions)
    write(references, {"id": "a", "text": "x"})
    with pytest.raises(ValueError, match="found no rows"):
        read_pairs(predictions, references)


def test_half_a_surrogate_pair_is_scored(files: tuple[Path, Path]) -> None:
    predictions, references = files
    write(predictions, '{"id": "a", "text": "caf\\ud83d vote"}')
    write(references, {"id": "a", "text": "caf vote"})
    found, wanted = read_pairs(predictions, references)
    assert all(0 <= row.value <= 1 for row in score_predictions(found, wanted) if row.value is not None)
