"""The ReaderLM-v2 format: equal to the model card's expressions on ordinary pages, linear on hostile ones."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.readerlm import IMAGE_PLACEHOLDER, SVG_PLACEHOLDER, render_readerlm


def as_the_model_card_says(html: str) -> str:
    """The card's rules one by one, slow on purpose."""
    for pattern in (
        r"<[ ]*script.*?\/[ ]*script[ ]*>",
        r"<[ ]*style.*?\/[ ]*style[ ]*>",
        r"<[ ]*meta.*?>",
        r"<[ ]*!--.*?--[ ]*>",
        r"<[ ]*link.*?>",
    ):
        html = re.sub(pattern, "", html, flags=re.IGNORECASE | re.DOTALL)
    html = re.sub(r"(<svg[^>]*>).*?(</svg>)", rf"\1{SVG_PLACEHOLDER}\2", html, flags=re.DOTALL)
    return re.sub(r'<img[^>]+src="data:image/[^;]+;base64,[^"]+"[^>]*>', IMAGE_PLACEHOLDER, html)


PAGE = """<html><head><meta charset=utf-8><link rel=icon href=/i.png><style>p { color: red }</style>
<script>if (a < b) document.write("<p>no</p>")</script></head>
<body class=story><!-- a note --><h1 class="big">Title</h1>< SCRIPT >x</ script >
<svg viewBox="0 0 1 1"><path d="M0 0"/></svg><p style="color:red">Text <a href="/x">link</a></p>
<img alt=x src="data:image/png;base64,AAAA" width=1><img src="/real.png"></body></html>"""


def test_drops_what_the_model_card_drops_and_keeps_the_rest() -> None:
    cleaned = render_readerlm(PAGE)
    assert cleaned == as_the_model_card_says(PAGE)
    for gone in ("script", "SCRIPT", "<meta", "<link", "color: red", "a note", "AAAA", "<path"):
        assert gone not in cleaned
    for kept in (
        '<h1 class="big">',
        'style="color:red"',
        '<a href="/x">',
        '<img src="/real.png">',
        SVG_PLACEHOLDER,
    ):
        assert kept in cleaned


FRAGMENTS = [
    "<script",
    "</script>",
    "<style>",
    "</style >",
    "< meta x",
    ">",
    "<!--",
    "-- >",
    "<link",
    "<svg a>",
    "</svg>",
]
FRAGMENTS += ["<p>", "words ", '<img src="data:image/png;base64,A"', "<img ", "/ script >", " ", "<"]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join))
def test_equals_the_model_card_on_any_order_of_its_fragments(html: str) -> None:
    assert render_readerlm(html) == as_the_model_card_says(html)


@pytest.mark.parametrize(
    "fragment", ["<script", "<style>", "<meta", "<!--", "<link", "<svg", "<svg>", "<img", "<    "]
)
def test_takes_linear_time_where_the_expressions_are_quadratic(fragment: str) -> None:
    started = time.perf_counter()
    render_readerlm(fragment * 400_000)
    assert time.perf_counter() - started < 3  # the expressions need minutes
