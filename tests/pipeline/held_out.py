"""Held-out pages as the store has them, for tests of what comes after the corpus."""

from dataclasses import replace
from datetime import UTC, datetime

from ml.article import Article
from ml.records import CorpusRow
from ml.splits import PageSplit


def corpus_row(page: str, publisher: str, article: Article, **changes: object) -> CorpusRow:
    """A kept page that holds an article, all of whose lines are paragraphs."""
    lines = article.body.lines()
    row = CorpusRow(
        page_id=page,
        url=f"https://example.org/{page}",
        publisher=publisher,
        family=publisher,
        crawl_date=datetime(2025, 1, 1, tzinfo=UTC),
        fundus_version="1",
        rules_version="1",
        html_sha256=page,
        reason=None,
        detail=None,
        title=article.title,
        language="en",
        plaintext=article.plaintext,
        json=article.to_json(),
        compact="\n".join(f"<p {number}>{line}" for number, line in enumerate(lines)),
        roles=("paragraph",) * len(lines),
        input_tokens=10,
        text_tokens=8,
        json_tokens=6,
        target_coverage=1.0,
        duplicate_of=None,
    )
    return replace(row, **changes)  # type: ignore[arg-type]


def page_split(page: str, publisher: str) -> PageSplit:
    """The page in the test split."""
    return PageSplit(
        page_id=page, publisher=publisher, family=publisher, cluster=page, split="test", reason=None
    )
