"""A table as both templates read it, whatever it shows.

Belongs here: rows, cells and how numbers are written in them. Does not belong here: which tables there are
(`score_tables.py`, `fact_tables.py`) or markup (`templates/`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ml.report.inputs import ExtractorKind

_HEAT_STEPS = 10


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A value in words, what stands beneath it, and how it is set off."""

    value: str
    beneath: Sequence[str] = ()
    is_best: bool = False
    heat: int | None = None  # 0 to 10: the lower the value, the warmer; None for no colour


@dataclass(frozen=True, kw_only=True)
class Row:
    """A named row; a cell that does not apply is None."""

    name: str
    cells: Sequence[Cell | None]


@dataclass(frozen=True, kw_only=True)
class Group:
    """Rows under a heading of their own; an empty title is no heading."""

    title: str = ""
    rows: Sequence[Row]


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table: `name` is what it is called, `caption` what a reader must know to read it."""

    name: str
    caption: str
    heading: str  # of the first column
    columns: Sequence[str]
    groups: Sequence[Group]
    notes: Sequence[str] = ()

    @property
    def rows(self) -> int:
        """Rows of all groups."""
        return sum(len(group.rows) for group in self.groups)


def grouped(
    kinds: Mapping[ExtractorKind, Sequence[str]], cells: Callable[[str], Sequence[Cell | None]]
) -> list[Group]:
    """A row per extractor, by kind, without the extractors to which nothing applies."""
    rows = {
        kind: [Row(name=name, cells=found) for name in names if any(found := cells(name))]
        for kind, names in kinds.items()
    }
    return [Group(title=kind.plural.capitalize(), rows=found) for kind, found in rows.items() if found]


def score_text(value: float) -> str:
    """A score to three digits; large perplexities without them."""
    return f"{value:.3f}" if abs(value) < 100 else f"{value:,.0f}"


def signed_text(value: float) -> str:
    """A difference with its sign, the minus as wide as the plus."""
    return f"{value:+.3f}".replace("-", "−")


def interval_text(
    low: float | None,
    high: float | None,
    *,
    written: Callable[[float], str] = score_text,
    between: str = "–",
) -> Sequence[str]:
    """The interval in words; nothing where there is none."""
    return () if low is None or high is None else (f"{written(low)}{between}{written(high)}",)


def counted(value: float | None) -> Cell | None:
    """A whole number with separators."""
    return None if value is None else Cell(value=f"{value:,.0f}")


def heated(value: float | None) -> Cell | None:
    """A score from 0 to 1, coloured."""
    if value is None:
        return None
    return Cell(value=score_text(value), heat=min(_HEAT_STEPS, int(_HEAT_STEPS * (1 - value))))
