"""`newslm publishers`: what a source knows, and what the home holds."""

import json
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ml.extraction import article_row, page_id_of
from ml.records import ArticleRow, RawPage
from pipeline.cli.main import app
from resources.fundus.catalogue import demo_catalogue, fundus_catalogue
from resources.store import Store


def newslm(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["publishers", *arguments, "--home", str(home)])


def page(publisher: str, number: int) -> RawPage:
    url, html = f"https://news.example/{publisher}/{number}", f"<p>page {number}"
    return RawPage(
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


def test_the_demo_newsroom_is_listed_and_no_home_is_made(tmp_path: Path) -> None:
    home = tmp_path / "home"

    result = newslm(home, "--json")

    assert [each["key"] for each in json.loads(result.stdout)] == list(demo_catalogue())
    assert {each["stored_pages"] for each in json.loads(result.stdout)} == {0}
    assert not home.exists()


def test_every_fundus_publisher_is_listed_with_its_facts(tmp_path: Path) -> None:
    listed = {each["key"]: each for each in json.loads(newslm(tmp_path, "--source", "web", "--json").stdout)}

    assert list(listed) == list(fundus_catalogue())
    berlin, braunschweig = listed["BerlinerMorgenpost"], listed["BSZ"]
    assert (berlin["country"], berlin["languages"]) == ("DE", ["de"])
    assert berlin["family"] == braunschweig["family"], "publishers of one house share a template"
    assert any(each["deprecated"] for each in listed.values())


def test_keys_are_whole_however_narrow_the_output(tmp_path: Path) -> None:
    output = newslm(tmp_path, "--source", "web").stdout

    assert all(key in output for key in fundus_catalogue())


def test_stored_pages_and_articles_are_counted(tmp_path: Path) -> None:
    store, key = Store(uri=str(tmp_path / "store")), next(iter(demo_catalogue()))
    pages = [page(key, number) for number in range(3)]
    store.append("raw_pages", pages[:2], publisher=key)
    store.append("raw_pages", pages[1:], publisher=key)  # one page twice, as after a killed crawl
    rows = [article_row(each, None, family=key, rules_version="1") for each in pages]
    store.replace("articles", ArticleRow, rows, publisher=key)

    first = json.loads(newslm(tmp_path, "--json").stdout)[0]

    assert (first["stored_pages"], first["stored_articles"]) == (3, 0), "failed extractions are no articles"


def test_an_unknown_source_is_wrong_usage(tmp_path: Path) -> None:
    assert newslm(tmp_path, "--source", "moon").exit_code == 2


@pytest.mark.parametrize("source", ["demo", "web", "ccnews", "archive"])
def test_every_source_of_run_is_a_source_here(tmp_path: Path, source: str) -> None:
    assert newslm(tmp_path, "--source", source).exit_code == 0
