"""The model that ships, and the card beside it: what it is, what it was trained on, and what it scores.

Belongs here: writing both from an extractor and the figures of the run that measured it. Does not belong here:
training (`ml/extractor.py`) or measuring (`blocks.py`).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path

import jinja2
from figures import PEERS, Figures, cell, rows
from measures import LabelledItem

from ml.extractor import SCHEMA_VERSION, Extractor
from resources.fundus.catalogue import fundus_version

MODEL_FILE, CARD_FILE = "model.json", "README.md"
_TEMPLATE = Path(__file__).parent / "default_model_card.md.jinja"


@dataclass(frozen=True, kw_only=True)
class TrainingFacts:
    """What a model was trained on."""

    pages: int
    publishers: int
    families: int
    languages: tuple[tuple[str, int], ...]  # of the articles, with their pages, the commonest first
    first_day: date  # of the crawl
    last_day: date
    fundus_version: str

    @classmethod
    def of(cls, items: Sequence[LabelledItem], days: Sequence[date]) -> "TrainingFacts":
        """Counted from the pages themselves."""
        languages = Counter(item.received.language or "unknown" for item in items)
        return cls(
            pages=len(items),
            publishers=len({item.received.publisher for item in items}),
            families=len({item.labelled.family for item in items}),
            languages=tuple(sorted(languages.items(), key=lambda pair: (-pair[1], pair[0]))),
            first_day=min(days),
            last_day=max(days),
            fundus_version=fundus_version(),
        )


def write_default_model(folder: Path, extractor: Extractor, facts: TrainingFacts, figures: Figures) -> None:
    """Write the model and its card; equal extractors give equal bytes of the model."""
    folder.mkdir(parents=True, exist_ok=True)
    extractor.save(folder / MODEL_FILE)
    card = render_card((folder / MODEL_FILE).read_bytes(), facts, figures)
    (folder / CARD_FILE).write_text(card, encoding="utf-8")


def render_card(model: bytes, facts: TrainingFacts, figures: Figures) -> str:
    """The card as Markdown with the hub's YAML header; raises `jinja2.UndefinedError` on a missing fact."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown, and every value is our own
    )
    template = environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        facts=facts,
        figures=figures,
        rows=list(rows(figures)),
        cell=cell,
        peers=PEERS,
        schema_version=SCHEMA_VERSION,
        sha256=sha256(model).hexdigest(),
        mebibytes=len(model) / 2**20,
    )
