"""Crawls into the store: nothing twice, nothing lost, limits and refusals kept."""

import gzip
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ml.extraction import page_id_of
from ml.records import CrawlPolicy, RawPage
from resources.crawl import Crawl
from resources.fundus.catalogue import Catalogue, fundus_catalogue
from resources.fundus.crawlers import FetchedPage, RobotsPolicy
from resources.harvest import POLICIES, RAW_PAGES, CrawlCount, harvest
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
    requests: list[CrawlRequest] = field(default_factory=list)
    pause_s: float = 0.0
    name: str = "web"
    visits_publishers: bool = True

    @property
    def catalogue(self) -> Catalogue:
        return fundus_catalogue()

    def robots(self, key: str) -> RobotsPolicy | None:
        return self.policy

    def crawl(self, request: CrawlRequest) -> Iterator[FetchedPage]:
        self.requests.append(request)
        for number, (url, html) in enumerate(self.pages):
            time.sleep(self.pause_s)
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


def test_a_page_that_comes_again_under_a_known_url_counts_as_a_duplicate(store: Store) -> None:
    class Forgetful(Shelfful):
        def crawl(self, request: CrawlRequest) -> Iterator[FetchedPage]:
            return super().crawl(replace(request, is_known=lambda url: False))

    counts = harvest(store, Forgetful(pages=[*PAGES, *PAGES]), KEY, max_pages=10)
    assert (counts[KEY].new, counts[KEY].duplicates) == (5, 5)


def test_half_a_surrogate_pair_in_a_url_is_stored_safely(store: Store) -> None:
    harvest(store, Shelfful(pages=[("https://www.zeit.de/\ud83d", "<p>1</p>")]), KEY, max_pages=10)
    (row,) = store.appended_rows(RAW_PAGES, RawPage, publisher=KEY)
    assert (row.url, row.page_id) == ("https://www.zeit.de/?", page_id_of("https://www.zeit.de/?"))


def test_the_delay_that_robots_txt_asks_for_reaches_the_source(store: Store) -> None:
    policy = RobotsPolicy(disallows_all=False, disallows_training=False, crawl_delay_s=2.5)
    source = Shelfful(pages=PAGES, policy=policy)
    harvest(store, source, KEY, max_pages=10)
    assert [request.delay_s for request in source.requests] == [2.5]


@pytest.mark.parametrize("visits_publishers", [True, False])
def test_two_crawls_at_a_time_store_no_page_twice(store: Store, visits_publishers: bool) -> None:
    sources = [  # in two orders: the same rows in the same order would be the same file
        Shelfful(pages=pages, pause_s=0.02, visits_publishers=visits_publishers)
        for pages in (PAGES, PAGES[::-1])
    ]
    crawls = [
        threading.Thread(target=harvest, args=(store, source, KEY), kwargs={"max_pages": 10})
        for source in sources
    ]
    for crawl in crawls:
        crawl.start()
    for crawl in crawls:
        crawl.join()
    assert stored(store) == sorted(url for url, _ in PAGES)


def test_an_archive_leaves_what_robots_txt_asked_for_in_the_store(store: Store) -> None:
    policy = RobotsPolicy(disallows_all=True, disallows_training=True, crawl_delay_s=2.0)
    harvest(store, Shelfful(pages=[], policy=policy), KEY, max_pages=10)
    archive = Shelfful(pages=PAGES, visits_publishers=False, name="archive")
    assert "disallows training" in (harvest(store, archive, KEY, max_pages=10)[KEY].skipped or "")
    counts = harvest(store, archive, KEY, max_pages=10, crawl_disallowing_training=True)
    assert counts[KEY].new == 5, "an archive is read without asking the website"
    (kept,) = store.rows(POLICIES, CrawlPolicy, publisher=KEY)
    assert (kept.disallows_all, kept.disallows_training, kept.crawl_delay_s) == (True, True, 2.0)


def write_warc(path: Path, *urls: str) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    records = []
    for url in urls:
        body = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>{url}</p>".encode()
        head = (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-05-06T07:08:09Z\r\n"
            f"WARC-Record-ID: <urn:uuid:{uuid.uuid4()}>\r\nContent-Type: application/http; msgtype=response\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        records.append(gzip.compress(head.encode() + body + b"\r\n\r\n"))
    path.write_bytes(b"".join(records))
    return path.read_bytes()


def harvest_archive(store: Store, path: Path) -> CrawlCount:
    return Crawl(source="archive", archive_path=str(path)).harvest(store, KEY)[KEY]


def test_a_folder_that_gains_a_page_is_read_again(tmp_path: Path, store: Store) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for number in (1, 2):
        (folder / f"{number}.html").write_text(f"<p>{number}</p>")
        rows = "".join(f"{n}.html,https://www.zeit.de/{n}\n" for n in range(1, number + 1))
        (folder / "urls.csv").write_text(f"file,url\n{rows}")
        assert harvest_archive(store, folder).new == 1
    assert len(stored(store)) == 2


@pytest.mark.parametrize("place", ["archive/one.warc.gz", "archive"])
def test_a_warc_file_replaced_in_its_place_is_read_again(tmp_path: Path, store: Store, place: str) -> None:
    warc = tmp_path / "archive" / "one.warc.gz"
    write_warc(warc, "https://www.zeit.de/a")
    assert harvest_archive(store, tmp_path / place).new == 1
    write_warc(warc, "https://www.zeit.de/a", "https://www.zeit.de/b")
    assert harvest_archive(store, tmp_path / place).new == 1


def test_a_folder_of_warc_files_and_html_gives_both(tmp_path: Path, store: Store) -> None:
    folder = tmp_path / "archive"
    write_warc(folder / "one.warc.gz", "https://www.zeit.de/a")
    (folder / "b.html").write_text("<p>b</p>")
    (folder / "urls.csv").write_text("file,url\nb.html,https://www.zeit.de/b\n")
    assert harvest_archive(store, folder).new == 2


def test_a_broken_warc_file_stops_nothing_and_is_read_again(tmp_path: Path, store: Store) -> None:
    folder = tmp_path / "archive"
    whole = write_warc(folder / "1.warc.gz", "https://www.zeit.de/a", "https://www.zeit.de/b")
    (folder / "1.warc.gz").write_bytes(whole[: len(whole) * 2 // 3])
    write_warc(folder / "2.warc.gz", "https://www.zeit.de/c")
    first = harvest_archive(store, folder)
    (fault,) = first.faults
    assert first.new >= 1
    assert "1.warc.gz" in fault
    assert "https://www.zeit.de/c" in stored(store)
    assert harvest_archive(store, folder).faults == [fault], "it is not taken for finished"
    (folder / "1.warc.gz").write_bytes(whole)
    assert harvest_archive(store, folder).faults == []
    assert stored(store) == [f"https://www.zeit.de/{name}" for name in "abc"]


def test_an_archive_of_which_nothing_can_be_read_is_an_error(tmp_path: Path, store: Store) -> None:
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "1.warc.gz").write_bytes(b"no WARC at all")
    with pytest.raises(ValueError, match=r"1\.warc\.gz holds no readable WARC response"):
        harvest_archive(store, tmp_path / "archive")


def test_pages_of_hosts_that_no_publisher_covers_are_counted(tmp_path: Path, store: Store) -> None:
    write_warc(
        tmp_path / "1.warc.gz", "https://www.zeit.de/a", "https://nobody.example/", "https://nobody.example/2"
    )
    count = harvest_archive(store, tmp_path / "1.warc.gz")
    assert (count.new, count.unknown_hosts) == (1, {"nobody.example": 2})


def test_an_archive_of_strangers_is_refused_each_time(tmp_path: Path, store: Store) -> None:
    write_warc(tmp_path / "1.warc.gz", "https://nobody.example/", "https://stranger.example/")
    for _ in range(2):
        with pytest.raises(ValueError, match=r"nobody\.example \(1\), stranger\.example \(1\)"):
            harvest_archive(store, tmp_path / "1.warc.gz")


def test_pages_of_a_publisher_that_has_enough_are_of_no_unknown_host(tmp_path: Path, store: Store) -> None:
    write_warc(tmp_path / "1.warc.gz", "https://www.zeit.de/a")
    harvest_archive(store, tmp_path / "1.warc.gz")
    write_warc(tmp_path / "2.warc.gz", "https://www.zeit.de/b")
    crawl = Crawl(source="archive", archive_path=str(tmp_path / "2.warc.gz"), max_pages=1)
    assert crawl.harvest(store, KEY)[KEY].unknown_hosts == {}
