"""Training of a block model on the pages of the store: those of the train split, measured on the validation split.

Belongs here: which pages are learnt from, and the folder with what came of it. Does not belong here: learning
(`ml/extractor.py`) or what MLflow makes of the folder (`served_extractor.py`).
"""

import hashlib
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean

from more_itertools import interleave_longest
from pydantic import BaseModel, ConfigDict

from ml.article import Article
from ml.block_model.features import FEATURES as BLOCK_FEATURES
from ml.block_model.training import TrainingParameters
from ml.experiments import BlockExperiment
from ml.extractor import SCHEMA_VERSION, Extractor, LabelledPage, train
from ml.extractor_predictions import predictions
from ml.fields.features import FEATURES as FIELD_FEATURES
from ml.metrics import rouge_l
from ml.model_card import CardFacts, SplitFacts, render_block_model_card
from ml.page import parse_page
from ml.records import CorpusRow, Split
from ml.splits import PageSplit
from resources.provenance import MadeFrom
from resources.registered import TREES
from resources.served_extractor import save_served
from resources.store import Store, content_version
from resources.test_set import received_pages

Rows = Sequence[CorpusRow]


class BlockOutcome(BaseModel):
    """What a finished training reports; it lies beside the model, as the sign that both are whole."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: str  # that MLflow serves
    weights_sha256: str
    training_set: str
    train_pages: int
    validation_pages: int
    validation_rouge_l: float | None  # None where no page is for validation
    faults: Mapping[str, str]  # by URL: why a page taught nothing
    seconds: float


def train_block_model(
    store: Store, experiment: BlockExperiment, made_from: MadeFrom, work_dir: Path
) -> BlockOutcome:
    """Train on the train split, or find what was trained on the same pages before, below `work_dir`.

    Raises `ValueError` where the split has too few families to say anything of others.
    """
    rows = _rows_by_split(store)
    learnt, validated = (rows[split][: experiment.max_pages] for split in (Split.TRAIN, Split.VALIDATION))
    training_set = content_version([CorpusRow.table(learnt).select(["page_id", "html_sha256", "json"])])
    recipe = (
        f"{experiment.model_dump_json()} {training_set} {SCHEMA_VERSION} {BLOCK_FEATURES} {FIELD_FEATURES}"
    )
    folder = work_dir / "runs" / f"{experiment.name}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"
    finished = folder / "outcome.json"
    if finished.is_file():
        return BlockOutcome.model_validate_json(finished.read_bytes())

    started = time.perf_counter()
    labelled = list(_labelled(store, learnt))
    parameters = TrainingParameters(seed=experiment.seed)
    extractor = train((page for _, page in labelled), parameters, seed=experiment.seed)
    faults = {row.url: page.fault for row, page in labelled if page.fault}
    score = _rouge_l(extractor, store, validated)
    card = render_block_model_card(
        experiment,
        facts=CardFacts(
            **made_from.model_dump(), test_publishers=len({row.publisher for row in rows[Split.TEST]})
        ),
        train=SplitFacts.of([row for row, page in labelled if not page.fault]),
        validation=SplitFacts.of(validated),
        rejected=len(faults),
        validation_rouge_l=score,
    )
    served = save_served(extractor, card, folder / TREES.path)
    outcome = BlockOutcome(
        folder=str(served),
        weights_sha256=hashlib.sha256((served / TREES.weights).read_bytes()).hexdigest(),
        training_set=training_set,
        train_pages=len(labelled) - len(faults),
        validation_pages=len(validated),
        validation_rouge_l=score,
        faults=faults,
        seconds=time.perf_counter() - started,
    )
    finished.write_text(outcome.model_dump_json(indent=1), encoding="utf-8")
    return outcome


def _labelled(store: Store, rows: Rows) -> Iterator[tuple[CorpusRow, LabelledPage]]:
    """The rows whose HTML is in the store, in their order, with what is to be learnt.

    Imported pages are compact already: they have no templates to learn.
    """
    parsed = {page.page_id: parse_page(page.html) for page in received_pages(store, rows, imported=False)}
    for row in rows:
        if page := parsed.get(row.page_id):
            yield row, LabelledPage(page=page, article=Article.from_json(row.json), family=row.family)


def _rouge_l(extractor: Extractor, store: Store, rows: Rows) -> float | None:
    wanted = {row.page_id: row.plaintext for row in rows}
    answers = predictions(extractor, received_pages(store, rows, imported=False), name="validation")
    scores = [rouge_l.score(answer.text, wanted[answer.page_id]) for answer in answers]
    return mean(scores) if scores else None


def _rows_by_split(store: Store) -> dict[Split, list[CorpusRow]]:
    """The kept rows, in an order in which one family after the other gives one until all have."""
    split_of = {page.page_id: page.split for page in store.rows("page_splits", PageSplit)}
    families: defaultdict[Split, defaultdict[str, list[CorpusRow]]] = defaultdict(lambda: defaultdict(list))
    for row in store.rows("corpus", CorpusRow):
        if row.reason is None and (split := split_of.get(row.page_id)):
            families[Split(split)][row.family].append(row)
    return {split: list(_evenly(families[split])) for split in Split}


def _evenly(families: Mapping[str, Iterable[CorpusRow]]) -> Iterator[CorpusRow]:
    yield from interleave_longest(
        *(sorted(families[name], key=lambda row: row.page_id) for name in sorted(families))
    )
