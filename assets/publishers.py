"""The publishers' rules as Fundus ships them: observed, never computed.

Belongs here: one data version per publisher. Does not belong here: noticing changes by itself, which the
sensor in `pipeline/sensors.py` does.
"""

import dagster as dg

from pipeline import partitions
from resources.crawl import Crawl
from resources.fundus.rules import rules_version


@dg.observable_source_asset(
    partitions_def=partitions.publishers,
    group_name="publishers",
    description="Fundus' extraction rules of a publisher; its data version is a hash of their syntax trees, so a "
    "release that changes no rule changes nothing here.",
)
def fundus_rules(context: dg.OpExecutionContext, crawl: Crawl) -> dg.DataVersionsByPartition:
    known = context.instance.get_dynamic_partitions(partitions.publishers.name or "")
    return dg.DataVersionsByPartition(
        {key: rules_version(crawl.catalogue, key) for key in known if key in crawl.catalogue}
    )
