"""Trees as text: what they predict, and that they survive files and processes."""

import pickle

import lightgbm  # noqa: TID253 - what is compared with
import numpy as np
import pytest
from pydantic import ValidationError

from ml.trees import Trees

ROWS = np.random.default_rng(0).normal(size=(300, 4))


def trained(objective: str, labels: np.ndarray, **parameters: object) -> lightgbm.Booster:
    settings = {"objective": objective, "verbose": -1, "num_threads": 1, **parameters}
    return lightgbm.train(settings, lightgbm.Dataset(ROWS, labels), 12)


def test_nothing_of_a_prediction_is_lost() -> None:
    for booster in (
        trained("binary", ROWS[:, 0] > 0),
        trained("multiclass", np.digitize(ROWS[:, 1], (-0.5, 0.5)), num_class=3),
    ):
        trees = Trees.of(booster)
        np.testing.assert_array_equal(trees.predict(ROWS), booster.predict(ROWS))
        assert len(trees.root) < 0.7 * len(booster.model_to_string())
        assert trees.shape == (4, booster.num_model_per_iteration())


def test_they_are_the_same_from_a_file_and_in_another_process() -> None:
    trees = Trees.of(trained("binary", ROWS[:, 2] > 0))
    for again in (Trees.model_validate_json(trees.model_dump_json()), pickle.loads(pickle.dumps(trees))):
        assert again == trees
        np.testing.assert_array_equal(again.predict(ROWS), trees.predict(ROWS))
    assert len(pickle.dumps(trees)) < 1.2 * len(trees.root)


def test_other_text_is_refused() -> None:
    with pytest.raises(ValidationError, match="LightGBM cannot read"):
        Trees("an oak")
