"""The figures that assets, MLflow runs and the report share, in one calm style.

Belongs here: numbers to PNG or SVG bytes. Does not belong here: computing the numbers, or putting a figure
into a page (`ml/report/plots.py`). Matplotlib's object interface only: `pyplot` keeps global state.
"""

import base64
import io
import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Literal, Protocol

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter
from matplotlib.typing import RcKeyType

from ml.intervals import Summary
from ml.metrics.registry import METRICS, Direction

ImageFormat = Literal["png", "svg"]

FONT: Final = "DejaVu Sans"  # ships with Matplotlib: the same figure on every machine
INK: Final = "#1d1f23"
FAINT: Final = "#6b7280"
RULE: Final = "#d9dce1"
BLUE: Final = "#3f6fa8"
OCHRE: Final = "#b7752c"

_WIDTH_IN = 7.2
_MAX_BARS = 20
_TITLE_CHARACTERS = 16


class CurvePoint(Protocol):
    """One logged value of a training curve."""

    @property
    def name(self) -> str: ...
    @property
    def step(self) -> int: ...
    @property
    def value(self) -> float: ...


def styled() -> AbstractContextManager[None]:
    """The style of every figure, for as long as one is drawn and written."""
    settings: dict[RcKeyType, Any] = {
        "font.family": FONT,
        "font.size": 9,
        "text.color": INK,
        "text.parse_math": False,  # a dollar sign in a name is a dollar sign
        "axes.labelcolor": INK,
        "axes.edgecolor": FAINT,
        "axes.linewidth": 0.7,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 9,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "xtick.color": FAINT,
        "ytick.color": FAINT,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "grid.color": RULE,
        "grid.linewidth": 0.7,
        "svg.fonttype": "none",  # text stays text: searchable, read aloud, small
        "svg.hashsalt": "news-crawler-lm",  # the same figure is the same bytes
    }
    return matplotlib.rc_context(settings)


def as_markdown_image(png: bytes, description: str = "") -> str:
    """The figure inside Markdown, as the Dagster UI shows it."""
    return f"![{description}](data:image/png;base64,{base64.b64encode(png).decode()})"


def token_histogram(
    input_tokens: Sequence[int], output_tokens: Sequence[int], *, image: ImageFormat = "png"
) -> bytes:
    """Lengths of pages and of their articles in tokens, over a logarithmic axis (the paper's figure 2)."""
    with styled():
        figure = new_figure(2.6)
        axes = figure.subplots()
        lengths = [max(count, 1) for count in (*input_tokens, *output_tokens)] or [1]  # no logarithm of 0
        bins = np.geomspace(min(lengths), max(lengths) * 1.05, 50).tolist()
        _histogram(axes, output_tokens, bins, label="articles", colour=OCHRE, label_side="right")
        _histogram(axes, input_tokens, bins, label="pages", colour=BLUE, label_side="left")
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.set(xlabel="tokens", ylabel="pages")
        axes.margins(y=0.25)
        return render(figure, image)


def _histogram(
    axes: Axes,
    tokens: Sequence[int],
    bins: Sequence[float],
    *,
    label: str,
    colour: str,
    label_side: Literal["left", "right"],
) -> None:
    """Bars with their name and median beside the peak, so that two of them do not meet."""
    if len(tokens) == 0:
        return
    lengths = [max(count, 1) for count in tokens]
    counts, _, _ = axes.hist(lengths, bins=bins, color=colour, alpha=0.75, linewidth=0)
    median = float(np.median(tokens))
    axes.annotate(
        f"{label}, median {median:,.0f}",
        (median, float(np.max(counts))),
        xytext=(0, 5),
        textcoords="offset points",
        ha=label_side,
        color=colour,
        fontweight="bold",
    )


def language_bars(counts: Mapping[str, int], *, image: ImageFormat = "png") -> bytes:
    """Pages per language, most frequent first (the paper's table 2)."""
    return _bars(counts, highlighted=set(counts), image=image)


def reason_bars(counts: Mapping[str, int], *, image: ImageFormat = "png") -> bytes:
    """Pages per outcome: `kept` in colour, every reason for rejection in grey."""
    return _bars(counts, highlighted={"kept"}, image=image)


def _bars(counts: Mapping[str, int], *, highlighted: set[str], image: ImageFormat) -> bytes:
    rows = _largest(counts)
    with styled():
        figure = new_figure(0.35 + 0.24 * max(len(rows), 1))
        axes = figure.subplots()
        names = [name.replace("_", " ") for name, _ in rows]
        colours = [BLUE if name in highlighted else FAINT for name, _ in rows]
        bars = axes.barh(names, [count for _, count in rows], color=colours, height=0.68)
        axes.bar_label(bars, labels=[f"{count:,}" for _, count in rows], padding=4, color=INK)
        axes.invert_yaxis()
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(left=False, bottom=False, labelbottom=False)
        axes.margins(x=0.1, y=0.02)
        return render(figure, image)


def _largest(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """The largest counts in order; what does not fit is one last row, so that nothing is lost."""
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    if len(rows) <= _MAX_BARS:
        return rows
    shown, rest = rows[: _MAX_BARS - 1], rows[_MAX_BARS - 1 :]
    return [*shown, (f"{len(rest)} others", sum(count for _, count in rest))]


def training_curves(points: Sequence[CurvePoint], *, image: ImageFormat = "png") -> bytes:
    """One small panel per logged quantity, over the training steps."""
    curves: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for point in points:
        curves[point.name].append((point.step, point.value))
    with styled():
        columns = min(3, max(1, len(curves)))
        rows = max(1, -(-len(curves) // columns))
        figure = new_figure(1.9 * rows)
        panels = figure.subplots(rows, columns, squeeze=False).flat
        for axes in panels:
            axes.set_visible(False)
        for axes, (name, values) in zip(panels.base.flat, curves.items(), strict=False):
            _curve(axes, name, sorted(values))
        return render(figure, image)


def _curve(axes: Axes, name: str, values: Sequence[tuple[int, float]]) -> None:
    steps, heights = zip(*values, strict=True)
    axes.set_visible(True)
    axes.plot(steps, heights, color=BLUE, linewidth=1.2, marker="o" if len(values) < 15 else "", markersize=3)
    axes.set_title(name.replace("_", " "))
    axes.set_xlabel("step")
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.grid(axis="y")


_INTERVAL_METRICS = ("rouge_l", "bleu", "levenshtein", "groundedness")


def score_intervals(
    summaries: Sequence[Summary],
    *,
    metrics: Sequence[str] = _INTERVAL_METRICS,
    image: ImageFormat = "png",
) -> bytes:
    """Means with their 95% intervals, one panel per metric, extractors in the order of the first metric."""
    found = {(row.metric, row.extractor): row for row in summaries}
    extractors = ranked(summaries, metrics[0])
    with styled():
        figure = new_figure(0.85 + 0.26 * max(len(extractors), 1))
        panels = figure.subplots(1, len(metrics), sharey=True, squeeze=False).flat
        for axes, metric in zip(panels, metrics, strict=True):
            _intervals(axes, metric, [found.get((metric, extractor)) for extractor in extractors])
        first = figure.axes[0]
        first.set_yticks(range(len(extractors)), extractors)
        first.set_ylim(max(len(extractors), 1) - 0.5, -0.5)
        return render(figure, image)


def ranked(summaries: Sequence[Summary], metric: str) -> list[str]:
    """Extractors by their mean, highest first."""
    names = sorted({row.extractor for row in summaries})
    means = {row.extractor: row.mean for row in summaries if row.metric == metric}
    return sorted(names, key=lambda name: -means.get(name, 0.0))


def _intervals(axes: Axes, metric: str, rows: Sequence[Summary | None]) -> None:
    for height, row in enumerate(rows):
        if row is None:
            continue
        if row.low is not None and row.high is not None:
            axes.plot([row.low, row.high], [height, height], color=BLUE, linewidth=1.6, alpha=0.6)
        axes.plot(row.mean, height, "o", color=BLUE, markersize=4.5)
    arrow = "" if METRICS[metric].better is Direction.HIGHER else " ↓"
    axes.set_title(textwrap.fill(f"{METRICS[metric].label}{arrow}", _TITLE_CHARACTERS), fontsize=8)
    axes.set_xlim(*_limits([row for row in rows if row]))
    axes.xaxis.set_major_locator(MaxNLocator(3))
    axes.grid(axis="x")
    axes.spines["left"].set_visible(False)
    axes.tick_params(left=False)


def _limits(rows: Sequence[Summary]) -> tuple[float, float]:
    """The part of the axis that holds every interval, for most extractors are close; at least a tenth of it."""
    ends = [end for row in rows for end in (row.mean, row.low, row.high) if end is not None] or [0.0, 1.0]
    centre, half = (min(ends) + max(ends)) / 2, max(max(ends) - min(ends), 0.1) / 2
    return centre - 1.1 * half, centre + 1.1 * half


def new_figure(height_in: float) -> Figure:
    """An empty figure of the common width."""
    return Figure(figsize=(_WIDTH_IN, height_in), layout="constrained")


def render(figure: Figure, image: ImageFormat) -> bytes:
    """The finished figure as bytes; the same numbers give the same bytes."""
    target = io.BytesIO()
    metadata = {"Date": None} if image == "svg" else {"Software": None}
    figure.savefig(target, format=image, dpi=160, metadata=metadata, transparent=image == "svg")
    return target.getvalue()
