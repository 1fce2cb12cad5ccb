"""Gradient-boosted trees as text: what models here are made of, in memory, in files and between processes.

Belongs here: LightGBM's text form, cut to what prediction needs. Does not belong here: what the columns mean, or
training (`ml/block_model/`, `ml/fields/`).
"""

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt
from pydantic import ConfigDict, RootModel, model_validator

if TYPE_CHECKING:
    from lightgbm import Booster

# What LightGBM writes for training to go on, and where each tree starts: half of the text, and no part of a prediction.
_UNUSED = re.compile(
    r"^(split_gain|leaf_weight|leaf_count|internal_value|internal_weight|internal_count|tree_sizes)=.*\n",
    re.MULTILINE,
)
_END = "end of trees\n"


class Trees(RootModel[str]):
    """Trees that were trained; equal texts predict the same. Unreadable text is a `ValidationError`."""

    model_config = ConfigDict(frozen=True)

    @classmethod
    def of(cls, booster: "Booster") -> Self:
        """What `booster` predicts, without what only its training needed."""
        text, _, _ = booster.model_to_string().partition(_END)
        return cls(_UNUSED.sub("", text) + _END)

    def predict(
        self, rows: npt.NDArray[np.float32] | npt.NDArray[np.float64], threads: int = 1
    ) -> npt.NDArray[np.float64]:
        """Probabilities, (rows,) of a binary model and (rows, classes) of one with classes."""
        return np.asarray(self._booster.predict(rows, num_threads=threads), dtype=np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        """How many columns a row has, and how many classes there are (1 of a binary model)."""
        return self._booster.num_feature(), self._booster.num_model_per_iteration()

    @cached_property
    def _booster(self) -> "Booster":
        from lightgbm import Booster

        return Booster(model_str=self.root)

    @model_validator(mode="after")
    def _is_readable(self) -> Self:
        from lightgbm.basic import LightGBMError

        try:
            _ = self.shape
        except LightGBMError as error:
            raise ValueError(f"found trees that LightGBM cannot read ({error})") from error
        return self

    def __getstate__(self) -> dict[object, object]:
        """Without the loaded trees: another process loads them from their text."""
        return super().__getstate__() | {"__dict__": {"root": self.root}}


def same_as(expected: Sequence[str]) -> Callable[[tuple[str, ...]], tuple[str, ...]]:
    """A validator of the names that a stored model was trained with: another release may compute others."""

    def check(found: tuple[str, ...]) -> tuple[str, ...]:
        if found != tuple(expected):
            more, fewer = sorted(set(found) - set(expected)), sorted(set(expected) - set(found))
            raise ValueError(
                f"found {len(found)} names, expected the {len(expected)} of this release in their order (only in the "
                f"model: {', '.join(more) or 'none'}; only in this release: {', '.join(fewer) or 'none'})"
            )
        return found

    return check
