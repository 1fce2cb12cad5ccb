"""Training sets: every page of a split becomes one example of the task, and nothing else does."""

from datetime import UTC, datetime

import pytest

from ml.records import CorpusRow, Example
from ml.splits import PageSplit
from ml.training_sets import build_examples


def row(page_id: str, reason: str | None = None) -> CorpusRow:
    return CorpusRow(
        page_id=page_id,
        url=f"https://a.example/{page_id}",
        publisher="Courier",
        family="Courier",
        crawl_date=datetime(2024, 3, 1, tzinfo=UTC),
        fundus_version="1",
        rules_version="1",
        html_sha256="0",
        reason=reason,
        detail=None,
        title="Title",
        language="en",
        plaintext=f"text {page_id}",
        json=f'{{"page":{page_id}}}',
        compact=f"<p>page {page_id}",
        roles=(),
        input_tokens=1,
        text_tokens=1,
        json_tokens=1,
        target_coverage=1.0,
        duplicate_of=None,
    )


def split(page_id: str, name: str | None) -> PageSplit:
    reason = None if name else "over_test_cap"
    return PageSplit(
        page_id=page_id, publisher="Courier", family="Courier", cluster=page_id, split=name, reason=reason
    )


ROWS = [row("2"), row("1"), row("3"), row("4", reason="no_title")]
SPLITS = [split("1", "train"), split("2", "test"), split("3", None)]


@pytest.mark.parametrize(("task", "target"), [("plaintext", "text 2"), ("json", '{"page":2}')])
def test_each_page_of_a_split_becomes_an_example(task: str, target: str) -> None:
    examples = list(build_examples(iter(ROWS), SPLITS, task))
    assert [(example.page_id, example.split) for example in examples] == [("2", "test"), ("1", "train")]
    assert examples[0] == Example(
        page_id="2",
        url="https://a.example/2",
        publisher="Courier",
        language="en",
        split="test",
        input="<p>page 2",
        target=target,
    )


def test_an_unknown_task_is_refused_before_a_row_is_read() -> None:
    with pytest.raises(ValueError, match="expected one of plaintext, json"):
        build_examples(ROWS, SPLITS, "summary")


@pytest.mark.parametrize(
    ("rows", "splits", "message"),
    [
        (ROWS, SPLITS[1:], r"1 kept pages have no split \['1'\]"),
        (ROWS[1:], SPLITS, r"1 split pages are not in the corpus \['2'\]"),
    ],
    ids=["row without split", "split without row"],
)
def test_rows_and_splits_of_different_versions_are_refused(
    rows: list[CorpusRow], splits: list[PageSplit], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        list(build_examples(rows, splits, "json"))
