"""The publishers' rules as Fundus ships them: observed, never computed.

Belongs here: one data version per publisher. Does not belong here: noticing changes by itself, which the
sensor in `pipeline/sensors.py` does.
"""

import dagster as dg

from pipeline import partitions
from resources.crawl import Crawl


@dg.observable_source_asset(
    partitions_def=partitions.publishers,
    group_name="publishers",
    description="Fundus' extraction rules of a publisher; its data version is a hash of their syntax trees, so a "
    "release that changes no rule changes nothing here.",
)
def fundus_rules(context: dg.OpExecutionContext, crawl: Crawl) -> dg.DataVersionsByPartition:
    known = set(context.instance.get_dynamic_partitions(partitions.publishers.name or ""))
    versions = crawl.rules_versions()
    return dg.DataVersionsByPartition({key: version for key, version in versions.items() if key in known})
