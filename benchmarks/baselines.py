"""What the published extractors make of real pages, against Fundus' extraction.

Reads the pages under --data as `cleaning.py` does and runs every installed baseline over them, each page with
the limits of the pipeline. Figures are means over pages; a failed page counts as an empty text. The seconds are
those that the library took, with the metadata that it gives.

    python benchmarks/baselines.py --data ../shared/data/ccnews --json baselines.json
"""

import argparse
import json
from collections import Counter
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from statistics import mean

from cleaning import DEFAULT_DATA, Sample, samples
from rich.console import Console
from rich.table import Table

from ml.baselines.base import Baseline, PageInput, run_baseline
from ml.baselines.registry import BASELINES
from ml.metrics import bleu, rouge_l


@dataclass(frozen=True, kw_only=True)
class Result:
    """One baseline over all pages."""

    baseline: str
    version: str
    pages: int
    failures: dict[str, int]  # by error
    rouge_l: float
    bleu: float
    pages_per_s: float

    @property
    def failed(self) -> int:
        return sum(self.failures.values())


def measure(baseline: Baseline, pages: list[Sample]) -> Result:
    inputs = [
        PageInput(page_id=str(number), url=page.url, publisher=page.publisher, language=None, html=page.html)
        for number, page in enumerate(pages)
    ]
    answers = list(run_baseline(baseline, inputs))
    pairs = [(answer.text, page.article.plaintext) for answer, page in zip(answers, pages, strict=True)]
    return Result(
        baseline=baseline.name,
        version=baseline.version or "",
        pages=len(pages),
        failures=dict(Counter(answer.error for answer in answers if answer.error)),
        rouge_l=mean(rouge_l.score(*pair) for pair in pairs),
        bleu=mean(bleu.score(*pair) for pair in pairs),
        pages_per_s=len(pages) / sum(answer.seconds for answer in answers),
    )


def show(results: list[Result], console: Console) -> None:
    table = Table(title=f"Published extractors on {results[0].pages} real pages")
    for heading in ("", "version", "failures", "ROUGE-L", "BLEU", "pages/s"):
        table.add_column(heading, justify="left" if heading in ("", "version") else "right")
    for each in results:
        figures = (f"{each.rouge_l:.4f}", f"{each.bleu:.4f}", f"{each.pages_per_s:.1f}")
        table.add_row(each.baseline, each.version, str(each.failed), *figures)
    console.print(table)
    for each in results:
        for error, count in each.failures.items():
            console.print(f"{each.baseline}: {count} x {error}", markup=False, highlight=False)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=DEFAULT_DATA, help="folder with manifest.jsonl and crawl-data/"
    )
    parser.add_argument("--limit", type=int, help="only the first pages")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    if not (arguments.data / "manifest.jsonl").is_file():
        parser.error(f"found no manifest.jsonl in {arguments.data}; expected a folder packed as CC-NEWS is")
    pages = list(islice(samples(arguments.data), arguments.limit))
    if not pages:
        parser.error(f"found no page with an article among those of {arguments.data}; expected at least one")
    console = Console()
    results = []
    for baseline in BASELINES.values():
        console.print(f"{baseline.name} …")
        results.append(measure(baseline, pages))
    show(results, console)
    if arguments.json:
        figures = {each.baseline: asdict(each) for each in results}
        arguments.json.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
