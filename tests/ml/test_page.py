"""From HTML to blocks and to the compact page: nothing visible is lost, nothing hostile gets in the way."""

import json
import re
from html import escape, unescape
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ml.alignment import words
from ml.metadata import Fact, Source
from ml.page import Page, PageError, decode, parse_page, render_blocks, render_compact
from ml.records import Reason

PAGES = Path(__file__).resolve().parents[1] / "data" / "pages"


@pytest.fixture(scope="module")
def nordblick() -> Page:
    return parse_page((PAGES / "nordblick.html").read_bytes())


def texts(html: str) -> list[str]:
    return [block.text for block in parse_page(html).blocks]


def test_the_compact_page_is_the_stored_one(nordblick: Page) -> None:
    # Written by: newslm page tests/data/pages/nordblick.html --as compact
    assert render_compact(nordblick) + "\n" == (PAGES / "nordblick.compact.html").read_text()


def test_block_view_has_one_line_a_block(nordblick: Page) -> None:
    lines = [line.split("\t") for line in render_blocks(nordblick).splitlines()]
    assert [line[0] for line in lines] == [str(block.id) for block in nordblick.blocks]
    assert lines[3] == ["3", "h1", "headline", "0.00", "Hafen von Nordersiel wird doch vertieft"]


def test_blocks_carry_path_and_link_density(nordblick: Page) -> None:
    by_text = {block.text: block for block in nordblick.blocks}
    assert by_text["Fischer gegen Bagger"].link_density == 1.0
    assert by_text["Anzeige"].link_density == 0.0
    assert by_text["Was das kostet"].is_bold
    assert by_text["Was das kostet"].path.endswith("article.story/div.story/p/b")


def test_metadata_keeps_sources_apart(nordblick: Page) -> None:
    facts = nordblick.metadata
    assert facts.values(Fact.AUTHOR) == (
        "Jens Hansen",
        "Ida Petersen",
    )  # a reference resolved, a profile link dropped
    assert facts.values(Fact.PUBLISHED, Source.TIME) == ("2024-03-05T06:30",)
    assert facts.values(Fact.TITLE, Source.TITLE_TAG) == (
        "Hafen von Nordersiel wird doch vertieft | Nordblick",
    )
    assert facts.values(Fact.FREE_ACCESS) == ("true",)
    assert nordblick.language == "de"


def test_markup_of_the_nineties_gives_its_paragraphs() -> None:
    assert [
        (block.tag, block.text) for block in parse_page((PAGES / "oldtown.html").read_bytes()).blocks
    ] == [
        ("center", "The Oldtown Courier"),
        ("td", "Council saves the old mill By Ann Miller"),
        ("td", "The council voted on Monday to keep the mill."),
        ("td", "It was built in 1790 and never restored."),
        ("p", "Repairs start in May."),
        ("li", "Roof"),
        ("li", "Wheel"),
        ("li", "Walls"),
    ]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>a<br>b<br><br>c<br> <br>d", ["a b", "c", "d"]),
        ("<p>a <a href=/>link</a> <b>bold</b><i>!</i>", ["a link bold!"]),
        ("<div>before<p>inside</p>after</div>", ["before", "inside", "after"]),
        ("<figure><img alt=x><figcaption>Caption</figcaption></figure>", ["Caption"]),
        ("<div class='ad shadow header'><p>Not an advertisement", ["Not an advertisement"]),
        ("<p hidden>Hidden, and often the article", ["Hidden, and often the article"]),
        ("<form><p>Some sites wrap the whole page<input value=x>", ["Some sites wrap the whole page"]),
        ("<p>5 &lt; 6 &amp;amp; 7&nbsp;!", ["5 < 6 &amp; 7 !"]),
        (
            "<p>words<script>code()</script><style>p{}</style><!-- note --><svg><text>x</text></svg>",
            ["words"],
        ),
        ("<ul><li>one<ul><li>two</ul>three</ul>", ["one", "two", "three"]),
    ],
)
def test_where_blocks_begin_and_end(html: str, expected: list[str]) -> None:
    assert texts(html) == expected


def test_links_are_listed_once_and_together() -> None:
    menu = "<nav><ul><li><a href=/>Home</a><li><a href=/>World</a></ul></nav>"
    compact = render_compact(parse_page(f"{menu}<p>The story.</p>{menu}<p>The end."))
    assert compact == "<ul>Home | World</ul>\n<p>The story.\n<p>The end."


def test_a_title_that_links_to_itself_stays_a_heading() -> None:
    page = parse_page("<a href=/>Home</a><h1><a href=/x>The title</a></h1><p><a href=/ann>By Ann</a>")
    assert render_compact(page) == "<div>Home</div>\n<h1>The title</h1>\n<p>By Ann"


def test_what_the_text_says_already_is_not_said_again_in_the_header() -> None:
    dates = "<meta name=date content=2024-03-05><meta name=lastmod content=2024-03-06>"
    page = parse_page(
        f"<meta name=description content='The mill is saved …'>{dates}<p>The mill is saved by law."
    )
    assert render_compact(page) == '<meta name=published content="2024-03-05">\n<p>The mill is saved by law.'
    page = parse_page(f"<meta name=description content='Another lead.'>{dates}<p>The mill is saved by law.")
    assert '<meta name=description content="Another lead.">' in render_compact(page)


def test_labels_are_written_once_and_all_else_as_often_as_it_comes() -> None:
    page = parse_page("<div>Advertisement</div><p>Yes.</p><div>5 May</div>" * 2)
    assert render_compact(page).split("\n") == [
        "<div>Advertisement</div>",
        *["<p>Yes.", "<div>5 May</div>"] * 2,
    ]


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        ("class='c-article-body__text mt-3'", "article-body"),
        ("class='flex sc-1x2y3z ArticleTeaser_title__Zz9'", "article-title"),
        ("class='leading-tight bg-white css-9abc' id=byline-4711", "byline"),
        ("class='teaserheadline'", "teaser-headline"),
        ("class='hOoNv px-2'", ""),
    ],
)
def test_a_hint_is_what_templates_have_in_common(names: str, hint: str) -> None:
    assert [block.hint for block in parse_page(f"<p {names}>text").blocks] == [hint]


def test_places_tell_apart_what_classes_do_and_ids_do_not() -> None:
    html = "<div><p class=x9>a<p class=y7 id=p1>b<p class=y7 id=p2>c</div><section><p class=y7>d</section>"
    lead, one, two, elsewhere = parse_page(html).blocks
    assert one.place == two.place
    assert len({lead.place, one.place, elsewhere.place}) == 3
    assert lead.around == one.around != elsewhere.around


@pytest.mark.parametrize(
    ("names", "is_bold"),
    [("font-bold text-18", True), ("md:semibold", True), ("Lead--Bold", True), ("boldness unbold", False)],
)
def test_text_is_bold_by_its_class_too(names: str, is_bold: bool) -> None:
    assert [block.is_bold for block in parse_page(f"<p class='{names}'>text").blocks] == [is_bold]


def test_body_of_json_ld_is_added_only_where_the_page_does_not_show_it() -> None:
    data = json.dumps(
        {"@type": "NewsArticle", "headline": "T", "articleBody": "First hidden line.\nSecond &amp; last."}
    )
    script = f'<script type="application/ld+json">{data}</script>'
    assert texts(f"{script}<p>Subscribe now") == ["Subscribe now", "First hidden line.", "Second & last."]
    assert texts(f"{script}<p>First hidden line. Second & last.") == ["First hidden line. Second & last."]


@pytest.mark.parametrize(
    "script",
    [
        '[{"@type": ["NewsArticle"], "headline": "Title", "author": "Ann"}]',
        '{"@type": "WebPage", "mainEntity": {"@type": "Article", "headline": "Title", "author": {"name": "Ann"}}}',
        '<!-- {"@type": "BlogPosting", "headline": "Title", "author": [{"name": ["Ann"]}]} -->',
        '//<![CDATA[\n{"@type": "ReportageNewsArticle", "headline": "Ti\ttle", "author": "Ann"};\n//]]>',
        '{"headline": "Title", "author": "Ann"}',
        '[{"@type": "NewsArticle", "headline": "Title", "author": "Ann"}, '
        '{"@type": "NewsArticle", "headline": "A teaser", "author": "Bob"}]',
    ],
)
def test_json_ld_as_publishers_write_it(script: str) -> None:
    facts = parse_page(f'<script type="application/ld+json">{script}</script><p>x').metadata
    assert facts.values(Fact.AUTHOR) == ("Ann",)
    assert facts.values(Fact.TITLE) in (("Title",), ("Ti tle",))


@pytest.mark.parametrize(
    "script", ["", "{", "null", "[1, true]", '{"@type": "NewsArticle", "headline": null}', "NaN"]
)
def test_json_ld_that_says_nothing(script: str) -> None:
    assert parse_page(f'<script type="application/ld+json">{script}</script><p>x').metadata.candidates == ()


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("", Reason.EMPTY_PAGE),
        (b"", Reason.EMPTY_PAGE),
        (" \n\t\u00a0", Reason.EMPTY_PAGE),
        ("\0\0\0 \0", Reason.NOT_HTML),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", Reason.NOT_HTML),
        (b"\x1f\x8b\x08\0\0\0\0\0\0\3", Reason.NOT_HTML),
        (bytes(range(256)) * 40, Reason.NOT_HTML),
        (bytes(range(256)).decode("latin-1") * 40, Reason.NOT_HTML),
        ("<html><head><title>Only a title</title></head><body></body></html>", Reason.NO_BODY),
        ("<script>document.write('x')</script><img src=x><!-- x -->", Reason.NO_BODY),
        ("<frameset><frame src=x></frameset>", Reason.NO_BODY),
    ],
)
def test_what_is_no_page_says_why(page: str | bytes, reason: Reason) -> None:
    with pytest.raises(PageError) as caught:
        parse_page(page)
    assert caught.value.reason is reason


def test_nuls_and_lone_surrogates_do_not_hurt() -> None:
    assert decode(b"<p>a\0b") == "<p>ab"  # what is stored is read by parsers that refuse NULs
    assert texts("<p>a\0b \ud800 c</p>" + "<p>text</p>" * 20)[0] == "ab \ufffd c"
    lone = '{"@type": "Article", "headline": "a\\ud800\\u0000"}'
    compact = render_compact(parse_page(f'<script type="application/ld+json">{lone}</script><p>x'))
    assert compact.encode() == '<meta name=title content="a\ufffd">\n<p>x'.encode()


# --- Properties of any page ---

WORD = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff"), min_size=1, max_size=8
)
TEXT = st.lists(WORD, min_size=1, max_size=6).map(lambda parts: f" {' '.join(parts)} ")
NAMES = [
    "div",
    "p",
    "section",
    "article",
    "ul",
    "li",
    "h1",
    "h3",
    "figure",
    "figcaption",
    "blockquote",
    "aside",
    "nav",
]
NAMES += [
    "header",
    "footer",
    "form",
    "main",
    "td",
    "table",
    "tr",
    "dl",
    "dd",
    "pre",
    "span",
    "a",
    "b",
    "em",
    "custom-tag",
]
CLASSES = st.sampled_from(
    ["", "", " class=lead", " class='story-body x'", " id=nav", " class=css-1x2", " class=first"]
)


def elements(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    inner = st.lists(children, max_size=4).map("".join)
    return st.builds(
        lambda name, names, text: f"<{name}{names}>{text}</{name}>", st.sampled_from(NAMES), CLASSES, inner
    )


LEAVES = TEXT.map(lambda text: escape(text, quote=False)) | st.sampled_from(
    ["<br>", "<br><br>", "<img src=x>", "<hr>"]
)
BODIES = st.recursive(LEAVES, elements, max_leaves=25)
STATED = st.fixed_dictionaries(
    {"@type": st.just("NewsArticle"), "headline": WORD},
    optional={
        "author": st.lists(WORD, max_size=3),
        "keywords": TEXT,
        "description": TEXT,
        "inLanguage": st.just("fr"),
    },
)
HEADS = st.builds(
    lambda data, title, about: (
        f'<script type="application/ld+json">{json.dumps(data)}</script>'
        f'<title>{escape(title)}</title><meta name=description content="{escape(about)}">'
    ),
    STATED,
    TEXT,
    TEXT,
)


def compact_or_reason(html: str | bytes) -> str | Reason:
    try:
        return render_compact(parse_page(html))
    except PageError as error:
        return error.reason


@given(BODIES)
@example("<p> a <table> b <tr> c </table> d ")
@example("<ul><li><a> x </a></li><li><a> x </a></li></ul>")
def test_every_visible_word_is_in_the_compact_page(body: str) -> None:
    visible = set(words(unescape(re.sub("<[^>]*>", " ", body))))
    compact = compact_or_reason(f"<body>{body}")
    if isinstance(compact, Reason):
        assert not visible
    else:
        assert visible <= set(words(unescape(compact)))


@given(HEADS, BODIES)
def test_a_compact_page_read_again_is_the_same(head: str, body: str) -> None:
    compact = compact_or_reason(f"<html lang=de-AT><head>{head}</head><body><p>words {body}")
    assert compact_or_reason(str(compact)) == compact


@given(st.text(max_size=300) | st.binary(max_size=300))
def test_any_input_gives_a_page_or_a_reason(data: str | bytes) -> None:
    compact = compact_or_reason(data)
    if not isinstance(compact, Reason):
        assert compact.encode()
        blocks = parse_page(data).blocks
        assert [block.id for block in blocks] == list(range(len(blocks)))
        assert all(block.text == " ".join(block.text.split()) for block in blocks)
        assert all(0 <= block.link_density <= 1 for block in blocks)
