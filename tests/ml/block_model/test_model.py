import pickle
from dataclasses import replace

import numpy as np
import pytest

from ml.alignment import Role
from ml.block_model.confidence import SIGNS, Calibration, fit_calibration
from ml.block_model.model import BlockModel, decide
from ml.block_model.training import Sample
from ml.page import parse_page


def test_predicts_the_roles_it_was_taught(model: BlockModel, corpus: list[Sample]) -> None:
    labels = model.predict(corpus[0].page)
    assert labels.roles == corpus[0].roles
    assert labels.is_article
    assert labels.probabilities.shape == (len(corpus[0].page.blocks), len(Role))
    assert labels.probabilities.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize(
    "html",
    [
        "<p>Hi",
        "<ul>" + "".join(f"<li><a href=/{at}>Story {at}</a></li>" for at in range(30)) + "</ul>",
        "<form><p>Please log in</p><label>Name</label></form>",
    ],
)
def test_a_page_without_an_article_gives_none(model: BlockModel, html: str) -> None:
    labels = model.predict(parse_page(html))
    assert not labels.is_article
    assert labels.confidence < 0.5


def test_a_page_without_blocks(model: BlockModel, corpus: list[Sample]) -> None:
    labels = model.predict(replace(corpus[0].page, blocks=()))
    assert labels.roles == ()
    assert labels.confidence == 0


def test_stored_and_read_it_is_the_same(model: BlockModel, corpus: list[Sample]) -> None:
    again = BlockModel.model_validate_json(model.model_dump_json())
    assert again == model
    first, second = model.predict(corpus[1].page), again.predict(corpus[1].page, threads=2)
    np.testing.assert_array_equal(first.probabilities, second.probabilities)
    assert first.confidence == second.confidence


def test_it_can_be_sent_to_another_process(model: BlockModel, corpus: list[Sample]) -> None:
    sent = pickle.loads(pickle.dumps(model))
    assert sent.predict(corpus[2].page).roles == model.predict(corpus[2].page).roles


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": ["words", "wingspan"]}, "only in the model: wingspan"),
        ({"roles": ["none"]}, "found 1 names"),
        ({"threshold": 2}, "threshold"),
        ({"confidence": {"weights": [1.0]}}, "found 1 weights"),
        ({"first": "no trees"}, "cannot read"),
        ({"wings": 2}, "wings"),
    ],
)
def test_another_model_is_refused(model: BlockModel, change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BlockModel.model_validate(model.model_dump(mode="json") | change)


def test_trees_over_other_columns_are_refused(model: BlockModel) -> None:
    with pytest.raises(ValueError, match=r"expected .* of the two stages"):
        BlockModel.model_validate(model.model_dump() | {"second": (model.first,)})


def test_decide_needs_text_first() -> None:
    probabilities = np.array([[0.6, 0.4, 0.0, 0.0], [0.45, 0.2, 0.25, 0.1], [0.0, 0.1, 0.2, 0.7]])
    assert decide(probabilities, 0.5) == (Role.NONE, Role.HEADLINE, Role.PARAGRAPH)
    assert decide(probabilities, 0.4) == (Role.SUMMARY, Role.HEADLINE, Role.PARAGRAPH)


def test_calibration_follows_what_happens() -> None:
    generator = np.random.default_rng(0)
    signs = np.ones((4_000, len(SIGNS)))
    signs[:, 1] = generator.uniform(-3, 3, 4_000)
    good = generator.uniform(size=4_000) < 1 / (1 + np.exp(-2 * signs[:, 1]))
    calibration = fit_calibration(signs, good)
    for sign in (-1.0, 0.0, 1.5):
        row = np.ones(len(SIGNS))
        row[1] = sign
        assert calibration.probability(row) == pytest.approx(1 / (1 + np.exp(-2 * sign)), abs=0.05)


def test_calibration_of_pages_that_can_be_told_apart_stays_finite() -> None:
    signs = np.ones((20, len(SIGNS)))
    signs[:10, 1] = -1
    calibration = fit_calibration(signs, signs[:, 1] > 0)
    assert np.isfinite(calibration.weights).all()
    assert calibration.probability(signs[0]) < 0.5 < calibration.probability(signs[-1])


def test_nothing_kept_is_no_article() -> None:
    assert Calibration((9.0,) * len(SIGNS)).probability(np.zeros(len(SIGNS))) == 0
