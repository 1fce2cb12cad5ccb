import numpy as np
import pytest

from ml.alignment import Role
from ml.block_model.non_articles import KINDS, Teaser, non_articles, teaser_of
from ml.block_model.training import Sample
from ml.metadata import Metadata
from ml.page import Page, parse_page

TEASERS = [Teaser(f"Other title {at}", "Another text. " * 40) for at in range(20)]


def made_of(sample: Sample, seed: int = 0) -> dict[str, Page]:
    pages = non_articles(sample.page, sample.roles, TEASERS, np.random.default_rng(seed))
    return dict(zip(KINDS, pages, strict=True))


@pytest.fixture
def sample(corpus: list[Sample]) -> Sample:
    return corpus[1]


def test_nothing_of_the_article_is_left_but_first_lines(sample: Sample) -> None:
    article = [
        block.text
        for block, role in zip(sample.page.blocks, sample.roles, strict=True)
        if role is not Role.NONE
    ]
    for kind, page in made_of(sample).items():
        left = [block.text for block in page.blocks if any(text.startswith(block.text) for text in article)]
        assert len(left) <= {"bare": 0, "wall": 2, "front": 0, "video": 1}[kind], kind


def test_front_pages_announce_other_pages(sample: Sample) -> None:
    texts = [block.text for block in made_of(sample)["front"].blocks]
    assert sum(text.startswith("Other title") for text in texts) == 16


def test_blocks_are_numbered_and_new_ones_stand_at_places_of_their_own(sample: Sample) -> None:
    old = {block.place for block in sample.page.blocks}
    for page in made_of(sample).values():
        assert [block.id for block in page.blocks] == list(range(len(page.blocks)))
    assert all(
        block.place not in old
        for block in made_of(sample)["video"].blocks
        if block.text.startswith("Other title")
    )


def test_the_same_seed_makes_the_same_pages(sample: Sample) -> None:
    assert made_of(sample, 3) == made_of(sample, 3)
    assert len({repr(made_of(sample, seed)["front"]) for seed in range(8)}) > 1


def test_a_page_that_is_all_article_makes_none() -> None:
    page = parse_page("<p>One.</p><p>Two.</p>")
    assert non_articles(page, (Role.PARAGRAPH, Role.PARAGRAPH), TEASERS, np.random.default_rng(0)) == ()


def test_a_page_announces_itself_by_its_title_and_first_text(sample: Sample) -> None:
    assert teaser_of(sample.page, sample.roles).title == "Bridges 1 repaired"
    assert teaser_of(sample.page, sample.roles).text.startswith("Bridges are repaired after 1")
    assert teaser_of(Page(language=None, metadata=Metadata(), blocks=()), ()) == Teaser("", "")
