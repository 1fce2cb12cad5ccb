"""Scores as a terminal table.

Belongs here: `rich` tables of summaries. Does not belong here: computing them (`ml/evaluation.py`).
"""

from collections.abc import Sequence

from rich.table import Table

from ml.intervals import Summary
from ml.metrics.registry import METRICS

COLUMNS = ("rouge_l", "bleu", "levenshtein", "jaro_winkler", "json_validity", "groundedness")


def score_table(summaries: Sequence[Summary]) -> Table:
    """One row per extractor: means over the held-out pages with 95% intervals, best ROUGE-L first."""
    cells = {(summary.extractor, summary.metric): summary for summary in summaries}
    extractors = sorted({summary.extractor for summary in summaries}, key=lambda name: -_mean(cells, name))
    pages = max((summary.pages for summary in summaries), default=0)
    table = Table(title=f"Scores on {pages} held-out pages, mean and 95% interval", title_justify="left")
    table.add_column("extractor")
    for name in COLUMNS:
        table.add_column(METRICS[name].label, justify="right")
    for extractor in extractors:
        table.add_row(extractor, *(_cell(cells.get((extractor, name))) for name in COLUMNS))
    return table


def _mean(cells: dict[tuple[str, str], Summary], extractor: str) -> float:
    summary = cells.get((extractor, COLUMNS[0]))
    return summary.mean if summary else 0.0


def _cell(summary: Summary | None) -> str:
    if summary is None:
        return "–"
    interval = f" [dim]{summary.low:.3f}–{summary.high:.3f}[/dim]" if summary.low is not None else ""
    return f"{summary.mean:.3f}{interval}"
