"""A stored page and its extraction, described as one article row.

Belongs here: every derived field of `ArticleRow` (compact page, roles, tokens, coverage, language) and the
reasons why a page gives no article. Does not belong here: running an extractor (`resources/fundus/extraction.py`) or
choosing pages for the corpus (`ml/corpus.py`).
"""

from hashlib import sha256

from ml.alignment import align, target_coverage
from ml.article import Article
from ml.page import Page, PageError, parse_page, render_compact
from ml.records import ArticleRow, RawPage, Reason
from ml.tokens import count_tokens


def page_id_of(url: str) -> str:
    """The identity of a page in every record: the first 16 hex digits of the SHA-256 of its URL."""
    return sha256(url.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def article_row(
    raw: RawPage,
    article: Article | None,
    *,
    family: str,
    rules_version: str,
    reason: Reason | None = None,
    detail: str | None = None,
    language: str | None = None,
) -> ArticleRow:
    """The row of a stored page, whether the extraction gave an `article` or failed for a `reason`.

    A page that cannot be read names that as its reason, whatever the extractor made of it: the model could
    not read it either. Otherwise the extractor's `reason` holds, and an article without title or text is
    rejected too. What could be computed is kept even then. `language` is ISO 639-1; without it, the page's
    own. Raises `ValueError` for an article that comes with a reason against it.
    """
    if article is not None and reason is not None:
        raise ValueError(f"page {raw.page_id} has an article and the reason {reason!r}; expected one of them")
    page, fault = _read(raw.html)
    if fault:
        reason, detail = fault.reason, "; ".join(filter(None, (str(fault), detail)))
    else:
        reason, detail = _verdict(article, reason, detail)
    compact = render_compact(page) if page else ""
    plaintext, json = (article.plaintext, article.to_json()) if article else ("", "")
    return ArticleRow(
        page_id=raw.page_id,
        url=raw.url,
        publisher=raw.publisher,
        family=family,
        crawl_date=raw.crawl_date,
        fundus_version=raw.fundus_version,
        rules_version=rules_version,
        html_sha256=raw.html_sha256,
        reason=reason,
        detail=detail,
        title=article.title if article else None,
        language=language or (page.language if page else None),
        plaintext=plaintext,
        json=json,
        compact=compact,
        roles=tuple(align(page, article).roles) if page and article else (),
        input_tokens=count_tokens(compact),
        text_tokens=count_tokens(plaintext),
        json_tokens=count_tokens(json),
        target_coverage=target_coverage(compact, article) if article else 0.0,
    )


def _read(html: str) -> tuple[Page | None, PageError | None]:
    """The page, or why it is none."""
    try:
        return parse_page(html), None
    except PageError as error:
        return None, error


def _verdict(
    article: Article | None, reason: Reason | None, detail: str | None
) -> tuple[Reason | None, str | None]:
    """The reason against the article of a readable page, if there is one, with its detail."""
    if article is None:
        return reason or Reason.EXTRACTION_FAILED, detail or "the extractor returned no article"
    if article.title is None:
        return Reason.NO_TITLE, "the extraction holds no title"
    if not article.plaintext:
        return Reason.EMPTY_TEXT, "the extraction holds no paragraph, headline or summary"
    return None, detail
