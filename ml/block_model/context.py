"""What a first opinion of every block adds to the features of its neighbours: the input of the second stage.

Belongs here: columns made of the first stage's probabilities. Does not belong here: the features of the page
itself (`features.py`) or the models (`model.py`).
"""

from collections.abc import Sequence

import numpy as np

from ml.block_model.features import FEATURES, Indices, Matrix, Numbers, Places, places_of, shifted
from ml.blocks import Block

_REACH = 5  # blocks to either side
_SURE = 0.5
_NONE_AT_HAND = 999.0  # blocks away; more than matters
_CHARACTERS, _WORDS = FEATURES.index("characters"), FEATURES.index("words")


def with_context(blocks: Sequence[Block], features: Matrix, text_probability: Numbers) -> Matrix:
    """The features of each block beside what is thought of it, its neighbours and its like, (blocks, wider)."""
    places = places_of(blocks)
    columns = [
        text_probability,
        *(shifted(text_probability, offset) for offset in range(-_REACH, _REACH + 1) if offset),
        *_of_its_like(places, features, text_probability),
        *_beside_in_the_text(places, features, text_probability),
        *_of_the_main_place(places.place, features, text_probability),
        *_of_the_rest(features, text_probability),
    ]
    return np.concatenate([features, np.stack(columns, axis=1)], axis=1, dtype=np.float32)


def _of_its_like(places: Places, features: Matrix, probability: Numbers) -> list[Numbers]:
    """Mean, share and maximum of the probability over the blocks with the same path or place, and those around."""
    columns = []
    weight = np.sqrt(features[:, _CHARACTERS].astype(np.float64))  # long blocks say more about their place
    for numbers in places:
        held = np.bincount(numbers, weights=probability * weight)
        highest = np.zeros(len(held))
        np.maximum.at(highest, numbers, probability)
        mean = held / np.maximum(np.bincount(numbers, weights=weight), 1e-9)
        columns += [mean[numbers], (held / max(float(held.sum()), 1e-9))[numbers], highest[numbers]]
    return columns


def _beside_in_the_text(places: Places, features: Matrix, probability: Numbers) -> list[Numbers]:
    """Whether the nearest sure blocks on either side stand at a like place, and how long they are.

    A summary mostly stands apart from the paragraph that follows it, however much lies between them.
    """
    at = np.arange(len(probability))
    sure = probability > _SURE
    before = np.concatenate(([-1], np.maximum.accumulate(np.where(sure, at, -1))[:-1]))
    after = np.append(np.minimum.accumulate(np.where(sure, at, len(at))[::-1])[::-1][1:], len(at))
    columns = []
    compared = (places.own, places.parent, places.place, places.around)
    for nearest in (before, after):
        exists = (nearest >= 0) & (nearest < len(at))
        beside = np.where(exists, nearest, 0)
        alike = [numbers[beside] == numbers for numbers in compared]
        columns += [np.where(exists, values, -1.0) for values in (*alike, features[beside, _WORDS])]
    return columns


def _of_the_main_place(place: Indices, features: Matrix, probability: Numbers) -> list[Numbers]:
    """Whether a block stands where most of the text does, and which of the sure blocks there, and of all, it is.

    A summary often differs from the paragraphs in its class alone, and comes before the first of them.
    """
    at = np.arange(len(place))
    sure = probability > _SURE
    is_main = place == np.bincount(place, weights=probability * features[:, _CHARACTERS]).argmax()
    rank: Numbers = (np.cumsum(sure) - sure).astype(np.float64)
    first_paragraph = int((is_main & sure).argmax())
    _, first_at, of_place = np.unique(place, return_index=True, return_inverse=True)
    return [
        is_main.astype(np.float64),
        (at - first_paragraph).astype(np.float64),
        rank,
        rank - rank[first_paragraph],
        np.bincount(of_place, weights=sure)[of_place],
        (at - first_at[of_place]).astype(np.float64),
    ]


def _of_the_rest(features: Matrix, probability: Numbers) -> list[Numbers]:
    """Expected words of the article before and after, and how far the nearest sure blocks are."""
    expected = probability * features[:, _WORDS]
    until = np.cumsum(expected)
    total = float(until[-1])
    at = np.arange(len(probability), dtype=np.float64)
    sure = probability > _SURE
    before = np.maximum.accumulate(np.where(sure, at, -_NONE_AT_HAND))
    after = np.minimum.accumulate(np.where(sure, at, at[-1] + _NONE_AT_HAND)[::-1])[::-1]
    return [
        until - expected,
        total - until,
        (until - expected) / max(total, 1e-9),
        np.full(len(at), total),
        at - shifted(before, -1, -_NONE_AT_HAND),
        shifted(after, 1, at[-1] + _NONE_AT_HAND) - at,
        at - (float(sure.argmax()) if sure.any() else 0.0),
        np.full(len(at), probability.max()),
    ]


def _width() -> int:
    block = Block(id=0, tag="p", hint="", path="p", text="-", link_density=0.0)
    features = np.zeros((1, len(FEATURES)), dtype=np.float32)
    return len(with_context((block,), features, np.zeros(1))[0])


WIDTH = _width()
"""How many columns `with_context` gives."""
