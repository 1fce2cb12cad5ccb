"""Crawls into the store: nothing twice, nothing lost, limits and refusals kept."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ml.records import CrawlPolicy, RawPage
from resources.crawl import Crawl
from resources.fundus.catalogue import Catalogue, fundus_catalogue
from resources.fundus.crawlers import FetchedPage, RobotsPolicy
from resources.harvest import POLICIES, RAW_PAGES, harvest
from resources.sources import CrawlRequest, Source
from resources.store import Store

KEY = "DieZeit"


@dataclass(kw_only=True)
class Shelfful(Source):
    """A source with given pages that can break off, to force what a real one does rarely."""

    pages: list[tuple[str, str]]  # url, html
    breaks_after: int | None = None
    policy: RobotsPolicy | None = None
    asked: list[str] = field(default_factory=list)
    name: str = "web"
    visits_publishers: bool = True

    @property
    def catalogue(self) -> Catalogue:
        return fundus_catalogue()

    def robots(self, key: str) -> RobotsPolicy | None:
        return self.policy

    def crawl(self, request: CrawlRequest) -> Iterator[FetchedPage]:
        for number, (url, html) in enumerate(self.pages):
            if number == self.breaks_after:
                raise ConnectionError("the line is dead")
            if not request.is_known(url):
                self.asked.append(url)
                yield FetchedPage(
                    url=url,
                    final_url=url,
                    publisher_name=self.catalogue[KEY].name,
                    date=datetime(2026, 5, 1, tzinfo=UTC),
                    origin="feed",
                    html=html,
                )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(uri=str(tmp_path))


def stored(store: Store) -> list[str]:
    return sorted(row.url for row in store.appended_rows(RAW_PAGES, RawPage, publisher=KEY))


PAGES = [(f"https://www.zeit.de/{number}", f"<p>{number}</p>") for number in range(5)]


def test_every_page_is_stored_as_it_was_received(store: Store) -> None:
    html = "<p>Ünïcode \x00 and a lone half: \ud83d</p>"
    counts = harvest(store, Shelfful(pages=[("https://www.zeit.de/a?b=1#c", html)]), KEY, max_pages=10)
    (row,) = store.appended_rows(RAW_PAGES, RawPage, publisher=KEY)
    assert row.html == html.replace("\ud83d", "?")
    assert row.url == "https://www.zeit.de/a?b=1"
    assert (counts[KEY].new, counts[KEY].stored) == (1, 1)


def test_known_pages_are_not_asked_for_again(store: Store) -> None:
    harvest(store, Shelfful(pages=PAGES[:3]), KEY, max_pages=10)
    again = Shelfful(pages=PAGES)
    counts = harvest(store, again, KEY, max_pages=10)
    assert again.asked == [url for url, _ in PAGES[3:]]
    assert (counts[KEY].new, counts[KEY].stored) == (2, 5)


def test_the_same_content_under_another_url_is_noted_once_and_not_asked_for_again(store: Store) -> None:
    pages = [*PAGES[:1], ("https://www.zeit.de/copy", PAGES[0][1])]
    counts = harvest(store, Shelfful(pages=pages), KEY, max_pages=10)
    assert (counts[KEY].new, counts[KEY].duplicates) == (1, 1)
    again = Shelfful(pages=pages)
    harvest(store, again, KEY, max_pages=10)
    assert again.asked == []
    assert stored(store) == [PAGES[0][0]]


def test_a_crawl_that_breaks_off_keeps_what_it_had_and_goes_on(store: Store) -> None:
    with pytest.raises(ConnectionError):
        harvest(store, Shelfful(pages=PAGES, breaks_after=3), KEY, max_pages=10)
    assert len(stored(store)) == 3
    again = Shelfful(pages=PAGES)
    harvest(store, again, KEY, max_pages=10)
    assert again.asked == [url for url, _ in PAGES[3:]]


def test_the_limit_is_of_stored_pages(store: Store) -> None:
    counts = harvest(store, Shelfful(pages=PAGES), KEY, max_pages=2)
    assert (counts[KEY].stored, counts[KEY].dropped) == (2, 3)
    assert harvest(store, Shelfful(pages=PAGES), KEY, max_pages=2)[KEY].stored == 2
    assert harvest(store, Shelfful(pages=PAGES), KEY, max_pages=4)[KEY].stored == 4


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (
            RobotsPolicy(disallows_all=True, disallows_training=False, crawl_delay_s=None),
            "disallows crawling",
        ),
        (RobotsPolicy(disallows_all=False, disallows_training=True, crawl_delay_s=2.0), "disallows training"),
    ],
)
def test_a_publisher_that_objects_is_not_crawled_and_the_reason_is_said(
    store: Store, policy: RobotsPolicy, words: str
) -> None:
    source = Shelfful(pages=PAGES, policy=policy)
    counts = harvest(store, source, KEY, max_pages=10)
    assert words in (counts[KEY].skipped or "")
    assert source.asked == []
    (written,) = store.rows(POLICIES, CrawlPolicy, publisher=KEY)
    assert (written.disallows_all, written.crawl_delay_s) == (policy.disallows_all, policy.crawl_delay_s)


def test_who_asks_for_it_may_crawl_a_publisher_that_disallows_training_only(store: Store) -> None:
    training = RobotsPolicy(disallows_all=False, disallows_training=True, crawl_delay_s=None)
    source = Shelfful(pages=PAGES, policy=training)
    assert harvest(store, source, KEY, max_pages=10, crawl_disallowing_training=True)[KEY].new == 5


def test_ccnews_brings_the_real_pages_of_all_publishers_in_one_pass(ccnews_server, store: Store) -> None:
    crawl = Crawl(
        source="ccnews", ccnews_server=ccnews_server.url, ccnews_start="2020-01-01", ccnews_end="2026-11-01"
    )
    counts = crawl.harvest(store, KEY)
    assert sum(count.new for count in counts.values()) == 218
    assert sum(bool(count.new) for count in counts.values()) == 111
    before = ccnews_server.requests.total()
    assert crawl.harvest(store, "DieWelt")["DieWelt"].stored == counts["DieWelt"].new
    assert ccnews_server.requests.total() == before, "an archive that was scanned is not asked again"


def test_an_archive_is_read_again_only_as_far_as_a_higher_limit_needs(ccnews_server, store: Store) -> None:
    settings = {
        "source": "ccnews",
        "ccnews_server": ccnews_server.url,
        "ccnews_start": "2023-03-01",
        "ccnews_end": "2023-04-01",
    }
    first = Crawl(**settings, max_pages=1).harvest(store, KEY)
    assert max(count.stored for count in first.values()) == 1
    second = Crawl(**settings, max_pages=1_000).harvest(store, KEY)
    assert sum(count.stored for count in second.values()) > sum(count.stored for count in first.values())


def test_the_shared_warc_files_can_be_read_from_disk(shared: Path, store: Store) -> None:
    crawl = Crawl(
        source="archive", archive_path=str(shared / "ccnews" / "crawl-data" / "CC-NEWS" / "2023" / "03")
    )
    counts = crawl.harvest(store, KEY)
    assert sum(count.new for count in counts.values()) > 10
    assert store.partitions(RAW_PAGES, "publisher")


def test_a_folder_of_html_needs_a_list_of_its_urls(tmp_path: Path, store: Store) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "a.html").write_text("<p>Ein Satz.</p>")
    (folder / "b.html").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    (folder / "stray.html").write_text("<p>Nobody knows where from.</p>")
    (folder / "urls.csv").write_text(
        "file,url,date\na.html,https://www.zeit.de/a?id=1,2024-05-06\nb.html,https://zeit.de/a?id=2,\n"
    )
    counts = Crawl(source="archive", archive_path=str(folder)).harvest(store, "DieWelt")
    assert counts[KEY].new == 2, (
        "a query can tell archived pages apart; a binary one is rejected later, by name"
    )
    assert stored(store) == ["https://www.zeit.de/a?id=1", "https://zeit.de/a?id=2"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"source": "archive"}, "--archive"),
        ({"source": "ccnews"}, "--start"),
        ({"source": "ccnews", "ccnews_start": "soon"}, "'soon' is no date"),
    ],
)
def test_a_missing_or_wrong_setting_is_named(settings: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Crawl(**settings).opened()


def test_an_unknown_publisher_is_answered_with_similar_ones(store: Store) -> None:
    with pytest.raises(ValueError, match=r"unknown publisher 'DieZeitung'.*DieZeit"):
        harvest(store, Shelfful(pages=[]), "DieZeitung", max_pages=1)
