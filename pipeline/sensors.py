"""What Dagster notices from outside: publishers that came, went, or whose rules changed.

Belongs here: sensors. Does not belong here: what follows from an observation (`automation.py`).
"""

import json

import dagster as dg

from pipeline import partitions
from resources.crawl import Crawl

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
