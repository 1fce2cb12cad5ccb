"""Levenshtein distance: the share of characters to insert, delete or replace (Levenshtein, 1966).

Belongs here: the distance divided by the longer text's length, as the paper reports it; lower is better.
"""

from rapidfuzz.distance import Levenshtein


def score(prediction: str, reference: str) -> float:
    """Edits per character of the longer text: 0 for equal texts, two empty ones too, 1 if nothing matches."""
    return Levenshtein.normalized_distance(prediction, reference)
