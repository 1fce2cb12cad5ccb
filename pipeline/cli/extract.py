"""`newslm extract`: articles of any pages, in any form.

Belongs here: what the arguments mean, progress, and how a run ends. Does not belong here: extracting (`ml/bulk.py`),
files (`ml/extraction_files.py`), archives (`ml/archives.py`) or requests (`resources/fetching.py`).
"""

import os
import shutil
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ml.archives import ArchivedPage, is_warc, read_archive
from ml.bulk import Work, extract_pages
from ml.extraction_files import WRITINGS, Folder, JsonLines, Output, Parquet
from ml.extraction_rows import ExtractionRow, Key, failed_row, key_of
from ml.extractor import DEFAULT_MODEL, Extractor
from pipeline.cli.console import (
    DEFAULT_HOME,
    FAILED,
    PARTLY_FAILED,
    Home,
    clear_errors,
    complain,
    err,
    resources,
)

STDIN = "-"
INTERRUPTED = 130  # as shells say it
_SNIFFED = 512  # bytes that tell what standard input is
LOG_EVERY_S = 30.0


class Format(StrEnum):
    """How articles are written."""

    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    MARKDOWN = "markdown"
    PARQUET = "parquet"


_BY_SUFFIX = {
    ".txt": Format.TEXT,
    ".json": Format.JSON,
    ".jsonl": Format.JSONL,
    ".md": Format.MARKDOWN,
    ".parquet": Format.PARQUET,
}
Places = Mapping[str, Path]
"""Where each source lies, by its name on the command line; a URL's path means nothing."""

Source = Iterable[ArchivedPage | ExtractionRow]
"""Pages, and rows of those that could not be had."""


def extract(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE…",
            help="HTML files, folders, WARC files, URLs, .txt files with a URL a line, or - for standard input.",
        ),
    ],
    format_: Annotated[
        Format | None,
        typer.Option(
            "--format",
            "-f",
            help="Left out: by the output's suffix, else text for one page and jsonl for many.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="A file, or a folder for a file an article; standard output if left out."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="A model file, or champion, MODEL/VERSION or MODEL@ALIAS from MLflow; else the one that ships."
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="Processes; all cores if left out.", show_default=False)
    ] = os.cpu_count() or 1,
    provenance: Annotated[
        bool,
        typer.Option("--provenance", help="Say where each line and value was copied from (jsonl, parquet)."),
    ] = False,
    home: Home = Path(DEFAULT_HOME),
) -> None:
    """Extract articles from pages of any publisher; every text is copied from its page.

    A page that is no article has no text and a low confidence. A page that cannot
    be read has an error; the others go on. With an output file a run can be stopped
    at any time: the same command goes on, and does not read a page twice.

    \b
    newslm extract article.html
    curl -s https://www.example.com/story | newslm extract - --format markdown
    newslm extract crawl.warc.gz -o articles.parquet
    newslm extract pages/ more.warc.gz -o articles.jsonl --provenance
    newslm extract https://www.example.com/story urls.txt -o articles.jsonl
    newslm extract pages/ --format json -o articles/

    Exit code 1: nothing came out. 3: some pages could not be read.
    """
    with clear_errors(), _places(sources) as places:
        work = Work(model=model_file(model, home), provenance=provenance)
        chosen = _format(format_, output, places)
        target = _target(output, chosen, places, work)
        count = _run(places, target, work, jobs)
    if count["interrupted"]:
        err.print("stopped; what was written stays, and the same command goes on")
        raise typer.Exit(INTERRUPTED)
    if not count["articles"] and not count["there before"]:
        raise typer.Exit(FAILED)
    if count["failed"]:
        raise typer.Exit(PARTLY_FAILED)


def model_file(choice: str | None, home: Path) -> Path:
    """The file of a model: the one that ships, one on this machine, or one from MLflow, fetched once.

    Raises `ValueError` for a file that is none, or a version that is no block model.
    """
    if choice is None:
        return DEFAULT_MODEL
    if not Path(choice).exists():
        from resources.registered_extractors import fetch_extractor

        parts = resources(home, os.environ)
        return fetch_extractor(choice, parts["tracking"], Path(parts["trainer"].work_dir))
    Extractor.load(Path(choice))
    return Path(choice)


# --- what to write


def _is_single(places: Places) -> bool:
    """Whether there is one page, as far as the arguments tell."""
    [(name, path), *others] = places.items()
    return not others and (_is_url(name) or not (path.is_dir() or is_warc(path) or _is_url_list(path)))


def _format(given: Format | None, output: Path | None, places: Places) -> Format:
    if given:
        return given
    if output and output.suffix in _BY_SUFFIX:
        return _BY_SUFFIX[output.suffix]
    return Format.TEXT if _is_single(places) else Format.JSONL


def _target(output: Path | None, chosen: Format, places: Places, work: Work) -> Output:
    """Where rows go; raises `ValueError` where the format does not fit the output."""
    if output is None:
        if chosen is Format.PARQUET or (chosen in WRITINGS and not _is_single(places)):
            kind = "FILE.parquet" if chosen is Format.PARQUET else "FOLDER, for a file an article,"
            raise ValueError(f"{chosen} of these sources needs --output {kind} or --format jsonl")
        return _Printed(chosen)
    if output.parent != Path() and not output.parent.is_dir():
        raise ValueError(f"there is no folder {output.parent} for {output.name}; make it first")
    if chosen is Format.JSONL:
        return JsonLines(output, work.version)
    if chosen is Format.PARQUET:
        return Parquet(output, work.version)
    if output.suffix in _BY_SUFFIX and _is_single(places):
        return _Printed(chosen, output)
    return Folder(output, chosen, work.version)


class _Printed(Output):
    """Standard output, or a file that holds one article and nothing else."""

    def __init__(self, chosen: Format, path: Path | None = None) -> None:
        self._write = WRITINGS.get(chosen)
        self._path = path

    def has(self, key: Key) -> bool:
        return False

    def write(self, row: ExtractionRow) -> None:
        if self._write and not row.is_article:
            return  # told on standard error
        text = self._write(row) if self._write else row.to_json() + "\n"
        data = text.encode(errors="replace")  # UTF-8, whatever the terminal's locale
        if self._path:
            self._path.write_bytes(data)
        else:
            typer.echo(data, nl=False)

    def close(self) -> None:
        pass


# --- what to read


def _is_url(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _is_url_list(path: Path) -> bool:
    return path.suffix == ".txt"


def _pages(places: Places, target: Output, work: Work) -> Iterator[Source]:
    """The pages of each source; URLs given by themselves are fetched together with those of the lists."""
    urls = [name for name in places if _is_url(name)]
    for name, path in places.items():
        if name == STDIN:
            yield (replace(page, origin=STDIN) for page in read_archive(path))
        elif _is_url_list(path):
            urls += _listed_urls(path)
        elif not _is_url(name):
            yield read_archive(path)
    if urls:
        yield _from_web(urls, target, work)


def _listed_urls(path: Path) -> list[str]:
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    urls = [line for line in lines if line and not line.startswith("#")]
    if wrong := [url for url in urls if not _is_url(url)]:
        raise ValueError(
            f"{path}: expected a URL a line, found {wrong[0][:80]!r}; a page itself ends in .html"
        )
    return urls


@contextmanager
def _places(sources: Sequence[str]) -> Iterator[Places]:
    """Each source with its path; standard input as a file, of pages or WARC records by its first bytes."""
    with tempfile.TemporaryDirectory() as folder:
        places = {name: Path(name) for name in sources}
        if STDIN in places:
            start = sys.stdin.buffer.read(_SNIFFED)
            places[STDIN] = Path(folder) / f"stdin{_suffix(start)}"
            with places[STDIN].open("wb") as file:
                file.write(start)
                shutil.copyfileobj(sys.stdin.buffer, file)
        yield places


def _suffix(start: bytes) -> str:
    is_gzip = start.startswith(b"\x1f\x8b")
    with suppress(zlib.error):  # what only looks like gzip is for the reader to refuse
        start = zlib.decompressobj(wbits=31).decompress(start) if is_gzip else start
    return f"{'.warc' if start.startswith(b'WARC/') else '.html'}{'.gz' if is_gzip else ''}"


def _from_web(urls: Iterable[str], target: Output, work: Work) -> Source:
    from resources.fetching import Unfetched, fetch_pages

    new = (url for url in urls if not target.has((None, url, None)))
    for found in fetch_pages(new):
        if isinstance(found, Unfetched):
            page = ArchivedPage(url=found.url, date=datetime.now(UTC), data=b"", charset=None, origin="")
            yield failed_row(page, found.error, model=work.version)
        else:
            yield found


# --- the run


def _run(places: Places, target: Output, work: Work, jobs: int) -> Counter[str]:
    count: Counter[str] = Counter()
    started = time.monotonic()
    unread: list[ExtractionRow] = []

    def new_pages() -> Iterator[ArchivedPage]:
        for source in _pages(places, target, work):
            for page in _until_broken(source, count):
                if isinstance(page, ExtractionRow):
                    unread.append(page)
                elif target.has(key_of(page)):
                    count["there before"] += 1
                else:
                    yield page

    def rows() -> Generator[ExtractionRow]:
        for row in extract_pages(new_pages(), work, jobs=jobs):
            yield row
            yield from _emptied(unread)
        yield from _emptied(unread)

    try:
        with _progress(count) as show, closing(rows()) as found:  # closed: its processes end before this one
            for row in found:
                target.write(row)
                _count(row, count)
                show()
        target.finish()
    except KeyboardInterrupt:
        count["interrupted"] += 1
    finally:
        target.close()
        _summary(count, time.monotonic() - started)
    return count


def _emptied(rows: list[ExtractionRow]) -> Iterator[ExtractionRow]:
    while rows:
        yield rows.pop(0)


def _until_broken(pages: Source, count: Counter[str]) -> Source:
    """The pages of an archive up to where it breaks, if it does; the break is said and counted."""
    try:
        yield from pages
    except (ValueError, OSError) as error:
        complain("error", error)
        count["failed"] += 1


def _count(row: ExtractionRow, count: Counter[str]) -> None:
    count["pages"] += 1
    count["articles" if row.is_article else "failed" if row.error else "no article"] += 1
    where = row.url or row.file
    if row.error:
        complain("warning", f"{where}: {row.error}")
    elif not row.is_article and not count["articles"] and count["pages"] == 1:
        complain("warning", f"{where} is probably no article: confidence {row.confidence:.2f}")


@contextmanager
def _progress(count: Counter[str]) -> Iterator[Callable[[], None]]:
    """A line that changes on a terminal, one now and then elsewhere."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    started = said = time.monotonic()
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task("reading", total=None)

        def show() -> None:
            nonlocal said
            now = time.monotonic()
            if err.is_terminal:
                progress.update(task, description=_told(count, now - started))
            elif now - said >= LOG_EVERY_S:
                said = now
                err.print(_told(count, now - started), soft_wrap=True)

        yield show


def _told(count: Counter[str], seconds: float) -> str:
    told = ", ".join(
        f"{count[name]:,} {name}"
        for name in ("articles", "no article", "failed", "there before")
        if count[name]
    )
    return f"{count['pages']:,} pages ({count['pages'] / max(seconds, 1e-9):.0f} a second): {told or 'none'}"


def _summary(count: Counter[str], seconds: float) -> None:
    if count["pages"] + count["there before"] > 1:
        err.print(f"[dim]{_told(count, seconds)}; {seconds:.1f} s[/dim]", soft_wrap=True)
