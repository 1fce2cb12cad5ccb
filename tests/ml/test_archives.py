"""Archives as they come: whole, cut, mislabelled, empty, and listed well or badly."""

import gzip
import random
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ml.archives import ArchivedPage, is_warc, read_archive

DATE = "2024-03-01T10:00:00Z"


def warc_record(
    url: str, body: bytes, *, kind: str = "response", headers: str = "Content-Type: text/html; charset=utf-8"
) -> bytes:
    """One WARC record as Common Crawl writes it."""
    http = f"HTTP/1.1 200 OK\r\n{headers}\r\n\r\n".encode() + body
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:6f1c2b52-1111-4222-8333-0123456789ab>\r\n"
        f"WARC-Target-URI: {url}\r\nWARC-Date: {DATE}\r\n"
        f"Content-Type: application/http; msgtype={kind}\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    return head.encode() + http + b"\r\n\r\n"


def page(number: int) -> bytes:
    # Random bytes in hex: compressed pages must be large enough that a cut lies inside one.
    return f"<p>page {number} {random.Random(number).randbytes(20_000).hex()}".encode()


@pytest.fixture
def records() -> list[bytes]:
    return [warc_record(f"https://news.example/{number}", page(number)) for number in range(3)]


def read_until_fault(path: Path) -> tuple[list[ArchivedPage], str]:
    pages: list[ArchivedPage] = []
    with pytest.raises(ValueError, match=r"\S") as raised:
        pages.extend(read_archive(path))  # keeps what came before the fault
    return pages, str(raised.value)


def write(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@pytest.mark.parametrize("name", ["a.warc", "a.WARC.GZ", "crawl.warc.gz"])
def test_a_warc_file_is_known_by_its_name(name: str) -> None:
    assert is_warc(Path(name))
    assert not is_warc(Path("warc.html"))


@pytest.mark.parametrize(
    "compress", [lambda records: b"".join(records), lambda r: b"".join(map(gzip.compress, r))]
)
def test_a_warc_file_gives_its_responses_in_order(tmp_path: Path, records, compress) -> None:
    pages = list(read_archive(write(tmp_path / "a.warc.gz", compress(records))))

    assert [each.url for each in pages] == [f"https://news.example/{number}" for number in range(3)]
    assert {(each.date, each.charset, each.origin) for each in pages} == {
        (datetime(2024, 3, 1, 10, tzinfo=UTC), "utf-8", "a.warc.gz")
    }
    assert pages[2].data.startswith(b"<p>page 2 ")


def test_one_gzip_member_around_all_records_is_read_too(tmp_path: Path, records) -> None:
    assert len(list(read_archive(write(tmp_path / "a.warc.gz", gzip.compress(b"".join(records)))))) == 3


def test_requests_and_metadata_are_no_pages(tmp_path: Path, records) -> None:
    others = [warc_record("https://news.example/0", b"", kind=kind) for kind in ("request", "metadata")]

    assert len(list(read_archive(write(tmp_path / "a.warc", b"".join([*others, *records]))))) == 3


@pytest.mark.parametrize(("cut", "whole"), [(9_000, 2), (4, 3), (-10, 1)])
def test_a_truncated_gzip_gives_its_whole_pages_then_says_so(
    tmp_path: Path, records, cut: int, whole: int
) -> None:
    members = [gzip.compress(record) for record in records]
    # A negative cut keeps that many bytes of the second page: a stump that holds no record's header.
    data = members[0] + members[1][:-cut] if cut < 0 else b"".join(members)[:-cut]

    pages, message = read_until_fault(write(tmp_path / "a.warc.gz", data))

    assert len(pages) == whole
    assert f"broken after record {whole}" in message
    assert "fetch the file again" in message


def test_a_truncated_plain_file_does_not_give_half_a_page(tmp_path: Path, records) -> None:
    pages, message = read_until_fault(write(tmp_path / "a.warc", b"".join(records)[:-500]))

    assert len(pages) == 2
    assert "broken after record 2" in message


def test_corrupted_gzip_gives_the_pages_before_it(tmp_path: Path, records) -> None:
    members = [gzip.compress(record) for record in records]
    broken = members[1][:500] + b"\xff" * 100 + members[1][600:]

    pages, message = read_until_fault(write(tmp_path / "a.warc.gz", members[0] + broken + members[2]))

    assert [each.url for each in pages] == ["https://news.example/0"]
    assert "broken after record 1" in message


@pytest.mark.parametrize("data", [b"", b"<html>a page</html>", bytes(range(256)), gzip.compress(b"<html>")])
def test_what_is_no_warc_is_called_so_with_what_was_found(tmp_path: Path, data: bytes) -> None:
    pages, message = read_until_fault(write(tmp_path / "a.warc.gz", data))

    assert not pages
    assert "no readable WARC response" in message
    assert repr(data[:8])[2:-1] in message


def test_a_body_that_was_stored_compressed_is_unpacked(tmp_path: Path) -> None:
    headers = "Content-Type: text/html\r\nContent-Encoding: gzip"
    path = write(
        tmp_path / "a.warc", warc_record("https://a.example/", gzip.compress(b"<p>hi"), headers=headers)
    )

    assert [each.data for each in read_archive(path)] == [b"<p>hi"]


def test_a_missing_path_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no such file or folder: .*expected a WARC file, a folder"):
        list(read_archive(tmp_path / "nothing"))


def test_any_other_file_is_one_page_without_a_url(tmp_path: Path) -> None:
    binary = write(tmp_path / "picture.png", b"\x89PNG\r\n\x1a\n")

    assert [(each.url, each.data) for each in read_archive(binary)] == [(None, b"\x89PNG\r\n\x1a\n")]


def test_a_gzipped_page_is_unpacked(tmp_path: Path) -> None:
    assert [p.data for p in read_archive(write(tmp_path / "a.html.gz", gzip.compress(b"<p>hi")))] == [
        b"<p>hi"
    ]


def test_a_folder_without_pages_says_what_it_looked_for(tmp_path: Path) -> None:
    write(tmp_path / "notes.txt", "nothing to see")

    with pytest.raises(ValueError, match=r"holds no page: expected files ending in \.html"):
        list(read_archive(tmp_path))


def test_a_folder_gives_html_and_warc_files_in_order(tmp_path: Path, records) -> None:
    write(tmp_path / "b.warc", records[0])
    write(tmp_path / "c/deep.htm", "<p>deep")
    write(tmp_path / "a.html", "<p>first")

    pages = list(read_archive(tmp_path))

    assert [each.url for each in pages] == [None, "https://news.example/0", None]
    assert [Path(each.origin).name for each in pages] == ["a.html", "b.warc", "deep.htm"]


def test_a_broken_file_in_a_folder_does_not_hide_the_next_ones(tmp_path: Path, records) -> None:
    for name in ("a.warc", "c.warc"):
        write(tmp_path / name, b"not a WARC file")
    write(tmp_path / "b.warc", b"".join(records))

    pages, message = read_until_fault(tmp_path)

    assert len(pages) == 3
    assert "a.warc" in message
    assert "c.warc" in message


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        (
            "urls.csv",
            "file,url,date\na.html,https://a.example/1,2024-03-01T10:00:00Z\nb.txt,https://a.example/2,\n",
        ),
        (
            "urls.jsonl",
            '{"file": "a.html", "url": "https://a.example/1", "date": "2024-03-01T10:00:00"}\n\n'
            '{"file": "b.txt", "url": "https://a.example/2"}\n',
        ),
    ],
)
def test_a_url_list_names_pages_whatever_their_suffix(tmp_path: Path, name: str, rows: str) -> None:
    for file in ("a.html", "b.txt", "unlisted.html"):
        write(tmp_path / file, f"<p>{file}")
    write(tmp_path / name, "\ufeff" + rows)

    pages = list(read_archive(tmp_path))

    assert [each.url for each in pages] == ["https://a.example/1", "https://a.example/2", None]
    assert pages[0].date == datetime(2024, 3, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        ("urls.csv", "path,link\na.html,https://a.example/1\n", r"row 1: expected .*found path, link"),
        ("urls.csv", "file,url\na.html,https://a.example,extra,cells\nb.html\n", r"row 2: expected"),
        (
            "urls.csv",
            "file,url,date\na.html,https://a.example,yesterday\n",
            r"row 1: 'yesterday' is no ISO 8601 date",
        ),
        ("urls.csv", b"file,url\n\xff\xfe,x\n", r"no CSV file in UTF-8"),
        (
            "urls.jsonl",
            '{"file": "a.html", "url": "https://a.example"}\n{"file"',
            r"no JSON Lines .*after row 2",
        ),
        ("urls.jsonl", "[1, 2]\n", r"row 1: expected a value for file and for url, found \[1, 2\]"),
        ("urls.jsonl", '{"file": 7, "url": "https://a.example"}\n', r"row 1: expected a value for file"),
        ("urls.jsonl", b'{"file": "\xff"}\n', r"no JSON Lines file in UTF-8"),
        (
            "urls.jsonl",
            '{"file": "gone.html", "url": "https://a.example"}\n',
            r"1 files that are not in the folder",
        ),
        (
            "urls.jsonl",
            '{"file": "../out.html", "url": "https://a.example"}\n',
            r"1 files that are not in the folder",
        ),
    ],
)
def test_a_bad_url_list_names_the_row_and_what_is_wrong(
    tmp_path: Path, name: str, rows, message: str
) -> None:
    folder = tmp_path / "pages"
    write(tmp_path / "out.html", "<p>outside")
    write(folder / "a.html", "<p>a")
    write(folder / "b.html", "<p>b")
    write(folder / name, rows)

    with pytest.raises(ValueError, match=message):
        list(read_archive(folder))
