"""Where pages come from: the live web, CC-NEWS, local archives, or the demo newsroom.

Belongs here: one class per source behind one interface. Does not belong here: storing what a source
yields (`harvest.py`) or Fundus' crawlers themselves (`fundus/crawlers.py`).
"""

import abc
import contextlib
import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit, urlunsplit

from ml.archives import ArchivedPage, is_warc, read_archive
from ml.page import PageError, decode
from resources.fundus.catalogue import Catalogue, demo_catalogue, fundus_catalogue

if TYPE_CHECKING:
    from resources.fundus.crawlers import FetchedPage, RobotsPolicy

logger = logging.getLogger(__name__)

DEFAULT_DELAY_S = 1.0
CCNEWS_SERVER = "https://data.commoncrawl.org/"


class UrlTest(Protocol):
    """A question about a URL."""

    def __call__(self, url: str) -> bool: ...


@dataclass(frozen=True, kw_only=True)
class CrawlRequest:
    """What a crawl needs to know of the store, so that nothing known is fetched again."""

    keys: Sequence[str]
    max_pages: int  # still wanted of each publisher
    is_known: UrlTest
    finished: Collection[str] = field(default_factory=frozenset)  # archive files that are through
    on_finished: Callable[[str], None] = lambda _: (
        None
    )  # told of a file, and at last of the archive as a whole


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
            asked = self.robots(key).crawl_delay_s or 0.0
            with self.session():
                yield from crawl_web(
                    self.catalogue[key],
                    delay_s=max(self.delay_s, asked),
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
    """The CC-NEWS archive through Fundus' `CCNewsCrawler`, from `start` to `end`."""

    start: datetime
    end: datetime | None = None  # None is this morning
    server_address: str = CCNEWS_SERVER
    name: str = "ccnews"
    visits_publishers: bool = False

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
            archive=self.fingerprint(),
            is_known=request.is_known,
        )

    def fingerprint(self) -> str:
        return f"{self.server_address} {self.start.isoformat()} {self._end().isoformat()}"

    def _end(self) -> datetime:
        """Without an end, this morning: an archive scanned today need not be listed again for every publisher."""
        return self.end or datetime.now().replace(hour=0, minute=0, second=0, microsecond=0)


@dataclass(frozen=True, kw_only=True)
class ArchiveSource(Source):
    """WARC files or a folder of HTML on this machine; a page belongs to the publisher of its host."""

    path: Path
    name: str = "archive"
    visits_publishers: bool = False

    @property
    def catalogue(self) -> Catalogue:
        return fundus_catalogue()

    def identity(self, url: str) -> str:
        return url.partition("#")[0]

    def crawl(self, request: CrawlRequest) -> Iterator["FetchedPage"]:
        hosts = _hosts(self.catalogue, request.keys)
        unknown: Counter[str] = Counter()
        for file in self._files():
            if str(file) in request.finished:
                continue
            yield from self._pages(file, hosts, unknown, request.is_known)
            request.on_finished(str(file))
        request.on_finished(self.fingerprint())
        if unknown:
            logger.warning(
                "%d archived pages are of hosts that no publisher covers, most often %s",
                unknown.total(),
                ", ".join(f"{host} ({count})" for host, count in unknown.most_common(5)),
            )

    def fingerprint(self) -> str:
        files = (
            [path for path in self.path.rglob("*") if path.is_file()] if self.path.is_dir() else self._files()
        )
        facts = sorted(
            (str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files if path.exists()
        )
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def _files(self) -> list[Path]:
        """WARC files one by one, so that each can be finished; a folder of HTML as a whole."""
        if self.path.is_dir() and (warcs := sorted(path for path in self.path.rglob("*") if is_warc(path))):
            return warcs
        return [self.path]

    def _pages(
        self, file: Path, hosts: dict[str, str], unknown: Counter[str], is_known: UrlTest
    ) -> Iterator["FetchedPage"]:
        for page in read_archive(file):
            host = _host(page.url or "")
            if host not in hosts:
                unknown[host or "(no URL listed)"] += 1
            elif page.url and not is_known(page.url):
                yield _archived(page, page.url, self.catalogue[hosts[host]].name)


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


def _hosts(catalogue: Catalogue, keys: Sequence[str]) -> dict[str, str]:
    """Publisher keys by host name, former domains included."""
    return {
        _host(domain): key
        for key in keys
        for domain in (catalogue[key].domain, *catalogue[key].deprecated_domains)
    }


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").removeprefix("www.")
