"""Names in the statements that hold them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.fields.names import looks_like_name, names_of_byline, split_names, starts_as_byline


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("Ann Lee", ["Ann Lee"]),
        ("By Ann Lee and Bo Ek", ["Ann Lee", "Bo Ek"]),
        ("Von Anna Groß und Jörg Öhm", ["Anna Groß", "Jörg Öhm"]),
        ("Par Zoé Blanc, Luc Noir et Guy Vert", ["Zoé Blanc", "Luc Noir", "Guy Vert"]),
        ("Ana Gil y Luz Paz", ["Ana Gil", "Luz Paz"]),
        ("José Ortega y Gasset", ["José Ortega y Gasset"]),
        ("Ann Lee | Bo Ek; Cy Orr", ["Ann Lee", "Bo Ek", "Cy Orr"]),
        ("Ann Lee/Bo Ek", ["Ann Lee", "Bo Ek"]),
        ("dpa/lsw", ["dpa/lsw"]),
        ("Ole Bull og Per Gynt", ["Ole Bull", "Per Gynt"]),
        ("Ann Lee (AP)", ["Ann Lee"]),
        ("Ann Lee @annlee https://x.example/annlee", ["Ann Lee"]),
        ("Ann Lee ann.lee@paper.example", ["Ann Lee"]),
        ("山田太郎、鈴木花子", ["山田太郎", "鈴木花子"]),
        ("", []),
        ("--- 123", []),
    ],
)
def test_names_are_split_and_cleaned(statement: str, names: list[str]) -> None:
    assert list(split_names(statement)) == names


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("By Ann Lee Published March 1, 2024", ["Ann Lee"]),
        ("Von Jörg Öhm 01.03.2024", ["Jörg Öhm"]),
        ("1. März 2024 • Jörg Öhm • 3 Minuten", ["Jörg Öhm"]),
        ("byAnn Lee", ["Ann Lee"]),
        ("di Ugo Re", ["Ugo Re"]),
        ("This is a sentence about many things and no name at all", []),
    ],
)
def test_a_byline_may_hold_more_than_names(line: str, names: list[str]) -> None:
    assert [name for name in names_of_byline(line) if looks_like_name(name)] == names


def test_bylines_are_known_by_their_first_word() -> None:
    assert starts_as_byline("By Ann Lee")
    assert starts_as_byline("Von Jörg Öhm")
    assert not starts_as_byline("Ann Lee")
    assert not starts_as_byline("Bye Bye")


@given(st.text(max_size=200))
def test_every_name_is_a_part_of_the_statement(text: str) -> None:
    words = text.split()
    for name in [*split_names(text), *names_of_byline(text)]:
        assert all(any(part in word for word in words) for part in name.split())
