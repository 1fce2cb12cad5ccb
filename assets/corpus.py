"""From articles to a corpus, its splits and its training sets.

Belongs here: the three assets over all publishers and the checks that guard them. Does not belong here:
filters (`ml/corpus.py`), splitting (`ml/splits.py`) and examples (`ml/training_sets.py`).
"""

from collections import Counter
from collections.abc import Iterator

import dagster as dg

from assets.crawl import ARTICLES
from assets.presentation import definition_metadata, mapping_table, picture, record_table
from ml.corpus import CorpusRules, build_corpus, retention, unaccounted
from ml.plots import language_bars, reason_bars, token_histogram
from ml.records import ArticleRow, Assignment, CorpusRow, CrawlPolicy, Example, PageFacts
from ml.splits import PageSplit, SplitSizes, assign, check_disjoint, split_pages, tally
from ml.training_sets import Task, build_examples
from resources.crawl import Crawl
from resources.harvest import POLICIES
from resources.importing import imported_articles
from resources.store import Store
from resources.warehouse import Warehouse

CORPUS, LEDGER, PAGE_SPLITS, TRAINING_SETS = "corpus", "split_ledger", "page_splits", "training_sets"


class CorpusConfig(dg.Config):
    """What a page must fulfil; the defaults are those of `CorpusRules`."""

    max_input_tokens: int = CorpusRules().max_input_tokens
    max_output_tokens: int = CorpusRules().max_output_tokens
    min_coverage: float = CorpusRules().min_coverage
    near_duplicate_threshold: float = CorpusRules().near_duplicate_threshold
    allow_disallowed_training: bool = CorpusRules().allow_disallowed_training


@dg.asset(
    deps=["articles"],
    group_name="corpus",
    kinds={"parquet", "duckdb"},
    metadata=definition_metadata(CorpusRow),
    description="Every article row of every publisher, kept or rejected with a named reason; near-copies across "
    "publishers are marked. One Parquet dataset that DuckDB queries: `newslm corpus query`.",
)
def corpus(config: CorpusConfig, crawl: Crawl, store: Store) -> dg.MaterializeResult:
    rows = build_corpus(
        _article_rows(crawl, store),
        rules=CorpusRules(**config.model_dump()),
        disallows_training=_objecting(crawl, store),
    )
    if not any(row.reason is None for row in rows):
        raise dg.Failure(
            _nothing_kept(rows), metadata={"retention": _retention_table(rows)}, allow_retries=False
        )
    version = store.replace(CORPUS, CorpusRow, rows)
    return dg.MaterializeResult(data_version=dg.DataVersion(version), metadata=_corpus_metadata(rows))


def _article_rows(crawl: Crawl, store: Store) -> Iterator[ArticleRow]:
    """Rows of the publishers that the source knows, and of imported datasets.

    What Fundus dropped stays in the store, unread.
    """
    for key in store.partitions(ARTICLES, "publisher"):
        if key in crawl.catalogue:
            yield from store.rows(ARTICLES, ArticleRow, publisher=key)
    yield from imported_articles(store)


def _objecting(crawl: Crawl, store: Store) -> frozenset[str]:
    """Publishers that disallow training, by Fundus' flag or by their robots.txt when last crawled."""
    flagged = {key for key in crawl.catalogue if crawl.catalogue.facts(key).disallows_training}
    policies = (
        policy
        for key in store.partitions(POLICIES, "publisher")
        for policy in store.rows(POLICIES, CrawlPolicy, publisher=key)
    )
    return frozenset(flagged | {policy.publisher for policy in policies if policy.disallows_training})


def _nothing_kept(rows: list[CorpusRow]) -> str:
    reasons = Counter(row.reason for row in rows).most_common(3)
    found = ", ".join(f"{count} {reason}" for reason, count in reasons) or "no article rows at all"
    return (
        f"the corpus would be empty: of {len(rows)} pages none was kept ({found}). Crawl and extract publishers "
        f"first (`newslm run`, or materialise raw_pages and articles), or loosen the corpus rules"
    )


def _retention_table(rows: list[CorpusRow]) -> dg.MarkdownMetadataValue:
    lines = retention(rows)
    return mapping_table(
        [
            {"publisher": each.publisher, "outcome": each.reason or "kept", "pages": each.count}
            for each in lines
        ]
    )


def _corpus_metadata(rows: list[CorpusRow]) -> dict[str, object]:
    kept = [row for row in rows if row.reason is None]
    reasons = Counter(row.reason or "kept" for row in rows)
    languages = Counter(row.language or "unknown" for row in kept)
    return {
        "dagster/row_count": len(rows),
        "kept": len(kept),
        "publishers": len({row.publisher for row in kept}),
        "near_duplicates_marked": sum(row.duplicate_of is not None for row in kept),
        "retention": mapping_table(
            [{"outcome": name, "pages": count} for name, count in reasons.most_common()]
        ),
        "retention_by_publisher": _retention_table(rows),
        "languages": picture(language_bars(languages)),
        "tokens": picture(
            token_histogram([row.input_tokens for row in kept], [row.text_tokens for row in kept])
        ),
        "outcomes": picture(reason_bars(reasons)),
    }


@dg.asset_check(
    asset=corpus, blocking=True, description="Kept plus rejected equals read, publisher by publisher."
)
def corpus_accounts_for_every_page(crawl: Crawl, store: Store, warehouse: Warehouse) -> dg.AssetCheckResult:
    read = Counter(row.publisher for row in _article_rows(crawl, store))
    faults = unaccounted(read, retention(store.rows(CORPUS, PageFacts)))
    total = warehouse.query("select count(*) as n from corpus")["n"][0].as_py()
    return dg.AssetCheckResult(
        passed=not faults and total == read.total(),
        metadata={
            "read": read.total(),
            "in_corpus": total,
            "faults": mapping_table([{"fault": f} for f in faults]),
        },
    )


class SplitConfig(dg.Config):
    """How much is held out; the defaults are the paper's, scaled down where the corpus is small."""

    validation_publishers: int = SplitSizes().validation_publishers
    test_publishers: int = SplitSizes().test_publishers
    pages_per_test_publisher: int = SplitSizes().pages_per_test_publisher
    seed: int = 42


@dg.asset(
    deps=[corpus],
    group_name="corpus",
    kinds={"parquet"},
    metadata=definition_metadata(PageSplit),
    description="Which pages train, validate and test. Whole publishers and whole template families; a ledger keeps "
    "each where it is when others come and go; near-copies of held-out pages leave training.",
)
def splits(config: SplitConfig, store: Store) -> dg.MaterializeResult:
    kept = _kept(store)
    sizes = SplitSizes(**config.model_dump(exclude={"seed"}))
    assignments = _assigned(kept, store, sizes, config.seed)
    pages = split_pages(kept, assignments, sizes=sizes, seed=config.seed)
    version = store.replace(PAGE_SPLITS, PageSplit, pages)
    publishers = Counter(line.split for line in assignments)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(version),
        metadata={
            "dagster/row_count": len(pages),
            "pages": mapping_table([{"fate": fate, "pages": count} for fate, count in tally(pages).items()]),
            "publishers": mapping_table([{"split": name, "publishers": n} for name, n in publishers.items()]),
            "ledger": record_table(assignments),
        },
    )


def _assigned(kept: list[PageFacts], store: Store, sizes: SplitSizes, seed: int) -> list[Assignment]:
    """The ledger with the corpus' publishers in it, written back before another run can read it."""
    with store.lock(LEDGER):
        ledger = list(store.rows(LEDGER, Assignment)) if store.version(LEDGER) else []
        assignments = assign(
            {row.publisher: row.family for row in kept},
            ledger,
            sizes=sizes,
            seed=seed,
            pages=Counter(row.publisher for row in kept),
        )
        store.replace(LEDGER, Assignment, assignments)
    return assignments


@dg.asset_check(
    asset=splits,
    blocking=True,
    description="No publisher, family or near-copy is in two splits; no page is lost.",
)
def splits_are_disjoint(store: Store) -> dg.AssetCheckResult:
    pages = list(store.rows(PAGE_SPLITS, PageSplit))
    faults = check_disjoint(_kept(store), pages, store.rows(LEDGER, Assignment))
    return dg.AssetCheckResult(
        passed=not faults,
        metadata={"pages": len(pages), "faults": mapping_table([{"fault": f} for f in faults])},
    )


def _kept(store: Store) -> list[PageFacts]:
    return [row for row in store.rows(CORPUS, PageFacts) if row.reason is None]


@dg.asset(
    deps=[splits, corpus],
    group_name="corpus",
    kinds={"parquet"},
    metadata=definition_metadata(Example),
    description="Training, validation and test examples of each task: the compact page in, plaintext or canonical "
    "JSON out.",
)
def training_sets(store: Store) -> dg.MaterializeResult:
    pages = list(store.rows(PAGE_SPLITS, PageSplit))
    versions = {
        task: store.replace(
            TRAINING_SETS, Example, build_examples(store.rows(CORPUS, CorpusRow), pages, task), task=task
        )
        for task in Task
    }
    counts = Counter(page.split for page in pages if page.split)
    return dg.MaterializeResult(
        data_version=dg.DataVersion("-".join(versions.values())),
        metadata={
            "dagster/row_count": counts.total(),
            "examples": mapping_table([{"split": name, "pages": count} for name, count in counts.items()]),
            "versions": dict(versions),
        },
    )
