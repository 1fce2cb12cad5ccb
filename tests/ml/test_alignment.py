"""Weak labels: the blocks that hold an article get its roles, whatever surrounds, splits or repeats them."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.alignment import Role, align, target_coverage, words, words_of_each
from ml.article import Article, Body, Section
from ml.page import Page, parse_page

NONE, SUMMARY, HEADLINE, PARAGRAPH = Role.NONE, Role.SUMMARY, Role.HEADLINE, Role.PARAGRAPH


def article(*paragraphs: str, summary: tuple[str, ...] = (), headline: tuple[str, ...] = ()) -> Article:
    return Article(body=Body(summary=summary, sections=(Section(headline=headline, paragraphs=paragraphs),)))


def page(*blocks: str) -> Page:
    return parse_page("".join(f"<p>{block}</p>" for block in blocks))


def roles(page: Page, article: Article) -> list[Role]:
    return list(align(page, article).roles)


def test_labels_summary_headline_and_paragraph() -> None:
    target = article(
        "The council voted on Monday.",
        "Work starts in May.",
        summary=("A mill is saved.",),
        headline=("What now",),
    )
    seen = page(
        "Home",
        "A mill is saved.",
        "What now",
        "The council voted on Monday.",
        "Work starts in May.",
        "Imprint",
    )
    assert roles(seen, target) == [NONE, SUMMARY, HEADLINE, PARAGRAPH, PARAGRAPH, NONE]
    assert align(seen, target).coverage == 1.0


def test_of_a_repeated_text_the_copy_next_to_the_rest_counts() -> None:
    target = article(
        "The council voted to keep it.", "Work starts in May, they say.", summary=("The old mill is saved.",)
    )
    teaser, body = (
        "The old mill is saved.",
        ("The council voted to keep it.", "Work starts in May, they say."),
    )
    seen = page(teaser, "News", "Sport", "Weather today", teaser, *body, "Read more", teaser)
    assert roles(seen, target) == [NONE, NONE, NONE, NONE, SUMMARY, PARAGRAPH, PARAGRAPH, NONE, NONE]


def test_one_paragraph_in_several_blocks_and_several_in_one() -> None:
    target = article(
        "One two three four five six seven eight.",
        "Nine ten eleven twelve.",
        "Thirteen fourteen fifteen sixteen.",
    )
    split = page(
        "One two three four five",
        "an advert stands in between",
        "six seven",
        "eight.",
        "Nine ten eleven twelve.",
    )
    assert roles(split, target)[:2] == [PARAGRAPH, NONE]
    joined = page("before", "Nine ten eleven twelve. Thirteen fourteen fifteen sixteen.", "after")
    assert roles(joined, target) == [NONE, PARAGRAPH, NONE]
    assert align(joined, target).coverage == 0.5


def test_a_fragment_between_two_others_is_found() -> None:
    target = article("One two three four five six seven eight nine ten.")
    assert roles(page("One two three four", "five six", "seven eight nine ten."), target) == [PARAGRAPH] * 3


@pytest.mark.parametrize(
    ("on_page", "extracted"),
    [
        ("„Das ist’s“ – sagte er laut", '"Das ist\'s" - sagte er laut'),
        ("Ge\u00adbäude\u200b in der Stadt verkauft", "Gebäude in der Stadt verkauft"),
        ("Der ﬁnale Akt beginnt heute", "Der finale Akt beginnt heute"),
        ("STRASSE nach Süden wird gesperrt", "Straße nach Süden wird gesperrt"),
        ("Cafe\u0301 am Markt macht zu", "Café am Markt macht zu"),
        ("東京の天気は晴れです。", "東京の天気は晴れです"),
        ("तूफ़ान के बाद शहर शांत है", "तूफ़ान के बाद शहर शांत है"),
    ],
)
def test_typography_and_scripts_do_not_matter(on_page: str, extracted: str) -> None:
    assert roles(page("x y z", on_page, "x y z"), article(extracted)) == [NONE, PARAGRAPH, NONE]


def test_a_block_that_is_mostly_something_else_stays_unlabelled() -> None:
    other = " ".join(f"comment{i}" for i in range(20))
    assert roles(page(f"{other} the council voted on monday"), article("The council voted on Monday.")) == [
        NONE
    ]


def test_an_article_without_text_labels_nothing() -> None:
    alignment = align(page("a", "b"), Article(title="Only a title"))
    assert alignment.roles == (NONE, NONE)
    assert alignment.coverage == 1.0


def test_article_that_is_not_on_the_page() -> None:
    alignment = align(
        page("This page is for subscribers"), article("The council voted on Monday to keep the mill.")
    )
    assert alignment.roles == (NONE,)
    assert alignment.coverage == 0.0


def test_words_of_scripts_without_spaces_are_characters() -> None:
    assert words("東京 2024年, Straße_x") == ["東", "京", "2024", "年", "strasse", "x"]


@given(st.lists(st.text()))
def test_words_of_many_texts_are_those_of_each(texts: list[str]) -> None:
    assert words_of_each(texts) == [words(text) for text in texts]


LINE = st.lists(st.sampled_from([f"w{i}" for i in range(60)]), min_size=1, max_size=9).map(" ".join)
NOISE = st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6).map(" ".join), max_size=3)
LABELLED = st.tuples(st.sampled_from([HEADLINE, PARAGRAPH]), LINE)


@given(st.lists(LINE, max_size=2), st.lists(LABELLED, max_size=8), st.data())
def test_a_page_made_of_an_article_and_noise_gives_exactly_its_roles(
    summary: list[str], rest: list[tuple[Role, str]], data: st.DataObject
) -> None:
    sections = [
        Section(headline=(line,)) if role is HEADLINE else Section(paragraphs=(line,)) for role, line in rest
    ]
    target = Article(body=Body(summary=tuple(summary), sections=tuple(sections)))
    blocks: list[tuple[Role, str]] = [(NONE, "first")]
    for labelled in [*((SUMMARY, line) for line in summary), *rest]:
        blocks += [labelled, *((NONE, noise) for noise in data.draw(NOISE))]
    alignment = align(page(*(text for _, text in blocks)), target)
    assert list(alignment.roles) == [role for role, _ in blocks]
    assert alignment.coverage == 1.0


WORDS = st.lists(st.sampled_from(["mill", "old", "the", "Straße", "東京", "2024"]), max_size=30)


@given(WORDS, WORDS, st.data())
def test_coverage_is_a_share_and_falls_as_words_go(
    on_page: list[str], wanted: list[str], data: st.DataObject
) -> None:
    target = Article(title="the mill", body=Body(summary=(" ".join(wanted),) if wanted else ()))
    kept = [word for word in on_page if data.draw(st.booleans())]
    full, less = (target_coverage(f"<p>{' '.join(some)}", target) for some in (on_page, kept))
    assert 0.0 <= less <= full <= 1.0
    assert target_coverage(" ".join([target.title or "", *wanted]), target) == 1.0


@given(WORDS, st.lists(WORDS, min_size=1, max_size=8))
def test_there_is_one_label_a_block(wanted: list[str], blocks: list[list[str]]) -> None:
    target = Article(body=Body(summary=(" ".join(wanted),) if wanted else ()))
    seen = page("x", *(" ".join(block) for block in blocks))
    alignment = align(seen, target)
    assert len(alignment.roles) == len(seen.blocks)
    assert 0.0 <= alignment.coverage <= 1.0


def test_coverage_counts_repetition_and_reads_entities() -> None:
    target = Article(title="R&D and R&D", body=Body())
    assert target_coverage("<p>R&amp;D", target) == pytest.approx(2 / 5)
    assert target_coverage("<p>r&amp;d AND r&amp;d", target) == 1.0


def test_endless_repetition_takes_linear_time() -> None:
    seen = page(*["the same words again and again"] * 10_000)
    target = article(*["the same words again and again"] * 500)
    started = time.process_time()
    align(seen, target)
    assert time.process_time() - started < 10
