"""The model asset: what is trained is registered once, and MLflow's failure costs no training."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest

from assets.models import MODELS, models
from ml.records import Example, ModelRecord, Split
from pipeline import partitions
from resources.crawl import Crawl
from resources.store import Store
from resources.tracking import Tracking
from resources.trainer import CurvePoint, Trainer, TrainingJob, TrainingOutcome, training_version
from resources.training_process import examples_of

EXPERIMENT = "tiny-json"


class InstantTrainer(Trainer):
    """Trains nothing; like the real one, it finds an adapter that is finished and counts what it had to do."""

    def train(self, context: dg.AssetExecutionContext, job: TrainingJob) -> TrainingOutcome:
        adapter = Path(job.output_dir) / "adapter"
        trainings = Path(self.work_dir) / "trainings.json"
        (Path(self.work_dir) / "job.json").write_text(job.model_dump_json())
        if not adapter.exists():
            adapter.mkdir(parents=True)
            (adapter / "adapter_model.safetensors").write_bytes(job.training_set.encode())
            done = json.loads(trainings.read_text()) if trainings.exists() else []
            trainings.write_text(json.dumps([*done, job.training_set]))
        return TrainingOutcome(
            adapter_dir=str(adapter),
            weights_sha256=job.training_set * 4,
            steps=1,
            best_step=1,
            validation_perplexity=9.0,
            seconds=0.1,
            tokens=10,
            peak_mib=1.0,
            truncated_examples=0,
            train_pages=1,
            validation_pages=1,
            curves=[CurvePoint(name="loss", step=1, value=1.0), CurvePoint(name="loss", step=2, value=0.5)],
        )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(uri=str(tmp_path / "store"))
    examples = [example(split) for split in ("train", "validation", "test")]
    store.replace("training_sets", Example, examples, task="json")
    return store


def example(split: str, target: str = "{}") -> Example:
    return Example(
        page_id=split,
        url=f"https://example.org/{split}",
        publisher="P",
        language="de",
        split=split,
        input="<p>",
        target=target,
    )


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


def materialise(
    instance: dg.DagsterInstance, store: Store, tmp_path: Path, uri: str
) -> dg.ExecuteInProcessResult:
    return dg.materialize(
        [models],
        partition_key=EXPERIMENT,
        instance=instance,
        raise_on_error=False,
        resources={
            "store": store,
            "crawl": Crawl(),
            "trainer": InstantTrainer(work_dir=str(tmp_path)),
            "tracking": Tracking(tracking_uri=uri, artifact_folder=str(tmp_path / "artifacts")),
        },
    )


def test_mlflow_down_loses_no_adapter_and_needs_no_second_training(
    instance: dg.DagsterInstance, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    assert not materialise(instance, store, tmp_path, "http://127.0.0.1:9").success
    (adapter,) = tmp_path.glob("runs/*/adapter/adapter_model.safetensors")
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    assert materialise(instance, store, tmp_path, uri).success
    assert len(json.loads((tmp_path / "trainings.json").read_text())) == 1
    (record,) = store.rows("models", ModelRecord, experiment=EXPERIMENT)
    assert (record.model_version, record.folder) == ("1", str(adapter.parent))


def test_changed_data_trains_again_and_the_same_data_does_not(
    instance: dg.DagsterInstance, store: Store, tmp_path: Path
) -> None:
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    versions = []
    for target in ("{}", "{}", '{"title":1}'):
        store.replace("training_sets", Example, [example("train", target)], task="json")
        assert materialise(instance, store, tmp_path, uri).success
        (record,) = store.rows("models", ModelRecord, experiment=EXPERIMENT)
        versions.append(record.model_version)
    assert versions == ["1", "1", "2"]
    assert len(json.loads((tmp_path / "trainings.json").read_text())) == 2


def test_new_test_pages_train_and_register_nothing(
    instance: dg.DagsterInstance, store: Store, tmp_path: Path
) -> None:
    uri, records = f"sqlite:///{tmp_path / 'mlflow.db'}", []
    for targets in (["{}"], ["{}", '{"title":1}']):
        tested = [replace(example("test", target), page_id=target) for target in targets]
        store.replace("training_sets", Example, [*tested, example("train")], task="json")
        assert materialise(instance, store, tmp_path, uri).success
        records += store.rows(MODELS, ModelRecord, experiment=EXPERIMENT)
    assert records[0] == records[1]
    assert len(json.loads((tmp_path / "trainings.json").read_text())) == 1


def test_a_kill_before_the_store_was_written_registers_nothing_twice(
    instance: dg.DagsterInstance, store: Store, tmp_path: Path
) -> None:
    uri, records = f"sqlite:///{tmp_path / 'mlflow.db'}", []
    for _ in range(2):
        assert materialise(instance, store, tmp_path, uri).success
        records += store.rows(MODELS, ModelRecord, experiment=EXPERIMENT)
        shutil.rmtree(str(store.folder(MODELS)))
    assert records[0] == records[1]
    assert len(Tracking(tracking_uri=uri).versions()) == 1


def test_another_mlflow_gets_the_model_without_a_training(
    instance: dg.DagsterInstance, store: Store, tmp_path: Path
) -> None:
    for name in ("first", "second"):
        uri = f"sqlite:///{tmp_path / name}.db"
        assert materialise(instance, store, tmp_path, uri).success
        (record,) = store.rows(MODELS, ModelRecord, experiment=EXPERIMENT)
        assert [version.run_id for version in Tracking(tracking_uri=uri).versions()] == [record.run_id]
    assert len(json.loads((tmp_path / "trainings.json").read_text())) == 1


def test_the_version_of_a_training_set_is_of_what_training_reads() -> None:
    rows = [example(split) for split in ("train", "validation", "test")]
    assert training_version(rows) == training_version(rows[1::-1])
    assert training_version(rows) != training_version(rows[1:])
    assert training_version(rows) != training_version([example("train", "changed"), *rows[1:]])


def test_a_training_reads_what_its_job_was_made_for(
    instance: dg.DagsterInstance, store: Store, tmp_path: Path
) -> None:
    assert materialise(instance, store, tmp_path, f"sqlite:///{tmp_path / 'mlflow.db'}").success
    job = TrainingJob.model_validate_json((tmp_path / "job.json").read_text())
    assert examples_of(job) == {split: [example(split)] for split in Split}
    store.replace("training_sets", Example, [example("train"), example("validation")], task="json")
    assert examples_of(job)[Split.TEST] == []
    store.replace("training_sets", Example, [example("train")], task="json")
    with pytest.raises(RuntimeError, match="materialise the model again"):
        examples_of(job)


def test_a_model_without_a_training_set_says_what_to_materialise(
    instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    result = materialise(instance, Store(uri=str(tmp_path / "empty")), tmp_path, "sqlite://")
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert "materialise training_sets first" in str(failure.step_failure_data.error)


def test_every_experiment_is_a_partition() -> None:
    assert EXPERIMENT in partitions.experiments.get_partition_keys()
