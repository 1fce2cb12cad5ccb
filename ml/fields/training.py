"""Training of the field model: labels from right articles, trees, thresholds and calibration.

Belongs here: everything that looks at right answers. Does not belong here: prediction (`ml/fields/model.py`)
or the figures of a benchmark. Thresholds and calibration come from predictions for families that the trees
had not seen, so that confidence holds for new publishers.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ml.article import Article
from ml.fields.candidates import FieldCandidates, candidates
from ml.fields.features import FEATURES, ROWS, Matrix, View, matrix
from ml.fields.model import SINGLE, Calibration, FieldModel, FieldSettings, Probabilities, choice_logit
from ml.metadata import Metadata, Source
from ml.metrics.fields import FIELDS, Values
from ml.page import Page
from ml.trees import Trees

Sample = tuple[Page, Article, str]
"""A page, its right article and the family of its publisher."""

INNER_FOLDS = 5
ROUNDS = 250
PARAMETERS: dict[str, str | int | float | bool] = {
    "objective": "binary",
    "learning_rate": 0.05,
    "num_leaves": 8,
    "extra_trees": True,
    "min_data_in_leaf": 15,
    "feature_fraction": 0.3,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "verbose": -1,
}
"""Shallow trees with random splits and much shrinkage: templates are few, and pages of one say little more than
one page does."""

_HIDDEN = (frozenset({Source.JSON_LD}), frozenset({Source.JSON_LD, Source.META, Source.TIME}))
_LEARNT_FROM_LESS = ("authors", "topics")
"""Fields whose model also learns from pages without some sources: most pages here have good metadata, and few teach
what to do without. Measured: where JSON-LD is taken away, F1 of authors goes from 0.57 to 0.63; nothing is lost on
whole pages. Titles and dates lose on whole pages what they win on these."""

_WEIGHT_OF_LESS = 0.3
_THRESHOLDS = np.arange(0.02, 0.99, 0.02)


@dataclass(frozen=True, kw_only=True)
class _Example:
    """What one page teaches about one field: (candidates, features), (candidates,), and how many are wanted."""

    rows: Matrix
    labels: Probabilities
    wanted: int
    family: str
    is_whole: bool = True
    """False where statements were taken out of the page: it is learnt from, and nothing is measured on it."""


def train(samples: Iterable[Sample], seed: int) -> FieldModel:
    """A model of all samples; equal samples in equal order and an equal seed give an equal model.

    Raises `ValueError` for fewer than two families: nothing could be said of publishers unseen.
    """
    examples: dict[str, list[_Example]] = {name: [] for name in ROWS}
    for page, article, family in samples:
        for name, example in _examples(page, article, family, is_whole=True):
            examples[name].append(example)
        for hidden in _HIDDEN:
            for name, example in _examples(_without(page, hidden), article, family, is_whole=False):
                if name in _LEARNT_FROM_LESS:
                    examples[name].append(example)
    families = sorted({example.family for example in examples["title"]})
    if len(families) < 2:
        raise ValueError(
            f"found samples of {len(families)} families, expected at least 2: thresholds and confidence are measured "
            f"on families that are left out. Add pages of other publishers"
        )
    folds = _folds(families, seed)
    return FieldModel(
        trees={name: _fit(examples[name], seed) for name in ROWS},
        settings={name: _settings(name, examples[name], folds, seed) for name in ROWS},
    )


def _without(page: Page, hidden: frozenset[Source]) -> Page:
    """The page as a publisher would write it who does not use these sources."""
    stated = tuple(candidate for candidate in page.metadata.candidates if candidate.source not in hidden)
    return replace(page, metadata=Metadata(candidates=stated))


def _examples(page: Page, article: Article, family: str, *, is_whole: bool) -> Iterator[tuple[str, _Example]]:
    view = View(page, candidates(page))
    for name, rows in ROWS.items():
        labels, wanted = _labels(name, view.found, article)
        yield (
            name,
            _Example(
                rows=matrix(rows(view), len(FEATURES[name])),
                labels=np.array(labels, dtype=np.float64),
                wanted=wanted,
                family=family,
                is_whole=is_whole,
            ),
        )


def _folds(families: Sequence[str], seed: int) -> dict[str, int]:
    order = np.random.default_rng(seed).permutation(len(families))
    return {families[at]: number % INNER_FOLDS for number, at in enumerate(order)}


def _labels(name: str, found: FieldCandidates, article: Article) -> tuple[list[float], int]:
    """1 for each candidate that the metric of its field counts as right, and how many values are wanted."""
    if name == "free_access":
        return [float(not article.free_access)], int(not article.free_access)
    if name == "title":
        values: list[Values] = [{"title": option.value} for option in found.title]
        return [_shared("title", value, {"title": article.title}) for value in values], int(
            bool(article.title)
        )
    if name == "publishing_date":
        return _date_labels(found, article)
    options, right = (found.authors, article.authors) if name == "authors" else (found.topics, article.topics)
    return [_shared(name, {name: [o.value]}, {name: list(right)}) for o in options], len(set(right))


def _date_labels(found: FieldCandidates, article: Article) -> tuple[list[float], int]:
    """A date is right if both the day as written and the instant are."""
    if article.publishing_date is None:
        return [0.0] * len(found.publishing_date), 0
    right: Values = {"publishing_date": article.publishing_date.isoformat()}
    values: list[Values] = [{"publishing_date": o.value.isoformat()} for o in found.publishing_date]
    return [min(_shared(kind, v, right) for kind in ("date_day", "date_instant")) for v in values], 1


def _shared(metric: str, found: Values, wanted: Values) -> float:
    return float(FIELDS[metric](found, wanted).shared)


def _fit(examples: Sequence[_Example], seed: int) -> Trees:
    """Trees over all candidates; a family counts with the root of its pages, for they resemble each other."""
    from lightgbm import Dataset
    from lightgbm import train as train_trees

    pages = Counter(example.family for example in examples if example.is_whole)
    weights = np.concatenate(
        [
            np.full(len(e.labels), pages[e.family] ** -0.5 * (1.0 if e.is_whole else _WEIGHT_OF_LESS))
            for e in examples
        ]
    )
    data = Dataset(
        np.concatenate([example.rows for example in examples]),
        np.concatenate([example.labels for example in examples]),
        weight=weights,
        params={"verbose": -1},
    )
    return Trees.of(train_trees({**PARAMETERS, "seed": seed}, data, num_boost_round=ROUNDS))


def _settings(name: str, examples: Sequence[_Example], folds: dict[str, int], seed: int) -> FieldSettings:
    whole = [example for example in examples if example.is_whole]
    chances = _for_unseen_families(examples, whole, folds, seed)
    threshold = _best_threshold(_accuracy if name == "free_access" else _f1, name, whole, chances)
    return FieldSettings(
        features=FEATURES[name],
        threshold=threshold,
        calibration=_calibration(name, whole, chances, threshold),
    )


def _for_unseen_families(
    examples: Sequence[_Example], asked: Sequence[_Example], folds: dict[str, int], seed: int
) -> list[Probabilities]:
    """For each that is asked the chances that trees without its family's fold give, (candidates,)."""
    chances = [np.empty(0)] * len(asked)
    for fold in sorted(set(folds.values())):
        trees = _fit([example for example in examples if folds[example.family] != fold], seed)
        for at, example in enumerate(asked):
            if folds[example.family] == fold and len(example.labels):
                chances[at] = trees.predict(example.rows)
    return chances


Quality = Callable[[Sequence[_Example], Sequence[Probabilities]], float]
"""How good choices are, given for each example which candidates are taken, (candidates,) of 0 and 1."""


def _best_threshold(
    quality: Quality, name: str, examples: Sequence[_Example], chances: Sequence[Probabilities]
) -> float:
    """The middle of the thresholds that are about as good as the best one: less is left to chance."""
    scores = [quality(examples, [_taken(name, c, limit) for c in chances]) for limit in _THRESHOLDS]
    best = [limit for limit, score in zip(_THRESHOLDS, scores, strict=True) if score >= max(scores) - 0.002]
    return round(float(best[0] if name in SINGLE else np.median(best)), 4)


def _taken(name: str, chances: Probabilities, threshold: float) -> Probabilities:
    taken = chances >= threshold
    if name in SINGLE and len(chances):
        taken &= np.arange(len(chances)) == chances.argmax()
    return taken.astype(np.float64)


def _f1(examples: Sequence[_Example], taken: Sequence[Probabilities]) -> float:
    shared = sum(float(example.labels @ choice) for example, choice in zip(examples, taken, strict=True))
    both = sum(e.wanted + float(choice.sum()) for e, choice in zip(examples, taken, strict=True))
    return 2 * shared / both if both else 1.0


def _accuracy(examples: Sequence[_Example], taken: Sequence[Probabilities]) -> float:
    return float(np.mean([(e.labels == choice).all() for e, choice in zip(examples, taken, strict=True)]))


def _calibration(
    name: str, examples: Sequence[_Example], chances: Sequence[Probabilities], threshold: float
) -> Calibration:
    logits: list[float] = []
    right: list[bool] = []
    empty: list[bool] = []
    for example, chance in zip(examples, chances, strict=True):
        is_right = _is_right(example, _taken(name, chance, threshold))
        if len(chance):
            logits.append(choice_logit(name, chance, threshold))
            right.append(is_right)
        else:
            empty.append(is_right)
    slope, intercept = _platt(np.array(logits), np.array(right, dtype=np.float64))
    return Calibration(
        slope=slope, intercept=intercept, without_candidates=(sum(empty) + 0.5) / (len(empty) + 1)
    )


def _is_right(example: _Example, taken: Probabilities) -> bool:
    """Whether exactly what is wanted is taken."""
    return float(example.labels @ taken) == example.wanted == float(taken.sum())


def _platt(logits: Probabilities, right: Probabilities) -> tuple[float, float]:
    """Slope and intercept of the logistic curve through the outcomes, by Newton's method.

    A weak pull towards slope 1 and intercept 0 keeps it finite where all outcomes are alike.
    """
    inputs = np.column_stack([logits, np.ones_like(logits)])  # (N, 2)
    prior = np.array([1.0, 0.0])
    weights = np.zeros(2)  # where the curve is steepest: from far out, a step may lead astray
    for _ in range(25):
        chance = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        gradient = inputs.T @ (chance - right) + (weights - prior)
        curvature = (inputs * (chance * (1 - chance))[:, None]).T @ inputs + np.eye(2)
        weights = weights - np.linalg.solve(curvature, gradient)
    slope, intercept = (float(weight) for weight in weights)
    return (slope, intercept) if math.isfinite(slope) and math.isfinite(intercept) else (1.0, 0.0)
