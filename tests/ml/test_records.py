"""Records: every one survives the way into Arrow and Parquet and back, and bad values are refused."""

import io
import typing
from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.records import ArticleRow, Assignment, CorpusRow, Reason, Record, SeenUrl, Split

encodable = st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=20)
VALUES: dict[object, st.SearchStrategy[typing.Any]] = {
    str: encodable,
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    datetime: st.datetimes(min_value=datetime(1900, 1, 1), timezones=st.just(UTC)),
    tuple[str, ...]: st.lists(encodable, max_size=3).map(tuple),
}


def every_record() -> list[type[Record]]:
    found, left = [], list(Record.__subclasses__())
    while left:
        record = left.pop()
        left.extend(record.__subclasses__())
        if record.__module__ == "ml.records":
            found.append(record)
    return sorted(found, key=lambda record: record.__name__)


def values(annotation: typing.Any) -> st.SearchStrategy[typing.Any]:
    if type(None) in typing.get_args(annotation):
        (inner,) = [part for part in typing.get_args(annotation) if part is not type(None)]
        return st.none() | values(inner)
    return VALUES[annotation]


def rows_of(record: type[Record]) -> st.SearchStrategy[list[Record]]:
    hints = typing.get_type_hints(record)
    row = st.builds(record, **{field.name: values(hints[field.name]) for field in fields(record)})
    return st.lists(row, max_size=4)


def an_assignment(**changes: object) -> Assignment:
    return Assignment(**({"publisher": "p", "family": "f", "split": "train"} | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("record", every_record(), ids=lambda record: record.__name__)
@settings(deadline=None)
@given(data=st.data())
def test_records_survive_arrow_and_parquet(record: type[Record], data: st.DataObject) -> None:
    rows = data.draw(rows_of(record))
    table = record.table(rows)
    file = io.BytesIO()
    pq.write_table(table, file)
    assert list(record.rows(table)) == rows
    assert list(record.rows(pq.read_table(file).cast(record.schema()))) == rows


@pytest.mark.parametrize("record", every_record(), ids=lambda record: record.__name__)
def test_schema_is_nullable_exactly_where_the_record_says_so(record: type[Record]) -> None:
    hints = typing.get_type_hints(record)
    assert record.schema().names == [field.name for field in fields(record)]
    for field in record.schema():
        assert field.nullable == (type(None) in typing.get_args(hints[field.name]))


def test_schemas_of_a_record_and_its_base_are_not_mixed_up() -> None:
    ArticleRow.schema()
    assert "duplicate_of" in CorpusRow.schema().names
    assert "duplicate_of" not in ArticleRow.schema().names


def test_enum_members_are_stored_as_their_text() -> None:
    table = Assignment.table([an_assignment(split=Split.TEST)])
    assert table.column("split").to_pylist() == ["test"]
    assert next(Assignment.rows(table)) == an_assignment(split=Split.TEST)


def test_extra_columns_of_a_table_are_left_aside() -> None:
    table = Assignment.table([an_assignment()]).append_column("extra", pa.array([1]))
    assert list(Assignment.rows(table)) == [an_assignment()]


@pytest.mark.parametrize("changes", [{"split": None}, {"family": 3}], ids=["missing", "wrong type"])
def test_a_value_that_does_not_fit_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises((pa.ArrowInvalid, pa.ArrowTypeError)):
        Assignment.table([an_assignment(), an_assignment(**changes)])


def test_an_instant_is_kept_whatever_its_zone() -> None:
    local = datetime(2024, 3, 1, 7, 30, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    seen = SeenUrl(url="u", publisher="p", same_as="x", crawl_date=local)
    [read] = SeenUrl.rows(SeenUrl.table([seen]))
    assert read.crawl_date == local
    assert read.crawl_date.utcoffset() == timedelta(0)


def test_reasons_and_splits_are_lower_case_words() -> None:
    for name in (*Reason, *Split):
        assert name == name.lower()
        assert name.replace("_", "").isalpha()
