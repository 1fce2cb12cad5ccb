"""The tables beside the scores: runs and their cost, scores by language and publisher, corpus and splits.

Belongs here: arranging counts and breakdowns. Does not belong here: tables of scores (`score_tables.py`).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from ml.metrics.registry import METRICS
from ml.records import Score
from ml.report.comparisons import HEADLINE
from ml.report.grid import Cell, Grid, Group, Row, counted, grouped, heated
from ml.report.inputs import CorpusFacts, ExtractorKind
from ml.report.runs import COSTED_PAGES, RunFacts

_RUN_COLUMNS = (
    "Median seconds",
    "Mean seconds",
    "Pages an hour",
    "Failures",
    "Cut off",
    "Tokens read",
    "Tokens written",
    "Device",
    f"USD per {COSTED_PAGES:,}",
)


def runs(
    facts: Mapping[str, RunFacts],
    kinds: Mapping[ExtractorKind, Sequence[str]],
    prices: Mapping[str, float],
) -> Grid:
    """Speed, failures and cost, a row per extractor."""
    pages = ", ".join(sorted({f"{run.pages:,}" for run in facts.values()}))
    assumed = ", ".join(f"{device} {price:,.2f}" for device, price in sorted(prices.items()))
    caption = (
        f"{pages} pages, one after the other. A failed page counts as an empty text in every score; an output cut off "
        f"at its length limit counts as it is. Tokens: the model’s own, mean per page. Cost: mean seconds of "
        f"{COSTED_PAGES:,} pages, failed ones included, at an assumed price in USD per device and hour: "
        f"{assumed or 'none given'}. A dash: not known."
    )
    return Grid(
        name="Speed and cost",
        caption=caption,
        heading="Extractor",
        columns=_RUN_COLUMNS,
        groups=grouped(kinds, lambda name: _run_cells(facts[name]) if name in facts else []),
    )


def _run_cells(run: RunFacts) -> list[Cell | None]:
    return [
        Cell(value=f"{run.median_seconds:.3f}"),
        Cell(value=f"{run.mean_seconds:.3f}"),
        counted(run.pages_per_hour),
        counted(run.failures),
        counted(run.truncated),
        counted(run.input_tokens),
        counted(run.output_tokens),
        Cell(value=run.device) if run.device else None,
        _cost_cell(run.usd_per_1000_pages),
    ]


def _cost_cell(usd: float | None) -> Cell | None:
    if usd is None:
        return None
    return Cell(value="< 0.01" if 0 < usd < 0.01 else f"{usd:,.2f}")


def by_language(scores: Sequence[Score], extractors: Sequence[str]) -> Grid:
    """Headline means by language, most pages first."""
    rows = _breakdown(scores, extractors, lambda row: row.language or "unknown")
    caption = f"{METRICS[HEADLINE].label} by language, most pages first; the lower the warmer."
    ordered = sorted(rows, key=lambda row: (-row[1], row[0]))
    return _breakdown_grid("Scores by language", caption, "Language", ordered, extractors)


def by_publisher(scores: Sequence[Score], extractors: Sequence[str]) -> Grid:
    """Headline means by publisher, hardest first."""
    rows = _breakdown(scores, extractors, lambda row: row.publisher)
    caption = f"{METRICS[HEADLINE].label} by publisher, hardest first; the lower the warmer."
    ordered = sorted(rows, key=lambda row: (fmean(mean or 0.0 for mean in row[2]), row[0]))
    return _breakdown_grid("Scores by publisher", caption, "Publisher", ordered, extractors)


_Breakdown = tuple[str, int, Sequence[float | None]]  # name, pages, a mean per extractor


def _breakdown(
    scores: Sequence[Score], extractors: Sequence[str], group: Callable[[Score], str]
) -> list[_Breakdown]:
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    pages: dict[str, set[str]] = defaultdict(set)
    for row in scores:
        if row.metric == HEADLINE and row.value is not None:
            pages[group(row)].add(row.page_id)
            values[group(row), row.extractor].append(row.value)
    return [
        (name, len(ids), [_mean(values.get((name, each), ())) for each in extractors])
        for name, ids in pages.items()
    ]


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _breakdown_grid(
    name: str, caption: str, heading: str, rows: Sequence[_Breakdown], extractors: Sequence[str]
) -> Grid:
    filled = [Row(name=each, cells=[counted(pages), *map(heated, means)]) for each, pages, means in rows]
    columns = ["Pages", *extractors]
    return Grid(name=name, caption=caption, heading=heading, columns=columns, groups=[Group(rows=filled)])


def outcomes(facts: CorpusFacts) -> Grid:
    """What became of the pages that were read."""
    read = sum(facts.outcomes.values())
    rows = [
        Row(name=outcome.replace("_", " "), cells=[counted(count), Cell(value=f"{100 * count / read:.1f}%")])
        for outcome, count in Counter(facts.outcomes).most_common()
    ]
    caption = f"What became of {read:,} pages."
    return Grid(
        name="Pages by outcome",
        caption=caption,
        heading="Outcome",
        columns=["Pages", "Share"],
        groups=[Group(rows=rows)],
    )


def splits(facts: CorpusFacts) -> Grid:
    """The splits as they stand."""
    rows = [
        Row(name=row.split, cells=[counted(row.publishers), counted(row.families), counted(row.pages)])
        for row in facts.splits
    ]
    return Grid(
        name="Splits",
        caption="Splits: whole publishers, and whole families of them, on one side.",
        heading="Split",
        columns=["Publishers", "Families", "Pages"],
        groups=[Group(rows=rows)],
    )


def languages(facts: CorpusFacts) -> Grid:
    """Kept pages by language, most frequent first."""
    rows = [Row(name=name, cells=[counted(count)]) for name, count in Counter(facts.languages).most_common()]
    return Grid(
        name="Languages",
        caption="Kept pages by language.",
        heading="Language",
        columns=["Pages"],
        groups=[Group(rows=rows)],
    )
