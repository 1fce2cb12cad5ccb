"""`newslm corpus`: statistics, SQL, and a dataset's way out and in."""

import csv
import io
import json
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from ml.article import Article, Body, Section
from ml.corpus import CorpusRules, build_corpus
from ml.exchange import COLUMNS
from ml.extraction import article_row, page_id_of
from ml.records import ArticleRow, CorpusRow, RawPage, Reason
from pipeline.cli.main import app
from resources.fundus.catalogue import fundus_catalogue
from resources.importing import import_into, imported_articles, imported_pages
from resources.store import Store

TEXT = "The ferry will run again on {} after a winter of repairs, said the harbour master [sic] on Monday."


def newslm(home: Path, *arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["corpus", *map(str, arguments), "--home", str(home)])


def html_of(number: int, language: str = "en") -> str:
    return (
        f"<html lang={language}><body><h1>Ferry no. {number}</h1><p>{TEXT.format(number)}"
        f"<p>{'tide ' * number}</body></html>"
    )


def article(number: int) -> Article:
    lines = (TEXT.format(number), *((("tide " * number).strip(),) if number else ()))
    return Article(title=f"Ferry no. {number}", body=Body(sections=(Section(paragraphs=lines),)))


def row(number: int, publisher: str, *, language: str = "en", reason: Reason | None = None) -> ArticleRow:
    html, url = html_of(number, language), f"https://news.example/{publisher}/{number}"
    raw = RawPage(
        page_id=page_id_of(url),
        url=url,
        final_url=url,
        publisher=publisher,
        crawl_date=datetime(2024, 3, 1, tzinfo=UTC),
        source="web",
        origin="test",
        fundus_version="0.5.7",
        html=html,
        html_sha256=sha256(html.encode()).hexdigest(),
    )
    made = None if reason else article(number)
    return article_row(
        raw, made, family=publisher, rules_version="1", reason=reason, detail="[parser] gave up"
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a corpus of two publishers: five pages kept, two rejected."""
    home = tmp_path_factory.mktemp("home")
    rows = [row(number, "Harbour") for number in range(0, 60, 20)]
    rows += [row(number, "Küstenbote", language="de") for number in range(80, 120, 20)]
    rows += [row(number, "Küstenbote", reason=Reason.PARSER_MISSING) for number in (200, 220)]
    Store(uri=str(home / "store")).replace("corpus", CorpusRow, build_corpus(rows, rules=CorpusRules()))
    return home


# --- stats


def test_stats_account_for_every_row(home: Path) -> None:
    result = newslm(home, "stats", "--json")

    assert result.exit_code == 0, result.stderr
    answer = json.loads(result.stdout)
    assert (answer["rows"], answer["kept"], answer["rejected"]) == (7, 5, 2)
    assert answer["by_reason"] == [{"outcome": "kept", "pages": 5}, {"outcome": "parser_missing", "pages": 2}]
    assert [(each["publisher"], each["kept"], each["rejected"]) for each in answer["by_publisher"]] == [
        ("Harbour", 3, 0),
        ("Küstenbote", 2, 2),
    ]
    assert {each["language"]: each["pages"] for each in answer["by_language"]} == {"en": 3, "de": 2}
    tokens = {each["tokens_of"]: each for each in answer["tokens"]}
    assert tokens["plaintext"]["least"] <= tokens["plaintext"]["median"] <= tokens["plaintext"]["most"]


def test_stats_for_people_show_the_same_numbers(home: Path) -> None:
    output = newslm(home, "stats").stdout

    assert "5 pages kept of 7" in output
    assert "parser_missing" in output
    assert "Küstenbote" in output


@pytest.mark.parametrize("command", [["stats"], ["export", "out"]])
def test_without_a_corpus_it_says_how_to_get_one(tmp_path: Path, command: list[str]) -> None:
    result = newslm(tmp_path, *command)

    assert result.exit_code == 1
    assert "`newslm run` builds one" in result.stderr


# --- query


def test_query_gives_json_csv_or_a_table(home: Path) -> None:
    sql = "select publisher, count(*) as pages from corpus where reason is null group by 1 order by 1"

    assert json.loads(newslm(home, "query", sql, "--json").stdout) == [
        {"publisher": "Harbour", "pages": 3},
        {"publisher": "Küstenbote", "pages": 2},
    ]
    assert list(csv.reader(io.StringIO(newslm(home, "query", sql, "--csv").stdout))) == [
        ["publisher", "pages"],
        ["Harbour", "3"],
        ["Küstenbote", "2"],
    ]
    assert "Küstenbote" in newslm(home, "query", sql).stdout


def test_a_table_is_cut_and_says_so_while_csv_is_whole(home: Path) -> None:
    sql = "select range as n, repeat('long [bold] ', 20) as text from range(60)"

    shown, whole = newslm(home, "query", sql), newslm(home, "query", sql, "--csv")

    assert "10 more rows" in shown.stderr
    assert "long [bold] long" in shown.stdout
    assert "…" in shown.stdout
    assert len(whole.stdout.splitlines()) == 61


def test_json_is_json_even_where_numbers_are_not(home: Path) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    output = newslm(
        home, "query", "select 'nan'::double as a, roles, crawl_date from corpus", "--json"
    ).stdout

    assert json.loads(output, parse_constant=refuse)[0]["a"] is None


@pytest.mark.parametrize("sql", ["selec 1", "select * from articles"])
def test_bad_sql_names_the_tables_that_exist(home: Path, sql: str) -> None:
    result = newslm(home, "query", sql)

    assert result.exit_code == 1
    assert result.stdout == ""
    assert "Tables to query: corpus" in result.stderr


def test_sql_that_returns_nothing_is_refused(home: Path) -> None:
    assert newslm(home, "query", "").exit_code == 1


# --- export and import


def test_an_exported_corpus_loads_and_comes_back(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "ferries"

    exported = newslm(home, "export", folder)
    imported = newslm(tmp_path / "other", "import", folder, "--json")

    assert exported.exit_code == 0, exported.stderr
    assert "load_dataset(" in exported.stdout
    assert "parser_missing 2" in exported.stdout
    assert imported.exit_code == 0, imported.stderr
    assert json.loads(imported.stdout) == {
        "read": 5,
        "kept_rows": 5,
        "failed": {},
        "home": str(tmp_path / "other"),
    }


def test_export_does_not_touch_a_folder_with_files(home: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")

    result = newslm(home, "export", tmp_path)

    assert result.exit_code == 1
    assert "not an empty folder" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def dataset(folder: Path, rows: list[tuple[str, str, str]]) -> Path:
    """A dataset of (url, publisher, json) with the published columns."""
    columns = {name: [] for name in COLUMNS}
    for number, (url, publisher, value) in enumerate(rows):
        values = {
            "html": html_of(number),
            "json": value,
            "url": url,
            "publisher": publisher,
            "language": "en",
        }
        for name, cells in columns.items():
            cells.append(values.get(name, ""))
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), folder / "train.parquet")
    return folder


def test_import_says_what_failed_and_how_to_go_on(tmp_path: Path) -> None:
    good, bad = (
        ("https://a.example/1", "Harbour", article(0).to_json()),
        ("https://a.example/2", "Harbour", "{"),
    )

    result = newslm(tmp_path / "home", "import", dataset(tmp_path / "set", [good, bad]))

    assert result.exit_code == 3
    assert "Imported 1 of 2 rows" in result.stdout
    assert "extraction_failed 1" in result.stdout
    assert "newslm run --source" in result.stdout


def test_what_is_no_dataset_is_refused(tmp_path: Path) -> None:
    result = newslm(tmp_path / "home", "import", tmp_path)

    assert result.exit_code == 1
    assert "Download the dataset first" in result.stderr


def test_imported_rows_join_the_publisher_that_fundus_knows(tmp_path: Path) -> None:
    store, catalogue = Store(uri=str(tmp_path / "store")), fundus_catalogue()
    rows = [
        ("https://a.example/0", catalogue["DieZeit"].name, article(0).to_json()),
        ("https://a.example/1", "BSZ", article(1).to_json()),
        ("https://a.example/2", "Harbour Gazette of Nowhere", article(2).to_json()),
        ("https://a.example/3", "Harbour Gazette of Nowhere", "no json"),
    ]

    count = import_into(store, catalogue, dataset(tmp_path / "set", rows))

    articles, pages = list(imported_articles(store)), list(imported_pages(store))
    assert (count.read, count.kept_rows, dict(count.failed)) == (4, 3, {"extraction_failed": 1})
    assert [(each.publisher, each.family) for each in articles][:3] == [
        ("DieZeit", catalogue.family("DieZeit")),
        ("BSZ", catalogue.family("BSZ")),
        ("Harbour Gazette of Nowhere", "Harbour Gazette of Nowhere"),
    ]
    assert catalogue.family("BSZ") != "BSZ"
    assert [(page.page_id, page.publisher) for page in pages] == [
        (each.page_id, each.publisher) for each in articles
    ]
    assert [page.html for page in pages] == [html_of(number) for number in range(4)]
    assert {page.source for page in pages} == {"import"}


def test_an_import_replaces_what_its_folder_brought_before_and_nothing_else(tmp_path: Path) -> None:
    store, catalogue = Store(uri=str(tmp_path / "store")), fundus_catalogue()
    first, second = (
        dataset(
            tmp_path / name, [(f"https://{name}.example/{n}", "X", article(n).to_json()) for n in range(2)]
        )
        for name in ("first", "second")
    )

    import_into(store, catalogue, first)
    before = list(imported_articles(store))
    import_into(store, catalogue, first)
    assert list(imported_articles(store)) == before, "the same dataset, imported again, is the same rows"

    import_into(store, catalogue, second)
    import_into(store, catalogue, dataset(first, [("https://new.example/", "X", article(0).to_json())]))

    assert {each.url for each in imported_articles(store)} == {
        "https://new.example/",
        "https://second.example/0",
        "https://second.example/1",
    }
    assert len(list(imported_pages(store))) == 3
