"""Fundus' crawlers, driven so that stored pages are not fetched again and robots' delays are kept.

Belongs here: everything that calls `Crawler` and `CCNewsCrawler`. Does not belong here: which source a run
uses and where pages go (`resources/sources.py`, `resources/harvest.py`).
"""

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fundus import CCNewsCrawler, Crawler  # noqa: TID253 - this module is imported when a crawl starts
from fundus.publishers.base_objects import Publisher  # noqa: TID253
from fundus.scraping.article import Article as FundusArticle  # noqa: TID253
from fundus.scraping.filter import URLFilter  # noqa: TID253
from fundus.scraping.html import HTML, WarcSourceInfo, WebSourceInfo  # noqa: TID253
from fundus.scraping.session import session_handler  # noqa: TID253
from protego import Protego

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class FetchedPage:
    """A page as Fundus received it."""

    url: str
    final_url: str
    publisher_name: str
    date: datetime
    origin: str
    html: str


@dataclass(frozen=True, kw_only=True)
class RobotsPolicy:
    """What a publisher's robots.txt asks of a crawler."""

    disallows_all: bool
    disallows_training: bool
    crawl_delay_s: float | None


def robots_policy(publisher: Publisher) -> RobotsPolicy:
    """Read robots.txt with Fundus' session and header.

    Fundus reads it too, but its parser (robotspy) leaves out `Crawl-delay`, so that is read here.
    """
    text = _robots_text(publisher)
    agent = {key.lower(): value for key, value in publisher.request_header.items()}.get("user-agent", "*")
    delay = Protego.parse(text).crawl_delay(agent)
    # Some sites disallow everything, then allow a section again; Fundus tells those apart URL by URL.
    allows_some = any(line.strip().lower().startswith("allow:") for line in text.splitlines())
    closed = not allows_some and not publisher.robots.can_fetch(
        agent, publisher.domain.rstrip("/") + "/any-page"
    )
    return RobotsPolicy(
        disallows_all=closed or bool(publisher.robots.disallow_all()),
        disallows_training=publisher.disallows_training,
        crawl_delay_s=float(delay) if delay is not None else None,
    )


def _robots_text(publisher: Publisher) -> str:
    from curl_cffi.requests.exceptions import RequestException

    session = session_handler.get_session()
    try:
        response = session.get_with_interrupt(publisher.robots.url, headers=publisher.request_header)
    except RequestException:  # no robots.txt, nothing asked for; Fundus logs the failure itself
        return ""
    return str(response.text)


def crawl_web(
    publisher: Publisher, *, delay_s: float, max_pages: int, is_known: URLFilter
) -> Iterator[FetchedPage]:
    """Pages of one publisher from its feeds and sitemaps, as received, whether Fundus can extract them or not."""
    crawler = Crawler(publisher, delay=delay_s, threading=False)
    articles = crawler.crawl(
        max_articles=max_pages, only_complete=False, error_handling="catch", url_filter=is_known
    )
    for article in articles:
        yield _fetched(article)


class WarcCrawler(CCNewsCrawler):
    """Fundus' CC-NEWS crawler that leaves out finished WARC files and tells when one is through.

    Works in one process, so that a file counts as finished only after its last page was consumed.
    """

    def __init__(
        self,
        *publishers: Publisher,
        server_address: str,
        start: datetime,
        end: datetime,
        finished: Collection[str],
        on_finished: Callable[[str], None],
    ) -> None:
        super().__init__(
            *publishers, start=start, end=end, processes=0, disable_tqdm=True, server_address=server_address
        )
        self._finished = frozenset(finished)
        self._on_finished = on_finished
        self._failures = _Failures()
        self.given_up: list[str] = []

    def _get_warc_paths(self) -> list[str]:
        return [path for path in super()._get_warc_paths() if path not in self._finished]

    def _fetch_articles(self, warc_path: str, *args: Any, **kwargs: Any) -> Iterator[FundusArticle]:
        fundus_logger = logging.getLogger("fundus.scraping.crawler")
        fundus_logger.addHandler(self._failures)
        try:
            yield from super()._fetch_articles(warc_path, *args, **kwargs)
        finally:
            fundus_logger.removeHandler(self._failures)
        if self._failures.mention(warc_path):
            self.given_up.append(warc_path)
        else:
            self._on_finished(warc_path)


def crawl_ccnews(
    publishers: Sequence[Publisher],
    *,
    server_address: str,
    start: datetime,
    end: datetime,
    finished: Collection[str],
    on_finished: Callable[[str], None],
    archive: str,
    is_known: URLFilter,
) -> Iterator[FetchedPage]:
    """Pages of the publishers in CC-NEWS between two dates, newest WARC file first.

    `on_finished` is called with a WARC file's address once all of its pages have been consumed, and with
    `archive` at the end. Files that Fundus gave up on are logged and left for the next crawl: they are not
    finished, and neither is the archive.
    """
    crawler = WarcCrawler(
        *publishers,
        server_address=server_address,
        start=start,
        end=end,
        finished=finished,
        on_finished=on_finished,
    )
    for article in crawler.crawl(only_complete=False, error_handling="catch", url_filter=is_known):
        yield _fetched(article)
    if crawler.given_up:
        logger.warning(
            "gave up on %d WARC files, crawl again: %s", len(crawler.given_up), ", ".join(crawler.given_up)
        )
    else:
        on_finished(archive)


class _Failures(logging.Handler):
    """Remembers Fundus' error messages, the only trace that a WARC file was given up."""

    def __init__(self) -> None:
        super().__init__(level=logging.ERROR)
        self._messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._messages.append(record.getMessage())

    def mention(self, text: str) -> bool:
        return any(text in message for message in self._messages)


def _fetched(article: FundusArticle) -> FetchedPage:
    html: HTML = article.html
    return FetchedPage(
        url=html.requested_url,
        final_url=html.responded_url,
        publisher_name=html.source_info.publisher,
        date=html.crawl_date.astimezone(UTC),
        origin=_origin(html),
        html=html.content,
    )


def _origin(html: HTML) -> str:
    if isinstance(html.source_info, WebSourceInfo):
        return html.source_info.url
    if isinstance(html.source_info, WarcSourceInfo):
        return html.source_info.warc_path
    return html.source_info.publisher
