"""Jaro-Winkler similarity: characters matched nearby, with a bonus for a common start (Winkler, 1990).

Belongs here: the similarity with Winkler's constants (prefix of 4 at 0.1, from a Jaro similarity of 0.7 on).
Made for names: two different articles of one language easily reach 0.6, so read it beside the others.
Characters are code points. jellyfish, which the paper used, takes a letter with its marks for one: equal in
Latin, Cyrillic, Han or Arabic without vowels, differing in the third decimal in Hindi or Thai.
"""

from rapidfuzz.distance import JaroWinkler


def score(prediction: str, reference: str) -> float:
    """Similarity, 0 to 1; equal texts give 1, two empty ones too."""
    return JaroWinkler.similarity(prediction, reference)
