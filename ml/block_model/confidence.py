"""How sure the model may be of a page: a calibrated probability from what its block probabilities look like.

Belongs here: the signs of a good or bad page and the logistic regression over them. Does not belong here: the
probabilities of blocks (`model.py`) or when an extraction counts as good (`training.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ml.alignment import Role
from ml.block_model.features import FEATURES, Matrix, Numbers

_WORDS = FEATURES.index("words")
_IS_TITLE = FEATURES.index("is_title")
_MASS = FEATURES.index("mass_total")
_CHARACTERS = FEATURES.index("characters")
SIGNS = ("constant", "kept_words", "kept_blocks", "kept_certainty", "left_out_share", "kept_of_mass", "has_title",
         "lowest_kept", "highest_left")  # fmt: skip
_RIDGE = 0.3
_STEPS = 50


def page_signs(features: Matrix, probabilities: Numbers, roles: Sequence[Role]) -> Numbers:
    """What tells a good extraction from a bad one, (`SIGNS`,): how much was kept, how clear the choice was."""
    kept = np.array([role is not Role.NONE for role in roles], dtype=bool)
    if not kept.any():
        return np.zeros(len(SIGNS))
    word_counts = features[:, _WORDS].astype(np.float64)
    text = 1 - probabilities[:, 0]
    expected = word_counts * text
    words_kept = float(word_counts[kept].sum())
    characters = float(features[kept, _CHARACTERS].sum())
    return np.array([
        1.0,
        np.log1p(words_kept),
        np.log1p(kept.sum()),
        float(expected[kept].sum()) / words_kept,
        float(expected[~kept].sum()) / max(float(expected.sum()), 1e-9),
        min(characters / max(float(features[0, _MASS]), 1.0), 2.0),
        float(features[:, _IS_TITLE].any()),
        float(np.quantile(text[kept], 0.1)),
        float(text[~kept].max(initial=0.0)),
    ])  # fmt: skip


@dataclass(frozen=True)
class Calibration:
    """A logistic regression: `weights` of `SIGNS`."""

    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.weights) != len(SIGNS):
            raise ValueError(
                f"found {len(self.weights)} weights of confidence, expected {len(SIGNS)}: {', '.join(SIGNS)}; "
                f"train the model anew"
            )

    def probability(self, signs: Numbers) -> float:
        """0 for a page of which nothing is kept, whatever the weights."""
        if not signs.any():
            return 0.0
        return float(_logistic(np.array(self.weights) @ signs))


def fit_calibration(signs: Numbers, is_good: npt.NDArray[np.bool_]) -> Calibration:
    """Weights that make `is_good`, (pages,), likeliest given `signs`, (pages, `SIGNS`), by Newton's method.

    Pages without any sign are left out: they have a confidence of their own.
    """
    said = signs.any(axis=1)
    signs, target = signs[said], is_good[said].astype(np.float64)
    weights = np.zeros(len(SIGNS))
    ridge = np.full(len(SIGNS), _RIDGE)  # keeps the weights finite where the pages can be told apart
    for _ in range(_STEPS):
        probability = _logistic(signs @ weights)
        gradient = signs.T @ (target - probability) - ridge * weights
        curvature = (signs * (probability * (1 - probability))[:, None]).T @ signs + np.diag(ridge)
        weights = weights + np.linalg.solve(curvature, gradient)
    return Calibration(tuple(float(weight) for weight in weights))


def _logistic(values: Numbers) -> Numbers:
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -30, 30))), dtype=np.float64)
