"""Crawls over real HTTP: what is asked for, how fast, and what is left alone."""
# ruff: noqa: TID253 (Fundus is what is tested with)

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from fundus.publishers.base_objects import Publisher, PublisherGroup
from fundus.scraping.session import session_handler
from fundus.scraping.url import RSSFeed

from ml.records import CrawlPolicy, RawPage
from resources.demo.newsroom import articles
from resources.demo.pages import Reply, moved_url, reply
from resources.demo.parsers.fenwick_echo import FenwickEchoParser
from resources.demo.server import NewsroomServer
from resources.demo.sites import CLOSED_PATH, site
from resources.fundus.catalogue import demo_catalogue
from resources.fundus.crawlers import RobotsPolicy, crawl_web, robots_policy
from resources.harvest import POLICIES, RAW_PAGES, harvest
from resources.sources import DemoSource
from resources.store import Store

SLOW, SLOW_DELAY_S = "PhareLibre", 0.1


class WatchedServer(NewsroomServer):
    """A newsroom that notes when it is asked for what, and can answer a URL in words of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.visits: list[tuple[float, str]] = []
        self.answers: dict[str, Reply] = {}

    def answer(self, target: str, host: str) -> Reply:
        self.visits.append((time.monotonic(), target))
        return self.answers.get(target) or super().answer(target, host)

    def times(self, urls: set[str]) -> list[float]:
        """When pages of these URLs were asked for, in order."""
        return [moment for moment, url in self.visits if url in urls]


@pytest.fixture
def server() -> Iterator[WatchedServer]:
    with WatchedServer() as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(uri=str(tmp_path))


def stored(store: Store, key: str) -> list[RawPage]:
    return list(store.appended_rows(RAW_PAGES, RawPage, publisher=key))


def own_pages(key: str) -> set[str]:
    return {story.url for story in articles(key)}


# --- robots.txt


def test_a_crawl_delay_is_kept_between_pages(server: WatchedServer, store: Store) -> None:
    pages = 6
    harvest(store, DemoSource(proxy_url=server.proxy_url), SLOW, max_pages=pages)
    times = server.times(own_pages(SLOW))
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert len(times) == pages
    # A busy machine can delay one request's arrival and not the next: a gap can look shorter, not the whole.
    assert sum(gaps) >= SLOW_DELAY_S * (pages - 1) * 0.9
    assert min(gaps) > SLOW_DELAY_S / 2
    (policy,) = store.rows(POLICIES, CrawlPolicy, publisher=SLOW)
    assert policy.crawl_delay_s == SLOW_DELAY_S


def test_the_longer_of_our_delay_and_the_publisher_s_is_kept(server: WatchedServer, store: Store) -> None:
    ours_s, pages = 0.3, 3
    harvest(store, DemoSource(proxy_url=server.proxy_url, delay_s=ours_s), SLOW, max_pages=pages)
    times = server.times(own_pages(SLOW))
    assert len(times) == pages
    assert times[-1] - times[0] >= ours_s * (pages - 1) * 0.9


def test_a_page_that_robots_close_is_never_asked_for_though_the_sitemap_lists_it(
    server: WatchedServer, store: Store
) -> None:
    careless = site("Talkurier")
    harvest(store, DemoSource(proxy_url=server.proxy_url), careless.key, max_pages=1_000)
    assert CLOSED_PATH.encode() in reply(f"{careless.root}/sitemap-2026.xml").body
    assert server.requests[f"{careless.root}/sitemap-2026.xml"] == 1
    assert own_pages(careless.key) <= set(server.requests)
    assert not [url for url in server.requests if urlsplit(url).path.startswith("/intern/")]


@pytest.mark.parametrize(
    ("key", "words"),
    [("QuietValleyReview", "robots.txt disallows crawling"), ("NadiSamachar", "disallows training")],
)
def test_a_publisher_that_objects_is_asked_for_its_robots_txt_and_nothing_else(
    server: WatchedServer, store: Store, key: str, words: str
) -> None:
    counts = harvest(store, DemoSource(proxy_url=server.proxy_url), key, max_pages=10)
    assert words in (counts[key].skipped or "")
    assert set(server.requests) == {f"{site(key).root}/robots.txt"}
    assert stored(store, key) == []


def test_who_asks_for_it_crawls_a_publisher_that_disallows_training_but_none_that_disallows_crawling(
    server: WatchedServer, store: Store
) -> None:
    source = DemoSource(proxy_url=server.proxy_url)
    for key, new in (("NadiSamachar", 3), ("QuietValleyReview", 0)):
        counts = harvest(store, source, key, max_pages=3, crawl_disallowing_training=True)
        assert counts[key].new == new


ECHO = "http://www.fenwickecho.example"


def fresh_publisher() -> Publisher:
    """A publisher that has not read its robots.txt: those of the catalogue keep it for the whole process."""
    publisher = Publisher(
        name="Fenwick Echo", domain=ECHO, parser=FenwickEchoParser, sources=[RSSFeed(f"{ECHO}/rss/all.xml")]
    )
    PublisherGroup("UK", (), {"default_language": "en", "FenwickEcho": publisher})
    return publisher


@contextmanager
def through(server: NewsroomServer) -> Iterator[None]:
    with session_handler.context(proxies={"http": server.proxy_url}):
        yield


def policy_under(server: WatchedServer, robots_txt: str, status: int = 200) -> RobotsPolicy:
    server.answers[f"{ECHO}/robots.txt"] = Reply(status=status, body=robots_txt.encode())
    with through(server):
        return robots_policy(fresh_publisher())


@pytest.mark.parametrize(
    ("robots_txt", "policy"),
    [
        ("", RobotsPolicy(disallows_all=False, disallows_training=False, crawl_delay_s=None)),
        (
            "User-agent: *\nDisallow: /\n",
            RobotsPolicy(disallows_all=True, disallows_training=False, crawl_delay_s=None),
        ),
        (
            "User-agent: *\nDisallow: /\nAllow: /news/\n",
            RobotsPolicy(disallows_all=False, disallows_training=False, crawl_delay_s=None),
        ),
        (
            "User-agent: Googlebot\nAllow: /\n\nUser-agent: *\nDisallow: /\n",
            RobotsPolicy(disallows_all=True, disallows_training=False, crawl_delay_s=None),
        ),
        (
            "User-agent: GPTBot\nDisallow: /\n\nUser-agent: *\nCrawl-delay: 2.5\nDisallow: /intern/\n",
            RobotsPolicy(disallows_all=False, disallows_training=False, crawl_delay_s=2.5),
        ),
        (
            "User-agent: Fundus\nCrawl-delay: 7\n\nUser-agent: *\nCrawl-delay: 2\n",
            RobotsPolicy(disallows_all=False, disallows_training=False, crawl_delay_s=7.0),
        ),
        (
            "# No use for machine learning.\nUser-agent: *\nDisallow:\n",
            RobotsPolicy(disallows_all=False, disallows_training=True, crawl_delay_s=None),
        ),
        (
            "User-agent: *\nCrawl-delay: soon\n",
            RobotsPolicy(disallows_all=False, disallows_training=False, crawl_delay_s=None),
        ),
    ],
)
def test_robots_txt_is_read_as_it_is_meant(
    server: WatchedServer, robots_txt: str, policy: RobotsPolicy
) -> None:
    assert policy_under(server, robots_txt) == policy


@pytest.mark.parametrize(
    ("status", "is_closed"), [(404, False), (410, False), (401, True), (403, True), (500, True), (503, True)]
)
def test_a_robots_txt_that_is_not_there_asks_for_nothing_and_one_that_is_kept_closes_the_site(
    server: WatchedServer, status: int, is_closed: bool
) -> None:
    policy = policy_under(server, "User-agent: *\nDisallow: /\nCrawl-delay: 9\n", status)
    assert policy == RobotsPolicy(disallows_all=is_closed, disallows_training=False, crawl_delay_s=None)


# --- pages


def test_pages_arrive_as_they_were_sent_with_where_they_were_found(server: WatchedServer) -> None:
    publisher = demo_catalogue()["Morgenblatt"]
    newest = articles("Morgenblatt")[0]
    with through(server):
        pages = list(crawl_web(publisher, delay_s=0.0, max_pages=1_000, is_known=lambda url: False))
    by_url = {page.url: page for page in pages}
    moved = by_url[moved_url(site("Morgenblatt"))]
    assert moved.final_url == newest.url
    assert moved.html == reply(newest.url).body.decode()
    assert moved.publisher_name == "Morgenblatt"
    assert moved.date.tzinfo is UTC
    assert abs(moved.date - datetime.now(UTC)) < timedelta(minutes=1)
    assert {page.origin for page in pages} == {
        "http://www.morgenblatt.example/rss.xml",
        "http://www.morgenblatt.example/sitemap.xml",
    }


def test_known_pages_are_neither_asked_for_nor_counted(server: WatchedServer) -> None:
    known = {story.url for story in articles("FenwickEcho")[:10]}
    with through(server):
        pages = list(
            crawl_web(demo_catalogue()["FenwickEcho"], delay_s=0.0, max_pages=3, is_known=known.__contains__)
        )
    assert len(pages) == 3
    assert not known & set(server.requests)


def test_pages_that_fundus_cannot_extract_are_stored_too(server: WatchedServer, store: Store) -> None:
    harvest(store, DemoSource(proxy_url=server.proxy_url), "GazetteDesMonts", max_pages=1_000)
    assert "" in [page.html for page in stored(store, "GazetteDesMonts")]
