"""The program that trains: reads its job from Dagster Pipes, reports progress and the outcome.

Belongs here: reading examples and telling Dagster. Does not belong here: training (`ml/training.py`).
Run by `resources/trainer.py`, never by hand.
"""

import fcntl
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dagster_pipes import PipesContext, open_dagster_pipes

from ml.extras import quieten_bitsandbytes
from ml.model_card import CardFacts
from ml.records import Example, Split
from resources.store import Store
from resources.trainer import CurvePoint, TrainingJob, TrainingOutcome, training_version

PARENT_CHECK_S = 0.5


def main() -> None:
    """Train the job that Dagster handed over."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    with open_dagster_pipes() as pipes:
        job = TrainingJob.model_validate(pipes.extras["job"])
        with _sole_process_in(Path(job.output_dir)):
            pipes.report_custom_message(_train(job, pipes).model_dump(mode="json"))


def _end_with(parent: int) -> None:
    """End this process when the one that started it is gone: a killed run must not leave a training behind."""
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_S)
    os._exit(1)


@contextmanager
def _sole_process_in(folder: Path) -> Iterator[None]:
    """Hold the folder for this process; wait for one that is still ending. The system lets go when it dies."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _train(job: TrainingJob, pipes: PipesContext) -> TrainingOutcome:
    quieten_bitsandbytes()
    from ml.training import train

    examples = examples_of(job)
    result = train(
        job.experiment,
        train=examples[Split.TRAIN],
        validation=examples[Split.VALIDATION],
        output_dir=Path(job.output_dir),
        cache_dir=Path(job.cache_dir),
        on_log=lambda values: pipes.log.info(_line(values)),
        card=CardFacts(
            **job.made_from.model_dump(),
            test_publishers=len({example.publisher for example in examples[Split.TEST]}),
        ),
    )
    curves = [
        CurvePoint(name=name, step=record.step, value=value)
        for record in result.history
        for name, value in vars(record).items()
        if name != "step" and value is not None
    ]
    return TrainingOutcome(
        adapter_dir=str(result.adapter_dir),
        weights_sha256=result.weights_sha256,
        steps=result.steps,
        best_step=result.best_step,
        validation_perplexity=result.best_validation_perplexity,
        seconds=result.seconds,
        tokens=result.tokens,
        peak_mib=result.peak_mib,
        truncated_examples=result.truncated_examples,
        train_pages=len(examples[Split.TRAIN]),
        validation_pages=len(examples[Split.VALIDATION]),
        curves=curves,
    )


def examples_of(job: TrainingJob) -> dict[Split, list[Example]]:
    """The examples by split, by page id, since the version of a training set knows no other order.

    Raises `RuntimeError` where what training reads changed since the job was made.
    """
    rows = sorted(
        Store(uri=job.store_uri).rows("training_sets", Example, task=job.experiment.task),
        key=lambda example: example.page_id,
    )
    found = training_version(rows)
    if found != job.training_set:
        raise RuntimeError(
            f"the training set is {found}, the job was made for {job.training_set}; materialise the model again"
        )
    examples: dict[Split, list[Example]] = {split: [] for split in Split}
    for example in rows:
        examples[Split(example.split)].append(example)
    return examples


def _line(values: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {value:.4g}" for name, value in values.items())


if __name__ == "__main__":
    main()
