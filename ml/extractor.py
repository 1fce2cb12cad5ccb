"""A page's article, copied from its blocks and statements: the block model and the field model together.

    from ml.extractor import extract

    extract(html).article.title

Belongs here: from HTML to a typed result, training on pages with known articles, and both models in one file.
Does not belong here: either model (`ml/block_model/`, `ml/fields/`), or reading archives and writing formats.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from ml.alignment import Role, align
from ml.article import Article
from ml.block_model import training as block_training
from ml.block_model.model import BlockModel
from ml.block_model.rendering import Line, body_lines, body_of
from ml.fields import training as field_training
from ml.fields.model import FieldModel, Origin
from ml.page import Page, parse_page

FORMAT = "news-crawler-lm extractor"
SCHEMA_VERSION = 1
"""Of the file; raised with every change of it, or of what a feature means."""

_HEADER = {"format": FORMAT, "schema_version": SCHEMA_VERSION}
DEFAULT_MODEL = Path(__file__).parent / "default_model" / "model.json"
"""The model that ships; its card lies beside it."""


MIN_ORACLE = 0.9
"""ROUGE-L of the blocks that alignment labels: a page below would teach the wrong blocks."""


@dataclass(frozen=True, kw_only=True)
class LabelledPage:
    """A page with the article that rules or people say it holds; pages of one family stay together."""

    page: Page
    article: Article
    family: str

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """What each block is to the article."""
        return align(self.page, self.article).roles

    @cached_property
    def fault(self) -> str | None:
        """Why nothing can be learnt from the page: its blocks do not hold the article. None where they do."""
        from ml.metrics import rouge_l

        labelled = Article(body=body_of(self.page, self.roles)).plaintext
        oracle = rouge_l.score(labelled, self.article.plaintext)
        if oracle >= MIN_ORACLE:
            return None
        return f"its blocks hold {oracle:.2f} of the article (ROUGE-L), expected at least {MIN_ORACLE}"


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """What a page holds. Every text in it was copied from the page.

    `article` is None where the page is probably no article: a home page, a login wall, a video. `confidence`, 0 to
    1, is how probable it is that the page is one; `field_confidence` is how probable it is that each field is right.
    `lines` and `origins` tell where each line of the body and each value were copied from.
    """

    article: Article | None
    language: str | None
    confidence: float
    field_confidence: Mapping[str, float] = field(default_factory=dict)
    lines: tuple[Line, ...] = ()
    origins: tuple[Origin, ...] = ()


class Extractor(BaseModel):
    """Extracts the articles of publishers that nobody wrote rules for, on a CPU."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    blocks: BlockModel
    fields: FieldModel

    def extract(self, html: str | bytes) -> Extraction:
        """The article of a page; raises `ml.page.PageError`, a `ValueError`, for what is no page at all."""
        return self.extract_page(parse_page(html))

    def extract_page(self, page: Page) -> Extraction:
        """The same, of a page that is parsed already."""
        labels = self.blocks.predict(page)
        body = body_of(page, labels.roles)
        if not (labels.is_article and body.sections):
            return Extraction(article=None, language=page.language, confidence=labels.confidence)
        fields = self.fields.predict(page)
        return Extraction(
            article=fields.article(body),
            language=page.language,
            confidence=labels.confidence,
            field_confidence=fields.confidence,
            lines=body_lines(page, labels.roles),
            origins=fields.origins,
        )

    def save(self, path: Path) -> None:
        """Write both models as one JSON text: thresholds over numbers, no text of any page.

        Equal models give equal bytes.
        """
        text = json.dumps(_HEADER | self.model_dump(mode="json"), indent=1)
        path.write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Extractor":
        """Read what `save` wrote; raises `ValueError` for any other file, and for a model of another release."""
        try:
            stored = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise ValueError(f"{path} is no {FORMAT}: expected a JSON file ({error})") from error
        header = {key: stored.pop(key, None) for key in _HEADER} if isinstance(stored, dict) else {}
        if header != _HEADER:
            raise ValueError(
                f"{path} is no model of this release: found {header or 'no header'}, expected {_HEADER}; train the "
                f"model anew, or use the release that wrote it"
            )
        try:
            return cls.model_validate(stored)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, fault["loc"]))
            raise ValueError(
                f"{path} is no model of this release: {place}: {fault['msg']}; train the model anew, or use the "
                f"release that wrote it"
            ) from error


@cache
def default_extractor() -> Extractor:
    """The extractor that ships, loaded once in a process."""
    return Extractor.load(DEFAULT_MODEL)


def extract(html: str | bytes) -> Extraction:
    """What a page holds, by the model that ships; raises `ml.page.PageError`, a `ValueError`, for what is no page."""
    return default_extractor().extract(html)


def train(
    samples: Iterable[LabelledPage],
    parameters: block_training.TrainingParameters | None = None,
    *,
    seed: int = 0,
) -> Extractor:
    """Both models of all samples without a `fault`; roles come from aligning each article with its page.

    Raises `ValueError` where the samples are of too few families to say anything of others.
    """
    pages = [sample for sample in samples if not sample.fault]
    labelled = [
        block_training.Sample(page=sample.page, roles=sample.roles, family=sample.family) for sample in pages
    ]
    return Extractor(
        blocks=block_training.train(labelled, parameters),
        fields=field_training.train([(each.page, each.article, each.family) for each in pages], seed),
    )
