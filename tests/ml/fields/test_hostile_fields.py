"""Pages that mean harm, and real ones: no exception, no long wait, nothing that is not there."""

import time
from itertools import islice
from pathlib import Path

import pytest

from ml.fields.model import FieldModel
from ml.fields.text import folded
from ml.gold import read_gold
from ml.page import Page, parse_page


@pytest.mark.parametrize(
    "html",
    [
        "".join(f"<h1>Headline number {number} of far too many</h1>" for number in range(5_000)),
        "".join(f'<meta name=author content="{"a@" * 900}{number}">' for number in range(500)) + "<p>x</p>",
        f'<meta name=keywords content="{",".join(map(str, range(900)))}"><p>text</p>' * 20,
        "<h1>Title</h1>" + "<p class=byline>By " + "and and " * 15 + "</p>" * 3_000,
        "<h1>Title</h1>" + "<p class=date>01.01.2024 02.02.2024 03.03.2024</p>" * 3_000,
        '<script type="application/ld+json">{"@type": "Article", "headline": "\\ud800", "author": "\\udfff A"}</script>'
        "<p>half a character</p>",
    ],
    ids=["headlines", "authors", "keywords", "bylines", "dates", "surrogates"],
)
def test_a_trap_costs_little(model: FieldModel, html: str) -> None:
    page = parse_page(html)
    start = time.perf_counter()
    model.predict(page)
    assert time.perf_counter() - start < 2


def _texts(page: Page) -> str:
    stated = (candidate.value for candidate in page.metadata.candidates)
    return folded("\n".join([*stated, *(block.text for block in page.blocks)]))


def test_values_of_real_pages_stand_in_them(model: FieldModel, shared: Path) -> None:
    for gold in islice(read_gold(shared / "news-gold"), 80):
        page = parse_page(gold.html)
        fields, text = model.predict(page), _texts(page)
        values = (*fields.authors, *fields.topics, *filter(None, [fields.title]))
        assert all(folded(value) in text for value in values)
