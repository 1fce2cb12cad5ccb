"""The field model: of a page's candidates, those that are right, and how sure that is.

Belongs here: choosing values by trained trees, confidence, and the file a model is kept in. Does not belong
here: training (`ml/fields/training.py`) or what a candidate's features are (`ml/fields/features.py`). Values
are copied from the page; where no candidate is trusted, the field is absent.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, model_validator

from ml.article import Article, Body
from ml.fields.candidates import Option, Place, candidates
from ml.fields.features import FEATURES, ROWS, Row, View, matrix
from ml.page import Page
from ml.trees import Trees, same_as

SINGLE = ("title", "publishing_date")
"""Fields with one value; `authors` and `topics` have a list, `free_access` is yes or no."""

_LEAST = 1e-6  # of a probability: no tree is that sure
T = TypeVar("T")
Probabilities = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """Where a value of a field was copied from: a statement such as JSON-LD's, or a block, by its id."""

    field: str
    value: str
    place: Place
    block: int | None = None
    path: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Fields:
    """An article's fields but its body, with the probability by field that it is right as a whole."""

    title: str | None
    authors: tuple[str, ...]
    publishing_date: datetime | None
    topics: tuple[str, ...]
    free_access: bool
    confidence: Mapping[str, float]
    origins: tuple[Origin, ...] = ()

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


class FieldModel(BaseModel):
    """Trees and settings for every field of `ROWS`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    trees: Mapping[str, Trees]
    settings: Mapping[str, FieldSettings]

    @model_validator(mode="after")
    def _has_every_field(self) -> Self:
        if not self.trees.keys() == self.settings.keys() == ROWS.keys():
            raise ValueError(
                f"found trees of {', '.join(self.trees)} and settings of {', '.join(self.settings)}, expected both of "
                f"{', '.join(ROWS)}"
            )
        for name, settings in self.settings.items():
            same_as(FEATURES[name])(settings.features)
            if self.trees[name].shape != (len(FEATURES[name]), 1):
                raise ValueError(
                    f"found trees of {name} over {self.trees[name].shape[0]} columns, expected {len(FEATURES[name])}"
                )
        return self

    def predict(self, page: Page) -> Fields:
        """The fields of a page; never raises for what stands in it."""
        view = View(page, candidates(page))
        found = view.found
        chances = {name: self._chances(name, rows(view)) for name, rows in ROWS.items()}
        title = self._best("title", found.title, chances["title"])
        authors = self._accepted("authors", found.authors, chances["authors"])
        date = self._best("publishing_date", found.publishing_date, chances["publishing_date"])
        topics = self._accepted("topics", found.topics, chances["topics"])
        chosen: dict[str, tuple[Option[Any], ...]] = {
            "title": title,
            "authors": authors,
            "publishing_date": date,
            "topics": topics,
        }
        return Fields(
            title=next((option.value for option in title), None),
            authors=tuple(option.value for option in authors),
            publishing_date=next((option.value for option in date), None),
            topics=tuple(option.value for option in topics),
            free_access=bool(chances["free_access"][0] < self.settings["free_access"].threshold),
            confidence={name: self._confidence(name, chances[name]) for name in ROWS},
            origins=tuple(
                _origin(page, name, option, found.headline)
                for name, options in chosen.items()
                for option in options
            ),
        )

    def _chances(self, name: str, rows: Sequence[Row]) -> Probabilities:
        """The probability of each candidate to be right, (candidates,)."""
        if not rows:
            return np.empty(0)
        return self.trees[name].predict(matrix(rows))

    def _best(self, name: str, options: Sequence[Option[T]], chances: Probabilities) -> tuple[Option[T], ...]:
        if not options or chances.max() < self.settings[name].threshold:
            return ()
        return (options[int(chances.argmax())],)

    def _accepted(
        self, name: str, options: Sequence[Option[T]], chances: Probabilities
    ) -> tuple[Option[T], ...]:
        threshold = self.settings[name].threshold
        return tuple(o for o, chance in zip(options, chances, strict=True) if chance >= threshold)

    def _confidence(self, name: str, chances: Probabilities) -> float:
        settings = self.settings[name]
        if not len(chances):
            return settings.calibration.without_candidates
        return settings.calibration.probability(choice_logit(name, chances, settings.threshold))


def _origin(page: Page, field: str, option: Option[Any], headline: int) -> Origin:
    """The first mention of a value: visible ones are counted from the headline."""
    mention, block = option.mentions[0], None
    if mention.place in (Place.BYLINE, Place.VISIBLE):
        block = page.blocks[headline + mention.distance]
    elif mention.place is Place.HEADING:
        block = next((block for block in page.blocks if block.text == option.value), None)
    return Origin(
        field=field,
        value=str(option.value),
        place=mention.place,
        block=block.id if block else None,
        path=block.path if block else None,
    )


def choice_logit(name: str, chances: Probabilities, threshold: float) -> float:
    """How sure the choice is, as a logit: of the chosen value, or that every value is on its right side."""
    if name in SINGLE:
        chance = float(chances.max())
    else:
        chance = float(np.prod(np.where(chances >= threshold, chances, 1 - chances)))
    chance = min(max(chance, _LEAST), 1 - _LEAST)
    return math.log(chance / (1 - chance))
