"""Trained models: one partition per experiment, language models and block models alike.

Belongs here: handing a training over and registering what comes back. Does not belong here: training
(`ml/training.py`, `ml/extractor.py`) and MLflow (`resources/tracking.py`).
"""

from collections.abc import Mapping
from pathlib import Path

import dagster as dg

from assets.corpus import CORPUS, PAGE_SPLITS, TRAINING_SETS
from assets.presentation import definition_metadata, picture
from ml.experiments import BLOCK_MODELS, BlockExperiment, experiment_named
from ml.plots import training_curves
from ml.records import CurveRecord, Example, ModelRecord
from pipeline import partitions
from resources.block_training import train_block_model
from resources.crawl import Crawl
from resources.fundus.catalogue import fundus_version
from resources.provenance import MadeFrom, git_commit
from resources.registered import ADAPTER, TREES
from resources.store import Store
from resources.tracking import Point, Registered, Tracking
from resources.trainer import Trainer, TrainingJob, TrainingOutcome, training_version

MODELS, CURVES = "models", "training_curves"


@dg.asset(
    partitions_def=partitions.experiments,
    deps=["training_sets", "corpus", "splits"],
    group_name="models",
    kinds={"pytorch", "lightgbm", "mlflow"},
    pool="gpu",
    metadata=definition_metadata(ModelRecord),
    description="A model per experiment, registered in MLflow as `challenger`. A LoRA adapter is trained in a process "
    "of its own: stopped trainings go on, finished ones are not repeated for the same data. A block model is trees "
    "over the blocks of pages, trained here on a CPU and logged so that MLflow can serve it.",
)
def models(
    context: dg.AssetExecutionContext, crawl: Crawl, store: Store, trainer: Trainer, tracking: Tracking
) -> dg.MaterializeResult:
    if experiment := BLOCK_MODELS.get(context.partition_key):
        return _block_model(context, experiment, crawl, store, trainer, tracking)
    return _adapter(context, crawl, store, trainer, tracking)


# --- language models


def _adapter(
    context: dg.AssetExecutionContext, crawl: Crawl, store: Store, trainer: Trainer, tracking: Tracking
) -> dg.MaterializeResult:
    job = _job(context.partition_key, crawl, store, trainer)
    outcome = trainer.train(context, job)
    figure = training_curves(outcome.curves)
    registered = _register(tracking, job, outcome, figure)
    curves = [CurveRecord(**point.model_dump()) for point in outcome.curves]
    store.replace(CURVES, CurveRecord, curves, experiment=job.experiment.name)
    record = ModelRecord(
        experiment=job.experiment.name,
        weights_sha256=outcome.weights_sha256,
        folder=outcome.adapter_dir,
        training_set=job.training_set,
        steps=outcome.steps,
        validation_perplexity=outcome.validation_perplexity,
        run_id=registered.run_id,
        model_name=registered.model_name,
        model_version=registered.model_version,
    )
    facts = {**outcome.model_dump(exclude={"curves", "adapter_dir"}), "curves": picture(figure)}
    return _stored(store, record, facts)


def _job(name: str, crawl: Crawl, store: Store, trainer: Trainer) -> TrainingJob:
    experiment = experiment_named(name)
    if store.version(TRAINING_SETS, task=experiment.task) is None:
        raise RuntimeError(f"there is no training set for {name}; materialise training_sets first")
    training_set = training_version(store.rows(TRAINING_SETS, Example, task=experiment.task))
    return TrainingJob(
        experiment=experiment,
        store_uri=store.uri,
        training_set=training_set,
        output_dir=trainer.output_dir(experiment, training_set),
        cache_dir=trainer.cache_dir,
        made_from=_made_from(crawl, store),
    )


def _register(tracking: Tracking, job: TrainingJob, outcome: TrainingOutcome, figure: bytes) -> Registered:
    facts = outcome.model_dump(exclude={"curves", "adapter_dir"})
    return tracking.register(
        name=job.experiment.name,
        artifact=ADAPTER,
        folder=Path(outcome.adapter_dir),
        identity={"weights_sha256": outcome.weights_sha256, "training_set": job.training_set},
        parameters=job.experiment.model_dump() | facts,
        tags=job.made_from.tags | {"task": job.experiment.task},
        curves=[
            *(Point(name=point.name, step=point.step, value=point.value) for point in outcome.curves),
            Point(
                name="best_validation_perplexity", step=outcome.best_step, value=outcome.validation_perplexity
            ),
        ],
        figures={"training_curves.png": figure},
    )


# --- block models


def _block_model(
    context: dg.AssetExecutionContext,
    experiment: BlockExperiment,
    crawl: Crawl,
    store: Store,
    trainer: Trainer,
    tracking: Tracking,
) -> dg.MaterializeResult:
    made_from = _made_from(crawl, store)
    outcome = train_block_model(store, experiment, made_from, Path(trainer.work_dir))
    for url, fault in outcome.faults.items():
        context.log.warning(f"nothing is learnt from {url}: {fault}")
    facts = outcome.model_dump(exclude={"folder", "faults"}) | {"pages_without_labels": len(outcome.faults)}
    score = outcome.validation_rouge_l
    registered = tracking.register(
        name=experiment.name,
        artifact=TREES,
        folder=Path(outcome.folder),
        identity={"weights_sha256": outcome.weights_sha256, "training_set": outcome.training_set},
        parameters=experiment.model_dump() | facts,
        tags=made_from.tags | {"task": experiment.task},
        curves=[] if score is None else [Point(name="validation_rouge_l", step=0, value=score)],
        figures={},
    )
    record = ModelRecord(
        experiment=experiment.name,
        weights_sha256=outcome.weights_sha256,
        folder=outcome.folder,
        training_set=outcome.training_set,
        steps=None,
        validation_perplexity=None,
        run_id=registered.run_id,
        model_name=registered.model_name,
        model_version=registered.model_version,
    )
    return _stored(store, record, facts)


# --- both


def _made_from(crawl: Crawl, store: Store) -> MadeFrom:
    return MadeFrom(
        source=crawl.source,
        corpus_version=store.version(CORPUS) or "",
        split_version=store.version(PAGE_SPLITS) or "",
        fundus_version=fundus_version(),
        git_commit=git_commit(),
    )


def _stored(store: Store, record: ModelRecord, facts: Mapping[str, object]) -> dg.MaterializeResult:
    """The model noted in the store, and what the UI shows of it."""
    store.replace(MODELS, ModelRecord, [record], experiment=record.experiment)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(record.weights_sha256[:16]),
        metadata={
            **facts,
            "folder": dg.MetadataValue.path(record.folder),
            "weights_sha256": record.weights_sha256,
            "training_set": record.training_set,
            "mlflow_run": record.run_id,
            "registered_version": f"{record.model_name} {record.model_version}",
        },
    )
