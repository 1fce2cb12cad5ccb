"""The article value, its canonical JSON and the agreement of its reader with the published schema."""

import json
from datetime import datetime, timedelta, timezone

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.article import SCHEMA_PATH, Article, Body, Section, article_json_schema, normalise_text

validator = jsonschema.Draft202012Validator(article_json_schema())

# Real characters of several scripts, spaces of several kinds; no surrogates, which no encoding can hold.
texts = st.text(alphabet=st.characters(exclude_categories=("Cs",)), min_size=1, max_size=30).filter(
    normalise_text
)
lines = st.lists(texts, max_size=3).map(tuple)
minutes = st.integers(min_value=-23 * 60, max_value=23 * 60)
zones = st.one_of(st.none(), minutes.map(lambda offset: timezone(timedelta(minutes=offset))))
dates = st.datetimes(timezones=zones, min_value=datetime(1900, 1, 1), max_value=datetime(2100, 1, 1))
sections = st.builds(Section, headline=lines, paragraphs=lines)
bodies = st.builds(Body, summary=lines, sections=st.lists(sections, max_size=3).map(tuple))
articles = st.builds(
    Article,
    title=st.none() | texts,
    authors=lines,
    publishing_date=st.none() | dates,
    topics=lines,
    free_access=st.booleans(),
    body=bodies,
)

EXAMPLE = Article(
    title="Brücke gesperrt",
    authors=("Ada Muster",),
    publishing_date=datetime(2024, 3, 1, 7, 30),
    topics=("Verkehr",),
    body=Body(
        summary=("Kurz.",),
        sections=(
            Section(
                headline=("Lage",),
                paragraphs=("Eins.", "Zwei."),
            ),
        ),
    ),
)


def is_read(document: object) -> bool:
    try:
        Article.from_json(json.dumps(document))
    except ValueError:
        return False
    return True


@settings(deadline=None)
@given(articles)
def test_canonical_json_round_trips_and_fulfils_the_schema(article: Article) -> None:
    text = article.to_json()
    assert Article.from_json(text) == article
    assert Article.from_json(text).to_json() == text
    validator.validate(json.loads(text))


@given(articles, articles)
def test_canonical_json_is_equal_exactly_for_equal_articles(left: Article, right: Article) -> None:
    if left.to_json() == right.to_json():
        assert left == right
    assert left.model_copy().to_json() == left.to_json()


def test_json_has_real_characters_a_fixed_order_and_no_spare_spaces() -> None:
    assert EXAMPLE.to_json() == (
        '{"title":"Brücke gesperrt","authors":["Ada Muster"],"publishing_date":"2024-03-01T07:30:00",'
        '"topics":["Verkehr"],"free_access":true,"body":{"summary":["Kurz."],'
        '"sections":[{"headline":["Lage"],"paragraphs":["Eins.","Zwei."]}]}}'
    )


def test_plaintext_is_in_reading_order() -> None:
    assert EXAMPLE.plaintext == "Kurz.\n\nLage\n\nEins.\n\nZwei."
    assert Article().plaintext == ""


def test_published_schema_is_the_one_in_the_code() -> None:
    assert json.loads(SCHEMA_PATH.read_text(encoding="utf-8")) == article_json_schema()


@given(st.text())
def test_normalised_text_is_stable_and_on_one_line(text: str) -> None:
    once = normalise_text(text)
    assert normalise_text(once) == once
    assert len(once.splitlines()) <= 1


@pytest.mark.parametrize("zone", ["", "+00:00", "+05:30", "-03:00"])
def test_a_date_keeps_the_zone_the_page_gave(zone: str) -> None:
    date = datetime.fromisoformat(f"2024-03-01T07:30:00{zone}")
    article = Article(publishing_date=date)
    assert json.loads(article.to_json())["publishing_date"] == f"2024-03-01T07:30:00{zone}"
    read = Article.from_json(article.to_json()).publishing_date
    assert read is not None
    assert (read, read.utcoffset()) == (date, date.utcoffset())


def test_halves_of_surrogate_pairs_are_refused() -> None:
    assert Article(title="\ud83d x").title == "\ufffd x"
    assert Article(title="\ud83d\ude00").title == "\U0001f600"
    assert Article(title="\ud83d x").to_json().encode()


# What a model may write instead of canonical JSON; each is one change to a valid document.
FAULTS = {
    "missing title": lambda doc: doc.pop("title"),
    "missing body": lambda doc: doc.pop("body"),
    "missing topics": lambda doc: doc.pop("topics"),
    "unknown key": lambda doc: doc.update(language="de"),
    "unknown body key": lambda doc: doc["body"].update(text="x"),
    "missing sections": lambda doc: doc["body"].pop("sections"),
    "missing headline": lambda doc: doc["body"]["sections"][0].pop("headline"),
    "title a number": lambda doc: doc.update(title=7),
    "title empty": lambda doc: doc.update(title=""),
    "title a list": lambda doc: doc.update(title=["x"]),
    "authors a text": lambda doc: doc.update(authors="Ada Muster"),
    "authors null": lambda doc: doc.update(authors=None),
    "an author null": lambda doc: doc.update(authors=[None]),
    "an author empty": lambda doc: doc.update(authors=[""]),
    "free_access a word": lambda doc: doc.update(free_access="yes"),
    "free_access a number": lambda doc: doc.update(free_access=1),
    "free_access null": lambda doc: doc.update(free_access=None),
    "date a number": lambda doc: doc.update(publishing_date=1709278200),
    "date without a time": lambda doc: doc.update(publishing_date="2024-03-01"),
    "date with a space": lambda doc: doc.update(publishing_date="2024-03-01 07:30:00"),
    "date a numeric text": lambda doc: doc.update(publishing_date="1709278200"),
    "date a word": lambda doc: doc.update(publishing_date="today"),
    "body null": lambda doc: doc.update(body=None),
    "body a text": lambda doc: doc.update(body="text"),
    "sections an object": lambda doc: doc["body"].update(sections={}),
    "a section a text": lambda doc: doc["body"].update(sections=["x"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_reader_refuses_what_the_schema_refuses(fault: str) -> None:
    document = json.loads(EXAMPLE.to_json())
    FAULTS[fault](document)
    assert not validator.is_valid(document)
    assert not is_read(document), "the strict reader accepts what the published schema forbids"


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from(["", "x", "2024-03-01T07:30:00", "yes", "0"]),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=3,
)


@settings(deadline=None)
@given(articles, st.data())
def test_reader_and_schema_agree_on_a_document_with_one_value_replaced(
    article: Article, data: st.DataObject
) -> None:
    document = json.loads(article.to_json())
    place = data.draw(st.sampled_from([document, document["body"], *document["body"]["sections"]]))
    place[data.draw(st.sampled_from(sorted(place)))] = data.draw(json_values)
    assert is_read(document) == validator.is_valid(document)
