"""A small news world: pages of made-up publishers, each with its own habits, and their right articles."""

import json
from collections.abc import Callable
from datetime import datetime

import pytest

from ml.article import Article
from ml.fields.model import FieldModel
from ml.fields.training import Sample, train
from ml.page import parse_page

PageMaker = Callable[..., str]


def page_html(
    *,
    title: str = "A calm day at sea",
    authors: tuple[str, ...] = ("Ann Lee",),
    date: str = "2024-03-01T07:30:00+01:00",
    keywords: str = "sea,weather",
    free: bool | None = None,
    json_ld: bool = True,
) -> str:
    statement = {
        "@type": "NewsArticle",
        "headline": title,
        "author": [{"name": name} for name in authors],
        "datePublished": date,
    }
    if free is not None:
        statement["isAccessibleForFree"] = free
    script = f'<script type="application/ld+json">{json.dumps(statement)}</script>' if json_ld else ""
    return (
        f"<html lang=en><head><title>{title} | The Harbour</title>{script}"
        f'<meta name=keywords content="{keywords}"><meta property="article:published_time" content="{date}">'
        f"</head><body><h1>{title}</h1><p class=byline>By {' and '.join(authors)}</p>"
        f"<p>The sea was calm, and the weather of that long day was fair for everyone on board.</p>"
        f"<p>Nobody complained about anything, which is rare at sea, as every sailor knows too well.</p></body></html>"
    )


def sample(number: int) -> Sample:
    title, author = f"A calm day number {number} at sea", f"Ann Lee{'abcdefgh'[number % 8]}"
    date = f"2024-03-{1 + number % 27:02}T07:30:00+01:00"
    html = page_html(
        title=title,
        authors=(author, "Bo Ek"),
        date=date,
        free=number % 4 != 0,
        json_ld=number % 5 != 0 or number % 4 == 0,
    )
    article = Article(
        title=title,
        authors=(author, "Bo Ek"),
        publishing_date=datetime.fromisoformat(date),
        topics=("sea", "weather"),
        free_access=number % 4 != 0,
    )
    return parse_page(html), article, f"family-{number % 10}"


@pytest.fixture(scope="session")
def small_world() -> list[Sample]:
    return [sample(number) for number in range(60)]


@pytest.fixture(scope="session")
def model(small_world: list[Sample]) -> FieldModel:
    return train(small_world, seed=0)


@pytest.fixture(scope="session")
def make_page() -> PageMaker:
    return page_html
