"""`newslm run`: the whole job once, with progress.

Belongs here: options, progress and the closing summary. Does not belong here: the job (`whole_job.py`).
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from ml.backbones import require_lm_extra
from ml.baselines.registry import BASELINES
from ml.experiments import EXPERIMENTS, TASKS
from ml.extras import install_command
from ml.intervals import Summary, summarise
from ml.records import Score
from ml.zero_shot.registry import ZERO_SHOT
from pipeline import environment
from pipeline.cli.console import (
    DEFAULT_HOME,
    FAILED,
    PARTLY_FAILED,
    AsJson,
    Home,
    clear_errors,
    err,
    out,
    print_json,
    settings,
)
from pipeline.cli.score_table import score_table
from pipeline.instance import open_instance, prepare_home, register_publishers
from pipeline.whole_job import BASELINES as BASELINES_STAGE
from pipeline.whole_job import CORPUS, CRAWL, EVALUATION, TRAINING, Outcome, Step, execute, plan
from pipeline.whole_job import ZERO_SHOT as ZERO_SHOT_STAGE
from resources.crawl import MAX_PAGES, Crawl, SourceName
from resources.harvest import RAW_PAGES
from resources.sources import CCNEWS_SERVER
from resources.store import Store
from resources.test_set import REPORT_FILE

VARIABLES = environment.CRAWL_SETTINGS
DEFAULT_EXPERIMENTS = ("block-model", "tiny-plaintext", "tiny-json")


def run(
    source: Annotated[
        SourceName, typer.Option(envvar=VARIABLES["source"], help="Where pages come from.")
    ] = "demo",
    home: Home = Path(DEFAULT_HOME),
    publishers: Annotated[
        str | None, typer.Option(help="Keys of the publishers to crawl, comma-separated; all if left out.")
    ] = None,
    limit: Annotated[
        int,
        typer.Option(min=1, envvar=VARIABLES["max_pages"], help="Pages to keep of each publisher at most."),
    ] = MAX_PAGES,
    ccnews_server: Annotated[
        str,
        typer.Option(envvar=VARIABLES["ccnews_server"], help="ccnews: the server that holds the archive."),
    ] = CCNEWS_SERVER,
    start: Annotated[
        datetime | None,
        typer.Option(envvar=VARIABLES["ccnews_start"], help="ccnews: first day of the WARC files."),
    ] = None,
    end: Annotated[
        datetime | None,
        typer.Option(envvar=VARIABLES["ccnews_end"], help="ccnews: last day; now if left out."),
    ] = None,
    archive: Annotated[
        Path | None,
        typer.Option(
            envvar=VARIABLES["archive_path"], help="archive: a WARC file, or a folder of WARC or HTML."
        ),
    ] = None,
    experiment: Annotated[
        list[str] | None,
        typer.Option(
            help="What to train; repeat for several, `none` for nothing. See `newslm models experiments`."
        ),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            help="Published extractors to compare with; repeat for several, `none` for none. All that are installed "
            "if left out."
        ),
    ] = None,
    zero_shot: Annotated[
        list[str] | None,
        typer.Option(
            help="Language models to compare with as they are; repeat for several. See `newslm models zero-shot`."
        ),
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option(
            envvar=environment.EVALUATION_SETTINGS["gold_folder"],
            exists=True,
            file_okay=False,
            help="A folder of annotated pages with a manifest.jsonl, to evaluate on as well.",
        ),
    ] = None,
    crawl_disallowing_training: Annotated[
        bool,
        typer.Option(
            envvar=VARIABLES["crawl_disallowing_training"],
            help="Crawl publishers that object to training, too; they still never train.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Crawl, build the corpus, train, evaluate, register and report: the whole job once.

    Can be stopped at any time and started again: what is stored stays, what is finished is not repeated.

    \b
    newslm run                                            the demo newsroom, nothing to prepare
    newslm run --source web --publishers DieZeit,TheGuardian --limit 50
    newslm run --source ccnews --start 2024-03-01 --end 2024-03-02
    newslm run --source archive --archive crawl.warc.gz

    Exit code 1: no report came out. 3: it did, but a publisher or an extractor failed.
    """
    with clear_errors():
        variables = settings(
            home,
            gold_folder=gold.resolve() if gold else None,
            source=source,
            max_pages=limit,
            crawl_disallowing_training=crawl_disallowing_training,
            ccnews_server=ccnews_server,
            ccnews_start=start.isoformat() if start else None,
            ccnews_end=end.isoformat() if end else None,
            archive_path=archive.resolve() if archive else None,
        )
        experiments = _experiments(experiment)
        baselines = _baselines(baseline)
        language_models = _known(zero_shot or (), ZERO_SHOT, "language model")
        prepare_home(variables)
        parts = environment.resources(os.environ)
        keys = _chosen(parts["crawl"], publishers)
        outcomes = _execute(parts, keys, baselines, experiments, language_models)
    _finish(outcomes, home, as_json)


def _chosen(crawl: Crawl, publishers: str | None) -> list[str]:
    """The keys to crawl; raises `ValueError` for one that the source does not know."""
    catalogue = crawl.catalogue
    if publishers is None:
        return [
            key
            for key in catalogue
            if not catalogue.facts(key).deprecated or crawl.source in ("ccnews", "archive")
        ]
    keys = [key.strip() for key in publishers.split(",") if key.strip()]
    if not keys:
        raise ValueError("--publishers names no publisher; leave it out to crawl all")
    for key in keys:
        catalogue[key]
    return keys


def _baselines(names: Sequence[str] | None) -> list[str]:
    """The baselines to compare with; of all, those whose library is here, saying how to get the others."""
    if names:
        chosen = _known([name for name in names if name != "none"], BASELINES, "baseline")
        for name in chosen:
            BASELINES[name].require_installed()
        return chosen
    missing = [name for name, baseline in BASELINES.items() if baseline.version is None]
    if missing:
        err.print(
            f"not compared with {', '.join(missing)}: {escape(install_command('baselines'))}", soft_wrap=True
        )
    return [name for name in BASELINES if name not in missing]


def _experiments(names: Sequence[str] | None) -> list[str]:
    """The experiments to train; raises where one is unknown or the language-model extra is missing."""
    chosen = [name for name in (names or DEFAULT_EXPERIMENTS) if name != "none"]
    if EXPERIMENTS.keys() & chosen:
        require_lm_extra()
    return _known(chosen, TASKS, "experiment")


def _known(names: Sequence[str], there_are: Iterable[str], kind: str) -> list[str]:
    if unknown := [name for name in names if name not in set(there_are)]:
        raise ValueError(f"unknown {kind} {', '.join(unknown)}; expected {', '.join(there_are)}")
    return list(names)


def _execute(
    parts: environment.Resources,
    keys: Sequence[str],
    baselines: Sequence[str],
    experiments: Sequence[str],
    zero_shot: Sequence[str],
) -> list[Outcome]:
    from pipeline.definitions import defs

    crawl, store = parts["crawl"], parts["store"]
    instance = open_instance()
    register_publishers(instance, keys)

    def has_pages(key: str) -> bool:
        return any(store.folder(RAW_PAGES, publisher=key).glob("*.parquet"))

    visits = crawl.opened().visits_publishers
    steps = plan(keys, experiments, baselines, zero_shot, has_pages=None if visits else has_pages)
    totals = {
        CRAWL: len(keys),
        CORPUS: 1,
        BASELINES_STAGE: len(baselines),
        ZERO_SHOT_STAGE: len(zero_shot),
        TRAINING: len(experiments),
        EVALUATION: int(bool(baselines or experiments or zero_shot)),
    }
    outcomes = []
    with _progress(totals) as (on_start, on_end):
        for outcome in execute(defs(), instance, steps, source=crawl.source, on_start=on_start):
            on_end(outcome)
            outcomes.append(outcome)
    return outcomes


@contextmanager
def _progress(
    totals: Mapping[str, int],
) -> Iterator[tuple[Callable[[Step], None], Callable[[Outcome], None]]]:
    """Bars on a terminal, a line per step elsewhere; failures are told at once in both."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:<30}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[now]}"),
    )
    with Progress(*columns, console=err, disable=not err.is_terminal) as progress:
        tasks = {
            stage: progress.add_task(stage, total=n, start=False, now="") for stage, n in totals.items() if n
        }

        def on_start(step: Step) -> None:
            # A stage is over when another starts, however many steps it took.
            for stage, task in tasks.items():
                if stage != step.stage and progress.tasks[task].started:
                    progress.update(task, total=progress.tasks[task].completed)
                    progress.stop_task(task)
            progress.start_task(tasks[step.stage])
            progress.update(tasks[step.stage], now=step.partition or "")

        def on_end(outcome: Outcome) -> None:
            step = outcome.step
            progress.update(tasks[step.stage], advance=1, now="")
            if faults := _faults(outcome):
                err.print(f"[yellow]left unread[/yellow]\n{escape(faults)}", soft_wrap=True)
            if outcome.error:
                where = f"{step.stage} {step.partition or ''}".strip()
                err.print(f"[red]failed[/red] {where}: {escape(outcome.error)}", soft_wrap=True)
            elif not err.is_terminal:
                err.print(_line(outcome), soft_wrap=True)

        yield on_start, on_end


def _faults(outcome: Outcome) -> str:
    """What an archive could not be read of, one fault a line; empty where all was well."""
    return str(outcome.facts.get("raw_pages", {}).get("faults", ""))


def _line(outcome: Outcome) -> str:
    """What a step did, in a line."""
    pages, step = outcome.facts.get("raw_pages", {}), outcome.step
    done = f"{step.stage} {step.partition or ''}".strip() + f": {outcome.seconds:.1f} s"
    if reason := pages.get("not_crawled"):
        return f"{done}, not crawled: {reason}"
    if pages:
        extracted = outcome.facts["articles"]["extracted"]
        return f"{done}, {pages['dagster/row_count']} pages stored, {pages['new_pages']} new, {extracted} extracted"
    return done


def _finish(outcomes: Sequence[Outcome], home: Path, as_json: bool) -> None:
    """Print what came out and leave with the exit code that says it."""
    failed = [outcome for outcome in outcomes if outcome.error]
    finished = outcomes[-1].step.needed and not outcomes[-1].error
    evaluated = finished and outcomes[-1].step.stage == EVALUATION
    store = environment.resources(os.environ)["store"]
    summaries = summarise(store.rows("scores", Score)) if evaluated else []
    if as_json:
        print_json(
            {
                "home": str(home),
                "report": str(store.root / REPORT_FILE) if evaluated else None,
                "scores": [asdict(summary) for summary in summaries],
                "failed": [{**asdict(outcome.step), "error": outcome.error} for outcome in failed],
                "seconds": {stage: round(total, 1) for stage, total in _stage_seconds(outcomes).items()},
            }
        )
    else:
        _print_summary(outcomes, summaries, store, home, finished=finished)
    if not finished:
        raise typer.Exit(FAILED)
    if failed or not evaluated or any(_faults(outcome) for outcome in outcomes):
        raise typer.Exit(PARTLY_FAILED)


def _print_summary(
    outcomes: Sequence[Outcome], summaries: Sequence[Summary], store: Store, home: Path, *, finished: bool
) -> None:
    timing = Table(title="Time", title_justify="left")
    timing.add_column("stage")
    timing.add_column("seconds", justify="right")
    for stage, seconds in _stage_seconds(outcomes).items():
        timing.add_row(stage, f"{seconds:.1f}")
    out.print(timing)
    if not finished:
        err.print(
            "[bold red]no report came out:[/bold red] see the failures above; the UI has their stack traces"
        )
        return
    if not summaries:
        out.print("The corpus is built, see `newslm corpus stats`; nothing was there to be evaluated.")
        return
    out.print(score_table(summaries))
    if any(summary.extractor.startswith("tiny-") for summary in summaries):
        out.print(
            "[dim]tiny-* are random networks trained for seconds: they prove the pipeline and extract nothing.[/dim]"
        )
    program = "newslm" if shutil.which("newslm") else sys.argv[0]
    dev = f"{program} dev" if home == Path(DEFAULT_HOME) else f"{program} dev --home {home}"
    out.print(f"\nReport        {store.root / REPORT_FILE}", soft_wrap=True)
    out.print(f"Dagster UI    {dev}, then http://127.0.0.1:3000", soft_wrap=True)
    out.print(f"MLflow UI     {dev}, then http://127.0.0.1:5000", soft_wrap=True)


def _stage_seconds(outcomes: Sequence[Outcome]) -> dict[str, float]:
    seconds: dict[str, float] = {}
    for outcome in outcomes:
        seconds[outcome.step.stage] = seconds.get(outcome.step.stage, 0.0) + outcome.seconds
    return seconds
