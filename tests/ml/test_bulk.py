"""Extraction in processes: every page has a row, in order, whatever a page does to its process."""

import os
import signal
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ml import bulk
from ml.archives import ArchivedPage
from ml.bulk import PAGES_PER_TASK, Work, extract_pages
from ml.extractor import DEFAULT_MODEL, extract
from resources.demo.newsroom import articles
from resources.demo.pages import reply

WORK = Work(model=DEFAULT_MODEL)
PAGES = 3 * PAGES_PER_TASK + 5


def page(number: int, data: bytes) -> ArchivedPage:
    return ArchivedPage(
        url=None, date=datetime(2025, 1, 1, tzinfo=UTC), data=data, charset=None, origin=f"{number}.html"
    )


@pytest.fixture(scope="module")
def pages() -> list[ArchivedPage]:
    stories = [story for key in ("Morgenblatt", "ShiomiShimpo", "GlosDoliny") for story in articles(key)[:18]]
    return [page(number, reply(story.url).body) for number, story in enumerate(stories[:PAGES])]


def test_processes_give_the_rows_that_one_gives(pages: list[ArchivedPage]) -> None:
    rows = list(extract_pages(pages, WORK, jobs=2))
    assert [row.file for row in rows] == [page.origin for page in pages]
    assert rows == list(extract_pages(iter(pages), WORK, jobs=1))
    found = extract(pages[0].data).article
    assert rows[0].article == (found.to_json() if found else None)


def test_pages_are_read_as_they_are_needed(pages: list[ArchivedPage]) -> None:
    taken = 0

    def endless() -> Iterator[ArchivedPage]:
        nonlocal taken
        while True:
            taken += 1
            yield page(taken, pages[0].data)

    rows = extract_pages(endless(), WORK, jobs=2)
    for _ in range(PAGES):
        next(rows)
    rows.close()  # type: ignore[attr-defined]
    assert taken <= PAGES + 5 * PAGES_PER_TASK


def _deadly(extractor: object, page: ArchivedPage, **_: object) -> bulk.ExtractionRow:
    if page.data == b"deadly":
        os.kill(os.getpid(), signal.SIGKILL)
    if page.data == b"endless":
        while True:
            time.sleep(0.01)
    return bulk.failed_row(page, "read", model="m")


def _deadly_tasks(task: list[ArchivedPage], work: Work) -> list[bulk.ExtractionRow]:
    """`_extracted` of a process in which some pages do harm."""
    bulk.extraction_row = _deadly  # type: ignore[assignment]
    return _EXTRACTED(task, work)


_EXTRACTED = bulk._extracted


def test_a_page_that_kills_its_process_is_an_error_and_the_rest_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deadly = {PAGES_PER_TASK + 3, 2 * PAGES_PER_TASK}
    given = [page(number, b"deadly" if number in deadly else b"fine") for number in range(PAGES)]
    monkeypatch.setattr(bulk, "_extracted", _deadly_tasks)
    monkeypatch.setattr(bulk, "extraction_row", _deadly)
    rows = list(extract_pages(given, WORK, jobs=2))
    assert [row.file for row in rows] == [each.origin for each in given]
    killed = {number for number, row in enumerate(rows) if row.error and "killed" in row.error}
    assert killed == deadly


def test_a_page_that_takes_too_long_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "extraction_row", _deadly)
    work = Work(model=DEFAULT_MODEL, timeout_s=0.05)
    given = [page(0, b"fine"), page(1, b"endless"), page(2, b"fine")]
    rows = list(extract_pages(given, work, jobs=1))
    assert [row.error for row in rows] == ["read", "took longer than 0.05 s", "read"]


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="absent"):
        list(extract_pages([page(0, b"<p>x")], Work(model=tmp_path / "absent.json"), jobs=1))
