"""The held-out pages that every extractor answers, and the answers as they come in.

Belongs here: reading the test split from the store, and appending predictions so that a stopped run goes
on. Does not belong here: extracting (`ml/decoding.py`, `ml/baselines/`) or scoring (`ml/evaluation.py`).
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from more_itertools import chunked

from ml.baselines.base import PageInput
from ml.evaluation import Reference
from ml.records import CorpusRow, Example, Prediction, RawPage, Split
from ml.splits import PageSplit
from ml.training_sets import build_examples
from resources.harvest import RAW_PAGES
from resources.importing import imported_pages
from resources.store import Store, content_version

PREDICTIONS = "predictions"
REPORT_FILE = "report/report.html"
PREDICTIONS_PER_FILE = 16


class TestSet:
    """The test split as it stands in the store. Its version changes exactly when a page or target does."""

    __test__ = False  # not a test class, whatever pytest makes of the name

    def __init__(self, store: Store) -> None:
        self._store = store

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
    def version(self) -> str:
        """A hash of what is asked and what is expected."""
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
        wanted = {row.page_id: row for row in self.rows}
        for page in self._stored_pages():
            if row := wanted.pop(page.page_id, None):
                yield PageInput(
                    page_id=row.page_id,
                    url=row.url,
                    publisher=row.publisher,
                    language=row.language,
                    html=page.html,
                )

    def _stored_pages(self) -> Iterator[RawPage]:
        for publisher in sorted({row.publisher for row in self.rows}):
            yield from self._store.appended_rows(RAW_PAGES, RawPage, publisher=publisher)
        yield from imported_pages(self._store)

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
        open_ids = {row.page_id for row in self.rows} - {
            row.page_id for row in self.answers(extractor, model)
        }
        if open_ids:
            for chunk in chunked(answer(open_ids.__contains__), PREDICTIONS_PER_FILE):
                self._store.append(PREDICTIONS, chunk, **self._key(extractor, model))
        answers = self.answers(extractor, model)
        if missing := {row.page_id for row in self.rows} - {row.page_id for row in answers}:
            raise RuntimeError(
                f"{extractor} left {len(missing)} of {len(self.rows)} test pages unanswered, such as "
                f"{min(missing)}; their HTML may be missing from the store: crawl or import them again"
            )
        return answers

    def _key(self, extractor: str, model: str) -> dict[str, str]:
        return {"test": self.version, "extractor": extractor, "model": model}
