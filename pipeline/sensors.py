"""What Dagster notices from outside: publishers that came, went, or whose rules changed; challengers to judge.

Belongs here: sensors. Does not belong here: what follows from an observation (`automation.py`).
"""

import json
from collections.abc import Iterator, Sequence

import dagster as dg

from assets.promotion import ASKED_BY_TAG
from pipeline import jobs, partitions
from resources.crawl import Crawl
from resources.registered import CHAMPION, RegisteredVersion
from resources.tracking import Tracking

FUNDUS_RULES = dg.AssetKey("fundus_rules")


@dg.sensor(
    minimum_interval_seconds=300,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Adds partitions for new publishers and observes rules that changed; only the difference is reported.",
)
def sync_publishers(context: dg.SensorEvaluationContext, crawl: Crawl) -> dg.SensorResult | dg.SkipReason:
    """Publishers that are gone keep their partition: the corpus leaves them out, their pages stay."""
    versions = crawl.rules_versions()
    seen: dict[str, str] = json.loads(context.cursor or "{}")
    known = set(context.instance.get_dynamic_partitions(partitions.publishers.name or ""))
    new = sorted(versions.keys() - known)
    changed = {key: version for key, version in versions.items() if seen.get(key) != version or key in new}
    if not changed:
        return dg.SkipReason(f"{len(versions)} publishers, none new and no rule changed")
    return dg.SensorResult(
        cursor=json.dumps(versions),
        dynamic_partitions_requests=[partitions.publishers.build_add_request(new)] if new else [],
        asset_events=[
            dg.AssetObservation(FUNDUS_RULES, partition=key, tags={"dagster/data_version": version})
            for key, version in changed.items()
        ],
    )


automation = dg.AutomationConditionSensorDefinition(
    "automation",
    target=dg.AssetSelection.all(include_sources=True),
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Rebuilds what depends on changed data. Training is not among it.",
)


@dg.asset_sensor(
    asset_key=dg.AssetKey("evaluation_report"),
    job=jobs.promote_model,
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="After each new report: asks for the promotion of every experiment whose newest version nobody has "
    "decided on yet. Off unless switched on; the check decides as it does for a person.",
)
def promote_challengers(
    context: dg.SensorEvaluationContext, asset_event: dg.EventLogEntry, tracking: Tracking
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    undecided = undecided_challengers(tracking.versions())
    if not undecided:
        yield dg.SkipReason("every experiment's newest version is decided on")
    for version in undecided:
        yield dg.RunRequest(
            run_key=f"{version.label} after {asset_event.run_id}",
            partition_key=version.name,
            tags={ASKED_BY_TAG: f"sensor:{context.sensor_name}"},
        )


def undecided_challengers(versions: Sequence[RegisteredVersion]) -> list[RegisteredVersion]:
    """The newest version of each experiment that was never promoted, refused or rolled back.

    `versions` are newest first within each model, as `Tracking.versions` lists them.
    """
    known = partitions.experiments.get_partition_keys()
    newest = {version.name: version for version in reversed(versions) if version.name in known}
    return [version for version in newest.values() if not version.history and CHAMPION not in version.aliases]
