"""`newslm models`: what the registry holds, what can be trained, and who is champion.

Belongs here: listing, comparing, and asking for a promotion or a rollback. Does not belong here: training, or
deciding (`resources/promotion.py`).
"""

import getpass
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from ml.backbones import BACKBONES
from ml.experiments import BLOCK_MODELS, EXPERIMENTS
from ml.metrics.registry import METRICS
from ml.promotion import Comparison, Decision, Verdict, difference, number
from ml.training_sets import Task
from ml.zero_shot.registry import ZERO_SHOT
from pipeline.cli.console import (
    DEFAULT_HOME,
    FAILED,
    AsJson,
    Home,
    clear_errors,
    complain,
    err,
    out,
    plain_table,
    print_json,
    resources,
)
from resources.promotion import Gate
from resources.registered import RegisteredVersion, champion_of, holders_of, named_version, task_of

app = typer.Typer(help="Trained models and the experiments that make them.", no_args_is_help=True)

NAMES = "MODEL/VERSION, MODEL@ALIAS, or MODEL for its newest version"
COLOURS = {Verdict.BETTER: "green", Verdict.WORSE: "red"}

Version = Annotated[str, typer.Argument(help=f"{NAMES}.", metavar="VERSION")]
AskedBy = Annotated[
    str | None, typer.Option(help="Who asks, as it is recorded; the user of this machine if left out.")
]


@app.command("list")
def list_models(home: Home = Path(DEFAULT_HOME), as_json: AsJson = False) -> None:
    """Every registered version: its aliases, its validation perplexity, what it was trained on, what became of it."""
    with clear_errors():
        tracking = resources(home, os.environ)["tracking"]
        versions = tracking.versions()
        rows = [_listed(version) for version in versions]
        _warn_of_two_champions(versions)
    if as_json:
        print_json([vars(version) | {"task": version.task} for version in versions])
        return
    if not versions:
        err.print("no model is registered yet; `newslm run` trains and registers two small ones")
        return
    table = Table(title=f"Models at {tracking.tracking_uri}", title_justify="left")
    for name in (
        "model",
        "version",
        "task",
        "aliases",
        "validation perplexity",
        "corpus",
        "registered",
        "last decision",
    ):
        table.add_column(name, justify="right" if name in ("version", "validation perplexity") else "left")
    for row in rows:
        table.add_row(*row)
    out.print(table)


def _listed(version: RegisteredVersion) -> list[str]:
    last = version.history[-1] if version.history else None
    return [
        version.name,
        version.version,
        version.task or "–",
        ", ".join(version.aliases),
        f"{version.validation_perplexity:.2f}" if version.validation_perplexity else "–",
        version.tags.get("corpus_version", "–"),
        _minute(datetime.fromtimestamp(version.created_s, tz=UTC)),
        f"{last.kind} {_minute(last.at)} by {last.asked_by}" if last else "–",
    ]


def _minute(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M")


def _warn_of_two_champions(versions: Sequence[RegisteredVersion]) -> None:
    for task in Task:
        holders, champion = holders_of(versions, task), champion_of(versions, task)
        if champion and len(holders) > 1:
            complain(
                "warning",
                f"{' and '.join(version.label for version in holders)} are both named champion of {task}: a promotion "
                f"was stopped half way. {champion.label} counts; the next promotion or rollback mends it",
            )


@app.command("compare")
def compare(
    first: Annotated[str, typer.Argument(help=f"{NAMES}.", metavar="A")],
    second: Annotated[str, typer.Argument(help="The version that the differences are from.", metavar="B")],
    home: Home = Path(DEFAULT_HOME),
    as_json: AsJson = False,
) -> None:
    """Two versions on the same held-out pages, in every headline metric, with intervals by publisher.

    A version that has not answered the current pages answers them first. Models of different tasks are compared by
    their text.
    """
    with clear_errors():
        gate = _gate(home)
        versions = gate.tracking.versions()
        pair = [named_version(versions, name) for name in (first, second)]
        _announce(gate, pair)
        rows = gate.compare(*pair)
    if as_json:
        print_json(
            {
                "a": pair[0].label,
                "b": pair[1].label,
                **_made_from(gate),
                "comparison": list(map(asdict, rows)),
            }
        )
        return
    out.print(_comparison_table(rows))


@app.command("promote")
def promote(
    version: Version,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Decide, but change and record nothing.")
    ] = False,
    asked_by: AskedBy = None,
    home: Home = Path(DEFAULT_HOME),
    as_json: AsJson = False,
) -> None:
    """Make a version champion of its task, if it is not worse than the present one.

    Refused where any headline metric is worse beyond its interval, where it is more ungrounded, and where fewer of
    its outputs are valid JSON. Either way the decision, its numbers and who asked are recorded on the version.

    Exit code 1: refused.
    """
    with clear_errors():
        gate = _gate(home)
        candidate = gate.tracking.version(version)
        rival = gate.tracking.champion(task_of(candidate))
        _announce(gate, [candidate, *([rival] if rival else [])])
        decision = gate.decide(candidate)
        if not dry_run:
            gate.settle(decision, _asker(asked_by))
        champions = _champions(gate)
    if as_json:
        print_json(
            {
                "candidate": decision.candidate,
                "compared_with": decision.champion,
                "decision": decision.verdict,
                "reasons": decision.reasons,
                "basis": decision.basis,
                "recorded": not dry_run,
                **_made_from(gate),
                "comparison": [asdict(row) for row in decision.rows],
                "champions": champions,
            }
        )
    else:
        _print_decision(decision, champions, dry_run=dry_run)
    if not decision.accepted:
        raise typer.Exit(FAILED)


@app.command("rollback")
def rollback(
    task_or_model: Annotated[
        str, typer.Argument(help=f"A task ({', '.join(Task)}), or a model of it.", metavar="TASK")
    ],
    asked_by: AskedBy = None,
    home: Home = Path(DEFAULT_HOME),
    as_json: AsJson = False,
) -> None:
    """Make the version champion again that was before the present one; once more goes further back."""
    with clear_errors():
        gate = _gate(home)
        is_task = task_or_model in set(Task)
        task = task_or_model if is_task else task_of(gate.tracking.version(task_or_model))
        event = gate.tracking.rollback(task, _asker(asked_by))
        champions = _champions(gate)
    if as_json:
        print_json(
            {
                **event.model_dump(mode="json", include={"task", "version", "asked_by", "at"}),
                "withdrawn": event.champion,
                "champions": champions,
            }
        )
        return
    out.print(f"{event.version} is champion of {task} again, {event.champion} is not any more")
    _print_champions(champions)


def _gate(home: Path) -> Gate:
    parts = resources(home, os.environ)
    return Gate(parts["store"], parts["tracking"], parts["trainer"])


def _asker(asked_by: str | None) -> str:
    return asked_by or getpass.getuser()


def _announce(gate: Gate, versions: Iterable[RegisteredVersion]) -> None:
    """Say what may take long."""
    for version in versions:
        if pages := gate.unanswered(version):
            err.print(f"{version.label} has yet to answer {pages} held-out pages, and does so now")


def _made_from(gate: Gate) -> dict[str, str]:
    return gate.evidence.model_dump()


def _champions(gate: Gate) -> dict[str, str | None]:
    """The champion of each task, as the registry has it now."""
    versions = gate.tracking.versions()
    champions = {task: champion_of(versions, task) for task in Task}
    return {task: version.label if version else None for task, version in champions.items()}


def _print_decision(decision: Decision, champions: dict[str, str | None], *, dry_run: bool) -> None:
    out.print(_comparison_table(decision.rows))
    out.print(f"\n{decision.basis[0].upper()}{decision.basis[1:]}.")
    if decision.accepted:
        verb = "would become" if dry_run else "is now"
        out.print(
            f"[bold green]accepted[/bold green]  {decision.candidate} {verb} champion of {decision.task}"
        )
    else:
        out.print(
            f"[bold red]refused[/bold red]  {decision.candidate} does not become champion of {decision.task}:"
        )
        for reason in decision.reasons:
            out.print(f"  {reason}", soft_wrap=True)
    out.print(
        "nothing was recorded (--dry-run)" if dry_run else f"recorded on {decision.candidate} in MLflow"
    )
    _print_champions(champions)


def _print_champions(champions: dict[str, str | None]) -> None:
    named = ", ".join(f"{task}: {label or 'none'}" for task, label in champions.items())
    out.print(f"champions  {named}", soft_wrap=True)


def _comparison_table(rows: Sequence[Comparison]) -> Table:
    table = plain_table()
    table.add_column("metric")
    for name in (rows[0].candidate, rows[0].champion or "no champion", "difference and 95% interval"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    for row in rows:
        colour = COLOURS.get(Verdict(row.verdict), "default")
        verdict = f"[{colour}]{row.verdict}[/{colour}]{', refuses' if row.refusal else ''}"
        table.add_row(
            METRICS[row.metric].label,
            number(row.candidate_mean),
            number(row.champion_mean),
            difference(row).replace("[", r"\["),
            verdict,
        )
    return table


@app.command("zero-shot")
def zero_shot(as_json: AsJson = False) -> None:
    """The language models that `newslm run --zero-shot NAME` asks as they are."""
    rows = {
        name: {"weights": model.source, "licence": model.licence, "task": task, "notice": model.notice}
        for name, (model, task) in ZERO_SHOT.items()
    }
    if as_json:
        print_json(rows)
        return
    table = Table(title="Zero-shot language models", title_justify="left")
    for name in ("name", "weights", "licence", "task"):
        table.add_column(name)
    for name, row in rows.items():
        table.add_row(name, row["weights"], row["licence"], row["task"])
    out.print(table)


@app.command("experiments")
def experiments(as_json: AsJson = False) -> None:
    """The experiments that `newslm run --experiment NAME` trains."""
    if as_json:
        there_are = {**BLOCK_MODELS, **EXPERIMENTS}
        print_json({name: experiment.model_dump() for name, experiment in there_are.items()})
        return
    table = Table(title="Experiments", title_justify="left")
    for name in ("experiment", "backbone", "licence", "task", "steps", "SimCTG"):
        table.add_column(name, justify="right" if name == "steps" else "left")
    for name, block_model in BLOCK_MODELS.items():
        table.add_row(name, "none: trees over blocks", "Apache-2.0", block_model.task, "–", "–")
    for name, experiment in EXPERIMENTS.items():
        simctg = "yes" if experiment.contrastive_weight else "no"
        licence = BACKBONES[experiment.backbone].licence
        table.add_row(
            name, experiment.backbone, licence, experiment.task, f"{experiment.max_steps:,}", simctg
        )
    out.print(table)
