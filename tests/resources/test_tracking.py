"""MLflow: adapters are registered with everything that was said of them, and failures name what is safe."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from mlflow import MlflowClient  # noqa: TID253 - its failures are played here

from ml.promotion_history import Event, Kind
from resources.registered import ADAPTER, CHAMPION, RegisteredVersion
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
    return tracking.register(
        name=name,
        artifact=ADAPTER,
        folder=adapter,
        identity={"weights_sha256": sha256, "training_set": training_set},
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
    assert newest.tags == {
        "corpus_version": "abc",
        "weights_sha256": "b",
        "training_set": "t",
        "artifact": "adapter",
    }
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


def versions_of(
    tracking: Tracking, adapter: Path, task: str, *names: str, sha256: str = "a"
) -> list[RegisteredVersion]:
    """New models of a task that no other test has; the alias is one a task over the whole registry."""
    for name in names:
        tracking.register(
            name=name,
            artifact=ADAPTER,
            folder=adapter,
            identity={"weights_sha256": sha256},
            parameters={},
            tags={"task": task},
            curves=[],
            figures={},
        )
    return [tracking.version(name) for name in names]


def promotion(
    version: RegisteredVersion, champion: RegisteredVersion | None, kind: Kind = Kind.PROMOTED
) -> Event:
    return Event(
        kind=kind,
        version=version.label,
        task=version.task or "",
        at=datetime.now(UTC),
        asked_by="Ada",
        champion=champion.label if champion else None,
    )


def holders(tracking: Tracking, task: str) -> list[str]:
    return [each.label for each in tracking.versions() if each.task == task and CHAMPION in each.aliases]


def test_a_version_is_found_by_each_of_its_names(tracking: Tracking, adapter: Path) -> None:
    versions_of(tracking, adapter, "json", "named")
    versions_of(tracking, adapter, "json", "named", sha256="b")
    for name in ("named", "named/2", "named:2", "named@challenger"):
        assert tracking.version(name).label == "named/2"
    assert tracking.version("named/1").version == "1"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("named-3/1", r"no model is registered as 'named-3'; registered are: .*named-2"),
        ("named-2/9", r"no version is named 'named-2/9'; named-2 has 1 @challenger$"),
        ("named-2@champion", r"no version is named 'named-2@champion'; named-2 has 1 @challenger$"),
        ("", r"no model is registered as ''"),
    ],
)
def test_an_unknown_version_is_answered_with_what_there_is(
    tracking: Tracking, adapter: Path, name: str, message: str
) -> None:
    versions_of(tracking, adapter, "json", "named-2")
    with pytest.raises(ValueError, match=message):
        tracking.version(name)


def test_a_task_has_one_champion_over_all_models_and_rollbacks_go_back_one_by_one(
    tracking: Tracking, adapter: Path
) -> None:
    first, second, third = versions_of(tracking, adapter, "line", "line-a", "line-b", "line-c")
    assert tracking.champion("line") is None
    for version, champion in ((first, None), (second, first), (third, second)):
        tracking.promote(promotion(version, champion), {})
        assert holders(tracking, "line") == [version.label]
    for version in (second, first):
        assert tracking.rollback("line", "Ben").version == version.label
        assert holders(tracking, "line") == [version.label]
    with pytest.raises(RuntimeError, match=r"champion of line is line-a/1, and no earlier one is recorded"):
        tracking.rollback("line", "Ben")
    kinds = [(event.kind, event.asked_by) for event in tracking.version("line-b").history]
    assert kinds == [(Kind.PROMOTED, "Ada"), (Kind.RETURNED, "Ben"), (Kind.WITHDRAWN, "Ben")]


def test_another_task_keeps_its_champion(tracking: Tracking, adapter: Path) -> None:
    (one,) = versions_of(tracking, adapter, "task-1", "task-1-model")
    (other,) = versions_of(tracking, adapter, "task-2", "task-2-model")
    for version in (one, other):
        tracking.promote(promotion(version, None), {})
    assert (holders(tracking, "task-1"), holders(tracking, "task-2")) == ([one.label], [other.label])
    with pytest.raises(RuntimeError, match="champion of task-3 is nobody"):
        tracking.rollback("task-3", "Ben")


def test_what_was_decided_lies_on_the_version_and_its_run(tracking: Tracking, adapter: Path) -> None:
    (version,) = versions_of(tracking, adapter, "refusing", "refused")
    event = promotion(version, None, Kind.REFUSED)
    tracking.record(event, {"decision.md": b"# No"})
    found = tracking.version(version.label)
    assert found.history == [event]
    assert found.aliases == (CHALLENGER,)
    (tag,) = [key for key in found.tags if key.startswith("promotion.")]
    assert json.loads(found.tags[tag])["asked_by"] == "Ada"
    assert [file.path for file in tracking.client().list_artifacts(version.run_id, "promotion")] == [
        "promotion/decision.md"
    ]
    with pytest.raises(ValueError, match="refused/1 was refused, expected a decision that promotes it"):
        tracking.promote(event, {})


def test_a_decision_against_a_champion_of_yesterday_promotes_nothing(
    tracking: Tracking, adapter: Path
) -> None:
    first, second, third = versions_of(tracking, adapter, "race", "race-a", "race-b", "race-c")
    tracking.promote(promotion(first, None), {})
    tracking.promote(promotion(second, first), {})
    with pytest.raises(
        RuntimeError, match=r"race-c/1 was compared with race-a/1, but the champion of race is race-b/1"
    ):
        tracking.promote(promotion(third, first), {})
    assert tracking.version(third.label).history == []


class Killed(BaseException):
    """What no code can catch and go on from."""


class DiesAt(MlflowClient):
    """A client whose process dies at one call."""

    call = ""

    def __getattribute__(self, name: str) -> object:
        if name == type(self).call:
            raise Killed
        return super().__getattribute__(name)


class DyingTracking(Tracking):
    call: str

    def client(self) -> MlflowClient:
        kind = type("DiesAtCall", (DiesAt,), {"call": self.call})
        client: MlflowClient = kind(tracking_uri=self.tracking_uri, registry_uri=self.tracking_uri)
        return client


@pytest.mark.parametrize(
    ("call", "named", "champion"),
    [
        ("set_model_version_tag", ["a"], "a"),
        ("set_registered_model_alias", ["a"], "a"),
        ("delete_registered_model_alias", ["a", "b"], "b"),
    ],
)
def test_a_promotion_that_is_killed_leaves_one_champion_that_counts_and_can_be_asked_for_again(
    tracking: Tracking, adapter: Path, call: str, named: list[str], champion: str
) -> None:
    task = f"killed-{call}"
    labels = {name: f"{task}-{name}/1" for name in "abc"}
    first, second, third = versions_of(tracking, adapter, task, *(f"{task}-{name}" for name in "abc"))
    tracking.promote(promotion(first, None), {})
    dying = DyingTracking(tracking_uri=tracking.tracking_uri, call=call)
    with pytest.raises(Killed):
        dying.promote(promotion(second, first), {})
    assert holders(tracking, task) == [labels[name] for name in named]
    current = tracking.champion(task)
    assert current is not None
    assert current.label == labels[champion]

    tracking.promote(promotion(third, current), {})
    assert holders(tracking, task) == [labels["c"]]
    assert tracking.rollback(task, "Ben").version == labels[champion]
    assert holders(tracking, task) == [labels[champion]]


def test_an_event_that_somebody_changed_is_named(tracking: Tracking, adapter: Path) -> None:
    (version,) = versions_of(tracking, adapter, "changed", "changed")
    client = tracking.client()
    client.set_model_version_tag("changed", version.version, "promotion.x", "{}")
    with pytest.raises(ValueError, match=r"the tag promotion\.x of changed/1 holds no event"):
        tracking.champion("changed")
    client.delete_model_version_tag("changed", version.version, "promotion.x")
    assert tracking.champion("changed") is None


def test_an_adapter_comes_back_as_it_was_registered(
    tracking: Tracking, adapter: Path, tmp_path: Path
) -> None:
    sha256 = hashlib.sha256(b"weights").hexdigest()
    (version,) = versions_of(tracking, adapter, "json", "fetched", sha256=sha256)
    folder = tracking.download(version, tmp_path / "registered")
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "adapter_model.safetensors"]
    (folder / "README.md").unlink()
    assert tracking.download(version, tmp_path / "registered") == folder
    assert not (folder / "README.md").exists(), "it is not fetched again"
    assert list((tmp_path / "registered").iterdir()) == [folder]


def test_other_weights_than_were_registered_are_refused(
    tracking: Tracking, adapter: Path, tmp_path: Path
) -> None:
    (version,) = versions_of(tracking, adapter, "json", "swapped", sha256="not it")
    with pytest.raises(
        RuntimeError, match=r"weights of swapped/1 in MLflow have the SHA-256 .*expected not it"
    ):
        tracking.download(version, tmp_path / "registered")
    assert list((tmp_path / "registered").iterdir()) == []


def test_an_adapter_that_mlflow_lost_is_named(tracking: Tracking, adapter: Path, tmp_path: Path) -> None:
    (version,) = versions_of(tracking, adapter, "json", "lost")
    lost = RegisteredVersion(**{**vars(version), "run_id": "0" * 32})
    with pytest.raises(RuntimeError, match=r"failed while lost/1 was fetched"):
        tracking.download(lost, tmp_path / "registered")
