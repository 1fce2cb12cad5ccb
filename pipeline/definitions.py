"""Everything Dagster loads: assets, checks, jobs, schedules, sensors, resources.

Belongs here: putting the parts together. Does not belong here: any part.
"""

import os

import dagster as dg

import assets.corpus
import assets.crawl
import assets.evaluation
import assets.models
import assets.promotion
import assets.publishers
import assets.report
from pipeline import jobs, schedules, sensors
from pipeline.automation import automated
from pipeline.environment import resources

ASSET_MODULES = [
    assets.publishers,
    assets.crawl,
    assets.corpus,
    assets.models,
    assets.evaluation,
    assets.report,
    assets.promotion,
]


@dg.definitions
def defs() -> dg.Definitions:
    """The code location; its resources come from the environment when it is loaded."""
    return dg.Definitions(
        assets=[
            automated(asset) if isinstance(asset, dg.AssetsDefinition) else asset
            for asset in dg.load_assets_from_modules(ASSET_MODULES)
        ],
        asset_checks=dg.load_asset_checks_from_modules(ASSET_MODULES),
        jobs=jobs.ALL,
        schedules=[schedules.weekly_refresh],
        sensors=[sensors.sync_publishers, sensors.automation, sensors.promote_challengers],
        resources=dict(resources(os.environ)),
        # A run is one process: its steps depend on each other, and what is heavy runs outside (training) or is
        # many runs (publishers).
        executor=dg.in_process_executor,
    )
