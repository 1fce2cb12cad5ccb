"""`newslm extract` as people use it: files, folders, archives, pipes, URLs, and runs that stop."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import jsonschema
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from ml.article import SCHEMA_PATH
from ml.extraction_files import NOT_ARTICLES
from ml.extractor import DEFAULT_MODEL
from pipeline.cli.main import app
from resources.demo.newsroom import articles
from resources.demo.pages import reply

NEWSLM = Path(sys.executable).parent / "newslm"
STORIES = articles("Morgenblatt")[:6]


def newslm(*arguments: str | Path, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["extract", *map(str, arguments)], input=stdin)


def rows(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def warc(pages: dict[str, bytes]) -> bytes:
    return b"".join(_record(url, html) for url, html in pages.items())


def _record(url: str, body: bytes) -> bytes:
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + body
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:6f1c2b52-1111-4222-8333-0123456789ab>\r\n"
        f"WARC-Target-URI: {url}\r\nWARC-Date: 2024-03-01T10:00:00Z\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    return head.encode() + http + b"\r\n\r\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six stories, a menu, and an empty page."""
    folder = tmp_path_factory.mktemp("pages")
    for number, story in enumerate(STORIES):
        (folder / f"{number}.html").write_bytes(reply(story.url).body)
    menu = "".join(f"<li><a href=/{at}>Story number {at}</a></li>" for at in range(40))
    (folder / "menu.html").write_text(f"<html><body><h1>Home</h1><ul>{menu}</ul></body></html>")
    (folder / "empty.html").write_text("")
    return folder


def test_one_page_is_printed_as_its_text(folder: Path) -> None:
    result = newslm(folder / "0.html")
    assert result.exit_code == 0
    assert STORIES[0].article.body.lines()[-1] in result.stdout
    assert "<" not in result.stdout
    assert result.stderr == ""


def test_json_is_the_canonical_article(folder: Path) -> None:
    result = newslm(folder / "0.html", "--format", "json")
    article = json.loads(result.stdout)
    jsonschema.validate(article, json.loads(SCHEMA_PATH.read_text()))
    assert article["title"] == STORIES[0].article.title


def test_a_page_that_is_none_or_no_article_prints_nothing_and_says_so(folder: Path) -> None:
    menu, empty = newslm(folder / "menu.html"), newslm(folder / "empty.html")
    assert (menu.exit_code, menu.stdout) == (1, "")
    assert "is probably no article: confidence 0." in menu.stderr
    assert (empty.exit_code, empty.stdout) == (1, "")
    assert "empty_page" in empty.stderr


def test_a_folder_is_rows_and_nothing_is_lost(folder: Path) -> None:
    result = newslm(folder, "--jobs", "1")
    assert result.exit_code == 3, "a page could not be read"
    found = {Path(str(row["file"])).name: row for row in rows(result.stdout)}
    assert found.keys() == {path.name for path in folder.iterdir()}
    assert [found[f"{number}.html"]["is_article"] for number in range(6)] == [True] * 6
    assert found["menu.html"]["article"] is None
    assert "empty page" in str(found["empty.html"]["error"])
    assert "8 pages" in result.stderr


def test_pipes_take_pages_and_archives(folder: Path) -> None:
    html = (folder / "1.html").read_bytes()
    single = newslm("-", "--format", "markdown", stdin=html)
    assert single.stdout.startswith(f"# {STORIES[1].article.title}")
    archive = newslm("-", stdin=warc({"https://a.example/1": html, "https://a.example/2": html}))
    assert [(row["file"], row["url"]) for row in rows(archive.stdout)] == [
        ("-", "https://a.example/1"),
        ("-", "https://a.example/2"),
    ]


def test_provenance_is_there_on_request(folder: Path) -> None:
    (row,) = rows(newslm(folder / "0.html", "-f", "jsonl", "--provenance").stdout)
    assert {"of", "text", "from", "block", "path"} == row["provenance"][0].keys()  # type: ignore[index]
    (row,) = rows(newslm(folder / "0.html", "-f", "jsonl").stdout)
    assert row["provenance"] is None


def test_a_parquet_file_has_every_row_and_is_not_made_twice(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "articles.parquet"
    newslm(folder, "-o", target, "--jobs", "1")
    table = pq.read_table(target)
    assert table.num_rows == 8
    assert sum(table.column("is_article").to_pylist()) == 6
    before = target.read_bytes()
    again = newslm(folder, "-o", target, "--jobs", "1")
    assert again.exit_code == 0
    assert "8 there before" in again.stderr
    assert pq.read_table(target).equals(table)
    assert len(before) == target.stat().st_size


def test_many_articles_as_files_need_a_folder(folder: Path, tmp_path: Path) -> None:
    refused = newslm(folder, "--format", "text")
    assert refused.exit_code == 1
    assert "needs --output FOLDER" in refused.stderr
    newslm(folder, "--format", "json", "-o", tmp_path / "out", "--jobs", "1")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert len(names) == 7
    assert NOT_ARTICLES in names


def test_a_killed_run_goes_on(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    newslm(folder, "-o", target, "--jobs", "1")
    whole = target.read_bytes()
    target.write_bytes(whole[: len(whole) // 2])  # as a kill in the middle of a line leaves it
    again = newslm(folder, "-o", target, "--jobs", "1")
    assert "there before" in again.stderr
    assert sorted(target.read_bytes().splitlines()) == sorted(whole.splitlines())


def test_ctrl_c_keeps_what_was_written(folder: Path, tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    for number in range(400):
        (pages / f"{number}.html").write_bytes((folder / f"{number % 6}.html").read_bytes())
    target = tmp_path / "out.jsonl"
    process = subprocess.Popen([NEWSLM, "extract", pages, "-o", target], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (target.exists() and target.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert "the same command goes on" in said
    assert "Traceback" not in said
    assert 0 < len(rows(target.read_text())) < 400


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_urls_are_fetched_and_not_twice(site: str, tmp_path: Path) -> None:
    (tmp_path / "urls.txt").write_text(f"# two\n{site}/1.html\n\n{site}/missing.html\n")
    target = tmp_path / "out.jsonl"
    result = newslm(f"{site}/0.html", tmp_path / "urls.txt", "-o", target, "--jobs", "1")
    assert result.exit_code == 3
    found = {str(row["url"]): row for row in rows(target.read_text())}
    assert found[f"{site}/0.html"]["is_article"]
    assert found[f"{site}/1.html"]["file"] is None
    assert "404" in str(found[f"{site}/missing.html"]["error"])
    newslm(f"{site}/0.html", tmp_path / "urls.txt", "-o", target, "--jobs", "1")
    assert len(rows(target.read_text())) == 3


def test_one_url_is_one_page(site: str) -> None:
    assert STORIES[2].article.body.lines()[1] in newslm(f"{site}/2.html").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.html"], "no such file or folder: nowhere.html"),
        (["{folder}", "-f", "parquet"], "needs --output FILE.parquet"),
        (["{folder}", "-o", "absent/out.jsonl"], "there is no folder absent"),
        (["{folder}/0.html", "--model", "{folder}/1.html"], "expected a JSON file"),
        (["{folder}/0.html", "--model", "champion", "--home", "{home}"], "no model is champion of json yet"),
    ],
)
def test_wrong_use_says_what_to_do(folder: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    result = newslm(*(each.format(folder=folder, home=tmp_path) for each in arguments))
    assert result.exit_code == 1
    assert message in result.stderr.replace("\n", " ")


def test_a_list_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a URL\n")
    result = newslm(tmp_path / "notes.txt")
    assert result.exit_code == 1
    assert "expected a URL a line, found 'not a URL'" in result.stderr.replace("\n", " ")


def test_a_model_file_can_be_named(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "mine.json"
    copy.write_bytes(DEFAULT_MODEL.read_bytes())
    mine, default = newslm(folder / "0.html", "--model", copy), newslm(folder / "0.html")
    assert mine.stdout == default.stdout != ""


def test_it_starts_without_the_pipeline() -> None:
    program = (
        "import sys, pipeline.cli.extract; "
        "print([name for name in ('dagster', 'mlflow', 'torch', 'fundus', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
