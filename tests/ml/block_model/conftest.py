"""A small labelled corpus that a few rules tell apart, and a model of it."""

import pytest

from ml.alignment import Role
from ml.block_model.model import BlockModel
from ml.block_model.training import Sample, TrainingParameters, train
from ml.page import parse_page

QUICK = TrainingParameters(folds=2, first_rounds=25, second_rounds=50, second_models=2, threads=1)
SENTENCE = (
    "The council met on Tuesday, as {} said, and decided to repair bridge number {} before the winter. "
)


def article_html(seed: int) -> str:
    """A page with a menu, a summary, paragraphs under headlines, and teasers, in one of two layouts."""
    paragraphs = [SENTENCE.format(f"speaker {seed}", at) * (2 + (seed + at) % 3) for at in range(6)]
    body = "".join(
        f"{f'<h2>What happens at bridge {at}</h2>' if at in (2, 4) else ''}<p>{text}</p>"
        for at, text in enumerate(paragraphs)
    )
    menu = "".join(f"<li><a href=/{at}>Section {at}</a></li>" for at in range(8))
    teasers = "".join(f"<li><a href=/t{at}>Other story {at} of {seed}</a></li>" for at in range(6))
    summary = f"<p class=summary>Bridges are repaired after {seed} years of waiting, says the council.</p>"
    main = f"<h1>Bridges {seed} repaired</h1>{summary}<div class=article-body>{body}</div>"
    wrapped = f"<article>{main}</article>" if seed % 2 else f"<main><div class=story>{main}</div></main>"
    head = f"<title>Bridges {seed} repaired</title><meta name=description content='Bridges {seed}'>"
    links = f"<ul class=teaser>{teasers}</ul>"
    return f"<html lang=en><head>{head}</head><body><ul>{menu}</ul>{wrapped}{links}</body></html>"


def sample_of(seed: int) -> Sample:
    page = parse_page(article_html(seed))
    by_tag = {"h2": Role.HEADLINE, "p": Role.PARAGRAPH}
    roles = tuple(
        Role.SUMMARY if block.hint == "summary" else by_tag.get(block.tag, Role.NONE) for block in page.blocks
    )
    return Sample(page=page, roles=roles, family=f"family {seed % 6}")


@pytest.fixture(scope="session")
def corpus() -> list[Sample]:
    return [sample_of(seed) for seed in range(24)]


@pytest.fixture(scope="session")
def model(corpus: list[Sample]) -> BlockModel:
    return train(corpus, QUICK)
