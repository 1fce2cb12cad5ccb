"""Pages made to hurt: time grows with the page, not with its square, and nothing crashes or loses words."""

import json
import time
from collections.abc import Callable

import pytest

from ml.page import PageError, parse_page, render_blocks, render_compact
from ml.taming import MAX_DEPTH, tame

Make = Callable[[int], str]


def numbered(pattern: str, count: int) -> str:
    return "".join(pattern.replace("#", str(at)) for at in range(count))


BOMBS: dict[str, Make] = {
    "nested divs": lambda n: "<div>" * n + "word" + "</div>" * n,
    "nested divs with text": lambda n: "<div>word " * n,
    "nested lists": lambda n: "<ul><li>word" * n,
    "nested definition lists": lambda n: "<dl><dd>word" * n,
    "nested tables": lambda n: "<table><tr><td>word" * n,
    "nested links and blocks": lambda n: "<div><a href=x>word" * n + "</a></div>" * n,
    "nested svg": lambda n: "<p>word" + "<svg><g>" * n,
    "nested templates": lambda n: "<p>word" + "<template>" * n,
    "unclosed paragraphs": lambda n: "<p>word" * n,
    "unclosed bold": lambda n: "<b>word " * n,
    "unclosed headings": lambda n: "<h1>word" * n,
    "unclosed custom tags": lambda n: "<x-y>word " * n,
    "formatting that comes back in each paragraph": lambda n: (
        "<p>" + numbered("<b id=#>", n) + "</p>" + "<p>word" * n
    ),
    "wrong closing tags": lambda n: "<div></b>word " * n,
    "closing tags that find nothing": lambda n: "word" + "<i>" * n + "</p>" * n,
    "attributes": lambda n: "<p " + numbered("a#=1 ", n) + ">word",
    "attributes without spaces": lambda n: "<p " + numbered('a#=">"', n) + ">word",
    "attributes that begin with =": lambda n: "<p " + numbered("=a# ", n) + ">word",
    "attributes of a script": lambda n: "<script " + numbered("a#=1 ", n) + ">x</script><p>word",
    "attributes of body tags": lambda n: "<p>word" + numbered("<body a#=1>", n),
    "one long class": lambda n: "<p class='" + "name " * n + "'>word",
    "open quotes": lambda n: "<p>word" + "<a b='" * n,
    "open tags": lambda n: "<p>word" + "<a " * n,
    "less-than signs": lambda n: "<p>word" + "<" * n,
    "comments": lambda n: "<p>word" + "<!--" * n,
    "entities": lambda n: "<p>word" + "&amp;&#x41;&NotExists;" * n,
    "nested divs behind NULs": lambda n: "<p>" + "word " * 1_000 + "<\0div>" * n,
    "NUL bytes": lambda n: "<p>word" + "\0" * n,
    "spaces": lambda n: "<p>word" + " \n" * n,
    "one word": lambda n: "<p>" + "word" * n,
    "line breaks": lambda n: "<p>word" + "<br>" * n,
    "many meta tags": lambda n: numbered("<meta name=author content='A #'>", n) + "<p>word",
    "many times": lambda n: "<p>word" + numbered("<time datetime=#>", n),
    "large JSON-LD": lambda n: ld({"@graph": [{"@type": "Thing", "name": "x"}] * n}),
    "wide JSON-LD": lambda n: ld(
        {"@type": "Article", "headline": "x", "author": ["A"] * n, "articleBody": "w\n" * n}
    ),
    "deep JSON-LD": lambda n: '<script type="application/ld+json">' + '{"@graph":[' * n + "</script><p>word",
    "deep headline": lambda n: ld({"@type": "Article", "headline": deep(min(n, 400))}) * 2,
}


def ld(data: object) -> str:
    return f'<script type="application/ld+json">{json.dumps(data)}</script><p>word'


def deep(levels: int) -> object:
    value: object = "x"
    for _ in range(levels):
        value = [value]
    return value


def seconds(html: str) -> float:
    started = time.process_time()
    page = parse_page(html)
    render_compact(page)
    render_blocks(page)
    return time.process_time() - started


@pytest.mark.parametrize("name", BOMBS)
def test_time_grows_no_faster_than_the_page(name: str) -> None:
    small, large = BOMBS[name](10_000), BOMBS[name](40_000)
    # Four times the page: four times the time, sixteen if quadratic. Short times are noise, and on a busy
    # machine the best of a few is the time that the code takes.
    before, after = seconds(small), seconds(large)
    for _ in range(4):
        if after < max(0.5, 9 * before):
            break
        before, after = min(before, seconds(small)), min(after, seconds(large))
    assert after < max(0.5, 9 * before)
    assert after < 5


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 100_000 + "word" + "</div>" * 100_000,
        "<p " + numbered("a#=1 ", 1_000_000) + ">word",
        "<p>word" + "<span>" * 1_000_000,
        "<p>A sentence of ordinary length, with a <a href=/x>link</a> in it.</p>\n" * 280_000,
    ],
    ids=["100,000 nested divs", "a million attributes", "a million unclosed tags", "20 MB"],
)
def test_the_size_that_is_promised(html: str) -> None:
    assert seconds(html) < 30


@pytest.mark.parametrize("fragment", ["<div>", "<span>", "<table><td>", "<section><p>", "<a><div>", "<x-y>"])
def test_words_beyond_the_depth_limit_are_kept(fragment: str) -> None:
    html = "".join(f"{fragment} word{at} " for at in range(MAX_DEPTH + 500))
    text = " ".join(block.text for block in parse_page(html).blocks).split()
    assert sorted(text) == sorted(f"word{at}" for at in range(MAX_DEPTH + 500))


def test_tame_keeps_what_a_reader_and_the_metadata_need() -> None:
    html = (
        "<!-- note --><p CLASS='lead' "
        + numbered("x#=1 ", 2_000)
        + ' class=second>a <b>b</b><script type="t">1<2</script>'
    )
    assert tame(html) == "<p CLASS='lead'>a b<script type=\"t\">1<2</script>"
    assert tame("<p>harmless <b>page") == "<p>harmless <b>page"


def test_a_page_of_tags_alone_has_no_body() -> None:
    with pytest.raises(PageError):
        parse_page("<div>" * 100_000)
