"""Training, validation and test examples of a task: the compact page in, the target text out.

Belongs here: which target a task has and which pages become examples. Does not belong here: prompts,
tokens and batches (the training code), or which split a page is in (`ml/splits.py`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Protocol

from ml.records import CorpusRow, Example
from ml.splits import PageSplit


class Task(StrEnum):
    """What the model is asked to write."""

    PLAINTEXT = "plaintext"
    JSON = "json"


class HasTargets(Protocol):
    """What is right for a page, in the form of either task."""

    @property
    def plaintext(self) -> str: ...
    @property
    def json(self) -> str: ...


TARGETS: Mapping[Task, Callable[[HasTargets], str]] = {
    Task.PLAINTEXT: lambda row: row.plaintext,
    Task.JSON: lambda row: row.json,
}


def build_examples(
    rows: Iterable[CorpusRow], page_splits: Iterable[PageSplit], task: Task | str
) -> Iterator[Example]:
    """An example of every page that is in a split, in the order of `rows`, which may be a stream.

    Rejected rows and pages that the split left out make none. Raises `ValueError` for an unknown task, for
    a kept row that the split does not know and, at the end, for split pages that no row came for.
    """
    if task not in set(Task):
        raise ValueError(f"found the task {task!r}, expected one of {', '.join(Task)}")
    return _examples(rows, {page.page_id: page.split for page in page_splits}, TARGETS[Task(task)])


def _examples(
    rows: Iterable[CorpusRow], splits: Mapping[str, str | None], target: Callable[[CorpusRow], str]
) -> Iterator[Example]:
    missing = {page_id for page_id, split in splits.items() if split}
    strangers = []
    for row in rows:
        if row.reason is not None:
            continue
        if row.page_id not in splits:
            strangers.append(row.page_id)
        elif split := splits[row.page_id]:
            missing.discard(row.page_id)
            yield _example(row, split, target(row))
    if strangers or missing:
        raise ValueError(
            f"corpus and splits are not of one version: {len(strangers)} kept pages have no split "
            f"{strangers[:3]}, {len(missing)} split pages are not in the corpus {sorted(missing)[:3]}; "
            f"rebuild the splits"
        )


def _example(row: CorpusRow, split: str, target: str) -> Example:
    return Example(
        page_id=row.page_id,
        url=row.url,
        publisher=row.publisher,
        language=row.language,
        split=split,
        input=row.compact,
        target=target,
    )
