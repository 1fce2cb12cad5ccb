"""A page's article, copied from its blocks and statements: the block model and the field model together.

Belongs here: from HTML to a typed result, training on pages with known articles, and both models in one folder.
Does not belong here: either model (`ml/block_model/`, `ml/fields/`), or reading archives and writing formats.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ml.alignment import align
from ml.article import Article
from ml.block_model import training as block_training
from ml.block_model.model import BlockModel
from ml.block_model.rendering import Line, body_lines, body_of
from ml.fields import training as field_training
from ml.fields.model import FieldModel
from ml.page import Page, parse_page

BLOCKS_FILE, FIELDS_FILE = "blocks.json", "fields.json"


@dataclass(frozen=True, kw_only=True)
class LabelledPage:
    """A page with the article that rules or people say it holds; pages of one family stay together."""

    page: Page
    article: Article
    family: str


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """What a page holds. Every text in it was copied from the page.

    `article` is None where the page is probably no article: a home page, a login wall, a video. `confidence`, 0 to
    1, is how probable it is that the text is an article and (nearly) whole and clean; `field_confidence` says the
    same of each field. `lines` tell the block that each line of the body was copied from.
    """

    article: Article | None
    language: str | None
    confidence: float
    field_confidence: Mapping[str, float]
    lines: tuple[Line, ...]


@dataclass(frozen=True, kw_only=True)
class Extractor:
    """Extracts the articles of publishers that nobody wrote rules for, on a CPU."""

    blocks: BlockModel
    fields: FieldModel

    def extract(self, html: str | bytes) -> Extraction:
        """The article of a page; raises `ml.page.PageError`, a `ValueError`, for what is no page at all."""
        return self.extract_page(parse_page(html))

    def extract_page(self, page: Page) -> Extraction:
        """The same, of a page that is parsed already."""
        labels, fields = self.blocks.predict(page), self.fields.predict(page)
        article = fields.article(body_of(page, labels.roles))
        is_article = labels.is_article and bool(article.body.sections)
        return Extraction(
            article=article if is_article else None,
            language=page.language,
            confidence=labels.confidence,
            field_confidence=fields.confidence if is_article else {},
            lines=body_lines(page, labels.roles) if is_article else (),
        )

    def save(self, folder: Path) -> None:
        """Write both models as text: thresholds over numbers, no text of any page."""
        folder.mkdir(parents=True, exist_ok=True)
        self.blocks.save(folder / BLOCKS_FILE)
        self.fields.save(folder / FIELDS_FILE)

    @classmethod
    def load(cls, folder: Path) -> "Extractor":
        """Read what `save` wrote; raises `ValueError` for a folder without it, or of another release's models."""
        if absent := [name for name in (BLOCKS_FILE, FIELDS_FILE) if not (folder / name).is_file()]:
            raise ValueError(f"{folder} holds no extractor: expected {', '.join(absent)} in it")
        return cls(blocks=BlockModel.load(folder / BLOCKS_FILE), fields=FieldModel.load(folder / FIELDS_FILE))


def train(
    samples: Iterable[LabelledPage],
    parameters: block_training.TrainingParameters | None = None,
    *,
    seed: int = 0,
) -> Extractor:
    """Both models of all samples; roles of blocks come from aligning each article with its page.

    Raises `ValueError` where the samples are of too few families to say anything of others.
    """
    pages = list(samples)
    labelled = [
        block_training.Sample(
            page=sample.page, roles=align(sample.page, sample.article).roles, family=sample.family
        )
        for sample in pages
    ]
    return Extractor(
        blocks=block_training.train(labelled, parameters),
        fields=field_training.train([(each.page, each.article, each.family) for each in pages], seed),
    )
