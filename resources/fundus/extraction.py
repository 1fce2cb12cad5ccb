"""Fundus as the teacher: a stored page in, an `Article` or a named failure out.

Belongs here: running a publisher's parser for the day a page was crawled and converting its result.
Does not belong here: fetching pages (`crawlers.py`) or what a row holds (`ml/extraction.py`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ml.article import Article, Body, Section, normalise_text
from ml.extraction import article_row
from ml.language import detect_language
from ml.records import ArticleRow, RawPage, Reason
from resources.fundus.catalogue import Catalogue
from resources.fundus.rules import rules_version

RULE_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RecursionError,  # JSON-LD nested hundreds deep
    TypeError,
    ValueError,
)
"""What a page can make foreign rules raise; memory, imports and interrupts are not the page's doing."""


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """What the teacher made of a page: an article, or the reason why there is none."""

    article: Article | None
    reason: Reason | None = None
    detail: str | None = None


def extract(catalogue: Catalogue, page: RawPage) -> Extraction:
    """Fundus' extraction of a stored page with the rules that were valid on its crawl date.

    A field whose rule raises makes the page a recorded failure: a default in its place would look like data.
    """
    from lxml.etree import LxmlError

    try:
        parser = catalogue[page.publisher].parser(page.crawl_date)
    except ValueError as error:  # no parser version is valid at that date
        return Extraction(article=None, reason=Reason.PARSER_MISSING, detail=str(error))
    try:
        fields = parser.parse(page.html, error_handling="catch")
    except (*RULE_ERRORS, LxmlError) as error:
        return Extraction(
            article=None, reason=Reason.EXTRACTION_FAILED, detail=f"{type(error).__name__}: {error}"
        )
    failures = {
        name: value for name, value in fields.items() if isinstance(value, Exception) and name in _FIELDS
    }
    if failures:
        detail = "; ".join(f"{name}: {error!r}" for name, error in sorted(failures.items()))
        return Extraction(article=None, reason=Reason.EXTRACTION_FAILED, detail=detail)
    try:
        return Extraction(article=article_of(fields))
    except (TypeError, ValueError, AttributeError) as error:  # a rule returned what its field cannot hold
        return Extraction(article=None, reason=Reason.EXTRACTION_FAILED, detail=repr(error))


_FIELDS = ("title", "authors", "publishing_date", "topics", "free_access", "body")


def article_of(fields: Mapping[str, Any]) -> Article:
    """Fundus' values as ours; whitespace is normalised and lines that are empty afterwards are dropped.

    Raises `TypeError` naming the field where a rule returned something else than its annotation says, as
    JSON-LD makes it do with a number for a headline.
    """
    body = fields.get("body")
    sections = [
        Section(headline=_lines("body", section.headline), paragraphs=_lines("body", section.paragraphs))
        for section in (body.sections if body else ())
    ]
    date: datetime | None = fields.get("publishing_date")
    title = fields.get("title")
    return Article(
        title=next(iter(_lines("title", [title])), None) if title is not None else None,
        authors=_lines("authors", fields.get("authors") or ()),
        publishing_date=date,
        topics=_lines("topics", fields.get("topics") or ()),
        free_access=bool(fields.get("free_access", True)),
        body=Body(
            summary=_lines("body", body.summary if body else ()),
            sections=tuple(section for section in sections if section.headline or section.paragraphs),
        ),
    )


def _lines(name: str, texts: Iterable[Any]) -> tuple[str, ...]:
    strange = (
        [texts] if isinstance(texts, str | Mapping) else [text for text in texts if not isinstance(text, str)]
    )
    if strange:
        found = f"{type(strange[0]).__name__} {str(strange[0])[:80]!r}"
        raise TypeError(f"{name}: expected a list of text, found {found}")
    return tuple(line for text in texts if (line := normalise_text(text)))


def extract_pages(catalogue: Catalogue, key: str, pages: Iterable[RawPage]) -> list[ArticleRow]:
    """One row for every stored page of a publisher, oldest first: its article, or why there is none."""
    version, family = rules_version(catalogue, key), catalogue.family(key)
    rows: dict[str, ArticleRow] = {}
    for page in pages:
        if page.page_id not in rows:  # two crawls at a time may have stored a page twice
            rows[page.page_id] = _row(catalogue, page, family=family, version=version)
    return sorted(rows.values(), key=lambda row: (row.crawl_date, row.page_id))


def _row(catalogue: Catalogue, page: RawPage, *, family: str, version: str) -> ArticleRow:
    extraction = extract(catalogue, page)
    text = extraction.article.plaintext if extraction.article else ""
    return article_row(
        page,
        extraction.article,
        family=family,
        rules_version=version,
        reason=extraction.reason,
        detail=extraction.detail,
        language=detect_language(text) if text else None,
    )
