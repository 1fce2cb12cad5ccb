"""The field model: of a page's candidates, those that are right, and how sure that is.

Belongs here: choosing values by trained trees, confidence, and the file a model is kept in. Does not belong
here: training (`ml/fields/training.py`) or what a candidate's features are (`ml/fields/features.py`). Values
are copied from the page; where no candidate is trusted, the field is absent.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, ValidationError

from ml.article import Article, Body
from ml.fields.candidates import Option, candidates
from ml.fields.features import FEATURES, ROWS, Row, View, matrix
from ml.page import Page

if TYPE_CHECKING:
    from lightgbm import Booster

SCHEMA_VERSION = 1
"""Of the file; raised with every change to it or to what a feature means."""

FORMAT = "news-crawler-lm field model"
SINGLE = ("title", "publishing_date")
"""Fields with one value; `authors` and `topics` have a list, `free_access` is yes or no."""

_LEAST = 1e-6  # of a probability: no tree is that sure
T = TypeVar("T")
Probabilities = npt.NDArray[np.float64]


class ModelFileError(ValueError):
    """A file that is no field model of this version."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fields:
    """An article's fields but its body, with the probability by field that it is right as a whole."""

    title: str | None
    authors: tuple[str, ...]
    publishing_date: datetime | None
    topics: tuple[str, ...]
    free_access: bool
    confidence: Mapping[str, float]

    def article(self, body: Body) -> Article:
        """With a body, the whole article."""
        return Article(
            title=self.title,
            authors=self.authors,
            publishing_date=self.publishing_date,
            topics=self.topics,
            free_access=self.free_access,
            body=body,
        )


class Calibration(BaseModel):
    """How often a field is right, by the logit that the model gives its choice (Platt, 1999)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    slope: float
    intercept: float
    without_candidates: float
    """The same where a page offers nothing, and the field is absent."""

    def probability(self, logit: float) -> float:
        return 1 / (1 + math.exp(-max(-500.0, min(500.0, self.slope * logit + self.intercept))))


class FieldSettings(BaseModel):
    """What belongs to the trees of one field."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    features: tuple[str, ...]
    threshold: float
    """The least probability with which a candidate is taken; for free access, of its opposite."""

    calibration: Calibration


class _StoredField(FieldSettings):
    trees: str


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    format: str
    schema_version: int
    fields: dict[str, _StoredField]


@dataclass(frozen=True, kw_only=True)
class FieldModel:
    """Trees and settings for every field of `ROWS`."""

    boosters: "Mapping[str, Booster]"
    settings: Mapping[str, FieldSettings]

    def predict(self, page: Page) -> Fields:
        """The fields of a page; never raises for what stands in it."""
        view = View(page, candidates(page))
        found = view.found
        chances = {name: self._chances(name, rows(view)) for name, rows in ROWS.items()}
        return Fields(
            title=self._best("title", found.title, chances["title"]),
            authors=self._accepted("authors", found.authors, chances["authors"]),
            publishing_date=self._best("publishing_date", found.publishing_date, chances["publishing_date"]),
            topics=self._accepted("topics", found.topics, chances["topics"]),
            free_access=bool(chances["free_access"][0] < self.settings["free_access"].threshold),
            confidence={name: self._confidence(name, chances[name]) for name in ROWS},
        )

    def _chances(self, name: str, rows: Sequence[Row]) -> Probabilities:
        """The probability of each candidate to be right, (candidates,)."""
        if not rows:
            return np.empty(0)
        return np.asarray(self.boosters[name].predict(matrix(rows), num_threads=1), dtype=np.float64)

    def _best(self, name: str, options: Sequence[Option[T]], chances: Probabilities) -> T | None:
        if not options or chances.max() < self.settings[name].threshold:
            return None
        return options[int(chances.argmax())].value

    def _accepted(self, name: str, options: Sequence[Option[T]], chances: Probabilities) -> tuple[T, ...]:
        threshold = self.settings[name].threshold
        return tuple(o.value for o, chance in zip(options, chances, strict=True) if chance >= threshold)

    def _confidence(self, name: str, chances: Probabilities) -> float:
        settings = self.settings[name]
        if not len(chances):
            return settings.calibration.without_candidates
        return settings.calibration.probability(choice_logit(name, chances, settings.threshold))

    def save(self, path: Path) -> None:
        """Write the model as JSON, trees as LightGBM's text."""
        fields = {
            name: _StoredField(**settings.model_dump(), trees=self.boosters[name].model_to_string())
            for name, settings in self.settings.items()
        }
        stored = _File(format=FORMAT, schema_version=SCHEMA_VERSION, fields=fields)
        path.write_text(stored.model_dump_json(indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "FieldModel":
        """Read a saved model; raises `ModelFileError`, a `ValueError`, for any other file or version."""
        from lightgbm import Booster
        from lightgbm.basic import LightGBMError

        stored = _read(path)
        try:
            boosters = {name: Booster(model_str=field.trees) for name, field in stored.fields.items()}
        except LightGBMError as error:
            raise ModelFileError(
                f"{path}: found trees that LightGBM cannot read ({error}); train anew"
            ) from error
        settings = {
            name: FieldSettings(**field.model_dump(exclude={"trees"}))
            for name, field in stored.fields.items()
        }
        return cls(boosters=boosters, settings=settings)


def choice_logit(name: str, chances: Probabilities, threshold: float) -> float:
    """How sure the choice is, as a logit: of the chosen value, or that every value is on its right side."""
    if name in SINGLE:
        chance = float(chances.max())
    else:
        chance = float(np.prod(np.where(chances >= threshold, chances, 1 - chances)))
    chance = min(max(chance, _LEAST), 1 - _LEAST)
    return math.log(chance / (1 - chance))


def _read(path: Path) -> _File:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelFileError(f"{path}: expected a {FORMAT}, found no JSON ({error})") from error
    header = content if isinstance(content, dict) else {}
    if header.get("format") != FORMAT or header.get("schema_version") != SCHEMA_VERSION:
        raise ModelFileError(
            f"{path}: found format {header.get('format')!r} of version {header.get('schema_version')!r}, expected "
            f"{FORMAT!r} of version {SCHEMA_VERSION}; train the model anew with this release, or use the release "
            f"that wrote it"
        )
    try:
        stored = _File.model_validate(content)
    except ValidationError as error:
        raise ModelFileError(f"{path}: found a damaged {FORMAT}: {error}; train it anew") from error
    _require_same_features(path, stored)
    return stored


def _require_same_features(path: Path, stored: _File) -> None:
    expected = {name: tuple(features) for name, features in FEATURES.items()}
    found = {name: field.features for name, field in stored.fields.items()}
    if found != expected:
        wrong = sorted(name for name in found.keys() | expected if found.get(name) != expected.get(name))
        raise ModelFileError(
            f"{path}: found other features for {', '.join(wrong)} than this release computes; train the model anew"
        )
