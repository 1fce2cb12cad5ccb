"""MLflow: adapters are registered with everything that was said of them, and failures name what is safe."""

from pathlib import Path

import pytest

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


def register(tracking: Tracking, adapter: Path, name: str = "tiny-json") -> Registered:
    return tracking.register_adapter(
        name=name,
        adapter=adapter,
        parameters={"lora_rank": 16, "note": "x" * 10_000},
        tags={"corpus_version": "abc"},
        curves=[Point(name="loss", step=step, value=1 / step) for step in range(1, 1_502)],
        figures={"curves.png": b"png"},
    )


def test_a_registered_version_leads_back_to_its_run(tracking: Tracking, adapter: Path) -> None:
    first, second = register(tracking, adapter), register(tracking, adapter)
    newest, oldest = [version for version in tracking.versions() if version.name == "tiny-json"]
    assert (newest.version, oldest.version) == (second.model_version, first.model_version)
    assert newest.aliases == (CHALLENGER,)
    assert oldest.aliases == ()
    assert newest.tags == {"corpus_version": "abc"}
    run = tracking.client().get_run(second.run_id)
    assert run.info.status == "FINISHED"
    assert len(tracking.client().get_metric_history(second.run_id, "loss")) == 1_501
    paths = {file.path for file in tracking.client().list_artifacts(second.run_id, "adapter")}
    assert paths == {"adapter/README.md", "adapter/adapter_model.safetensors"}


def test_a_report_is_attached_to_a_run(tracking: Tracking, adapter: Path, tmp_path: Path) -> None:
    registered = register(tracking, adapter, name="tiny-plaintext")
    (tmp_path / "report.html").write_text("<p>")
    tracking.log_report(registered.run_id, [tmp_path / "report.html"])
    assert [file.path for file in tracking.client().list_artifacts(registered.run_id, "report")] == [
        "report/report.html"
    ]


def test_a_server_that_is_down_is_named_with_the_adapter_that_is_safe(
    adapter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    down = Tracking(tracking_uri="http://127.0.0.1:9")
    with pytest.raises(RuntimeError, match=r"127.0.0.1:9.*safe in .*adapter"):
        register(down, adapter)
    with pytest.raises(RuntimeError, match="does not answer"):
        down.versions()
    assert (adapter / "adapter_model.safetensors").read_bytes() == b"weights"
