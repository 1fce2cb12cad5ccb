"""The corpus: every extracted page once, kept or rejected with a named reason.

Belongs here: the filters, their limits, the marks of near-duplicates and the count of what went where.
Does not belong here: how a page was extracted (`ml/extraction.py`) or which split it joins
(`ml/splits.py`). A new filter is a new function in `FILTERS`, nothing else.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from ml.near_duplicates import near_duplicates
from ml.records import ArticleRow, CorpusRow, PageFacts, Reason, Record

Share = Annotated[float, Field(gt=0, le=1)]


class CorpusRules(BaseModel):
    """What a page must fulfil to be kept."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_input_tokens: int = Field(default=24_000, gt=0)
    """Of the compact page, as in the paper."""

    max_output_tokens: int = Field(default=8_000, gt=0)
    """Of the longer target: plaintext and JSON examples are then made of the same pages."""

    min_coverage: Share = 0.9
    """The least share of the target's words that the compact page must contain.

    Below it a model is taught to invent one word in ten. Of 290 real pages none has less than 0.98, so what
    falls short is not cut off by cleaning: it is text that the page loads later, which no model can copy.
    """

    allow_disallowed_training: bool = False
    """Keep publishers that object to training. Only for those who have their permission."""

    near_duplicate_threshold: Share = 0.8
    """Jaccard similarity of five-word shingles from which a page counts as a near-copy of another."""


@dataclass(frozen=True, kw_only=True)
class Rejection:
    """Why a page is not kept, and what was found against what is expected."""

    reason: Reason
    detail: str
    duplicate_of: str | None = None


@dataclass(frozen=True, kw_only=True)
class Context:
    """What filters know beside the row: the rules, and the pages that were kept so far."""

    rules: CorpusRules
    disallows_training: frozenset[str]
    kept_urls: dict[str, str] = field(default_factory=dict)  # url to page_id
    kept_contents: dict[str, str] = field(default_factory=dict)  # content hash to page_id

    def keep(self, row: ArticleRow) -> None:
        """Remember a kept row, so that later copies of it are known."""
        self.kept_urls[row.url] = row.page_id
        self.kept_contents[content_hash(row)] = row.page_id


Filter: TypeAlias = Callable[[ArticleRow, Context], Rejection | None]


def content_hash(row: ArticleRow) -> str:
    """The SHA-256 of the plaintext: equal for the same article under two addresses."""
    return sha256(row.plaintext.encode("utf-8", "surrogatepass")).hexdigest()


def failed_extraction(row: ArticleRow, context: Context) -> Rejection | None:
    """Pages that the extraction already gave up on keep its reason and its words."""
    return Rejection(reason=Reason(row.reason), detail=row.detail or "") if row.reason else None


def disallowed_training(row: ArticleRow, context: Context) -> Rejection | None:
    """Publishers that object to training, unless the user opted in."""
    if context.rules.allow_disallowed_training or row.publisher not in context.disallows_training:
        return None
    return Rejection(reason=Reason.DISALLOWS_TRAINING, detail=f"{row.publisher} objects to training")


def long_input(row: ArticleRow, context: Context) -> Rejection | None:
    """Pages that do not fit into the model's window."""
    limit = context.rules.max_input_tokens
    return _over(Reason.INPUT_TOO_LONG, found=row.input_tokens, limit=limit, what="input")


def long_output(row: ArticleRow, context: Context) -> Rejection | None:
    """Articles whose plaintext or JSON is longer than the model may write."""
    found = max(row.text_tokens, row.json_tokens)
    return _over(Reason.OUTPUT_TOO_LONG, found=found, limit=context.rules.max_output_tokens, what="output")


def _over(reason: Reason, *, found: int, limit: int, what: str) -> Rejection | None:
    if found <= limit:
        return None
    return Rejection(reason=reason, detail=f"{found} {what} tokens, at most {limit} are allowed")


def low_coverage(row: ArticleRow, context: Context) -> Rejection | None:
    """Pages that do not contain the text that a model would have to copy from them."""
    needed = context.rules.min_coverage
    if row.target_coverage >= needed:
        return None
    detail = f"the page holds {row.target_coverage:.3f} of the target's words, at least {needed} are needed"
    return Rejection(reason=Reason.LOW_COVERAGE, detail=detail)


def duplicate_url(row: ArticleRow, context: Context) -> Rejection | None:
    """A page that was stored twice: the first good copy stays."""
    original = context.kept_urls.get(row.url)
    return _copy(Reason.DUPLICATE_URL, original, "the same URL as")


def duplicate_content(row: ArticleRow, context: Context) -> Rejection | None:
    """An article that is word for word another one, under another address or at another publisher."""
    original = context.kept_contents.get(content_hash(row))
    return _copy(Reason.DUPLICATE_CONTENT, original, "the same plaintext as")


def _copy(reason: Reason, original: str | None, relation: str) -> Rejection | None:
    if original is None:
        return None
    return Rejection(reason=reason, detail=f"{relation} page {original}", duplicate_of=original)


FILTERS: tuple[Filter, ...] = (
    failed_extraction,
    disallowed_training,
    long_input,
    long_output,
    low_coverage,
    # Last, so that an original is always a page that is kept.
    duplicate_url,
    duplicate_content,
)
"""Asked in this order; the first rejection counts."""


def build_corpus(
    rows: Iterable[ArticleRow],
    *,
    rules: CorpusRules,
    disallows_training: frozenset[str] = frozenset(),
) -> list[CorpusRow]:
    """Every row that was read, exactly once: kept (`reason` is None) or rejected with its reason.

    Rows come out oldest first, whatever the order they come in, and of copies the oldest stays. A kept row
    whose text nearly copies an older kept one is marked by `duplicate_of`, not rejected: the two pages
    differ in their markup, so both teach, and only a split boundary must not run between them.
    """
    context = Context(rules=rules, disallows_training=disallows_training)
    decided = [_decide(row, context) for row in sorted(rows, key=_age)]
    kept = {row.page_id: row.plaintext for row in decided if row.reason is None}
    originals = near_duplicates(kept, threshold=rules.near_duplicate_threshold)
    return [_mark(row, originals) for row in decided]


def _age(row: ArticleRow) -> tuple[object, ...]:
    """Crawl date, then page; the rest only settles in which order two copies of one crawl come."""
    return (
        row.crawl_date,
        row.page_id,
        row.html_sha256,
        row.rules_version,
        row.publisher,
        row.reason or "",
        row.json,
    )


def _decide(row: ArticleRow, context: Context) -> CorpusRow:
    values = {each.name: getattr(row, each.name) for each in fields(ArticleRow)}
    for check in FILTERS:
        if rejection := check(row, context):
            return CorpusRow(**(values | vars(rejection)))
    context.keep(row)
    return CorpusRow(**values, duplicate_of=None)


def _mark(row: CorpusRow, originals: Mapping[str, str]) -> CorpusRow:
    original = originals.get(row.page_id) if row.reason is None else None
    return replace(row, duplicate_of=original) if original else row


@dataclass(frozen=True, kw_only=True)
class RetentionLine(Record):
    """How many pages of one publisher met one fate."""

    publisher: str
    reason: str | None  # a `Reason`; None means kept
    count: int


def retention(rows: Iterable[CorpusRow | PageFacts]) -> list[RetentionLine]:
    """What was kept and why not, per publisher: its kept pages first, then its reasons by name."""
    counts = Counter((row.publisher, row.reason) for row in rows)
    order = sorted(counts, key=lambda fate: (fate[0], fate[1] or ""))
    return [RetentionLine(publisher=who, reason=why, count=counts[who, why]) for who, why in order]


def unaccounted(read: Mapping[str, int], lines: Iterable[RetentionLine]) -> list[str]:
    """Every publisher for which kept plus rejected is not what was read; empty when all is accounted for.

    `read` counts the article rows of each publisher as they lie in the store.
    """
    kept: Counter[str] = Counter()
    rejected: Counter[str] = Counter()
    for line in lines:
        (rejected if line.reason else kept)[line.publisher] += line.count
    return [
        f"{publisher}: read {read.get(publisher, 0)}, but kept {kept[publisher]} "
        f"and rejected {rejected[publisher]}"
        for publisher in sorted({*read, *kept, *rejected})
        if read.get(publisher, 0) != kept[publisher] + rejected[publisher]
    ]
