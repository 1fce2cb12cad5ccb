"""Shared n-grams equal the plain count."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ml.metrics.ngrams import Overlap, overlaps

TOKENS = st.lists(st.sampled_from("abcé"), max_size=12)


def _ngrams(tokens: list[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[start : start + order]) for start in range(len(tokens) - order + 1))


@given(TOKENS, TOKENS)
def test_overlaps_equal_the_plain_count(found: list[str], wanted: list[str]) -> None:
    counts = [(_ngrams(found, order), _ngrams(wanted, order)) for order in range(1, 6)]
    assert list(overlaps(found, wanted, 5)) == [
        Overlap(found=has.total(), wanted=needs.total(), shared=(has & needs).total())
        for has, needs in counts
    ]
