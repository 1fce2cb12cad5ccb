"""The whole job once, in this process, through the same definitions that the UI shows.

Belongs here: the order of the steps and what became of each. Does not belong here: showing progress
(`cli/run.py`), or the steps themselves, which are Dagster jobs.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import dagster as dg

from pipeline.instance import PROCESS_TAG, process_tag
from resources.fundus.catalogue import fundus_version
from resources.provenance import git_commit

CRAWL, CORPUS, BASELINES, ZERO_SHOT, TRAINING, EVALUATION = (
    "crawl and extract",
    "corpus, splits, training sets",
    "baselines",
    "zero-shot language models",
    "training and prediction",
    "scores and report",
)
"""The stages of a whole job, in order."""

QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
"""Failures are outcomes here; their stack traces are kept with the run, in the Dagster UI."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One run of one job, for one partition where the job has partitions."""

    stage: str  # what it is called while it runs
    job: str
    partition: str | None = None
    needed: bool = False  # without it nothing that follows makes sense


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a step; `facts` are the metadata of its assets, by asset and name."""

    step: Step
    seconds: float
    error: str | None
    facts: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


def plan(
    publishers: Sequence[str],
    experiments: Sequence[str],
    baselines: Sequence[str],
    zero_shot: Sequence[str] = (),
    *,
    has_pages: Callable[[str], bool] | None = None,
) -> Iterator[Step]:
    """The steps of a whole job, in order, each decided when the one before it is over.

    With `has_pages`, an archive's first pass brings everyone's pages: publishers without any have no step.
    """
    for number, key in enumerate(publishers):
        if number == 0 or has_pages is None or has_pages(key):
            yield Step(stage=CRAWL, job="refresh_publisher", partition=key)
    yield Step(stage=CORPUS, job="build_corpus", needed=True)
    for name in baselines:
        yield Step(stage=BASELINES, job="run_baseline", partition=name)
    for name in zero_shot:
        yield Step(stage=ZERO_SHOT, job="ask_language_model", partition=name)
    for name in experiments:
        yield Step(stage=TRAINING, job="train_model", partition=name)
    if baselines or experiments or zero_shot:
        yield Step(stage=EVALUATION, job="evaluate", needed=True)


def execute(
    definitions: dg.Definitions,
    instance: dg.DagsterInstance,
    steps: Iterable[Step],
    *,
    source: str,
    on_start: Callable[[Step], None],
) -> Iterator[Outcome]:
    """Run the steps one after the other; a failed one is an outcome, and only a needed one ends the job."""
    tags = {
        PROCESS_TAG: process_tag(),
        "newslm/source": source,
        "newslm/fundus_version": fundus_version(),
        "newslm/git_commit": git_commit() or "unknown",
    }
    for step in steps:
        on_start(step)
        outcome = _run(definitions, instance, step, tags)
        yield outcome
        if outcome.error and step.needed:
            return


def _run(
    definitions: dg.Definitions, instance: dg.DagsterInstance, step: Step, tags: Mapping[str, str]
) -> Outcome:
    started = time.perf_counter()
    result = definitions.resolve_job_def(step.job).execute_in_process(
        run_config=QUIET,
        instance=instance,
        partition_key=step.partition,
        tags=dict(tags),
        raise_on_error=False,
    )
    facts: dict[str, Mapping[str, object]] = {}
    for event in result.get_asset_materialization_events():
        materialization = event.materialization
        facts[materialization.asset_key.to_user_string()] = {
            name: value.value for name, value in materialization.metadata.items()
        }
    return Outcome(step=step, seconds=time.perf_counter() - started, error=_error(result), facts=facts)


def _error(result: dg.ExecuteInProcessResult) -> str | None:
    """The first failure in the words of whoever raised it; None on success."""
    if result.success:
        return None
    for event in result.all_events:
        if event.is_step_failure and (error := event.step_failure_data.error):
            # Dagster wraps what an asset raised; what that was raised from is already in its message.
            raised = error.cause if error.cause and error.cls_name.startswith("Dagster") else error
            return _CLASS_NAME.sub("", raised.message).strip()
    return "failed; see the run in the Dagster UI"


_CLASS_NAME = re.compile(r"^[\w.]+: ")
"""What Python puts before the message of an exception."""
