"""Every record that crosses a stage: one frozen dataclass and, derived from it, one Arrow schema.

Belongs here: field names, types and their meaning. Does not belong here: reading and writing
(`resources/store.py`) or computing a field. Adding a column means adding a field here, nothing else.
"""

import types
import typing
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, ClassVar, Protocol, Self

import pyarrow as pa


class Split(StrEnum):
    """Where a publisher's pages go. Whole publishers and whole families, never single pages."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


class Reason(StrEnum):
    """Why a page is not in the corpus. A row without a reason is kept."""

    EMPTY_PAGE = "empty_page"
    NOT_HTML = "not_html"
    NO_BODY = "no_body"
    PARSER_MISSING = "parser_missing"
    EXTRACTION_FAILED = "extraction_failed"
    NO_TITLE = "no_title"
    EMPTY_TEXT = "empty_text"
    INPUT_TOO_LONG = "input_too_long"
    OUTPUT_TOO_LONG = "output_too_long"
    LOW_COVERAGE = "low_coverage"
    DISALLOWS_TRAINING = "disallows_training"
    DUPLICATE_URL = "duplicate_url"
    DUPLICATE_CONTENT = "duplicate_content"
    NEAR_DUPLICATE = "near_duplicate"


_ARROW_TYPES: dict[object, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    datetime: pa.timestamp("us", tz="UTC"),
}


def _arrow_field(name: str, annotation: Any) -> pa.Field:
    """The column of a field; what its annotation says of it becomes the column's description."""
    description = None
    if typing.get_origin(annotation) is Annotated:
        annotation, said = typing.get_args(annotation)
        description = {"description": said}
    return pa.field(name, *_arrow_type(annotation), metadata=description)


def _arrow_type(annotation: Any) -> tuple[pa.DataType, bool]:
    """The Arrow type of a field annotation, and whether it may be null."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        (inner,) = [part for part in arguments if part is not type(None)]
        return _arrow_type(inner)[0], True
    if origin is tuple:
        return pa.list_(_arrow_type(arguments[0])[0]), False
    if isinstance(annotation, type) and issubclass(annotation, str):
        return pa.string(), False
    return _ARROW_TYPES[annotation], False


@dataclass(frozen=True, kw_only=True)
class Record:
    """Base of the records: converts between dataclass rows and Arrow tables of the declared schema."""

    PROVENANCE: ClassVar[frozenset[str]] = frozenset({"fundus_version", "rules_version", "seconds", "device"})
    """Fields that say how a row came about, not what it holds: content versions leave them out."""

    @classmethod
    @cache
    def schema(cls) -> pa.Schema:
        """The Arrow schema; nullable exactly where the dataclass says `| None`, described by its annotations."""
        hints = typing.get_type_hints(cls, include_extras=True)
        return pa.schema([_arrow_field(each.name, hints[each.name]) for each in fields(cls)])

    @classmethod
    def table(cls, rows: Iterable[Self]) -> pa.Table:
        """An Arrow table of `rows`; raises `pa.ArrowInvalid` where a value does not fit or is missing."""
        rows, schema = list(rows), cls.schema()
        # By column: `asdict` copies every list of every row, which costs six times as long.
        columns = {name: [getattr(row, name) for row in rows] for name in schema.names}
        table = pa.table(columns, schema=schema)
        nulls = [each.name for each in schema if not each.nullable and table.column(each.name).null_count]
        if nulls:  # Arrow itself would notice only when the table is written
            raise pa.ArrowInvalid(
                f"{cls.__name__}: found None in {', '.join(nulls)}, expected a value in every row"
            )
        return table

    @classmethod
    def rows(cls, table: pa.Table) -> Iterator[Self]:
        """The rows of a table as records; lists become tuples."""
        for batch in table.select(cls.schema().names).to_batches(max_chunksize=256):
            for row in batch.to_pylist():
                yield cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in row.items()})


@dataclass(frozen=True, kw_only=True)
class RawPage(Record):
    """A page as a source received it. Never changed, never deleted."""

    page_id: Annotated[str, "the first 16 hex digits of the SHA-256 of `url`"]
    url: Annotated[str, "as requested, without fragment"]
    final_url: Annotated[str, "after redirects"]
    publisher: str
    crawl_date: datetime
    source: Annotated[str, "web, ccnews, archive or demo"]
    origin: Annotated[str, "the sitemap, feed, WARC file or folder that led to the page"]
    fundus_version: str
    html: str
    html_sha256: str


@dataclass(frozen=True, kw_only=True)
class SeenUrl(Record):
    """A URL that led to a page already stored under another one, so that it is not fetched again."""

    url: str
    publisher: str
    same_as: Annotated[str, "page_id of the stored page"]
    crawl_date: datetime


@dataclass(frozen=True, kw_only=True)
class CrawlPolicy(Record):
    """What a publisher allows, as last read from Fundus' flag and its robots.txt."""

    publisher: str
    disallows_all: bool
    disallows_training: bool
    crawl_delay_s: float | None


@dataclass(frozen=True, kw_only=True)
class ArticleRow(Record):
    """One stored page after extraction; `reason` says why there is no article, if there is none."""

    page_id: str
    url: str
    publisher: str
    family: Annotated[str, "publishers of one family share a template, so they share a split"]
    crawl_date: datetime
    fundus_version: str
    rules_version: str
    html_sha256: str
    reason: Annotated[str | None, "a `Reason`; None means extracted"]
    detail: Annotated[str | None, "what the extraction said when it failed"]
    title: str | None
    language: Annotated[str | None, "ISO 639-1"]
    plaintext: str
    json: Annotated[str, "canonical JSON, see `ml/article.py`"]
    compact: Annotated[str, "the page as the model reads it, see `ml/page.py`"]
    roles: Annotated[tuple[str, ...], "one `Role` per block of the page, by block id"]
    input_tokens: Annotated[int, "of `compact`, SmolLM2's tokenizer"]
    text_tokens: Annotated[int, "of `plaintext`"]
    json_tokens: Annotated[int, "of `json`"]
    target_coverage: Annotated[float, "share of the target's words that `compact` contains, 0 to 1"]


@dataclass(frozen=True, kw_only=True)
class CorpusRow(ArticleRow):
    """An article row after the corpus filters: `reason` is final, `duplicate_of` names the original."""

    duplicate_of: Annotated[
        str | None, "page_id of the page kept in place of this one, or that this one nearly copies"
    ]


@dataclass(frozen=True, kw_only=True)
class PageFacts(Record):
    """The light columns of a `CorpusRow`, read from the same dataset by what needs no text."""

    page_id: str
    publisher: str
    family: str
    language: str | None
    reason: str | None
    duplicate_of: str | None
    input_tokens: int
    text_tokens: int


@dataclass(frozen=True, kw_only=True)
class Assignment(Record):
    """One line of the split ledger: a family's split, kept for ever once given."""

    publisher: str
    family: str
    split: Annotated[str, "a `Split`"]


@dataclass(frozen=True, kw_only=True)
class Example(Record):
    """One training or test example of a task."""

    page_id: str
    url: str
    publisher: str
    language: str | None
    split: str
    input: Annotated[str, "compact page"]
    target: Annotated[str, "plaintext or canonical JSON"]


class Asked(Protocol):
    """A page that extractors are asked about, in whatever form they read it."""

    @property
    def page_id(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def publisher(self) -> str: ...
    @property
    def language(self) -> str | None: ...


@dataclass(frozen=True, kw_only=True)
class Prediction(Record):
    """What one extractor made of one page. A failure is an empty text with its error, never a gap."""

    page_id: str
    url: str
    publisher: str
    language: str | None
    extractor: str
    text: Annotated[str, "plaintext; empty where the extractor failed"]
    json: Annotated[str | None, "as written by the extractor, valid or not; None for text-only extractors"]
    truncated: Annotated[bool, "the output hit its length limit"]
    seconds: float
    error: str | None
    device: Annotated[str | None, "what the seconds were spent on: cpu, cuda or server"] = None
    input_tokens: Annotated[int | None, "of the model's own tokenizer; None for what has none"] = None
    output_tokens: Annotated[int | None, "newly written"] = None
    target_perplexity: Annotated[float | None, "of the reference, were the model made to write it"] = None
    target_tokens: Annotated[int | None, "tokens that the perplexity is over"] = None

    @classmethod
    def failed(
        cls, page: "Asked", *, extractor: str, error: Exception, seconds: float, device: str | None
    ) -> Self:
        """A page that an extractor has no answer to."""
        return cls(
            page_id=page.page_id,
            url=page.url,
            publisher=page.publisher,
            language=page.language,
            extractor=extractor,
            text="",
            json=None,
            truncated=False,
            seconds=seconds,
            error=str(error),
            device=device,
        )


@dataclass(frozen=True, kw_only=True)
class Score(Record):
    """One metric of one prediction; None where the metric does not apply.

    A set's value is the mean weighted by `weight`: with its denominator as the weight, a ratio such as
    precision is counted over all pages together (micro), and with 1 every page counts the same (macro).
    """

    page_id: str
    publisher: str
    language: str | None
    extractor: str
    metric: str
    value: float | None
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class ModelRecord(Record):
    """A trained and registered model: what it is, what it was made from, where it lies."""

    experiment: str
    weights_sha256: str
    folder: Annotated[str, "as it was registered: a LoRA adapter, or a pyfunc model of trees"]
    training_set: Annotated[str, "content version of the train and validation examples"]
    steps: Annotated[int | None, "None for trees"]
    validation_perplexity: Annotated[float | None, "None for what gives no text a probability"]
    run_id: Annotated[str, "MLflow"]
    model_name: str
    model_version: str


@dataclass(frozen=True, kw_only=True)
class CurveRecord(Record):
    """One value of a training curve."""

    name: str
    step: int
    value: float
