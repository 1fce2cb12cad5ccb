"""The promises about cleaning and alignment, kept on the shared pages; skipped where they are missing."""

import importlib.util
import sys
from pathlib import Path
from statistics import mean, median
from types import ModuleType

import pytest

from ml.alignment import target_coverage
from ml.page import parse_page, render_compact
from ml.tokens import count_tokens


@pytest.fixture(scope="module")
def cleaning() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "benchmarks" / "cleaning.py"
    spec = importlib.util.spec_from_file_location("cleaning_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def samples(cleaning: ModuleType, shared: Path) -> list:
    return list(cleaning.samples(shared / "ccnews"))


def test_the_compact_page_keeps_the_article_and_is_short(samples: list) -> None:
    compact = [render_compact(parse_page(sample.html)) for sample in samples]
    recall = [target_coverage(text, sample.article) for text, sample in zip(compact, samples, strict=True)]
    tokens = [count_tokens(text) for text in compact]
    assert len(samples) >= 240
    assert mean(recall) >= 0.99
    assert mean(share >= 0.9 for share in recall) >= 0.98
    assert median(tokens) <= 4_000
    assert mean(count <= 24_000 for count in tokens) >= 0.99
    assert [render_compact(parse_page(text)) for text in compact] == compact


def test_labelled_blocks_rebuild_the_article(cleaning: ModuleType, samples: list) -> None:
    scores = [cleaning.oracle_rouge_l(sample) for sample in samples]
    assert mean(scores) >= 0.99
    assert mean(score < 0.9 for score in scores) <= 0.01


def test_the_peer_loses_words(cleaning: ModuleType, samples: list) -> None:
    losses = [target_coverage(cleaning.peer(sample.html), sample.article) for sample in samples[:60]]
    assert mean(losses) < 0.95
