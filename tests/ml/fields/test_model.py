"""The field model: what it chooses, how sure it is, and its file."""

import pickle
from datetime import datetime

import pytest

from ml.fields.features import ROWS
from ml.fields.model import FieldModel
from ml.fields.training import Sample, train
from ml.page import parse_page


def test_a_page_like_those_it_learnt_from_is_read_with_confidence(model: FieldModel, make_page) -> None:
    fields = model.predict(
        parse_page(make_page(title="Storm over the harbour", authors=("Ann Leeb", "Bo Ek")))
    )
    assert fields.title == "Storm over the harbour"
    assert fields.authors == ("Ann Leeb", "Bo Ek")
    assert fields.publishing_date == datetime.fromisoformat("2024-03-01T07:30:00+01:00")
    assert fields.topics == ("sea", "weather")
    assert fields.free_access
    assert set(fields.confidence) == set(ROWS)
    assert all(0.8 < value <= 1 for value in fields.confidence.values())


def test_a_closed_page_is_known(model: FieldModel, make_page) -> None:
    assert not model.predict(parse_page(make_page(free=False))).free_access


def test_nothing_is_invented_for_a_page_that_states_nothing(model: FieldModel) -> None:
    fields = model.predict(parse_page("<p>Please log in to go on reading.</p>"))
    assert (fields.title, fields.authors, fields.publishing_date, fields.topics) == (None, (), None, ())
    assert all(0 <= value <= 1 for value in fields.confidence.values())


def test_values_are_copied_from_the_page(model: FieldModel, make_page) -> None:
    html = make_page(authors=("Cy Orr",), keywords="fish, chips")
    fields = model.predict(parse_page(html))
    assert all(value in html for value in (*fields.authors, *fields.topics, fields.title or ""))


def test_a_stored_model_predicts_the_same(model: FieldModel, make_page) -> None:
    again = FieldModel.model_validate_json(model.model_dump_json())
    sent = pickle.loads(pickle.dumps(model))
    page = parse_page(make_page(free=False))
    assert again == sent == model
    assert again.predict(page) == sent.predict(page) == model.predict(page)


def test_training_is_deterministic(small_world: list[Sample], model: FieldModel) -> None:
    assert train(small_world, seed=0) == model


def test_one_family_is_too_few(small_world: list[Sample]) -> None:
    alone = [(page, article, "family-0") for page, article, _ in small_world[:5]]
    with pytest.raises(ValueError, match="1 families, expected at least 2"):
        train(alone, seed=0)


def test_other_features_are_refused(model: FieldModel) -> None:
    other = model.model_dump(mode="json")
    other["settings"]["topics"]["features"].reverse()
    with pytest.raises(ValueError, match="of this release in their order"):
        FieldModel.model_validate(other)


def test_a_missing_field_is_refused(model: FieldModel) -> None:
    other = model.model_dump(mode="json")
    del other["trees"]["topics"]
    with pytest.raises(ValueError, match="found trees of title"):
        FieldModel.model_validate(other)


def test_trees_of_another_field_are_refused(model: FieldModel) -> None:
    other = model.model_dump(mode="json")
    other["trees"]["title"] = other["trees"]["topics"]
    with pytest.raises(ValueError, match="trees of title over"):
        FieldModel.model_validate(other)
