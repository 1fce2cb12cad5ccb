import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.block_model.context import with_context
from ml.block_model.features import FEATURES, block_features, shifted
from ml.blocks import Block
from ml.metadata import Candidate, Fact, Metadata, Source
from ml.page import Page, parse_page


def page_of(*texts: str, title: str = "") -> Page:
    blocks = tuple(
        Block(id=at, tag="p", hint="", path="html/body/p", text=text, link_density=0.0)
        for at, text in enumerate(texts)
    )
    stated = Candidate(fact=Fact.TITLE, source=Source.META, value=title)
    return Page(language=None, metadata=Metadata(candidates=(stated,) if title else ()), blocks=blocks)


def column(page: Page, name: str) -> list[float]:
    return block_features(page)[:, FEATURES.index(name)].tolist()


def test_every_feature_has_its_own_name() -> None:
    assert len(set(FEATURES)) == len(FEATURES)


def test_counts_of_characters() -> None:
    page = page_of("One two, 34.", "Só «isto»!")
    assert column(page, "characters") == [12, 10]
    assert column(page, "commas") == [1, 0]
    assert column(page, "digits") == [2, 0]
    assert column(page, "quotes") == [0, 2]
    assert column(page, "digit_share") == pytest.approx([2 / 12, 0])


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It rained. It stopped.", 2),
        ("Version 2.0.1 of a.b", 0),
        ("雨が降った。止んだ。", 2),
        ("बारिश हुई। रुक गई।", 2),
        ("Wait... what?", 2),
        ('"It rained."', 1),
    ],
)
def test_sentences_in_every_script(text: str, sentences: int) -> None:
    assert column(page_of(text), "sentences") == [sentences]


def test_the_title_is_the_block_that_repeats_it() -> None:
    page = page_of("Menu", "Bridges are repaired", "Text of it.", title="Bridges are repaired")
    assert column(page, "is_title") == [0, 1, 0]
    assert column(page, "from_title") == [-1, 0, 1]


def test_repeated_blocks_are_counted() -> None:
    page = page_of("Share", "Text", "Share")
    assert column(page, "repeats") == [2, 1, 2]
    assert column(page, "repeats_before") == [0, 0, 1]


def test_hints_tell_how_far_up_they_stand() -> None:
    page = parse_page("<body><div class=teaser><div><p>Some text</p></div></div><p>Other</p>")
    assert column(page, "up_to_related") == [2, 20]


def test_a_class_without_meaning_still_tells_a_place_apart() -> None:
    html = "<div><p class=x9>Lead</p><p class=y7>One</p><p class=y7>Two</p></div>"
    page = parse_page(html)
    assert column(page, "path_blocks") == [3, 3, 3]
    assert column(page, "place_blocks") == [1, 2, 2]
    assert column(page, "around_blocks") == [3, 3, 3]
    assert column(page, "same_place_+1") == [0, 1, 0]


def test_what_stands_beside_the_title() -> None:
    head = "<meta name=title content='Bridges are repaired'>"
    page = parse_page(
        f"{head}<body><header><h1>Bridges are repaired</h1><p>Lead</p></header><div><p>Text</p></div>"
    )
    assert column(page, "beside_title") == [1, 1, 0]


def test_the_description_is_the_first_block_that_repeats_it() -> None:
    head = "<meta name=description content='The council decides at last'>"
    page = parse_page(
        f"{head}<p>Menu</p><p>The council decides at last.</p><p>The council decides at last</p>"
    )
    assert column(page, "is_description") == [0, 1, 0]


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60), min_size=1, max_size=12
    )
)
def test_any_text_gives_finite_numbers(texts: list[str]) -> None:
    page = page_of(*texts, title=texts[0])
    features = block_features(page)
    assert features.shape == (len(texts), len(FEATURES))
    assert features.dtype == np.float32
    assert np.isfinite(features).all()
    assert np.isfinite(with_context(page.blocks, features, np.full(len(texts), 0.4))).all()


def test_a_page_without_blocks_has_no_rows() -> None:
    assert block_features(page_of()).shape == (0, len(FEATURES))


@given(st.integers(-9, 9), st.integers(1, 6))
def test_shifted_looks_beside(offset: int, size: int) -> None:
    values = np.arange(size, dtype=np.float64)
    expected = [float(at + offset) if 0 <= at + offset < size else -1.0 for at in range(size)]
    assert shifted(values, offset).tolist() == expected
