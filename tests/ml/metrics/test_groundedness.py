"""Groundedness by hand."""

import pytest

from ml.metrics import groundedness

PAGE = """<h1>Big news</h1>
<p>one two three four five six &amp; seven</p><aside>advert</aside><p>eight nine ten</p>"""


def test_share_of_5_grams_on_the_page() -> None:
    # one..five and two..six are on the page, three..x and four..y are not
    assert groundedness.score("one two three four five six x", PAGE) == pytest.approx(2 / 3)


def test_a_faithful_copy_is_grounded_across_paragraphs_tags_and_entities() -> None:
    assert (
        groundedness.score("BIG NEWS\n\none two three four five six & seven\n\nEight, nine, ten.", PAGE) == 1
    )


def test_words_of_the_page_in_another_order_are_not() -> None:
    assert groundedness.score("seven six five four three two one", PAGE) == 0


def test_a_short_invented_line_counts_once() -> None:
    assert groundedness.score("big news\nfake news", PAGE) == pytest.approx(1 / 2)


def test_tags_are_not_text() -> None:
    assert groundedness.score("aside", "<aside>advert</aside>") == 0
