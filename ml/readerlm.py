"""The page format that the published ReaderLM-v2 weights expect.

Belongs here: the cleaning that the model card of jinaai/ReaderLM-v2 asks for before a page goes into the prompt.
Does not belong here: our own models' format (`ml/page.py`), or the prompt around the page.
The card states it as regular expressions, which take quadratic time on hostile pages; these are linear.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

SVG_PLACEHOLDER = "this is a placeholder"
IMAGE_PLACEHOLDER = '<img src="#"/>'


class _Span(NamedTuple):
    """What begins with `opening` and ends with the first `closing` after it."""

    opening: re.Pattern[str]
    closing: re.Pattern[str]


def _span(opening: str, closing: str, flags: re.RegexFlag = re.IGNORECASE) -> _Span:
    return _Span(re.compile(opening, flags), re.compile(closing, flags))


# In the card's order: a comment inside a script goes with the script.
_DROPPED = (
    _span("<[ ]*script", "/[ ]*script[ ]*>"),
    _span("<[ ]*style", "/[ ]*style[ ]*>"),
    _span("<[ ]*meta", ">"),
    _span("<[ ]*!--", "--[ ]*>"),
    _span("<[ ]*link", ">"),
)
_SVG = _span("<svg", "</svg>", re.NOFLAG)
_IMAGE = _span("<img", ">", re.NOFLAG)
_EMBEDDED_DATA = re.compile(r'.src="data:image/[^;]+;base64,[^"]+"', re.DOTALL)


def render_readerlm(html: str) -> str:
    """A page as ReaderLM-v2 reads it: its own HTML without scripts, styles, meta tags, comments and links.

    Drawings keep their tags around a placeholder, images embedded as base64 lose their data.
    """
    for span in _DROPPED:
        html = _replace(html, span, lambda _: "")
    return _replace(_replace(html, _SVG, _without_drawing), _IMAGE, _without_data)


def _replace(html: str, span: _Span, replacement: Callable[[str], str]) -> str:
    return "".join(_pieces(html, span, replacement))


def _pieces(html: str, span: _Span, replacement: Callable[[str], str]) -> Iterator[str]:
    position = 0
    while (start := span.opening.search(html, position)) and (end := span.closing.search(html, start.end())):
        yield html[position : start.start()]
        yield replacement(html[start.start() : end.end()])
        position = end.end()
    yield html[position:]  # an opening without its closing has none after it either: the search ends here


def _without_drawing(svg: str) -> str:
    tag_end = svg.index(">") + 1
    return f"{svg[:tag_end]}{SVG_PLACEHOLDER}</svg>" if tag_end <= len(svg) - len("</svg>") else svg


def _without_data(image: str) -> str:
    return IMAGE_PLACEHOLDER if _EMBEDDED_DATA.search(image) else image
