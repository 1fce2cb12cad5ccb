"""Dates as pages write them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.fields.dates import dates_in, parse_date

EAST_ONE = timezone(timedelta(hours=1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-03-01T07:30:00Z", datetime(2024, 3, 1, 7, 30, tzinfo=UTC)),
        ("2024-03-01T07:30:00.250+0100", datetime(2024, 3, 1, 7, 30, 0, 250_000, tzinfo=EAST_ONE)),
        ("2024-03-01 07:30:05 +01:00", datetime(2024, 3, 1, 7, 30, 5, tzinfo=EAST_ONE)),
        ("2024-03-01T07:30+01:00", datetime(2024, 3, 1, 7, 30, tzinfo=EAST_ONE)),
        ("20240301T073000Z", datetime(2024, 3, 1, 7, 30, tzinfo=UTC)),
        ("2024-03-01", datetime(2024, 3, 1)),
        ("1709278200", datetime(2024, 3, 1, 7, 30, tzinfo=UTC)),
        ("1709278200000", datetime(2024, 3, 1, 7, 30, tzinfo=UTC)),
        ("Fri, 01 Mar 2024 07:30:00 +0100", datetime(2024, 3, 1, 7, 30, tzinfo=EAST_ONE)),
        ("Fri Mar 01 2024 07:30:00 GMT+0100 (CET)", datetime(2024, 3, 1, 7, 30, tzinfo=EAST_ONE)),
        ("01.03.2024, 7:30 Uhr", datetime(2024, 3, 1, 7, 30)),
        ("1. März 2024", datetime(2024, 3, 1)),
        ("March 1st, 2024 7:30 pm", datetime(2024, 3, 1, 19, 30)),
        ("March 1, 2024 12:05 am", datetime(2024, 3, 1, 0, 5)),
        ("1 de marzo de 2024", datetime(2024, 3, 1)),
        ("1er juillet 2024", datetime(2024, 7, 1)),
        ("1 марта 2024", datetime(2024, 3, 1)),
        ("2024年3月1日", datetime(2024, 3, 1)),
        ("2024년 3월 1일", datetime(2024, 3, 1)),
    ],
)
def test_a_date_keeps_its_zone_and_gets_none_where_it_has_none(text: str, expected: datetime) -> None:
    found = parse_date(text)
    assert found == expected
    assert found is not None
    assert found.utcoffset() == expected.utcoffset()


@pytest.mark.parametrize(
    "text", ["", "PT3M", "10:55", "1h ago", "2024-13-40", "99.99.2024", "1970-01-01T00:00:00Z", "12345"]
)
def test_what_is_no_date_of_the_web_is_none(text: str) -> None:
    assert parse_date(text) is None


def test_a_line_may_name_several_days() -> None:
    line = "Published 01.03.2024, 07:30. Updated 02.03.2024"
    assert list(dates_in(line)) == [datetime(2024, 3, 1, 7, 30), datetime(2024, 3, 2)]


@given(
    st.datetimes(
        min_value=datetime(1990, 1, 1),
        max_value=datetime(2100, 1, 1),
        timezones=st.none() | st.integers(-12, 14).map(lambda hours: timezone(timedelta(hours=hours))),
    )
)
def test_every_iso_date_is_read_as_it_is_written(date: datetime) -> None:
    found = parse_date(date.isoformat())
    assert found == date
    assert found is not None
    assert found.utcoffset() == date.utcoffset()


@given(st.text(max_size=80))
def test_no_text_raises(text: str) -> None:
    parse_date(text)
    list(dates_in(text))
