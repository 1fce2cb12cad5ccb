"""`newslm corpus`: what the corpus holds, and its way in and out as a Hugging Face dataset.

Belongs here: questions about the corpus, and printing their answers. Does not belong here: building it
(`ml/corpus.py`), the dataset format (`ml/exchange.py`), where imports lie (`resources/importing.py`).
"""

import csv
import io
import math
import os
import shlex
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer
from rich.markup import escape
from rich.status import Status
from rich.table import Table
from rich.text import Text

from ml.exchange import CardFacts, Exported, export_dataset
from ml.records import CorpusRow
from pipeline.cli.console import (
    DEFAULT_HOME,
    FAILED,
    PARTLY_FAILED,
    AsJson,
    Home,
    clear_errors,
    err,
    out,
    plain_table,
    print_json,
    resources,
)
from resources.fundus.catalogue import Catalogue, demo_catalogue, fundus_catalogue, fundus_version
from resources.importing import ImportCount, import_into
from resources.store import Store
from resources.warehouse import Warehouse

CORPUS = "corpus"
SHOWN_ROWS, SHOWN_CHARACTERS = 50, 60

app = typer.Typer(help="What the corpus holds; export and import it as a dataset.", no_args_is_help=True)

# --- stats

TOTALS = """
    select count(*) as rows, count(*) filter (reason is null) as kept, count(*) filter (reason is not null) as rejected,
           count(*) filter (reason is null and duplicate_of is not null) as near_copies,
           count(distinct publisher) filter (reason is null) as publishers,
           count(distinct language) filter (reason is null) as languages,
           round(avg(target_coverage) filter (reason is null), 4) as mean_target_coverage
    from corpus"""
BY_REASON = """
    select coalesce(reason, 'kept') as outcome, count(*) as pages from corpus
    group by reason order by reason is not null, pages desc, outcome"""
BY_PUBLISHER = """
    select publisher, any_value(family) as family, count(*) filter (reason is null) as kept,
           count(*) filter (reason is not null) as rejected, mode(reason) as main_reason,
           cast(median(input_tokens) filter (reason is null) as bigint) as median_input_tokens
    from corpus group by publisher order by kept desc, publisher"""
BY_LANGUAGE = """
    select coalesce(language, 'unknown') as language, count(*) as pages, count(distinct publisher) as publishers,
           cast(median(input_tokens) as bigint) as median_input_tokens,
           cast(median(text_tokens) as bigint) as median_text_tokens
    from corpus where reason is null group by 1 order by pages desc, language"""
TOKENS = " union all ".join(
    f"""select '{what}' as tokens_of, cast(min({column}) as bigint) as least,
               cast(quantile_cont({column}, 0.5) as bigint) as median,
               cast(quantile_cont({column}, 0.9) as bigint) as p90,
               cast(quantile_cont({column}, 0.99) as bigint) as p99,
               cast(max({column}) as bigint) as most, cast(sum({column}) as bigint) as total
        from corpus where reason is null"""
    for what, column in (
        ("compact page", "input_tokens"),
        ("plaintext", "text_tokens"),
        ("json", "json_tokens"),
    )
)
QUESTIONS = {
    "by_reason": ("What was kept, and why not", BY_REASON),
    "by_publisher": ("Publishers", BY_PUBLISHER),
    "by_language": ("Languages, kept pages", BY_LANGUAGE),
    "tokens": ("SmolLM2 tokens, kept pages", TOKENS),
}
"""Title and query of every table below the totals; a new question is a new entry."""


@app.command("stats")
def stats(home: Home = Path(DEFAULT_HOME), as_json: AsJson = False) -> None:
    """What was kept and what was rejected, by reason, publisher and language; token quantiles."""
    with clear_errors():
        version = _require_corpus(_store(home))
        warehouse: Warehouse = resources(home, os.environ)["warehouse"]
        totals = warehouse.query(TOTALS).to_pylist()[0]
        answers = {name: warehouse.query(sql) for name, (_, sql) in QUESTIONS.items()}
        if as_json:
            tables = {name: answer.to_pylist() for name, answer in answers.items()}
            print_json({"version": version, **totals, **tables})
            return
        out.print(_totals_line(totals))
        for name, (title, _) in QUESTIONS.items():
            out.print()
            out.print(f"[bold]{title}[/bold]")
            out.print(_table(answers[name]))


def _totals_line(totals: dict[str, float]) -> str:
    coverage = totals["mean_target_coverage"]
    held = f"; the compact page holds {coverage:.1%} of the target's words" if coverage is not None else ""
    return (
        f"[bold]{totals['kept']:,}[/bold] pages kept of {totals['rows']:,}, of {totals['publishers']:,} publishers in "
        f"{totals['languages']:,} languages; {totals['near_copies']:,} of them near-copies of another{held}"
    )


# --- query


@app.command("query")
def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="DuckDB's SQL.")],
    home: Home = Path(DEFAULT_HOME),
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, every row in full.")] = False,
) -> None:
    """Ask the corpus in SQL: the tables are corpus, page_splits, scores, as far as they exist.

    \b
    newslm corpus query "describe corpus"
    newslm corpus query "select publisher, count(*) from corpus group by 1"
    newslm corpus query --csv "select url, detail from corpus
                               where reason = 'low_coverage'" > low.csv

    The table for people shows at most 50 rows, cells cut short; --json and --csv
    print everything.
    """
    if as_json and as_csv:
        raise typer.BadParameter("give --json or --csv, not both")
    with clear_errors():
        answer = resources(home, os.environ)["warehouse"].query(sql)
        if as_json:
            print_json(_finite(answer.to_pylist()))
        elif as_csv:
            typer.echo(_csv(answer), nl=False)
        else:
            out.print(_table(answer.slice(0, SHOWN_ROWS)))
            if (more := answer.num_rows - SHOWN_ROWS) > 0:
                err.print(f"[dim]… {more:,} more rows; --json or --csv prints all of them[/dim]")


def _finite(value: object) -> object:
    """The value with None for what JSON has no word for: NaN and the infinities."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return {key: _finite(each) for key, each in value.items()} if isinstance(value, dict) else value


def _csv(answer: pa.Table) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(answer.column_names)
    writer.writerows(zip(*(column.to_pylist() for column in answer.columns), strict=True))
    return text.getvalue()


def _table(answer: pa.Table) -> Table:
    """An answer as a table: numbers to the right, long cells cut."""
    table = plain_table()
    for field in answer.schema:
        is_number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        table.add_column(escape(field.name), justify="right" if is_number else "left")
    for row in zip(*(column.to_pylist() for column in answer.columns), strict=True):
        table.add_row(*map(_cell, row))
    return table


def _cell(value: object) -> Text:
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
    line = "–" if value is None else " ".join(text.split())
    return Text(line if len(line) <= SHOWN_CHARACTERS else f"{line[:SHOWN_CHARACTERS]}…")


# --- export and import


@app.command("export")
def export(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.")],
    home: Home = Path(DEFAULT_HOME),
    as_json: AsJson = False,
) -> None:
    """Write the kept pages as a Hugging Face dataset with a dataset card.

    Its columns are those of the published fundus-cleaned-filtered-62K: html (the
    compact page), plaintext, json, url, publisher, language.
    """
    with clear_errors():
        store = _store(home)
        facts = CardFacts(
            name=directory.resolve().name,
            corpus_version=_require_corpus(store),
            fundus_version=fundus_version(),
            made_on=datetime.now(UTC).date(),
        )
        exported = export_dataset(store.rows(CORPUS, CorpusRow), directory, facts=facts)
        if as_json:
            print_json(
                {
                    "directory": str(directory.resolve()),
                    "corpus_version": facts.corpus_version,
                    **vars(exported),
                }
            )
        else:
            _print_exported(exported, directory)


def _print_exported(exported: Exported, directory: Path) -> None:
    files = "1 Parquet file" if exported.shards == 1 else f"{exported.shards:,} Parquet files"
    out.print(
        f"Wrote [bold]{exported.rows:,}[/bold] pages of {len(exported.publishers):,} publishers in "
        f"{len(exported.languages):,} languages as {files}, with a dataset card"
    )
    if exported.left_out:
        out.print(f"Left out, being rejected  {_counts(exported.left_out)}")
    out.print("\nLoad it in Python:\n")
    out.print("    from datasets import load_dataset")
    out.print(f"    load_dataset({str(directory.resolve())!r}, split='train')", soft_wrap=True, markup=False)


@app.command("import")
def import_(
    source: Annotated[Path, typer.Argument(metavar="DIR", help="A dataset folder, or one of its files.")],
    home: Home = Path(DEFAULT_HOME),
    as_json: AsJson = False,
) -> None:
    """Bring a dataset with the published columns into the store: Parquet, Arrow or JSONL.

    Imported again, a folder replaces what it brought before. Pages of publishers
    that Fundus knows count as theirs; the corpus filters apply to imported pages
    as to crawled ones.

    Exit code 1: no row could be read. 3: some could not.
    """
    with clear_errors():
        with err.status("reading rows") as status:
            imported = import_into(_store(home), _every_publisher(), source, on_row=_counter(status))
        if as_json:
            print_json({**vars(imported), "home": str(home)})
        else:
            _print_imported(imported, home)
    if imported.failed:
        raise typer.Exit(PARTLY_FAILED if imported.kept_rows else FAILED)


def _counter(status: Status) -> Callable[[], None]:
    """Shows how many rows have been read, at each hundredth of them."""
    rows = count(1)

    def on_row() -> None:
        if (number := next(rows)) % 100 == 0:
            status.update(f"reading rows: {number:,}")

    return on_row


def _print_imported(imported: ImportCount, home: Path) -> None:
    out.print(
        f"Imported [bold]{imported.kept_rows:,}[/bold] of {imported.read:,} rows into {home}", soft_wrap=True
    )
    if imported.failed:
        out.print(f"Could not be read  {_counts(imported.failed)}")
    out.print("\nThey join the corpus when it is built again, by the next run:\n")
    out.print(f"    newslm run --source … --home {shlex.quote(str(home))}", soft_wrap=True, markup=False)
    out.print("\nor by materialising `corpus` in the Dagster UI (newslm dev)")


# --- shared


def _store(home: Path) -> Store:
    return resources(home, os.environ)["store"]


def _require_corpus(store: Store) -> str:
    """The corpus' version; raises `RuntimeError` where there is none yet."""
    if version := store.version(CORPUS):
        return version
    raise RuntimeError(
        f"there is no corpus in {store.uri} yet: `newslm run` builds one, and --home names the folder of another"
    )


def _every_publisher() -> Catalogue:
    """Fundus' publishers and the demo newsroom's: a dataset may come from a corpus of either."""
    return Catalogue([*fundus_catalogue().values(), *demo_catalogue().values()])


def _counts(by_name: Mapping[str, int]) -> str:
    return ", ".join(
        f"{name} {number:,}" for name, number in sorted(by_name.items(), key=lambda item: -item[1])
    )
