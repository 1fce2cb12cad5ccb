"""A training run and its folder: start, exact resume, the best adapter, the stored result.

Belongs here: `train` and what it leaves on disk. Does not belong here: what happens in a step
(`ml/trainer.py`), tokenising (`ml/datasets.py`), or where metrics are logged (the caller passes
`on_log`). Import this module inside functions: it loads torch and transformers.
"""

import hashlib
import json
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch  # noqa: TID253 - this module is torch code; callers import it inside functions
from pydantic import TypeAdapter
from transformers import TrainerState, set_seed  # noqa: TID253

from ml.backbones import BACKBONES, load_backbone
from ml.datasets import encode_examples
from ml.decoding import EXPERIMENT_FILE
from ml.experiments import Experiment
from ml.model_card import CardFacts, SplitFacts, TrainingFacts, render_model_card
from ml.records import Example
from ml.trainer import PERPLEXITY, ExtractionTrainer, OnLog, with_lora

_WEIGHTS = "adapter_model.safetensors"
_ADAPTER_CONFIG = "adapter_config.json"
_UNFINISHED_ADAPTER = ".adapter-"  # of a call that was killed while it published


@dataclass(frozen=True, kw_only=True)
class LogRecord:
    """What was logged at one step; losses are means over the steps since the record before."""

    step: int
    loss: float
    cross_entropy: float
    contrastive: float | None  # None where the experiment does not use the term
    learning_rate: float
    validation_perplexity: float | None  # None where no evaluation took place


@dataclass(frozen=True, kw_only=True)
class TrainingResult:
    """A finished training. `adapter_dir` holds the adapter of the best evaluation, not of the last step."""

    adapter_dir: Path
    weights_sha256: str  # of the weights file
    steps: int  # run until the end or until early stopping
    best_step: int
    best_validation_perplexity: float
    history: tuple[LogRecord, ...]
    seconds: float  # of the call that finished the training; earlier, killed calls are not counted
    tokens: int  # seen in training, prompt and target, without padding
    peak_mib: float  # of device memory on a GPU, of the process' resident memory otherwise
    truncated_examples: int  # cut to the experiment's lengths, in training and validation


def _ignore(_: Mapping[str, float]) -> None:
    """The default listener."""


def train(
    experiment: Experiment,
    *,
    train: Sequence[Example],
    validation: Sequence[Example],
    output_dir: Path,
    cache_dir: Path,
    on_log: OnLog = _ignore,
    card: CardFacts,
) -> TrainingResult:
    """Fine-tune the experiment's backbone and leave the best adapter, with its card, in `output_dir`.

    Killed at any moment and called again with the same arguments, it goes on from the last checkpoint
    and ends with the same weights, bit for bit on a CPU with as many threads. On a finished `output_dir`
    it returns the stored result at once. `on_log` gets the numbers of each log: `step` with `loss`, `cross_entropy`,
    `contrastive`, `learning_rate` and `grad_norm`, or `step` with `validation_perplexity`. Steps that a
    resumed run repeats are logged again.

    Raises `ValueError` on an empty set, on overlong examples that the experiment refuses, and on an
    `output_dir` that holds another run; `RuntimeError` when the loss or a gradient is not finite.
    """
    started = time.perf_counter()
    run = _Run(output_dir)
    _require_examples(train, validation)
    run.claim(experiment, train, validation)
    if not run.result_file.exists():
        state, truncated = _optimise(experiment, train, validation, run, cache_dir, on_log)
        outcome = _training_facts(state, truncated)
        text = _card(experiment, card, train, validation, outcome)
        run.publish_adapter(experiment, text, outcome.best_step)
        run.store_result(outcome, _history(state), seconds=time.perf_counter() - started)
    run.clean_up()
    return run.result()


class _Run:
    """The files of one training, each written whole or not at all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkpoints = folder / "checkpoints"
        self.adapter_dir = folder / "adapter"
        self.result_file = folder / "result.json"
        self._claim_file = folder / "run.json"

    def claim(self, experiment: Experiment, train: Sequence[Example], validation: Sequence[Example]) -> None:
        """Note whose folder this is; raises `ValueError` where it is another run's."""
        claim = {
            "experiment": experiment.model_dump(mode="json"),
            "train": _fingerprint(train),
            "validation": _fingerprint(validation),
        }
        if not self._claim_file.exists():
            _write(self._claim_file, json.dumps(claim, indent=2))
            return
        found = json.loads(self._claim_file.read_text(encoding="utf-8"))
        if differing := [key for key in claim if found.get(key) != claim[key]]:
            raise ValueError(
                f"{self.folder} holds a run of {found['experiment']['name']} with another "
                f"{', another '.join(differing)}: train in a new folder, or delete this one"
            )

    def latest_checkpoint(self) -> tuple[Path, TrainerState] | None:
        """The newest complete checkpoint and its state; deletes those that a kill left unfinished.

        The Trainer writes the state file last, so a checkpoint whose state can be read is complete.
        """
        for folder in sorted(self.checkpoints.glob("checkpoint-*"), key=_step_of, reverse=True):
            try:
                return folder, TrainerState.load_from_json(str(folder / "trainer_state.json"))
            except (FileNotFoundError, json.JSONDecodeError):
                shutil.rmtree(folder)
        return None

    def publish_adapter(self, experiment: Experiment, card: str, step: int) -> None:
        """Copy the adapter of the checkpoint at `step` to `adapter_dir`, with experiment and card."""
        checkpoint = self.checkpoints / f"checkpoint-{step}"
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=_UNFINISHED_ADAPTER) as unfinished:
            folder = Path(unfinished) / "adapter"
            folder.mkdir()
            shutil.copyfile(checkpoint / _WEIGHTS, folder / _WEIGHTS)
            config = json.loads((checkpoint / _ADAPTER_CONFIG).read_text(encoding="utf-8"))
            config["base_model_name_or_path"] = BACKBONES[experiment.backbone].source  # not a local path
            (folder / _ADAPTER_CONFIG).write_text(json.dumps(config, indent=2), encoding="utf-8")
            (folder / EXPERIMENT_FILE).write_text(experiment.model_dump_json(indent=2), encoding="utf-8")
            (folder / "README.md").write_text(card, encoding="utf-8")
            if self.adapter_dir.exists():  # of a call that was killed before it stored the result
                shutil.rmtree(self.adapter_dir)
            folder.rename(self.adapter_dir)

    def store_result(self, outcome: TrainingFacts, history: tuple[LogRecord, ...], *, seconds: float) -> None:
        result = TrainingResult(
            adapter_dir=self.adapter_dir,
            weights_sha256=hashlib.sha256((self.adapter_dir / _WEIGHTS).read_bytes()).hexdigest(),
            history=history,
            seconds=seconds,
            peak_mib=_peak_mib(),
            **asdict(outcome),
        )
        _write(self.result_file, TypeAdapter(TrainingResult).dump_json(result, indent=2).decode())

    def result(self) -> TrainingResult:
        """The stored result, with `adapter_dir` where the folder is now: it may have moved."""
        stored = TypeAdapter(TrainingResult).validate_json(self.result_file.read_bytes())
        return replace(stored, adapter_dir=self.adapter_dir)

    def clean_up(self) -> None:
        """Remove what is of no use once the result is stored; a checkpoint is three times the adapter."""
        for leftover in (self.checkpoints, *self.folder.glob(f"{_UNFINISHED_ADAPTER}*")):
            shutil.rmtree(leftover, ignore_errors=True)


def _optimise(
    experiment: Experiment,
    train: Sequence[Example],
    validation: Sequence[Example],
    run: _Run,
    cache_dir: Path,
    on_log: OnLog,
) -> tuple[TrainerState, int]:
    """Train from the last checkpoint, if any, to the end: the final state, and how many examples were cut."""
    model, tokenizer = load_backbone(experiment.backbone, cache_dir=cache_dir, dtype=experiment.precision)
    encoded = encode_examples([*train, *validation], tokenizer, experiment)
    truncated = sum(example.truncated for example in encoded)
    folder, state = run.latest_checkpoint() or (None, None)
    if state is not None and _is_over(state):
        return state, truncated
    if experiment.cpu_threads:
        torch.set_num_threads(experiment.cpu_threads)
    set_seed(experiment.seed)  # LoRA's first weights are drawn from it
    trainer = ExtractionTrainer(
        with_lora(model, experiment),
        experiment,
        train=encoded[: len(train)],
        validation=encoded[len(train) :],
        pad_token_id=tokenizer.pad_token_id,
        checkpoints=run.checkpoints,
        on_log=on_log,
    )
    trainer.train(resume_from_checkpoint=str(folder) if folder else None)
    return trainer.state, truncated


def _is_over(state: TrainerState) -> bool:
    """Whether a checkpoint is that of the last step. Resuming it would take one step too many: the Trainer
    clears the flag when it starts, after early stopping too, and looks at it again only after a step.
    """
    # Read back from JSON it is a mapping by name, though it is annotated as a list.
    callbacks: Any = state.stateful_callbacks
    return bool(callbacks["TrainerControl"]["args"]["should_training_stop"])


def _training_facts(state: TrainerState, truncated: int) -> TrainingFacts:
    if state.best_global_step is None or state.best_metric is None:
        raise RuntimeError(f"training ended at step {state.global_step} without a single evaluation")
    return TrainingFacts(
        steps=state.global_step,
        best_step=state.best_global_step,
        best_validation_perplexity=state.best_metric,
        tokens=state.num_input_tokens_seen,
        truncated_examples=truncated,
    )


def _card(
    experiment: Experiment,
    facts: CardFacts,
    train: Sequence[Example],
    validation: Sequence[Example],
    outcome: TrainingFacts,
) -> str:
    return render_model_card(
        experiment,
        facts=facts,
        train=SplitFacts.of(train),
        validation=SplitFacts.of(validation),
        training=outcome,
    )


def _history(state: TrainerState) -> tuple[LogRecord, ...]:
    """The Trainer's log, one record a step: it logs losses and evaluations apart."""
    perplexities = {entry["step"]: entry[PERPLEXITY] for entry in state.log_history if PERPLEXITY in entry}
    return tuple(
        LogRecord(
            step=int(entry["step"]),
            loss=entry["loss"],
            cross_entropy=entry["cross_entropy"],
            contrastive=entry.get("contrastive"),
            learning_rate=entry["learning_rate"],
            validation_perplexity=perplexities.get(entry["step"]),
        )
        for entry in state.log_history
        if "loss" in entry
    )


def _require_examples(train: Sequence[Example], validation: Sequence[Example]) -> None:
    if not train or not validation:
        raise ValueError(
            f"training needs examples to learn from and to validate on, found {len(train)} for training and "
            f"{len(validation)} for validation: crawl more publishers, or look at the corpus' reject reasons"
        )


def _fingerprint(examples: Sequence[Example]) -> str:
    """A hash of what training reads, in order."""
    digest = hashlib.sha256()
    for example in examples:
        digest.update(json.dumps([example.page_id, example.input, example.target]).encode())
    return f"{len(examples)} examples, sha256 {digest.hexdigest()}"


def _step_of(checkpoint: Path) -> int:
    return int(checkpoint.name.rpartition("-")[2])


def _write(path: Path, text: str) -> None:
    """Write a file whole: readers see the old one, or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


def _peak_mib() -> float:
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**20
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return resident / (2**20 if sys.platform == "darwin" else 2**10)  # bytes there, KiB elsewhere
