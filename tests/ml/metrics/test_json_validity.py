"""Strict JSON, and strict articles."""

import json
from datetime import UTC, datetime

import jsonschema
import pytest

from ml.article import Article, Body, Section, article_json_schema
from ml.metrics import json_validity, schema_validity

ARTICLE = Article(
    title="A title",
    authors=("A. Writer",),
    publishing_date=datetime(2024, 5, 1, 8, 30, tzinfo=UTC),
    topics=("Council",),
    body=Body(summary=("Short.",), sections=(Section(headline=("Why",), paragraphs=("Because.",)),)),
)


@pytest.mark.parametrize(
    "text",
    ['{"a": [1, 2.5e3, null]}', " {} ", '{"東": "京"}', '{"n": 1' + "0" * 5000 + "}", '{"s": "\\ud800"}'],
)
def test_objects_are_valid(text: str) -> None:
    assert json_validity.score(text) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        '"text"',
        "{'a': 1}",  # a Python dict's repr
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1, "a": 2}',
        '{"b": {"a": 1, "a": 2}}',
        '{"a": 1,}',
        '{"a": "line\nbreak"}',
        '{"a": "cut off',
        '{"a": 1} and more',
        "[" * 100_000,
        '{"a":' * 100_000,
    ],
)
def test_everything_else_is_not(text: str) -> None:
    assert json_validity.score(text) == 0
    assert schema_validity.score(text) == 0


def test_an_article_is_valid_with_or_without_optional_values() -> None:
    assert schema_validity.score(ARTICLE.to_json()) == 1
    assert schema_validity.score(Article().to_json()) == 1
    assert schema_validity.score(json.dumps(json.loads(ARTICLE.to_json()), indent=2)) == 1


def _variants() -> list[dict[str, object]]:
    """The article with one thing wrong each."""
    whole = json.loads(ARTICLE.to_json())
    body = whole["body"]
    return [
        *({key: value for key, value in whole.items() if key != missing} for missing in whole),
        whole | {"extra": 1},
        whole | {"free_access": "yes"},
        whole | {"free_access": 1},
        whole | {"authors": "A. Writer"},
        whole | {"authors": [""]},
        whole | {"title": 7},
        whole | {"title": ""},
        whole | {"publishing_date": "yesterday"},
        whole | {"publishing_date": 1714552200},
        whole | {"body": None},
        whole | {"body": {"summary": []}},
        whole | {"body": body | {"sections": [{"paragraphs": ["x"]}]}},
        whole | {"body": body | {"sections": [{"headline": [], "paragraphs": [None]}]}},
    ]


@pytest.mark.parametrize("variant", _variants(), ids=range(len(_variants())))
def test_agrees_with_the_published_schema(variant: dict[str, object]) -> None:
    assert not jsonschema.Draft202012Validator(article_json_schema()).is_valid(variant)
    assert json_validity.score(json.dumps(variant)) == 1
    assert schema_validity.score(json.dumps(variant)) == 0
