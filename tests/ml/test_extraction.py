"""Article rows: every derived field, and a named reason for every page that gives no article."""

from datetime import UTC, datetime
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.article import Article, Body, Section
from ml.extraction import article_row, page_id_of
from ml.page import parse_page, render_compact
from ml.records import ArticleRow, RawPage, Reason
from ml.tokens import count_tokens

PAGE = """<!doctype html><html lang="en-GB"><head><title>Bridge closed - Courier</title></head><body>
<nav><a href="/">Home</a></nav><h1>Bridge closed</h1>
<p>The bridge is closed until Friday, the mayor said on Monday.</p>
<p>Engineers found cracks in two of its twelve girders.</p>
<footer>All rights reserved</footer></body></html>"""

ARTICLE = Article(
    title="Bridge closed",
    body=Body(
        sections=(
            Section(
                paragraphs=(
                    "The bridge is closed until Friday, the mayor said on Monday.",
                    "Engineers found cracks in two of its twelve girders.",
                )
            ),
        )
    ),
)


def raw_page(html: str = PAGE) -> RawPage:
    url = "https://courier.example/bridge"
    return RawPage(
        page_id=page_id_of(url),
        url=url,
        final_url=url,
        publisher="Courier",
        crawl_date=datetime(2024, 3, 1, tzinfo=UTC),
        source="archive",
        origin="test",
        fundus_version="0.5.7",
        html=html,
        html_sha256=sha256(html.encode("utf-8", "surrogatepass")).hexdigest(),
    )


def row(article: Article | None = ARTICLE, html: str = PAGE, **known: object) -> ArticleRow:
    return article_row(raw_page(html), article, family="Courier group", rules_version="r1", **known)  # type: ignore[arg-type]


def test_a_good_page_gives_a_row_with_every_field() -> None:
    found = row()
    page = raw_page()
    assert (found.reason, found.detail) == (None, None)
    assert (found.page_id, found.url, found.publisher, found.family) == (
        page.page_id,
        page.url,
        "Courier",
        "Courier group",
    )
    assert (found.crawl_date, found.fundus_version, found.rules_version) == (page.crawl_date, "0.5.7", "r1")
    assert found.html_sha256 == page.html_sha256
    assert (found.title, found.language) == ("Bridge closed", "en")
    assert found.plaintext == ARTICLE.plaintext
    assert Article.from_json(found.json) == ARTICLE
    assert found.compact == render_compact(parse_page(PAGE))
    assert len(found.roles) == len(parse_page(PAGE).blocks)
    assert found.roles.count("paragraph") == 2
    assert found.input_tokens == count_tokens(found.compact)
    assert found.text_tokens == count_tokens(found.plaintext)
    assert found.json_tokens == count_tokens(found.json)
    assert found.target_coverage == 1.0


def test_a_given_language_goes_before_the_page_s_own() -> None:
    assert row(language="cy").language == "cy"
    assert row(html=PAGE.replace(' lang="en-GB"', "")).language is None


def test_text_that_the_page_lacks_lowers_the_coverage() -> None:
    invented = Article(title="Bridge closed", body=Body(summary=("Nowhere written down ever again.",)))
    assert row(invented).target_coverage < 0.5


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("", Reason.EMPTY_PAGE),
        (" \n ", Reason.EMPTY_PAGE),
        ("\x00\x01\x02PNG" * 50, Reason.NOT_HTML),
        ("<html><head><title>x</title></head><body><script>1</script></body></html>", Reason.NO_BODY),
    ],
)
def test_a_page_that_cannot_be_read_says_so(html: str, reason: Reason) -> None:
    found = row(html=html)
    assert found.reason == reason
    assert found.detail
    assert (found.compact, found.roles, found.input_tokens, found.target_coverage) == ("", (), 0, 0.0)
    assert found.plaintext == ARTICLE.plaintext


def test_an_unreadable_page_keeps_what_the_extractor_said() -> None:
    found = row(None, html="", reason=Reason.EXTRACTION_FAILED, detail="title: no h1")
    assert found.reason == Reason.EMPTY_PAGE
    assert found.detail is not None
    assert found.detail.endswith("; title: no h1")


@pytest.mark.parametrize("reason", [Reason.PARSER_MISSING, Reason.EXTRACTION_FAILED])
def test_a_failed_extraction_keeps_its_reason_and_the_compact_page(reason: Reason) -> None:
    found = row(None, reason=reason, detail="no parser before 2024")
    assert (found.reason, found.detail) == (reason, "no parser before 2024")
    assert found.compact == render_compact(parse_page(PAGE))
    assert found.input_tokens > 0
    assert (found.title, found.plaintext, found.json, found.roles) == (None, "", "", ())
    assert (found.text_tokens, found.json_tokens, found.target_coverage) == (0, 0, 0.0)


def test_no_article_without_a_reason_is_a_failed_extraction() -> None:
    found = row(None)
    assert (found.reason, found.detail) == (Reason.EXTRACTION_FAILED, "the extractor returned no article")


@pytest.mark.parametrize(
    ("article", "reason"),
    [
        (ARTICLE.model_copy(update={"title": None}), Reason.NO_TITLE),
        (Article(title="Bridge closed"), Reason.EMPTY_TEXT),
        (Article(), Reason.NO_TITLE),
    ],
)
def test_articles_without_title_or_text_are_rejected(article: Article, reason: Reason) -> None:
    found = row(article)
    assert found.reason == reason
    assert found.json == article.to_json()


def test_an_article_with_a_reason_against_it_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one of them"):
        row(ARTICLE, reason=Reason.EXTRACTION_FAILED)


HALF_A_PAIR = (
    r'<html><head><script type="application/ld+json">{"@type":"NewsArticle","headline":"\ud83d Bridge"}</script>'
    "</head><body><h1>Bridge</h1><p>Closed until Friday, said the mayor. \ud83d</p></body></html>"
)


@settings(deadline=None)
@given(st.text() | st.text(alphabet="<>/ap h1\x00\ud800&;é", max_size=60) | st.just(HALF_A_PAIR))
def test_whatever_the_page_holds_it_becomes_a_row_that_can_be_stored(html: str) -> None:
    found = row(html=html)
    [stored] = ArticleRow.rows(ArticleRow.table([found]))
    assert stored == found
    assert (found.compact == "") == (found.reason in {Reason.EMPTY_PAGE, Reason.NOT_HTML, Reason.NO_BODY})


def test_page_ids_are_the_start_of_the_url_s_hash() -> None:
    assert (
        page_id_of("https://courier.example/bridge")
        == sha256(b"https://courier.example/bridge").hexdigest()[:16]
    )
