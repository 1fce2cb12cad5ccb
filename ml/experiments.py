"""Which models are trained, as data: one frozen, validated `Experiment` or `BlockExperiment` per row.

Belongs here: every number of a training run, with the paper's recipe as the defaults, and the table of
experiments. Does not belong here: how a number is used (`ml/training.py`, `ml/decoding.py`,
`ml/block_model/training.py`), or what a backbone is (`ml/backbones.py`). Nothing here needs torch.
"""

from typing import Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from ml.backbones import BACKBONES
from ml.training_sets import Task

_PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class Experiment(BaseModel):
    """One fine-tuning run. The defaults are the paper's recipe; lengths are tokens of the backbone.

    Training examines `batch_size` pages a step, evaluates every `eval_every` steps, and stops early when
    the validation perplexity has not improved at `patience` evaluations in a row.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    backbone: str
    task: Task

    # What is trained: LoRA without dropout on the attention and MLP projections.
    lora_rank: PositiveInt = 16
    lora_alpha: PositiveInt = 16
    target_modules: tuple[str, ...] = _PROJECTIONS
    modules_to_save: tuple[str, ...] = ()  # trained in full beside LoRA

    # How it is optimised: linear warm-up, then linear decay to zero at `max_steps`.
    optimizer: Literal["adamw_bnb_8bit", "adamw_torch"] = "adamw_bnb_8bit"
    learning_rate: PositiveFloat = 4e-5
    weight_decay: NonNegativeFloat = 0.01
    max_grad_norm: PositiveFloat = 1.0
    warmup_steps: NonNegativeInt = 1_000
    max_steps: PositiveInt = 60_000
    batch_size: PositiveInt = 1
    seed: NonNegativeInt = 42

    # SimCTG: total loss = cross-entropy + contrastive_weight * contrastive; 0 turns the second term off.
    contrastive_weight: NonNegativeFloat = 0.0
    contrastive_margin: float = 0.5

    # When to look, and when to keep a checkpoint. An evaluation always makes a checkpoint too.
    eval_every: PositiveInt = 1_000
    save_every: PositiveInt = 1_000
    log_every: PositiveInt = 10
    patience: PositiveInt = 3

    # Lengths. "refuse" raises on a longer example: the corpus filter should have removed it. "truncate"
    # keeps the head of the page and of the target, counts it, and reports it.
    max_input_tokens: PositiveInt = 24_000
    max_output_tokens: PositiveInt = 8_000
    overlong: Literal["refuse", "truncate"] = "refuse"

    # What it costs.
    precision: Literal["bfloat16", "float32"] = "bfloat16"
    gradient_checkpointing: bool = True
    cpu_threads: PositiveInt | None = None  # None is all cores; on a CPU, equal weights need an equal number
    loss_chunk_tokens: PositiveInt = 1_024  # target positions whose logits exist at the same time
    decode_batch_size: PositiveInt = 1
    prompt_lookup_tokens: NonNegativeInt = 0  # guessed ahead by copying from the page; 0 is off

    @model_validator(mode="after")
    def _check(self) -> Self:
        mismatches = []
        if self.backbone not in BACKBONES:
            mismatches.append(f"backbone is {self.backbone!r}, expected one of {', '.join(BACKBONES)}")
        if not 0 <= self.contrastive_margin <= 1:
            mismatches.append(f"contrastive_margin is {self.contrastive_margin}, expected 0 to 1")
        if self.warmup_steps >= self.max_steps:
            mismatches.append(f"warmup_steps is {self.warmup_steps}, expected fewer than {self.max_steps}")
        if self.prompt_lookup_tokens and self.decode_batch_size > 1:
            mismatches.append(
                f"prompt_lookup_tokens is {self.prompt_lookup_tokens} with decode_batch_size "
                f"{self.decode_batch_size}: transformers speculates on single pages only, set one to 0 or 1"
            )
        if mismatches:
            raise ValueError("; ".join(mismatches))
        return self


class BlockExperiment(BaseModel):
    """One training of trees over the blocks of pages. They copy both text and fields, so that the task is JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    task: Task = Task.JSON
    max_pages: PositiveInt = 4_000  # evenly of all families; some 1.5 GiB of features
    seed: NonNegativeInt = 0


def _tiny(task: Task) -> Experiment:
    """Random weights, 2 layers: proves the pipeline in seconds on a CPU, and learns little more than words.

    LoRA alone cannot teach a random network to write, since its output layer stays random, so that
    layer is trained in full as well.
    """
    return Experiment(
        name=f"tiny-{task}",
        backbone="tiny",
        task=task,
        modules_to_save=("lm_head",),
        optimizer="adamw_torch",
        learning_rate=1e-2,
        warmup_steps=10,
        max_steps=150,
        contrastive_weight=1.0,
        eval_every=50,
        save_every=50,
        max_input_tokens=512,
        max_output_tokens=128,
        overlong="truncate",
        precision="float32",
        gradient_checkpointing=False,
        cpu_threads=1,  # a second gains a third at best, and costs ten times as long on a busy machine
        decode_batch_size=16,
    )


def _smollm2(task: Task) -> Experiment:
    """The smallest useful backbone: fine-tunes on a CPU within hours, in minutes on a GPU."""
    return Experiment(
        name=f"smollm2-135m-{task}",
        backbone="smollm2-135m",
        task=task,
        optimizer="adamw_torch",
        learning_rate=2e-4,
        warmup_steps=50,
        max_steps=2_000,
        contrastive_weight=1.0,
        eval_every=100,
        save_every=50,
        max_input_tokens=6_144,  # with the answer, inside the 8,192 positions it was trained for
        max_output_tokens=1_792,
        overlong="truncate",
        prompt_lookup_tokens=10,
    )


def _paper_row(row: str, backbone: str, task: Task, *, simctg: bool) -> Experiment:
    """A row of the paper's tables 3 to 6: its recipe, unchanged."""
    return Experiment(
        name=f"{row}-{task}", backbone=backbone, task=task, contrastive_weight=1.0 if simctg else 0.0
    )


def _experiments(task: Task) -> list[Experiment]:
    return [
        _tiny(task),
        _smollm2(task),
        _paper_row("qwen2.5-1.5b", "qwen2.5-1.5b", task, simctg=False),
        _paper_row("qwen2.5-1.5b-simctg", "qwen2.5-1.5b", task, simctg=True),
        _paper_row("news-crawler-lm", "readerlm-v2", task, simctg=True),
    ]


EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment for task in Task for experiment in _experiments(task)
}


BLOCK_MODELS: dict[str, BlockExperiment] = {
    experiment.name: experiment for experiment in (BlockExperiment(name="block-model"),)
}

TASKS: dict[str, Task] = {
    **{name: experiment.task for name, experiment in BLOCK_MODELS.items()},
    **{name: experiment.task for name, experiment in EXPERIMENTS.items()},
}
"""What every model that can be trained is asked to write, by the name of its experiment."""


def experiment_named(name: str) -> Experiment:
    """The experiment of that name; a `ValueError` lists the names there are."""
    if name not in EXPERIMENTS:
        raise ValueError(f"no experiment is named {name!r}; there are: {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]
