"""Outputs that are stopped and go on, and rows that survive every format."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ml.archives import ArchivedPage
from ml.article import SCHEMA_PATH, Article, Body, Section
from ml.extraction_files import NOT_ARTICLES, Folder, JsonLines, Parquet
from ml.extraction_rows import ExtractionRow, extraction_row, key_of
from ml.extractor import default_extractor
from resources.demo.newsroom import articles
from resources.demo.pages import reply

ARTICLE = Article(
    title="Möwen #1", authors=("A", "B"), body=Body(sections=(Section(paragraphs=("Zwei.", "Drei.")),))
)
ROW = ExtractionRow(
    file="a/möwen.html",
    url="https://example.org/a?b=c",
    date=datetime(2025, 1, 1, 12, 30, tzinfo=UTC),
    is_article=True,
    confidence=0.9,
    language="de",
    title=ARTICLE.title,
    authors=ARTICLE.authors,
    free_access=True,
    text=ARTICLE.plaintext,
    article=ARTICLE.to_json(),
    field_confidence='{"title":0.5}',
    model="m1",
)
NOTHING = ExtractionRow(
    file="b.html", url=None, date=None, is_article=False, confidence=0.1, error="empty", model="m1"
)


def test_a_row_survives_json_and_arrow() -> None:
    for row in (ROW, NOTHING):
        assert ExtractionRow.from_json(row.to_json()) == row
        assert list(ExtractionRow.rows(ExtractionRow.table([row]))) == [row]
    assert json.loads(ROW.to_json())["article"]["authors"] == ["A", "B"], "an object, not a text"


def test_another_line_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a row that"):
        ExtractionRow.from_json('{"title": "x"}')


def test_a_real_page_says_where_every_text_is_from() -> None:
    story = articles("Morgenblatt")[0]
    page = ArchivedPage(
        url=story.url,
        date=datetime(2025, 1, 1, tzinfo=UTC),
        data=reply(story.url).body,
        charset=None,
        origin="x",
    )
    row = extraction_row(default_extractor(), page, model="m", provenance=True)
    assert row.key == key_of(page)
    assert row.article
    article = Article.from_json(row.article)
    jsonschema.validate(json.loads(row.article), json.loads(SCHEMA_PATH.read_text()))
    told = json.loads(row.provenance or "")
    lines = [
        each["text"]
        for each in told
        if each["from"] == "block" and each["of"] in ("summary", "headline", "paragraph")
    ]
    assert lines == article.body.lines()
    assert all(each["block"] is not None and each["path"] for each in told if each["from"] == "block")
    assert [each["text"] for each in told if each["of"] == "title"] == [article.title]
    assert [each["text"] for each in told if each["of"] == "authors"] == list(article.authors)


@pytest.mark.parametrize(("kind", "name"), [(JsonLines, "out.jsonl"), (Parquet, "out.parquet")])
def test_a_file_goes_on_where_it_was(
    kind: type[JsonLines] | type[Parquet], name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    output = kind(path, "m1")
    output.write(ROW)
    output.close()  # stopped
    lines = path if kind is JsonLines else tmp_path / f"{name}.part"
    with lines.open("a") as file:
        file.write('{"file": "torn by a ki')
    output = kind(path, "m1")
    assert output.has(ROW.key)
    assert not output.has(NOTHING.key)
    output.write(NOTHING)
    output.finish()
    assert stored(path) == [ROW, NOTHING]
    again = kind(path, "m1")
    assert again.has(ROW.key)
    assert again.has(NOTHING.key)
    again.write(replace(NOTHING, file="c.html"))
    again.finish()
    assert stored(path) == [ROW, NOTHING, replace(NOTHING, file="c.html")]
    assert [each.name for each in tmp_path.iterdir()] == [name], "nothing is left over"


def stored(path: Path) -> list[ExtractionRow]:
    if path.suffix == ".jsonl":
        return [ExtractionRow.from_json(line) for line in path.read_bytes().splitlines()]
    return list(ExtractionRow.rows(pq.read_table(path, schema=ExtractionRow.schema())))


@pytest.mark.parametrize(("kind", "name"), [(JsonLines, "out.jsonl"), (Parquet, "out.parquet")])
def test_rows_of_another_model_are_refused(
    kind: type[JsonLines] | type[Parquet], name: str, tmp_path: Path
) -> None:
    output = kind(tmp_path / name, "m1")
    output.write(ROW)
    output.finish()
    with pytest.raises(ValueError, match="rows of the model m1, expected m2: choose another output"):
        kind(tmp_path / name, "m2")


def test_other_files_are_refused_and_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("my notes\n")
    with pytest.raises(ValueError, match="Expecting value"):
        JsonLines(tmp_path / "notes.jsonl", "m1")
    assert (tmp_path / "notes.jsonl").read_text() == "my notes\n"
    (tmp_path / "x.parquet").write_text("nothing")
    with pytest.raises(ValueError, match="is no Parquet file"):
        Parquet(tmp_path / "x.parquet", "m1")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "y.parquet")
    with pytest.raises(ValueError, match="has the columns a, expected"):
        Parquet(tmp_path / "y.parquet", "m1")


def test_a_folder_holds_a_file_an_article_and_the_rest_apart(tmp_path: Path) -> None:
    output = Folder(tmp_path / "out", "markdown", "m1")
    twin = replace(ROW, url="https://example.org/b/a")
    for row in (ROW, twin, NOTHING):
        output.write(row)
    output.finish()
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert len(names) == 3
    assert [name[:2] for name in names[:2]] == ["a-", "a-"], "the same last part of two URLs"
    assert (tmp_path / "out" / names[0]).read_text() == "# Möwen \\#1\n\nZwei.\n\nDrei.\n"
    assert stored(tmp_path / "out" / NOT_ARTICLES) == [NOTHING]
    again = Folder(tmp_path / "out", "markdown", "m1")
    assert all(again.has(row.key) for row in (ROW, twin, NOTHING))
    assert not again.has((None, "https://example.org/c", None))
    again.close()
