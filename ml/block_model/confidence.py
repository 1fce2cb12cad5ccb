"""How sure the model may be that a page holds an article: a probability from what its labelled blocks look like.

Belongs here: the signs of an article and the logistic regression over them. Does not belong here: the probabilities
of blocks (`model.py`) or the pages without an article to learn from (`non_articles.py`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ml.alignment import Role
from ml.block_model.features import FEATURES, Matrix, Numbers
from ml.metadata import Fact, Source
from ml.page import Page

_WORDS, _CHARACTERS = FEATURES.index("words"), FEATURES.index("characters")
_LINK_DENSITY = FEATURES.index("link_density")
_MASS = FEATURES.index("mass_total")
_IS_TITLE, _FROM_TITLE = FEATURES.index("is_title"), FEATURES.index("from_title")
SIGNS = ("constant", "kept_words", "kept_blocks", "kept_certainty", "left_out_share", "kept_of_mass", "has_title",
         "lowest_kept", "highest_left", "filled", "runs", "words_per_block", "linked_lines", "short_lines",
         "follows_title", "left_out_inside", "says_article")  # fmt: skip
_LINKED, _MOST_LINKED_LINES = 0.8, 3.0  # of a line's characters in links; lines a kept block
_SHORT_WORDS, _FEW_WORDS = 12, 3
_TITLE_REACH = 30  # blocks from a title to its text: bylines, a picture, a player
_ARTICLE_TYPE = re.compile(r"(article|posting|report|review|critique)$")
_RIDGE = 0.3
_STEPS = 50


def page_signs(page: Page, features: Matrix, probabilities: Numbers, roles: Sequence[Role]) -> Numbers:
    """What tells an article from other pages, (`SIGNS`,): how much was kept, how clearly, how it stands, and what
    the page says that it is."""
    kept = np.array([role is not Role.NONE for role in roles], dtype=bool)
    if not kept.any():
        return np.zeros(len(SIGNS))
    text = 1 - probabilities[:, 0]
    signs = [1.0, *_of_certainty(features, text, kept), *_of_shape(features, kept), float(says_article(page))]
    return np.array(signs)


def says_article(page: Page) -> bool:
    """Whether the page states an article's type, or a date of publication: 248 of 251 real articles do."""
    is_typed = any(_ARTICLE_TYPE.search(kind) for kind in page.metadata.kinds)
    return is_typed or bool(page.metadata.values(Fact.PUBLISHED, Source.JSON_LD, Source.META))


def _of_certainty(features: Matrix, text: Numbers, kept: npt.NDArray[np.bool_]) -> tuple[float, ...]:
    word_counts = features[:, _WORDS].astype(np.float64)
    expected = word_counts * text
    words_kept = float(word_counts[kept].sum())
    characters = float(features[kept, _CHARACTERS].sum())
    return (
        float(np.log1p(words_kept)),
        float(np.log1p(kept.sum())),
        float(expected[kept].sum()) / words_kept,
        float(expected[~kept].sum()) / max(float(expected.sum()), 1e-9),
        min(characters / max(float(features[0, _MASS]), 1.0), 2.0),
        float(features[:, _IS_TITLE].any()),
        float(np.quantile(text[kept], 0.1)),
        float(text[~kept].max(initial=0.0)),
    )


def _of_shape(features: Matrix, kept: npt.NDArray[np.bool_]) -> tuple[float, ...]:
    """An article is a run of paragraphs below its title; a front page is many short texts, each below a link."""
    at = np.flatnonzero(kept)
    inside = slice(int(at[0]), int(at[-1]) + 1)
    words, is_kept = features[inside, _WORDS].astype(np.float64), kept[inside]
    is_linked = (features[inside, _LINK_DENSITY] > _LINKED) & (words > _FEW_WORDS)
    return (
        len(at) / len(words),
        (1 + int((np.diff(at) > 1).sum())) / len(at),
        float(np.log1p(words[is_kept].mean())),
        min(float(is_linked.sum()) / len(at), _MOST_LINKED_LINES),
        float((words[is_kept] < _SHORT_WORDS).mean()),
        float(0 <= features[at[0], _FROM_TITLE] <= _TITLE_REACH),
        float(words[~is_kept].sum() / words.sum()),
    )


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


UNSURE = Calibration((0.0,) * len(SIGNS))
"""Of a model that is not calibrated."""


def fit_calibration(
    signs: Numbers, is_article: npt.NDArray[np.bool_], weights: Numbers | None = None
) -> Calibration:
    """What makes `is_article`, (pages,), likeliest given `signs`, (pages, `SIGNS`), by Newton's method.

    A page counts as often as its weight in `weights`, (pages,), says; once, unless given. Pages without any sign
    are left out: they have a confidence of their own.
    """
    said = signs.any(axis=1)
    counts = (np.ones(len(signs)) if weights is None else weights)[said]
    signs, target = signs[said], is_article[said].astype(np.float64)
    fitted = np.zeros(len(SIGNS))
    ridge = np.full(len(SIGNS), _RIDGE)  # keeps the weights finite where the pages can be told apart
    for _ in range(_STEPS):
        probability = _logistic(signs @ fitted)
        gradient = signs.T @ ((target - probability) * counts) - ridge * fitted
        curvature = (signs * (counts * probability * (1 - probability))[:, None]).T @ signs + np.diag(ridge)
        fitted = fitted + np.linalg.solve(curvature, gradient)
    return Calibration(tuple(float(weight) for weight in fitted))


def _logistic(values: Numbers) -> Numbers:
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -30, 30))), dtype=np.float64)
