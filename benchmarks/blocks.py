"""How well the block model reads articles from pages of publishers that it has not seen, beside other extractors.

Trains on the CC-NEWS pages under --data, labelled by Fundus' extraction, and scores every page by a model that saw
no page of its family. Then a model of all of them is scored on the pages under --gold, which people annotated and
no choice was made by. The other extractors get the same raw HTML in the same run. Intervals are 95%, over
publishers.

    python benchmarks/blocks.py --data ../shared/data/ccnews --gold ../shared/data/news-gold --json blocks.json
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from cleaning import DEFAULT_DATA, samples
from cleaning import Sample as RealPage
from rich.console import Console
from rich.table import Table

from ml.alignment import Role, align
from ml.article import Article
from ml.baselines.base import PageInput, run_baseline
from ml.baselines.registry import BASELINES
from ml.block_model.model import BlockModel, Labels
from ml.block_model.rendering import body_of
from ml.block_model.training import Sample, TrainingParameters, cross_validate, train
from ml.gold import GoldPage, read_gold
from ml.intervals import Difference, ScoreTable, Summary
from ml.metrics import bleu, rouge_l, shingles
from ml.page import Page, PageError, parse_page
from ml.records import Score
from resources.fundus.catalogue import fundus_catalogue

DEFAULT_GOLD = DEFAULT_DATA.parent / "news-gold"
OURS, ORACLE = "blocks", "oracle"
PEERS = ("trafilatura", "resiliparse", "boilerpipe")
FAILED = 0.6  # of ROUGE-L: below, the page is lost
LANGUAGE_PAGES = 5  # of a language, for its mean to be told
ROUNDS = 3  # the fastest counts: the others measure what else the machine was doing


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What the extractors make of a set of pages: by extractor, a text a page, and how fast."""

    texts: dict[str, list[str]]
    pages_per_s: dict[str, float]


def labelled(pages: Sequence[RealPage]) -> list[Sample]:
    """The pages with the roles that Fundus' extraction gives their blocks."""
    catalogue = fundus_catalogue()
    parsed = [parse_page(page.html) for page in pages]
    return [
        Sample(page=blocks, roles=align(blocks, page.article).roles, family=catalogue.family(page.publisher))
        for blocks, page in zip(parsed, pages, strict=True)
    ]


def plaintext(page: Page, roles: Sequence[Role]) -> str:
    return Article(body=body_of(page, roles)).plaintext


def extracted(model: BlockModel, html: str) -> str:
    """The model's way from HTML to the text; a page that is none gives none."""
    try:
        page = parse_page(html)
    except PageError:
        return ""
    return plaintext(page, model.predict(page).roles)


def run_peers(pages: Sequence[PageInput], console: Console) -> Reading:
    texts, speeds = {}, {}
    for name in PEERS:
        console.print(f"{name} reads {len(pages)} pages …")
        answers = list(run_baseline(BASELINES[name], pages))
        texts[name] = [answer.text for answer in answers]
        speeds[name] = len(pages) / sum(answer.seconds for answer in answers)
    return Reading(texts=texts, pages_per_s=speeds)


def pages_per_s(read: Callable[[str], object], pages: Sequence[str]) -> float:
    """On one core: processor time, so that other programs on the machine count as little as they can."""
    return len(pages) / min(_seconds(read, pages) for _ in range(ROUNDS))


def _seconds(read: Callable[[str], object], pages: Sequence[str]) -> float:
    started = time.process_time()
    for page in pages:
        read(page)
    return time.process_time() - started


# --- scores


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is right for a page, and what the page counts as."""

    page_id: str
    publisher: str
    language: str | None
    text: str


Metric = Callable[[str, str], float | None]
ON_CCNEWS: Mapping[str, Metric] = {"rouge_l": rouge_l.score, "bleu": bleu.score}
ON_GOLD: Mapping[str, Metric] = {
    "shingle_precision": shingles.precision,
    "shingle_recall": shingles.recall,
    "rouge_l": rouge_l.score,
}


def scores(
    texts: Mapping[str, Sequence[str]], wanted: Sequence[Wanted], metrics: Mapping[str, Metric]
) -> Iterator[Score]:
    for extractor, found in texts.items():
        for text, page in zip(found, wanted, strict=True):
            for metric, measure in metrics.items():
                yield Score(
                    page_id=page.page_id,
                    publisher=page.publisher,
                    language=page.language,
                    extractor=extractor,
                    metric=metric,
                    value=measure(text, page.text),
                )


def role_f1(role: Role, found: Sequence[Sequence[Role]], wanted: Sequence[Sequence[Role]]) -> float:
    """Over the blocks of all pages together."""
    pairs = [pair for page in zip(found, wanted, strict=True) for pair in zip(*page, strict=True)]
    both = sum(pair == (role, role) for pair in pairs)
    either = sum((left is role) + (right is role) for left, right in pairs)
    return 2 * both / either if either else 1.0


def by_language(rows: Sequence[Score], extractor: str) -> dict[str, float]:
    """Mean ROUGE-L of the languages with enough pages."""
    values: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row.extractor == extractor and row.metric == "rouge_l" and row.value is not None:
            values[row.language or "unknown"].append(row.value)
    return {
        language: mean(found) for language, found in sorted(values.items()) if len(found) >= LANGUAGE_PAGES
    }


# --- the two halves of the run


@dataclass(frozen=True, kw_only=True)
class Result:
    figures: dict[str, float]
    table: ScoreTable
    languages: dict[str, float]


def unseen_families(pages: Sequence[RealPage], sample: Sequence[Sample], console: Console) -> Result:
    """Cross-validation over families, and the others on the same pages."""
    inputs = [
        PageInput(
            page_id=str(at),
            url=real.url,
            publisher=real.publisher,
            language=each.page.language,
            html=real.html,
        )
        for at, (real, each) in enumerate(zip(pages, sample, strict=True))
    ]
    peers = run_peers(inputs, console)
    console.print("cross-validation over families …")
    labels = cross_validate(sample, TrainingParameters())
    texts = {
        OURS: [plaintext(each.page, found.roles) for each, found in zip(sample, labels, strict=True)],
        ORACLE: [plaintext(each.page, each.roles) for each in sample],
        **peers.texts,
    }
    wanted = [
        Wanted(
            page_id=page.page_id,
            publisher=page.publisher,
            language=page.language,
            text=real.article.plaintext,
        )
        for page, real in zip(inputs, pages, strict=True)
    ]
    rows = list(scores(texts, wanted, ON_CCNEWS))
    languages = by_language(rows, OURS)
    speeds = {f"{name}_pages_per_s": value for name, value in peers.pages_per_s.items()}
    figures = {**_means(rows), **_roles(sample, labels), **speeds}
    return Result(
        figures={**figures, "language_minimum_rouge_l": min(languages.values(), default=0.0)},
        table=ScoreTable(rows),
        languages=languages,
    )


def _means(rows: Sequence[Score]) -> dict[str, float]:
    values: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        if row.value is not None:
            values[row.extractor, row.metric].append(row.value)
    figures = {f"{_prefix(extractor)}{metric}": mean(found) for (extractor, metric), found in values.items()}
    for extractor in {row.extractor for row in rows}:
        lost = mean(value < FAILED for value in values[extractor, "rouge_l"])
        figures[f"{_prefix(extractor)}share_under_06"] = lost
    return figures


def _prefix(extractor: str) -> str:
    return "" if extractor == OURS else f"{extractor}_"


def _roles(sample: Sequence[Sample], labels: Sequence[Labels]) -> dict[str, float]:
    found, wanted = [each.roles for each in labels], [each.roles for each in sample]
    return {f"role_f1_{role}": role_f1(role, found, wanted) for role in Role if role is not Role.NONE}


def gold_pages(model: BlockModel, pages: Sequence[GoldPage], console: Console) -> Result:
    """A model of all CC-NEWS pages, and the others, on pages that people annotated."""
    inputs = [
        PageInput(
            page_id=page.page_id,
            url=page.url,
            publisher=page.publisher,
            language=page.language,
            html=page.html,
        )
        for page in pages
    ]
    peers = run_peers(inputs, console)
    texts = {OURS: [extracted(model, page.html) for page in pages], **peers.texts}
    wanted = [
        Wanted(
            page_id=page.page_id,
            publisher=page.publisher,
            language=page.language,
            text=page.annotation.article().plaintext,
        )
        for page in pages
    ]
    table = ScoreTable(scores(texts, wanted, ON_GOLD))
    summaries = {(each.extractor, each.metric): each for each in table.summaries()}
    figures = {
        f"{_prefix(name)}gold_{metric}": summaries[name, metric].mean
        for name in texts
        for metric in ("shingle_f1", "rouge_l")
    }
    return Result(figures=figures, table=table, languages={})


# --- tables


def _with_interval(each: Summary | Difference, sign: str = "") -> str:
    interval = "" if each.low is None else f" [{each.low:{sign}.4f}, {each.high:{sign}.4f}]"
    return f"{each.mean:{sign}.4f}{interval}"


def show_scores(title: str, result: Result, metrics: Mapping[str, str], console: Console) -> None:
    table = Table(title=title)
    for heading in ("", *metrics.values(), *(f"{shown}, {OURS} minus it" for shown in metrics.values())):
        table.add_column(heading, justify="left" if not heading else "right")
    summaries = {(each.extractor, each.metric): each for each in result.table.summaries()}
    for name in (OURS, *PEERS, *({ORACLE} & set(result.table.extractors))):
        own = [_with_interval(summaries[name, metric]) for metric in metrics]
        differences = (result.table.difference(metric, OURS, name) for metric in metrics)
        compared = ["" if name == OURS else _with_interval(each, "+") for each in differences]
        table.add_row(name, *own, *compared)
    console.print(table)


_AIMS = {
    "share_under_06": ("pages under ROUGE-L 0.6", "at most 0.015"),
    "role_f1_headline": ("F1 of headlines", "at least 0.88"),
    "role_f1_summary": ("F1 of summaries", "at least 0.85"),
    "role_f1_paragraph": ("F1 of paragraphs", ""),
    "language_minimum_rouge_l": ("ROUGE-L of the weakest language", "at least 0.93"),
    "pages_per_s": ("pages a second, HTML to text, one core", "at least 80"),
    "trafilatura_pages_per_s": ("the same of Trafilatura", "at most half"),
}


def show_figures(figures: Mapping[str, float], languages: Mapping[str, float], console: Console) -> None:
    table = Table(title="The block model on unseen families")
    for heading in ("", "found", "aim"):
        table.add_column(heading)
    for key, (label, aim) in _AIMS.items():
        table.add_row(label, f"{figures[key]:.4g}", aim)
    console.print(table)
    console.print(
        "ROUGE-L by language:", ", ".join(f"{name} {value:.3f}" for name, value in languages.items())
    )


def arguments_of(parser: argparse.ArgumentParser) -> argparse.Namespace:
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="folder packed as CC-NEWS is")
    parser.add_argument("--gold", type=Path, default=DEFAULT_GOLD, help="folder of annotated pages")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    for folder in (arguments.data, arguments.gold):
        if not (folder / "manifest.jsonl").is_file():
            parser.error(f"found no manifest.jsonl in {folder}; expected a folder of pages with their list")
    return arguments


def main() -> None:
    arguments = arguments_of(
        argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    )
    console = Console()
    pages = list(samples(arguments.data))
    sample = labelled(pages)
    unseen = unseen_families(pages, sample, console)
    console.print("a model of all pages …")
    model = train(sample, TrainingParameters())
    speed = pages_per_s(lambda html: extracted(model, html), [page.html for page in pages])
    gold = gold_pages(model, read_gold(arguments.gold), console)
    figures = {**unseen.figures, "pages_per_s": speed, **gold.figures, "pages": len(pages)}
    show_scores(
        f"{len(pages)} pages, no family seen", unseen, {"rouge_l": "ROUGE-L", "bleu": "BLEU"}, console
    )
    show_figures(figures, unseen.languages, console)
    show_scores(
        "Pages that people annotated", gold, {"shingle_f1": "shingle F1", "rouge_l": "ROUGE-L"}, console
    )
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
