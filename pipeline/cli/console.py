"""What all commands share: where they write, how they fail, and where the home is.

Belongs here: the consoles, exit codes, the error boundary and the `--home` option. Does not belong here:
anything that one command does.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipeline import environment

FAILED, PARTLY_FAILED = 1, 3
"""Exit codes beside 0 and typer's 2 for wrong usage: nothing came out, or something is missing from it."""

PIPED_WIDTH = 160
"""Columns of a table that goes to a file or a pipe, which have no width of their own."""

out = Console(highlight=False, width=None if sys.stdout.isatty() else PIPED_WIDTH)
err = Console(stderr=True, highlight=False)

DEFAULT_HOME = ".newslm"

Home = Annotated[
    Path,
    typer.Option(
        envvar=environment.HOME, help="The folder that holds the store, models, MLflow and Dagster."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@contextmanager
def clear_errors() -> Iterator[None]:
    """Print the message of an expected failure and leave with exit code 1; a bug keeps its traceback."""
    try:
        yield
    except BrokenPipeError as gone:
        leave_quietly()
        raise typer.Exit from gone
    except (ValueError, RuntimeError, OSError) as error:
        complain("error", error)
        raise typer.Exit(FAILED) from error


def complain(kind: Literal["error", "warning"], message: object) -> None:
    """One line on standard error; the message is printed as it is, `[lm]` and all."""
    colour = "red" if kind == "error" else "yellow"
    err.print(f"[bold {colour}]{kind}:[/bold {colour}] {escape(str(message))}", soft_wrap=True)


def leave_quietly() -> None:
    """The reader of standard output (`| head`) has enough: let Python's last flush go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def plain_table() -> Table:
    """A table with a line under its head and no box: it stays readable where a terminal is narrow."""
    return Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)


def print_json(value: object) -> None:
    """One JSON document on standard output, nothing else around it."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def settings(home: Path, **values: object) -> dict[str, str]:
    """Environment variables for a home and the settings that are given."""
    names = environment.CRAWL_SETTINGS | environment.EVALUATION_SETTINGS
    given = {names[field]: str(value) for field, value in values.items() if value is not None}
    return {environment.HOME: str(home), **given}


def resources(home: Path, inherited: Mapping[str, str]) -> environment.Resources:
    """The pipeline's resources for a home, other settings from the environment."""
    return environment.resources({**inherited, environment.HOME: str(home)})
