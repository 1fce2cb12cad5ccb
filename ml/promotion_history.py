"""What became of a model version in the registry, event by event, and who was champion before whom.

Belongs here: the event that is written on a version, and what a list of them says. Does not belong here:
reading and writing them (`resources/tracking.py`), or deciding (`ml/promotion.py`).
"""

from collections.abc import Collection, Iterable
from datetime import UTC
from enum import StrEnum

from pydantic import AwareDatetime, BaseModel, ConfigDict

from ml.promotion import Decision

DIGITS = 4  # of the numbers in an event; the files beside it have them all


class Kind(StrEnum):
    """What happened to a version."""

    PROMOTED = "promoted"
    REFUSED = "refused"
    RETURNED = "returned"  # by a rollback of the champion after it
    WITHDRAWN = "withdrawn"  # by a rollback to the champion before it


class Measurement(BaseModel):
    """One headline metric in short: the two means, their difference and its interval."""

    model_config = ConfigDict(frozen=True)

    candidate: float | None = None
    champion: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: str


class Evidence(BaseModel):
    """What a decision was computed from: content versions of the data, and the code's commit."""

    model_config = ConfigDict(frozen=True)

    test_set: str
    corpus: str
    split: str
    git_commit: str


class Event(BaseModel):
    """One line of a version's history, self-contained and short enough for a tag.

    Unknown keys are ignored, so that an older release reads the events of a newer one.
    """

    model_config = ConfigDict(frozen=True)

    kind: Kind
    version: str  # model/version
    task: str
    at: AwareDatetime
    asked_by: str
    champion: str | None = None  # at that time: compared with and replaced, or rolled back
    evidence: Evidence | None = None  # None for rollbacks, which measure nothing
    basis: str | None = None
    reasons: tuple[str, ...] = ()
    metrics: dict[str, Measurement] = {}

    @property
    def stamp(self) -> str:
        """Its time in UTC to the microsecond, fit for a tag's key and a file's name."""
        return self.at.astimezone(UTC).strftime("%Y-%m-%dT%H-%M-%S.%fZ")


def decided(decision: Decision, *, asked_by: str, at: AwareDatetime, evidence: Evidence) -> Event:
    """The event of a decision: promoted where it accepted, else refused."""
    return Event(
        kind=Kind.PROMOTED if decision.accepted else Kind.REFUSED,
        version=decision.candidate,
        task=decision.task,
        at=at,
        asked_by=asked_by,
        champion=decision.champion,
        evidence=evidence,
        basis=decision.basis,
        reasons=decision.reasons,
        metrics={
            row.metric: Measurement(
                candidate=_short(row.candidate_mean),
                champion=_short(row.champion_mean),
                difference=_short(row.difference),
                low=_short(row.low),
                high=_short(row.high),
                verdict=row.verdict,
            )
            for row in decision.rows
        },
    )


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def line_of_champions(events: Iterable[Event]) -> list[str]:
    """Champions of a task, the latest last, without those that a rollback took out; no version twice in a row.

    A promotion puts a version on the champion that it replaced, a rollback takes off all above the one that
    returned. What lies above either without having been champion then was written by a move that was stopped.
    """
    line: list[str] = []
    for event in sorted(events, key=lambda event: event.at):
        if event.kind is Kind.PROMOTED:
            if event.champion:
                _cut_to(line, event.champion)
            if line[-1:] != [event.version]:
                line.append(event.version)
        elif event.kind is Kind.RETURNED:
            _cut_to(line, event.version)
    return line


def _cut_to(line: list[str], version: str) -> None:
    """End the line with a version: cut what came after it, or add it where it is new, as one named by hand is."""
    if version not in line:
        line.append(version)
    while line[-1] != version:
        line.pop()


def champion_before(champion: str, events: Iterable[Event]) -> str | None:
    """Who held the alias before `champion`, who holds it now; None where nobody is known to have.

    What the registry says now goes before the events: an event is written before the alias moves, so that one
    above the champion is of a move that was stopped.
    """
    line = line_of_champions(events)
    _cut_to(line, champion)
    return line[-2] if len(line) > 1 else None


def rightful(holders: Collection[str], events: Iterable[Event]) -> str | None:
    """Of the versions that hold the alias, the one that was given it last.

    A move to another model first gives the alias, then takes it: stopped in between, two versions hold it.
    Without events, as where the alias was set by hand, the last by name.
    """
    line = line_of_champions(events)
    return max(holders, key=lambda version: (_last_index(line, version), version), default=None)


def _last_index(line: list[str], version: str) -> int:
    return max((index for index, name in enumerate(line) if name == version), default=-1)
