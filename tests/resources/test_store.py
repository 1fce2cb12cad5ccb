"""The store: what is written is read, nothing is seen by halves, equal content is one version."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from ml.records import Assignment, RawPage
from resources.store import Store, content_version


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(uri=str(tmp_path / "store"))


def page(number: int, **changes: str) -> RawPage:
    facts = {
        "page_id": f"{number:016x}",
        "url": f"https://example.org/{number}",
        "final_url": f"https://example.org/{number}",
        "publisher": "Example",
        "source": "web",
        "origin": "https://example.org/feed",
        "fundus_version": "0.5.7",
        "html": f"<p>Page {number}</p>",
        "html_sha256": f"{number:064x}",
    }
    return RawPage(**(facts | changes), crawl_date=datetime(2026, 1, number + 1, tzinfo=UTC))


def line(publisher: str) -> Assignment:
    return Assignment(publisher=publisher, family=publisher, split="train")


def test_appended_rows_come_back_whatever_the_number_of_files(store: Store) -> None:
    pages = [page(number) for number in range(5)]
    for one in pages:
        store.append("raw_pages", [one], publisher="Example")
    assert (
        sorted(store.appended_rows("raw_pages", RawPage, publisher="Example"), key=lambda p: p.url) == pages
    )


def test_the_same_append_again_doubles_nothing(store: Store) -> None:
    first = store.append("raw_pages", [page(1)], publisher="Example")
    assert store.append("raw_pages", [page(1)], publisher="Example") == first
    assert store.appended("raw_pages", RawPage, columns=["url"], publisher="Example").num_rows == 1


def test_appending_nothing_writes_nothing(store: Store) -> None:
    assert store.append("raw_pages", [], publisher="Example") is None
    assert store.partitions("raw_pages", "publisher") == []


def test_replacing_shows_the_new_rows_and_forgets_older_files_when_nobody_can_hold_them(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        store.replace("ledger", Assignment, [line(name)])
    assert list(store.rows("ledger", Assignment)) == [line("c")]
    files = Path(store.uri, "ledger")
    assert len(list(files.glob("*.parquet"))) == 3
    monkeypatch.setattr("resources.store.GARBAGE_AGE_S", -1.0)
    store.replace("ledger", Assignment, [line("c")])
    assert len(list(files.glob("*.parquet"))) == 1


def test_two_writers_at_once_leave_a_dataset_that_can_be_read(store: Store) -> None:
    """The second finishes while the first is between its files and its manifest."""

    def rows() -> Iterator[Assignment]:
        yield line("a")
        store.replace("ledger", Assignment, [line("b")])

    store.replace("ledger", Assignment, rows())
    assert list(store.rows("ledger", Assignment)) == [line("a")]


def test_a_lock_is_held_against_another_process_and_let_go(store: Store) -> None:
    script = f"from resources.store import Store\nwith Store(uri={store.uri!r}).lock('ledger'): print('held')"
    with store.lock("ledger"):
        other = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(timeout=3)
    assert other.communicate(timeout=30)[0] == "held\n"


def test_a_column_that_came_later_is_null_in_older_files(store: Store) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Wider(Assignment):
        note: str | None

    @dataclass(frozen=True, kw_only=True)
    class Stricter(Assignment):
        note: str

    store.replace("ledger", Assignment, [line("a")])
    (row,) = store.rows("ledger", Wider)
    assert (row.publisher, row.note) == ("a", None)
    with pytest.raises(RuntimeError, match="has no note"):
        list(store.rows("ledger", Stricter))


def test_the_version_does_not_depend_on_how_rows_are_chunked() -> None:
    whole = RawPage.table([page(number) for number in range(4)])
    parts = [RawPage.table([page(number)]) for number in range(4)]
    assert content_version([whole]) == content_version(parts) == content_version([pa.concat_tables(parts)])


def test_a_reader_between_the_write_and_the_switch_sees_the_old_rows(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.replace("ledger", Assignment, [line("old")])
    monkeypatch.setattr("resources.store.MANIFEST", "manifest.json.unreachable/x")
    Path(store.uri, "ledger", "manifest.json.unreachable").touch()
    with pytest.raises(OSError, match="manifest"):
        store.replace("ledger", Assignment, [line("new")])
    monkeypatch.undo()
    assert list(store.rows("ledger", Assignment)) == [line("old")]


def test_an_empty_dataset_is_a_dataset(store: Store) -> None:
    store.replace("ledger", Assignment, [])
    assert store.version("ledger") is not None
    assert list(store.rows("ledger", Assignment)) == []


def test_a_dataset_that_was_never_written_names_what_to_do(store: Store) -> None:
    assert store.version("corpus") is None
    with pytest.raises(RuntimeError, match=r"'corpus'.*newslm run"):
        store.table("corpus", Assignment)


def test_large_datasets_are_several_files_in_order(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resources.store.ROWS_PER_FILE", 2)
    rows = [line(name) for name in "edcba"]
    store.replace("ledger", Assignment, iter(rows))
    assert list(store.rows("ledger", Assignment)) == rows


def test_the_version_is_of_the_content_not_of_its_provenance() -> None:
    same = content_version([RawPage.table([page(1)])], ignore=RawPage.PROVENANCE)
    newer = content_version([RawPage.table([page(1, fundus_version="0.6")])], ignore=RawPage.PROVENANCE)
    other = content_version([RawPage.table([page(1, html="<p>Repaired</p>")])], ignore=RawPage.PROVENANCE)
    assert same == newer
    assert same != other


def test_partitions_are_listed_by_value(store: Store) -> None:
    for name in ("Zeit", "Anzeiger"):
        store.replace("articles", Assignment, [line(name)], publisher=name)
    assert store.partitions("articles", "publisher") == ["Anzeiger", "Zeit"]
