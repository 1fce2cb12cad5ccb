"""Where pages come from: the live web, CC-NEWS, local archives, or the demo newsroom.

Belongs here: one class per source behind one interface. Does not belong here: storing what a source
yields (`harvest.py`) or Fundus' crawlers themselves (`fundus/crawlers.py`).
"""

import abc
import contextlib
import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit, urlunsplit

from ml.archives import HTML_SUFFIXES, URL_LISTS, ArchivedPage, is_warc, read_archive
from ml.page import PageError, decode
from resources.fundus.catalogue import Catalogue, demo_catalogue, fundus_catalogue

if TYPE_CHECKING:
    from resources.fundus.crawlers import FetchedPage, RobotsPolicy

DEFAULT_DELAY_S = 1.0
CCNEWS_SERVER = "https://data.commoncrawl.org/"
CCNEWS_BEGINNING = datetime(2016, 8, 1)
NO_URL = "(no URL listed)"
_SHOWN_HOSTS = 5  # that a message names


class UrlTest(Protocol):
    """A question about a URL."""

    def __call__(self, url: str) -> bool: ...


@dataclass(frozen=True, kw_only=True)
class CrawlNotes:
    """What a crawl came across but could not bring; the source writes it down while it crawls."""

    faults: list[str] = field(default_factory=list)  # of archive files, in words; they are not finished
    unknown_hosts: Counter[str] = field(default_factory=Counter)  # pages by host that no publisher covers


@dataclass(frozen=True, kw_only=True)
class CrawlRequest:
    """What a crawl needs to know of the store, so that nothing known is fetched again.

    `on_finished` is told of every archive file that is through, and at last of the archive as a whole.
    """

    keys: Sequence[str]
    max_pages: int  # still wanted of each publisher
    is_known: UrlTest
    delay_s: float = 0.0  # that robots.txt asks for between two requests
    finished: Collection[str] = field(default_factory=frozenset)  # archive files that are through
    on_finished: Callable[[str], None] = lambda _: None
    notes: CrawlNotes = field(default_factory=CrawlNotes)


class Source(abc.ABC):
    """A place that pages come from.

    `visits_publishers` tells whether the source asks one publisher at a time (a website) or passes every
    publisher's pages in one go (an archive); `scope` says whose pages a crawl for one publisher brings.
    """

    name: str
    visits_publishers: bool

    @property
    @abc.abstractmethod
    def catalogue(self) -> Catalogue:
        """The publishers that this source can have pages of."""

    @abc.abstractmethod
    def crawl(self, request: CrawlRequest) -> Iterator["FetchedPage"]:
        """Pages of the requested publishers, as received, in the order in which the source has them."""

    def scope(self, key: str) -> list[str]:
        """The publishers whose pages are kept when this one is crawled."""
        return [key] if self.visits_publishers else list(self.catalogue)

    def identity(self, url: str) -> str:
        """What makes a URL's page the same page; without its query, as Fundus sees it."""
        return urlunsplit(urlsplit(url)._replace(query="", fragment=""))

    def fingerprint(self) -> str | None:
        """What an archive as a whole is known by, so that it is scanned once; None for websites, which change."""
        return None

    def robots(self, key: str) -> "RobotsPolicy | None":
        """What the publisher's robots.txt asks; None where the source does not visit websites."""
        return None


@dataclass(frozen=True, kw_only=True)
class WebSource(Source):
    """The publishers' own websites through Fundus' `Crawler`, robots rules and crawl delays kept."""

    name: str = "web"
    visits_publishers: bool = True
    delay_s: float = DEFAULT_DELAY_S

    @property
    def catalogue(self) -> Catalogue:
        return fundus_catalogue()

    def crawl(self, request: CrawlRequest) -> Iterator["FetchedPage"]:
        from resources.fundus.crawlers import crawl_web

        for key in request.keys:
            with self.session():
                yield from crawl_web(
                    self.catalogue[key],
                    delay_s=max(self.delay_s, request.delay_s),
                    max_pages=request.max_pages,
                    is_known=request.is_known,
                )

    def robots(self, key: str) -> "RobotsPolicy":
        from resources.fundus.crawlers import robots_policy

        with self.session():
            return robots_policy(self.catalogue[key])

    def session(self) -> contextlib.AbstractContextManager[object]:
        """Fundus' HTTP session for the time of a crawl."""
        from fundus.scraping.session import session_handler

        session: contextlib.AbstractContextManager[object] = session_handler.context()
        return session


@dataclass(frozen=True, kw_only=True)
class DemoSource(WebSource):
    """The newsroom that ships with the product, served on loopback while a crawl lasts.

    Its publishers live on reserved `.example` names; the server is Fundus' HTTP proxy for them, so a page
    has the same URL on every run, whatever port was free.
    """

    name: str = "demo"
    delay_s: float = 0.0
    proxy_url: str | None = None  # of a newsroom that is already served; None serves one

    @property
    def catalogue(self) -> Catalogue:
        return demo_catalogue()

    @contextlib.contextmanager
    def session(self) -> Iterator[object]:
        from fundus.scraping.session import session_handler

        from resources.demo.server import NewsroomServer

        with contextlib.ExitStack() as stack:
            proxy = self.proxy_url or stack.enter_context(NewsroomServer()).proxy_url
            yield stack.enter_context(session_handler.context(proxies={"http": proxy}))


@dataclass(frozen=True, kw_only=True)
class CCNewsSource(Source):
    """The CC-NEWS archive through Fundus' `CCNewsCrawler`: WARC files written from `start` to `end`, both included.

    Raises `ValueError` for times between which there can be no file. An end in the future is now.
    """

    start: datetime  # naive and UTC, as in the names of the WARC files
    end: datetime | None = None  # likewise; None is now
    server_address: str = CCNEWS_SERVER
    name: str = "ccnews"
    visits_publishers: bool = False

    def __post_init__(self) -> None:
        if self.start < CCNEWS_BEGINNING:
            raise ValueError(
                f"CC-NEWS begins on {CCNEWS_BEGINNING:%Y-%m-%d}, found the start {self.start}; give a later one"
            )
        if self.start >= self._end():
            raise ValueError(
                f"the start {self.start} is not before the end {self._end():%Y-%m-%d %H:%M:%S} (now at the latest); "
                f"give an earlier start or a later end"
            )

    @property
    def catalogue(self) -> Catalogue:
        return fundus_catalogue()

    def crawl(self, request: CrawlRequest) -> Iterator["FetchedPage"]:
        from resources.fundus.crawlers import crawl_ccnews

        yield from crawl_ccnews(
            [self.catalogue[key] for key in request.keys],
            server_address=self.server_address.rstrip("/") + "/",
            start=self.start,
            end=self._end(),
            finished=request.finished,
            on_finished=request.on_finished,
            on_fault=request.notes.faults.append,
            archive=self.fingerprint(),
            is_known=request.is_known,
        )

    def fingerprint(self) -> str:
        """Of a span that is over, its ends. Of one that still grows, also the day: it is listed once a day."""
        span = f"{self.server_address} {self.start.isoformat()} {self.end.isoformat() if self.end else ''}"
        is_over = self.end is not None and self.end < _now()
        return span if is_over else f"{span} as of {_now():%Y-%m-%d}"

    def _end(self) -> datetime:
        return min(self.end, _now()) if self.end else _now()


@dataclass(frozen=True, kw_only=True)
class ArchiveSource(Source):
    """WARC files or a folder of pages on this machine; a page belongs to the publisher of its host."""

    path: Path
    name: str = "archive"
    visits_publishers: bool = False

    @property
    def catalogue(self) -> Catalogue:
        return fundus_catalogue()

    def identity(self, url: str) -> str:
        return url.partition("#")[0]

    def crawl(self, request: CrawlRequest) -> Iterator["FetchedPage"]:
        """Pages of the requested publishers; files that are broken are noted, and read again another time.

        Raises `ValueError` where nothing can be read, or where no page is of any known publisher.
        """
        archive, reading = self.fingerprint(), _Reading(self.catalogue, request)
        through: list[str] = []
        for file in self._files():
            mark = self._mark(file)
            if mark in request.finished:
                reading.matched += 1
                continue
            faults = len(request.notes.faults)
            yield from reading.pages(file)
            if len(request.notes.faults) == faults:
                through.append(mark)
            # An archive of strangers is refused each time it is tried, so nothing in it may count as finished.
            while reading.matched and through:
                request.on_finished(through.pop(0))
        reading.require_matches(self.path)
        if not request.notes.faults:
            request.on_finished(archive)

    def fingerprint(self) -> str:
        """Of the names, sizes and times of all files, so that an archive that has changed is read again."""
        paths = self.path.rglob("*") if self.path.is_dir() else [self.path]
        facts = sorted(_facts(path) for path in paths if path.is_file())
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def _files(self) -> list[Path]:
        """WARC files one by one, so that each can be finished; a folder that also holds HTML as a whole."""
        if not self.path.is_dir():
            return [self.path]
        files = sorted(path for path in self.path.rglob("*") if path.is_file())
        warcs = [path for path in files if is_warc(path)]
        holds_others = any(path.name.lower().endswith((*HTML_SUFFIXES, *URL_LISTS)) for path in files)
        return warcs if warcs and not holds_others else [self.path]

    def _mark(self, file: Path) -> str:
        """What a file is finished as: another one in its place is not."""
        if not file.is_file():
            return f"{file} {self.fingerprint()}"
        return " ".join(map(str, _facts(file)))


class _Reading:
    """One pass over an archive: which pages are wanted, and what was found in all."""

    def __init__(self, catalogue: Catalogue, request: CrawlRequest) -> None:
        self._catalogue, self._request = catalogue, request
        self._hosts = _hosts(catalogue)
        self._wanted = frozenset(request.keys)
        self.matched = 0  # pages of known publishers, and files known to hold some

    def pages(self, file: Path) -> Iterator["FetchedPage"]:
        """The wanted pages of a file; where it is broken, those that are whole, and a note."""
        try:
            for page in read_archive(file):
                if (key := self._publisher(page)) and page.url and not self._request.is_known(page.url):
                    yield _archived(page, page.url, self._catalogue[key].name)
        except ValueError as error:
            self._request.notes.faults.append(str(error))

    def _publisher(self, page: ArchivedPage) -> str | None:
        """The wanted publisher whose page this is; hosts of none at all are noted."""
        host = _host(page.url or "")
        key = self._hosts.get(host)
        if key is None:
            self._request.notes.unknown_hosts[host or NO_URL] += 1
            return None
        self.matched += 1
        return key if key in self._wanted else None

    def require_matches(self, path: Path) -> None:
        """Raise `ValueError` where the archive gave no page of a known publisher, saying what it gave."""
        if self.matched:
            return
        hosts = self._request.notes.unknown_hosts
        found = ", ".join(f"{host} ({count})" for host, count in hosts.most_common(_SHOWN_HOSTS))
        strangers = (
            f"{path} holds no page of a known publisher, but {hosts.total()} of other hosts: {found}; expected pages "
            f"with the URL they were fetched from, of publishers that `newslm publishers` lists"
        )
        raise ValueError("\n".join([*([strangers] if hosts else []), *self._request.notes.faults]))


def _archived(page: ArchivedPage, url: str, publisher_name: str) -> "FetchedPage":
    from resources.fundus.crawlers import FetchedPage

    try:
        html = decode(page.data, charset=page.charset)
    except PageError:  # kept as it is: the extraction rejects it by name, so that it is counted
        html = page.data.decode(errors="replace")
    return FetchedPage(
        url=url,
        final_url=url,
        publisher_name=publisher_name,
        date=page.date.astimezone(UTC),
        origin=page.origin,
        html=html,
    )


def _hosts(catalogue: Catalogue) -> dict[str, str]:
    """Publisher keys by host name, former domains included."""
    return {
        _host(domain): key
        for key, publisher in catalogue.items()
        for domain in (publisher.domain, *publisher.deprecated_domains)
    }


def _host(url: str) -> str:
    """The host of a URL without `www.`; empty where there is none, as in a URL that is garbled."""
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def _facts(path: Path) -> tuple[str, int, int]:
    """What tells a file from another one in its place: its path, size in bytes and time of change in ns."""
    stat = path.stat()
    return str(path), stat.st_size, stat.st_mtime_ns


def _now() -> datetime:
    """Now, naive and UTC, to the second, as WARC files are named."""
    return datetime.now(UTC).replace(tzinfo=None, microsecond=0)
