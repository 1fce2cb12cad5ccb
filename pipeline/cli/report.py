"""`newslm report`: the last evaluation, in the terminal.

Belongs here: showing what exists. Does not belong here: making it (the asset `evaluation_report`).
"""

import os
from dataclasses import asdict
from pathlib import Path

from ml.intervals import summarise
from ml.records import Score
from pipeline.cli.console import DEFAULT_HOME, AsJson, Home, clear_errors, out, print_json, resources
from pipeline.cli.score_table import score_table
from resources.test_set import REPORT_FILE


def report(home: Home = Path(DEFAULT_HOME), as_json: AsJson = False) -> None:
    """The scores of the last evaluation, and where its report lies."""
    with clear_errors():
        store = resources(home, os.environ)["store"]
        summaries = summarise(store.rows("scores", Score))
    path = store.root / REPORT_FILE
    if as_json:
        print_json({"report": str(path), "scores": [asdict(summary) for summary in summaries]})
        return
    out.print(score_table(summaries))
    out.print(f"\nReport  {path}", soft_wrap=True)
