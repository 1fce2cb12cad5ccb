"""`newslm page`: how a page is seen, by the model and by the aligner.

Belongs here: choosing a view, and streaming pages as text or JSON lines. Does not belong here: reading
archives (`ml/archives.py`) or making a view (`ml/page.py`). A new view is a new entry of `VIEWS`.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ml.archives import ArchivedPage, is_warc, read_archive
from ml.page import PageError, decode, parse_page, render_blocks, render_compact
from ml.readerlm import render_readerlm
from ml.records import Reason
from ml.tokens import count_tokens
from pipeline.cli.console import FAILED, PARTLY_FAILED, clear_errors, complain, err

STDIN = "-"

Row = dict[str, str | int]


class View(StrEnum):
    """How a page can be shown."""

    COMPACT = "compact"
    READERLM = "readerlm"
    BLOCKS = "blocks"


def _readerlm(html: str) -> str:
    """ReaderLM's view knows no blocks, so an empty page is not noticed by it."""
    if not html.strip():
        raise PageError(Reason.EMPTY_PAGE, "expected HTML, found an empty page")
    return render_readerlm(html)


VIEWS: Mapping[View, Callable[[str], str]] = {
    View.COMPACT: lambda html: render_compact(parse_page(html)),
    View.READERLM: _readerlm,
    View.BLOCKS: lambda html: render_blocks(parse_page(html)),
}


def page(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE|DIR|FILE.warc.gz|-", help="What to read; - is one HTML page on standard input."
        ),
    ],
    shown_as: Annotated[
        View,
        typer.Option(
            "--as",
            help="[bold]compact[/bold]: what our models read. [bold]readerlm[/bold]: what ReaderLM-v2 was trained to "
            "read. [bold]blocks[/bold]: id, tag, class hint, link density and text of each block.",
        ),
    ] = View.COMPACT,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Print JSON lines for a single page, too.")] = False,
) -> None:
    """Show how pages are seen: the faithful, compact form that models read.

    A single page is printed as text. A folder or a WARC file, of any size, is
    printed as JSON lines, one a page: its url or file, text and tokens
    (SmolLM2's). A page that cannot be read has error and reason in place of the
    last two, and a line on standard error; the others go on. A folder may hold
    urls.csv (file,url,date) or urls.jsonl to say where its pages are from.

    \b
    newslm page article.html
    curl -s https://www.example.com/ | newslm page - --as blocks
    newslm page crawl.warc.gz | jq -r 'select(.tokens > 24000) | .url'
    newslm page pages/ --as readerlm > pages.jsonl

    Exit code 1: nothing came out. 3: some pages failed.
    """
    view = VIEWS[shown_as]
    with clear_errors():
        if jsonl or Path(source).is_dir() or is_warc(Path(source)):
            count = _print_rows(_pages(source), view)
        else:
            count = _print_text(source, view)
    if count["failed"]:
        raise typer.Exit(PARTLY_FAILED if count["shown"] else FAILED)


def _pages(source: str) -> Iterator[ArchivedPage]:
    if source == STDIN:
        data = sys.stdin.buffer.read()
        yield ArchivedPage(url=None, date=datetime.now(UTC), data=data, charset=None, origin=STDIN)
    else:
        yield from read_archive(Path(source))


def _print_text(source: str, view: Callable[[str], str]) -> Counter[str]:
    [single] = _pages(source)
    try:
        text = view(decode(single.data))
    except PageError as error:
        raise ValueError(f"{source}: {error} ({error.reason})") from error
    typer.echo(text.encode(errors="replace"))  # bytes: UTF-8, whatever the terminal's locale
    return Counter(shown=1)


def _print_rows(pages: Iterator[ArchivedPage], view: Callable[[str], str]) -> Counter[str]:
    """One JSON line a page, as it comes: an archive of any size never sits in memory."""
    count: Counter[str] = Counter()
    for archived in _until_broken(pages, count):
        row = _row(archived, view)
        count.update(shown="text" in row, failed="error" in row, tokens=int(row.get("tokens", 0)))
        typer.echo(json.dumps(row, ensure_ascii=False).encode(errors="replace"))
    err.print(
        f"[dim]pages shown {count['shown']:,}, tokens {count['tokens']:,}, failed {count['failed']:,}[/dim]"
    )
    return count


def _until_broken(pages: Iterator[ArchivedPage], count: Counter[str]) -> Iterator[ArchivedPage]:
    """The pages of an archive up to where it breaks, if it does; the break is said and counted."""
    try:
        yield from pages
    except (ValueError, OSError) as error:
        complain("error", error)
        count["failed"] += 1


def _row(archived: ArchivedPage, view: Callable[[str], str]) -> Row:
    place = _place(archived)
    try:
        text = view(decode(archived.data, charset=archived.charset))
    except PageError as error:
        complain("warning", f"{next(iter(place.values()))}: {error} ({error.reason})")
        return {**place, "error": str(error), "reason": str(error.reason)}
    return {**place, "text": text, "tokens": count_tokens(text)}


def _place(archived: ArchivedPage) -> Row:
    """The page's url where one is known, its file where it has one of its own."""
    url = {"url": archived.url} if archived.url else {}
    shares_its_file = archived.url and is_warc(Path(archived.origin))
    return {**url} if shares_its_file else {**url, "file": archived.origin}
