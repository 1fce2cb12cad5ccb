"""What is rebuilt when publishers come and rules change: only what depends on the change, and only once."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import dagster as dg
import pytest

from ml.baselines.registry import BASELINES
from pipeline.definitions import defs
from pipeline.sensors import sync_publishers
from resources.crawl import Crawl

WATCHED = ("raw_pages", "articles", "corpus", "splits", "baseline_predictions", "scores", "models")


class Simulated(Crawl):
    """A Fundus whose rules are what a test says they are."""

    versions: str  # JSON, publisher to version

    def rules_versions(self) -> dict[str, str]:
        rules: dict[str, str] = json.loads(self.versions)
        return rules


class Weeks:
    """Dagster's daemon, tick by tick: the sensor first, then the automation."""

    def __init__(self, instance: dg.DagsterInstance, definitions: dg.Definitions) -> None:
        self.instance, self.definitions = instance, definitions
        self.sensor_cursor: str | None = None
        self.cursor: dg.AutomationConditionCursor | None = None

    def observe(self, rules: Mapping[str, str]) -> bool:
        """Run the sensor on these rules; whether it had anything to report."""
        crawl = Simulated(versions=json.dumps(dict(rules)))
        context = dg.build_sensor_context(
            instance=self.instance, cursor=self.sensor_cursor, resources={"crawl": crawl}
        )
        result = sync_publishers(context)
        if not isinstance(result, dg.SensorResult):
            return False
        self.sensor_cursor = result.cursor
        for event in result.asset_events:
            self.instance.report_runless_asset_event(event)
        for request in result.dynamic_partitions_requests or ():
            self.instance.add_dynamic_partitions("publishers", list(request.partition_keys))
        return True

    def requested(self) -> dict[str, set[str | None]]:
        """What the automation asks for now."""
        result = dg.evaluate_automation_conditions(
            self.definitions, instance=self.instance, cursor=self.cursor
        )
        self.cursor = result.cursor
        keys = {name: dg.AssetKey(name) for name in WATCHED}
        return {
            name: set(result.get_requested_partitions(key))
            for name, key in keys.items()
            if result.get_num_requested(key)
        }

    def done(self, asset: str, version: str, *partitions: str) -> None:
        """A run of the asset came out with this content."""
        for partition in partitions or (None,):
            self.instance.report_runless_asset_event(
                dg.AssetMaterialization(asset, partition=partition, tags={"dagster/data_version": version})
            )


@pytest.fixture
def weeks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Weeks]:
    monkeypatch.setenv("NEWSLM_HOME", str(tmp_path))
    with dg.instance_for_test() as instance:
        yield Weeks(instance, defs())


def test_only_what_depends_on_a_change_is_rebuilt(weeks: Weeks) -> None:
    weeks.requested()  # the first tick only sets the baseline
    weeks.observe({"a": "1", "b": "1"})
    assert weeks.requested() == {"raw_pages": {"a", "b"}}
    weeks.done("raw_pages", "pages", "a", "b")
    assert weeks.requested() == {"articles": {"a", "b"}}
    weeks.done("articles", "first", "a", "b")
    assert weeks.requested() == {"corpus": {None}}
    weeks.done("corpus", "first")
    assert weeks.requested()["splits"] == {None}
    weeks.done("splits", "first")
    weeks.requested()
    weeks.done("training_sets", "first")
    weeks.done("baseline_predictions", "first", *BASELINES)
    weeks.requested()
    weeks.done("scores", "first")
    assert weeks.requested() == {}

    assert not weeks.observe({"a": "1", "b": "1"}), "nothing changed, nothing is reported"
    weeks.observe({"a": "1", "b": "2"})
    assert weeks.requested() == {"articles": {"b"}}, "a repaired rule extracts anew and never crawls"
    weeks.done("articles", "first", "b")
    assert weeks.requested() == {}, "the same articles came out, so the work stops there"

    weeks.observe({"a": "1", "b": "3"})
    weeks.requested()
    weeks.done("articles", "second", "b")
    assert weeks.requested() == {"corpus": {None}}
    weeks.done("corpus", "second")
    requested = weeks.requested()
    assert requested["baseline_predictions"] == set(BASELINES), (
        "the expected text may have changed on the same pages"
    )
    assert "models" not in requested, "a person starts training"


def test_a_publisher_that_is_gone_keeps_its_partition_and_starts_nothing(weeks: Weeks) -> None:
    weeks.requested()
    weeks.observe({"a": "1", "b": "1"})
    weeks.requested()
    assert not weeks.observe({"a": "1"})
    assert set(weeks.instance.get_dynamic_partitions("publishers")) == {"a", "b"}
    assert weeks.requested() == {}


def test_the_weekly_refresh_asks_for_every_publisher_once_a_week(weeks: Weeks) -> None:
    from datetime import UTC, datetime

    from pipeline.schedules import weekly_refresh

    weeks.instance.add_dynamic_partitions("publishers", ["a", "b"])
    monday = datetime(2026, 11, 30, 3, tzinfo=UTC)
    context = dg.build_schedule_context(instance=weeks.instance, scheduled_execution_time=monday)
    requests = list(weekly_refresh(context))
    assert [request.partition_key for request in requests] == ["a", "b"]
    assert len({request.run_key for request in requests}) == 2
