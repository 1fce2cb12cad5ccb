"""The model card of a trained model: what it is, on what and how it was trained, how far to trust it.

Belongs here: the facts a card states and its rendering. Does not belong here: computing any of them
(`ml/training.py` and its caller do).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

import jinja2

from ml.backbones import BACKBONES
from ml.experiments import BlockExperiment, Experiment

_ADAPTER, _TREES = "model_card.md.jinja", "block_model_card.md.jinja"


class _Counted(Protocol):
    @property
    def publisher(self) -> str: ...
    @property
    def language(self) -> str | None: ...


@dataclass(frozen=True, kw_only=True)
class CardFacts:
    """What training cannot know about its data; the caller states it."""

    source: str  # where the pages come from: demo, ccnews, web or archive
    corpus_version: str
    split_version: str
    fundus_version: str
    test_publishers: int
    git_commit: str | None  # None outside a git checkout


@dataclass(frozen=True, kw_only=True)
class SplitFacts:
    """The size of one split."""

    pages: int
    publishers: int
    languages: tuple[str, ...]  # ISO 639-1, sorted; pages of unknown language are not named

    @classmethod
    def of(cls, examples: Sequence[_Counted]) -> "SplitFacts":
        """Counted from the examples themselves."""
        return cls(
            pages=len(examples),
            publishers=len({example.publisher for example in examples}),
            languages=tuple(sorted({example.language for example in examples if example.language})),
        )


@dataclass(frozen=True, kw_only=True)
class TrainingFacts:
    """What came out of training."""

    steps: int
    best_step: int
    best_validation_perplexity: float
    tokens: int
    truncated_examples: int


def render_model_card(
    experiment: Experiment,
    *,
    facts: CardFacts,
    train: SplitFacts,
    validation: SplitFacts,
    training: TrainingFacts,
) -> str:
    """The card as Markdown with the hub's YAML header; raises `jinja2.UndefinedError` on a missing fact."""
    return _template(_ADAPTER).render(
        experiment=experiment,
        backbone=BACKBONES[experiment.backbone],
        facts=facts,
        train=train,
        validation=validation,
        training=training,
    )


def render_block_model_card(
    experiment: BlockExperiment,
    *,
    facts: CardFacts,
    train: SplitFacts,
    validation: SplitFacts,
    rejected: int,
    validation_rouge_l: float | None,
) -> str:
    """The same of a block model; `rejected` pages of the train split taught nothing."""
    return _template(_TREES).render(
        experiment=experiment,
        facts=facts,
        train=train,
        validation=validation,
        rejected=rejected,
        validation_rouge_l=validation_rouge_l,
    )


@cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown, and every value is our own
    )
    return environment.from_string((Path(__file__).parent / name).read_text(encoding="utf-8"))
