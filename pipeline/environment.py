"""The environment variables that configure the pipeline, read once and late.

Belongs here: names, meanings and the resources they make. Does not belong here: defaults that a resource
already has. `newslm` sets these variables from its options; a deployment sets them itself.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:  # they need Dagster, which commands that only ask for a variable's name do not
    from resources.crawl import Crawl
    from resources.language_models import LanguageModels
    from resources.store import Store
    from resources.test_set import Evaluation
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


EVALUATION_SETTINGS: dict[str, str] = {
    "gold_folder": "NEWSLM_GOLD",
    "gold_source": "NEWSLM_GOLD_SOURCE",
    "gold_licence": "NEWSLM_GOLD_LICENCE",
    "cpu_usd_per_hour": "NEWSLM_CPU_USD_PER_HOUR",
    "cuda_usd_per_hour": "NEWSLM_CUDA_USD_PER_HOUR",
    "server_usd_per_hour": "NEWSLM_SERVER_USD_PER_HOUR",
}
"""Field of `Evaluation` to the variable that sets it."""

LANGUAGE_MODEL_SETTINGS: dict[str, str] = {
    "server": "NEWSLM_LM_SERVER",
    "api_key": "NEWSLM_LM_API_KEY",
    "concurrency": "NEWSLM_LM_CONCURRENCY",
}
"""Field of `LanguageModels` to the variable that sets it."""


class Resources(TypedDict):
    """The resources by the names that assets ask for."""

    store: "Store"
    warehouse: "Warehouse"
    crawl: "Crawl"
    trainer: "Trainer"
    tracking: "Tracking"
    evaluation: "Evaluation"
    language_models: "LanguageModels"


def resources(environment: Mapping[str, str]) -> Resources:
    """The resources that the environment describes; raises `ValueError` where a needed variable is missing."""
    from resources.crawl import Crawl
    from resources.language_models import LanguageModels
    from resources.store import Store
    from resources.test_set import Evaluation
    from resources.trainer import Trainer
    from resources.warehouse import Warehouse

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
    trainer = Trainer(work_dir=str(folder / "training"))
    store = Store(uri=environment.get(STORE) or str(folder / "store"))
    return {
        "store": store,
        "warehouse": Warehouse(store=store),
        "crawl": Crawl(**_given(CRAWL_SETTINGS, environment)),
        "trainer": trainer,
        "tracking": _tracking(environment.get(MLFLOW), folder / "mlflow"),
        "evaluation": Evaluation(**_given(EVALUATION_SETTINGS, environment)),
        "language_models": LanguageModels(
            cache_dir=trainer.cache_dir, **_given(LANGUAGE_MODEL_SETTINGS, environment)
        ),
    }


def _given(settings: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """The values of the variables that are set, by field."""
    return {field: environment[name] for field, name in settings.items() if environment.get(name)}


def _tracking(uri: str | None, folder: Path) -> "Tracking":
    from resources.tracking import Tracking

    if uri:
        return Tracking(tracking_uri=uri)
    folder.mkdir(parents=True, exist_ok=True)
    return Tracking(
        tracking_uri=f"sqlite:///{folder / 'mlflow.db'}", artifact_folder=str(folder / "artifacts")
    )
