"""What is told of an extractor: every figure by its key, its label and the bar it is to reach, as a table.

Belongs here: the list of figures and how they are shown. Does not belong here: measuring any of them
(`blocks.py`, `memory.py`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from rich.table import Table

PEERS = ("trafilatura", "resiliparse", "boilerpipe")
NEAREST_PEER = PEERS[0]


@dataclass(frozen=True)
class Figure:
    """A value, with its 95% interval over publishers where it has one."""

    value: float
    low: float | None = None
    high: float | None = None


Figures = Mapping[str, Figure]
"""Figures by key. `PEER_KEY` is a peer's; `ahead_KEY` is ours minus the nearest peer's on the same pages."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """What a figure is to reach; one that was not measured reaches nothing."""

    text: str
    is_reached: Callable[[Figures], bool]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A figure of the table."""

    key: str
    label: str
    bar: Bar | None = None
    digits: int = 3

    def verdict(self, figures: Figures) -> str:
        """Whether the bar is reached; nothing where there is none."""
        return "" if self.bar is None else "yes" if self.bar.is_reached(figures) else "NO"


def _least(key: str, limit: float) -> Bar:
    return Bar(text=f"≥ {limit:g}", is_reached=lambda figures: figures[key].value >= limit)


def _most(key: str, limit: float) -> Bar:
    return Bar(text=f"≤ {limit:g}", is_reached=lambda figures: figures[key].value <= limit)


def _clearly_ahead(key: str, limit: float) -> Bar:
    """Enough, and more than the nearest peer's by an interval that excludes zero."""
    return Bar(
        text=f"≥ {limit:g}, ahead",
        is_reached=lambda figures: figures[key].value >= limit and (figures[f"ahead_{key}"].low or 0) > 0,
    )


def _fast(key: str, limit: float) -> Bar:
    """Enough, and twice the nearest peer's."""
    return Bar(
        text=f"≥ {limit:g}, twice",
        is_reached=lambda figures: (
            figures[key].value >= max(limit, 2 * figures[f"{NEAREST_PEER}_{key}"].value)
        ),
    )


def _ahead_of_all(key: str) -> Bar:
    return Bar(
        text="ahead of all",
        is_reached=lambda figures: all(figures[key].value > figures[f"{peer}_{key}"].value for peer in PEERS),
    )


ROWS = (
    Row(key="rouge_l", label="ROUGE-L of the text", bar=_clearly_ahead("rouge_l", 0.975), digits=4),
    Row(key="bleu", label="BLEU of the text", bar=_clearly_ahead("bleu", 0.955), digits=4),
    Row(key="share_under_06", label="pages under ROUGE-L 0.6", bar=_most("share_under_06", 0.015)),
    Row(key="valid_json", label="strict JSON", bar=_least("valid_json", 1)),
    Row(key="schema_valid", label="valid by the schema", bar=_least("schema_valid", 1)),
    Row(key="title", label="title", bar=_least("title", 0.96)),
    Row(key="date_day", label="date, same day", bar=_least("date_day", 0.97)),
    Row(key="date_instant", label="date, same instant"),
    Row(key="authors_f1", label="authors F1", bar=_least("authors_f1", 0.88)),
    Row(key="topics_f1", label="topics F1", bar=_least("topics_f1", 0.75)),
    Row(key="free_access", label="free access"),
    Row(key="headline_f1", label="headlines F1", bar=_least("headline_f1", 0.88)),
    Row(key="summary_f1", label="summaries F1", bar=_least("summary_f1", 0.85)),
    Row(key="paragraph_f1", label="paragraphs F1"),
    Row(key="oracle_rouge_l", label="ROUGE-L of perfect labels", bar=_least("oracle_rouge_l", 0.99), digits=4),
    Row(key="unrefused_rouge_l", label="ROUGE-L, none refused", digits=4),
    Row(key="refused", label="refused"),
    Row(key="good_refused", label="refused though read well"),
    Row(key="pages_per_s", label="HTML to JSON, pages/s", bar=_fast("pages_per_s", 80), digits=0),
    Row(key="peak_mib", label="peak memory, MiB", bar=_most("peak_mib", 500), digits=0),
    Row(key="gold_shingle_f1", label="annotated: shingle F1", bar=_ahead_of_all("gold_shingle_f1"),
        digits=4),
    Row(key="gold_title", label="annotated: title"),
    Row(key="gold_date_day", label="annotated: date, same day"),
    Row(key="gold_authors_f1", label="annotated: authors F1"),
)  # fmt: skip
LANGUAGE, CALIBRATION = "language_", "calibration_error_"
"""Prefixes of the keys of ROUGE-L of a language, and of how far a field's confidence is off."""


def rows(figures: Figures) -> Iterator[Row]:
    """The rows that the figures tell of: those of `ROWS`, then languages and confidence."""
    yield from (row for row in ROWS if row.key in figures)
    for key in figures:
        if key.startswith(LANGUAGE):
            yield Row(key=key, label=f"ROUGE-L, language {key.removeprefix(LANGUAGE)}", bar=_least(key, 0.93))
        elif key.startswith(CALIBRATION):
            yield Row(key=key, label=f"confidence off, {key.removeprefix(CALIBRATION)}")


def cell(figures: Figures, key: str, digits: int) -> str:
    """A value with its interval; nothing where it was not measured."""
    if key not in figures:
        return ""
    found = figures[key]
    interval = "" if found.low is None else f" [{found.low:.{digits}f}, {found.high:.{digits}f}]"
    return f"{found.value:.{digits}f}{interval}"


def table_of(figures: Figures, title: str) -> Table:
    """Every figure beside its bar and the peers."""
    table = Table(title=title)
    for heading in ("", "ours", "bar", "reached", f"ours − {NEAREST_PEER}", *PEERS):
        table.add_column(heading, justify="left" if heading in ("", "bar", "reached") else "right")
    for row in rows(figures):
        keys = (row.key, f"ahead_{row.key}", *(f"{peer}_{row.key}" for peer in PEERS))
        ours, *others = (cell(figures, key, row.digits) for key in keys)
        table.add_row(row.label, ours, row.bar.text if row.bar else "", row.verdict(figures), *others)
    return table


def flat(figures: Figures) -> dict[str, float]:
    """For a JSON file: each value by its key, its interval as `KEY_low` and `KEY_high`."""
    ends = {f"{key}_{end}": getattr(found, end) for key, found in figures.items() for end in ("low", "high")}
    known = {key: value for key, value in ends.items() if value is not None}
    return {key: found.value for key, found in figures.items()} | known
