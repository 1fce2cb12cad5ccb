"""Answers to the held-out pages, their scores and the report.

Belongs here: predictions of models and baselines, scores, the evaluation report and its checks. Does not
belong here: extracting, scoring or drawing, which `ml/` does.
"""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain
from pathlib import Path

import dagster as dg

from assets.models import MODELS
from assets.presentation import definition_metadata, mapping_table, picture, record_table
from ml.baselines.base import run_baseline
from ml.baselines.registry import BASELINES
from ml.evaluation import score_predictions
from ml.intervals import summarise
from ml.metrics.registry import missing
from ml.plots import score_intervals
from ml.records import ModelRecord, Prediction, Score
from ml.zero_shot.registry import ZERO_SHOT
from pipeline import partitions
from resources.answers import Answerer, answerer
from resources.language_models import LanguageModels
from resources.store import Store, content_version
from resources.test_set import GOLD, HELD_OUT, Evaluation, EvaluationSet, TestSet
from resources.trainer import Trainer

SCORES = "scores"
SCORES_OF = {HELD_OUT: SCORES, GOLD: "gold_scores"}
"""The dataset that holds the scores on an evaluation set; each has its own, so that they never mix."""


@dg.asset(
    partitions_def=partitions.experiments,
    deps=["models", "corpus", "splits"],
    group_name="evaluation",
    kinds={"python", "parquet"},
    pool="gpu",
    metadata=definition_metadata(Prediction),
    description="What a trained model writes for each held-out page, and each page of the external gold where there is "
    "one. Pages already answered by the same weights are not asked again.",
)
def predictions(
    context: dg.AssetExecutionContext, store: Store, trainer: Trainer, evaluation: Evaluation
) -> dg.MaterializeResult:
    name = context.partition_key
    (record,) = store.rows(MODELS, ModelRecord, experiment=name)
    answer = answerer(Path(record.folder), extractor=name, cache_dir=Path(trainer.cache_dir))
    return _answered(evaluation.sets(store), name, record.weights_sha256[:16], answer)


@dg.asset(
    partitions_def=partitions.baselines,
    deps=["corpus", "splits"],
    group_name="evaluation",
    kinds={"python", "parquet"},
    metadata=definition_metadata(Prediction),
    description="What a published extractor makes of the raw HTML of each held-out and each gold page; a page that "
    "hangs or crashes it, or takes all memory, is an empty answer with its error.",
)
def baseline_predictions(
    context: dg.AssetExecutionContext, store: Store, evaluation: Evaluation
) -> dg.MaterializeResult:
    baseline = BASELINES[context.partition_key]

    def answer(questions: EvaluationSet, is_open: Callable[[str], bool]) -> Iterable[Prediction]:
        return run_baseline(baseline, (page for page in questions.raw_pages() if is_open(page.page_id)))

    baseline.require_installed()
    return _answered(evaluation.sets(store), baseline.name, baseline.version or "", answer)


@dg.asset(
    partitions_def=partitions.zero_shot,
    deps=["corpus", "splits"],
    group_name="evaluation",
    kinds={"huggingface", "parquet"},
    pool="gpu",
    metadata=definition_metadata(Prediction),
    description="What a published language model makes of each held-out and each gold page without any training on "
    "ours, run here or by an OpenAI-compatible server.",
)
def zero_shot_predictions(
    context: dg.AssetExecutionContext, store: Store, evaluation: Evaluation, language_models: LanguageModels
) -> dg.MaterializeResult:
    from ml.zero_shot.extraction import extract

    model, task = ZERO_SHOT[context.partition_key]

    def answer(questions: EvaluationSet, is_open: Callable[[str], bool]) -> Iterable[Prediction]:
        with language_models.engine(model) as engine:
            yield from extract(
                model, engine, task, (page for page in questions.raw_pages() if is_open(page.page_id))
            )

    return _answered(evaluation.sets(store), context.partition_key, model.version(task), answer)


def _answered(
    sets: Iterable[EvaluationSet],
    extractor: str,
    model: str,
    answer: Answerer,
) -> dg.MaterializeResult:
    """Every set answered in full, and what the UI shows of it."""
    rows = [
        row for questions in sets for row in questions.complete(extractor, model, partial(answer, questions))
    ]
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
    deps=[predictions, baseline_predictions, zero_shot_predictions, "corpus", "splits"],
    group_name="evaluation",
    kinds={"parquet"},
    metadata=definition_metadata(Score),
    description="Every metric of every answered page: per-article values first, means with intervals from them. "
    "Extractors that have not answered the whole current test set are named, not scored. Scores on the external gold "
    "are a dataset of their own.",
)
def scores(store: Store, evaluation: Evaluation) -> dg.MaterializeResult:
    versions, metadata = [], {}
    for questions in evaluation.sets(store):
        answered = complete_answers(store, questions)
        rows = score_predictions(chain.from_iterable(answered.values()), questions.references())
        versions.append(store.replace(SCORES_OF[questions.name], Score, rows))
        metadata |= _facts(questions, rows, answered, left_out(store, answered))
    return dg.MaterializeResult(
        data_version=dg.DataVersion("-".join(versions)),
        metadata={**metadata, "not_computed": mapping_table(_reasons(missing()))},
    )


def _facts(
    questions: EvaluationSet, rows: list[Score], answered: Iterable[str], unanswered: list[str]
) -> dict[str, dg.MetadataValue]:
    """What the UI shows of one set's scores; the external gold's entries are prefixed with its name."""
    summaries = summarise(rows)
    facts = {
        "dagster/row_count": dg.MetadataValue.int(len(rows)),
        "extractors": dg.MetadataValue.text(", ".join(answered)),
        "left_out": dg.MetadataValue.text(", ".join(unanswered) or "none"),
        "summaries": record_table(summaries),
        "intervals": picture(score_intervals(summaries)),
    }
    if questions.name == HELD_OUT:
        return facts
    return {f"{questions.name}_{name.removeprefix('dagster/')}": value for name, value in facts.items()}


def _reasons(absent: dict[str, str]) -> list[dict[str, str]]:
    return [{"metric": name, "reason": reason} for name, reason in absent.items()]


def complete_answers(store: Store, questions: EvaluationSet) -> dict[str, list[Prediction]]:
    """Answers to the whole of a set as it is now, by extractor; raises `RuntimeError` where there are none."""
    answered = {name: questions.answers(name, model) for name, model in _versions(store).items()}
    complete = {name: rows for name, rows in answered.items() if len(rows) == len(questions.page_ids)}
    if not complete:
        raise RuntimeError(
            f"no extractor has answered all {len(questions.page_ids)} {questions.name} pages; materialise "
            f"predictions or baseline_predictions first"
        )
    return complete


def _versions(store: Store) -> dict[str, str]:
    """Every extractor that there is, and the version of it whose answers count."""
    return {
        **{name: record.weights_sha256[:16] for name, record in trained_models(store).items()},
        **{name: model.version(task) for name, (model, task) in ZERO_SHOT.items()},
        **{name: baseline.version or "" for name, baseline in BASELINES.items()},
    }


def trained_models(store: Store) -> dict[str, ModelRecord]:
    """The latest trained model of each experiment that has one."""
    return {
        name: record
        for name in store.partitions(MODELS, "experiment")
        for record in store.rows(MODELS, ModelRecord, experiment=name)
    }


def left_out(store: Store, answered: Iterable[str]) -> list[str]:
    """Baselines and trained models that have yet to answer the current test set; zero-shot models are optional."""
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
