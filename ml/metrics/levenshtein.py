"""Levenshtein distance: the share of characters to insert, delete or replace (Levenshtein, 1966).

Belongs here: the distance divided by the longer text's length, as the paper reports it; lower is better.
"""

from rapidfuzz.distance import Levenshtein

NEAR = 2048
"""Edits up to which a text is first compared with what stands around the same place, several times faster."""


def score(prediction: str, reference: str) -> float:
    """Edits per character of the longer text: 0 for equal texts, two empty ones too, 1 if nothing matches.

    Time grows with the product of the lengths if the texts differ much: two of a million characters each take
    half a minute.
    """
    return _distance(prediction, reference) / max(len(prediction), len(reference), 1)


def _distance(prediction: str, reference: str) -> int:
    near = Levenshtein.distance(prediction, reference, score_cutoff=NEAR, score_hint=31)
    return near if near <= NEAR else Levenshtein.distance(prediction, reference)
