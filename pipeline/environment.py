"""The environment variables that configure the pipeline, read once and late.

Belongs here: names, meanings and the resources they make. Does not belong here: defaults that a resource
already has. `newslm` sets these variables from its options; a deployment sets them itself.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from resources.crawl import Crawl
from resources.store import Store
from resources.tracking import Tracking
from resources.trainer import Trainer
from resources.warehouse import Warehouse

HOME = "NEWSLM_HOME"
STORE = "NEWSLM_STORE"
MLFLOW = "MLFLOW_TRACKING_URI"

CRAWL_SETTINGS: dict[str, str] = {
    "source": "NEWSLM_SOURCE",
    "max_pages": "NEWSLM_MAX_PAGES",
    "crawl_disallowing_training": "NEWSLM_CRAWL_DISALLOWING_TRAINING",
    "ccnews_server": "NEWSLM_CCNEWS_SERVER",
    "ccnews_start": "NEWSLM_CCNEWS_START",
    "ccnews_end": "NEWSLM_CCNEWS_END",
    "archive_path": "NEWSLM_ARCHIVE",
    "demo_proxy": "NEWSLM_DEMO_PROXY",
}
"""Field of `Crawl` to the variable that sets it; a variable that is not set leaves the field's default."""


class Resources(TypedDict):
    """The resources by the names that assets ask for."""

    store: Store
    warehouse: Warehouse
    crawl: Crawl
    trainer: Trainer
    tracking: Tracking


def resources(environment: Mapping[str, str]) -> Resources:
    """The resources that the environment describes; raises `ValueError` where a needed variable is missing."""
    home = environment.get(HOME)
    if not home:
        raise ValueError(
            f"{HOME} is not set: it names the folder that holds the store, the models and MLflow's files. "
            f"Set it, or start through `newslm run` or `newslm dev`, which do"
        )
    # MLflow reads these when it is imported: it would announce every table, and report its use to its makers.
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "WARNING")
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    folder = Path(home).resolve()
    store = Store(uri=environment.get(STORE) or str(folder / "store"))
    crawl = {field: environment[name] for field, name in CRAWL_SETTINGS.items() if environment.get(name)}
    return {
        "store": store,
        "warehouse": Warehouse(store=store),
        "crawl": Crawl(**crawl),
        "trainer": Trainer(work_dir=str(folder / "training")),
        "tracking": _tracking(environment.get(MLFLOW), folder / "mlflow"),
    }


def _tracking(uri: str | None, folder: Path) -> Tracking:
    if uri:
        return Tracking(tracking_uri=uri)
    folder.mkdir(parents=True, exist_ok=True)
    return Tracking(
        tracking_uri=f"sqlite:///{folder / 'mlflow.db'}", artifact_folder=str(folder / "artifacts")
    )
