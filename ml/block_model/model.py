"""The block model: which blocks of a page are its article, and how sure that is.

Belongs here: the two stages of trees, what is decided from their probabilities, and the model as a text file. Does
not belong here: features (`features.py`, `context.py`), training (`training.py`) or writing an article
(`rendering.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from ml.alignment import Role
from ml.block_model.confidence import Calibration, page_signs, says_article
from ml.block_model.context import WIDTH, with_context
from ml.block_model.features import FEATURES, Matrix, Numbers, block_features
from ml.page import Page
from ml.trees import Trees, same_as

ROLES = tuple(Role)
IS_CANDIDATE = 0.01  # of being text, by the first stage; the second does not look at what lies below
LEAST_CONFIDENCE, LEAST_OF_SAID_ARTICLE = 0.3, 0.05
"""Below, a page is refused; one that says itself that it is an article seldom errs. An article that is lost costs more
than a page too many, whose confidence tells."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Labels:
    """What the model makes of a page.

    `probabilities` has a row a block and a column a role, in the order of `ROLES`. `confidence`, 0 to 1, is how
    probable it is that the page holds an article, where two of three pages do.
    """

    roles: tuple[Role, ...]
    probabilities: Numbers
    confidence: float
    says_article: bool  # the page itself

    @property
    def is_article(self) -> bool:
        """Whether the labelled text may be taken for an article; a home page or a login wall has none."""
        return self.confidence >= (LEAST_OF_SAID_ARTICLE if self.says_article else LEAST_CONFIDENCE)


class BlockModel(BaseModel):
    """Trees in two stages: is a block text, on its own; then its role, seeing what is thought of the others.

    `first` is a binary model, `second` one or more of a class a role, whose mean counts: they differ in their seeds.
    A block is text where the second stage gives it at least `threshold`. `features` and `roles` are those of the
    release that trained it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    features: Annotated[tuple[str, ...], AfterValidator(same_as(FEATURES))] = FEATURES
    roles: Annotated[tuple[str, ...], AfterValidator(same_as(ROLES))] = ROLES
    threshold: Annotated[float, Field(gt=0, lt=1)]
    confidence: Calibration
    first: Trees
    second: Annotated[tuple[Trees, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _has_its_shape(self) -> Self:
        found = [trees.shape for trees in (self.first, *self.second)]
        expected = [(len(FEATURES), 1), *[(WIDTH, len(ROLES))] * len(self.second)]
        if found != expected:
            raise ValueError(
                f"found trees over (columns, classes) {found}, expected {expected} of the two stages"
            )
        return self

    def predict(self, page: Page, *, threads: int = 1) -> Labels:
        """The roles of a page's blocks; same page, same labels, whatever the number of threads."""
        return self.labels(page, block_features(page), threads=threads)

    def labels(self, page: Page, features: Matrix, *, threads: int = 1) -> Labels:
        """The same, of features that are at hand."""
        probabilities = self._probabilities(page, features, threads)
        roles = decide(probabilities, self.threshold)
        confidence = self.confidence.probability(page_signs(page, features, probabilities, roles))
        return Labels(
            roles=roles,
            probabilities=probabilities,
            confidence=confidence,
            says_article=says_article(page),
        )

    def _probabilities(self, page: Page, features: Matrix, threads: int) -> Numbers:
        probabilities = certainly_nothing(len(features))
        if not len(features):
            return probabilities
        text = self.first.predict(features, threads)
        candidates = text > IS_CANDIDATE
        if candidates.any():
            wider = with_context(page.blocks, features, text)[candidates]
            probabilities[candidates] = mean_predicted(self.second, wider, threads)
        return probabilities


def decide(probabilities: Numbers, threshold: float) -> tuple[Role, ...]:
    """The role of each block: none, unless text is likely enough; then the likeliest of the others."""
    likeliest = 1 + probabilities[:, 1:].argmax(axis=1)
    is_text = 1 - probabilities[:, 0] >= threshold
    return tuple(ROLES[number] for number in np.where(is_text, likeliest, 0))


def certainly_nothing(blocks: int) -> Numbers:
    """Probabilities of blocks that are no text, (blocks, roles)."""
    probabilities = np.zeros((blocks, len(ROLES)))
    probabilities[:, 0] = 1
    return probabilities


def mean_predicted(models: Sequence[Trees], rows: Matrix, threads: int = 1) -> Numbers:
    """The mean of what several models predict, (rows, classes)."""
    return np.asarray(np.mean([trees.predict(rows, threads) for trees in models], axis=0))
