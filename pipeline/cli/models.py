"""`newslm models`: what the registry holds, and what can be trained.

Belongs here: listing. Does not belong here: training or promoting.
"""

import os
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.table import Table

from ml.backbones import BACKBONES
from ml.experiments import EXPERIMENTS
from pipeline.cli.console import DEFAULT_HOME, AsJson, Home, clear_errors, err, out, print_json, resources

app = typer.Typer(help="Trained models and the experiments that make them.", no_args_is_help=True)


@app.command("list")
def list_models(home: Home = Path(DEFAULT_HOME), as_json: AsJson = False) -> None:
    """Every registered version: its aliases, its validation perplexity, what it was trained on."""
    with clear_errors():
        tracking = resources(home, os.environ)["tracking"]
        versions = tracking.versions()
    if as_json:
        print_json([vars(version) for version in versions])
        return
    if not versions:
        err.print("no model is registered yet; `newslm run` trains and registers two small ones")
        return
    table = Table(title=f"Models at {tracking.tracking_uri}", title_justify="left")
    for name in ("model", "version", "aliases", "validation perplexity", "corpus", "registered"):
        table.add_column(name, justify="right" if name in ("version", "validation perplexity") else "left")
    for version in versions:
        table.add_row(
            version.name,
            version.version,
            ", ".join(version.aliases),
            f"{version.validation_perplexity:.2f}" if version.validation_perplexity else "–",
            version.tags.get("corpus_version", "–"),
            datetime.fromtimestamp(version.created_s, tz=UTC).strftime("%Y-%m-%d %H:%M"),
        )
    out.print(table)


@app.command("experiments")
def experiments(as_json: AsJson = False) -> None:
    """The experiments that `newslm run --experiment NAME` trains."""
    if as_json:
        print_json({name: experiment.model_dump() for name, experiment in EXPERIMENTS.items()})
        return
    table = Table(title="Experiments", title_justify="left")
    for name in ("experiment", "backbone", "licence", "task", "steps", "SimCTG"):
        table.add_column(name, justify="right" if name == "steps" else "left")
    for name, experiment in EXPERIMENTS.items():
        simctg = "yes" if experiment.contrastive_weight else "no"
        licence = BACKBONES[experiment.backbone].licence
        table.add_row(
            name, experiment.backbone, licence, experiment.task, f"{experiment.max_steps:,}", simctg
        )
    out.print(table)
