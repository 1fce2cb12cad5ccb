"""MLflow: adapters are registered with everything that was said of them, and failures name what is safe."""

from pathlib import Path

import pytest
from mlflow import MlflowClient  # noqa: TID253 - its failures are played here

from resources.tracking import CHALLENGER, Point, Registered, Tracking


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    folder = tmp_path / "adapter"
    folder.mkdir()
    (folder / "adapter_model.safetensors").write_bytes(b"weights")
    (folder / "README.md").write_text("# Card")
    return folder


@pytest.fixture(scope="module")
def tracking(tmp_path_factory: pytest.TempPathFactory) -> Tracking:
    folder = tmp_path_factory.mktemp("mlflow")
    return Tracking(
        tracking_uri=f"sqlite:///{folder / 'mlflow.db'}", artifact_folder=str(folder / "artifacts")
    )


def register(
    tracking: Tracking, adapter: Path, name: str = "tiny-json", *, sha256: str = "a", training_set: str = "t"
) -> Registered:
    return tracking.register_adapter(
        name=name,
        adapter=adapter,
        identity={"adapter_sha256": sha256, "training_set": training_set},
        parameters={"lora_rank": 16, "note": "x" * 10_000},
        tags={"corpus_version": "abc"},
        curves=[Point(name="loss", step=step, value=1 / step) for step in range(1, 1_502)],
        figures={"curves.png": b"png"},
    )


def test_a_registered_version_leads_back_to_its_run(tracking: Tracking, adapter: Path) -> None:
    first, second = register(tracking, adapter), register(tracking, adapter, sha256="b")
    newest, oldest = [version for version in tracking.versions() if version.name == "tiny-json"]
    assert (newest.version, oldest.version) == (second.model_version, first.model_version)
    assert newest.aliases == (CHALLENGER,)
    assert oldest.aliases == ()
    assert newest.tags == {"corpus_version": "abc", "adapter_sha256": "b", "training_set": "t"}
    run = tracking.client().get_run(second.run_id)
    assert run.info.status == "FINISHED"
    assert len(tracking.client().get_metric_history(second.run_id, "loss")) == 1_501
    paths = {file.path for file in tracking.client().list_artifacts(second.run_id, "adapter")}
    assert paths == {"adapter/README.md", "adapter/adapter_model.safetensors"}


def test_the_same_adapter_of_the_same_data_is_registered_once(tracking: Tracking, adapter: Path) -> None:
    first = register(tracking, adapter, "again")
    assert register(tracking, adapter, "again") == first
    assert register(tracking, adapter, "again", training_set="u").model_version == "2"
    assert register(tracking, adapter, "again", sha256="b").model_version == "3"
    assert register(tracking, adapter, "another").model_version == "1"
    assert register(tracking, adapter, "again") == first
    assert tracking.client().get_model_version_by_alias("again", CHALLENGER).run_id == first.run_id


def test_a_registration_that_was_killed_is_completed(tracking: Tracking, adapter: Path) -> None:
    registered, client = register(tracking, adapter, "killed"), tracking.client()
    client.delete_registered_model_alias("killed", CHALLENGER)
    client.update_run(registered.run_id, status="RUNNING")
    assert register(tracking, adapter, "killed") == registered
    assert client.get_run(registered.run_id).info.status == "FINISHED"
    assert client.get_model_version_by_alias("killed", CHALLENGER).run_id == registered.run_id


class FullDisk(MlflowClient):
    """A server that has no room for the adapter."""

    def log_artifacts(self, *_: object, **__: object) -> None:
        raise OSError("no space left")


class Vanished(FullDisk):
    """A server that cannot even be told that the run is over."""

    def set_terminated(self, *_: object, **__: object) -> None:
        raise ConnectionError("nobody answers")


class FailingTracking(Tracking):
    vanished: bool

    def client(self) -> MlflowClient:
        kind = Vanished if self.vanished else FullDisk
        return kind(tracking_uri=self.tracking_uri, registry_uri=self.tracking_uri)


@pytest.mark.parametrize(("vanished", "status"), [(False, "FAILED"), (True, "RUNNING")])
def test_a_registration_that_fails_ends_its_run_where_it_can_and_shows_the_first_error(
    tracking: Tracking, adapter: Path, vanished: bool, status: str
) -> None:
    name, client = f"failing-{vanished}", tracking.client()
    register(tracking, adapter)  # makes the experiment
    failing = FailingTracking(tracking_uri=tracking.tracking_uri, vanished=vanished)
    with pytest.raises(RuntimeError, match=r"no space left.*safe in .*adapter"):
        register(failing, adapter, name)
    experiment = client.get_experiment_by_name(tracking.experiment)
    (run,) = client.search_runs([experiment.experiment_id], f"attributes.run_name = '{name}'")
    assert run.info.status == status
    assert not client.search_model_versions(f"name = '{name}'")


def test_a_report_is_attached_to_a_run(tracking: Tracking, adapter: Path) -> None:
    registered = register(tracking, adapter, name="tiny-plaintext")
    tracking.log_report(registered.run_id, {"report.html": b"<p>", "report.md": b"#"})
    assert [file.path for file in tracking.client().list_artifacts(registered.run_id, "report")] == [
        "report/report.html",
        "report/report.md",
    ]
    assert tracking.report_url(registered.run_id).endswith(
        f"/runs/{registered.run_id}/artifacts/report/report.html"
    )


def test_a_run_that_mlflow_does_not_know_says_what_to_do(tracking: Tracking) -> None:
    unknown = "0" * 32
    with pytest.raises(RuntimeError, match=r"report\.html for run 0+ .*materialise the model again"):
        tracking.log_report(unknown, {"report.html": b"<p>"})
    with pytest.raises(RuntimeError, match=r"does not show run 0+ .*materialise the model again"):
        tracking.report_url(unknown)


def test_a_server_that_is_down_is_named_with_the_adapter_that_is_safe(
    adapter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    down = Tracking(tracking_uri="http://127.0.0.1:9")
    with pytest.raises(RuntimeError, match=r"127.0.0.1:9.*safe in .*adapter"):
        register(down, adapter)
    with pytest.raises(RuntimeError, match="does not answer"):
        down.versions()
    with pytest.raises(RuntimeError, match="Bring MLflow back"):
        down.report_url("run")
    assert (adapter / "adapter_model.safetensors").read_bytes() == b"weights"
