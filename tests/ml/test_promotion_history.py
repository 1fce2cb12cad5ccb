"""Who was champion before whom, whatever promotions and rollbacks came, and wherever one was stopped."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.promotion_history import Event, Kind, champion_before, line_of_champions, rightful

START = datetime(2026, 1, 1, tzinfo=UTC)


def event(number: int, kind: Kind, version: str, champion: str | None) -> Event:
    return Event(
        kind=kind,
        version=version,
        task="json",
        at=START + timedelta(minutes=number),
        asked_by="me",
        champion=champion,
    )


def history(*steps: str) -> list[Event]:
    """Events of `b>a`, b promoted in place of a, of `a<b`, back to a from b, and of `b!a`, b refused for a."""
    events = []
    for number, step in enumerate(steps):
        mark = next(mark for mark in ">!<" if mark in step)
        version, champion = step.split(mark)
        kind = {">": Kind.PROMOTED, "!": Kind.REFUSED, "<": Kind.RETURNED}[mark]
        events.append(event(number, kind, version, champion or None))
        if kind is Kind.RETURNED:
            events.append(event(number, Kind.WITHDRAWN, champion, champion))
    return events


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        ([], []),
        (["a>"], ["a"]),
        (["a>", "b>a", "c!b"], ["a", "b"]),
        (["a>", "b>a", "a<b"], ["a"]),
        (["a>", "b>a", "c>b", "b<c", "a<b"], ["a"]),
        (["a>", "b>a", "a<b", "c>a"], ["a", "c"]),
        (["a>", "b>a", "a>b"], ["a", "b", "a"]),
        (["a>", "b>a", "a>b", "b<a"], ["a", "b"]),
        (["b>a"], ["a", "b"]),  # a was named by hand
        (["a>", "b>a", "c>a"], ["a", "c"]),  # b never got the alias: c was compared with a
    ],
)
def test_the_line_of_champions(steps: list[str], line: list[str]) -> None:
    assert line_of_champions(reversed(history(*steps))) == line


@pytest.mark.parametrize(
    ("steps", "champion", "before"),
    [
        (["a>"], "a", None),
        (["a>", "b>a"], "b", "a"),
        (["a>", "b>a"], "a", None),  # stopped before the alias moved
        (["a>", "b>a", "a<b"], "a", None),
        (["a>", "b>a", "a<b"], "b", "a"),  # the rollback was stopped before the alias moved
        (["a>", "b>a"], "c", "b"),  # named by hand since
        ([], "a", None),
    ],
)
def test_who_was_champion_before(steps: list[str], champion: str, before: str | None) -> None:
    assert champion_before(champion, history(*steps)) == before


def test_of_two_holders_the_one_that_was_named_last_counts() -> None:
    events = history("a>", "b>a")
    assert rightful({"a", "b"}, events) == "b"
    assert rightful({"a"}, events) == "a"
    assert rightful({"a", "by hand"}, events) == "a"
    assert rightful(set(), events) is None
    assert rightful({"x", "y"}, []) == "y"


@given(st.lists(st.sampled_from(["a", "b", "c", None]), max_size=12))
def test_rollbacks_undo_promotions_one_by_one(steps: list[str | None]) -> None:
    """A stack of champions is what people expect; None is a rollback, where there is something to go back to."""
    stack: list[str] = []
    events: list[Event] = []
    for number, version in enumerate(steps):
        champion = stack[-1] if stack else None
        if version is None and len(stack) > 1:
            assert champion_before(stack[-1], events) == stack[-2]
            stack.pop()
            events.append(event(number, Kind.RETURNED, stack[-1], champion))
        elif version is not None and version != champion:
            stack.append(version)
            events.append(event(number, Kind.PROMOTED, version, champion))
    assert line_of_champions(events) == stack
