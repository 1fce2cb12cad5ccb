"""A registry and a store with held-out pages, and model versions that answered them as a test wants.

Nothing is trained: answers are appended to the store under the hash of an adapter that was never made.
"""

import hashlib
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from held_out import corpus_row, page_split

from ml.article import Article, Body, Section
from ml.records import CorpusRow, Prediction
from ml.splits import PageSplit
from resources.promotion import Gate
from resources.registered import ADAPTER, RegisteredVersion
from resources.store import Store
from resources.test_set import TestSet
from resources.tracking import Tracking
from resources.trainer import Trainer

PUBLISHERS, PAGES_EACH = ("North", "South", "East", "West"), 3
SAYINGS = (
    "the harbour opened again after the storm had passed over the outer islands",
    "fishing boats waited in long rows while the mayor spoke of patience and bread",
    "a new bridge will carry trams across the river before the end of next winter",
    "teachers and parents asked for smaller classes in every school of the county",
)

Answer = Callable[[CorpusRow], Article | str]


def article(page: str) -> Article:
    """An article that no other page has."""
    paragraphs = tuple(f"On page {page} it says that {saying}." for saying in SAYINGS)
    return Article(
        title=f"News of {page}", authors=("A. Writer",), body=Body(sections=(Section(paragraphs=paragraphs),))
    )


def perfect(row: CorpusRow) -> Article:
    """What the page says, all of it."""
    return Article.from_json(row.json)


def shortened(row: CorpusRow, paragraphs: int = 2) -> Article:
    """The first paragraphs alone: grounded, but worse."""
    return article_with(row, perfect(row).body.sections[0].paragraphs[:paragraphs])


def inventing(row: CorpusRow) -> Article:
    """Everything, and a paragraph that no page has."""
    told = perfect(row).body.sections[0].paragraphs
    return article_with(
        row, (*told, "Nobody ever wrote these seventeen words about any town or its people at all.")
    )


def article_with(row: CorpusRow, paragraphs: Iterable[str]) -> Article:
    whole = perfect(row)
    return whole.model_copy(update={"body": Body(sections=(Section(paragraphs=tuple(paragraphs)),))})


def unreadable(row: CorpusRow) -> str:
    """JSON that ends too early."""
    return row.json[:-1]


def on(publishers: Iterable[str], answer: Answer, otherwise: Answer = perfect) -> Answer:
    """One answer on the pages of some publishers, another on the rest."""
    chosen = set(publishers)
    return lambda row: answer(row) if row.publisher in chosen else otherwise(row)


@dataclass(frozen=True)
class World:
    """Everything below one folder, which is laid out as a home of `newslm` is."""

    home: Path

    @property
    def store(self) -> Store:
        return Store(uri=str(self.home / "store"))

    @property
    def tracking(self) -> Tracking:
        folder = self.home / "mlflow"
        return Tracking(
            tracking_uri=f"sqlite:///{folder / 'mlflow.db'}", artifact_folder=str(folder / "artifacts")
        )

    @property
    def trainer(self) -> Trainer:
        return Trainer(work_dir=str(self.home / "training"))

    @property
    def gate(self) -> Gate:
        return Gate(self.store, self.tracking, self.trainer)

    def aliases(self) -> dict[str, tuple[str, ...]]:
        """The aliases of every version that has one."""
        return {version.label: version.aliases for version in self.tracking.versions() if version.aliases}

    def register(self, model: str, answer: Answer | None) -> RegisteredVersion:
        """The next version of a model, which wrote these answers; None for one that was never asked."""
        weights = f"weights of {model} {time.time_ns()}".encode()
        adapter = self.home / "adapters" / hashlib.sha256(weights).hexdigest()
        adapter.mkdir(parents=True)
        (adapter / "adapter_model.safetensors").write_bytes(weights)
        version = self.register_folder(model, adapter)
        if answer:
            self.answer(version, answer)
        return version

    def register_folder(self, model: str, adapter: Path) -> RegisteredVersion:
        """The next version of a model, of an adapter that lies in a folder."""
        weights = (adapter / "adapter_model.safetensors").read_bytes()
        registered = self.tracking.register(
            name=model,
            artifact=ADAPTER,
            folder=adapter,
            identity={"weights_sha256": hashlib.sha256(weights).hexdigest(), "training_set": "t"},
            parameters={},
            tags={},
            curves=[],
            figures={},
        )
        return self.tracking.version(f"{model}/{registered.model_version}")

    def answer(self, version: RegisteredVersion, answer: Answer) -> None:
        """Answers of a version to the pages that it has yet to answer."""
        questions = TestSet(self.store)
        answers = (prediction(row, version.name, answer(row)) for row in questions.rows)
        questions.complete(
            version.name,
            version.tags["weights_sha256"][:16],
            lambda is_open: [row for row in answers if is_open(row.page_id)],
        )

    def hold_out(self, publishers: Iterable[str] = PUBLISHERS, pages_each: int = PAGES_EACH) -> None:
        """Replace the test split."""
        pages = [
            (publisher, f"{publisher.lower()}{n}") for publisher in publishers for n in range(pages_each)
        ]
        self.store.replace(
            "corpus", CorpusRow, [corpus_row(page, publisher, article(page)) for publisher, page in pages]
        )
        self.store.replace(
            "page_splits", PageSplit, [page_split(page, publisher) for publisher, page in pages]
        )


def new_world(folder: Path) -> World:
    """Pages of four publishers and an empty registry."""
    (folder / "mlflow").mkdir(parents=True)
    shutil.copyfile(_empty_registry(), folder / "mlflow" / "mlflow.db")
    world = World(folder)
    world.hold_out()
    return world


@cache
def _empty_registry() -> Path:
    """MLflow takes seconds to make its tables, so it does so once."""
    file = Path(_scratch().name) / "mlflow.db"
    Tracking(tracking_uri=f"sqlite:///{file}").versions()
    return file


@cache
def _scratch() -> TemporaryDirectory[str]:
    """Kept, and so there, until the tests end."""
    return TemporaryDirectory(prefix="newslm-registry-")


def prediction(row: CorpusRow, model: str, answer: Article | str) -> Prediction:
    """An answer of a model; text where its JSON could not be read."""
    readable = isinstance(answer, Article)
    written = answer.to_json() if readable else answer
    failed = Prediction(
        page_id=row.page_id,
        url=row.url,
        publisher=row.publisher,
        language=row.language,
        extractor=model,
        text="",
        json=written if model.endswith("json") else None,
        truncated=False,
        seconds=0.1,
        error="not a JSON article",
    )
    return replace(failed, text=answer.plaintext, error=None) if readable else failed
