"""Examples as token ids: prompt, page and target for training, prompt and page for decoding.

Belongs here: tokenising, length limits and labels. Does not belong here: which examples there are
(the `training_sets` asset) or padding into tensors (`ml/training.py`, `ml/decoding.py`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ml.experiments import Experiment
from ml.prompts import PROMPTS
from ml.records import Example

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

IGNORE = -100
"""The label of a token that is no target; the value that torch's cross-entropy skips."""

Ids = npt.NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class Encoded:
    """One example as the model sees it: `prompt_tokens` ids to read, then the ids to write."""

    input_ids: Ids  # (T,)
    prompt_tokens: int
    truncated: bool  # the page or the target was cut to the experiment's limits

    @property
    def labels(self) -> Ids:
        """`input_ids` with `IGNORE` on the prompt (T,); not shifted, the loss does that."""
        labels = self.input_ids.copy()
        labels[: self.prompt_tokens] = IGNORE
        return labels


@dataclass(frozen=True, kw_only=True)
class EncodedPrompt:
    """A prompt ready to be continued."""

    input_ids: Ids  # (T,)
    truncated: bool


def encode_prompt(
    compact: str, tokenizer: "PreTrainedTokenizerBase", experiment: Experiment
) -> EncodedPrompt:
    """Tokenise the prompt around a compact page.

    A page above `max_input_tokens` raises `ValueError` with the numbers where the experiment refuses
    overlong pages; where it truncates, the head of the page is kept: headline and first paragraphs.
    """
    prompt = PROMPTS[experiment.task]
    page = _tokenise(compact, tokenizer)
    page, truncated = _fit(page, experiment.max_input_tokens, "page", experiment)
    ids = [*_tokenise(prompt.before, tokenizer), *page, *_tokenise(prompt.after, tokenizer)]
    return EncodedPrompt(input_ids=np.array(ids, dtype=np.int32), truncated=truncated)


def encode_example(example: Example, tokenizer: "PreTrainedTokenizerBase", experiment: Experiment) -> Encoded:
    """Tokenise an example: prompt, page, target, end-of-text; labels are the target and the end.

    Lengths are handled as in `encode_prompt`. A truncated target gets no end-of-text: the model must not
    learn to stop in the middle of an article.
    """
    try:
        prompt = encode_prompt(example.input, tokenizer, experiment)
        target, cut = _fit(
            _tokenise(example.target, tokenizer), experiment.max_output_tokens, "target", experiment
        )
    except ValueError as error:
        raise ValueError(f"{example.url}: {error}") from error
    if not cut:
        target = [*target, tokenizer.eos_token_id]
    return Encoded(
        input_ids=np.concatenate([prompt.input_ids, np.array(target, dtype=np.int32)]),
        prompt_tokens=len(prompt.input_ids),
        truncated=prompt.truncated or cut,
    )


def encode_examples(
    examples: Iterable[Example], tokenizer: "PreTrainedTokenizerBase", experiment: Experiment
) -> list[Encoded]:
    """`encode_example` for each; raises once, naming every overlong example (the first few in full)."""
    encoded, refused = [], []
    for example in examples:
        try:
            encoded.append(encode_example(example, tokenizer, experiment))
        except ValueError as error:
            refused.append(str(error))
    if refused:
        shown = "; ".join(refused[:5])
        raise ValueError(f"{len(refused)} of {len(refused) + len(encoded)} examples are too long: {shown}")
    return encoded


def _tokenise(text: str, tokenizer: "PreTrainedTokenizerBase") -> list[int]:
    """Ids of `text`, in which nothing is special: a page may well contain the letters "<|im_end|>"."""
    encodable = text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate is no text
    ids: list[int] = tokenizer(encodable, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    return ids


def _fit(ids: list[int], limit: int, what: str, experiment: Experiment) -> tuple[list[int], bool]:
    """The ids within `limit`, and whether any were cut off."""
    if len(ids) <= limit:
        return ids, False
    if experiment.overlong == "refuse":
        raise ValueError(
            f"the {what} has {len(ids):,} tokens, {experiment.name} takes at most {limit:,}: filter it from "
            f"the corpus, raise the experiment's limit, or set overlong='truncate'"
        )
    return ids[:limit], True
