"""Using a trained adapter: loading it, greedy decoding, and predictions that record their failures.

Belongs here: from compact pages to texts and articles, and how likely a model finds the reference. Does not
belong here: encoding of prompts (`ml/datasets.py`), or storing and scoring predictions. Needs torch only when a
model is loaded.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from more_itertools import chunked
from pydantic import ValidationError

from ml.article import Article
from ml.backbones import known_deprecations, load_backbone, require_lm_extra
from ml.datasets import EncodedPrompt, encode_example, encode_prompt
from ml.experiments import Experiment
from ml.extras import quieten_bitsandbytes
from ml.metrics import perplexity
from ml.records import Example, Prediction
from ml.training_sets import Task

if TYPE_CHECKING:
    from peft import PeftModel
    from transformers import PreTrainedTokenizerBase

EXPERIMENT_FILE = "experiment.json"
"""Beside an adapter's weights: the experiment that made them, which says how to load them again."""

_SHOWN_MISMATCHES = 3


@dataclass(frozen=True, kw_only=True)
class LoadedModel:
    """A backbone with its adapter, ready to decode."""

    model: "PeftModel"
    tokenizer: "PreTrainedTokenizerBase"
    experiment: Experiment  # that trained the adapter


@dataclass(frozen=True, kw_only=True)
class Generation:
    """What a model wrote for one page. Token counts are its own tokenizer's, None where a server gives none."""

    text: str
    truncated: bool  # stopped by the length limit, not by the model
    seconds: float  # of its batch, divided by the pages in it
    input_tokens: int | None  # of the prompt, without padding
    new_tokens: int | None  # written, the end-of-text included


class Answer(NamedTuple):
    """What a generation holds, in the terms of `Prediction`."""

    text: str
    json: str | None
    error: str | None


def load_adapter(adapter_dir: Path, cache_dir: Path) -> LoadedModel:
    """The adapter that `ml.training.train` wrote, on its backbone, on the GPU where there is one.

    Raises `ValueError` where the folder is no such adapter; missing packages as in `load_backbone`.
    """
    experiment = _stored_experiment(adapter_dir)
    require_lm_extra()
    quieten_bitsandbytes()
    import torch
    from peft import PeftModel

    base, tokenizer = load_backbone(experiment.backbone, cache_dir=cache_dir, dtype=experiment.precision)
    with known_deprecations():
        model = PeftModel.from_pretrained(base, str(adapter_dir))
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    model.eval()
    return LoadedModel(model=model, tokenizer=tokenizer, experiment=experiment)


def generate(model: LoadedModel, compact: str, experiment: Experiment, max_new_tokens: int) -> Generation:
    """Continue the prompt of one compact page, greedily and without repetition penalty.

    Stops at the end-of-text token or after `max_new_tokens`. Raises `ValueError` on a page that the
    experiment refuses for its length.
    """
    prompt = encode_prompt(compact, model.tokenizer, experiment)
    [generation] = _generate(model, [prompt], experiment, max_new_tokens)
    return generation


def predict(
    model: LoadedModel,
    examples: Iterable[Example],
    experiment: Experiment,
    *,
    extractor: str,
    max_new_tokens: int | None = None,
) -> Iterator[Prediction]:
    """One prediction per example, in order, decoded in batches of the experiment's `decode_batch_size`.

    A page that fails yields a prediction with an empty text and its error; the others go on.
    `max_new_tokens` defaults to the experiment's `max_output_tokens`. Perplexity is of `target`; it is None where
    the experiment refuses the page or the target, and where the target is empty. It is no part of `seconds`.
    """
    limit = max_new_tokens or experiment.max_output_tokens
    for batch in chunked(examples, experiment.decode_batch_size):
        with _cpu_threads(experiment.cpu_threads):
            answered = list(_predict_batch(model, batch, experiment, extractor, limit))
        yield from answered


def target_nll(model: LoadedModel, example: Example, experiment: Experiment) -> tuple[float, int]:
    """Summed negative log-likelihood in nats of the example's target tokens, and their number.

    The model reads the page and, at each token, the reference's tokens before it. Prompt, length limits,
    end-of-text and precision are those of training, so exp(nll / tokens) of one example is the perplexity that
    a validation set of this example alone would have. Raises `ValueError` on an example that the experiment
    refuses for its length. Memory: logits exist for `loss_chunk_tokens` positions at a time.
    """
    import torch

    from ml import losses

    encoded = encode_example(example, model.tokenizer, experiment)
    causal: Any = model.model.get_base_model()
    device = model.model.device
    ids = torch.as_tensor(encoded.input_ids, dtype=torch.long, device=device)[None]  # (1, T)
    labels = torch.as_tensor(encoded.labels, dtype=torch.long, device=device)[None]  # (1, T)
    half = experiment.precision == "bfloat16"
    with torch.inference_mode(), torch.autocast(device.type, dtype=torch.bfloat16, enabled=half):
        hidden = causal.get_decoder()(input_ids=ids, use_cache=False).last_hidden_state  # (1, T, d)
        head = causal.get_output_embeddings()
        nll, tokens = losses.target_nll(hidden, head, labels, chunk=experiment.loss_chunk_tokens)
    return nll.item(), int(tokens.item())


@contextmanager
def _cpu_threads(count: int | None) -> Iterator[None]:
    """Torch's threads as in training, and as before afterwards: other models share the process."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def read_answer(written: str, task: Task) -> Answer:
    """What a model wrote, as text and, for the JSON task, as JSON; an error where it is not what was asked for."""
    json = written if task is Task.JSON else None
    try:
        text = written.strip() if json is None else to_article(json).plaintext
    except ValueError as mismatch:
        return Answer("", json, str(mismatch))
    return Answer(text, json, None if text else "the model wrote no text")


def to_article(text: str) -> Article:
    """Read what a model wrote as canonical JSON, strictly, as `Article.from_json` does.

    Raises `ValueError` with the first mismatches in one line, fit for `Prediction.error`.
    """
    try:
        return Article.from_json(text)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False)
        found = [f"{'.'.join(map(str, detail['loc'])) or 'text'}: {detail['msg']}" for detail in details]
        rest = len(found) - _SHOWN_MISMATCHES
        shown = [*found[:_SHOWN_MISMATCHES], *([f"and {rest} more"] if rest > 0 else [])]
        raise ValueError(f"not a JSON article: {'; '.join(shown)}") from error


def _stored_experiment(adapter_dir: Path) -> Experiment:
    path = adapter_dir / EXPERIMENT_FILE
    try:
        return Experiment.model_validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise ValueError(f"{adapter_dir} is no adapter of ours: expected {EXPERIMENT_FILE} in it") from error


def _predict_batch(
    model: LoadedModel, examples: Sequence[Example], experiment: Experiment, extractor: str, limit: int
) -> Iterator[Prediction]:
    outcomes = [_encode(example, model, experiment) for example in examples]
    prompts = [outcome for outcome in outcomes if isinstance(outcome, EncodedPrompt)]
    generations = iter(_generate(model, prompts, experiment, limit))
    for example, outcome in zip(examples, outcomes, strict=True):
        if isinstance(outcome, EncodedPrompt):
            yield _prediction(example, next(generations), model, experiment, extractor)
        else:
            yield Prediction.failed(
                example, extractor=extractor, error=outcome, seconds=0.0, device=model.model.device.type
            )


def _encode(example: Example, model: LoadedModel, experiment: Experiment) -> EncodedPrompt | ValueError:
    try:
        return encode_prompt(example.input, model.tokenizer, experiment)
    except ValueError as error:  # longer than the experiment takes
        return error


def _prediction(
    example: Example, generation: Generation, model: LoadedModel, experiment: Experiment, extractor: str
) -> Prediction:
    answer = read_answer(generation.text, experiment.task)
    target_perplexity, target_tokens = _perplexity(example, model, experiment)
    return Prediction(
        page_id=example.page_id,
        url=example.url,
        publisher=example.publisher,
        language=example.language,
        extractor=extractor,
        text=answer.text,
        json=answer.json,
        truncated=generation.truncated,
        seconds=generation.seconds,
        error=answer.error,
        device=model.model.device.type,
        input_tokens=generation.input_tokens,
        output_tokens=generation.new_tokens,
        target_perplexity=target_perplexity,
        target_tokens=target_tokens,
    )


def _perplexity(
    example: Example, model: LoadedModel, experiment: Experiment
) -> tuple[float | None, int | None]:
    """Of the target, and over how many tokens; nothing for an empty target or one that is refused."""
    if not example.target:
        return None, None
    try:
        nll, tokens = target_nll(model, example, experiment)
    except ValueError:  # the target is longer than the experiment takes; the answer counts nevertheless
        return None, None
    return perplexity.score(nll, tokens), tokens


def _generate(
    model: LoadedModel, prompts: Sequence[EncodedPrompt], experiment: Experiment, max_new_tokens: int
) -> list[Generation]:
    """Decode a batch, prompts padded on the left."""
    import torch

    if not prompts:
        return []
    started = time.perf_counter()
    width = max(len(prompt.input_ids) for prompt in prompts)
    ids = torch.full((len(prompts), width), model.tokenizer.pad_token_id)  # (B, T)
    mask = torch.zeros_like(ids)
    for row, prompt in enumerate(prompts):
        ids[row, width - len(prompt.input_ids) :] = torch.as_tensor(prompt.input_ids)
        mask[row, width - len(prompt.input_ids) :] = 1
    device = model.model.device
    written = model.model.generate(  # type: ignore[no-untyped-call]
        input_ids=ids.to(device),
        attention_mask=mask.to(device),
        max_new_tokens=max_new_tokens,
        do_sample=False,
        use_cache=True,
        eos_token_id=model.tokenizer.eos_token_id,
        pad_token_id=model.tokenizer.pad_token_id,
        prompt_lookup_num_tokens=experiment.prompt_lookup_tokens or None,
    )[:, width:].tolist()
    seconds = (time.perf_counter() - started) / len(prompts)
    return [
        _generation(prompt, row, model.tokenizer, seconds)
        for prompt, row in zip(prompts, written, strict=True)
    ]


def _generation(
    prompt: EncodedPrompt, written: list[int], tokenizer: "PreTrainedTokenizerBase", seconds: float
) -> Generation:
    """The text of one row of a batch: up to its end-of-text, or all of it where there is none."""
    ended = tokenizer.eos_token_id in written
    kept = written[: written.index(tokenizer.eos_token_id)] if ended else written
    text = tokenizer.decode(kept, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    return Generation(
        text=str(text),
        truncated=not ended,
        seconds=seconds,
        input_tokens=len(prompt.input_ids),
        new_tokens=len(kept) + ended,
    )
