"""`newslm`, the command line: what it can do, one file per group of commands.

Belongs here: the app and its parts. Does not belong here: any command's body.
"""

import typer

from pipeline.cli import corpus, dev, doctor, models, page, publishers, report, run, score

app = typer.Typer(
    name="newslm",
    help="Turn news pages into clean articles: crawl, build a corpus, train, evaluate, register.\n\n"
    "Start with [bold]newslm run[/bold], which does all of it on a small newsroom that ships with the product, "
    "and [bold]newslm doctor[/bold], which says what works on this machine.",
    rich_markup_mode="rich",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("run")(run.run)
app.command("page")(page.page)
app.add_typer(corpus.app, name="corpus")
app.add_typer(models.app, name="models")
app.command("report")(report.report)
app.command("score")(score.score)
app.command("publishers")(publishers.publishers)
app.command("doctor")(doctor.doctor)
app.command("dev")(dev.dev)
