"""What a page offers for each field."""

from datetime import datetime, timedelta, timezone

from ml.fields.candidates import Place, candidates
from ml.fields.features import FEATURES, ROWS, View, matrix
from ml.page import parse_page


def test_one_value_in_several_places_is_one_option(make_page) -> None:
    found = candidates(parse_page(make_page()))
    title = found.title[0]
    assert title.value == "A calm day at sea"
    assert {mention.place for mention in title.mentions} == {Place.JSON_LD, Place.HEADING, Place.TITLE_TAG}
    assert found.authors[0].at(Place.BYLINE) is not None
    assert found.authors[0].at(Place.JSON_LD) is not None


def test_a_title_is_offered_without_the_name_of_its_site() -> None:
    page = parse_page("<title>Rain: what now? - News - The Harbour</title><p>Some text.</p>")
    values = [option.value for option in candidates(page).title]
    assert values == ["Rain: what now? - News - The Harbour", "Rain: what now? - News", "Rain: what now?"]


def test_dates_keep_their_zones_and_come_from_the_visible_text_too() -> None:
    page = parse_page(
        '<meta property="article:published_time" content="2024-03-01T07:30:00+01:00">'
        "<h1>Rain</h1><p>Published 29.02.2024</p><p>It rained for a long time.</p>"
    )
    values = [option.value for option in candidates(page).publishing_date]
    assert values == [datetime(2024, 3, 1, 7, 30, tzinfo=timezone(timedelta(hours=1))), datetime(2024, 2, 29)]


def test_keywords_are_split_and_merged(make_page) -> None:
    page = parse_page(make_page(keywords="Sea, weather;sea,, Storm "))
    assert [option.value for option in candidates(page).topics] == ["Sea", "weather", "Storm"]


def test_a_bare_name_below_the_headline_is_offered_and_a_menu_is_not() -> None:
    page = parse_page(
        "<h1>Rain</h1><p>Ann Lee | 01.03.2024</p><p>It rained, and Bo Ek was not amused by it.</p>"
    )
    assert [option.value for option in candidates(page).authors] == ["Ann Lee"]


def test_every_row_has_the_features_of_its_field(make_page) -> None:
    view = View(page := parse_page(make_page(free=False)), candidates(page))
    for name, rows in ROWS.items():
        assert [tuple(row) for row in rows(view)] == [FEATURES[name]] * len(rows(view))
        assert matrix(rows(view), len(FEATURES[name])).shape == (len(rows(view)), len(FEATURES[name]))


def test_a_page_without_statements_offers_nothing() -> None:
    page = parse_page("<p>Hello, this is a page without anything.</p>")
    found = candidates(page)
    assert (found.title, found.authors, found.publishing_date, found.topics) == ((), (), (), ())
    assert matrix(ROWS["title"](View(page, found)), len(FEATURES["title"])).shape == (
        0,
        len(FEATURES["title"]),
    )
