"""How well an article's fields are found on pages of unseen publishers: the field model, rules, and Trafilatura.

Cross-validates over families of publishers on the CC-NEWS pages under --data, with Fundus' extraction as the
reference. With --gold, a model of all these pages is also measured on pages that people annotated. Intervals
are 95%, from a bootstrap over publishers.

    python benchmarks/fields.py --data ../shared/data/ccnews --gold ../shared/data/news-gold --json fields.json
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from cleaning import DEFAULT_DATA, samples
from fundus import PublisherCollection
from rich.console import Console
from rich.table import Table

from ml.article import Article, Body
from ml.baselines.base import PageInput, run_baseline
from ml.baselines.trafilatura import Trafilatura
from ml.evaluation import score_predictions
from ml.fields.candidates import FieldCandidates, Option, Place, candidates
from ml.fields.features import ROWS
from ml.fields.model import FieldModel, Fields
from ml.fields.training import train
from ml.gold import read_gold
from ml.intervals import ScoreTable, Summary
from ml.metrics.registry import Reference
from ml.page import Page, parse_page
from ml.records import Prediction
from resources.fundus.catalogue import Catalogue

T = TypeVar("T")
FOLDS = 5
MODEL, RULES, TRAFILATURA = "field-model", "fixed-order", "trafilatura"
METRICS = {
    "title": "title_recall",
    "date_day": "date_day_recall",
    "date_instant": "date_instant_recall",
    "authors_f1": "authors_f1",
    "topics_f1": "topics_f1",
}
"""What is shown of each field: every page has one title and one date, so that recall is the share that is right."""
REACH = {"title": 0.96, "date_day": 0.97, "authors_f1": 0.88, "topics_f1": 0.75}


@dataclass(frozen=True, kw_only=True)
class Item:
    """A page as it was received and as it is read, and what is right."""

    html: str
    page: Page
    reference: Reference
    article: Article
    family: str


Answers = dict[str, tuple[Fields, float]]
"""By page: what was found, and in how many seconds, parsing included."""


def ccnews(data: Path) -> list[Item]:
    catalogue = Catalogue(PublisherCollection)
    return [
        Item(
            html=sample.html,
            page=parse_page(sample.html),
            reference=Reference(
                page_id=str(number),
                url=sample.url,
                publisher=sample.publisher,
                language=None,
                plaintext="",
                json=sample.article.to_json(),
                compact="",
            ),
            article=sample.article,
            family=catalogue.family(sample.publisher),
        )
        for number, sample in enumerate(samples(data))
    ]


def news_gold(folder: Path) -> list[Item]:
    """The pages that people annotated; each host is a family of its own."""
    return [
        Item(
            html=gold.html,
            page=parse_page(gold.html),
            reference=gold.reference(),
            article=gold.annotation.article(),
            family=gold.publisher,
        )
        for gold in read_gold(folder)
    ]


def cross_validated(items: Sequence[Item], seed: int) -> Answers:
    """What models find that have not seen the page's family."""
    families = sorted({item.family for item in items})
    order = np.random.default_rng(seed).permutation(len(families))
    folds = {families[at]: number % FOLDS for number, at in enumerate(order)}
    answers: Answers = {}
    for fold in range(FOLDS):
        model = _trained([item for item in items if folds[item.family] != fold], seed)
        answers |= predicted(model.predict, [item for item in items if folds[item.family] == fold])
    return answers


def _trained(items: Sequence[Item], seed: int) -> FieldModel:
    return train(((item.page, item.article, item.family) for item in items), seed)


def predicted(predict: Callable[[Page], Fields], items: Sequence[Item]) -> Answers:
    answers: Answers = {}
    for item in items:
        start = time.perf_counter()
        fields = predict(parse_page(item.html))
        answers[item.reference.page_id] = fields, time.perf_counter() - start
    return answers


def by_fixed_order(page: Page) -> Fields:
    """What rules find: the first value of the first source that has one, everything of its lists."""
    found = candidates(page)
    dates = _first(found.publishing_date, Place.JSON_LD, Place.META, Place.TIME, Place.VISIBLE)
    titles = _first(found.title, Place.JSON_LD, Place.META, Place.HEADING, Place.TITLE_TAG)
    return Fields(
        title=titles[0].value if titles else None,
        authors=tuple(o.value for o in _first(found.authors, Place.JSON_LD, Place.META, Place.BYLINE)),
        publishing_date=dates[0].value if dates else None,
        topics=tuple(o.value for o in _first(found.topics, Place.JSON_LD, Place.META)),
        free_access=not _is_closed(found),
        confidence={},
    )


def _first(options: Sequence[Option[T]], *places: Place) -> list[Option[T]]:
    by_place = ([option for option in options if option.at(place)] for place in places)
    return next(filter(None, by_place), [])


def _is_closed(found: FieldCandidates) -> bool:
    return any(value.lower() == "false" for _, value in found.free_access)


def predictions(name: str, items: Sequence[Item], answers: Answers) -> Iterator[Prediction]:
    for item in items:
        fields, seconds = answers[item.reference.page_id]
        yield _prediction(name, item, fields.article(Body()).to_json(), seconds)


def _prediction(name: str, item: Item, text: str | None, seconds: float) -> Prediction:
    reference = item.reference
    return Prediction(
        page_id=reference.page_id,
        url=reference.url,
        publisher=reference.publisher,
        language=reference.language,
        extractor=name,
        text="",
        json=text,
        truncated=False,
        seconds=seconds,
        error=None,
        device="cpu",
    )


def by_trafilatura(items: Sequence[Item]) -> list[Prediction]:
    pages = [
        PageInput(
            page_id=item.reference.page_id,
            url=item.reference.url,
            publisher=item.reference.publisher,
            language=None,
            html=item.html,
        )
        for item in items
    ]
    return list(run_baseline(Trafilatura(), pages))


@dataclass(frozen=True, kw_only=True)
class Result:
    """Everything that is told of one set of pages."""

    summaries: Mapping[str, Mapping[str, Summary]]  # by extractor, by column
    pages_per_s: Mapping[str, float]
    ahead: Mapping[str, tuple[float, float, float]]  # model minus Trafilatura: mean, low, high


def measure(items: Sequence[Item], answers: Mapping[str, Answers]) -> Result:
    rows = [row for name, found in answers.items() for row in predictions(name, items, found)]
    rows += by_trafilatura(items)
    references = {item.reference.page_id: item.reference for item in items}
    table = ScoreTable(score_predictions(rows, references, metrics=METRICS.values(), processes=1))
    summaries = {(row.extractor, row.metric): row for row in table.summaries()}
    columns = {column: metric for column, metric in METRICS.items() if table.applies(MODEL, metric)}
    differences = {column: table.difference(metric, MODEL, TRAFILATURA) for column, metric in columns.items()}
    return Result(
        summaries={
            name: {column: summaries[name, metric] for column, metric in columns.items()}
            for name in table.extractors
        },
        pages_per_s={name: _pages_per_s(name, rows) for name in table.extractors},
        ahead={c: (d.mean, d.low or 0.0, d.high or 0.0) for c, d in differences.items()},
    )


def _pages_per_s(name: str, rows: Sequence[Prediction]) -> float:
    seconds = [row.seconds for row in rows if row.extractor == name]
    return len(seconds) / sum(seconds)


def free_access(items: Sequence[Item], answers: Answers, *, seed: int) -> tuple[float, float, float]:
    """Accuracy and its interval; Trafilatura does not say."""
    publishers = sorted({item.reference.publisher for item in items})
    right, pages = np.zeros(len(publishers)), np.zeros(len(publishers))
    for item in items:
        at = publishers.index(item.reference.publisher)
        pages[at] += 1
        right[at] += answers[item.reference.page_id][0].free_access == item.article.free_access
    even = np.full(len(publishers), 1 / len(publishers))
    draws = np.random.default_rng(seed).multinomial(len(publishers), even, size=1000)  # (1000, publishers)
    low, high = np.quantile(draws @ right / (draws @ pages), (0.025, 0.975))
    return float(right.sum() / pages.sum()), float(low), float(high)


def calibration_error(items: Sequence[Item], answers: Answers, name: str, bins: int = 5) -> float:
    """Mean distance between confidence and the share that is right, over bins of equally many pages."""
    outcomes = [
        (answers[item.reference.page_id][0].confidence[name], _is_right(item, answers, name))
        for item in items
    ]
    parts = np.array_split(np.array(sorted(outcomes), dtype=np.float64), bins)
    return float(sum(len(part) * abs(part[:, 0].mean() - part[:, 1].mean()) for part in parts) / len(items))


def _is_right(item: Item, answers: Answers, name: str) -> bool:
    found, wanted = getattr(answers[item.reference.page_id][0], name), getattr(item.article, name)
    if name in ("authors", "topics"):
        return {value.casefold() for value in found} == {value.casefold() for value in wanted}
    return found.casefold() == wanted.casefold() if isinstance(found, str) and wanted else found == wanted


def show(title: str, result: Result, console: Console) -> None:
    table = Table(title=title)
    columns = list(next(iter(result.summaries.values())))
    for heading in ("", *columns, "pages/s"):
        table.add_column(heading, justify="right" if heading else "left")
    if len(columns) == len(METRICS):
        table.add_row("to reach", *(f"{REACH[c]:.2f}" if c in REACH else "" for c in columns), "")
    for name in (MODEL, RULES, TRAFILATURA):
        cells = [_with_interval(row) for row in result.summaries[name].values()]
        table.add_row(name, *cells, f"{result.pages_per_s[name]:.0f}")
    ahead = [f"{mean:+.3f}\n[{low:+.3f}, {high:+.3f}]" for mean, low, high in result.ahead.values()]
    table.add_row(f"{MODEL} − {TRAFILATURA}", *ahead, "")
    console.print(table)


def _with_interval(row: Summary) -> str:
    bounds = f"\n[{row.low:.3f}, {row.high:.3f}]" if row.low is not None and row.high is not None else ""
    return f"{row.mean:.3f}{bounds}"


def figures(result: Result) -> dict[str, float | None]:
    """By key: the value, its bounds as `_low` and `_high`; those of others with their name before."""
    flat: dict[str, float | None] = {}
    for name, row in result.summaries.items():
        prefix = "" if name == MODEL else f"{name.replace('-', '_')}_"
        for column, summary in row.items():
            flat[f"{prefix}{column}"] = summary.mean
            flat[f"{prefix}{column}_low"], flat[f"{prefix}{column}_high"] = summary.low, summary.high
        flat[f"{prefix}pages_per_s"] = result.pages_per_s[name]
    return flat


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=DEFAULT_DATA, help="folder with manifest.jsonl and crawl-data/"
    )
    parser.add_argument("--gold", type=Path, help="folder of annotated pages, never trained on")
    parser.add_argument("--seed", type=int, default=0, help="of folds and trees")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    if not (arguments.data / "manifest.jsonl").is_file():
        parser.error(f"found no manifest.jsonl in {arguments.data}; expected a folder packed as CC-NEWS is")
    console = Console(width=140)
    items = ccnews(arguments.data)
    answers = {MODEL: cross_validated(items, arguments.seed), RULES: predicted(by_fixed_order, items)}
    result = measure(items, answers)
    show(f"Fields on {len(items)} pages, cross-validated over families", result, console)
    written = figures(result)
    for name, found in answers.items():
        mean, low, high = free_access(items, found, seed=arguments.seed)
        console.print(f"free access, {name}: {mean:.3f} [{low:.3f}, {high:.3f}]", markup=False)
        written["free_access" if name == MODEL else f"{name.replace('-', '_')}_free_access"] = mean
    for name in ROWS:
        written[f"calibration_error_{name}"] = calibration_error(items, answers[MODEL], name)
        console.print(f"calibration error of {name}: {written[f'calibration_error_{name}']:.3f}")
    if arguments.gold:
        gold = news_gold(arguments.gold)
        model = _trained(items, arguments.seed)
        found = {MODEL: predicted(model.predict, gold), RULES: predicted(by_fixed_order, gold)}
        on_gold = measure(gold, found)
        show(f"Fields on {len(gold)} pages annotated by people", on_gold, console)
        written |= {f"gold_{key}": value for key, value in figures(on_gold).items()}
    if arguments.json:
        arguments.json.write_text(json.dumps(written, indent=2) + "\n")


if __name__ == "__main__":
    main()
