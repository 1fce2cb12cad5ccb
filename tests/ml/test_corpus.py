"""The corpus: every row comes out once, each rejection is named, copies are settled one way."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from ml.corpus import CorpusRules, RetentionLine, build_corpus, retention, unaccounted
from ml.records import ArticleRow, CorpusRow, Reason

RULES = CorpusRules()
MORNING = datetime(2024, 3, 1, 7, tzinfo=UTC)

GOOD = ArticleRow(
    page_id="0",
    url="https://a.example/0",
    publisher="Courier",
    family="Courier",
    crawl_date=MORNING,
    fundus_version="1",
    rules_version="1",
    html_sha256="0",
    reason=None,
    detail=None,
    title="Bridge closed",
    language="en",
    plaintext="The bridge is closed until Friday, the mayor said.",
    json="{}",
    compact="<p>The bridge is closed until Friday, the mayor said.",
    roles=("paragraph",),
    input_tokens=20,
    text_tokens=10,
    json_tokens=12,
    target_coverage=1.0,
)


def article(number: int, **changes: object) -> ArticleRow:
    distinct = {"page_id": str(number), "url": f"https://a.example/{number}", "plaintext": f"Text {number}."}
    return replace(GOOD, **(distinct | changes))


def only(row: ArticleRow, rules: CorpusRules = RULES, disallows: frozenset[str] = frozenset()) -> CorpusRow:
    [found] = build_corpus([row], rules=rules, disallows_training=disallows)
    return found


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"input_tokens": 24_000, "text_tokens": 8_000, "json_tokens": 8_000, "target_coverage": 0.9}, None),
        ({"input_tokens": 24_001}, Reason.INPUT_TOO_LONG),
        ({"text_tokens": 8_001}, Reason.OUTPUT_TOO_LONG),
        ({"json_tokens": 8_001}, Reason.OUTPUT_TOO_LONG),
        ({"target_coverage": 0.899}, Reason.LOW_COVERAGE),
        ({"reason": "extraction_failed", "detail": "no body"}, Reason.EXTRACTION_FAILED),
        ({"reason": "no_title", "input_tokens": 99_999}, Reason.NO_TITLE),
        ({"input_tokens": 24_001, "target_coverage": 0.0}, Reason.INPUT_TOO_LONG),
    ],
)
def test_each_limit_has_its_reason(changes: dict[str, object], reason: Reason | None) -> None:
    assert only(replace(GOOD, **changes)).reason == reason


def test_a_rejection_says_what_was_found_and_expected() -> None:
    assert only(replace(GOOD, input_tokens=30_000)).detail == "30000 input tokens, at most 24000 are allowed"
    assert only(replace(GOOD, reason="extraction_failed", detail="no body")).detail == "no body"


def test_publishers_that_object_to_training_stay_out_unless_the_user_opts_in() -> None:
    objecting = frozenset({"Courier"})
    assert only(GOOD, disallows=objecting).reason == Reason.DISALLOWS_TRAINING
    assert only(GOOD, CorpusRules(allow_disallowed_training=True), objecting).reason is None
    assert only(replace(GOOD, publisher="Herald"), disallows=objecting).reason is None


def test_unknown_and_impossible_rules_are_refused() -> None:
    for wrong in ({"min_coverage": 1.2}, {"max_input_tokens": 0}, {"minimum": 1}):
        with pytest.raises(ValidationError):
            CorpusRules(**wrong)  # type: ignore[arg-type]


def test_of_copies_the_oldest_stays_and_the_others_name_it() -> None:
    first = article(7, plaintext="Same.", crawl_date=MORNING)
    other_address = article(3, plaintext="Same.", crawl_date=MORNING + timedelta(hours=1))
    crawled_again = replace(first, plaintext="Updated.", crawl_date=MORNING + timedelta(hours=2))
    rows = build_corpus([crawled_again, other_address, first], rules=RULES)
    assert [(row.page_id, row.reason, row.duplicate_of) for row in rows] == [
        ("7", None, None),
        ("3", Reason.DUPLICATE_CONTENT, "7"),
        ("7", Reason.DUPLICATE_URL, "7"),
    ]


def test_a_rejected_row_is_no_original() -> None:
    broken = article(1, plaintext="Same.", target_coverage=0.1)
    whole = article(2, plaintext="Same.", crawl_date=MORNING + timedelta(hours=1))
    assert [row.reason for row in build_corpus([broken, whole], rules=RULES)] == [Reason.LOW_COVERAGE, None]


def test_near_copies_across_publishers_are_kept_and_marked() -> None:
    agency = " ".join(f"word{number}" for number in range(80))
    rows = [
        article(1, publisher="Herald", plaintext=f"{agency} Herald staff"),
        article(2, publisher="Courier", plaintext=agency, crawl_date=MORNING - timedelta(days=1)),
        article(3, plaintext=f"{agency} rejected", target_coverage=0.0),
    ]
    found = {row.page_id: (row.reason, row.duplicate_of) for row in build_corpus(rows, rules=RULES)}
    assert found == {"2": (None, None), "1": (None, "2"), "3": (Reason.LOW_COVERAGE, None)}


articles = st.builds(
    article,
    st.integers(0, 9),
    publisher=st.sampled_from(["Courier", "Herald", "Post"]),
    plaintext=st.sampled_from(["One.", "Two.", "a b c d e f g h i j k l", "a b c d e f g h i j k l m"]),
    crawl_date=st.integers(0, 3).map(lambda hours: MORNING + timedelta(hours=hours)),
    reason=st.sampled_from([None, None, None, "no_title", "extraction_failed"]),
    input_tokens=st.sampled_from([10, 10, 10, 30_000]),
    target_coverage=st.sampled_from([1.0, 1.0, 0.5]),
    json=st.sampled_from(["{}", "[]"]),
)


@settings(deadline=None)
@given(st.lists(articles, max_size=25), st.sampled_from([frozenset(), frozenset({"Post"})]))
def test_kept_plus_rejected_is_what_was_read(rows: list[ArticleRow], objecting: frozenset[str]) -> None:
    corpus = build_corpus(rows, rules=RULES, disallows_training=objecting)
    assert Counter((row.page_id, row.publisher, row.crawl_date) for row in corpus) == Counter(
        (row.page_id, row.publisher, row.crawl_date) for row in rows
    )
    assert unaccounted(Counter(row.publisher for row in rows), retention(corpus)) == []
    kept = [row for row in corpus if row.reason is None]
    assert len({row.url for row in kept}) == len({row.plaintext for row in kept}) == len(kept)
    assert {row.duplicate_of for row in corpus if row.duplicate_of} <= {row.page_id for row in kept}
    assert all(row.reason is None or row.reason in set(Reason) for row in corpus)


@settings(deadline=None)
@given(
    st.lists(articles, max_size=12, unique_by=lambda row: (row.crawl_date, row.page_id, row.json)), st.data()
)
def test_the_corpus_does_not_depend_on_the_order_of_rows(rows: list[ArticleRow], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(rows))
    assert build_corpus(shuffled, rules=RULES) == build_corpus(rows, rules=RULES)


@settings(deadline=None)
@given(st.lists(articles, max_size=12))
def test_a_corpus_built_from_its_own_rows_comes_out_the_same(rows: list[ArticleRow]) -> None:
    corpus = build_corpus(rows, rules=RULES)
    kept = [row for row in corpus if row.reason is None]
    assert build_corpus(kept, rules=RULES) == kept


def test_retention_counts_per_publisher_and_reason() -> None:
    rows = [article(1), article(2), article(3, target_coverage=0.1), article(4, publisher="Herald")]
    assert retention(build_corpus(rows, rules=RULES)) == [
        RetentionLine(publisher="Courier", reason=None, count=2),
        RetentionLine(publisher="Courier", reason="low_coverage", count=1),
        RetentionLine(publisher="Herald", reason=None, count=1),
    ]


def test_a_lost_or_an_invented_row_is_named() -> None:
    lines = [
        RetentionLine(publisher="Courier", reason=None, count=2),
        RetentionLine(publisher="Post", reason="no_title", count=1),
    ]
    assert unaccounted({"Courier": 3, "Herald": 1}, lines) == [
        "Courier: read 3, but kept 2 and rejected 0",
        "Herald: read 1, but kept 0 and rejected 0",
        "Post: read 0, but kept 0 and rejected 1",
    ]
