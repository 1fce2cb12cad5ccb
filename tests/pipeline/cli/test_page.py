"""`newslm page` on single pages, folders, archives, pipes and broken input."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ml.tokens import count_tokens
from pipeline.cli.main import app

NEWSLM = Path(sys.executable).parent / "newslm"
HTML = "<html lang=de><title>Möwen</title><body><h1>Möwen am Hafen</h1><p>Sie kamen [früh] &amp; laut."


def newslm(*arguments: str | Path, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["page", *map(str, arguments)], input=stdin)


def rows(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def warc(pages: dict[str, str]) -> bytes:
    return b"".join(_record(url, html.encode()) for url, html in pages.items())


def _record(url: str, body: bytes) -> bytes:
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:6f1c2b52-1111-4222-8333-0123456789ab>\r\n"
        f"WARC-Target-URI: {url}\r\nWARC-Date: 2024-03-01T10:00:00Z\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    return head.encode() + http + b"\r\n\r\n"


@pytest.fixture
def page_file(tmp_path: Path) -> Path:
    file = tmp_path / "page.html"
    file.write_text(HTML, encoding="utf-8")
    return file


def test_one_page_is_printed_as_text_alone(page_file: Path) -> None:
    result = newslm(page_file)

    assert result.exit_code == 0
    assert result.stdout.startswith("<html lang=de>\n<meta name=title")
    assert "<p>Sie kamen [früh] &amp; laut." in result.stdout
    assert result.stderr == ""


def test_blocks_are_numbered_lines(page_file: Path) -> None:
    lines = newslm(page_file, "--as", "blocks").stdout.splitlines()

    assert [line.split("\t")[0] for line in lines] == ["0", "1"]
    assert lines[1].endswith("Sie kamen [früh] & laut.")


def test_readerlm_sees_the_page_s_own_html() -> None:
    result = newslm("-", "--as", "readerlm", stdin="<p class=lead>Hello<script>no()</script></p>")

    assert result.stdout == "<p class=lead>Hello</p>\n"


@pytest.mark.parametrize("view", ["compact", "readerlm", "blocks"])
def test_an_empty_page_fails_in_every_view(view: str) -> None:
    result = newslm("-", "--as", view, stdin=" \n")

    assert result.exit_code == 1
    assert result.stdout == ""
    assert "found an empty page (empty_page)" in result.stderr


def test_a_row_holds_file_text_and_its_tokens(page_file: Path) -> None:
    [row] = rows(newslm(page_file, "--jsonl"))

    assert list(row) == ["file", "text", "tokens"]
    assert row["file"] == str(page_file)
    assert row["tokens"] == count_tokens(str(row["text"]))


def test_a_folder_gives_a_row_a_page_and_says_which_failed(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(HTML)
    (tmp_path / "b.html").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    (tmp_path / "c.html").write_text(HTML)
    (tmp_path / "urls.csv").write_text("file,url\na.html,https://news.example/a\n")

    result = newslm(tmp_path)

    assert result.exit_code == 3
    first, failed, last = rows(result)
    assert first["url"] == "https://news.example/a"
    assert first["file"] == last["file"].replace("c.html", "a.html")
    assert (failed["reason"], list(failed)) == ("not_html", ["file", "error", "reason"])
    assert "b.html" in result.stderr


def test_a_warc_file_gives_urls(tmp_path: Path) -> None:
    file = tmp_path / "crawl.warc"
    file.write_bytes(warc({"https://news.example/1": HTML, "https://news.example/2": HTML}))

    result = newslm(file)

    assert result.exit_code == 0
    assert [(row["url"], "file" in row) for row in rows(result)] == [
        ("https://news.example/1", False),
        ("https://news.example/2", False),
    ]


def test_a_cut_warc_file_gives_what_came_before_and_exit_code_3(tmp_path: Path) -> None:
    file = tmp_path / "crawl.warc"
    file.write_bytes(warc({"https://news.example/1": HTML, "https://news.example/2": HTML})[:-40])

    result = newslm(file)

    assert result.exit_code == 3
    assert len(rows(result)) == 1
    assert "broken after record 1" in result.stderr


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [("missing.html", None, "no such file or folder"), ("a.warc", b"not one", "expected a WARC file")],
)
def test_input_that_gives_nothing_is_exit_code_1(tmp_path: Path, name: str, content, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)

    result = newslm(tmp_path / name)

    assert result.exit_code == 1
    assert result.stdout == ""
    assert message in result.stderr


def test_a_wrong_view_is_wrong_usage(page_file: Path) -> None:
    assert newslm(page_file, "--as", "markdown").exit_code == 2


def test_help_teaches_by_example() -> None:
    assert "newslm page crawl.warc.gz | jq" in newslm("--help").stdout


def test_a_pipe_in_and_a_reader_that_leaves(tmp_path: Path) -> None:
    file = tmp_path / "crawl.warc"
    file.write_bytes(warc({f"https://news.example/{number}": HTML * 40 for number in range(200)}))

    with subprocess.Popen(
        [NEWSLM, "page", file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = json.loads(process.stdout.readline())
        process.stdout.close()
        errors = process.stderr.read()

    assert first["url"] == "https://news.example/0"
    assert (process.returncode, errors) == (0, "")


def test_standard_input_is_read_as_bytes_whatever_the_locale() -> None:
    page = HTML.encode("utf-16")

    result = subprocess.run(
        [NEWSLM, "page", "-"],
        input=page,
        capture_output=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
    )

    assert "Möwen am Hafen" in result.stdout.decode()
