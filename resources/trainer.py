"""Training outside the Dagster process: the job that is handed over, and what comes back.

Belongs here: launching through Dagster Pipes, the two messages, and the version of what a training reads.
Does not belong here: training itself (`ml/training.py`) or the program that runs it
(`training_process.py`).
"""

import hashlib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import dagster as dg
from pydantic import BaseModel, ConfigDict

from ml.experiments import Experiment
from ml.records import Example, Split
from resources.provenance import MadeFrom
from resources.store import content_version


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TrainingJob(_Message):
    """What the training process needs to know."""

    experiment: Experiment
    store_uri: str
    training_set: str  # `training_version` of the task's examples
    output_dir: str
    cache_dir: str
    made_from: MadeFrom


class CurvePoint(_Message):
    """One value of a training curve."""

    name: str
    step: int
    value: float


class TrainingOutcome(_Message):
    """What a finished training reports."""

    adapter_dir: str
    weights_sha256: str
    steps: int
    best_step: int
    validation_perplexity: float
    seconds: float
    tokens: int
    peak_mib: float
    truncated_examples: int
    train_pages: int
    validation_pages: int
    curves: Sequence[CurvePoint]


def training_version(examples: Iterable[Example]) -> str:
    """A content version of what a training reads: train and validation examples, in whatever order they come.

    Test examples do not count, so that a new test page calls for new answers and not for new models.
    """
    read = [example for example in examples if example.split != Split.TEST]
    return content_version([Example.table(sorted(read, key=lambda example: example.page_id))])


class Trainer(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Runs trainings as subprocesses below `work_dir`; the same job again goes on where it was stopped."""

    work_dir: str

    @property
    def cache_dir(self) -> str:
        """Where converted backbones are kept."""
        return str(Path(self.work_dir) / "backbones")

    def output_dir(self, experiment: Experiment, training_set: str) -> str:
        """One folder for each recipe and training set, so that changed data never resumes old weights."""
        recipe = hashlib.sha256(f"{experiment.model_dump_json()}{training_set}".encode()).hexdigest()[:12]
        return str(Path(self.work_dir) / "runs" / f"{experiment.name}-{recipe}")

    def train(self, context: dg.AssetExecutionContext, job: TrainingJob) -> TrainingOutcome:
        """Run a job to its end; raises `dagster.Failure` with the process' last words where it fails."""
        client = dg.PipesSubprocessClient()
        completed = client.run(
            context=context,
            command=[sys.executable, "-m", "resources.training_process"],
            extras={"job": job.model_dump(mode="json")},
        )
        messages = completed.get_custom_messages()
        if len(messages) != 1:
            raise RuntimeError(
                f"expected one outcome from the training process, found {len(messages)}; see its log"
            )
        return TrainingOutcome.model_validate(messages[0])
