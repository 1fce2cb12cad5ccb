"""The job `promote_model`: the check stands between comparison and champion, and the registry shows what came out."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from promotion_world import World, inventing, new_world, perfect, shortened

from assets.promotion import COMPARISONS, champion, comparison
from ml.promotion import Comparison
from ml.promotion_history import Kind
from pipeline.automation import CONDITIONS
from pipeline.jobs import promote_model
from pipeline.sensors import promote_challengers
from resources.tracking import Tracking

MODEL = "tiny-json"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


def promote(world: World, instance: dg.DagsterInstance, **tags: str) -> dg.ExecuteInProcessResult:
    """The job as the UI starts it."""
    definitions = dg.Definitions(
        assets=[comparison, champion],
        jobs=[promote_model],
        resources={"store": world.store, "tracking": world.tracking, "trainer": world.trainer},
    )
    job = definitions.resolve_job_def("promote_model")
    return job.execute_in_process(instance=instance, partition_key=MODEL, tags=tags, raise_on_error=False)


def materialised(result: dg.ExecuteInProcessResult) -> list[str]:
    return [event.asset_key.to_user_string() for event in result.get_asset_materialization_events()]


def test_a_model_that_may_be_promoted_becomes_champion(world: World, instance: dg.DagsterInstance) -> None:
    world.register(MODEL, shortened)
    assert promote(world, instance).success
    world.register(MODEL, perfect)
    result = promote(world, instance, user="Ada")
    assert result.success
    assert materialised(result) == ["comparison", "champion"]
    assert world.aliases() == {f"{MODEL}/2": ("challenger", "champion")}
    (evaluation,) = result.get_asset_check_evaluations()
    assert (evaluation.check_name, evaluation.passed, evaluation.blocking) == ("may_be_promoted", True, True)
    rows = list(world.store.rows(COMPARISONS, Comparison, experiment=MODEL))
    assert {(row.candidate, row.champion) for row in rows} == {(f"{MODEL}/2", f"{MODEL}/1")}
    (event,) = world.tracking.version(MODEL).history
    assert (event.kind, event.asked_by, event.champion) == (Kind.PROMOTED, "Ada", f"{MODEL}/1")
    metadata = result.asset_materializations_for_node("champion")[0].metadata
    assert metadata["asked_by"].value == "Ada"
    assert metadata["mlflow"].value.endswith(f"/#/models/{MODEL}/versions/2")
    assert "| ROUGE-L | 1.000 |" in str(metadata["comparison"].value)


def test_the_check_stops_a_model_that_may_not(world: World, instance: dg.DagsterInstance) -> None:
    world.register(MODEL, perfect)
    assert promote(world, instance).success
    world.register(MODEL, inventing)
    result = promote(world, instance)
    assert not result.success
    assert materialised(result) == ["comparison"]
    (evaluation,) = result.get_asset_check_evaluations()
    assert not evaluation.passed
    assert "- Groundedness went from 1.000" in str(evaluation.metadata["reasons"].value)
    assert world.aliases() == {f"{MODEL}/1": ("champion",), f"{MODEL}/2": ("challenger",)}
    (event,) = world.tracking.version(MODEL).history
    assert (event.kind, event.asked_by) == (Kind.REFUSED, f"dagster:{result.run_id}")


def test_the_alias_alone_can_not_be_had_past_the_check(world: World, instance: dg.DagsterInstance) -> None:
    """Materialised by itself, `champion` runs without the check of `comparison`, and decides again."""
    world.register(MODEL, perfect)
    assert promote(world, instance).success
    world.register(MODEL, shortened)
    result = dg.materialize(
        [champion],
        partition_key=MODEL,
        instance=instance,
        raise_on_error=False,
        resources={"store": world.store, "tracking": world.tracking, "trainer": world.trainer},
    )
    assert not result.success
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert f"{MODEL}/2 is refused: ROUGE-L went from" in str(failure.step_failure_data.error)
    assert world.aliases()[f"{MODEL}/1"] == ("champion",)


def test_nothing_is_promoted_by_itself() -> None:
    assert not {"comparison", "champion"} & CONDITIONS.keys()
    assert promote_challengers.default_status is dg.DefaultSensorStatus.STOPPED


class Evaluations:
    """Dagster's daemon with the sensor switched on."""

    def __init__(self, instance: dg.DagsterInstance, tracking: Tracking) -> None:
        self.instance, self.tracking = instance, tracking
        self.cursor: str | None = None

    def report(self) -> None:
        self.instance.report_runless_asset_event(dg.AssetMaterialization("evaluation_report"))

    def tick(self) -> list[dg.RunRequest]:
        context = dg.build_sensor_context(
            instance=self.instance,
            cursor=self.cursor,
            sensor_name="promote_challengers",
            repository_def=_repository(),
            resources={"tracking": self.tracking},
        )
        data = promote_challengers.evaluate_tick(context)
        self.cursor = data.cursor
        return list(data.run_requests or ())


def _repository() -> dg.RepositoryDefinition:
    definitions = dg.Definitions(
        assets=[comparison, champion],
        jobs=[promote_model],
        sensors=[promote_challengers],
        resources={"tracking": Tracking(tracking_uri="sqlite://"), "store": None, "trainer": None},
    )
    return definitions.get_repository_def()


def test_switched_on_it_asks_once_for_every_undecided_version(
    world: World, instance: dg.DagsterInstance
) -> None:
    evaluations = Evaluations(instance, world.tracking)
    world.register(MODEL, perfect)
    world.register("tiny-plaintext", perfect)
    assert evaluations.tick() == [], "no report, no decision"
    evaluations.report()
    requests = evaluations.tick()
    assert sorted(str(request.partition_key) for request in requests) == [MODEL, "tiny-plaintext"]
    assert {request.tags["user"] for request in requests} == {"sensor:promote_challengers"}
    assert evaluations.tick() == [], "the same report asks once"

    assert promote(world, instance).success
    world.register("unknown-experiment", None)
    evaluations.report()
    assert [request.partition_key for request in evaluations.tick()] == ["tiny-plaintext"]

    world.register(MODEL, inventing)
    evaluations.report()
    assert {request.partition_key for request in evaluations.tick()} == {MODEL, "tiny-plaintext"}
    assert not promote(world, instance).success
    evaluations.report()
    assert [request.partition_key for request in evaluations.tick()] == ["tiny-plaintext"], (
        "a refusal is a decision"
    )
