"""`newslm publishers`: whose pages a source has, and how many of them are stored.

Belongs here: the listing. Does not belong here: facts about publishers (`resources/fundus/catalogue.py`).
"""

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ml.records import ArticleRow, RawPage
from pipeline import environment
from pipeline.cli.console import (
    DEFAULT_HOME,
    AsJson,
    Home,
    clear_errors,
    err,
    out,
    plain_table,
    print_json,
    resources,
)
from resources.crawl import SourceName
from resources.fundus.catalogue import Catalogue, PublisherFacts, demo_catalogue, fundus_catalogue
from resources.harvest import RAW_PAGES
from resources.store import Store

ARTICLES = "articles"  # the dataset of the asset; importing the assets would cost seconds


@dataclass(frozen=True, kw_only=True)
class Holdings:
    """What the store holds of one publisher."""

    pages: int
    articles: int  # extracted from them


def publishers(
    source: Annotated[
        SourceName,
        typer.Option(
            envvar=environment.CRAWL_SETTINGS["source"],
            help="[bold]demo[/bold]: the newsroom that ships with the product. The others know Fundus' publishers.",
        ),
    ] = "demo",
    home: Home = Path(DEFAULT_HOME),
    as_json: AsJson = False,
) -> None:
    """List the publishers of a source: key, country, languages, family, and what is stored of each.

    Publishers of one family share a page template, so a split keeps them together.

    \b
    newslm publishers --source web
    newslm publishers --source web --json | jq -r '.[] | select(.deprecated) | .key'
    """
    with clear_errors():
        catalogue = demo_catalogue() if source == "demo" else fundus_catalogue()
        held = _holdings(home, catalogue)
        listed = [(catalogue.facts(key), held[key]) for key in catalogue]
        if as_json:
            print_json([{**asdict(facts), **_stored(holdings)} for facts, holdings in listed])
            return
        out.print(f"[bold]{len(listed)} publishers of the source {source}[/bold]")
        out.print(_table(listed))
        err.print(f"[dim]pages and articles are those in {escape(str(home))}[/dim]", soft_wrap=True)


def _holdings(home: Path, catalogue: Catalogue) -> dict[str, Holdings]:
    """What is stored of every publisher; a home that does not exist holds nothing, and is not made."""
    if not home.exists() and not os.environ.get(environment.STORE):
        return {key: Holdings(pages=0, articles=0) for key in catalogue}
    store = resources(home, os.environ)["store"]
    stored = set(store.partitions(RAW_PAGES, "publisher"))
    return {key: _held(store, key) if key in stored else Holdings(pages=0, articles=0) for key in catalogue}


def _held(store: Store, key: str) -> Holdings:
    pages = store.appended(RAW_PAGES, RawPage, columns=["page_id"], publisher=key)
    articles = 0
    if store.version(ARTICLES, publisher=key):
        articles = store.table(ARTICLES, ArticleRow, columns=["reason"], publisher=key)["reason"].null_count
    return Holdings(pages=len(set(pages["page_id"].to_pylist())), articles=articles)


def _stored(holdings: Holdings) -> dict[str, int]:
    return {f"stored_{name}": number for name, number in asdict(holdings).items()}


def _table(listed: list[tuple[PublisherFacts, Holdings]]) -> Table:
    table = plain_table()
    table.add_column("key", no_wrap=True)  # what other commands want to be given
    for name in ("name", "country", "languages", "family", "flags"):
        table.add_column(name)
    for name in ("pages", "articles"):
        table.add_column(name, justify="right", no_wrap=True)
    for facts, holdings in listed:
        family = facts.family if facts.family != facts.key else ""
        cells = (
            facts.key,
            facts.name,
            facts.country,
            " ".join(facts.languages),
            family,
            ", ".join(_flags(facts)),
        )
        numbers = (f"{number:,}" if number else "–" for number in (holdings.pages, holdings.articles))
        table.add_row(*map(Text, (*cells, *numbers)))
    return table


def _flags(facts: PublisherFacts) -> list[str]:
    flags = {"deprecated": facts.deprecated, "disallows training": facts.disallows_training}
    return [name for name, raised in flags.items() if raised]
