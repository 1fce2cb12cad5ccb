"""MLflow: runs, curves, artifacts and the model registry, through its client.

Belongs here: what is logged where, registering a model's folder, and moving the alias `champion`. Does not
belong here: training, or whether a version may be champion (`promotion.py`).
`mlflow.transformers.log_model` is not used: on an adapter over a local base it stores projections that
are initialised anew. A model's folder is logged as it is and registered by its address.
"""

import hashlib
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from ml.promotion_history import Event, Kind
from resources.registered import (
    ARTIFACT_TAG,
    CHAMPION,
    EVENT_TAG,
    Artifact,
    RegisteredVersion,
    champion_before,
    champion_of,
    holders_of,
    named_version,
)

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities.model_registry import ModelVersion

CHALLENGER = "challenger"  # the newest version of a model
PARAMETER_LENGTH = 500


@dataclass(frozen=True, kw_only=True)
class Registered:
    """Where a trained model is found again."""

    run_id: str
    model_name: str
    model_version: str


@dataclass(frozen=True, kw_only=True)
class Point:
    """One value of a curve."""

    name: str
    step: int
    value: float


class Tracking(dg.ConfigurableResource):  # type: ignore[type-arg]
    """An MLflow tracking server, or a local SQLite file with artifacts beside it."""

    tracking_uri: str
    artifact_folder: str | None = None  # None where a server decides; a folder for a local file
    experiment: str = "news-crawler-lm"
    ui: str = "http://127.0.0.1:5000"  # where people look, if the tracking URI is no address of a server

    @property
    def is_server(self) -> bool:
        """Whether a tracking server answers, rather than a file being written."""
        return self.tracking_uri.startswith(("http://", "https://"))

    def client(self) -> "MlflowClient":
        """A client of the tracking server and its registry."""
        from mlflow import MlflowClient

        return MlflowClient(tracking_uri=self.tracking_uri, registry_uri=self.tracking_uri)

    def register(
        self,
        *,
        name: str,
        artifact: Artifact,
        folder: Path,
        identity: Mapping[str, str],
        parameters: Mapping[str, object],
        tags: Mapping[str, str],
        curves: Sequence[Point],
        figures: Mapping[str, bytes],
    ) -> Registered:
        """Log one finished training and register its model; alias `challenger` names its version.

        `identity` holds the tags that tell this model from every other. A version that has them already is
        used again, so that a call repeated after a kill registers nothing twice. Raises `RuntimeError` where
        MLflow does not answer; the model's folder stays as it is, so that the call can be made again without
        training again.
        """
        from mlflow.exceptions import MlflowException

        said = {**tags, **identity, ARTIFACT_TAG: artifact.path}
        try:
            client = self.client()
            registered = _registered_before(client, name, identity)
            if registered is None:
                with _run(client, self._experiment_id(client), name, said) as run_id:
                    self._log(client, run_id, parameters, curves, figures)
                    client.log_artifacts(run_id, str(folder), artifact_path=artifact.path)
                    registered = _create_version(client, name, run_id, artifact, said)
            # Also for a version that was found: the call that made it may have been killed right here.
            if client.get_run(registered.run_id).info.status != "FINISHED":
                client.set_terminated(registered.run_id, "FINISHED")
            client.set_registered_model_alias(name, CHALLENGER, registered.model_version)
        except (MlflowException, OSError) as error:
            raise RuntimeError(
                f"MLflow at {self.tracking_uri} failed while the model was registered ({error}). The model is safe in "
                f"{folder}; bring MLflow back and materialise it again"
            ) from error
        return registered

    def log_report(self, run_id: str, files: Mapping[str, bytes]) -> None:
        """Attach the files of an evaluation report, by name, to the run of a model it judges.

        Raises `RuntimeError` where MLflow does not take them.
        """
        from mlflow.exceptions import MlflowException

        try:
            _log_files(self.client(), run_id, "report", files)
        except (MlflowException, OSError) as error:
            raise RuntimeError(
                f"MLflow at {self.tracking_uri} did not take {', '.join(files)} for run {run_id} ({error}). Bring "
                f"MLflow back, or materialise the model again where this MLflow never had its run; then "
                f"materialise evaluation_report again"
            ) from error

    def report_url(self, run_id: str) -> str:
        """Where the report of a run is shown in MLflow's UI; raises `RuntimeError` without an answer."""
        from mlflow.exceptions import MlflowException

        base = self.tracking_uri if self.is_server else self.ui
        try:
            experiment_id = self.client().get_run(run_id).info.experiment_id
        except (MlflowException, OSError) as error:
            raise RuntimeError(
                f"MLflow at {self.tracking_uri} does not show run {run_id} ({error}). Bring MLflow back, or "
                f"materialise the model again where this MLflow never had its run"
            ) from error
        return f"{base.rstrip('/')}/#/experiments/{experiment_id}/runs/{run_id}/artifacts/report/report.html"

    def version_url(self, version: RegisteredVersion) -> str:
        """Where a version is shown in MLflow's UI."""
        base = self.tracking_uri if self.is_server else self.ui
        return f"{base.rstrip('/')}/#/models/{version.name}/versions/{version.version}"

    def versions(self) -> list[RegisteredVersion]:
        """Every registered version, newest first within each model; raises `RuntimeError` without an answer."""
        from mlflow.exceptions import MlflowException

        try:
            client = self.client()
            aliases = {model.name: dict(model.aliases) for model in client.search_registered_models()}
            found = [_described(client, version, aliases) for version in client.search_model_versions()]
        except (MlflowException, OSError) as error:
            raise RuntimeError(
                f"MLflow at {self.tracking_uri} does not answer ({error}); start it, or set MLFLOW_TRACKING_URI"
            ) from error
        return sorted(found, key=lambda version: (version.name, -int(version.version)))

    def version(self, name: str) -> RegisteredVersion:
        """The version of a name, see `named_version`, as MLflow has it now; raises `RuntimeError` without an answer."""
        return named_version(self.versions(), name)

    def champion(self, task: str) -> RegisteredVersion | None:
        """The version of all models of a task that is in use; None where none was promoted yet.

        A promotion that was stopped half way may have left the alias on two models: then the one promoted last
        is the champion, and the next promotion or rollback takes the alias from the other.
        """
        return champion_of(self.versions(), task)

    def record(self, event: Event, files: Mapping[str, bytes]) -> None:
        """Write an event on the version it is of, and its files, by name, to the version's run.

        Raises `RuntimeError` where MLflow does not take them.
        """
        self._record(self.version(event.version), event, files)

    def promote(self, event: Event, files: Mapping[str, bytes]) -> None:
        """Record a promotion, then make its version the champion of its task.

        Raises `ValueError` for an event of another kind, and `RuntimeError` where the champion is no longer the
        one that the decision compared with, or MLflow does not answer. Stopped at any point, the call can be made
        again; see `champion` for what holds in between.
        """
        if event.kind is not Kind.PROMOTED:
            raise ValueError(f"{event.version} was {event.kind}, expected a decision that promotes it")
        versions = self.versions()
        current = champion_of(versions, event.task)
        if (current.label if current else None) != event.champion:
            raise RuntimeError(
                f"{event.version} was compared with {event.champion or 'nobody'}, but the champion of {event.task} is "
                f"{current.label if current else 'nobody'} by now; ask for the promotion again"
            )
        heir = named_version(versions, event.version)
        self._record(heir, event, files)
        self._hand_over(heir, holders_of(versions, event.task))

    def rollback(self, task: str, asked_by: str) -> Event:
        """Make the version champion again that was before the present one; returns the event written on it.

        Rolling back again goes further back. Raises `RuntimeError` where there is nothing to go back to, or MLflow
        does not answer.
        """
        versions = self.versions()
        current, before = champion_of(versions, task), champion_before(versions, task)
        if current is None or before is None:
            held_by = current.label if current else "nobody"
            raise RuntimeError(
                f"the champion of {task} is {held_by}, and no earlier one is recorded; there is nothing to go back to"
            )
        heir = named_version(versions, before)
        returned = Event(
            kind=Kind.RETURNED,
            version=before,
            task=task,
            at=datetime.now(UTC),
            asked_by=asked_by,
            champion=current.label,
        )
        self._record(heir, returned, {})
        withdrawn = returned.model_copy(update={"kind": Kind.WITHDRAWN, "version": current.label})
        self._record(current, withdrawn, {})
        self._hand_over(heir, holders_of(versions, task))
        return returned

    def download(self, version: RegisteredVersion, folder: Path) -> Path:
        """The folder of a version, below `folder`, fetched where it is not there yet and checked by its hash.

        Raises `RuntimeError` where MLflow does not have it, or has other weights than were registered.
        """
        wanted = folder / f"{version.name}-{version.version}"
        if not wanted.exists():
            folder.mkdir(parents=True, exist_ok=True)
            # Into a folder of its own first: a download that is stopped leaves nothing that looks complete.
            with (
                tempfile.TemporaryDirectory(dir=folder) as partial,
                self._reached(f"{version.label} was fetched"),
            ):
                fetched = Path(
                    self.client().download_artifacts(version.run_id, version.artifact.path, partial)
                )
                _require_weights(fetched, version)
                fetched.rename(wanted)
        return wanted

    def _record(self, version: RegisteredVersion, event: Event, files: Mapping[str, bytes]) -> None:
        with self._reached(f"{version.label} was recorded as {event.kind}"):
            client = self.client()
            _log_files(client, version.run_id, "promotion", files)
            client.set_model_version_tag(
                version.name,
                version.version,
                EVENT_TAG + event.stamp,
                event.model_dump_json(exclude_none=True),
            )

    def _hand_over(self, heir: RegisteredVersion, holders: Sequence[RegisteredVersion]) -> None:
        """Give the alias to a version, then take it from every other model that has it."""
        with self._reached(f"{heir.label} became champion of {heir.task}"):
            client = self.client()
            client.set_registered_model_alias(heir.name, CHAMPION, heir.version)
            for name in sorted({holder.name for holder in holders} - {heir.name}):
                client.delete_registered_model_alias(name, CHAMPION)

    @contextmanager
    def _reached(self, doing: str) -> Iterator[None]:
        """Failures of MLflow as a `RuntimeError` that says what was being done."""
        from mlflow.exceptions import MlflowException

        try:
            yield
        except (MlflowException, OSError) as error:
            raise RuntimeError(
                f"MLflow at {self.tracking_uri} failed while {doing} ({error}). Bring MLflow back and ask again"
            ) from error

    def _experiment_id(self, client: "MlflowClient") -> str:
        existing = client.get_experiment_by_name(self.experiment)
        if existing:
            return str(existing.experiment_id)
        location = Path(self.artifact_folder).resolve().as_uri() if self.artifact_folder else None
        return str(client.create_experiment(self.experiment, artifact_location=location))

    @staticmethod
    def _log(
        client: "MlflowClient",
        run_id: str,
        parameters: Mapping[str, object],
        curves: Sequence[Point],
        figures: Mapping[str, bytes],
    ) -> None:
        from mlflow.entities import Metric, Param

        now = int(time.time() * 1000)
        client.log_batch(
            run_id, params=[Param(key, str(value)[:PARAMETER_LENGTH]) for key, value in parameters.items()]
        )
        metrics = [Metric(point.name, point.value, now, point.step) for point in curves]
        for start in range(0, len(metrics), 1_000):  # the most that one request may carry
            client.log_batch(run_id, metrics=metrics[start : start + 1_000])
        _log_files(client, run_id, "figures", figures)


def _require_weights(folder: Path, version: RegisteredVersion) -> None:
    weights = folder / version.artifact.weights
    found = hashlib.sha256(weights.read_bytes()).hexdigest()
    if found != version.tags.get("weights_sha256"):
        raise RuntimeError(
            f"the weights of {version.label} in MLflow have the SHA-256 {found[:16]}, expected "
            f"{version.tags.get('weights_sha256', 'none')[:16]}; register the model again"
        )


@contextmanager
def _run(client: "MlflowClient", experiment_id: str, name: str, tags: Mapping[str, str]) -> Iterator[str]:
    """A new run, which ends as failed where the block is left by any exception, a stop of Dagster included."""
    from mlflow.exceptions import MlflowException

    run_id = client.create_run(experiment_id, run_name=name, tags=dict(tags)).info.run_id
    completed = False
    try:
        yield run_id
        completed = True
    finally:
        if not completed:
            with suppress(
                MlflowException, OSError
            ):  # the server may be what failed; that error is the one to show
                client.set_terminated(run_id, "FAILED")


def _log_files(client: "MlflowClient", run_id: str, artifact_path: str, files: Mapping[str, bytes]) -> None:
    """MLflow takes files of this machine only, wherever the bytes came from."""
    with tempfile.TemporaryDirectory() as folder:
        for file_name, data in files.items():
            path = Path(folder) / file_name
            path.write_bytes(data)
            client.log_artifact(run_id, str(path), artifact_path=artifact_path)


def _registered_before(client: "MlflowClient", name: str, identity: Mapping[str, str]) -> Registered | None:
    """The newest version of the model whose tags include `identity`."""
    versions = client.search_model_versions(f"name = '{name}'")
    same = [version for version in versions if identity.items() <= version.tags.items()]
    if not same:
        return None
    newest = max(same, key=lambda version: int(version.version))
    return Registered(run_id=newest.run_id or "", model_name=name, model_version=str(newest.version))


def _create_version(
    client: "MlflowClient", name: str, run_id: str, artifact: Artifact, tags: Mapping[str, str]
) -> Registered:
    from mlflow.exceptions import MlflowException

    try:
        client.get_registered_model(name)
    except MlflowException:
        client.create_registered_model(name, description="Extracts news articles.")
    source = f"{client.get_run(run_id).info.artifact_uri}/{artifact.path}"
    version = client.create_model_version(name, source, run_id, tags=dict(tags)).version
    return Registered(run_id=run_id, model_name=name, model_version=str(version))


def _described(
    client: "MlflowClient", version: "ModelVersion", aliases: Mapping[str, Mapping[str, str]]
) -> RegisteredVersion:
    run_id = version.run_id or ""
    metrics = client.get_run(run_id).data.metrics if run_id else {}
    named = aliases.get(version.name, {})
    return RegisteredVersion(
        name=version.name,
        version=str(version.version),
        aliases=tuple(
            sorted(alias for alias, number in named.items() if str(number) == str(version.version))
        ),
        run_id=run_id,
        created_s=version.creation_timestamp / 1000,
        validation_perplexity=metrics.get("best_validation_perplexity"),
        tags=dict(version.tags),
    )
