"""What the report is given; nothing that it shows is looked up elsewhere.

Belongs here: declared inputs and the checks that they fit together. Does not belong here: what is made of
them (`view.py`, `data.py`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from ml.intervals import ScoreTable, Summary
from ml.metrics.registry import METRICS, Reference
from ml.plots import CurvePoint
from ml.records import Prediction, Score


class ExtractorKind(StrEnum):
    """How an extractor came about; tables are grouped by it, in this order."""

    TRAINED = "trained model"
    ZERO_SHOT = "zero-shot model"
    LIBRARY = "published library"

    @property
    def plural(self) -> str:
        """Several of them."""
        return f"{self.removesuffix('y')}ies" if self.endswith("y") else f"{self}s"


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
class EvaluatedSet:
    """Scores and predictions of any number of extractors on the same pages."""

    scores: Sequence[Score]
    predictions: Sequence[Prediction]

    @cached_property
    def table(self) -> ScoreTable:
        """The scores ready for statements about them: built once for all tables, figures and files."""
        return ScoreTable(self.scores)

    @cached_property
    def summaries(self) -> Sequence[Summary]:
        """Means with their intervals, a row per extractor and metric that applies."""
        return self.table.summaries()

    @cached_property
    def best(self) -> Mapping[str, str]:
        """By metric, the extractor that is better than every other one; metrics without one are left out."""
        found = {metric: self.table.clearly_best(metric) for metric in METRICS}
        return {metric: extractor for metric, extractor in found.items() if extractor}


@dataclass(frozen=True, kw_only=True)
class GoldInput(EvaluatedSet):
    """The same extractors on pages that people annotated; never mixed with references from Fundus."""

    name: str
    source: str  # where the pages and annotations come from
    licence: str
    pages: int
    publishers: int


@dataclass(frozen=True, kw_only=True)
class ReportInput(EvaluatedSet):
    """Everything that the report shows. Raises `ValueError` where an extractor's kind is not given."""

    title: str
    generated: datetime
    provenance: Mapping[str, str]  # what it was computed from, in the order shown
    references: Mapping[str, Reference]  # by page id
    kinds: Mapping[str, ExtractorKind]  # by extractor
    prices: Mapping[str, float] = field(default_factory=dict)  # USD an hour by `Prediction.device`
    unavailable: Mapping[str, str] = field(default_factory=dict)  # metrics not computed, and why
    gold: GoldInput | None = None
    corpus: CorpusFacts | None = None
    training: Mapping[str, Sequence[CurvePoint]] = field(default_factory=dict)  # curves by experiment
    notes: Sequence[str] = ()
    worst_pages: int = 3  # shown of each extractor

    def __post_init__(self) -> None:
        scores = [*self.scores, *(self.gold.scores if self.gold else ())]
        unknown = _names(scores) - self.kinds.keys()
        if unknown:
            raise ValueError(
                f"kinds says nothing of {', '.join(sorted(unknown))}; expected for every extractor with scores one "
                f"of {', '.join(kind.name for kind in ExtractorKind)}"
            )


def _names(scores: Iterable[Score]) -> set[str]:
    return {row.extractor for row in scores}
