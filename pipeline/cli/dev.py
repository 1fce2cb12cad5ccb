"""`newslm dev`: the Dagster UI and the MLflow UI on loopback.

Belongs here: starting and stopping the two servers. Does not belong here: what they show.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pipeline import environment
from pipeline.cli.console import DEFAULT_HOME, FAILED, Home, clear_errors, err, settings
from pipeline.instance import last_settings, limit_pools, open_instance, prepare_home, register_publishers
from resources.crawl import SourceName
from resources.tracking import Tracking

STOP_TIMEOUT_S = 20.0
PARALLEL_CRAWLS = 4


def dev(
    home: Home = Path(DEFAULT_HOME),
    source: Annotated[
        SourceName | None,
        typer.Option(
            envvar=environment.CRAWL_SETTINGS["source"],
            help="Where pages come from; that of the last `newslm run` in this home if left out.",
        ),
    ] = None,
    dagster_port: Annotated[int, typer.Option(help="Port of the Dagster UI.")] = 3000,
    mlflow_port: Annotated[int, typer.Option(help="Port of the MLflow UI.")] = 5000,
) -> None:
    """Serve the Dagster UI and the MLflow UI on this machine until Ctrl-C.

    Every publisher of the source is a partition that can be materialised and backfilled at once. Nothing is
    served beyond loopback.
    """
    with clear_errors():
        prepare_home({**last_settings(home), **settings(home, source=source)})
        parts = environment.resources(os.environ)
        crawl = parts["crawl"]
        tracking = parts["tracking"]
        instance = open_instance()
        register_publishers(instance, crawl.catalogue)
        # Websites answer side by side; an archive is scanned once, for everyone.
        limit_pools(instance, crawls=PARALLEL_CRAWLS if crawl.opened().visits_publishers else 1)
    commands = [_dagster(dagster_port)]
    err.print(f"Dagster UI  http://127.0.0.1:{dagster_port}")
    if tracking.is_server:
        err.print(f"MLflow UI   {tracking.tracking_uri}", soft_wrap=True)
    else:
        commands.append(_mlflow(mlflow_port, tracking))
        err.print(f"MLflow UI   http://127.0.0.1:{mlflow_port}")
    raise typer.Exit(_serve(commands))


def _dagster(port: int) -> list[str]:
    return [sys.executable, *f"-m dagster dev -m pipeline.definitions -h 127.0.0.1 -p {port}".split()]


def _mlflow(port: int, tracking: Tracking) -> list[str]:
    where = ["--backend-store-uri", tracking.tracking_uri]
    if tracking.artifact_folder:
        where += ["--artifacts-destination", tracking.artifact_folder]
    return [sys.executable, *f"-m mlflow server --host 127.0.0.1 --port {port} --workers 1".split(), *where]


def _serve(commands: Sequence[Sequence[str]]) -> int:
    """Run the servers until one ends or a signal comes, then stop all of them; returns the exit code."""
    # Sessions of their own, so that Ctrl-C reaches them once, through us, and their children go with them.
    variables = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    servers = [subprocess.Popen(command, start_new_session=True, env=variables) for command in commands]
    stopped: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _: stopped.append(received))
    try:
        while not stopped and all(server.poll() is None for server in servers):
            time.sleep(0.2)
    finally:
        _stop(servers)
    return 0 if stopped else FAILED


def _stop(servers: Sequence[subprocess.Popen[bytes]]) -> None:
    for server in servers:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGINT)
    deadline = time.monotonic() + STOP_TIMEOUT_S
    for server in servers:
        try:
            server.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
