"""The answers that an extractor got most wrong, beside what is right.

Belongs here: choosing them. Does not belong here: aligning the two texts (`difference.py`) or markup.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from ml.records import Prediction
from ml.report.comparisons import HEADLINE
from ml.report.difference import Piece, side_by_side
from ml.report.inputs import ReportInput


@dataclass(frozen=True, kw_only=True)
class WorstPage:
    """A page that an extractor got wrong, with both texts."""

    prediction: Prediction
    score: float
    found: Sequence[Piece]
    wanted: Sequence[Piece]


def worst_pages(report: ReportInput) -> Mapping[str, Sequence[WorstPage]]:
    """By extractor, the answers with the lowest headline score, lowest first; a failure is no answer."""
    predictions = {(row.extractor, row.page_id): row for row in report.predictions if row.error is None}
    by_extractor: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for score in report.scores:
        answered = (score.extractor, score.page_id) in predictions
        if answered and score.metric == HEADLINE and score.value is not None:
            by_extractor[score.extractor].append((score.value, score.page_id))
    return {
        extractor: [
            _worst_page(report, predictions[extractor, page_id], value)
            for value, page_id in nsmallest(report.worst_pages, found)
        ]
        for extractor, found in by_extractor.items()
    }


def _worst_page(report: ReportInput, prediction: Prediction, score: float) -> WorstPage:
    found, wanted = side_by_side(prediction.text, report.references[prediction.page_id].plaintext)
    return WorstPage(prediction=prediction, score=score, found=found, wanted=wanted)
