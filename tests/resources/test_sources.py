"""Sources before anything is stored: which WARC files a span of days means, and which spans are refused."""

from datetime import UTC, datetime, timedelta

import pytest

from resources import sources
from resources.crawl import Crawl
from resources.sources import CrawlNotes, CrawlRequest, Source


def ccnews(start: str, end: str | None = None, server: str = "http://127.0.0.1:9/") -> Source:
    return Crawl(source="ccnews", ccnews_server=server, ccnews_start=start, ccnews_end=end).opened()


def read_warcs(source: Source) -> list[str]:
    """When the WARC files were written that a crawl goes through, in its order; no page is looked at."""
    files: list[str] = []
    notes = CrawlNotes()
    request = CrawlRequest(
        keys=["DieZeit"], max_pages=1, is_known=lambda url: True, on_finished=files.append, notes=notes
    )
    assert list(source.crawl(request)) == []
    assert notes.faults == []
    return [file.partition("CC-NEWS-")[2][:8] for file in files if "CC-NEWS-" in file]


@pytest.mark.parametrize(
    ("start", "end", "written"),
    [
        ("2023-03-31", "2023-04-30", ["20230401"]),  # April has no 31st
        ("2023-03-14", "2023-05-15", ["20230515", "20230401", "20230314"]),
        ("2023-03-15", "2023-05-10", ["20230401"]),  # the end comes before the start's day
        ("2023-03-15", "2023-05-15", ["20230515", "20230401"]),
        ("2023-01-31", "2023-03-14", ["20230314"]),
        ("2023-05-15", "2023-05-15", ["20230515"]),  # a day is included to its end, as the CLI passes it too
        ("2023-05-15T00:00:00", "2023-05-15T00:00:00", ["20230515"]),
        ("2023-05-01", "2023-05-15T13:55:03", []),
        ("2023-05-01", "2023-05-15T13:55:04", ["20230515"]),
        ("2023-05-01", "2023-05-15T15:55:04+02:00", ["20230515"]),
        ("2023-12-31", "2024-01-31", ["20240129"]),  # into another year
    ],
)
def test_a_span_of_days_means_the_warc_files_that_were_written_in_it(ccnews_server, start, end, written):
    assert read_warcs(ccnews(start, end, ccnews_server.url)) == written


@pytest.mark.parametrize("end", ["2999-01-01", "2023-04-10", None])
def test_an_end_in_the_future_is_now(ccnews_server, monkeypatch, end):
    monkeypatch.setattr(sources, "_now", lambda: datetime(2023, 4, 10, 12))
    assert read_warcs(ccnews("2023-03-14", end, ccnews_server.url)) == ["20230401", "20230314"]


def test_a_span_that_still_grows_is_known_by_another_name_once_it_is_over():
    tomorrow = f"{datetime.now(UTC) + timedelta(days=1):%Y-%m-%d}"
    assert "as of" in ccnews("2020-01-01", tomorrow).fingerprint()
    assert "as of" in ccnews("2020-01-01").fingerprint()
    assert "as of" not in ccnews("2020-01-01", "2020-01-31").fingerprint()


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        ("2016-07-31", "2017-01-01", "CC-NEWS begins on 2016-08-01"),
        ("2023-05-02", "2023-05-01", "2023-05-02 00:00:00 is not before the end 2023-05-01 23:59:59"),
        ("2999-01-01", None, "is not before the end"),
        ("2999-01-01", "2999-02-01", "is not before the end"),
        ("2023-05-01T12:00:00", "2023-05-01T12:00:00", "is not before the end"),
    ],
)
def test_a_span_that_can_hold_no_file_is_refused(start, end, words):
    with pytest.raises(ValueError, match=words):
        ccnews(start, end)


def test_a_server_without_the_wanted_month_is_named(ccnews_server):
    wrong = f"{ccnews_server.url}nowhere/"
    with pytest.raises(
        ConnectionError, match=r"nowhere/crawl-data/CC-NEWS/2023/03/warc.paths.gz answered 404"
    ):
        read_warcs(ccnews("2023-03-01", "2023-03-31", wrong))


def test_the_present_month_need_not_be_listed_yet(ccnews_server):
    now = datetime.now(UTC)
    source = ccnews(f"{now:%Y-%m}-01", None, f"{ccnews_server.url}nowhere/")
    assert read_warcs(source) == []
