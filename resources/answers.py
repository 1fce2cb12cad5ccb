"""What trained models answer, whichever kind they are of: by their folder alone.

Belongs here: loading what lies in a folder and asking it. Does not belong here: answering itself (`ml/decoding.py`,
`ml/extractor_predictions.py`), or which pages are asked (`test_set.py`).
"""

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from ml.extractor import Extractor
from ml.extractor_predictions import predictions
from ml.records import Prediction
from resources.registered import TREES
from resources.test_set import EvaluationSet

Answerer = Callable[[EvaluationSet, Callable[[str], bool]], Iterable[Prediction]]
"""Given a set of pages and whether a page id is still open: an answer to each open page."""


def answerer(folder: Path, *, extractor: str, cache_dir: Path) -> Answerer:
    """Answers by the model in a folder, under the name `extractor`; it is loaded once, with the first question."""
    trees = folder / TREES.weights
    return _of_trees(trees, extractor) if trees.is_file() else _of_adapter(folder, extractor, cache_dir)


def _of_trees(path: Path, extractor: str) -> Answerer:
    model = cache(lambda: Extractor.load(path))

    def answer(questions: EvaluationSet, is_open: Callable[[str], bool]) -> Iterable[Prediction]:
        pages = (page for page in questions.raw_pages() if is_open(page.page_id))
        return predictions(model(), pages, name=extractor)

    return answer


def _of_adapter(folder: Path, extractor: str, cache_dir: Path) -> Answerer:
    from ml.decoding import load_adapter, predict

    model = cache(lambda: load_adapter(folder, cache_dir=cache_dir))

    def answer(questions: EvaluationSet, is_open: Callable[[str], bool]) -> Iterable[Prediction]:
        recipe = (
            model().experiment
        )  # that lies beside the weights: the table of experiments may have moved on
        examples = (row for row in questions.examples(recipe.task) if is_open(row.page_id))
        return predict(model(), examples, recipe, extractor=extractor)

    return answer
