"""Speed and cost: what follows from seconds and prices, and what stays unknown."""

from dataclasses import replace
from typing import Any

import pytest

from ml.report.runs import run_facts

CPU_USD, CUDA_USD = 0.36, 3.6


def test_seconds_pages_and_money(evaluation: Any) -> None:
    first, second, third, *_ = evaluation.predictions("only", "text", device="cpu")
    rows = [
        replace(first, seconds=1.0, input_tokens=100),
        replace(second, seconds=2.0, error="crashed", input_tokens=300),
        replace(third, seconds=6.0, truncated=True, device="cuda"),
    ]
    facts = run_facts(rows, {"cpu": CPU_USD, "cuda": CUDA_USD})["only"]
    assert (facts.pages, facts.failures, facts.truncated) == (3, 1, 1)
    assert (facts.median_seconds, facts.mean_seconds, facts.pages_per_hour) == (2.0, 3.0, 1200.0)
    assert (facts.input_tokens, facts.output_tokens) == (200.0, None)
    assert facts.device == "cpu, cuda"
    # 3 s at 0.0001 USD and 6 s at 0.001 are 0.0063 USD for three pages.
    assert facts.usd_per_1000_pages == pytest.approx(2.1)


@pytest.mark.parametrize(("device", "prices"), [(None, {"cpu": 1.0}), ("server", {"cpu": 1.0}), ("cpu", {})])
def test_what_is_not_known_costs_an_unknown_sum(
    evaluation: Any, device: str | None, prices: dict[str, float]
) -> None:
    rows = evaluation.predictions("only", "text", device=device)
    assert run_facts(rows, prices)["only"].usd_per_1000_pages is None


def test_no_time_gives_no_speed(evaluation: Any) -> None:
    facts = run_facts(evaluation.predictions("only", "text", seconds=0.0, device="cpu"), {"cpu": 1.0})["only"]
    assert facts.pages_per_hour is None
    assert facts.usd_per_1000_pages == 0.0


def test_no_predictions_are_no_runs() -> None:
    assert run_facts([], {"cpu": 1.0}) == {}
