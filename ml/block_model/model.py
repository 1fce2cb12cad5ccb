"""The block model: which blocks of a page are its article, and how sure that is.

Belongs here: the two stages of trees, what is decided from their probabilities, and the model as a text file. Does
not belong here: features (`features.py`, `context.py`), training (`training.py`) or writing an article
(`rendering.py`).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from ml.alignment import Role
from ml.block_model.confidence import Calibration, page_signs
from ml.block_model.context import WIDTH, with_context
from ml.block_model.features import FEATURES, Matrix, Numbers, block_features
from ml.page import Page

if TYPE_CHECKING:
    from lightgbm import Booster

SCHEMA_VERSION = 1  # of the file; raised with every change that an older release could not read
ROLES = tuple(Role)
IS_CANDIDATE = 0.01  # of being text, by the first stage; the second does not look at what lies below
_SURE_ENOUGH = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Labels:
    """What the model makes of a page.

    `probabilities` has a row a block and a column a role, in the order of `ROLES`. `confidence`, 0 to 1, is how
    probable it is that the page holds an article and that these roles give it (nearly) whole and clean.
    """

    roles: tuple[Role, ...]
    probabilities: Numbers
    confidence: float

    @property
    def is_article(self) -> bool:
        """Whether the labelled text may be taken for an article; a home page or a login wall has none."""
        return self.confidence >= _SURE_ENOUGH


class _Parameters(BaseModel):
    """A model as it lies in its file; another schema version may have other keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    features: tuple[str, ...] = FEATURES
    roles: tuple[Role, ...] = ROLES
    threshold: Annotated[float, Field(gt=0, lt=1)]
    confidence: tuple[FiniteFloat, ...]
    first: str
    second: Annotated[tuple[str, ...], Field(min_length=1)]


@dataclass(frozen=True, kw_only=True)
class BlockModel:
    """Trees in two stages: is a block text, on its own; then its role, seeing what is thought of the others.

    `first` is LightGBM's text form of a binary model, `second` of one or more of four classes, whose mean counts:
    they differ in their seeds. A block is text where the second stage gives it at least `threshold`.
    """

    first: str
    second: tuple[str, ...]
    confidence: Calibration
    threshold: float

    def predict(self, page: Page, *, threads: int = 1) -> Labels:
        """The roles of a page's blocks; same page, same labels, whatever the number of threads."""
        return self.labels(page, block_features(page), threads=threads)

    def labels(self, page: Page, features: Matrix, *, threads: int = 1) -> Labels:
        """The same, of features that are at hand."""
        probabilities = self._probabilities(page, features, threads)
        roles = decide(probabilities, self.threshold)
        confidence = self.confidence.probability(page_signs(features, probabilities, roles))
        return Labels(roles=roles, probabilities=probabilities, confidence=confidence)

    def _probabilities(self, page: Page, features: Matrix, threads: int) -> Numbers:
        probabilities = certainly_nothing(len(features))
        if not len(features):
            return probabilities
        text = predicted(self._first, features, threads)
        candidates = text > IS_CANDIDATE
        if candidates.any():
            wider = with_context(page.blocks, features, text)[candidates]
            probabilities[candidates] = mean_predicted(self._second, wider, threads)
        return probabilities

    @cached_property
    def _first(self) -> "Booster":
        return booster_of(self.first)

    @cached_property
    def _second(self) -> "list[Booster]":
        return [booster_of(text) for text in self.second]

    def __getstate__(self) -> dict[str, object]:
        """Without the loaded trees: another process loads them from their text."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def save(self, path: Path) -> None:
        """Write the model as one JSON text; equal models give equal bytes."""
        parameters = _Parameters(
            threshold=self.threshold, confidence=self.confidence.weights, first=self.first, second=self.second
        )
        path.write_text(parameters.model_dump_json(indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "BlockModel":
        """Read a saved model; raises `ValueError` for a file that is none, or one of other features or version."""
        text = path.read_text(encoding="utf-8")
        _require_same_version(path, text)
        try:
            found = _Parameters.model_validate_json(text)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, fault["loc"]))
            raise ValueError(f"{path} is no block model: {place}: {fault['msg']}; train it anew") from error
        _require_same(path, "features", found.features, FEATURES)
        _require_same(path, "roles", found.roles, ROLES)
        model = cls(
            first=found.first,
            second=found.second,
            confidence=Calibration(found.confidence),
            threshold=found.threshold,
        )
        model._require_trees(path)
        return model

    def _require_trees(self, path: Path) -> None:
        from lightgbm.basic import LightGBMError

        try:
            found = [
                (trees.num_feature(), trees.num_model_per_iteration())
                for trees in (self._first, *self._second)
            ]
        except LightGBMError as error:
            raise ValueError(
                f"{path} holds trees that LightGBM cannot read: {error}; train it anew"
            ) from error
        expected = [(len(FEATURES), 1), *[(WIDTH, len(ROLES))] * len(self.second)]
        if found != expected:
            raise ValueError(
                f"{path} holds trees of other shapes (columns, classes): found {found}, expected {expected} of the "
                f"two stages; train the model anew"
            )


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


def booster_of(text: str) -> "Booster":
    """The trees of their text."""
    from lightgbm import Booster

    return Booster(model_str=text)


def predicted(booster: "Booster", rows: Matrix, threads: int = 1) -> Numbers:
    """Probabilities, (rows,) of a binary model and (rows, classes) of one with classes."""
    return np.asarray(booster.predict(rows, num_threads=threads), dtype=np.float64)


def mean_predicted(boosters: "Sequence[Booster]", rows: Matrix, threads: int = 1) -> Numbers:
    """The mean of what several models predict, (rows, classes)."""
    return np.asarray(np.mean([predicted(booster, rows, threads) for booster in boosters], axis=0))


def _require_same_version(path: Path, text: str) -> None:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{path} is no block model: expected JSON, found {text[:40]!r}") from error
    version = found.get("schema_version") if isinstance(found, dict) else None
    if version != SCHEMA_VERSION:
        raise ValueError(
            f"{path} holds a block model of schema version {version}; this release reads version "
            f"{SCHEMA_VERSION}: train the model anew, or use the release that wrote it"
        )


def _require_same(path: Path, what: str, found: Sequence[str], expected: Sequence[str]) -> None:
    if tuple(found) != tuple(expected):
        only_found, only_expected = set(found) - set(expected), set(expected) - set(found)
        detail = (
            f"only in the file: {', '.join(sorted(only_found)) or 'none'}; only in this release: "
            f"{', '.join(sorted(only_expected)) or 'none'}"
        )
        raise ValueError(
            f"{path} holds a model over {len(found)} {what}, expected the {len(expected)} of this release in their "
            f"order ({detail}); train the model anew, or use the release that wrote it"
        )
