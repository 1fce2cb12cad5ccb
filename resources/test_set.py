"""The pages that every extractor answers, and the answers as they come in.

Belongs here: the held-out test split and the external gold as sets of questions, and appending answers so
that a stopped run goes on. Does not belong here: extracting (`ml/decoding.py`, `ml/baselines/`,
`ml/zero_shot/`) or scoring (`ml/evaluation.py`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import dagster as dg
from more_itertools import chunked

from ml.baselines.base import PageInput
from ml.gold import GoldPage, gold_version, read_gold
from ml.metrics.registry import Reference
from ml.records import CorpusRow, Example, Prediction, RawPage, Split
from ml.splits import PageSplit
from ml.training_sets import TARGETS, Task, build_examples
from resources.harvest import RAW_PAGES
from resources.importing import imported_pages
from resources.store import Store, content_version

PREDICTIONS = "predictions"
REPORT_FILE = "report/report.html"
PREDICTIONS_PER_FILE = 16

HELD_OUT, GOLD = "held-out", "gold"
"""The names of the two sets. Scores of one are never mixed with scores of the other."""


class EvaluationSet(ABC):
    """Pages with a right answer. The version changes exactly when a page or an answer does."""

    name: str

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    @abstractmethod
    def version(self) -> str:
        """A hash of what is asked and what is expected."""

    @abstractmethod
    def references(self) -> dict[str, Reference]:
        """What is right, by page id."""

    @abstractmethod
    def examples(self, task: str) -> list[Example]:
        """The pages as a trained model reads them, with the target of a task."""

    @abstractmethod
    def raw_pages(self) -> Iterator[PageInput]:
        """The pages as they were received."""

    @property
    @abstractmethod
    def page_ids(self) -> frozenset[str]:
        """The ids of all pages."""

    def answers(self, extractor: str, model: str) -> list[Prediction]:
        """What an extractor has answered so far, each page once."""
        rows = self._store.appended_rows(PREDICTIONS, Prediction, **self._key(extractor, model))
        return list({row.page_id: row for row in rows}.values())

    def complete(
        self, extractor: str, model: str, answer: Callable[[Callable[[str], bool]], Iterable[Prediction]]
    ) -> list[Prediction]:
        """All answers of an extractor, those that are missing asked for now and stored as they come.

        `answer` is given a test that says whether a page id is still open, and is not called where none is.
        Raises `RuntimeError` where it leaves pages open.
        """
        open_ids = self.page_ids - {row.page_id for row in self.answers(extractor, model)}
        if open_ids:
            for chunk in chunked(answer(open_ids.__contains__), PREDICTIONS_PER_FILE):
                self._store.append(PREDICTIONS, chunk, **self._key(extractor, model))
        answers = self.answers(extractor, model)
        if missing := self.page_ids - {row.page_id for row in answers}:
            raise RuntimeError(
                f"{extractor} left {len(missing)} of {len(self.page_ids)} {self.name} pages unanswered, such as "
                f"{min(missing)}; their HTML may be missing from the store: crawl or import them again"
            )
        return answers

    def _key(self, extractor: str, model: str) -> dict[str, str]:
        return {"test": self.version, "extractor": extractor, "model": model}


def received_pages(store: Store, rows: Sequence[CorpusRow], *, imported: bool = True) -> Iterator[PageInput]:
    """The pages of corpus rows as they were received, each once, one publisher at a time, imported ones last."""
    wanted = {row.page_id: row for row in rows}
    for page in _stored_pages(store, sorted({row.publisher for row in rows}), imported):
        if row := wanted.pop(page.page_id, None):
            yield PageInput(
                page_id=row.page_id,
                url=row.url,
                publisher=row.publisher,
                language=row.language,
                html=page.html,
            )


def _stored_pages(store: Store, publishers: Iterable[str], imported: bool) -> Iterator[RawPage]:
    for publisher in publishers:
        yield from store.appended_rows(RAW_PAGES, RawPage, publisher=publisher)
    if imported:
        yield from imported_pages(store)


class TestSet(EvaluationSet):
    """The test split as it stands in the store."""

    __test__ = False  # not a test class, whatever pytest makes of the name
    name = HELD_OUT

    @cached_property
    def _pages(self) -> list[PageSplit]:
        return list(self._store.rows("page_splits", PageSplit))

    @cached_property
    def rows(self) -> list[CorpusRow]:
        """The corpus rows of the test pages."""
        wanted = {page.page_id for page in self._pages if page.split == Split.TEST}
        return [
            row
            for row in self._store.rows("corpus", CorpusRow)
            if row.reason is None and row.page_id in wanted
        ]

    @cached_property
    def page_ids(self) -> frozenset[str]:
        return frozenset(row.page_id for row in self.rows)

    @cached_property
    def version(self) -> str:
        table = CorpusRow.table(self.rows).select(["page_id", "compact", "plaintext", "json"])
        return content_version([table.sort_by("page_id")])

    def references(self) -> dict[str, Reference]:
        """What Fundus extracted, by page id."""
        return {
            row.page_id: Reference(
                page_id=row.page_id,
                url=row.url,
                publisher=row.publisher,
                language=row.language,
                plaintext=row.plaintext,
                json=row.json,
                compact=row.compact,
            )
            for row in self.rows
        }

    def examples(self, task: str) -> list[Example]:
        """The test examples of a task, of the very rows that the version is of."""
        pages = [page for page in self._pages if page.split == Split.TEST]
        return list(build_examples(self.rows, pages, task))

    def raw_pages(self) -> Iterator[PageInput]:
        """The pages as they were received, one publisher at a time."""
        return received_pages(self._store, self.rows)


class GoldSet(EvaluationSet):
    """Pages that people annotated, outside every split: nothing is trained or tuned on them."""

    name = GOLD

    def __init__(self, store: Store, folder: Path) -> None:
        super().__init__(store)
        self.folder = folder

    @cached_property
    def _pages(self) -> list[GoldPage]:
        return read_gold(self.folder)

    @cached_property
    def page_ids(self) -> frozenset[str]:
        return frozenset(page.page_id for page in self._pages)

    @cached_property
    def version(self) -> str:
        return gold_version(self._pages)

    def references(self) -> dict[str, Reference]:
        """What the annotators noted, by page id."""
        return {page.page_id: page.reference() for page in self._pages}

    def examples(self, task: str) -> list[Example]:
        """The pages as a trained model reads them; of the JSON only a part is known, but it is the target."""
        target = TARGETS[Task(task)]
        return [
            Example(
                page_id=page.page_id,
                url=page.url,
                publisher=page.publisher,
                language=page.language,
                split=GOLD,
                input=page.compact,
                target=target(page.reference()),
            )
            for page in self._pages
        ]

    def raw_pages(self) -> Iterator[PageInput]:
        for page in self._pages:
            yield PageInput(
                page_id=page.page_id,
                url=page.url,
                publisher=page.publisher,
                language=page.language,
                html=page.html,
            )


class Evaluation(dg.ConfigurableResource):  # type: ignore[type-arg]
    """What is evaluated on beside the held-out split, and what a device costs."""

    gold_folder: str | None = None  # with a `manifest.jsonl`, see `ml/gold.py`; None for no external gold
    gold_source: str = "source not stated"
    gold_licence: str = "licence not stated"
    cpu_usd_per_hour: float = 0.05  # one core; the prices are assumptions, and the report says so
    cuda_usd_per_hour: float = 4.0
    server_usd_per_hour: float = 4.0

    @property
    def prices(self) -> dict[str, float]:
        """US dollars an hour, by the device names of `Prediction.device`."""
        return {
            "cpu": self.cpu_usd_per_hour,
            "cuda": self.cuda_usd_per_hour,
            "server": self.server_usd_per_hour,
        }

    @property
    def gold_name(self) -> str:
        """What the external gold is called."""
        return Path(self.gold_folder or GOLD).name

    def sets(self, store: Store) -> list[EvaluationSet]:
        """The held-out test split first, then the external gold where there is one."""
        gold = [GoldSet(store, Path(self.gold_folder))] if self.gold_folder else []
        return [TestSet(store), *gold]
