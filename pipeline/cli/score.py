"""`newslm score`: our evaluation on any system's output.

Belongs here: options and printing. Does not belong here: the files' rows (`ml/score_files.py`) or scores.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ml.evaluation import score_predictions
from ml.intervals import Summary, summarise
from ml.metrics.registry import METRICS, Direction, Protocol, missing
from ml.records import Score
from ml.score_files import read_pairs
from pipeline.cli.console import AsJson, clear_errors, complain, out, plain_table, print_json


class Chosen(StrEnum):
    """The protocols to score by."""

    PAPER = "paper"
    UNICODE = "unicode"
    ALL = "all"


_PROTOCOLS = {
    Chosen.PAPER: [Protocol.PAPER, Protocol.BOTH],
    Chosen.UNICODE: [Protocol.UNICODE, Protocol.BOTH],
    Chosen.ALL: list(Protocol),
}


def score(
    predictions: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSON Lines, see above.")],
    references: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSON Lines, see above.")],
    protocol: Annotated[
        Chosen, typer.Option(help="`unicode`: fair to every script; `paper`: as the paper's code computes.")
    ] = Chosen.UNICODE,
    per_page: Annotated[
        Path | None, typer.Option(help="Also write every page's values, as CSV.", dir_okay=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score any system's articles against references, with 95% intervals.

    Both files hold one JSON object a line: `id`, and `text` or `json` (an article
    in the published form, as text or as an object). References may also give
    `publisher`, whose pages are then drawn together for the intervals, `language`,
    and `page`, the page's HTML or text, for groundedness. Ids must be the same in
    both; a page that the system failed on is a row with an empty text.

    \b
    newslm score predictions.jsonl references.jsonl
    newslm score predictions.jsonl references.jsonl --protocol paper --json
    """
    with clear_errors():
        found, wanted = read_pairs(predictions, references)
        scores = score_predictions(found, wanted, protocols=_PROTOCOLS[protocol])
        if per_page:
            _write_values(per_page, scores)
    summaries = summarise(scores)
    if as_json:
        print_json(_document(summaries, len(wanted), protocol))
        return
    for name, reason in missing().items():
        if METRICS[name].protocol in _PROTOCOLS[protocol]:
            complain("warning", f"{METRICS[name].label} is left out: {reason}")
    _print(summaries, len(wanted))


def _document(summaries: list[Summary], pages: int, protocol: Chosen) -> dict[str, object]:
    return {
        "pages": pages,
        "clusters": max((row.publishers for row in summaries), default=0),
        "protocol": protocol,
        "scores": {
            row.metric: {"mean": row.mean, "low": row.low, "high": row.high, "pages": row.pages}
            for row in summaries
        },
        "not_computed": missing(),
    }


def _write_values(path: Path, scores: list[Score]) -> None:
    import pyarrow.csv

    table = Score.table(scores).select(["page_id", "publisher", "language", "metric", "value", "weight"])
    pyarrow.csv.write_csv(table, path)


def _print(summaries: list[Summary], pages: int) -> None:
    table = plain_table()
    table.title, table.title_justify = f"{pages:,} pages", "left"
    for name in ("metric", "mean", "95% interval"):
        table.add_column(name, justify="left" if name == "metric" else "right")
    for row in summaries:
        metric = METRICS[row.metric]
        arrow = "" if metric.better is Direction.HIGHER else " ↓"
        interval = "–" if row.low is None else f"{row.low:.3f}–{row.high:.3f}"
        table.add_row(f"{metric.label}{arrow}", f"{row.mean:.3f}", interval)
    out.print(table)
    out.print(
        "[dim]↓ lower is better. Intervals redraw whole publishers, or pages where none are given.[/dim]"
    )
