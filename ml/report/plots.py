"""Figures inside the report: SVG that takes part in the page, and the figures that only the report has.

Belongs here: turning Matplotlib's SVG into an accessible inline element. Does not belong here: figures that
assets show too (`ml/plots.py`).
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ml import plots
from ml.intervals import Values
from ml.plots import BLUE, FAINT, INK, OCHRE, new_figure, render, styled

# Colours and the font become variables of the page, so that figures follow its appearance.
_VARIABLES = {
    plots.INK: "var(--ink)",
    plots.FAINT: "var(--faint)",
    plots.RULE: "var(--rule)",
    plots.BLUE: "var(--blue)",
    plots.OCHRE: "var(--ochre)",
    f"'{plots.FONT}'": "var(--sans)",
}
_PROLOGUE = re.compile(r"^.*?(?=<svg )", re.DOTALL)
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_GLOBAL_STYLE = re.compile(r"<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)
_SIZE = re.compile(r' (?:width|height)="[\d.]+pt"')
_ID = re.compile(r'(?<= id=")|(?<=url\(#)|(?<=href="#)')
_START = re.compile(r"<svg ([^>]*)>")

JITTER_SEED = 0


def inline(svg: bytes, *, name: str, title: str) -> Markup:
    """An SVG document as an element of an HTML page, titled, its ids made unique by `name`."""
    text = svg.decode()
    for superfluous, most in ((_PROLOGUE, 1), (_METADATA, 1), (_GLOBAL_STYLE, 1), (_SIZE, 2)):
        text = superfluous.sub("", text, count=most)
    text = _ID.sub(f"{name}-", text)
    for written, meant in _VARIABLES.items():
        text = text.replace(written, meant)
    heading = f'<title id="{name}">{escape(title)}</title>'
    opened = _START.sub(
        lambda tag: f'<svg role="img" aria-labelledby="{name}" {tag[1]}>{heading}', text, count=1
    )
    return Markup(opened)  # Matplotlib has escaped the texts inside; the title was ours to escape


def per_article(values: Mapping[str, Sequence[float]]) -> bytes:
    """Per-article scores of each extractor as SVG: every article a point, quartiles and median as a box."""
    names = sorted(values, key=lambda name: -float(np.median(values[name])))
    with styled():
        figure, axes = _strips(names, values)
        for height, name in enumerate(names):
            axes.boxplot(
                list(values[name]),
                positions=[height],
                orientation="horizontal",
                widths=0.62,
                whis=(5, 95),
                showfliers=False,
                showcaps=False,
                manage_ticks=False,
                medianprops={"color": INK, "linewidth": 1.8},
                boxprops={"color": INK, "linewidth": 0.8},
                whiskerprops={"color": INK, "linewidth": 0.8},
            )
        axes.set_xlabel("ROUGE-L of an article")
        return render(figure, "svg")


def repetition_strips(values: Mapping[str, Sequence[float]], threshold: float) -> bytes:
    """Repetition of each output as SVG, with the share of outputs at or beyond `threshold` (the paper's figure 3)."""
    names = list(values)
    with styled():
        figure, axes = _strips(names, values)
        axes.set_xscale("function", functions=(_signed_root, _signed_square))  # most values are near 0
        axes.set_xlim(-0.0005, 1.02)
        axes.set_xticks(_REPETITION_TICKS, [f"{tick:g}" for tick in _REPETITION_TICKS])
        axes.axvline(threshold, color=OCHRE, linewidth=1.2)
        for height, name in enumerate(names):
            share = float(np.mean(np.asarray(values[name]) >= threshold))
            axes.annotate(
                f"{share:.1%}",
                (1.02, height),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                color=OCHRE if share else FAINT,
                annotation_clip=False,
            )
        axes.set_xlabel(
            f"repeated share of an output\u2019s 5-grams; at the right, outputs from {threshold:g} up"
        )
        return render(figure, "svg")


_REPETITION_TICKS = (0, 0.01, 0.05, 0.1, 0.25, 0.5, 1)


def _signed_root(values: Values) -> Values:
    return np.sign(values) * np.sqrt(np.abs(values))


def _signed_square(values: Values) -> Values:
    return np.sign(values) * np.square(values)


def _strips(names: Sequence[str], values: Mapping[str, Sequence[float]]) -> tuple[Figure, Axes]:
    """A row of points per name, over an axis from 0 to 1."""
    figure = new_figure(0.55 + 0.34 * max(len(names), 1))
    axes = figure.subplots()
    chance = np.random.default_rng(JITTER_SEED)
    for height, name in enumerate(names):
        spread = height + chance.uniform(-0.28, 0.28, len(values[name]))
        # Points as one small picture: thousands of vector circles would weigh megabytes.
        axes.scatter(values[name], spread, s=5, color=BLUE, alpha=0.35, linewidths=0, rasterized=True)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(max(len(names), 1) - 0.5, -0.5)
    axes.set_xlim(-0.02, 1.02)
    axes.grid(axis="x")
    axes.spines["left"].set_visible(False)
    axes.tick_params(left=False)
    return figure, axes
