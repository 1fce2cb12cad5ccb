"""The evaluation report: what a person reads to decide on a model, as one HTML file or as Markdown.

Belongs here: rendering the templates. Does not belong here: what the report is given (`inputs.py`), what it
shows (`view.py`), its data as files (`data.py`), or markup (`templates/`).
"""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ml.report.inputs import ReportInput
from ml.report.view import View

_TEMPLATES = Path(__file__).parent / "templates"


def render_html(report: ReportInput) -> str:
    """One self-contained file: no script, no network, every text of a page or model escaped."""
    style = Markup((_TEMPLATES / "report.css").read_text(encoding="utf-8"))
    template = _environment(autoescape=True).get_template("report.html.jinja")
    return template.render(view=View(report), report=report, style=style)


def render_markdown(report: ReportInput) -> str:
    """The tables alone, for MLflow and the Dagster UI."""
    template = _environment(autoescape=False).get_template("report.md.jinja")
    return template.render(view=View(report), report=report)


def _environment(*, autoescape: bool) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["table_text"] = _table_text
    return environment


def _table_text(value: object) -> str:
    """Text that stays inside its cell of a Markdown table, and is no markup."""
    text = str(value).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")
    return " ".join(text.split())
