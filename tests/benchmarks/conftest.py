"""The benchmarks as modules, and pages for them: the demo newsroom's, whose articles are known."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from blocks import labelled_item
from measures import LabelledItem

from ml.block_model.training import TrainingParameters
from ml.page import decode
from resources.demo.newsroom import articles
from resources.demo.pages import reply
from resources.demo.sites import SITES

STORIES_EACH = 5


@pytest.fixture(scope="session")
def items() -> list[LabelledItem]:
    return [
        labelled_item(
            page_id=f"{site.key}-{number}",
            url=story.url,
            publisher=site.key,
            html=decode(reply(story.url).body),
            article=story.article,
            family=site.key,
        )
        for site in SITES
        for number, story in enumerate(articles(site.key)[:STORIES_EACH])
    ]


@pytest.fixture(scope="session")
def quick() -> TrainingParameters:
    return TrainingParameters(folds=2, first_rounds=15, second_rounds=15, second_models=1, threads=1)
