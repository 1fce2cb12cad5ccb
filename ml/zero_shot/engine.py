"""What runs a model: the interface that the engines share.

Belongs here: what is asked of an engine, and how it says that a page failed. Does not belong here: an engine,
which is a file of its own, or wording (`ml/zero_shot/prompts.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ml.decoding import Generation


@dataclass(frozen=True, kw_only=True)
class Message:
    """One turn of a chat, as chat templates and the OpenAI protocol have it."""

    role: Literal["system", "user"]
    content: str


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """How an answer is written: greedily, within these limits."""

    context_tokens: int  # prompt and answer together
    max_new_tokens: int
    repetition_penalty: float = 1.0  # 1 is none; always stated, since engines have defaults of their own


class GenerationFailedError(Exception):
    """This page has no answer, for a reason of its own; others may have one."""


class Engine(Protocol):
    """Runs one model. `device` is what `Prediction.device` says: cpu, cuda or server."""

    @property
    def device(self) -> str: ...

    @property
    def concurrency(self) -> int:
        """How many threads may call `generate` at the same time."""
        ...

    def generate(self, messages: Sequence[Message], decoding: Decoding) -> Generation:
        """The model's next turn.

        Raises `GenerationFailedError` where this page gets no answer, one that does not fit the context among
        them, and `RuntimeError` where no page would.
        """
        ...
