"""Block models from the registry, by name.

Belongs here: what a user may call a model, and its file. Does not belong here: the registry (`tracking.py`).
"""

from pathlib import Path

from ml.training_sets import Task
from resources.registered import CHAMPION, TREES, RegisteredVersion
from resources.tracking import Tracking


def fetch_extractor(name: str, tracking: Tracking, work_dir: Path) -> Path:
    """The file of `champion`, `MODEL/VERSION`, `MODEL@ALIAS` or `MODEL`, fetched once and checked by its hash.

    Raises `ValueError` where there is no such version, or it is no block model, and `RuntimeError` where MLflow does
    not answer.
    """
    version = _version(name, tracking)
    if version.artifact is not TREES:
        raise ValueError(
            f"{version.label} is a language model, expected a block model such as `block-model`: it labels blocks in "
            f"milliseconds. Name one that `newslm models list` shows"
        )
    return tracking.download(version, work_dir / "registered") / TREES.weights


def _version(name: str, tracking: Tracking) -> RegisteredVersion:
    if name != CHAMPION:
        return tracking.version(name)
    champion = tracking.champion(Task.JSON)
    if champion is None:
        raise ValueError("no model is champion of json yet: `newslm models promote block-model` makes one")
    return champion
