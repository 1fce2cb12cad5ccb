"""How well the extractor reads pages of publishers that it has not seen, beside other extractors.

Cross-validates over families of publishers on the CC-NEWS pages under --data, with Fundus' extraction as the
reference: every page goes from HTML to JSON through an extractor that saw no page of its family, and a page that is
refused counts as an empty article. An extractor of all of them is then measured on the pages under --gold, which
people annotated, for speed and for memory. Others get the same HTML in the same run. Intervals are 95%, over
publishers; publishers that object to training are left out.

    python benchmarks/blocks.py --data ../shared/data/ccnews --gold ../shared/data/news-gold --json blocks.json

With --write-model the extractor of all pages is kept, with a card that states these figures.
"""

import argparse
import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from cleaning import DEFAULT_DATA, samples
from default_model import TrainingFacts, write_default_model
from figures import PEERS, Figure, flat, table_of
from measures import Answer, Item, LabelledItem, on_ccnews, on_gold
from memory import memory_of
from rich.console import Console

from ml.alignment import align
from ml.article import Article
from ml.baselines.base import PageInput, run_baseline
from ml.baselines.extraction import ExtractionFailedError
from ml.baselines.registry import BASELINES
from ml.block_model.rendering import body_of
from ml.block_model.training import TrainingParameters
from ml.extractor import Extractor, LabelledPage, train
from ml.gold import read_gold
from ml.language import detect_language
from ml.metrics.registry import Reference
from ml.page import PageError, parse_page
from ml.records import Prediction
from resources.fundus.catalogue import fundus_catalogue

DEFAULT_GOLD = DEFAULT_DATA.parent / "news-gold"
FOLDS = 5
PARAMETERS = TrainingParameters(threads=1)  # more of them wait for each other wherever the machine is busy
ROUNDS = 3  # the fastest counts: the others measure what else the machine was doing

# --- pages


def ccnews(data: Path, limit: int | None) -> list[LabelledItem]:
    """The first pages with an article, of publishers that do not object to training."""
    catalogue = fundus_catalogue()
    allowed = (page for page in samples(data) if not catalogue.facts(page.publisher).disallows_training)
    return [
        labelled_item(
            page_id=str(number),
            url=page.url,
            publisher=page.publisher,
            html=page.html,
            article=page.article,
            family=catalogue.family(page.publisher),
        )
        for number, page in enumerate(islice(allowed, limit))
    ]


def labelled_item(
    *, page_id: str, url: str, publisher: str, html: str, article: Article, family: str
) -> LabelledItem:
    """A page with an article that rules found."""
    page = parse_page(html)
    item = _item(page_id, url, publisher, html, article)
    return LabelledItem(
        received=item.received,
        reference=item.reference,
        labelled=LabelledPage(page=page, article=article, family=family),
        roles=align(page, article).roles,
    )


def annotated(folder: Path, limit: int | None) -> list[Item]:
    """The first pages that people annotated."""
    items = []
    for page in read_gold(folder)[:limit]:
        item = _item(page.page_id, page.url, page.publisher, page.html, page.annotation.article())
        stated = replace(item.reference, fields=page.annotation.fields)
        items.append(Item(received=item.received, reference=stated))
    return items


def _item(page_id: str, url: str, publisher: str, html: str, article: Article) -> Item:
    text = article.plaintext
    language = detect_language(text)  # what a page declares is often wrong
    return Item(
        received=PageInput(page_id=page_id, url=url, publisher=publisher, language=language, html=html),
        reference=Reference(
            page_id=page_id,
            url=url,
            publisher=publisher,
            language=language,
            plaintext=text,
            json=article.to_json(),
            compact="",
        ),
    )


# --- answers


def answered(extractor: Extractor, html: str) -> Answer:
    """What a user gets for the page."""
    try:
        found = extractor.extract(html)
    except PageError:
        return Answer(extraction=None)
    return Answer(extraction=found, kept_back="" if found.article else _kept_back(extractor, html))


def _kept_back(extractor: Extractor, html: str) -> str:
    page = parse_page(html)
    return Article(body=body_of(page, extractor.blocks.predict(page).roles)).plaintext


def cross_validated(
    items: Sequence[LabelledItem], parameters: TrainingParameters = PARAMETERS, folds: int = FOLDS
) -> list[Answer]:
    """For each page, the answer of an extractor that was trained, wholly, without its family."""
    fold_of = _folds([item.labelled.family for item in items], folds)
    answers: dict[int, Answer] = {}
    for fold in range(folds):
        seen = (item.labelled for item in items if fold_of[item.labelled.family] != fold)
        extractor = train(seen, parameters)
        for at, item in enumerate(items):
            if fold_of[item.labelled.family] == fold:
                answers[at] = answered(extractor, item.received.html)
    return [answers[at] for at in range(len(items))]


def _folds(families: Sequence[str], folds: int) -> dict[str, int]:
    """Whole families, dealt out from the largest on; which of equal ones comes first is chance."""
    sizes = Counter(families)
    shuffled = [str(name) for name in np.random.default_rng(0).permutation(sorted(sizes))]
    return {name: at % folds for at, name in enumerate(sorted(shuffled, key=lambda name: -sizes[name]))}


def of_peers(items: Sequence[Item]) -> Iterator[Prediction]:
    """What others make of the pages, each in a process of its own with the limits of the pipeline."""
    for name in PEERS:
        yield from run_baseline(BASELINES[name], [item.received for item in items])


# --- speed and memory


def speeds(extractor: Extractor, items: Sequence[Item]) -> dict[str, Figure]:
    """Pages a second from HTML to JSON, in this process."""
    pages = [item.received for item in items]
    logging.disable(logging.ERROR)  # boilerpy3 tells of every page that it recovers from
    readers = {"": partial(_to_json, extractor)} | {
        f"{name}_": partial(_peer_to_json, name) for name in PEERS
    }
    figures = {f"{prefix}pages_per_s": Figure(_pages_per_s(read, pages)) for prefix, read in readers.items()}
    logging.disable(logging.NOTSET)
    return figures


def _to_json(extractor: Extractor, page: PageInput) -> str:
    with suppress(PageError):
        article = extractor.extract(page.html).article
        return article.to_json() if article else ""
    return ""


def _peer_to_json(name: str, page: PageInput) -> str:
    with suppress(ExtractionFailedError):
        return BASELINES[name].extract(page.html, page.url).article().to_json()
    return ""


def _pages_per_s(read: Callable[[PageInput], str], pages: Sequence[PageInput]) -> float:
    """On one core: processor time, so that other programs on the machine count as little as they can."""
    return len(pages) / min(_seconds(read, pages) for _ in range(ROUNDS))


def _seconds(read: Callable[[PageInput], str], pages: Sequence[PageInput]) -> float:
    started = time.process_time()
    for page in pages:
        read(page)
    return time.process_time() - started


# --- the run


def crawl_days(data: Path) -> list[date]:
    rows = (json.loads(line) for line in (data / "manifest.jsonl").read_text().splitlines())
    return [datetime.fromisoformat(row["crawl_date"]).date() for row in rows]


def main() -> None:
    arguments = _arguments()
    console = Console(width=190)
    items, gold = ccnews(arguments.data, arguments.limit), annotated(arguments.gold, arguments.limit)
    console.print(f"cross-validation over the families of {len(items)} pages …")
    figures = on_ccnews(items, cross_validated(items), of_peers(items))
    console.print(f"an extractor of all of them, on {len(gold)} annotated pages …")
    extractor = train((item.labelled for item in items), PARAMETERS)
    answers = [answered(extractor, item.received.html) for item in gold]
    figures |= on_gold(gold, answers, of_peers(gold))
    console.print(f"speed, and memory over {arguments.stream:,} pages …")
    figures |= speeds(extractor, items)
    memory = memory_of(extractor, (item.received.html for item in items), arguments.stream)
    figures |= {key: Figure(value) for key, value in memory.items()}
    console.print(
        table_of(figures, f"{len(items)} pages of unseen families, {len(gold)} annotated by people")
    )
    if arguments.json:
        arguments.json.write_text(json.dumps(flat(figures), indent=2) + "\n")
    if arguments.write_model:
        facts = TrainingFacts.of(items, crawl_days(arguments.data))
        write_default_model(arguments.write_model, extractor, facts, figures)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="folder packed as CC-NEWS is")
    parser.add_argument("--gold", type=Path, default=DEFAULT_GOLD, help="folder of annotated pages")
    parser.add_argument("--limit", type=int, help="only so many pages of each, for a quick look")
    parser.add_argument("--stream", type=int, default=5_000, help="pages over which memory is measured")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--write-model", type=Path, metavar="FOLDER", help="keep the model, with its card")
    arguments = parser.parse_args()
    for folder in (arguments.data, arguments.gold):
        if not (folder / "manifest.jsonl").is_file():
            parser.error(f"found no manifest.jsonl in {folder}; expected a folder of pages with their list")
    return arguments


if __name__ == "__main__":
    main()
