"""The tables of scores: which metrics stand in which, extractors grouped by kind, what is set in bold.

Belongs here: arranging summaries and comparisons. Does not belong here: tables of other facts
(`fact_tables.py`).
"""

from collections.abc import Iterable, Mapping, Sequence

from ml.intervals import Difference
from ml.metrics.registry import FIELD_LABELS, METRICS, Direction
from ml.plots import ranked
from ml.report.comparisons import COMPARED, HEADLINE, JSON_HEADLINE, Verdict, compare_with, verdict
from ml.report.grid import Cell, Grid, Group, Row, grouped, heated, interval_text, score_text, signed_text
from ml.report.inputs import EvaluatedSet, ExtractorKind
from ml.report.published import PAPER, PUBLISHED, PublishedValue

TEXT = (
    "rouge_l",
    "rouge_lsum",
    "bleu",
    "meteor",
    "shingle_f1",
    "shingle_precision",
    "shingle_recall",
    "groundedness",
    "repetition",
)
TEXT_PAPER = (
    "rouge_l_paper",
    "rouge_lsum_paper",
    "bleu_paper",
    "meteor_paper",
    "levenshtein",
    "jaro_winkler",
    "repetition_paper",
    "repetition_paper_words",
    "perplexity",
)
JSON = ("json_validity", "schema_validity", "fields_f1", "fields_precision", "fields_recall")
JSON_PAPER = (
    "json_rouge_l_paper",
    "json_bleu_paper",
    "json_meteor_paper",
    "json_levenshtein",
    "json_jaro_winkler",
    "json_validity_paper",
    "fields_f1_paper",
    "fields_precision_paper",
    "fields_recall_paper",
)
KEYS = tuple(FIELD_LABELS)
GOLD_KEYS = ("title", "authors", "date_day")

_MEANS = "Means over pages; beneath, 95% intervals."
_KEYS = "F1 over all pages; beneath, its 95% interval, precision (P) and recall (R)."
_MARKS = (
    "Bold: better than every other extractor on the same pages, the interval of the paired difference excluding "
    "zero. ↓ lower is better. A dash: does not apply."
)
_PUBLISHED = (
    "Published values are the paper’s own, on other pages and another split: not comparable digit by digit. "
    f"Source: {PAPER}."
)


class ScoreTables:
    """The tables of scores on one set of pages."""

    def __init__(self, scored: EvaluatedSet, kinds: Mapping[str, ExtractorKind]) -> None:
        self._scored = scored
        self._summaries = {(row.extractor, row.metric): row for row in scored.summaries}
        self.kinds = _by_kind(scored, kinds)

    @property
    def extractors(self) -> list[str]:
        """All of them in the order of the tables."""
        return [name for names in self.kinds.values() for name in names]

    def text(self) -> Grid:
        """Metrics of the plaintext that are fair to every script."""
        return self._scores("Plaintext scores", f"{_MEANS} {_MARKS}", TEXT)

    def text_paper(self) -> Grid:
        """The paper's tables 3 and 6."""
        return self._paper("Plaintext as in the paper (tables 3 and 6)", TEXT_PAPER)

    def json(self) -> Grid:
        """Validity, and all keys together."""
        return self._scores("JSON scores", f"{_MEANS} {_MARKS}", JSON)

    def json_paper(self) -> Grid:
        """The paper's tables 4 and 5."""
        return self._paper("JSON as in the paper (tables 4 and 5)", JSON_PAPER)

    def keys(self, keys: Sequence[str] = KEYS) -> Grid:
        """F1 of every key; beneath, its interval, precision and recall."""
        known = [key for key in keys if self._is_known(f"{key}_f1")]

        def cells(extractor: str) -> list[Cell | None]:
            return [
                self._cell(extractor, f"{key}_f1", self._precision_recall(extractor, key)) for key in known
            ]

        return Grid(
            name="Key by key",
            caption=f"{_KEYS} {_MARKS}",
            heading="Extractor",
            columns=[FIELD_LABELS[key] for key in known],
            groups=grouped(self.kinds, cells),
            notes=_absent_note(FIELD_LABELS[key] for key in keys if key not in known),
        )

    def key_heat(self) -> Grid:
        """F1 of every key by extractor that writes JSON, coloured."""
        names = [name for name in self.extractors if (name, JSON_HEADLINE) in self._summaries]
        rows = [
            Row(name=label, cells=[heated(self._mean(name, f"{key}_f1")) for name in names])
            for key, label in FIELD_LABELS.items()
            if self._is_known(f"{key}_f1")
        ]
        caption = "F1 by key, the lower the warmer."
        return Grid(
            name="F1 by key", caption=caption, heading="Key", columns=names, groups=[Group(rows=rows)]
        )

    def differences(self, leader: str) -> Grid:
        """Every other extractor minus `leader`, by the metrics that both have."""
        found = {
            (row.first, metric): row
            for metric in COMPARED
            for row in compare_with(self._scored, leader, metric)
        }
        metrics = [metric for metric in COMPARED if any(key[1] == metric for key in found)]
        return Grid(
            name=f"Compared with {leader}",
            caption=f"Mean of each extractor minus that of {leader} on the same pages; beneath, the 95% interval of "
            f"the difference and what it says. Bold: better.",
            heading="Extractor",
            columns=[column_label(metric) for metric in metrics],
            groups=grouped(
                self.kinds, lambda name: [_difference_cell(found.get((name, metric))) for metric in metrics]
            ),
        )

    def _paper(self, name: str, metrics: Sequence[str]) -> Grid:
        quoted = [row for row in PUBLISHED if row.metric in metrics]
        return self._scores(name, f"{_MEANS} {_MARKS} {_PUBLISHED}", metrics, quoted)

    def _scores(
        self, name: str, caption: str, metrics: Sequence[str], quoted: Sequence[PublishedValue] = ()
    ) -> Grid:
        published = {row.metric for row in quoted}
        shown = [metric for metric in metrics if metric in published or self._is_known(metric)]
        absent = (column_label(metric) for metric in metrics if metric not in shown)
        ours = grouped(self.kinds, lambda extractor: [self._cell(extractor, metric) for metric in shown])
        return Grid(
            name=name,
            caption=caption,
            heading="Extractor",
            columns=[column_label(metric) for metric in shown],
            groups=[*ours, *_published_group(quoted, shown)],
            notes=_absent_note(absent),
        )

    def _cell(self, extractor: str, metric: str, beneath: Sequence[str] = ()) -> Cell | None:
        summary = self._summaries.get((extractor, metric))
        if summary is None:
            return None
        return Cell(
            value=score_text(summary.mean),
            beneath=(*interval_text(summary.low, summary.high), *beneath),
            is_best=self._scored.best.get(metric) == extractor,
        )

    def _precision_recall(self, extractor: str, key: str) -> Sequence[str]:
        precision, recall = (self._mean(extractor, f"{key}_{part}") for part in ("precision", "recall"))
        written = (
            (letter, value) for letter, value in (("P", precision), ("R", recall)) if value is not None
        )
        return (" ".join(f"{letter} {value:.2f}" for letter, value in written),)

    def _mean(self, extractor: str, metric: str) -> float | None:
        summary = self._summaries.get((extractor, metric))
        return summary.mean if summary else None

    def _is_known(self, metric: str) -> bool:
        return any((name, metric) in self._summaries for name in self.extractors)


def column_label(metric: str) -> str:
    """The metric under a heading that says task and protocol; an arrow down where lower is better."""
    arrow = "" if METRICS[metric].better is Direction.HIGHER else "\N{NO-BREAK SPACE}↓"
    return METRICS[metric].label.replace(" (paper)", "").removeprefix("JSON ") + arrow


def _by_kind(
    scored: EvaluatedSet, kinds: Mapping[str, ExtractorKind]
) -> Mapping[ExtractorKind, Sequence[str]]:
    """Extractors of each kind, by the headline metric, best first."""
    names = ranked(scored.summaries, HEADLINE)
    return {kind: [name for name in names if kinds[name] is kind] for kind in ExtractorKind}


def _published_group(quoted: Sequence[PublishedValue], metrics: Sequence[str]) -> list[Group]:
    found = {
        (row.system, row.metric): Cell(
            value=score_text(row.value), beneath=(row.counts,) if row.counts else ()
        )
        for row in quoted
    }
    systems = dict.fromkeys(row.system for row in quoted)
    rows = [Row(name=name, cells=[found.get((name, metric)) for metric in metrics]) for name in systems]
    return [Group(title="Published in the paper", rows=rows)] if rows else []


def _difference_cell(row: Difference | None) -> Cell | None:
    if row is None:
        return None
    found = verdict(row)
    return Cell(
        value=signed_text(row.mean),
        beneath=(*interval_text(row.low, row.high, written=signed_text, between=" to "), found.value),
        is_best=found is Verdict.BETTER,
    )


def _absent_note(labels: Iterable[str]) -> Sequence[str]:
    names = ", ".join(labels)
    return (f"Without a value for any extractor: {names}.",) if names else ()
