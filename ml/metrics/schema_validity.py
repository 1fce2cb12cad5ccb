"""Schema validity: whether an output is a complete article in the published JSON form.

Belongs here: strict JSON that `ml/article.py` reads back, with exactly its keys and types. Does not belong
here: whether the values are right.
"""

from ml.article import Article
from ml.metrics import json_validity


def score(prediction: str, reference: str = "") -> float:
    """1 if the text is strict JSON with every key of an article and no other, else 0; needs no reference."""
    if not json_validity.score(prediction):
        return 0.0
    try:
        Article.from_json(prediction)
    except ValueError:
        return 0.0
    return 1.0
