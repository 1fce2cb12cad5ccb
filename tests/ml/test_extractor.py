"""HTML to a typed article: learnt from the demo newsroom's stories, tried on a publisher that was left out."""

import json
from pathlib import Path
from statistics import median

import jsonschema
import pytest

from ml.article import SCHEMA_PATH
from ml.block_model.training import TrainingParameters
from ml.extractor import SCHEMA_VERSION, Extractor, LabelledPage, extract, train
from ml.metrics import groundedness, rouge_l
from ml.page import PageError, decode, parse_page, render_compact
from resources.demo.newsroom import Story, articles
from resources.demo.pages import reply
from resources.demo.sites import SITES

QUICK = TrainingParameters(folds=2, first_rounds=30, second_rounds=30, second_models=1, threads=1)
STORIES_EACH = 16
HELD_OUT = "PhareLibre"


def html_of(story: Story) -> str:
    return decode(reply(story.url).body)


@pytest.fixture(scope="module")
def extractor() -> Extractor:
    keys = [site.key for site in SITES if site.key != HELD_OUT]
    samples = [
        LabelledPage(page=parse_page(html_of(story)), article=story.article, family=key)
        for key in keys
        for story in articles(key)[:STORIES_EACH]
    ]
    return train(samples, QUICK)


@pytest.fixture(scope="module")
def unseen() -> tuple[Story, ...]:
    return articles(HELD_OUT)[:STORIES_EACH]


def test_articles_of_an_unseen_publisher_are_found_and_copied(
    extractor: Extractor, unseen: tuple[Story, ...]
) -> None:
    schema = json.loads(SCHEMA_PATH.read_text())
    scores = []
    for story in unseen:
        found = extractor.extract_page(parse_page(html_of(story)))
        if found.article is None:
            continue
        text = found.article.plaintext
        scores.append(rouge_l.score(text, story.article.plaintext))
        assert groundedness.score(text, render_compact(parse_page(html_of(story)))) == 1
        jsonschema.validate(json.loads(found.article.to_json()), schema)
        assert [line.text for line in found.lines] == found.article.body.lines()
        assert 0 <= found.confidence <= 1
    assert len(scores) > 0.75 * len(unseen)  # the rest was left alone for want of confidence
    assert median(scores) > 0.95


def test_a_page_that_is_no_article_has_none(extractor: Extractor) -> None:
    menu = "".join(f"<li><a href=/{at}>Story number {at}</a></li>" for at in range(40))
    found = extractor.extract(f"<html><body><h1>Home</h1><ul>{menu}</ul></body></html>")
    assert found.article is None
    assert found.lines == ()
    assert found.confidence < 0.5


def test_what_is_no_page_is_an_error(extractor: Extractor) -> None:
    with pytest.raises(PageError):
        extractor.extract("")


def test_it_is_saved_and_read_as_it_was(
    extractor: Extractor, unseen: tuple[Story, ...], tmp_path: Path
) -> None:
    extractor.save(tmp_path / "one.json")
    again = Extractor.load(tmp_path / "one.json")
    again.save(tmp_path / "two.json")
    assert again == extractor
    assert again.extract(html_of(unseen[0])) == extractor.extract(html_of(unseen[0]))
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


@pytest.mark.parametrize("text", ["", "tree\nversion=v4", "[1, 2]", "{}", '{"format": "poem"}'])
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"model\.json is no .*expected"):
        Extractor.load(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nowhere"):
        Extractor.load(tmp_path / "nowhere.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"schema_version": SCHEMA_VERSION + 1},
            f"'schema_version': {SCHEMA_VERSION + 1}.*train the model anew",
        ),
        ({"blocks": {}}, r"blocks\.threshold: Field required; train the model anew"),
        ({"wings": 2}, "wings"),
    ],
)
def test_a_model_of_another_release_is_refused(
    extractor: Extractor, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    path = tmp_path / "model.json"
    extractor.save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ValueError, match=message):
        Extractor.load(path)


def test_the_model_that_ships_reads_a_page_in_one_call(unseen: tuple[Story, ...]) -> None:
    found = extract(html_of(unseen[0]))
    assert found.article is not None
    assert found.article.title == unseen[0].article.title
    assert rouge_l.score(found.article.plaintext, unseen[0].article.plaintext) > 0.8
