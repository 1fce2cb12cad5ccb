"""The exchange: what goes out as a Hugging Face dataset comes back in, ours and the published kind."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import ml.exchange
from ml.article import Article, Body, Section, normalise_text
from ml.corpus import CorpusRules, build_corpus
from ml.exchange import COLUMNS, CardFacts, export_dataset, html_column, import_dataset, read_article
from ml.extraction import article_row, page_id_of
from ml.records import ArticleRow, CorpusRow, RawPage, Reason

FACTS = CardFacts(
    name="Courier: news", corpus_version="c0ffee", fundus_version="0.5.7", made_on=date(2024, 3, 1)
)
NOW = datetime(2024, 3, 2, tzinfo=UTC)


def article(number: int = 0, **changes: object) -> Article:
    fields: dict[str, object] = {
        "title": f"Bridge {number} closed",
        "authors": ("Ada Muster",),
        "publishing_date": datetime(2024, 3, 1, 7, 30, tzinfo=UTC),
        "topics": ("traffic",),
        "body": Body(
            summary=(f"Bridge {number} stays closed.",),
            sections=(Section(headline=("Cracks",), paragraphs=(f"Engineers found {number} cracks.",)),),
        ),
    }
    return Article(**(fields | changes))  # type: ignore[arg-type]


def corpus_row(number: int = 0, found: Article | None = None, **changes: object) -> CorpusRow:
    found = found or article(number)
    lines = "".join(f"<p>{line}</p>" for line in found.body.lines())
    url = f"https://courier.example/{number}"
    raw = RawPage(
        page_id=page_id_of(url),
        url=url,
        final_url=url,
        publisher="Courier",
        crawl_date=NOW,
        source="demo",
        origin="feed",
        fundus_version="0.5.7",
        html=f'<html lang="en"><body><h1>{found.title}</h1>{lines}</body></html>',
        html_sha256=sha256(str(number).encode()).hexdigest(),
    )
    row = article_row(raw, found, family="Courier group", rules_version="r1")
    return CorpusRow(**(vars(row) | {"duplicate_of": None} | changes))


def exchanged(row: ArticleRow) -> tuple[object, ...]:
    return (
        row.page_id,
        row.url,
        row.publisher,
        row.language,
        row.plaintext,
        row.json,
        row.compact,
        row.roles,
    )


def write_parquet(path: Path, rows: list[dict[str, object]]) -> None:
    pq.write_table(pa.Table.from_pylist(rows), path)


def write_stream(path: Path, rows: list[dict[str, object]]) -> None:
    """As `Dataset.save_to_disk` does."""
    table = pa.Table.from_pylist(rows)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def write_arrow_file(path: Path, rows: list[dict[str, object]]) -> None:
    table = pa.Table.from_pylist(rows)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def write_jsonl(path: Path, rows: list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


Writer = Callable[[Path, list[dict[str, object]]], None]
WRITERS: dict[str, tuple[str, Writer]] = {
    "parquet": ("train-00000.parquet", write_parquet),
    "arrow stream": ("data-00000-of-00001.arrow", write_stream),
    "arrow file": ("data.arrow", write_arrow_file),
    "jsonl": ("train.jsonl", write_jsonl),
}


def published_row(**changes: object) -> dict[str, object]:
    """A row as the published set has it: `json` is what Fundus' `Article.to_json()` gives."""
    fields = {
        "title": "It's closed",
        "authors": ["Ada Muster", 'Bo "B" O\'Neil'],
        "publishing_date": "2024-03-01 07:30:00+01:00",
        "topics": [],
        "free_access": True,
        "body": {"summary": [], "sections": [{"headline": [], "paragraphs": ["Closed until Friday.", " "]}]},
        "images": None,
    }
    row: dict[str, object] = {
        "html": "<html><body><h1>It's closed</h1><p>Closed until Friday.</p></body></html>",
        "plaintext": "Closed until Friday.",
        "json": str(fields),
        "url": "https://herald.example/1",
        "publisher": "Herald",
        "language": "en",
    }
    return row | changes


PUBLISHED = Article(
    title="It's closed",
    authors=("Ada Muster", 'Bo "B" O\'Neil'),
    publishing_date=datetime.fromisoformat("2024-03-01T07:30:00+01:00"),
    body=Body(sections=(Section(paragraphs=("Closed until Friday.",)),)),
)


def import_rows(folder: Path, *rows: dict[str, object]) -> list[ArticleRow]:
    write_parquet(folder / "rows.parquet", list(rows))
    return list(import_dataset(folder, imported_at=NOW))


# --- out and in again

words = st.text(alphabet=st.characters(categories=("L", "N")), min_size=1, max_size=8)
texts = st.lists(words, min_size=1, max_size=8).map(" ".join).filter(normalise_text)
lines = st.lists(texts, max_size=3).map(tuple)
articles = st.builds(
    Article,
    title=texts,
    authors=lines,
    publishing_date=st.none() | st.datetimes(timezones=st.none() | st.just(UTC)),
    topics=lines,
    free_access=st.booleans(),
    body=st.builds(
        Body,
        summary=lines,
        sections=st.lists(st.builds(Section, headline=lines, paragraphs=lines), min_size=1, max_size=2)
        .map(tuple)
        .filter(lambda sections: all(section.headline or section.paragraphs for section in sections)),
    ),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(articles, min_size=1, max_size=5))
def test_what_goes_out_comes_back_in(found: list[Article]) -> None:
    rows = [corpus_row(number, each) for number, each in enumerate(found)]
    with TemporaryDirectory() as folder:
        directory = Path(folder) / "out"
        export_dataset(rows, directory, facts=FACTS)
        read = list(import_dataset(directory, imported_at=NOW))
    assert [exchanged(row) for row in read] == [exchanged(row) for row in rows]
    assert [row.reason for row in read] == [None] * len(rows)
    assert [row.target_coverage for row in read] == [row.target_coverage for row in rows]


def test_imported_rows_build_a_corpus_as_crawled_ones_do(tmp_path: Path) -> None:
    rows = [corpus_row(number) for number in range(4)]
    export_dataset(rows, tmp_path / "out", facts=FACTS)
    families = {"Courier": "Courier group"}
    imported = import_dataset(tmp_path / "out", families=families, imported_at=NOW)
    corpus = build_corpus(imported, rules=CorpusRules())
    assert {row.page_id for row in corpus if row.reason is None} == {row.page_id for row in rows}
    assert {row.family for row in corpus} == {"Courier group"}
    assert {row.crawl_date for row in corpus} == {NOW}
    assert {row.rules_version for row in corpus} == {"unknown"}


def test_the_folder_loads_with_the_datasets_library(tmp_path: Path) -> None:
    from datasets import load_dataset

    export_dataset([corpus_row(0), corpus_row(1, language=None)], tmp_path / "out", facts=FACTS)
    loaded = load_dataset(str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "cache"))
    assert tuple(loaded.column_names) == COLUMNS
    assert loaded["language"] == ["en", None]
    assert loaded[0]["html"] == corpus_row(0).compact


def test_what_the_datasets_library_saves_is_read(tmp_path: Path) -> None:
    from datasets import Dataset, DatasetDict

    fields = json.loads(PUBLISHED.to_json()) | {"images": None}
    splits = {
        "train": [published_row(json=fields)],
        "test": [published_row(json=fields, url="https://herald.example/2")],
    }
    DatasetDict({name: Dataset.from_list(rows) for name, rows in splits.items()}).save_to_disk(
        tmp_path / "set"
    )
    (tmp_path / "set" / "train" / "cache-0123.arrow").write_bytes(b"left behind by a filter")
    read = list(import_dataset(tmp_path / "set"))
    assert [row.url for row in read] == ["https://herald.example/2", "https://herald.example/1"]
    assert {row.json for row in read} == {PUBLISHED.to_json()}


def test_shards_hold_all_rows_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ml.exchange, "ROWS_PER_SHARD", 3)
    rows = [corpus_row(number) for number in range(7)]
    exported = export_dataset(iter(rows), tmp_path / "out", facts=FACTS)
    assert (exported.rows, exported.shards) == (7, 3)
    assert [row.url for row in import_dataset(tmp_path / "out")] == [row.url for row in rows]


# --- the card and the folder


def test_rejected_rows_stay_out_and_are_counted(tmp_path: Path) -> None:
    rows = [corpus_row(0), corpus_row(1, reason="no_title"), corpus_row(2, reason="no_title")]
    exported = export_dataset(rows, tmp_path / "out", facts=FACTS)
    assert (exported.rows, exported.left_out) == (1, {"no_title": 2})
    assert "| no_title | 2 |" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


def test_the_card_has_front_matter_that_yaml_reads_and_says_whose_texts_these_are(tmp_path: Path) -> None:
    rows = [
        corpus_row(0),
        corpus_row(1, language="no", publisher="Daily | News"),
        corpus_row(2, language=None),
    ]
    export_dataset(rows, tmp_path / "out", facts=FACTS)
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    _, front, text = card.split("---\n", 2)
    matter = yaml.safe_load(front)
    assert matter["language"] == ["en", "no"]  # and not false, as YAML reads a bare no
    assert matter["pretty_name"] == "Courier: news"
    assert matter["size_categories"] == ["n<1K"]
    assert matter["configs"] == [
        {"config_name": "default", "data_files": [{"split": "train", "path": "data/train-*.parquet"}]}
    ]
    assert r"| Daily \| News | 1 |" in text
    assert "| unknown | 1 |" in text
    assert "belong to their publishers" in text
    assert "3 news pages of 2 publishers" in text
    assert all(f"| {column} |" in text for column in COLUMNS)


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "note.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="not an empty folder"):
        export_dataset([corpus_row()], tmp_path / "out", facts=FACTS)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["note.txt"]


def test_a_failed_export_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no kept row"):
        export_dataset([corpus_row(reason="no_title")], tmp_path / "out", facts=FACTS)
    assert list(tmp_path.iterdir()) == []


# --- the published kind, and damaged ones


@pytest.mark.parametrize("kind", WRITERS)
def test_every_file_kind_is_read(kind: str, tmp_path: Path) -> None:
    name, write = WRITERS[kind]
    write(tmp_path / name, [published_row(), published_row(url="https://herald.example/2", extra=1)])
    for source in (tmp_path, tmp_path / name):
        read = list(import_dataset(source, imported_at=NOW))
        assert [row.url for row in read] == ["https://herald.example/1", "https://herald.example/2"]
        assert [row.reason for row in read] == [None, None]
        assert read[0].json == PUBLISHED.to_json()
        assert read[0].page_id == page_id_of("https://herald.example/1")
        assert list(html_column(source)) == [published_row()["html"]] * 2
        assert (read[0].publisher, read[0].family, read[0].language) == ("Herald", "Herald", "en")


@pytest.mark.parametrize(
    "value",
    [
        published_row()["json"],
        PUBLISHED.to_json(),
        json.loads(PUBLISHED.to_json()),
        json.dumps(json.loads(PUBLISHED.to_json()), indent=2),
    ],
    ids=["repr", "canonical JSON", "struct", "other JSON"],
)
def test_every_form_of_the_json_column_is_the_same_article(value: object) -> None:
    assert read_article(value) == PUBLISHED


@settings(deadline=None)
@given(articles)
def test_canonical_json_and_reprs_are_read_exactly(found: Article) -> None:
    assert read_article(found.to_json()) == found
    assert read_article(repr(json.loads(found.to_json()))) == found


def test_what_an_arrow_struct_fills_with_nulls_is_absent() -> None:
    nothing = {"title": None, "authors": None, "publishing_date": None, "topics": None, "body": None}
    assert read_article(nothing) == Article()
    assert read_article(
        {"body": {"summary": None, "sections": [{"headline": None, "paragraphs": None}, None]}}
    ) == (Article())


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "no JSON",
        "[]",
        "7",
        "{'title': open('x')}",
        "{'title': " + "[" * 100_000,
        '{"title": ' + "[" * 100_000,
        {"authors": "Ada"},
        {"title": 7},
        {"body": "text"},
        {"body": {"sections": "text"}},
        {"body": {"sections": ["text"]}},
        {"body": {"sections": [{"paragraphs": "text"}]}},
        {"publishing_date": "yesterday"},
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_json_column_that_holds_no_article_is_refused(value: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - pydantic's and ours, the words differ
        read_article(value)


@pytest.mark.parametrize(
    ("changes", "reason", "detail"),
    [
        ({"json": "{'title': "}, Reason.EXTRACTION_FAILED, "rows.parquet, row 1: json: found \"{'title': \""),
        ({"url": None}, Reason.EXTRACTION_FAILED, "rows.parquet, row 1: no url"),
        ({"publisher": ""}, Reason.EXTRACTION_FAILED, "rows.parquet, row 1: no publisher"),
        ({"html": None}, Reason.EMPTY_PAGE, "empty page"),
        ({"json": str({"title": None, "body": {"summary": ["x"]}})}, Reason.NO_TITLE, "no title"),
        ({"json": str({"title": "x"})}, Reason.EMPTY_TEXT, "no paragraph"),
    ],
)
def test_a_row_that_cannot_be_read_says_why_and_the_rest_goes_on(
    changes: dict[str, object], reason: Reason, detail: str, tmp_path: Path
) -> None:
    broken, whole = import_rows(tmp_path, published_row(**changes), published_row())
    assert broken.reason == reason
    assert broken.detail is not None
    assert detail in broken.detail
    assert whole.reason is None
    assert ArticleRow.table([broken, whole]).num_rows == 2


def test_rows_without_a_url_have_ids_of_their_own(tmp_path: Path) -> None:
    first, second = import_rows(tmp_path, published_row(url=None), published_row(url=None))
    assert first.page_id != second.page_id


def test_damaged_jsonl_lines_are_rows_with_a_reason(tmp_path: Path) -> None:
    lines = [json.dumps(published_row()), "{", "[1]", "", json.dumps(published_row(html="<p>\ud83d x</p>"))]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines), encoding="utf-8")
    read = list(import_dataset(tmp_path))
    assert [row.reason for row in read] == [None, Reason.EMPTY_PAGE, Reason.EMPTY_PAGE, None]
    assert "rows.jsonl, row 2: no url; no publisher; json: found None" in str(read[1].detail)
    assert "�" in read[3].compact
    assert ArticleRow.table(read).num_rows == 4


def test_missing_columns_are_named_at_once(tmp_path: Path) -> None:
    row = {key: value for key, value in published_row().items() if key not in ("json", "language")}
    write_parquet(tmp_path / "rows.parquet", [row])
    with pytest.raises(
        ValueError, match=r"lacks the columns json, language: found html, plaintext, url, publisher"
    ):
        import_dataset(tmp_path)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "jsonl"])
def test_a_file_that_is_not_what_its_name_says_is_refused(suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"rows.{suffix}").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(ValueError, match=f"rows.{suffix}"):
        import_dataset(tmp_path)


def test_a_folder_without_data_or_with_two_kinds_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no data files"):
        import_dataset(tmp_path)
    write_parquet(tmp_path / "rows.parquet", [published_row()])
    write_jsonl(tmp_path / "rows.jsonl", [published_row()])
    with pytest.raises(ValueError, match=r"jsonl and \.parquet"):
        import_dataset(tmp_path)
