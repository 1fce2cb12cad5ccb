"""Runs a model in this process with transformers, on the GPU where there is one.

Belongs here: loading, the chat template and greedy decoding of one page at a time. Does not belong here: prompts
or pages. Needs torch only when a model is loaded. For many pages of a large model, a server is faster
(`ml/zero_shot/server_engine.py`).
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ml.backbones import Dtype, require_lm_extra
from ml.decoding import Generation
from ml.zero_shot.engine import Decoding, GenerationFailedError, Message
from ml.zero_shot.models import ZeroShotModel

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True, kw_only=True)
class TransformersEngine:
    """A loaded model with its tokenizer. `chat_template` is for a tokenizer that has none."""

    model: "PreTrainedModel"
    tokenizer: "PreTrainedTokenizerBase"
    chat_template: str | None = None

    @classmethod
    def load(cls, model: ZeroShotModel, *, cache_dir: Path, dtype: Dtype = "bfloat16") -> Self:
        """The model's weights from the hub, its cache or a package.

        Raises `RuntimeError`, with the command to run, where a package or the weights are missing.
        """
        require_lm_extra()
        import torch

        weights, tokenizer = model.backbone.load(model.backbone, cache_dir, dtype)
        weights.to("cuda" if torch.cuda.is_available() else "cpu")  # type: ignore[arg-type]
        return cls(model=weights, tokenizer=tokenizer, chat_template=model.chat_template)

    @property
    def device(self) -> str:
        """cpu or cuda."""
        return str(self.model.device.type)

    @property
    def concurrency(self) -> int:
        """One model computes one page at a time."""
        return 1

    def generate(self, messages: Sequence[Message], decoding: Decoding) -> Generation:
        """The model's next turn. A prompt too long for the context, or for the GPU's memory, fails its page."""
        prompt = self._encode(messages, decoding)
        started = time.perf_counter()
        written = self._continue(prompt, decoding)
        return self._generation(prompt, written, time.perf_counter() - started)

    def _encode(self, messages: Sequence[Message], decoding: Decoding) -> "Tensor":
        """The chat up to the model's turn, (1, T)."""
        encoded: Any = self.tokenizer.apply_chat_template(
            [asdict(message) for message in messages],
            chat_template=self.chat_template,
            add_generation_prompt=True,
            return_dict=True,
            return_tensors="pt",
        )
        prompt: Tensor = encoded["input_ids"]
        allowed = decoding.context_tokens - decoding.max_new_tokens
        if prompt.shape[1] > allowed:
            raise GenerationFailedError(
                f"the prompt has {prompt.shape[1]:,} tokens, expected at most {allowed:,}: a context of "
                f"{decoding.context_tokens:,} less {decoding.max_new_tokens:,} for the answer"
            )
        return prompt

    def _continue(self, prompt: "Tensor", decoding: Decoding) -> list[int]:
        """What the model writes after the prompt, with the token that ends it where it came to one."""
        import torch

        try:
            output = self.model.generate(  # type: ignore[operator]
                input_ids=prompt.to(self.model.device),
                attention_mask=torch.ones_like(prompt).to(self.model.device),
                max_new_tokens=decoding.max_new_tokens,
                repetition_penalty=decoding.repetition_penalty,
                do_sample=False,
                eos_token_id=self._ends(),
                pad_token_id=self.tokenizer.pad_token_id,
            )
        except torch.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            raise GenerationFailedError(
                f"the memory of the GPU does not hold a prompt of {prompt.shape[1]:,} tokens"
            ) from error
        written: list[int] = output[0, prompt.shape[1] :].tolist()
        return written

    def _generation(self, prompt: "Tensor", written: list[int], seconds: float) -> Generation:
        ended = written[-1] in self._ends()
        text = self.tokenizer.decode(
            written[:-1] if ended else written, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return Generation(
            text=str(text),
            truncated=not ended,
            seconds=seconds,
            input_tokens=prompt.shape[1],
            new_tokens=len(written),
        )

    def _ends(self) -> list[int]:
        """Tokens that end an answer: the tokenizer's, and those that the weights' own settings name."""
        named = self.model.generation_config.eos_token_id
        return [self.tokenizer.eos_token_id, *(named if isinstance(named, list) else filter(None, [named]))]
