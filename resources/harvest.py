"""Bringing a source's pages into the store: append-only, nothing twice, at most one flush lost when killed.

Belongs here: duplicates, page limits, flushing and the marks of finished archive files. Does not belong
here: fetching (`sources.py`) and file formats (`store.py`).
"""

import hashlib
import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC
from typing import TYPE_CHECKING, Any

from ml.extraction import page_id_of
from ml.records import CrawlPolicy, RawPage, SeenUrl
from resources.fundus.catalogue import fundus_version
from resources.sources import CrawlNotes, CrawlRequest, Source
from resources.store import Store

if TYPE_CHECKING:
    from resources.fundus.crawlers import FetchedPage

logger = logging.getLogger(__name__)

RAW_PAGES, SEEN_URLS, POLICIES, SCANS = "raw_pages", "seen_urls", "crawl_policies", "scans"
PAGES_PER_FLUSH = 50
SECONDS_PER_FLUSH = 30.0


@dataclass(kw_only=True)
class CrawlCount:
    """What a crawl brought for one publisher.

    What concerns an archive as a whole, its faults and its pages of nobody, stands with the publisher that
    was asked for.
    """

    new: int = 0
    duplicates: int = 0  # received pages whose URL or text was stored already
    stored: int = 0  # in all, after the crawl
    dropped: int = 0  # pages beyond the limit
    skipped: str | None = None  # why the publisher was not crawled at all
    faults: list[str] = field(default_factory=list)  # archive files that could not be read, in words
    unknown_hosts: dict[str, int] = field(default_factory=dict)  # pages by host that no publisher covers


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
    stored one are only noted, and archive files that are through are not read again. A second crawl of the
    same publisher, or of an archive of the same kind, waits for the first.
    """
    with _lock(store, source, key):
        policy = _policy(store, source, key)
        marks = _Marks(store, source, source.scope(key), max_pages)
        refusal = _refusal(policy, source, crawl_disallowing_training)
        if refusal or marks.covers(source.fingerprint()):
            shelves = _Shelves(store, source, [key], max_pages)
            return {key: replace(shelves[key].count, skipped=refusal)}
        shelves = _Shelves(store, source, source.scope(key), max_pages)
        _report(_fill(shelves, source, marks, policy), shelves[key].count)
        return shelves.counts()


def _lock(store: Store, source: Source, key: str) -> AbstractContextManager[None]:
    """Held from before the stored pages are looked up until the last new one is written."""
    if source.visits_publishers:
        return store.lock(RAW_PAGES, publisher=key)
    return store.lock(SCANS, source=source.name)


def _fill(shelves: "_Shelves", source: Source, marks: "_Marks", policy: CrawlPolicy) -> CrawlNotes:
    """Put pages on their publisher's shelf; whatever ends the crawl, what was received is stored."""

    def finish(file: str) -> None:
        # What waits is written before the mark: a mark must never promise pages that a kill could lose.
        shelves.flush()
        marks.set(file, is_full=shelves.some_are_full())

    request = CrawlRequest(
        keys=shelves.with_room(),
        max_pages=shelves.max_pages - shelves[policy.publisher].count.stored,
        is_known=shelves.known.holds,
        delay_s=policy.crawl_delay_s or 0.0,
        finished=marks.finished(),
        on_finished=finish,
    )
    try:
        for fetched in source.crawl(request) if request.keys else ():
            name = source.catalogue.key_of(fetched.publisher_name)
            shelves[name].add(_raw_page(fetched, name, source.name), shelves.max_pages)
    finally:
        shelves.flush()
    return request.notes


def _report(notes: CrawlNotes, count: CrawlCount) -> None:
    """Let everyone see what the crawl could not bring."""
    count.faults, count.unknown_hosts = notes.faults, dict(notes.unknown_hosts.most_common())
    for fault in notes.faults:
        logger.warning("left for another crawl: %s", fault)
    if notes.unknown_hosts:
        logger.warning(
            "%d archived pages are of hosts that no publisher covers, most often %s",
            notes.unknown_hosts.total(),
            ", ".join(f"{host} ({pages})" for host, pages in notes.unknown_hosts.most_common(5)),
        )


def _policy(store: Store, source: Source, key: str) -> CrawlPolicy:
    """The publisher's policy, stored: Fundus' flag, and what robots.txt asks now or asked when last read."""
    asked = source.robots(key) or _stored_policy(store, key)
    flagged = source.catalogue.facts(key).disallows_training
    policy = CrawlPolicy(
        publisher=key,
        disallows_all=asked.disallows_all if asked else False,
        disallows_training=flagged or bool(asked and asked.disallows_training),
        crawl_delay_s=asked.crawl_delay_s if asked else None,
    )
    store.replace(POLICIES, CrawlPolicy, [policy], publisher=key)
    return policy


def _stored_policy(store: Store, key: str) -> CrawlPolicy | None:
    if store.version(POLICIES, publisher=key) is None:
        return None
    return next(store.rows(POLICIES, CrawlPolicy, publisher=key))


def _refusal(policy: CrawlPolicy, source: Source, crawl_disallowing_training: bool) -> str | None:
    if policy.disallows_all and source.visits_publishers:  # an archive is read without asking the website
        return "its robots.txt disallows crawling"
    if policy.disallows_training and not crawl_disallowing_training:
        return "it disallows training; crawl it with `--crawl-disallowing-training`, it still stays out of training"
    return None


@dataclass(kw_only=True)
class _Buffer:
    pages: list[RawPage] = field(default_factory=list)
    seen: list[SeenUrl] = field(default_factory=list)
    since: float = field(default_factory=time.monotonic)


class _KnownUrls:
    """The URLs behind all shelves of a crawl; one set, since each page of an archive is looked up in it."""

    def __init__(self, identity: Callable[[str], str]) -> None:
        self._identity = identity
        self._urls: set[str] = set()

    def add(self, *urls: str) -> None:
        self._urls.update(map(self._identity, urls))

    def holds(self, url: str) -> bool:
        return self._identity(url) in self._urls


class _Shelf:
    """One publisher's stored pages: what is known of them, and what waits to be written."""

    def __init__(self, store: Store, key: str, known: _KnownUrls) -> None:
        self._store, self._key, self._known = store, key, known
        columns = ["page_id", "url", "final_url", "html_sha256"]
        pages = store.appended(RAW_PAGES, RawPage, columns=columns, publisher=key).to_pydict()
        seen = store.appended(SEEN_URLS, SeenUrl, columns=["url"], publisher=key).to_pydict()
        known.add(*pages["url"], *pages["final_url"], *seen["url"])
        self._by_content = dict(zip(pages["html_sha256"], pages["page_id"], strict=True))
        self._buffer = _Buffer()
        self.count = CrawlCount(stored=len(set(pages["page_id"])))

    def add(self, page: RawPage, max_pages: int) -> None:
        if self._known.holds(page.url):
            self.count.duplicates += 1
            return
        if self.count.stored >= max_pages:
            self.count.dropped += 1
            return
        self._known.add(page.url, page.final_url)
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


class _Shelves:
    """The shelves of the publishers whose pages a crawl keeps, and the limit that holds for each."""

    def __init__(self, store: Store, source: Source, keys: Sequence[str], max_pages: int) -> None:
        self.known = _KnownUrls(source.identity)
        self.max_pages = max_pages
        self._shelves = {key: _Shelf(store, key, self.known) for key in keys}

    def __getitem__(self, key: str) -> _Shelf:
        return self._shelves[key]

    def with_room(self) -> list[str]:
        """The publishers of whom more pages are wanted."""
        return [key for key, shelf in self._shelves.items() if shelf.count.stored < self.max_pages]

    def some_are_full(self) -> bool:
        return len(self.with_room()) < len(self._shelves)

    def flush(self) -> None:
        for shelf in self._shelves.values():
            shelf.flush()

    def counts(self) -> dict[str, CrawlCount]:
        return {key: shelf.count for key, shelf in self._shelves.items()}


class _Marks:
    """Which archive files, and which archives as a whole, are through: for whom, and up to how many pages."""

    def __init__(self, store: Store, source: Source, publishers: Sequence[str], max_pages: int) -> None:
        self._store, self._publishers, self._max_pages = store, publishers, max_pages
        self._folder = store.root / SCANS / source.name

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
        path = self._folder / _mark_name(file or "")
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
        self._store.write_bytes(f"{SCANS}/{self._folder.name}/{_mark_name(file)}", json.dumps(mark).encode())


def _mark_name(file: str) -> str:
    return hashlib.sha256(file.encode(errors="surrogatepass")).hexdigest()[:16] + ".json"


def _raw_page(fetched: "FetchedPage", key: str, source_name: str) -> RawPage:
    html, url = _storable(fetched.html), _storable(fetched.url.partition("#")[0])
    return RawPage(
        page_id=page_id_of(url),
        url=url,
        final_url=_storable(fetched.final_url.partition("#")[0]),
        publisher=key,
        crawl_date=fetched.date.astimezone(UTC),
        source=source_name,
        origin=_storable(fetched.origin),
        fundus_version=fundus_version(),
        html=html,
        html_sha256=hashlib.sha256(html.encode()).hexdigest(),
    )


def _storable(text: str) -> str:
    """Text without lone surrogates, which UTF-8 cannot hold; they are all that is changed of a page."""
    return text.encode(errors="replace").decode()
