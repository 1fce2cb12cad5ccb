from dataclasses import replace

import pytest

from ml.alignment import Role
from ml.block_model.model import BlockModel
from ml.block_model.training import Sample, TrainingParameters, cross_validate, train

QUICK = TrainingParameters(folds=2, first_rounds=25, second_rounds=50, second_models=2, threads=1)


def test_the_same_seed_gives_the_same_model(model: BlockModel, corpus: list[Sample]) -> None:
    assert train(corpus, QUICK) == model
    assert train(corpus, replace(QUICK, threads=2)).predict(corpus[0].page).roles == corpus[0].roles
    assert train(corpus, replace(QUICK, seed=5)).first != model.first


def test_unseen_families_are_labelled_by_models_that_have_not_seen_them(corpus: list[Sample]) -> None:
    # One family calls its navigation the article: only a model that had seen it could know.
    odd = [
        replace(sample, roles=sample.roles[::-1]) if sample.family == "family 0" else sample
        for sample in corpus
    ]
    labels = cross_validate(odd, QUICK, folds=6)
    right = [found.roles == sample.roles for found, sample in zip(labels, odd, strict=True)]
    assert not any(ok for ok, sample in zip(right, odd, strict=True) if sample.family == "family 0")
    assert sum(right) > 20 / 2


def test_what_cannot_be_trained_on_is_refused(corpus: list[Sample]) -> None:
    with pytest.raises(ValueError, match="1 families, expected at least 3"):
        train([replace(sample, family="one") for sample in corpus], QUICK)
    with pytest.raises(ValueError, match="0 roles for"):
        train([*corpus, replace(corpus[0], roles=())], QUICK)
    without = [
        replace(sample, roles=tuple(Role.NONE if role is Role.HEADLINE else role for role in sample.roles))
        for sample in corpus
    ]
    with pytest.raises(ValueError, match="no block is headline"):
        train(without, QUICK)
