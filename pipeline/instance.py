"""Dagster's own home: where runs and events are kept, for `newslm run` and for the UI alike.

Belongs here: preparing the folder, registering publishers, closing runs whose process is gone. Does not
belong here: running anything (`whole_job.py`).
"""

import json
import os
import shutil
import socket
from collections.abc import Iterable
from pathlib import Path

import dagster as dg

from pipeline import environment, partitions

CONFIGURATION = Path(__file__).parent / "dagster.yaml"
SETTINGS = "settings.json"
PROCESS_TAG = "newslm/process"


def prepare_home(variables: dict[str, str]) -> Path:
    """Set the process' environment to the settings and make the folders; returns Dagster's.

    Raises `ValueError` where the home cannot be written.
    """
    home = Path(variables[environment.HOME]).resolve()
    folder = home / "dagster"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "dagster.yaml").exists():
            shutil.copyfile(CONFIGURATION, folder / "dagster.yaml")
        kept = {name: value for name, value in variables.items() if name != environment.HOME}
        (home / SETTINGS).write_text(json.dumps(kept, indent=2))
    except OSError as error:
        raise ValueError(
            f"the home {home} cannot be written ({error.strerror}); choose another with --home"
        ) from error
    os.environ.update({**variables, environment.HOME: str(home), "DAGSTER_HOME": str(folder)})
    return folder


def last_settings(home: Path) -> dict[str, str]:
    """The settings that the home was last prepared with; none for a new one."""
    path = home / SETTINGS
    if not path.exists():
        return {}
    kept: dict[str, str] = json.loads(path.read_text())
    return kept


def open_instance() -> dg.DagsterInstance:
    """The instance of the prepared home, with runs closed that a killed `newslm run` left open."""
    instance = dg.DagsterInstance.get()
    unfinished = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.STARTING])
    for run in instance.get_runs(unfinished):
        if (owner := run.tags.get(PROCESS_TAG)) and not _is_alive(owner):
            instance.report_run_failed(run, f"its process ({owner}) ended before the run did")
    return instance


def register_publishers(instance: dg.DagsterInstance, keys: Iterable[str]) -> None:
    """Make a partition of every publisher that has none."""
    name = partitions.publishers.name or ""
    known = set(instance.get_dynamic_partitions(name))
    if new := [key for key in keys if key not in known]:
        instance.add_dynamic_partitions(name, new)


def limit_pools(instance: dg.DagsterInstance, *, crawls: int) -> None:
    """How many runs may crawl at a time; everything that needs the GPU keeps the default, one."""
    instance.event_log_storage.set_concurrency_slots("crawl", crawls)


def process_tag() -> str:
    """Who runs this run: host and process id."""
    return f"{socket.gethostname()}:{os.getpid()}"


def _is_alive(owner: str) -> bool:
    """Whether the process still runs; one on another host is taken to be alive."""
    host, _, pid = owner.rpartition(":")
    if host != socket.gethostname():
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
