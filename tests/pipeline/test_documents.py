"""Documents that name things of the code: they are compared with it, so that they cannot rot."""

import re
import tomllib
from pathlib import Path

from pipeline import environment

ROOT = Path(__file__).resolve().parents[2]


def test_the_deployment_table_names_every_variable() -> None:
    documented = set(
        re.findall(r"`(NEWSLM_\w+|MLFLOW_TRACKING_URI)`", (ROOT / "infra/README.md").read_text())
    )
    known = {environment.HOME, environment.STORE, environment.MLFLOW, *environment.CRAWL_SETTINGS.values()}
    assert documented == known


def test_every_dependency_is_pinned_in_the_constraints() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(name for extra in project["optional-dependencies"].values() for name in extra),
    ]
    pinned = {
        line.partition("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    }
    names = {re.split(r"[<>=\[]", requirement)[0].lower().replace("_", "-") for requirement in wanted}
    assert names - pinned == set()


def test_the_readme_runs_the_commands_that_the_makefile_has() -> None:
    readme, makefile = (ROOT / "README.md").read_text(), (ROOT / "Makefile").read_text()
    for target in re.findall(r"\bmake (\w+)", readme):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_continuous_integration_runs_the_test_command_of_the_readme() -> None:
    assert "make test" in (ROOT / ".ci/run").read_text()
    assert "make test" in (ROOT / "README.md").read_text()
