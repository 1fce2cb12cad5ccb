"""What may be said of extractors compared on the same pages.

Belongs here: verdicts from paired differences, and the sentences that the report opens with. Does not belong
here: the bootstrap (`ml/intervals.py`). Nothing is called better or worse unless an interval excludes zero.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import combinations

from ml.intervals import Difference
from ml.metrics.registry import METRICS
from ml.report.grid import interval_text
from ml.report.inputs import EvaluatedSet

HEADLINE = "rouge_l"
"""The metric that orders extractors, breaks down by publisher and language, and finds the worst pages."""

JSON_HEADLINE = "fields_f1"

COMPARED = (HEADLINE, "bleu", "shingle_f1", "groundedness", "json_validity", JSON_HEADLINE)
"""The metrics by which every two extractors are compared."""

_NAMED_RIVALS = 3
_SUBJECTS = {HEADLINE: ("Plaintext", METRICS[HEADLINE].label), JSON_HEADLINE: ("JSON", "F1 of all keys")}


class Verdict(StrEnum):
    """What the interval of a difference says of the first extractor."""

    BETTER = "better"
    WORSE = "worse"
    OPEN = "no difference shown"


def verdict(difference: Difference) -> Verdict:
    """Better or worse only where the whole interval lies on one side of zero."""
    if difference.first_is_better:
        return Verdict.BETTER
    return Verdict.WORSE if difference.first_is_worse else Verdict.OPEN


def compare_all(scored: EvaluatedSet, metrics: Sequence[str] = COMPARED) -> Iterator[Difference]:
    """Every two extractors by every metric that applies to both."""
    for metric in metrics:
        for first, second in combinations(_candidates(scored, metric), 2):
            yield scored.table.difference(metric, first, second)


def compare_with(scored: EvaluatedSet, extractor: str, metric: str) -> list[Difference]:
    """Every other extractor minus `extractor`, where the metric applies to both."""
    names = _candidates(scored, metric)
    if extractor not in names:
        return []
    return [scored.table.difference(metric, name, extractor) for name in names if name != extractor]


def leader(scored: EvaluatedSet, metric: str) -> str | None:
    """The extractor with the best mean, which need not be better than the others."""
    means = {row.extractor: row.mean for row in scored.summaries if row.metric == metric}
    sign = -1 if METRICS[metric].better == "higher" else 1
    return min(means, key=lambda name: (sign * means[name], name), default=None)


def statements(scored: EvaluatedSet, metrics: Sequence[str] = (HEADLINE, JSON_HEADLINE)) -> list[str]:
    """A sentence for the plaintext and one for the JSON on who leads, and whether that means anything."""
    leaders = {metric: leader(scored, metric) for metric in metrics}
    return [_statement(scored, metric, name) for metric, name in leaders.items() if name]


def _statement(scored: EvaluatedSet, metric: str, name: str) -> str:
    (found,) = (row for row in scored.summaries if (row.extractor, row.metric) == (name, metric))
    interval = "".join(f" ({text})" for text in interval_text(found.low, found.high))
    subject, measure = _SUBJECTS[metric]
    rivals = compare_with(scored, name, metric)
    leads = "leads" if rivals else "stands alone"
    return f"{subject}: {name} {leads} with {measure} {found.mean:.3f}{interval}{_standing(rivals)}."


def _standing(rivals: Sequence[Difference]) -> str:
    if not rivals:
        return ""
    level = [row.first for row in rivals if not row.first_is_worse]
    if not level:
        return " and is better than every other extractor on the same pages"
    return f", but these pages do not show it to be better than {_listed(level, len(rivals))}"


def _listed(level: Sequence[str], rivals: int) -> str:
    if len(level) == rivals:
        return "any other"
    rest = len(level) - _NAMED_RIVALS
    shown = [*level[:_NAMED_RIVALS], *([f"{rest} more"] if rest > 0 else [])]
    return " or ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def _candidates(scored: EvaluatedSet, metric: str) -> list[str]:
    return [name for name in scored.table.extractors if scored.table.applies(name, metric)]
