"""Registered versions as the registry describes them: their names, their history, and who is champion.

Belongs here: what can be told from a list of versions. Does not belong here: asking MLflow for it, or changing
anything there (`tracking.py`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from ml import promotion_history
from ml.experiments import TASKS
from ml.promotion_history import Event, rightful
from ml.training_sets import Task

CHAMPION = "champion"
"""The alias of the one version, of all models of a task, that is in use."""

ARTIFACT_TAG = "artifact"
"""The tag that says which kind of artifact a version is, by its path in the run."""

EVENT_TAG = "promotion."
"""Prefix of the tags that hold a version's history, an `Event` as JSON each, with its stamp as the rest."""


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """A kind of model as it lies in a folder and below its run.

    `weights` is the file in it that tells a model from every other: its SHA-256 is the tag `weights_sha256`.
    """

    path: str
    weights: str


ADAPTER = Artifact(path="adapter", weights="adapter_model.safetensors")
TREES = Artifact(path="model", weights="artifacts/model.json")
"""A block model, logged so that MLflow can serve it."""


@dataclass(frozen=True, kw_only=True)
class RegisteredVersion:
    """One version of a registered model, as the registry describes it."""

    name: str
    version: str
    aliases: tuple[str, ...]
    run_id: str
    created_s: float  # Unix time
    validation_perplexity: float | None
    tags: Mapping[str, str]

    @property
    def label(self) -> str:
        """How people and files name it: `model/version`."""
        return f"{self.name}/{self.version}"

    @property
    def task(self) -> str | None:
        """What it was trained to write; None for a model that this pipeline does not know."""
        return self.tags.get("task") or TASKS.get(self.name)

    @property
    def artifact(self) -> Artifact:
        """What lies in its folder."""
        return TREES if self.tags.get(ARTIFACT_TAG) == TREES.path else ADAPTER

    @property
    def names(self) -> frozenset[str]:
        """Every name that means this version and no other of its model."""
        numbered = {f"{self.name}{mark}{self.version}" for mark in "/:"}
        return frozenset({*numbered, *(f"{self.name}@{alias}" for alias in self.aliases)})

    @property
    def history(self) -> list[Event]:
        """What became of it, oldest first; raises `ValueError` where a tag was changed to something else."""
        tags = ((key, text) for key, text in self.tags.items() if key.startswith(EVENT_TAG))
        return sorted((self._event(*tag) for tag in tags), key=lambda event: event.at)

    def _event(self, key: str, text: str) -> Event:
        try:
            return Event.model_validate_json(text)
        except ValidationError as error:
            raise ValueError(
                f"the tag {key} of {self.label} holds no event ({error.error_count()} mismatches); expected what "
                f"`newslm models promote` wrote: restore it, or delete the tag"
            ) from error


def task_of(version: RegisteredVersion) -> Task:
    """What a version was trained to write; raises `ValueError` where that is unknown."""
    if version.task not in set(Task):
        raise ValueError(
            f"{version.label} was trained for {version.task or 'an unknown task'}, expected {' or '.join(Task)}; give "
            f"it the tag `task` in MLflow"
        )
    return Task(version.task)


def named_version(versions: Sequence[RegisteredVersion], name: str) -> RegisteredVersion:
    """The version that is named `MODEL/VERSION`, `MODEL:VERSION`, `MODEL@ALIAS`, or `MODEL` for its newest.

    `versions` are newest first. Raises `ValueError` with what there is where nothing has that name.
    """
    for version in versions:
        if name == version.name or name in version.names:
            return version
    model = re.split("[/:@]", name)[0]
    there_are = [_with_aliases(version) for version in versions if version.name == model]
    if there_are:
        raise ValueError(f"no version is named {name!r}; {model} has {', '.join(there_are)}")
    models = ", ".join(sorted({version.name for version in versions})) or "none yet"
    raise ValueError(f"no model is registered as {model!r}; registered are: {models}")


def holders_of(versions: Sequence[RegisteredVersion], task: str) -> list[RegisteredVersion]:
    """Every version of a task with the alias `champion`: one, or two after a promotion that was stopped."""
    return [version for version in versions if version.task == task and CHAMPION in version.aliases]


def champion_of(versions: Sequence[RegisteredVersion], task: str) -> RegisteredVersion | None:
    """The champion of a task: of several holders of the alias, the one that was given it last."""
    holders = {version.label: version for version in holders_of(versions, task)}
    label = rightful(holders, _events(versions, task))
    return holders[label] if label else None


def champion_before(versions: Sequence[RegisteredVersion], task: str) -> str | None:
    """The label of the version that was champion before the present one, if that is known."""
    current = champion_of(versions, task)
    return promotion_history.champion_before(current.label, _events(versions, task)) if current else None


def _events(versions: Sequence[RegisteredVersion], task: str) -> list[Event]:
    return [event for version in versions for event in version.history if event.task == task]


def _with_aliases(version: RegisteredVersion) -> str:
    return " ".join([version.version, *(f"@{alias}" for alias in version.aliases)])
