"""From a publisher to its stored pages and their articles: the two assets with a partition per publisher.

Belongs here: `raw_pages`, `articles` and the checks that guard them. Does not belong here: crawling
(`resources/harvest.py`) and extraction (`resources/fundus/extraction.py`).
"""

from collections import Counter

import dagster as dg
import pyarrow.compute as pc

from assets.presentation import bullet_list, definition_metadata, mapping_table
from ml.records import ArticleRow, RawPage
from pipeline import partitions
from resources.crawl import Crawl
from resources.fundus.extraction import extract_pages
from resources.harvest import RAW_PAGES
from resources.store import Store, content_version

ARTICLES = "articles"


@dg.asset(
    partitions_def=partitions.publishers,
    deps=["fundus_rules"],
    group_name="pages",
    kinds={"fundus", "parquet"},
    pool="crawl",
    metadata=definition_metadata(RawPage),
    description="Pages of a publisher as they were received. Append-only: stored URLs are not fetched again, and a "
    "repaired rule never leads here.",
)
def raw_pages(context: dg.AssetExecutionContext, crawl: Crawl, store: Store) -> dg.MaterializeResult:
    counts = crawl.harvest(store, context.partition_key)
    count = counts[context.partition_key]
    if count.skipped:
        context.log.warning(f"{context.partition_key} was not crawled: {count.skipped}")
    others = [{"publisher": key, "new": other.new} for key, other in counts.items() if other.new]
    pages = store.appended(
        RAW_PAGES, RawPage, columns=["page_id", "html_sha256"], publisher=context.partition_key
    )
    version = content_version([pages.sort_by("page_id")])
    return dg.MaterializeResult(
        data_version=dg.DataVersion(version),
        metadata={
            "dagster/row_count": count.stored,
            "new_pages": count.new,
            "duplicates": count.duplicates,
            "beyond_limit": count.dropped,
            "not_crawled": count.skipped or "",
            "faults": bullet_list(count.faults),
            "pages_of_unknown_hosts": sum(count.unknown_hosts.values()),
            "unknown_hosts": mapping_table([{"host": h, "pages": n} for h, n in count.unknown_hosts.items()]),
            "stored_in_this_pass": mapping_table(others),
        },
    )


@dg.asset_check(
    asset=raw_pages,
    partitions_def=partitions.publishers,
    description="No page is stored twice, by URL or by content.",
)
def raw_pages_are_unique(context: dg.AssetCheckExecutionContext, store: Store) -> dg.AssetCheckResult:
    pages = store.appended(
        RAW_PAGES, RawPage, columns=["page_id", "html_sha256"], publisher=context.partition_key
    )
    doubled = {name: pages.num_rows - pc.count_distinct(pages[name]).as_py() for name in pages.column_names}
    return dg.AssetCheckResult(
        passed=not any(doubled.values()), metadata={**doubled, "pages": pages.num_rows}
    )


@dg.asset(
    partitions_def=partitions.publishers,
    deps=[raw_pages, "fundus_rules"],
    group_name="pages",
    kinds={"fundus", "parquet"},
    metadata=definition_metadata(ArticleRow),
    description="What Fundus extracts from each stored page with the rules of its crawl date: article, compact page, "
    "block roles, tokens and coverage. A failed extraction is a row with its reason.",
)
def articles(context: dg.AssetExecutionContext, crawl: Crawl, store: Store) -> dg.MaterializeResult:
    key = context.partition_key
    rows = extract_pages(crawl.catalogue, key, store.appended_rows(RAW_PAGES, RawPage, publisher=key))
    version = store.replace(ARTICLES, ArticleRow, rows, publisher=key)
    reasons = Counter(row.reason or "extracted" for row in rows)
    extracted = [row for row in rows if row.reason is None]
    return dg.MaterializeResult(
        data_version=dg.DataVersion(version),
        metadata={
            "dagster/row_count": len(rows),
            "extracted": len(extracted),
            "mean_target_coverage": _mean([row.target_coverage for row in extracted]),
            "median_input_tokens": _median([row.input_tokens for row in extracted]),
            "outcomes": mapping_table([{"outcome": name, "pages": n} for name, n in reasons.most_common()]),
        },
    )


@dg.asset_check(
    asset=articles,
    partitions_def=partitions.publishers,
    description="Every stored page is a row: nothing is lost.",
)
def articles_are_complete(context: dg.AssetCheckExecutionContext, store: Store) -> dg.AssetCheckResult:
    key = context.partition_key
    stored = set(
        store.appended(RAW_PAGES, RawPage, columns=["page_id"], publisher=key)["page_id"].to_pylist()
    )
    rows = store.table(ARTICLES, ArticleRow, columns=["page_id"], publisher=key)["page_id"].to_pylist()
    return dg.AssetCheckResult(
        passed=sorted(rows) == sorted(stored), metadata={"stored_pages": len(stored), "rows": len(rows)}
    )


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _median(values: list[int]) -> int | None:
    return sorted(values)[len(values) // 2] if values else None
