"""External gold: pages annotated by people, in a folder of their own.

Belongs here: reading `manifest.jsonl` and the pages it names, and making references of them. Does not belong
here: references that come from Fundus' rules, which are never mixed with these.
"""

import datetime as dt
import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from ml.article import Article, Body, Section, normalise_text
from ml.charset import decode
from ml.language import detect_language
from ml.metrics.registry import Reference
from ml.page import parse_page, render_compact

MANIFEST_FILE = "manifest.jsonl"
_SHOWN_PROBLEMS = 5


class Annotation(BaseModel):
    """What a person noted of a page; an empty value is not known, and compared with nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str = ""
    authors: str = ""  # names separated by commas
    date: dt.date | None = None
    text: str

    @property
    def fields(self) -> frozenset[str]:
        """The keys of an article that the annotation states, by their names in `ml/metrics/fields.py`."""
        stated = {"title": self.title, "authors": self.authors, "date_day": self.date}
        return frozenset(name for name, value in stated.items() if value)

    def article(self) -> Article:
        """The annotation as an article, every line of the text a paragraph."""
        lines = [normalise_text(line) for line in self.text.splitlines()]
        section = Section(paragraphs=tuple(line for line in lines if line))
        names = (normalise_text(name) for name in self.authors.split(","))
        return Article(
            title=normalise_text(self.title) or None,
            authors=tuple(name for name in names if name),
            publishing_date=dt.datetime.combine(self.date, dt.time()) if self.date else None,
            body=Body(sections=(section,)),
        )


class _Entry(BaseModel):
    """A line of the manifest."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    url: str
    file: Path
    gold: Annotation


@dataclass(frozen=True, kw_only=True)
class GoldPage:
    """An annotated page: its HTML, and what is right."""

    page_id: str
    url: str
    html: str
    annotation: Annotation

    @property
    def publisher(self) -> str:
        """The host, without `www.`: pages of one site succeed or fail together."""
        return (urlsplit(self.url).hostname or self.url).removeprefix("www.")

    @cached_property
    def compact(self) -> str:
        """The page as a model reads it."""
        return render_compact(parse_page(self.html))

    @cached_property
    def language(self) -> str | None:
        """Of the annotated text."""
        return detect_language(self.annotation.text)

    def reference(self) -> Reference:
        """What extractors are compared with."""
        article = self.annotation.article()
        return Reference(
            page_id=self.page_id,
            url=self.url,
            publisher=self.publisher,
            language=self.language,
            plaintext=article.plaintext,
            json=article.to_json(),
            compact=self.compact,
            fields=self.annotation.fields,
        )


def read_gold(folder: Path) -> list[GoldPage]:
    """The annotated pages of a folder: `manifest.jsonl` with `id`, `url`, `file` and `gold` a line.

    A `file` is HTML below the folder, gzip-compressed if its name ends in `.gz`. Raises `ValueError` with
    every line that cannot be used, for a gold set that silently lost pages would compare with nobody's.
    """
    manifest = folder / MANIFEST_FILE
    if not manifest.is_file():
        raise ValueError(f"{folder} is no gold set: expected {MANIFEST_FILE} in it")
    pages: list[GoldPage] = []
    problems: list[str] = []
    for number, line in enumerate(manifest.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            pages.append(_page(folder, line))
        except (ValidationError, OSError, ValueError) as error:
            problems.append(f"line {number}: {_first_line(error)}")
    problems += [f"id {page_id} is there more than once" for page_id in _repeated(pages)]
    if problems:
        shown = "; ".join(problems[:_SHOWN_PROBLEMS])
        raise ValueError(f"{manifest}: {len(problems)} problems: {shown}")
    return pages


def gold_version(pages: Sequence[GoldPage]) -> str:
    """A hash of what is asked (the pages as models and libraries read them) and what is expected."""
    digest = sha256()
    for page in sorted(pages, key=lambda page: page.page_id):
        for part in (page.page_id, page.url, page.html, page.compact, page.annotation.model_dump_json()):
            digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()[:16]


def _page(folder: Path, line: str) -> GoldPage:
    entry = _Entry.model_validate_json(line)
    data = (folder / entry.file).read_bytes()
    html = decode(gzip.decompress(data) if entry.file.suffix == ".gz" else data)
    return GoldPage(page_id=entry.id, url=entry.url, html=html, annotation=entry.gold)


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        detail = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, detail['loc'])) or 'line'}: {detail['msg']}"
    return str(error)


def _repeated(pages: Sequence[GoldPage]) -> Iterator[str]:
    seen: set[str] = set()
    for page in pages:
        if page.page_id in seen:
            yield page.page_id
        seen.add(page.page_id)
