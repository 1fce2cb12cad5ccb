"""Datasets of others in the store: their articles, and the HTML that these were read from.

Belongs here: where imported rows lie, and which publisher of the catalogue each belongs to. Does not belong
here: reading a dataset folder (`ml/exchange.py`) or choosing rows for the corpus (`ml/corpus.py`).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from ml.exchange import UNKNOWN, dataset_files, html_column, import_dataset
from ml.records import ArticleRow, RawPage
from resources.fundus.catalogue import Catalogue
from resources.store import Store

IMPORTED_ARTICLES, IMPORTED_PAGES = "imported_articles", "imported_pages"
SOURCE = "import"
"""What `RawPage.source` says of an imported page."""


@dataclass(frozen=True, kw_only=True)
class ImportCount:
    """What an import read, and what became of it: `kept_rows` plus all of `failed` is `read`."""

    read: int
    kept_rows: int
    failed: Mapping[str, int]  # by `Reason`, the most frequent first


def import_into(
    store: Store, catalogue: Catalogue, source: Path, *, on_row: Callable[[], None] = lambda: None
) -> ImportCount:
    """Put the rows of a dataset folder or file into the store, in place of what it brought before.

    A row that cannot be read is stored with its reason, as a failed extraction is. A publisher whose name or
    key is in the catalogue gets that key and its family, so that a split keeps it together with its crawled
    pages; any other is a family of its own. Raises `ValueError` where the source is no such dataset; a killed
    import is repaired by importing again.
    """
    origin = origin_of(source)
    intake = _Intake(source=source, catalogue=catalogue, on_row=on_row)
    store.replace(IMPORTED_ARTICLES, ArticleRow, intake.articles(), origin=origin)
    store.replace(IMPORTED_PAGES, RawPage, intake.raw_pages(), origin=origin)
    reasons = Counter(page.reason for page in intake.pages if page.reason)
    return ImportCount(
        read=len(intake.pages),
        kept_rows=len(intake.pages) - reasons.total(),
        failed={str(reason): count for reason, count in reasons.most_common()},
    )


def imported_articles(store: Store) -> Iterator[ArticleRow]:
    """The article rows of every import, failed ones included."""
    for origin in store.partitions(IMPORTED_ARTICLES, "origin"):
        yield from store.rows(IMPORTED_ARTICLES, ArticleRow, origin=origin)


def imported_pages(store: Store) -> Iterator[RawPage]:
    """The HTML of every imported row as its dataset holds it, under the `page_id` of its article row."""
    for origin in store.partitions(IMPORTED_PAGES, "origin"):
        yield from store.rows(IMPORTED_PAGES, RawPage, origin=origin)


def origin_of(source: Path) -> str:
    """The partition of a source: 12 hex digits that stand for its absolute path."""
    return sha256(str(source.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:12]


def _keys_by_name(catalogue: Catalogue) -> dict[str, str]:
    names = {publisher.name: key for key, publisher in catalogue.items()}
    return names | {key: key for key in catalogue}


@dataclass(frozen=True, kw_only=True)
class _PageFacts:
    """What a raw page shares with its article row; kept in memory while the dataset is read again for HTML."""

    page_id: str
    url: str
    publisher: str
    html_sha256: str
    reason: str | None


@dataclass(kw_only=True)
class _Intake:
    """One import: the dataset is read twice, for articles and then for HTML, so that no pass holds all of it."""

    source: Path
    catalogue: Catalogue
    on_row: Callable[[], None]
    pages: list[_PageFacts] = field(default_factory=list)

    def articles(self) -> Iterator[ArticleRow]:
        keys = _keys_by_name(self.catalogue)
        for row in import_dataset(self.source, imported_at=self.date):
            key = keys.get(row.publisher)
            known = replace(row, publisher=key, family=self.catalogue.family(key)) if key else row
            self.pages.append(_facts(known))
            self.on_row()
            yield known

    def raw_pages(self) -> Iterator[RawPage]:
        for page, html in zip(self.pages, html_column(self.source), strict=True):
            yield RawPage(
                page_id=page.page_id,
                url=page.url,
                final_url=page.url,
                publisher=page.publisher,
                crawl_date=self.date,
                source=SOURCE,
                origin=str(self.source.resolve()),
                fundus_version=UNKNOWN,
                html=html,
                html_sha256=page.html_sha256,
            )

    @cached_property
    def date(self) -> datetime:
        """Of the newest file: the same dataset, imported again, gives the same rows."""
        return datetime.fromtimestamp(
            max(path.stat().st_mtime for path in dataset_files(self.source)), tz=UTC
        )


def _facts(row: ArticleRow) -> _PageFacts:
    return _PageFacts(**{each.name: getattr(row, each.name) for each in fields(_PageFacts)})
