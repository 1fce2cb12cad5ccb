"""`newslm`, the command line: what it can do, one file per group of commands.

Belongs here: the app and its parts. Does not belong here: any command's body.
"""

from importlib import import_module

import click
import typer
from typer.core import TyperGroup

COMMANDS = ("run", "extract", "page", "corpus", "models", "report", "score", "publishers", "doctor", "dev")
"""Modules of this package: each has a group `app`, or a function of its own name."""


class _Commands(TyperGroup):
    """Imports a command when it is called: one that reads a page need not wait for Dagster."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"pipeline.cli.{cmd_name}")
        group = getattr(module, "app", None) or typer.Typer(rich_markup_mode="rich")
        if not hasattr(module, "app"):
            group.command(cmd_name)(getattr(module, cmd_name))
        command = typer.main.get_command(group)
        command.name = cmd_name
        return command


app = typer.Typer(
    name="newslm",
    cls=_Commands,
    help="Turn news pages into clean articles: extract them, or crawl, build a corpus, train, evaluate, register.\n\n"
    "Start with [bold]newslm extract PAGE[/bold], with [bold]newslm run[/bold], which does the whole job on a small "
    "newsroom that ships with the product, and with [bold]newslm doctor[/bold], which says what works on this machine.",
    rich_markup_mode="rich",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _newslm() -> None:
    pass
