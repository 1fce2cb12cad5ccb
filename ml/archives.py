"""Pages that lie on a disk: WARC files, and folders of HTML with a list of their URLs.

Belongs here: reading such archives record by record, with clear errors. Does not belong here: deciding
which publisher a page is of (`resources/sources.py`) or understanding a page (`ml/page.py`).
"""

import csv
import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

HTML_SUFFIXES = (".html", ".htm", ".html.gz", ".htm.gz")
WARC_SUFFIXES = (".warc", ".warc.gz")
URL_LISTS = ("urls.csv", "urls.jsonl")

_GZIP = b"\x1f\x8b"
_SHOWN = 3  # missing files that a message names


@dataclass(frozen=True, kw_only=True)
class ArchivedPage:
    """One response as an archive keeps it; `url` is None for a bare file that no list names."""

    url: str | None
    date: datetime
    data: bytes
    charset: str | None  # from the HTTP header
    origin: str  # the file it came from


def is_warc(path: Path) -> bool:
    """Whether a file is named like a WARC file."""
    return path.name.lower().endswith(WARC_SUFFIXES)


def read_archive(path: Path) -> Iterator[ArchivedPage]:
    """Pages of a WARC file, of a folder (its WARC files, and HTML named by a URL list), or of one HTML file.

    One page is in memory at a time. Raises `ValueError` where the path is missing or is none of these, and
    where a WARC file is broken; every page that is whole has been yielded by then, in a folder also those
    of the files after the broken one.
    """
    if path.is_dir():
        yield from _read_folder(path)
    elif not path.is_file():
        raise ValueError(
            f"no such file or folder: {path}; expected a WARC file, a folder of pages or an HTML file"
        )
    elif is_warc(path):
        yield from read_warc(path)
    else:
        yield _file_page(path, url=None, date=None)


# --- WARC files


class _Unzipped(gzip.GzipFile):
    """A gzipped stream that ends at its fault and remembers it.

    fastwarc takes a cut gzip file for a complete one, and its last page with it. Python's gzip notices, but
    raising while fastwarc reads ahead would lose the pages before the cut.
    """

    fault: Exception | None = None

    def read(self, size: int | None = -1) -> bytes:
        try:
            return self.read1(-1 if size is None else size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.fault = error
            return b""


def read_warc(path: Path) -> Iterator[ArchivedPage]:
    """The responses of a WARC file, gzipped or not; raises `ValueError` where it is broken or is none."""
    from fastwarc.stream_io import StreamError

    found = 0
    fault: Exception | None = None
    with path.open("rb") as stream:
        unzipped = _Unzipped(fileobj=stream) if _head(path).startswith(_GZIP) else None
        held: ArchivedPage | None = None  # until what follows shows that its checksum was right
        try:
            for page in _responses(unzipped or stream, path):
                if held:
                    yield held
                found, held = found + 1, page
        except (StreamError, EOFError) as error:
            fault = error
        while unzipped and not unzipped.fault and unzipped.read():
            pass  # fastwarc may stop at garbage, short of the checksum that tells it from an end
    if unzipped and unzipped.fault:  # the cause of what fastwarc met
        fault = unzipped.fault
    if held and isinstance(fault, gzip.BadGzipFile):
        found -= 1
    elif held:
        yield held
    if fault or not found:
        raise _broken(path, found, fault) from fault


def _responses(stream: IO[bytes] | gzip.GzipFile, path: Path) -> Iterator[ArchivedPage]:
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    for record in ArchiveIterator(stream, record_types=WarcRecordType.response):
        expected = record.content_length
        data = record.reader.read()
        if len(data) != expected:
            raise EOFError(f"the next record ends after {len(data)} of {expected} bytes")
        yield ArchivedPage(
            url=(record.headers.get("WARC-Target-URI") or "").strip("<>") or None,
            date=record.record_date or _modified(path),
            data=_body(data),
            charset=record.http_charset,
            origin=path.name,
        )


def _broken(path: Path, found: int, fault: Exception | None) -> ValueError:
    if found:
        return ValueError(f"{path} is broken after record {found}: {fault}; fetch the file again")
    return ValueError(
        f"{path} holds no readable WARC response ({fault or 'only other records'}; its first bytes are "
        f"{_head(path)!r}); expected a WARC file as Common Crawl writes it"
    )


def _body(data: bytes) -> bytes:
    """A page without the gzip that it was sent or saved in; broken gzip stays, and is then no HTML."""
    if not data.startswith(_GZIP):
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        return data


# --- folders


@dataclass(frozen=True, kw_only=True)
class _Listed:
    path: Path
    url: str
    date: datetime | None


def _read_folder(folder: Path) -> Iterator[ArchivedPage]:
    listed = {entry.path: entry for entry in _url_list(folder)}
    files = {path.resolve(): path for path in folder.rglob("*") if path.is_file()}
    _require_files(folder, [path for path in listed if path not in files])
    pages = [path for path in sorted(files) if path in listed or is_warc(path) or _is_html(path)]
    if not pages:
        suffixes = ", ".join(HTML_SUFFIXES + WARC_SUFFIXES)
        raise ValueError(
            f"{folder} holds no page: expected files ending in {suffixes}, or named by a URL list"
        )
    faults = []
    for path in pages:
        try:
            yield from _pages_of(files[path], listed.get(path))
        except ValueError as error:
            faults.append(str(error))
    if faults:
        raise ValueError("\n".join(faults))


def _pages_of(path: Path, entry: _Listed | None) -> Iterator[ArchivedPage]:
    if is_warc(path):
        yield from read_warc(path)
    else:
        yield _file_page(path, url=entry.url if entry else None, date=entry.date if entry else None)


def _is_html(path: Path) -> bool:
    return path.name.lower().endswith(HTML_SUFFIXES)


def _require_files(folder: Path, missing: list[Path]) -> None:
    if missing:
        names = ", ".join(str(path) for path in missing[:_SHOWN])
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        raise ValueError(
            f"{folder}: its URL list names {len(missing)} files that are not in the folder: {names}{more}; "
            f"add them, or take their rows out"
        )


def _url_list(folder: Path) -> Iterator[_Listed]:
    """Entries of `urls.csv` (header: file,url[,date]) or `urls.jsonl` with the same keys."""
    for name in URL_LISTS:
        path = folder / name
        if path.is_file():
            rows = _csv_rows(path) if name.endswith(".csv") else _jsonl_rows(path)
            for number, row in rows:
                yield _listed(folder, row, f"{path}, row {number}")


def _csv_rows(path: Path) -> Iterator[tuple[int, object]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            yield from enumerate(csv.DictReader(lines), start=1)
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no CSV file in UTF-8: {error}") from error


def _jsonl_rows(path: Path) -> Iterator[tuple[int, object]]:
    number = 0
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, json.loads(line)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no JSON Lines file in UTF-8, after row {number}: {error}") from error


def _listed(folder: Path, row: object, place: str) -> _Listed:
    file, url, date = (row.get(key) if isinstance(row, Mapping) else None for key in ("file", "url", "date"))
    if not (isinstance(file, str) and isinstance(url, str) and file and url):
        found = ", ".join(str(key) for key in row) if isinstance(row, Mapping) else repr(row)
        raise ValueError(f"{place}: expected a value for file and for url, found {found or 'nothing'}")
    return _Listed(path=(folder / file).resolve(), url=url, date=_date(date, place))


def _date(value: object, place: str) -> datetime | None:
    if not value:
        return None
    try:
        date = datetime.fromisoformat(str(value))
    except ValueError as error:
        raise ValueError(f"{place}: {value!r} is no ISO 8601 date, such as 2024-03-31T12:00:00Z") from error
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _file_page(path: Path, *, url: str | None, date: datetime | None) -> ArchivedPage:
    data = _body(path.read_bytes())
    return ArchivedPage(url=url, date=date or _modified(path), data=data, charset=None, origin=str(path))


def _modified(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, tz=UTC)


def _head(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(16)
