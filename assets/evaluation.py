"""Answers to the held-out pages, their scores and the report.

Belongs here: predictions of models and baselines, scores, the evaluation report and its checks. Does not
belong here: extracting, scoring or drawing, which `ml/` does.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import dagster as dg

from assets.models import MODELS
from assets.presentation import definition_metadata, mapping_table, picture, record_table
from ml.baselines.base import run_baseline
from ml.baselines.registry import BASELINES
from ml.evaluation import score_predictions, summarise
from ml.experiments import experiment_named
from ml.plots import score_intervals
from ml.records import ModelRecord, Prediction, Score
from pipeline import partitions
from resources.store import Store, content_version
from resources.test_set import TestSet
from resources.trainer import Trainer

SCORES = "scores"


@dg.asset(
    partitions_def=partitions.experiments,
    deps=["models", "corpus", "splits"],
    group_name="evaluation",
    kinds={"pytorch", "parquet"},
    pool="gpu",
    metadata=definition_metadata(Prediction),
    description="What a trained model writes for each held-out page. Pages already answered by the same adapter are "
    "not asked again.",
)
def predictions(context: dg.AssetExecutionContext, store: Store, trainer: Trainer) -> dg.MaterializeResult:
    from ml.decoding import load_adapter, predict

    name = context.partition_key
    (record,) = store.rows(MODELS, ModelRecord, experiment=name)
    test = TestSet(store)

    def answer(is_open: Callable[[str], bool]) -> Iterable[Prediction]:
        examples = [
            example for example in test.examples(experiment_named(name).task) if is_open(example.page_id)
        ]
        model = load_adapter(Path(record.adapter_dir), cache_dir=Path(trainer.cache_dir))
        return predict(model, examples, experiment_named(name), extractor=name)

    return _answered(test.complete(name, record.adapter_sha256[:16], answer))


@dg.asset(
    partitions_def=partitions.baselines,
    deps=["corpus", "splits"],
    group_name="evaluation",
    kinds={"python", "parquet"},
    metadata=definition_metadata(Prediction),
    description="What a published extractor makes of the raw HTML of each held-out page; a page that hangs or crashes "
    "it is an empty answer with its error.",
)
def baseline_predictions(context: dg.AssetExecutionContext, store: Store) -> dg.MaterializeResult:
    baseline, test = BASELINES[context.partition_key], TestSet(store)

    def answer(is_open: Callable[[str], bool]) -> Iterable[Prediction]:
        return run_baseline(baseline, (page for page in test.raw_pages() if is_open(page.page_id)))

    baseline.require_installed()
    return _answered(test.complete(baseline.name, baseline.version or "", answer))


def _answered(rows: list[Prediction]) -> dg.MaterializeResult:
    errors = [row for row in rows if row.error]
    return dg.MaterializeResult(
        data_version=dg.DataVersion(content_version([Prediction.table(rows)], ignore=Prediction.PROVENANCE)),
        metadata={
            "dagster/row_count": len(rows),
            "errors": len(errors),
            "truncated": sum(row.truncated for row in rows),
            "seconds_per_page": sum(row.seconds for row in rows) / len(rows) if rows else None,
            "first_errors": mapping_table([{"url": row.url, "error": row.error} for row in errors[:10]]),
        },
    )


@dg.asset(
    deps=[predictions, baseline_predictions, "corpus", "splits"],
    group_name="evaluation",
    kinds={"parquet"},
    metadata=definition_metadata(Score),
    description="Every metric of every answered page: per-article values first, means with intervals from them. "
    "Extractors that have not answered the whole current test set are named, not scored.",
)
def scores(store: Store) -> dg.MaterializeResult:
    test = TestSet(store)
    answered = complete_answers(store, test)
    rows = score_predictions([row for answers in answered.values() for row in answers], test.references())
    version = store.replace(SCORES, Score, rows)
    summaries = summarise(rows)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(version),
        metadata={
            "dagster/row_count": len(rows),
            "extractors": ", ".join(answered),
            "left_out": ", ".join(left_out(store, answered)) or "none",
            "summaries": record_table(summaries),
            "intervals": picture(score_intervals(summaries)),
        },
    )


def complete_answers(store: Store, test: TestSet) -> dict[str, list[Prediction]]:
    """Answers to the whole current test set, by extractor; raises `RuntimeError` where there are none."""
    candidates = {name: baseline.version or "" for name, baseline in BASELINES.items()} | {
        name: record.adapter_sha256[:16] for name, record in trained_models(store).items()
    }
    answered = {name: test.answers(name, model) for name, model in candidates.items()}
    complete = {name: rows for name, rows in answered.items() if len(rows) == len(test.rows)}
    if not complete:
        raise RuntimeError(
            f"no extractor has answered all {len(test.rows)} test pages; materialise predictions or "
            f"baseline_predictions first"
        )
    return complete


def trained_models(store: Store) -> dict[str, ModelRecord]:
    """The latest trained model of each experiment that has one."""
    return {
        name: record
        for name in store.partitions(MODELS, "experiment")
        for record in store.rows(MODELS, ModelRecord, experiment=name)
    }


def left_out(store: Store, answered: Iterable[str]) -> list[str]:
    """Baselines and trained models that have yet to answer the current test set."""
    return sorted({*BASELINES, *trained_models(store)} - set(answered))


@dg.asset_check(
    asset=scores, blocking=True, description="Every extractor is scored on exactly the same pages."
)
def scores_cover_the_same_pages(store: Store) -> dg.AssetCheckResult:
    pages: dict[str, set[str]] = {}
    for row in store.rows(SCORES, Score):
        pages.setdefault(row.extractor, set()).add(row.page_id)
    expected = {row.page_id for row in TestSet(store).rows}
    wrong = [name for name, found in pages.items() if found != expected]
    return dg.AssetCheckResult(passed=not wrong, metadata={"pages": len(expected), "wrong": ", ".join(wrong)})
