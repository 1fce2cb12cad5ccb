"""The report's input as the templates read it.

Belongs here: which tables, figures and sentences there are. Does not belong here: how one is made
(`score_tables.py`, `fact_tables.py`, `plots.py`, `comparisons.py`) or markup (`templates/`).
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from markupsafe import Markup

from ml.metrics.registry import METRICS
from ml.plots import language_bars, score_intervals, token_histogram, training_curves
from ml.report import fact_tables
from ml.report.comparisons import HEADLINE, JSON_HEADLINE, leader, statements
from ml.report.grid import Grid
from ml.report.inputs import CorpusFacts, ReportInput
from ml.report.plots import inline, per_article, repetition_strips
from ml.report.runs import run_facts
from ml.report.score_tables import GOLD_KEYS, ScoreTables
from ml.report.worst import WorstPage, worst_pages

TINY_PREFIX = "tiny"

REPETITION = "repetition_paper"
DEGENERATE = 0.1
"""The paper takes an output whose repetition reaches this for degenerate."""


class View:
    """Tables, figures and sentences of a report; what does not apply is None or empty."""

    def __init__(self, report: ReportInput) -> None:
        self.report = report
        self._tables = ScoreTables(report, report.kinds)
        self.extractors = self._tables.extractors
        self.headline = METRICS[HEADLINE].label

    @property
    def pages(self) -> int:
        """Pages in the test set."""
        return len(self.report.references)

    @cached_property
    def publishers(self) -> int:
        """Publishers in the test set."""
        return len({reference.publisher for reference in self.report.references.values()})

    @property
    def composition(self) -> str:
        """The extractors by kind, in words."""
        counts = ((len(names), kind) for kind, names in self._tables.kinds.items() if names)
        return (
            ", ".join(f"{count} {kind if count == 1 else kind.plural}" for count, kind in counts)
            or "no extractor"
        )

    @property
    def has_tiny_model(self) -> bool:
        """Whether a demonstration model is among the extractors, whose scores need an explanation."""
        return any(name.startswith(TINY_PREFIX) for name in self.extractors)

    @cached_property
    def statements(self) -> Sequence[str]:
        """What the scores say, in a sentence for the text and one for the JSON."""
        return statements(self.report)

    @cached_property
    def differences(self) -> Grid | None:
        """Everybody compared with the leader; None where there is nobody else."""
        name = leader(self.report, HEADLINE)
        return self._tables.differences(name) if name and len(self.extractors) > 1 else None

    @cached_property
    def text_tables(self) -> Sequence[Grid]:
        """Scores of the plaintext."""
        return self._tables.text(), self._tables.text_paper()

    @cached_property
    def json_tables(self) -> Sequence[Grid]:
        """Scores of the JSON; none where nobody writes it."""
        if not self._writes_json:
            return ()
        return self._tables.json(), self._tables.keys(), self._tables.json_paper()

    @property
    def _writes_json(self) -> bool:
        return any(row.metric == JSON_HEADLINE for row in self.report.summaries)

    @cached_property
    def by_language(self) -> Grid:
        """Headline scores by language."""
        return fact_tables.by_language(self.report.scores, self.extractors)

    @cached_property
    def by_publisher(self) -> Grid:
        """Headline scores by publisher."""
        return fact_tables.by_publisher(self.report.scores, self.extractors)

    @cached_property
    def by_key(self) -> Grid | None:
        """F1 by key; None where nobody writes JSON."""
        return self._tables.key_heat() if self._writes_json else None

    @cached_property
    def runs(self) -> Grid:
        """Speed and cost."""
        facts = run_facts(self.report.predictions, self.report.prices)
        return fact_tables.runs(facts, self._tables.kinds, self.report.prices)

    @cached_property
    def gold_tables(self) -> Sequence[Grid]:
        """Scores on the external gold, if there is any."""
        gold = self.report.gold
        if gold is None:
            return ()
        tables = ScoreTables(gold, self.report.kinds)
        found = (tables.text(), tables.keys(GOLD_KEYS))
        return [replace(table, name=f"{table.name}: {gold.name}") for table in found if table.groups]

    @cached_property
    def gold_statements(self) -> Sequence[str]:
        """What the scores on the external gold say; people annotate too few keys to speak of all."""
        return statements(self.report.gold, [HEADLINE]) if self.report.gold else ()

    @cached_property
    def worst(self) -> Mapping[str, Sequence[WorstPage]]:
        """The worst answers of every extractor."""
        return worst_pages(self.report)

    @cached_property
    def failures(self) -> Mapping[str, Sequence[tuple[str, int]]]:
        """Errors of every extractor with the pages that each cost, most frequent first."""
        counts: dict[str, Counter[str]] = {name: Counter() for name in self.extractors}
        for row in self.report.predictions:
            if row.error is not None and row.extractor in counts:
                counts[row.extractor][row.error] += 1
        return {name: count.most_common() for name, count in counts.items()}

    @property
    def meanings(self) -> Mapping[str, str]:
        """What metrics measure, by the labels of those that measure alike."""
        labels: dict[str, list[str]] = defaultdict(list)
        for metric in METRICS.values():
            labels[f"{metric.description}; {metric.better} is better"].append(metric.label)
        return {", ".join(alike): meaning for meaning, alike in labels.items()}

    @cached_property
    def corpus_tables(self) -> Sequence[Grid]:
        """Outcomes and splits."""
        facts = self.report.corpus
        if facts is None:
            return ()
        tables = (fact_tables.outcomes(facts), fact_tables.splits(facts))
        return [table for table in tables if table.rows]

    @cached_property
    def corpus_languages(self) -> Grid | None:
        """Kept pages by language."""
        found = fact_tables.languages(self.report.corpus) if self.report.corpus else None
        return found if found and found.rows else None

    @property
    def markdown_tables(self) -> Sequence[Grid]:
        """What the Markdown shows of the test set and the corpus: all tables but the long ones."""
        tables = (
            self.differences,
            *self.text_tables,
            *self.json_tables,
            self.by_language,
            self.by_key,
            self.runs,
        )
        return [table for table in (*tables, *self.corpus_tables) if table]

    def label(self, metric: str) -> str:
        """A metric's name; what is unknown here, as it is stored."""
        return METRICS[metric].label if metric in METRICS else metric

    def intervals_figure(self) -> Markup:
        """Means with their intervals."""
        svg = score_intervals(self.report.summaries, image="svg")
        return inline(svg, name="intervals", title="Mean scores with their 95% intervals")

    def articles_figure(self) -> Markup:
        """The headline score of every article."""
        svg = per_article(self._values(HEADLINE))
        return inline(svg, name="articles", title=f"{self.headline} of every article, by extractor")

    def repetition_figure(self) -> Markup:
        """The paper's figure 3."""
        svg = repetition_strips(self._values(REPETITION), DEGENERATE)
        return inline(svg, name="repetition", title="Repetition of every output, by extractor")

    @property
    def has_repetition(self) -> bool:
        """Whether there is anything for that figure."""
        return bool(self._values(REPETITION))

    def tokens_figure(self, facts: CorpusFacts) -> Markup:
        """The paper's figure 2."""
        svg = token_histogram(facts.input_tokens, facts.output_tokens, image="svg")
        return inline(svg, name="tokens", title="Lengths of pages and articles in tokens")

    def languages_figure(self, facts: CorpusFacts) -> Markup:
        """Kept pages by language."""
        svg = language_bars(facts.languages, image="svg")
        return inline(svg, name="languages", title="Kept pages by language")

    def training_figure(self, number: int, experiment: str) -> Markup:
        """The curves of one training; the paper's figure 4."""
        svg = training_curves(self.report.training[experiment], image="svg")
        return inline(svg, name=f"training-{number}", title=f"Training curves of {experiment}")

    def _values(self, metric: str) -> dict[str, list[float]]:
        """Per-article scores by extractor, in the order of the tables."""
        values: dict[str, list[float]] = defaultdict(list)
        for row in self.report.scores:
            if row.metric == metric and row.value is not None:
                values[row.extractor].append(row.value)
        return {name: values[name] for name in self.extractors if name in values}
