"""Fundus' crawlers, driven so that stored pages are not fetched again and robots' delays are kept.

Belongs here: everything that calls `Crawler` and `CCNewsCrawler`. Does not belong here: which source a run
uses and where pages go (`resources/sources.py`, `resources/harvest.py`).
"""

import gzip
import logging
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any

from curl_cffi import requests
from fundus import CCNewsCrawler, Crawler  # noqa: TID253 - this module is imported when a crawl starts
from fundus.publishers.base_objects import Publisher  # noqa: TID253
from fundus.scraping.article import Article as FundusArticle  # noqa: TID253
from fundus.scraping.filter import URLFilter  # noqa: TID253
from fundus.scraping.html import HTML, WarcSourceInfo, WebSourceInfo  # noqa: TID253
from fundus.scraping.session import session_handler  # noqa: TID253
from protego import Protego

_LIST_TIMEOUT_S = 60.0
_ABSENT = (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)  # what a bucket answers for a file that is not there
_WARC_TIME = re.compile(r"CC-NEWS-(\d{14})-")


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

    Fundus reads it too, but its parser (robotspy) leaves out `Crawl-delay`, so that is read here. A publisher
    is closed where neither a page, a feed nor a sitemap may be fetched and no section is opened again, or
    where the server fails to answer (RFC 9309, section 2.3.1.4).
    """
    text = _robots_text(publisher)
    rules = Protego.parse(text or "")
    agent = {key.lower(): value for key, value in publisher.request_header.items()}.get("user-agent", "*")
    delay = rules.crawl_delay(agent)
    sources = [source.url for group in publisher.source_mapping.values() for source in group]
    urls = [publisher.domain.rstrip("/") + "/any-page", *sources]
    allowed = _allows_some(text or "", agent) or any(rules.can_fetch(url, agent) for url in urls)
    return RobotsPolicy(
        disallows_all=text is None or not allowed or bool(publisher.robots.disallow_all()),
        disallows_training=publisher.disallows_training,
        crawl_delay_s=float(delay) if delay is not None else None,
    )


def _allows_some(text: str, agent: str) -> bool:
    """Whether a group of robots.txt for this agent, or for all, opens a part of what it closes."""
    agents: list[str] = []
    rules_began = False
    for line in text.splitlines():
        key, _, value = (part.strip().lower() for part in line.partition("#")[0].partition(":"))
        if key == "user-agent":
            agents = [value] if rules_began else [*agents, value]
            rules_began = False
        elif key:
            rules_began = True
            if key == "allow" and value and any(name == "*" or name in agent.lower() for name in agents):
                return True
    return False


def _robots_text(publisher: Publisher) -> str | None:
    """The text of robots.txt; empty where there is none, None where the server fails."""
    from curl_cffi.requests.exceptions import HTTPError, RequestException

    session = session_handler.get_session()
    try:
        response = session.get_with_interrupt(publisher.robots.url, headers=publisher.request_header)
    except HTTPError as error:
        return None if error.response.status_code >= 500 else ""
    except RequestException:  # no connection: the crawl itself will meet, and Fundus log, the same
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
        """Addresses of the unfinished WARC files that were written from start to end, newest first.

        Fundus' own list steps in months from the start's day, so it leaves out months that do not have such a
        day or end before it.
        """
        paths = (path for month in _months(self.start, self.end) for path in self._listed(month))
        earliest, latest = (f"{limit:%Y%m%d%H%M%S}" for limit in (self.start, self.end))
        within = {f"{self.server_address}{path}" for path in paths if earliest <= _written(path) <= latest}
        return sorted(within - self._finished, reverse=True)

    def _listed(self, month: str) -> list[str]:
        """The WARC files of a month; none where the present month is not listed yet."""
        address = f"{self.server_address}crawl-data/CC-NEWS/{month}/warc.paths.gz"
        response = requests.get(address, timeout=_LIST_TIMEOUT_S)
        if response.status_code in _ABSENT and month == f"{datetime.now(UTC):%Y/%m}":
            return []
        if response.status_code != HTTPStatus.OK:
            raise ConnectionError(
                f"{address} answered {response.status_code}, expected the list of the month's WARC files; "
                f"see whether the server has that month, or try again later"
            )
        return gzip.decompress(response.content).decode().split()

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
    on_fault: Callable[[str], None],
    archive: str,
    is_known: URLFilter,
) -> Iterator[FetchedPage]:
    """Pages of the publishers in CC-NEWS between two dates, newest WARC file first.

    `on_finished` is called with a WARC file's address once all of its pages have been consumed, and with
    `archive` at the end. Files that Fundus gave up on are told to `on_fault` and left for the next crawl: they
    are not finished, and neither is the archive.
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
    for path in crawler.given_up:
        on_fault(f"{path} could not be read to its end, whatever Fundus tried; crawl again to read the rest")
    if not crawler.given_up:
        on_finished(archive)


def _months(start: datetime, end: datetime) -> Iterator[str]:
    """Every month that the span touches, as CC-NEWS names its folders."""
    month = start.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    while month <= end:
        yield f"{month:%Y/%m}"
        month = (month + timedelta(days=31)).replace(day=1)


def _written(warc_path: str) -> str:
    """When a WARC file was written, from its name: 14 digits, UTC, that sort as times do."""
    if found := _WARC_TIME.search(warc_path):
        return found[1]
    raise ValueError(f"{warc_path} is not named as a CC-NEWS file; expected CC-NEWS-YYYYMMDDhhmmss-…")


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
