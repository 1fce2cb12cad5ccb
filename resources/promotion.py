"""The gate to `champion`: answers of both versions on the current held-out pages, the decision, its record.

Belongs here: gathering what a decision needs, asking a version for answers that it has not given yet, and
writing down what came out. Does not belong here: the rule (`ml/promotion.py`) or the registry (`tracking.py`).
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain
from pathlib import Path

from ml.evaluation import score_predictions
from ml.intervals import ScoreTable
from ml.promotion import HEADLINE, Comparison, Decision, compare, decide, markdown
from ml.promotion_history import Event, Evidence, decided
from ml.records import Prediction
from ml.training_sets import Task
from resources.answers import answerer
from resources.provenance import git_commit
from resources.registered import RegisteredVersion, task_of
from resources.store import Store
from resources.test_set import TestSet
from resources.tracking import Tracking
from resources.trainer import Trainer


@dataclass(frozen=True)
class Gate:
    """Compares registered versions on the test split as it stands when the gate is made, and lets them pass.

    Versions are compared by what they wrote, not by stored scores: those are of the newest models only.
    """

    store: Store
    tracking: Tracking
    trainer: Trainer

    def compare(self, first: RegisteredVersion, second: RegisteredVersion) -> list[Comparison]:
        """Two versions on the same pages; those of different tasks by their text alone.

        Versions that have not answered the pages answer them now. Raises `RuntimeError` where one cannot, and
        `ValueError` where both are one.
        """
        if first.label == second.label:
            raise ValueError(f"found {first.label} twice; expected two versions to compare")
        tasks = {task_of(first), task_of(second)}
        task = tasks.pop() if len(tasks) == 1 else Task.PLAINTEXT
        return compare(self._table([first, second]), first.label, second.label, task=task)

    def decide(self, candidate: RegisteredVersion) -> Decision:
        """Whether a version may become champion of its task; records nothing.

        Raises `ValueError` where it is champion already, and as `compare` does.
        """
        task = task_of(candidate)
        champion = self.tracking.champion(task)
        rival = champion.label if champion else None
        if rival == candidate.label:
            raise ValueError(f"{rival} is the champion of {task} already; there is nothing to decide")
        table = self._table([candidate, champion] if champion else [candidate])
        return decide(table, candidate=candidate.label, champion=rival, task=task)

    def settle(self, decision: Decision, asked_by: str) -> Event:
        """Record a decision on its candidate, which becomes champion if it was accepted.

        Raises `RuntimeError` where another version became champion since, or MLflow does not answer.
        """
        event = decided(decision, asked_by=asked_by, at=datetime.now(UTC), evidence=self.evidence)
        files = _files(decision, event)
        if decision.accepted:
            self.tracking.promote(event, files)
        else:
            self.tracking.record(event, files)
        return event

    def unanswered(self, version: RegisteredVersion) -> int:
        """How many of the held-out pages a version has yet to answer, before it can be compared."""
        answered = {row.page_id for row in self._test.answers(*_key(version))}
        return len(self._test.page_ids - answered)

    @property
    def evidence(self) -> Evidence:
        """What decisions of this gate are computed from."""
        return self._asked_on[1]

    @property
    def _test(self) -> TestSet:
        return self._asked_on[0]

    @cached_property
    def _asked_on(self) -> tuple[TestSet, Evidence]:
        """The pages and their versions, taken together: answering may last, and the corpus may change meanwhile."""
        test = TestSet(self.store)
        evidence = Evidence(
            test_set=test.version,
            corpus=self.store.version("corpus") or "unknown",
            split=self.store.version("page_splits") or "unknown",
            git_commit=git_commit() or "unknown",
        )
        return test, evidence

    def _table(self, versions: Iterable[RegisteredVersion]) -> ScoreTable:
        if not self._test.page_ids:
            raise RuntimeError("no page is held out for tests; build the corpus and its splits first")
        answers = [row for version in versions for row in self._answers(version)]
        metrics = set(chain.from_iterable(HEADLINE.values()))
        return ScoreTable(score_predictions(answers, self._test.references(), metrics=metrics))

    def _answers(self, version: RegisteredVersion) -> list[Prediction]:
        """Everything that a version wrote, under its own name: all versions of a model share one as extractors."""

        def answer(is_open: Callable[[str], bool]) -> Iterable[Prediction]:
            folder = self.tracking.download(version, Path(self.trainer.work_dir) / "registered")
            model = answerer(folder, extractor=version.name, cache_dir=Path(self.trainer.cache_dir))
            return model(self._test, is_open)

        rows = self._test.complete(*_key(version), answer)
        return [replace(row, extractor=version.label) for row in rows]


def _key(version: RegisteredVersion) -> tuple[str, str]:
    """Where the answers of a version lie; raises `ValueError` for one that this pipeline did not register."""
    sha256 = version.tags.get("weights_sha256")
    if sha256 is None:
        raise ValueError(
            f"{version.label} has no tag weights_sha256: it was not registered by this pipeline, so that its answers "
            f"cannot be told from others'; train and register it through the asset `models`"
        )
    return version.name, sha256[:16]


def _files(decision: Decision, event: Event) -> dict[str, bytes]:
    """The decision with all its digits, for programs and for people."""
    name = f"decision-{event.stamp}"
    facts = event.model_dump(mode="json", exclude={"metrics"}) | {
        "rows": [asdict(row) for row in decision.rows]
    }
    made_from = event.evidence.model_dump() if event.evidence else {}
    closing = "".join(f"- {key.replace('_', ' ')}: {value}\n" for key, value in made_from.items())
    asked = f"Asked by {event.asked_by}, {event.at:%Y-%m-%d %H:%M:%S} UTC."
    return {
        f"{name}.json": json.dumps(facts, indent=2, ensure_ascii=False).encode(),
        f"{name}.md": f"{markdown(decision)}\n{asked}\n\n{closing}".encode(),
    }
