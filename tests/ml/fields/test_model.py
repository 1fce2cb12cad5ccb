"""The field model: what it chooses, how sure it is, and its file."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from ml.fields.features import FEATURES, ROWS
from ml.fields.model import SCHEMA_VERSION, FieldModel
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


def test_a_saved_model_predicts_the_same(model: FieldModel, make_page, tmp_path: Path) -> None:
    model.save(tmp_path / "fields.json")
    loaded = FieldModel.load(tmp_path / "fields.json")
    page = parse_page(make_page(free=False))
    assert loaded.predict(page) == model.predict(page)
    assert loaded.settings == model.settings


def test_training_is_deterministic(small_world: list[Sample], model: FieldModel, tmp_path: Path) -> None:
    train(small_world, seed=0).save(tmp_path / "again.json")
    model.save(tmp_path / "first.json")
    assert (tmp_path / "again.json").read_text() == (tmp_path / "first.json").read_text()


def test_one_family_is_too_few(small_world: list[Sample]) -> None:
    alone = [(page, article, "family-0") for page, article, _ in small_world[:5]]
    with pytest.raises(ValueError, match="1 families, expected at least 2"):
        train(alone, seed=0)


def _changed(model: FieldModel, path: Path, change) -> Path:
    model.save(path)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    return path


def test_a_file_of_another_version_is_refused(model: FieldModel, tmp_path: Path) -> None:
    path = _changed(
        model, tmp_path / "m.json", lambda content: content.update(schema_version=SCHEMA_VERSION + 1)
    )
    with pytest.raises(
        ValueError, match=rf"version {SCHEMA_VERSION + 1}, expected .* version {SCHEMA_VERSION}; train"
    ):
        FieldModel.load(path)


def test_a_file_with_other_features_is_refused(model: FieldModel, tmp_path: Path) -> None:
    other = list(reversed(FEATURES["topics"]))
    path = _changed(
        model, tmp_path / "m.json", lambda content: content["fields"]["topics"].update(features=other)
    )
    with pytest.raises(ValueError, match="other features for topics"):
        FieldModel.load(path)


@pytest.mark.parametrize("text", ["no JSON", "[]", "{}", '{"format": "news-crawler-lm field model"}'])
def test_a_file_of_another_kind_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(ValueError, match="expected"):
        FieldModel.load(tmp_path / "m.json")


def test_broken_trees_are_refused(model: FieldModel, tmp_path: Path) -> None:
    path = _changed(
        model, tmp_path / "m.json", lambda content: content["fields"]["title"].update(trees="oak")
    )
    with pytest.raises(ValueError, match="cannot read"):
        FieldModel.load(path)
