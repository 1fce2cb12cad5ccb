"""Training the block model, and labels of pages by models that have not seen their families.

Belongs here: folds over families, the order in which the stages are trained, the parameters and the weights. Does
not belong here: where samples come from, or scores of what comes out.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np

from ml.alignment import Role
from ml.block_model.confidence import UNSURE, Calibration, fit_calibration, page_signs
from ml.block_model.context import with_context
from ml.block_model.features import FEATURES, Matrix, Numbers, block_features
from ml.block_model.model import (
    IS_CANDIDATE,
    ROLES,
    BlockModel,
    Labels,
)
from ml.block_model.non_articles import non_articles, teaser_of
from ml.page import Page
from ml.trees import Trees

_WORDS = FEATURES.index("words")
_ARTICLES_PER_OTHER = 2.0  # among the pages that a user has, as far as confidence goes
_MIN_FAMILIES = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """A page with the role of each block; pages of one family share a template and stay together."""

    page: Page
    roles: tuple[Role, ...]
    family: str


@dataclass(frozen=True, kw_only=True)
class TrainingParameters:
    """Round values, the same for every fold: `docs/LOG.md` has what else was tried on the same pages.

    They are not chosen anew inside each fold: what was tried moved the figures by less than other folds do.
    """

    folds: int = 4  # that give the second stage opinions of pages which the first has not seen
    first_rounds: int = 150
    second_rounds: int = 100
    second_models: int = 3  # whose mean counts
    threshold: float = 0.5  # of being text, for a block to be kept
    seed: int = 0
    threads: int = 1  # 0: all cores, slower where others use them too; the model does not depend on it

    def of_first(self) -> dict[str, object]:
        """LightGBM's parameters of the first stage: many rows, two classes."""
        return self._shared() | {
            "objective": "binary",
            "learning_rate": 0.1,
            "num_leaves": 31,
            "feature_fraction": 0.5,
        }

    def of_second(self, model: int) -> dict[str, object]:
        """The same of a second stage: a tenth of the rows, few of them summaries, so its trees are small."""
        return self._shared() | {
            "objective": "multiclass",
            "num_class": len(ROLES),
            "learning_rate": 0.07,
            "num_leaves": 15,
            "feature_fraction": 0.3,
            "seed": self.seed + model,
        }

    def _shared(self) -> dict[str, object]:
        return {
            "min_data_in_leaf": 20,
            "bagging_fraction": 0.8,
            "bagging_freq": 1,
            "max_bin": 63,
            "lambda_l2": 1.0,
            "deterministic": True,
            "force_col_wise": True,
            "seed": self.seed,
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
        text |= {at: first.predict(pages[at].features) for at in outside}
    seconds = [_second([(pages[at], text[at]) for at in inside], parameters) for inside, _ in splits]
    signs = [
        _signs(first, second, [pages[at] for at in outside], parameters)
        for first, second, (_, outside) in zip(firsts, seconds, splits, strict=True)
    ]
    return BlockModel(
        first=_first(pages, parameters),
        second=_second([(page, text[at]) for at, page in enumerate(pages)], parameters),
        confidence=_calibrated(signs),
        threshold=parameters.threshold,
    )


def _first(pages: Sequence[_Prepared], parameters: TrainingParameters) -> Trees:
    from lightgbm import Dataset
    from lightgbm import train as train_trees

    data = Dataset(
        np.concatenate([page.features for page in pages]),
        np.concatenate([page.roles > 0 for page in pages]).astype(np.float64),
        weight=np.concatenate([page.weights for page in pages]),
    )
    return Trees.of(train_trees(parameters.of_first(), data, parameters.first_rounds))


def _second(pages: Sequence[tuple[_Prepared, Numbers]], parameters: TrainingParameters) -> tuple[Trees, ...]:
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
    return tuple(
        Trees.of(train_trees(parameters.of_second(model), data, parameters.second_rounds))
        for model in range(parameters.second_models)
    )


# --- when the model may be sure


def _without_article(samples: Sequence[Sample], seed: int) -> Iterator[tuple[Page, ...]]:
    """For each sample what `non_articles` makes of it; teasers are of other families."""
    rng = np.random.default_rng(seed)
    teasers = [(sample.family, teaser_of(sample.page, sample.roles)) for sample in samples]
    for sample in samples:
        others = [teaser for family, teaser in teasers if family != sample.family]
        yield non_articles(sample.page, sample.roles, others, rng)


_Signs: TypeAlias = tuple[list[Numbers], list[Numbers]]  # of articles, and of other pages


def _signs(
    first: Trees, second: tuple[Trees, ...], unseen: Sequence[_Prepared], parameters: TrainingParameters
) -> _Signs:
    """What articles and other pages look like to trees that have not seen them."""
    model = BlockModel(first=first, second=second, confidence=UNSURE, threshold=parameters.threshold)
    samples = [page.sample for page in unseen]
    others = chain.from_iterable(_without_article(samples, parameters.seed))
    return (
        [_signs_of(model, page.sample.page, page.features) for page in unseen],
        [_signs_of(model, page, block_features(page)) for page in others],
    )


def _signs_of(model: BlockModel, page: Page, features: Matrix) -> Numbers:
    labels = model.labels(page, features)
    return page_signs(page, features, labels.probabilities, labels.roles)


def _calibrated(signs: Sequence[_Signs]) -> Calibration:
    articles, others = ([each for fold in signs for each in fold[kind]] for kind in (0, 1))
    is_article = np.arange(len(articles) + len(others)) < len(articles)
    of_other = len(articles) / (_ARTICLES_PER_OTHER * max(len(others), 1))
    return fit_calibration(np.stack([*articles, *others]), is_article, np.where(is_article, 1.0, of_other))
