"""The zero-shot extractors by name: every model with every task that it can be asked."""

from collections.abc import Mapping

from ml.training_sets import Task
from ml.zero_shot.models import ZERO_SHOT_MODELS, ZeroShotModel

ZERO_SHOT: Mapping[str, tuple[ZeroShotModel, Task]] = {
    model.extractor(task): (model, task) for model in ZERO_SHOT_MODELS.values() for task in model.prompts
}
