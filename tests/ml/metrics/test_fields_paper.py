"""The paper's counts of keys, by hand."""

import pytest

from ml.metrics import fields_paper

WANTED = (
    '{"title": "T", "authors": ["A", "B"], "date": null, "free": true, '
    '"body": {"summary": [], "sections": [{"headline": [], "paragraphs": ["P"]}]}}'
)


def _with(**changes: str) -> str:
    values = {
        "title": '"T"',
        "authors": '["A", "B"]',
        "date": "null",
        "free": "true",
        "body": '{"summary": [], "sections": [{"headline": [], "paragraphs": ["P"]}]}',
    }
    return "{" + ", ".join(f'"{key}": {value}' for key, value in (values | changes).items() if value) + "}"


@pytest.mark.parametrize(
    ("prediction", "expected"),
    [
        (_with(), (4, 0, 0)),  # title, authors, date and free; a body is never a true positive
        (_with(title='"U"'), (3, 1, 1)),
        (_with(title=""), (3, 0, 1)),
        (_with(extra="1"), (4, 1, 0)),
        (_with(authors='["B", "A", "A"]'), (4, 0, 0)),  # as sets
        (_with(authors='["B"]'), (3, 1, 1)),
        (_with(authors='"A, B"'), (3, 1, 1)),  # another type
        (_with(authors='[["A"], {}]'), (3, 1, 1)),
        (_with(date='"2024"'), (3, 1, 1)),  # another type than null, before any rule for null
        (_with(free="1"), (3, 1, 1)),  # an integer is no boolean
        (_with(body="{}"), (4, 0, 4)),  # summary, sections, sections.headline, sections.paragraphs
        (_with(body="null"), (4, 0, 4)),
        (_with(body='{"summary": [], "sections": [{"headline": "", "paragraphs": []}]}'), (4, 1, 1)),
        (_with(body='{"summary": [], "sections": [], "more": {"deep": 1}}'), (4, 2, 2)),
        ("{}", (0, 0, 5)),
        ("[1, 2]", (0, 0, 5)),
    ],
)
def test_counts(prediction: str, expected: tuple[int, int, int]) -> None:
    assert fields_paper.counts(prediction, WANTED) == expected


@pytest.mark.parametrize(
    "text",
    [
        "{'title': 'T', 'free': True, 'date': None}",
        "{'a': true, 'b': [null, false],}",
        '{"a": "\\/"}',
        "('a',)",
        "3",
    ],
)
def test_python_literals_and_json_are_valid(text: str) -> None:
    assert fields_paper.is_valid(text) == 1


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "None", "{'a': }", "{'a': open('x')}", "{'a': nil}", "{[]: 1}", '{"a": NaN}', "{'a': 1",
        "[" * 100_000, '{"a":' * 100_000, "(" * 500 + ")" * 500, "-" * 100_000 + "1", "1" + "+1" * 50_000,
        "not " * 50_000 + "1", "x" + ".x" * 50_000, "9" * 5000, '{"a": ' + "9" * 5000 + "}", "{'a': '\0'}", "'\ud800'",
        "1 if 1 else " * 20_000 + "1", "lambda: " * 20_000 + "1", "f'{" * 100,
    ],
)  # fmt: skip
def test_everything_else_is_not_and_does_no_harm(text: str) -> None:
    assert fields_paper.is_valid(text) == 0
    assert fields_paper.counts(text, WANTED) is None


def test_a_reference_that_is_no_object_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected a JSON object"):
        fields_paper.counts("{}", "[]")
