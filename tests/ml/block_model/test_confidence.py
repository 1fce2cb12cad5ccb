"""Pages that are no article, written by hand: nothing may be taken for one."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.alignment import Role
from ml.block_model.confidence import SIGNS, fit_calibration, page_signs
from ml.block_model.features import block_features
from ml.block_model.model import ROLES, BlockModel
from ml.block_model.training import Sample
from ml.extractor import default_extractor
from ml.metadata import Metadata
from ml.page import parse_page


def _page(main: str, title: str = "The Daily Bridge") -> str:
    menu = "".join(f"<li><a href=/{name}>{name.title()}</a></li>" for name in ("news", "sport", "culture"))
    legal = "<footer><p>© The Daily Bridge</p><a href=/imprint>Imprint</a></footer>"
    return (
        f"<html lang=en><title>{title}</title><body><ul>{menu}</ul><main>{main}</main>{legal}</body></html>"
    )


def _teaser(at: int) -> str:
    text = f"The council of town {at} decides this week what becomes of its old bridge over the river."
    return (
        f"<article class=teaser><h3><a href=/{at}>Town {at} repairs a bridge</a></h3><p>{text}</p></article>"
    )


def home_page() -> str:
    return _page("".join(map(_teaser, range(20))))


def section_page() -> str:
    items = "".join(
        f"<li><a href=/{at}>Match {at} ends in a draw</a> <time>{at}:15</time></li>" for at in range(25)
    )
    return _page(f"<h1>Sport</h1><ul>{items}</ul>", "Sport - The Daily Bridge")


def video_page() -> str:
    about = "<p>Divers show how the bridge is repaired under water. It takes three weeks.</p>"
    others = "".join(f"<li><a href=/v{at}>Video {at}: a bridge from above</a></li>" for at in range(12))
    return _page(
        f"<h1>Watch: under the bridge</h1><video></video>{about}<ul>{others}</ul>", "Watch: under the bridge"
    )


def login_wall() -> str:
    form = "<form><label>E-mail</label><input><label>Password</label><input></form>"
    return _page(
        f"<h1>Please log in</h1><p>This article is for subscribers.</p>{form}<p>Forgot your password?</p>"
    )


def cookie_wall() -> str:
    asked = (
        "We and our 214 partners store information on your device, such as cookies, to show advertisements. "
    )
    choices = "<a href=/yes>Accept all</a><a href=/no>Subscribe without advertisements</a>"
    return f"<html lang=en><title>Your choice</title><body><div class=consent><p>{asked * 2}</p>{choices}</div></body>"


def missing_page() -> str:
    return _page(
        "<h1>Page not found</h1><p>The page has moved or never was. Try the search.</p>", "Not found"
    )


def search_page() -> str:
    hits = "".join(
        f"<div><a href=/{at}>Bridge {at} is closed</a><div>2.{at}.2026 … the bridge {at} stays closed …</div></div>"
        for at in range(1, 11)
    )
    return _page(f"<h1>10 results for bridge</h1>{hits}")


def ticker_page() -> str:
    lines = "".join(
        f"<li><time>14:{at:02}</time> <a href=/{at}>Goal number {at}</a></li>" for at in range(10, 40)
    )
    return _page(f"<h1>Live ticker</h1><ul class=ticker>{lines}</ul>", "Live ticker")


OTHERS = (
    home_page,
    section_page,
    video_page,
    login_wall,
    cookie_wall,
    missing_page,
    search_page,
    ticker_page,
)


@pytest.mark.parametrize("other", OTHERS)
def test_the_model_that_ships_finds_no_article_where_there_is_none(other: Callable[[], str]) -> None:
    assert not default_extractor().blocks.predict(parse_page(other())).is_article


def test_an_article_is_found(model: BlockModel, corpus: list[Sample]) -> None:
    assert all(model.predict(sample.page).is_article for sample in corpus)


def test_a_page_of_which_nothing_is_kept_has_no_sign() -> None:
    page = parse_page(home_page())
    features = block_features(page)
    nothing = np.tile([1.0, 0.0, 0.0, 0.0], (len(features), 1))
    assert not page_signs(page, features, nothing, (Role.NONE,) * len(features)).any()


@given(st.data())
def test_signs_of_any_roles_are_finite(data: st.DataObject) -> None:
    page = parse_page(data.draw(st.sampled_from(OTHERS))())
    features = block_features(page)
    roles = data.draw(st.lists(st.sampled_from(ROLES), min_size=len(features), max_size=len(features)))
    signs = page_signs(page, features, np.full((len(features), len(ROLES)), 1 / len(ROLES)), roles)
    assert signs.shape == (len(SIGNS),)
    assert np.isfinite(signs).all()


def test_weights_count_as_so_many_pages() -> None:
    generator = np.random.default_rng(0)
    signs = generator.uniform(size=(30, len(SIGNS)))
    good = generator.uniform(size=30) < 0.5
    repeated = fit_calibration(np.concatenate([signs, signs[good]]), np.concatenate([good, good[good]]))
    weighted = fit_calibration(signs, good, np.where(good, 2.0, 1.0))
    assert weighted.weights == pytest.approx(repeated.weights)


def test_what_a_page_says_that_it_is_counts() -> None:
    page = parse_page(
        "<h1>Boats</h1><p>All boats stayed in port on Friday, as the storm had not passed yet.</p>"
    )
    features = block_features(page)
    roles = (Role.NONE, Role.PARAGRAPH)
    probabilities = np.eye(len(ROLES))[[0, ROLES.index(Role.PARAGRAPH)]]
    said = SIGNS.index("says_article")
    for kinds, expected in (((), 0), (("website",), 0), (("webpage", "newsarticle"), 1), (("article",), 1)):
        stated = replace(page, metadata=Metadata(kinds=kinds))
        assert page_signs(stated, features, probabilities, roles)[said] == expected
