"""The evaluation report: what a person reads to decide on a model, as one HTML file or as Markdown.

Belongs here: what the report is given, and arranging it into tables for the templates. Does not belong here:
computing scores (`ml/evaluation.py`), drawing (`plots.py`), or markup (`templates/`).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import groupby
from pathlib import Path
from statistics import fmean, median

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ml.evaluation import METRICS, Direction, Metric, Protocol, Reference, Summary, clearly_best
from ml.plots import (
    CurvePoint,
    language_bars,
    ranked,
    score_intervals,
    token_histogram,
    training_curves,
)
from ml.records import Prediction, Score
from ml.report.difference import Piece, side_by_side
from ml.report.plots import inline, per_article

HEADLINE = "rouge_l"
"""The metric that orders extractors, breaks down by publisher and language, and finds the worst pages."""

TINY_PREFIX = "tiny"

_PROTOCOL_TITLES = {
    Protocol.UNICODE: "Every script",
    Protocol.PAPER: "As in the paper",
    Protocol.BOTH: "Characters",
}


@dataclass(frozen=True, kw_only=True)
class SplitSize:
    """One split as it stands."""

    split: str
    publishers: int
    families: int
    pages: int


@dataclass(frozen=True, kw_only=True)
class CorpusFacts:
    """What the corpus holds, and what it turned down."""

    outcomes: Mapping[str, int]  # pages by `kept` or the reason for rejection
    languages: Mapping[str, int]  # kept pages
    input_tokens: Sequence[int] = ()  # of each kept page
    output_tokens: Sequence[int] = ()  # of each kept article
    splits: Sequence[SplitSize] = ()


@dataclass(frozen=True, kw_only=True)
class ReportInput:
    """Everything that the report shows; nothing is looked up elsewhere."""

    title: str
    generated: datetime
    provenance: Mapping[str, str]  # what it was computed from, in the order shown
    summaries: Sequence[Summary]
    scores: Sequence[Score]
    predictions: Sequence[Prediction]
    references: Mapping[str, Reference]  # by page id
    corpus: CorpusFacts | None = None
    training: Mapping[str, Sequence[CurvePoint]] = field(default_factory=dict)  # curves by experiment
    notes: Sequence[str] = ()
    worst_pages: int = 3  # shown of each extractor


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A mean, its interval in words, and whether it is clearly the best of its column."""

    mean: str
    interval: str
    is_best: bool


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """How an extractor's run went."""

    extractor: str
    pages: int
    publishers: int
    failures: int
    truncated: int
    median_seconds: float


@dataclass(frozen=True, kw_only=True)
class GroupRow:
    """Mean headline score of every extractor over the pages of one publisher or language."""

    name: str
    pages: int
    means: Sequence[float | None]  # in the order of `View.extractors`


@dataclass(frozen=True, kw_only=True)
class WorstPage:
    """A page that an extractor got wrong, with both texts."""

    prediction: Prediction
    score: float
    found: Sequence[Piece]
    wanted: Sequence[Piece]


class View:
    """The report's input as the templates read it."""

    def __init__(self, report: ReportInput) -> None:
        self.report = report
        self.metrics: Mapping[str, Metric] = METRICS
        self.headline = METRICS[HEADLINE].label
        self.extractors = ranked(report.summaries, HEADLINE)
        self._headline_scores = [row for row in report.scores if row.metric == HEADLINE]

    @property
    def pages(self) -> int:
        """Pages in the test set."""
        return len(self.report.references)

    @cached_property
    def publishers(self) -> int:
        """Publishers in the test set."""
        return len({reference.publisher for reference in self.report.references.values()})

    @property
    def has_tiny_model(self) -> bool:
        """Whether a demonstration model is among the extractors, whose scores need an explanation."""
        return any(name.startswith(TINY_PREFIX) for name in self.extractors)

    @cached_property
    def column_groups(self) -> list[tuple[str, int]]:
        """Titles over the score columns, with the columns that each spans."""
        protocols = groupby(METRICS.values(), key=lambda metric: metric.protocol)
        return [(_PROTOCOL_TITLES[protocol], len(list(metrics))) for protocol, metrics in protocols]

    def column_label(self, metric: Metric) -> str:
        """The column's name under its group's title; an arrow down where lower is better."""
        arrow = "" if metric.better is Direction.HIGHER else " ↓"
        return metric.label.removesuffix(" (paper)") + arrow

    @cached_property
    def score_rows(self) -> list[tuple[str, list[Cell | None]]]:
        """A cell per extractor and metric; None where the metric does not apply."""
        found = {(row.extractor, row.metric): row for row in self.report.summaries}
        best = {metric: clearly_best(self.report.scores, metric) for metric in METRICS}

        def cell(extractor: str, metric: str) -> Cell | None:
            summary = found.get((extractor, metric))
            return _cell(summary, is_best=best[metric] == extractor) if summary else None

        return [(extractor, [cell(extractor, metric) for metric in METRICS]) for extractor in self.extractors]

    @cached_property
    def runs(self) -> list[RunFacts]:
        """How each extractor's run went."""
        by_extractor: dict[str, list[Prediction]] = defaultdict(list)
        for row in self.report.predictions:
            by_extractor[row.extractor].append(row)
        return [_run_facts(name, by_extractor[name]) for name in self.extractors if by_extractor[name]]

    @cached_property
    def by_publisher(self) -> list[GroupRow]:
        """Publishers, hardest first."""
        rows = self._group_rows(lambda row: row.publisher)
        return sorted(rows, key=lambda row: (fmean(mean or 0.0 for mean in row.means), row.name))

    @cached_property
    def by_language(self) -> list[GroupRow]:
        """Languages, most pages first."""
        rows = self._group_rows(lambda row: row.language or "unknown")
        return sorted(rows, key=lambda row: (-row.pages, row.name))

    def _group_rows(self, group: Callable[[Score], str]) -> list[GroupRow]:
        values: dict[tuple[str, str], list[float]] = defaultdict(list)
        pages: dict[str, set[str]] = defaultdict(set)
        for row in self._headline_scores:
            pages[group(row)].add(row.page_id)
            if row.value is not None:
                values[group(row), row.extractor].append(row.value)
        return [
            GroupRow(name=name, pages=len(ids), means=[_mean(values[name, each]) for each in self.extractors])
            for name, ids in pages.items()
        ]

    @cached_property
    def worst(self) -> list[tuple[str, list[WorstPage]]]:
        """The pages with the lowest headline score, by extractor."""
        predictions = {(row.extractor, row.page_id): row for row in self.report.predictions}
        ranked_scores = sorted(self._headline_scores, key=lambda row: (row.value or 0.0, row.page_id))

        def worst_of(extractor: str) -> list[WorstPage]:
            rows = [row for row in ranked_scores if row.extractor == extractor][: self.report.worst_pages]
            return [self._worst_page(predictions[extractor, row.page_id], row) for row in rows]

        return [(extractor, worst_of(extractor)) for extractor in self.extractors]

    def _worst_page(self, prediction: Prediction, score: Score) -> WorstPage:
        found, wanted = side_by_side(prediction.text, self.report.references[score.page_id].plaintext)
        return WorstPage(prediction=prediction, score=score.value or 0.0, found=found, wanted=wanted)

    @property
    def corpus_read(self) -> int:
        """Pages read into the corpus, kept or not."""
        return sum(self.report.corpus.outcomes.values()) if self.report.corpus else 0

    @property
    def outcomes(self) -> list[tuple[str, int]]:
        """Pages by outcome, most frequent first."""
        return Counter(self.report.corpus.outcomes).most_common() if self.report.corpus else []

    @property
    def languages(self) -> list[tuple[str, int]]:
        """Kept pages by language, most frequent first."""
        return Counter(self.report.corpus.languages).most_common() if self.report.corpus else []

    def figure(self, name: str) -> Markup:
        """One of the figures as an inline element."""
        return _FIGURES[name](self)

    def training_figure(self, number: int, experiment: str) -> Markup:
        """The curves of one training."""
        svg = training_curves(self.report.training[experiment], image="svg")
        return inline(svg, name=f"training-{number}", title=f"Training curves of {experiment}")

    def values_by_extractor(self) -> dict[str, list[float]]:
        """Per-article headline scores."""
        values: dict[str, list[float]] = {name: [] for name in self.extractors}
        for row in self._headline_scores:
            if row.value is not None:
                values[row.extractor].append(row.value)
        return {name: found for name, found in values.items() if found}


def _intervals_figure(view: View) -> Markup:
    svg = score_intervals(view.report.summaries, image="svg")
    return inline(svg, name="intervals", title="Mean scores with their 95% intervals")


def _articles_figure(view: View) -> Markup:
    svg = per_article(view.values_by_extractor())
    return inline(svg, name="articles", title=f"{view.headline} of every article, by extractor")


def _facts(view: View) -> CorpusFacts:
    if view.report.corpus is None:
        raise ValueError("the report was given no corpus facts, so it has no corpus figures")
    return view.report.corpus


def _languages_figure(view: View) -> Markup:
    svg = language_bars(_facts(view).languages, image="svg")
    return inline(svg, name="languages", title="Kept pages by language")


def _tokens_figure(view: View) -> Markup:
    facts = _facts(view)
    svg = token_histogram(facts.input_tokens, facts.output_tokens, image="svg")
    return inline(svg, name="tokens", title="Lengths of pages and articles in tokens")


_FIGURES: dict[str, Callable[[View], Markup]] = {
    "intervals": _intervals_figure,
    "articles": _articles_figure,
    "languages": _languages_figure,
    "tokens": _tokens_figure,
}


def _cell(summary: Summary, *, is_best: bool) -> Cell:
    known = summary.low is not None and summary.high is not None
    interval = f"{summary.low:.3f}–{summary.high:.3f}" if known else "no interval"
    return Cell(mean=f"{summary.mean:.3f}", interval=interval, is_best=is_best)


def _run_facts(extractor: str, rows: Sequence[Prediction]) -> RunFacts:
    return RunFacts(
        extractor=extractor,
        pages=len(rows),
        publishers=len({row.publisher for row in rows}),
        failures=sum(row.error is not None for row in rows),
        truncated=sum(row.truncated for row in rows),
        median_seconds=median(row.seconds for row in rows),
    )


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return fmean(found) if found else None


_TEMPLATES = Path(__file__).parent / "templates"


def _environment(*, autoescape: bool) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["table_text"] = _table_text
    return environment


def _table_text(value: object) -> str:
    """Text that stays inside its cell of a Markdown table, and is no markup."""
    text = str(value).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")
    return " ".join(text.split())


def render_html(report: ReportInput) -> str:
    """One self-contained file: no script, no network, every text of a page or model escaped."""
    style = Markup((_TEMPLATES / "report.css").read_text(encoding="utf-8"))
    template = _environment(autoescape=True).get_template("report.html.jinja")
    return template.render(view=View(report), report=report, style=style)


def render_markdown(report: ReportInput) -> str:
    """The tables alone, for MLflow and the Dagster UI."""
    template = _environment(autoescape=False).get_template("report.md.jinja")
    return template.render(view=View(report), report=report)
