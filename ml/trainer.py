"""The training loop: a `transformers.Trainer` with the two-term loss and perplexity on target tokens.

Belongs here: what happens in a step, in an evaluation, and when to log and save. Does not belong here:
the loss formulas (`ml/losses.py`), or what surrounds a run: its folder, resume and result
(`ml/training.py`). One process; under DDP the decoder would have to be run through the wrapped model.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch  # noqa: TID253 - this module is torch code; `ml/training.py` imports it, itself lazily imported
from peft import LoraConfig, PeftModel, get_peft_model  # noqa: TID253
from torch import Tensor, nn  # noqa: TID253
from transformers import (  # noqa: TID253
    EarlyStoppingCallback,
    PreTrainedModel,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.trainer_callback import PrinterCallback  # noqa: TID253

from ml.backbones import known_deprecations
from ml.datasets import IGNORE, Encoded
from ml.experiments import Experiment
from ml.losses import contrastive_loss, target_cross_entropy, target_nll

OnLog = Callable[[Mapping[str, float]], None]

PERPLEXITY = "eval_perplexity"
"""The key of the validation perplexity in the Trainer's own log history."""

_LOGGED = ("loss", "cross_entropy", "contrastive", "learning_rate", "grad_norm")
_KEPT_CHECKPOINTS = 3  # the best, the newest, and the one before in case the newest was cut off


class ExtractionTrainer(Trainer):
    """Trains a LoRA adapter on encoded examples and remembers the step of the best evaluation."""

    def __init__(
        self,
        model: PeftModel,
        experiment: Experiment,
        *,
        train: Sequence[Encoded],
        validation: Sequence[Encoded],
        pad_token_id: int,
        checkpoints: Path,
        on_log: OnLog,
    ) -> None:
        super().__init__(
            model=model,
            args=_arguments(experiment, checkpoints),
            train_dataset=train,
            eval_dataset=validation,
            data_collator=partial(collate, pad_token_id=pad_token_id),
            callbacks=[
                _LogAndSaveWithEvaluation(),
                EarlyStoppingCallback(experiment.patience),
            ],
        )
        self.remove_callback(PrinterCallback)
        self.loss_is_scaled_for_ga = False  # ours is a mean per batch: the Trainer divides it
        self._experiment = experiment
        self._adapter = model
        causal: Any = model.get_base_model()
        self._decoder, self._lm_head = causal.get_decoder(), causal.get_output_embeddings()
        self._on_log = on_log
        self._terms: list[dict[str, float]] = []  # of the steps since the last log

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Tensor],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """Cross-entropy of the targets plus the weighted contrastive term, from one run of the decoder."""
        with self.accelerator.autocast():
            terms = self._loss_terms(inputs)
        loss = terms["cross_entropy"]
        if "contrastive" in terms:
            loss = loss + self._experiment.contrastive_weight * terms["contrastive"]
        self._terms.append({name: term.item() for name, term in terms.items()})
        if not math.isfinite(loss.item()):
            raise _diverged(f"the loss is made of {self._terms[-1]}", self.state.global_step + 1)
        return (loss, {}) if return_outputs else loss

    def evaluate(
        self,
        eval_dataset: Any = None,
        ignore_keys: list[str] | None = None,
        metric_key_prefix: str = "eval",
    ) -> dict[str, float]:
        """Perplexity of the validation targets: exp(sum of nll / number of tokens), not a mean of means."""
        self._adapter.eval()
        total, tokens = 0.0, 0
        for batch in self.get_eval_dataloader(eval_dataset):
            nll, count = self._batch_nll(self._prepare_inputs(batch))
            total, tokens = total + nll, tokens + count
        mean = total / tokens
        if not mean < math.log(torch.finfo(torch.float64).max):  # false for NaN, too
            raise _diverged(f"the validation loss is {mean}", self.state.global_step)
        metrics = {f"{metric_key_prefix}_perplexity": math.exp(mean)}
        self.log(dict(metrics))
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Add the loss' terms, and pass what a person follows to `on_log`."""
        if "loss" in logs:
            logs |= {name: _mean(terms[name] for terms in self._terms) for name in self._terms[0]}
            self._terms = []
        super().log(logs, start_time)
        public = {name: logs[name] for name in _LOGGED if name in logs}
        if PERPLEXITY in logs:
            public["validation_perplexity"] = logs[PERPLEXITY]
        if public:
            self._on_log({"step": float(self.state.global_step), **public})

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """The adapter only. peft would ask the hub whether the vocabulary grew; it never does."""
        self._adapter.save_pretrained(str(output_dir or self.args.output_dir), save_embedding_layers=False)

    def _clip_grad_norm(self, model: nn.Module) -> Tensor:
        """A finite loss can have gradients that are not. Clipped, they would be NaN, or silently zero."""
        norm: Tensor = super()._clip_grad_norm(model)  # type: ignore[no-untyped-call]
        if not norm.isfinite():
            raise _diverged(f"the norm of the gradient is {norm.item()}", self.state.global_step + 1)
        return norm

    def _loss_terms(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        settings = self._experiment
        hidden = self._last_hidden(inputs)
        nll = target_cross_entropy(hidden, self._lm_head, inputs["labels"], chunk=settings.loss_chunk_tokens)
        if not settings.contrastive_weight:
            return {"cross_entropy": nll}
        contrastive = contrastive_loss(hidden, inputs["attention_mask"], settings.contrastive_margin)
        return {"cross_entropy": nll, "contrastive": contrastive}

    def _batch_nll(self, batch: dict[str, Tensor]) -> tuple[float, int]:
        with torch.no_grad(), self.accelerator.autocast():
            nll, tokens = target_nll(
                self._last_hidden(batch),
                self._lm_head,
                batch["labels"],
                chunk=self._experiment.loss_chunk_tokens,
            )
        return nll.item(), int(tokens.item())

    def _last_hidden(self, inputs: dict[str, Tensor]) -> Tensor:
        """Last hidden states (B, T, d).

        The decoder is called below the causal model, which would make logits of every position. That
        also steps around accelerate's wrapper of `forward`: autocast is the caller's business.
        """
        output = self._decoder(
            input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"], use_cache=False
        )
        hidden: Tensor = output.last_hidden_state
        return hidden


class _LogAndSaveWithEvaluation(TrainerCallback):
    """An evaluation needs a checkpoint, since it may be the best; a checkpoint needs an empty log.

    With nothing half-accumulated in a checkpoint, a resumed run logs the numbers of an unbroken one.
    """

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> TrainerControl:
        control.should_save = control.should_save or control.should_evaluate
        control.should_log = control.should_log or control.should_save
        return control


def with_lora(model: PreTrainedModel, experiment: Experiment) -> PeftModel:
    """The model with fresh LoRA layers, drawn from torch's global generator; all else is frozen."""
    config = LoraConfig(
        r=experiment.lora_rank,
        lora_alpha=experiment.lora_alpha,
        lora_dropout=0.0,
        target_modules=list(experiment.target_modules),
        modules_to_save=list(experiment.modules_to_save) or None,
        task_type="CAUSAL_LM",
    )
    if experiment.gradient_checkpointing:
        model.enable_input_require_grads()  # type: ignore[no-untyped-call]
    with known_deprecations():
        return get_peft_model(model, config)


def collate(examples: Sequence[Encoded], *, pad_token_id: int) -> dict[str, Tensor]:
    """Examples padded on the right to the longest: `input_ids`, `attention_mask`, `labels`, each (B, T)."""

    def padded(rows: Iterable[Any], value: int) -> Tensor:
        tensors = [torch.as_tensor(row, dtype=torch.long) for row in rows]
        return nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=value)

    return {
        "input_ids": padded((example.input_ids for example in examples), pad_token_id),
        "attention_mask": padded((torch.ones(len(example.input_ids)) for example in examples), 0),
        "labels": padded((example.labels for example in examples), IGNORE),
    }


def _arguments(experiment: Experiment, checkpoints: Path) -> TrainingArguments:
    """The Trainer's settings; those that are not an experiment's own are here for exact resume."""
    return TrainingArguments(
        output_dir=str(checkpoints),
        seed=experiment.seed,
        data_seed=experiment.seed,
        max_steps=experiment.max_steps,
        per_device_train_batch_size=experiment.batch_size,
        per_device_eval_batch_size=experiment.batch_size,
        optim=experiment.optimizer,
        learning_rate=experiment.learning_rate,
        weight_decay=experiment.weight_decay,
        max_grad_norm=experiment.max_grad_norm,
        warmup_steps=experiment.warmup_steps,
        lr_scheduler_type="linear",
        use_cpu=not torch.cuda.is_available(),  # said outright: otherwise bf16 on a CPU is refused
        bf16=experiment.precision == "bfloat16",
        activation_checkpointing=experiment.gradient_checkpointing,
        activation_checkpointing_kwargs={"use_reentrant": False},
        eval_strategy="steps",
        eval_steps=experiment.eval_every,
        save_strategy="steps",
        save_steps=experiment.save_every,
        save_total_limit=_KEPT_CHECKPOINTS,
        metric_for_best_model=PERPLEXITY,
        greater_is_better=False,
        restore_callback_states_from_checkpoint=True,  # otherwise a resumed run forgets its patience
        logging_steps=experiment.log_every,
        logging_nan_inf_filter=False,  # it would replace a NaN by the mean of earlier losses
        include_num_input_tokens_seen="non_padding",
        label_names=["labels"],
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
        report_to="none",
        disable_tqdm=True,
        log_level="error",
    )


def _diverged(what: str, step: int) -> RuntimeError:
    return RuntimeError(
        f"training diverged at step {step}: {what}. Lower learning_rate or max_grad_norm, or use "
        f"precision='float32', and train in a new output folder; the checkpoints before this step are intact"
    )


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)
