"""The block model's folder as MLflow reads it: the signature it states, and what it answers."""

import json
from pathlib import Path

import mlflow.pyfunc  # noqa: TID253 - the reader of the folder
import pytest
from mlflow.exceptions import MlflowException  # noqa: TID253

from ml.article import Article
from ml.extractor import default_extractor, extract
from ml.page import decode
from resources.demo.newsroom import articles
from resources.demo.pages import reply
from resources.registered import TREES
from resources.served_extractor import save_served


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_served(default_extractor(), "# Card\n", tmp_path_factory.mktemp("served") / "model")


def test_it_answers_as_the_extractor_does(served: Path) -> None:
    html = decode(reply(articles("HarbourGazette")[0].url).body)
    wanted = extract(html)
    questions = [{"html": html}, {"html": ""}]
    found, nothing = mlflow.pyfunc.load_model(str(served)).predict(questions)
    assert wanted.article
    assert Article.from_json(found.article) == wanted.article
    assert found.text == wanted.article.plaintext
    assert (found.is_article, found.confidence, found.error) == (True, wanted.confidence, None)
    assert (nothing.is_article, nothing.article) == (False, None)
    assert "empty page" in nothing.error


def test_its_signature_names_every_column(served: Path) -> None:
    signature = mlflow.pyfunc.load_model(str(served)).metadata.signature
    [given], [answered] = signature.inputs.inputs, signature.outputs.inputs
    assert {each.name for each in given.type.properties} == {"html"}
    assert {each.name for each in answered.type.properties} == {
        "is_article",
        "confidence",
        "language",
        "text",
        "article",
        "error",
    }


def test_what_is_no_question_is_refused(served: Path) -> None:
    with pytest.raises(MlflowException, match="html"):
        mlflow.pyfunc.load_model(str(served)).predict([{"url": "https://example.org"}])


def test_the_folder_is_whole(served: Path) -> None:
    assert (served / TREES.weights).is_file()
    assert (served / "README.md").read_text() == "# Card\n"
    assert "lightgbm==" in (served / "requirements.txt").read_text()
    assert (served / "code" / "ml" / "extractor.py").is_file(), "the code travels with the model"
    assert json.loads((served / "serving_input_example.json").read_text())


def test_an_older_folder_is_replaced(served: Path) -> None:
    (served / "stale").touch()
    save_served(default_extractor(), "# Another card\n", served)
    assert not (served / "stale").exists()
    assert (served / "README.md").read_text() == "# Another card\n"
