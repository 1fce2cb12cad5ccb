"""Trained models: one partition per experiment.

Belongs here: handing a training to its process and registering what comes back. Does not belong here:
training (`ml/training.py`) and MLflow (`resources/tracking.py`).
"""

from pathlib import Path

import dagster as dg

from assets.corpus import CORPUS, PAGE_SPLITS, TRAINING_SETS
from assets.presentation import definition_metadata, picture
from ml.experiments import experiment_named
from ml.plots import training_curves
from ml.records import CurveRecord, Example, ModelRecord
from pipeline import partitions
from resources.crawl import Crawl
from resources.fundus.catalogue import fundus_version
from resources.provenance import git_commit
from resources.store import Store
from resources.tracking import Point, Registered, Tracking
from resources.trainer import Trainer, TrainingJob, TrainingOutcome, training_version

MODELS, CURVES = "models", "training_curves"


@dg.asset(
    partitions_def=partitions.experiments,
    deps=["training_sets"],
    group_name="models",
    kinds={"pytorch", "huggingface", "mlflow"},
    pool="gpu",
    metadata=definition_metadata(ModelRecord),
    description="A LoRA adapter per experiment, trained in a process of its own and registered in MLflow as "
    "`challenger`. Stopped trainings go on; finished ones are not repeated for the same data.",
)
def models(
    context: dg.AssetExecutionContext, crawl: Crawl, store: Store, trainer: Trainer, tracking: Tracking
) -> dg.MaterializeResult:
    job = _job(context.partition_key, crawl, store, trainer)
    outcome = trainer.train(context, job)
    figure = training_curves(outcome.curves)
    registered = _register(tracking, job, outcome, figure)
    record = _record(job, outcome, registered)
    curves = [CurveRecord(**point.model_dump()) for point in outcome.curves]
    store.replace(CURVES, CurveRecord, curves, experiment=job.experiment.name)
    store.replace(MODELS, ModelRecord, [record], experiment=job.experiment.name)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(outcome.adapter_sha256[:16]),
        metadata={
            **outcome.model_dump(exclude={"curves", "adapter_dir"}),
            "adapter": dg.MetadataValue.path(outcome.adapter_dir),
            "training_set": job.training_set,
            "mlflow_run": registered.run_id,
            "registered_version": f"{registered.model_name} {registered.model_version}",
            "curves": picture(figure),
        },
    )


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
        source=crawl.source,
        corpus_version=store.version(CORPUS) or "",
        split_version=store.version(PAGE_SPLITS) or "",
        fundus_version=fundus_version(),
        git_commit=git_commit(),
    )


def _register(tracking: Tracking, job: TrainingJob, outcome: TrainingOutcome, figure: bytes) -> Registered:
    made_from = job.model_dump(include={"source", "corpus_version", "split_version", "fundus_version"})
    facts = outcome.model_dump(exclude={"curves", "adapter_dir"})
    return tracking.register_adapter(
        name=job.experiment.name,
        adapter=Path(outcome.adapter_dir),
        identity={"adapter_sha256": outcome.adapter_sha256, "training_set": job.training_set},
        parameters=job.experiment.model_dump() | facts,
        tags={**made_from, "task": job.experiment.task, "git_commit": job.git_commit or "unknown"},
        curves=[
            *(Point(name=point.name, step=point.step, value=point.value) for point in outcome.curves),
            Point(
                name="best_validation_perplexity", step=outcome.best_step, value=outcome.validation_perplexity
            ),
        ],
        figures={"training_curves.png": figure},
    )


def _record(job: TrainingJob, outcome: TrainingOutcome, registered: Registered) -> ModelRecord:
    return ModelRecord(
        experiment=job.experiment.name,
        adapter_sha256=outcome.adapter_sha256,
        adapter_dir=outcome.adapter_dir,
        training_set=job.training_set,
        steps=outcome.steps,
        validation_perplexity=outcome.validation_perplexity,
        run_id=registered.run_id,
        model_name=registered.model_name,
        model_version=registered.model_version,
    )
