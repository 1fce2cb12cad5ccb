"""Training the block model, and labels of pages by models that have not seen their families.

Belongs here: folds over families, the order in which the stages are trained, the parameters and the weights. Does
not belong here: where samples come from, or scores of what comes out.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ml.alignment import Role
from ml.block_model.confidence import fit_calibration, page_signs
from ml.block_model.context import with_context
from ml.block_model.features import FEATURES, Matrix, Numbers, block_features
from ml.block_model.model import (
    IS_CANDIDATE,
    ROLES,
    BlockModel,
    Labels,
    certainly_nothing,
    decide,
    mean_predicted,
    predicted,
)
from ml.page import Page

if TYPE_CHECKING:
    from lightgbm import Booster

_WORDS = FEATURES.index("words")
_GOOD = 0.9  # F1 on words: an extraction at least so near to the labels is a good one
_MIN_FAMILIES = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """A page with the role of each block; pages of one family share a template and stay together."""

    page: Page
    roles: tuple[Role, ...]
    family: str


@dataclass(frozen=True, kw_only=True)
class TrainingParameters:
    """What was chosen by cross-validation over families; `docs/LOG.md` has what was not."""

    folds: int = 4  # that give the second stage opinions of pages which the first has not seen
    first_rounds: int = 150
    second_rounds: int = 100
    second_models: int = 3  # whose mean counts
    learning_rate: float = 0.1
    leaves: int = 31
    threshold: float = 0.5  # of being text, for a block to be kept
    seed: int = 0
    threads: int = 0  # 0: all cores; the model does not depend on it

    def for_lightgbm(self, *, classes: int, model: int = 0) -> dict[str, object]:
        objective = (
            {"objective": "multiclass", "num_class": classes} if classes > 2 else {"objective": "binary"}
        )
        return {
            **objective,
            "learning_rate": self.learning_rate,
            "num_leaves": self.leaves,
            "min_data_in_leaf": 20,
            "feature_fraction": 0.5,
            "bagging_fraction": 0.8,
            "bagging_freq": 1,
            "max_bin": 63,
            "lambda_l2": 1.0,
            "deterministic": True,
            "force_col_wise": True,
            "seed": self.seed + model,
            "num_threads": self.threads,
            "verbose": -1,
        }


@dataclass(frozen=True, kw_only=True)
class _Prepared:
    """A sample as the trees see it."""

    sample: Sample
    features: Matrix
    roles: Numbers  # (blocks,), numbers in `ROLES`
    weights: Numbers  # (blocks,), of each page the same in sum

    @classmethod
    def of(cls, sample: Sample) -> "_Prepared":
        features = block_features(sample.page)
        weights = 0.5 + np.log1p(features[:, _WORDS].astype(np.float64))
        return cls(
            sample=sample,
            features=features,
            roles=np.array([ROLES.index(role) for role in sample.roles], dtype=np.float64),
            weights=100 * weights / weights.sum(),
        )


def train(samples: Sequence[Sample], parameters: TrainingParameters | None = None) -> BlockModel:
    """A model of all samples; the same samples, parameters and seed give the same model.

    Raises `ValueError` for fewer than three families, pages without a block of text, or roles that do not fit
    their page.
    """
    parameters = parameters or TrainingParameters()
    _require_usable(samples)
    return _trained([_Prepared.of(sample) for sample in samples], parameters)


def cross_validate(
    samples: Sequence[Sample], parameters: TrainingParameters | None = None, *, folds: int = 5
) -> list[Labels]:
    """For each sample, the labels of a model that was trained, wholly, without its family."""
    parameters = parameters or TrainingParameters()
    _require_usable(samples)
    prepared = [_Prepared.of(sample) for sample in samples]
    labels: dict[int, Labels] = {}
    for inside, outside in _splits([sample.family for sample in samples], folds, parameters.seed):
        model = _trained([prepared[at] for at in inside], parameters)
        labels |= {at: model.labels(samples[at].page, prepared[at].features) for at in outside}
    return [labels[at] for at in range(len(samples))]


def _require_usable(samples: Sequence[Sample]) -> None:
    families = {sample.family for sample in samples}
    problems = [
        f"page {at}: {len(sample.roles)} roles for {len(sample.page.blocks)} blocks"
        for at, sample in enumerate(samples)
        if len(sample.roles) != len(sample.page.blocks) or not sample.page.blocks
    ]
    if len(families) < _MIN_FAMILIES:
        problems.append(f"{len(families)} families, expected at least {_MIN_FAMILIES}")
    if missing := set(ROLES) - {role for sample in samples for role in sample.roles}:
        problems.append(f"no block is {', '.join(sorted(missing))}, expected every role")
    if problems:
        raise ValueError(
            f"cannot train on these {len(samples)} pages: {'; '.join(problems[:5])}; label more pages"
        )


def _splits(families: Sequence[str], folds: int, seed: int) -> Iterator[tuple[list[int], list[int]]]:
    """Pages inside and outside of each fold: whole families, about equally many pages."""
    sizes = Counter(families)
    shuffled = [str(name) for name in np.random.default_rng(seed).permutation(sorted(sizes))]
    filled = [0] * min(folds, len(sizes))
    fold_of: dict[str, int] = {}
    for family in sorted(shuffled, key=lambda name: -sizes[name]):
        fold_of[family] = min(range(len(filled)), key=filled.__getitem__)
        filled[fold_of[family]] += sizes[family]
    for fold in range(len(filled)):
        outside = [at for at, family in enumerate(families) if fold_of[family] == fold]
        inside = [at for at, family in enumerate(families) if fold_of[family] != fold]
        yield inside, outside


def _trained(pages: Sequence[_Prepared], parameters: TrainingParameters) -> BlockModel:
    splits = list(_splits([page.sample.family for page in pages], parameters.folds, parameters.seed + 1))
    firsts = [_first([pages[at] for at in inside], parameters) for inside, _ in splits]
    text: dict[int, Numbers] = {}
    for first, (_, outside) in zip(firsts, splits, strict=True):
        text |= {at: predicted(first, pages[at].features) for at in outside}
    calibrating = [
        _signs_and_verdict(page, first, second, parameters.threshold)
        for first, (inside, outside) in zip(firsts, splits, strict=True)
        for second in [_second([(pages[at], text[at]) for at in inside], parameters)]
        for at in outside
        for page in (pages[at], _without_article(pages[at]))
        if page
    ]
    second = _second([(page, text[at]) for at, page in enumerate(pages)], parameters)
    return BlockModel(
        first=_first(pages, parameters).model_to_string(),
        second=tuple(each.model_to_string() for each in second),
        confidence=fit_calibration(
            np.stack([signs for signs, _ in calibrating]), np.array([good for _, good in calibrating])
        ),
        threshold=parameters.threshold,
    )


def _first(pages: Sequence[_Prepared], parameters: TrainingParameters) -> "Booster":
    from lightgbm import Dataset
    from lightgbm import train as train_trees

    data = Dataset(
        np.concatenate([page.features for page in pages]),
        np.concatenate([page.roles > 0 for page in pages]).astype(np.float64),
        weight=np.concatenate([page.weights for page in pages]),
    )
    return train_trees(parameters.for_lightgbm(classes=2), data, parameters.first_rounds)


def _second(pages: Sequence[tuple[_Prepared, Numbers]], parameters: TrainingParameters) -> "list[Booster]":
    """Trained on what the first stage lets through, with its opinion of pages that it had not seen."""
    from lightgbm import Dataset
    from lightgbm import train as train_trees

    candidates = [(page, text, text > IS_CANDIDATE) for page, text in pages]
    rows = [
        with_context(page.sample.page.blocks, page.features, text)[held] for page, text, held in candidates
    ]
    data = Dataset(
        np.concatenate(rows),
        np.concatenate([page.roles[held] for page, _, held in candidates]),
        weight=np.concatenate([page.weights[held] for page, _, held in candidates]),
    )
    return [
        train_trees(parameters.for_lightgbm(classes=len(ROLES), model=number), data, parameters.second_rounds)
        for number in range(parameters.second_models)
    ]


# --- when the model may be sure


def _signs_and_verdict(
    page: _Prepared, first: "Booster", second: "Sequence[Booster]", threshold: float
) -> tuple[Numbers, bool]:
    """What the page looks like to models that have not seen it, and whether they label it well."""
    probabilities = certainly_nothing(len(page.features))
    text = predicted(first, page.features)
    held = text > IS_CANDIDATE
    if held.any():
        wider = with_context(page.sample.page.blocks, page.features, text)[held]
        probabilities[held] = mean_predicted(second, wider)
    roles = decide(probabilities, threshold)
    return page_signs(page.features, probabilities, roles), _word_f1(page, roles) >= _GOOD


def _word_f1(page: _Prepared, roles: Sequence[Role]) -> float:
    """How near the kept blocks are to the labelled ones, 0 to 1, every word counting the same."""
    count = page.features[:, _WORDS].astype(np.float64)
    wanted, kept = page.roles > 0, np.array([role is not Role.NONE for role in roles])
    both = float(count[wanted].sum() + count[kept].sum())
    return 2 * float(count[wanted & kept].sum()) / both if both else 1.0


def _without_article(page: _Prepared) -> _Prepared | None:
    """The page as it would be without its article, such as a login wall or a page of teasers."""
    kept = [
        block
        for block, role in zip(page.sample.page.blocks, page.sample.roles, strict=True)
        if role is Role.NONE
    ]
    if not kept:
        return None
    blocks = tuple(block._replace(id=at) for at, block in enumerate(kept))
    roles = (Role.NONE,) * len(blocks)
    return _Prepared.of(
        Sample(page=replace(page.sample.page, blocks=blocks), roles=roles, family=page.sample.family)
    )
