"""Bringing a source's pages into the store: append-only, nothing twice, at most one flush lost when killed.

Belongs here: duplicates, page limits, flushing and the marks of finished archive files. Does not belong
here: fetching (`sources.py`) and file formats (`store.py`).
"""

import hashlib
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from typing import TYPE_CHECKING, Any

from ml.records import CrawlPolicy, RawPage, SeenUrl
from resources.fundus.catalogue import fundus_version
from resources.sources import CrawlRequest, Source
from resources.store import Store

if TYPE_CHECKING:
    from resources.fundus.crawlers import FetchedPage

logger = logging.getLogger(__name__)

RAW_PAGES, SEEN_URLS, POLICIES = "raw_pages", "seen_urls", "crawl_policies"
PAGES_PER_FLUSH = 50
SECONDS_PER_FLUSH = 30.0


@dataclass(kw_only=True)
class CrawlCount:
    """What a crawl brought for one publisher."""

    new: int = 0
    duplicates: int = 0  # pages whose text is stored already, under this or another URL
    stored: int = 0  # in all, after the crawl
    dropped: int = 0  # pages beyond the limit
    skipped: str | None = None  # why the publisher was not crawled at all


def page_id(url: str) -> str:
    """The identity of a page: 16 hex digits of its URL's SHA-256, the fragment left out."""
    return hashlib.sha256(url.partition("#")[0].encode(errors="replace")).hexdigest()[:16]


def harvest(
    store: Store,
    source: Source,
    key: str,
    *,
    max_pages: int,
    crawl_disallowing_training: bool = False,
) -> dict[str, CrawlCount]:
    """Crawl one publisher, or with an archive everyone in it, into `raw_pages`; returns counts by publisher.

    Can be killed at any time and called again: stored URLs are not fetched again, pages with the text of a
    stored one are only noted, and archive files that are through are not read again.
    """
    policy = _policy(store, source, key)
    scope = source.scope(key)
    marks = _Marks(store, source, scope, max_pages)
    refusal = _refusal(policy, crawl_disallowing_training)
    if refusal or marks.covers(source.fingerprint()):
        return {key: replace(_Shelf(store, key, source).count, skipped=refusal)}
    shelves = {name: _Shelf(store, name, source) for name in scope}
    _fill(shelves, key, source, marks, max_pages)
    return {name: shelf.count for name, shelf in shelves.items()}


def _fill(shelves: dict[str, "_Shelf"], key: str, source: Source, marks: "_Marks", max_pages: int) -> None:
    """Put pages on their publisher's shelf; whatever ends the crawl, what was received is stored."""

    def finish(file: str) -> None:
        # What waits is written before the mark: a mark must never promise pages that a kill could lose.
        for shelf in shelves.values():
            shelf.flush()
        marks.set(file, is_full=any(shelf.count.stored >= max_pages for shelf in shelves.values()))

    request = CrawlRequest(
        keys=[name for name, shelf in shelves.items() if shelf.count.stored < max_pages],
        max_pages=max_pages - shelves[key].count.stored,
        is_known=lambda url: any(shelf.knows(url) for shelf in shelves.values()),
        finished=marks.finished(),
        on_finished=finish,
    )
    try:
        for fetched in source.crawl(request) if request.keys else ():
            name = source.catalogue.key_of(fetched.publisher_name)
            shelves[name].add(_raw_page(fetched, name, source.name), max_pages)
    finally:
        for shelf in shelves.values():
            shelf.flush()


def _policy(store: Store, source: Source, key: str) -> CrawlPolicy:
    """The publisher's policy, read from robots.txt where the source visits websites, and stored."""
    robots = source.robots(key)
    flagged = source.catalogue.facts(key).disallows_training
    policy = CrawlPolicy(
        publisher=key,
        disallows_all=robots.disallows_all if robots else False,
        disallows_training=flagged or bool(robots and robots.disallows_training),
        crawl_delay_s=robots.crawl_delay_s if robots else None,
    )
    store.replace(POLICIES, CrawlPolicy, [policy], publisher=key)
    return policy


def _refusal(policy: CrawlPolicy, crawl_disallowing_training: bool) -> str | None:
    if policy.disallows_all:
        return "its robots.txt disallows crawling"
    if policy.disallows_training and not crawl_disallowing_training:
        return "it disallows training; crawl it with `--crawl-disallowing-training`, it still stays out of training"
    return None


@dataclass(kw_only=True)
class _Buffer:
    pages: list[RawPage] = field(default_factory=list)
    seen: list[SeenUrl] = field(default_factory=list)
    since: float = field(default_factory=time.monotonic)


class _Shelf:
    """One publisher's stored pages: what is known of them, and what waits to be written."""

    def __init__(self, store: Store, key: str, source: Source) -> None:
        self._store, self._key, self._identity = store, key, source.identity
        columns = ["page_id", "url", "final_url", "html_sha256"]
        pages = store.appended(RAW_PAGES, RawPage, columns=columns, publisher=key).to_pydict()
        seen = store.appended(SEEN_URLS, SeenUrl, columns=["url"], publisher=key).to_pydict()
        self._urls = {self._identity(url) for url in (*pages["url"], *pages["final_url"], *seen["url"])}
        self._by_content = dict(zip(pages["html_sha256"], pages["page_id"], strict=True))
        self._buffer = _Buffer()
        self.count = CrawlCount(stored=len(set(pages["page_id"])))

    def knows(self, url: str) -> bool:
        return self._identity(url) in self._urls

    def add(self, page: RawPage, max_pages: int) -> None:
        if self.knows(page.url):
            return
        if self.count.stored >= max_pages:
            self.count.dropped += 1
            return
        self._urls |= {self._identity(page.url), self._identity(page.final_url)}
        if original := self._by_content.get(page.html_sha256):
            self._note_duplicate(page, original)
        else:
            self._by_content[page.html_sha256] = page.page_id
            self._buffer.pages.append(page)
            self.count.new += 1
            self.count.stored += 1
        full = len(self._buffer.pages) >= PAGES_PER_FLUSH
        if full or time.monotonic() - self._buffer.since > SECONDS_PER_FLUSH:
            self.flush()

    def _note_duplicate(self, page: RawPage, original: str) -> None:
        self.count.duplicates += 1
        self._buffer.seen.append(
            SeenUrl(url=page.url, publisher=self._key, same_as=original, crawl_date=page.crawl_date)
        )

    def flush(self) -> None:
        """Append what waits; the pages first, since a noted URL refers to one."""
        buffer, self._buffer = self._buffer, _Buffer()
        self._store.append(RAW_PAGES, buffer.pages, publisher=self._key)
        self._store.append(SEEN_URLS, buffer.seen, publisher=self._key)


class _Marks:
    """Which archive files, and which archives as a whole, are through: for whom, and up to how many pages."""

    def __init__(self, store: Store, source: Source, publishers: Sequence[str], max_pages: int) -> None:
        self._store, self._publishers, self._max_pages = store, publishers, max_pages
        self._folder = store.root / "scans" / source.name

    def finished(self) -> frozenset[str]:
        """The files that need no reading for these publishers and this limit."""
        marks = (
            [json.loads(path.read_bytes()) for path in self._folder.glob("*.json")]
            if self._folder.exists()
            else []
        )
        return frozenset(mark["file"] for mark in marks if self._holds(mark))

    def covers(self, file: str | None) -> bool:
        """Whether one file, or a whole archive by its fingerprint, needs no reading."""
        path = self._folder / f"{page_id(file or '')}.json"
        return file is not None and path.exists() and self._holds(json.loads(path.read_bytes()))

    def _holds(self, mark: Mapping[str, Any]) -> bool:
        enough = mark["limit"] is None or mark["limit"] >= self._max_pages
        return enough and set(self._publishers) <= set(mark["publishers"])

    def set(self, file: str, *, is_full: bool) -> None:
        """Mark a file; where a publisher is full, only for limits up to this one."""
        mark = {
            "file": file,
            "publishers": sorted(self._publishers),
            "limit": self._max_pages if is_full else None,
            "fundus_version": fundus_version(),
        }
        self._store.write_bytes(f"scans/{self._folder.name}/{page_id(file)}.json", json.dumps(mark).encode())


def _raw_page(fetched: "FetchedPage", key: str, source_name: str) -> RawPage:
    # A lone surrogate cannot be stored as UTF-8; it is the only thing about a page that is changed.
    html = fetched.html.encode(errors="replace").decode()
    return RawPage(
        page_id=page_id(fetched.url),
        url=fetched.url.partition("#")[0],
        final_url=fetched.final_url.partition("#")[0],
        publisher=key,
        crawl_date=fetched.date.astimezone(UTC),
        source=source_name,
        origin=fetched.origin,
        fundus_version=fundus_version(),
        html=html,
        html_sha256=hashlib.sha256(html.encode()).hexdigest(),
    )
