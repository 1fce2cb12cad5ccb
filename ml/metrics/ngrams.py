"""N-grams that two token sequences share, counted as often as both have them.

Belongs here: counting, with numbers in place of tuples of words, which is several times faster. Does not
belong here: what a metric makes of the counts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Overlap:
    """N-grams of one order: the prediction's, the reference's, and those in both, repetitions counted."""

    found: int
    wanted: int
    shared: int


def overlaps(prediction: Sequence[str], reference: Sequence[str], max_order: int) -> Iterator[Overlap]:
    """The overlap in 1-grams, 2-grams and so on up to `max_order`."""
    found_words, wanted_words = _numbered(prediction, reference)
    found, wanted = found_words, wanted_words
    for order in range(1, max_order + 1):
        if order > 1:  # what is one word shorter, and the word after it: no number exceeds 2 * words squared
            base = len(found_words) + len(wanted_words)
            found, wanted = _renumbered(
                found[:-1] * base + found_words[order - 1 :], wanted[:-1] * base + wanted_words[order - 1 :]
            )
        yield Overlap(found=len(found), wanted=len(wanted), shared=_shared(found, wanted))


def _numbered(prediction: Sequence[str], reference: Sequence[str]) -> tuple[Numbers, Numbers]:
    tokens = (*prediction, *reference)
    numbers = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    ids = np.fromiter(map(numbers.__getitem__, tokens), dtype=np.int64, count=len(tokens))
    return ids[: len(prediction)], ids[len(prediction) :]


def _renumbered(found: Numbers, wanted: Numbers) -> tuple[Numbers, Numbers]:
    """Equal where they were equal, and smaller than their number."""
    ids = np.unique(np.concatenate((found, wanted)), return_inverse=True)[1]
    return ids[: len(found)], ids[len(found) :]


def _shared(found: Numbers, wanted: Numbers) -> int:
    distinct = len(found) + len(wanted)
    counts = (np.bincount(ids, minlength=distinct) for ids in (found, wanted))
    return int(np.minimum(*counts).sum())
