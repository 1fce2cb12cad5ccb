"""Values of an article's keys, counted by hand."""

import json
from collections.abc import Mapping

import pytest

from ml.article import Article, Body, Section
from ml.metrics import fields
from ml.metrics.fields import FIELDS, Counts

WANTED: Mapping[str, object] = {
    "title": "The council’s vote – a surprise",
    "authors": ["Ann Lee", "José Díaz"],
    "publishing_date": "2024-05-01T08:30:00+02:00",
    "topics": ["Council", "Vote"],
    "free_access": True,
    "body": {
        "summary": ["Short."],
        "sections": [
            {"headline": [], "paragraphs": ["One.", "Two."]},
            {"headline": ["Why"], "paragraphs": ["Three."]},
        ],
    },
}


def _counts(name: str, value: object, key: str | None = None) -> tuple[int, int, float]:
    counts = FIELDS[name]({**WANTED, key or name: value}, WANTED)
    return counts.found, counts.wanted, counts.shared


def test_an_article_equals_itself() -> None:
    article = Article(
        title="T",
        authors=("A", "B"),
        topics=("X",),
        body=Body(summary=("S",), sections=(Section(paragraphs=("P",)),)),
    )
    values = fields.read(article.to_json())
    assert values is not None
    found = {name: compare(values, values) for name, compare in FIELDS.items()}
    assert found == {
        "title": Counts(1, 1, 1),
        "authors": Counts(2, 2, 2),
        "date_instant": Counts(0, 0, 0),
        "date_day": Counts(0, 0, 0),
        "topics": Counts(1, 1, 1),
        "body": Counts(2, 2, 2),
    }


def test_no_object_misses_everything() -> None:
    assert {name: compare(None, WANTED) for name, compare in FIELDS.items()} == {
        "title": Counts(0, 1, 0),
        "authors": Counts(0, 2, 0),
        "date_instant": Counts(0, 1, 0),
        "date_day": Counts(0, 1, 0),
        "topics": Counts(0, 2, 0),
        "body": Counts(0, 5, 0),
    }


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("The council's vote - a surprise", (1, 1, 1)),
        ("THE COUNCIL'S VOTE\u00a0— A  SURPRISE", (1, 1, 1)),
        ("The council's vote, a surprise", (1, 1, 0)),
        (None, (0, 1, 0)),
        ("", (0, 1, 0)),
        (" \n", (0, 1, 0)),
        (7, (1, 1, 0)),
        (["The council's vote - a surprise"], (1, 1, 0)),
        ({}, (1, 1, 0)),
    ],
)
def test_titles_that_read_the_same_are_equal(title: object, expected: tuple[int, int, int]) -> None:
    assert _counts("title", title) == expected


def test_a_number_is_no_text_that_looks_like_it() -> None:
    found = fields.read('{"title": 7}')
    assert FIELDS["title"](found, {"title": "7"}) == Counts(1, 1, 0)


@pytest.mark.parametrize(
    ("authors", "expected"),
    [
        (["Jose\u0301 Díaz", "ANN LEE"], (2, 2, 2)),
        (["Ann Lee", "Ann Lee"], (2, 2, 1)),
        (["Ann Lee", None, 3], (3, 2, 1)),
        ("Ann Lee", (1, 2, 0)),
        ({"Ann Lee": 1}, (1, 2, 0)),
        ([], (0, 2, 0)),
        (None, (0, 2, 0)),
        ([["Ann Lee"]], (1, 2, 0)),
    ],
)
def test_authors_in_any_order(authors: object, expected: tuple[int, int, int]) -> None:
    assert _counts("authors", authors) == expected


def test_topics_are_compared_likewise() -> None:
    assert _counts("topics", ["vote", "Mayor", "council"]) == (3, 2, 2)


@pytest.mark.parametrize(
    ("date", "instant", "day"),
    [
        ("2024-05-01T08:30:00+02:00", 1, 1),
        ("2024-05-01T06:30:00Z", 1, 1),
        ("2024-04-30T23:30:00-07:00", 1, 0),  # the same moment on another day
        ("2024-05-01T08:30:00", 1, 1),  # no zone: as written
        ("2024-05-01T06:30:00", 0, 1),
        ("2024-05-01", 0, 1),
        ("2024-05-02T08:30:00+02:00", 0, 0),
        ("yesterday", 0, 0),
        (1714545000, 0, 0),
        (["2024-05-01"], 0, 0),
    ],
)
def test_dates_as_instant_and_as_day(date: object, instant: int, day: int) -> None:
    assert _counts("date_instant", date, "publishing_date") == (1, 1, instant)
    assert _counts("date_day", date, "publishing_date") == (1, 1, day)


def test_dates_at_the_ends_of_the_calendar_compare() -> None:
    for first, last in (("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"),):
        assert FIELDS["date_instant"]({"publishing_date": first}, {"publishing_date": last}).shared == 0


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # a headline taken for a paragraph: 4 of 5
        ({"summary": ["Short."], "sections": [{"paragraphs": ["One.", "Two.", "Why", "Three."]}]}, (5, 5, 4)),
        # the same lines in other sections
        (
            {"summary": ["Short."], "sections": [{"headline": ["Why"], "paragraphs": ["Three.", "Two.", "One."]}]},
            (5, 5, 5),
        ),
        ({"summary": "Short.", "sections": [{"paragraphs": ["One."]}, "Two."]}, (3, 5, 1)),
        ({"sections": {"headline": ["Why"]}}, (1, 5, 0)),
        ({}, (0, 5, 0)),
        (None, (0, 5, 0)),
        ("One.", (1, 5, 0)),
        ([["One."]], (1, 5, 0)),
    ],
)  # fmt: skip
def test_the_body_is_lines_with_roles(body: object, expected: tuple[int, int, int]) -> None:
    assert _counts("body", body) == expected


def test_reading_is_strict() -> None:
    assert fields.read(json.dumps(dict(WANTED))) == WANTED
    assert fields.read("[1]") is fields.read('{"a": NaN}') is fields.read('{"a": 1, "a": 2}') is None
