"""`newslm doctor`: each check on a machine where the thing works and on one where it does not."""

import json
import sqlite3
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from typer.testing import CliRunner, Result

from pipeline.cli import doctor as subject
from pipeline.cli.doctor import CHECKS, Finding, Setting, Verdict, problem, warning
from pipeline.cli.main import app

OK, WARNING, PROBLEM = Verdict.OK, Verdict.WARNING, Verdict.PROBLEM


def newslm(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["doctor", *arguments, "--home", str(home)])


def setting(home: Path, **variables: str) -> Setting:
    return Setting(home=home, variables=variables)


# --- the command


def test_every_check_is_reported_once_and_the_home_is_not_made(tmp_path: Path) -> None:
    home = tmp_path / "home"

    answer = json.loads(newslm(home, "--json").stdout)

    assert [each["check"] for each in answer["checks"]] == [name for name, _ in CHECKS]
    assert {each["verdict"] for each in answer["checks"]} <= set(Verdict)
    assert all(each["remedy"] for each in answer["checks"] if each["verdict"] != "ok")
    assert not home.exists()


def test_names_in_brackets_are_shown(tmp_path: Path) -> None:
    assert "[baselines]" in newslm(tmp_path).stdout


def test_only_a_problem_changes_the_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pretend(finding: Finding) -> Result:
        monkeypatch.setattr(subject, "CHECKS", (("thing", lambda setting: finding),))
        return newslm(tmp_path)

    assert pretend(warning("half of it is [there]", "get the rest")).exit_code == 0

    result = pretend(problem("it is gone", "put it back"))
    assert result.exit_code == 1
    assert "it is gone" in result.stdout
    assert "→ put it back" in result.stdout


# --- what is installed


def test_a_missing_extra_names_its_packages_and_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> str:
        if name == "trafilatura":
            raise PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr("importlib.metadata.version", absent)
    finding = dict(CHECKS)["[baselines]"](setting(tmp_path))

    assert finding.verdict is WARNING
    assert "missing: trafilatura" in finding.found
    assert finding.remedy == "pip install -c constraints.txt '.[baselines]'"


def test_the_core_is_the_requirements_without_an_extra() -> None:
    names = {each.name for each in subject._requirements("")}

    assert {"dagster", "fundus", "duckdb"} <= names
    assert not names & {"torch", "trafilatura", "pytest"}
    assert {"trafilatura", "boilerpy3"} <= {each.name for each in subject._requirements("baselines")}


@pytest.mark.parametrize("wrong", ["curl_cffi", "lxml"])
def test_a_release_that_breaks_fundus_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: "99.1" if name == wrong else version(name))

    finding = subject.fundus_pins(setting(tmp_path))

    assert finding.verdict is PROBLEM
    assert f"{wrong} 99.1" in finding.found
    assert "'curl_cffi<0.16' 'lxml<6'" in finding.remedy


def test_the_pins_are_those_of_the_project() -> None:
    declared = {str(each) for each in subject._requirements("")}

    assert str(Requirement(subject.FUNDUS_PINS[0])) in declared


def test_a_missing_torch_is_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    assert subject.torch_device(setting(tmp_path)).verdict is WARNING


# --- where things are kept


def test_a_home_below_a_file_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert subject.home_folder(setting(tmp_path / "file")).verdict is PROBLEM
    assert subject.home_folder(setting(tmp_path / "new" / "home")).verdict is OK
    assert [path.name for path in tmp_path.iterdir()] == ["file"], "looking leaves nothing behind"


@pytest.mark.parametrize(("free", "verdict"), [(10**12, OK), (2 * 10**9, WARNING), (10**8, PROBLEM)])
def test_little_disk_space_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, verdict: Verdict
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": free}))

    assert subject.disk_space(setting(tmp_path)).verdict is verdict


def test_a_broken_store_is_a_problem(tmp_path: Path) -> None:
    assert subject.store_contents(setting(tmp_path)).verdict is OK

    corpus = tmp_path / "store" / "corpus"
    corpus.mkdir(parents=True)
    (corpus / "manifest.json").write_text('{"version": "1", "files": ["gone.parquet"]}')

    finding = subject.store_contents(setting(tmp_path))
    assert finding.verdict is PROBLEM
    assert "gone.parquet" in finding.found


def test_a_broken_dagster_configuration_is_a_problem(tmp_path: Path) -> None:
    folder = tmp_path / "dagster"
    folder.mkdir()
    (folder / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    assert subject.dagster_instance(setting(tmp_path)).found.endswith("0 runs")

    (folder / "dagster.yaml").write_text("no_such_section: true\n")
    assert subject.dagster_instance(setting(tmp_path)).verdict is PROBLEM


# --- MLflow


def test_mlflow_s_file_is_opened(tmp_path: Path) -> None:
    file = tmp_path / "mlflow" / "mlflow.db"
    assert subject.mlflow_tracking(setting(tmp_path)).verdict is OK
    assert not file.exists()

    file.parent.mkdir()
    file.write_bytes(b"this is no database at all")
    assert subject.mlflow_tracking(setting(tmp_path)).verdict is PROBLEM

    file.unlink()
    database = sqlite3.connect(file)
    database.execute("create table model_versions (name text)")
    database.close()
    assert subject.mlflow_tracking(setting(tmp_path)).found.endswith("0 model versions")


class _Health(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server_uri() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Health) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_mlflow_s_server_is_asked(tmp_path: Path, server_uri: str) -> None:
    assert subject.mlflow_tracking(setting(tmp_path, MLFLOW_TRACKING_URI=server_uri + "/")).verdict is OK
    assert (
        subject.mlflow_tracking(setting(tmp_path, MLFLOW_TRACKING_URI=server_uri + "/else")).verdict
        is PROBLEM
    )


@pytest.mark.parametrize("uri", ["http://127.0.0.1:9", "http://no such host/"])
def test_a_server_that_does_not_answer_is_a_problem(tmp_path: Path, uri: str) -> None:
    finding = subject.mlflow_tracking(setting(tmp_path, MLFLOW_TRACKING_URI=uri))

    assert finding.verdict is PROBLEM
    assert "unset MLFLOW_TRACKING_URI" in finding.remedy


# --- the machine


def test_git_is_not_needed_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)

    assert subject.git_installed(setting(tmp_path)).verdict is WARNING


@pytest.mark.parametrize(("gib", "verdict"), [(16.0, OK), (2.0, WARNING), (0.25, PROBLEM), (None, OK)])
def test_little_memory_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gib: float | None, verdict: Verdict
) -> None:
    monkeypatch.setattr(subject, "_available_memory", lambda: gib and int(gib * subject.GIB))

    assert subject.free_memory(setting(tmp_path)).verdict is verdict


def test_available_memory_is_read_in_bytes(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal:  8 kB\nMemAvailable:       3 kB\n")

    assert subject._available_memory(tmp_path / "meminfo") == 3 * 1024
    assert subject._available_memory(tmp_path / "nothing") is None


def test_a_machine_without_loopback_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert subject.loopback_port(setting(tmp_path)).verdict is OK

    def refuse(*_: object) -> None:
        raise PermissionError("not in this sandbox")

    monkeypatch.setattr("socket.create_server", refuse)
    assert subject.loopback_port(setting(tmp_path)).verdict is PROBLEM
