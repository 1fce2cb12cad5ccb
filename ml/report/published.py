"""What the paper reports of its systems, as data: for orientation beside our scores, never compared with them.

Belongs here: values transcribed from arXiv:2607.21284 (KONVENS 2026), one row each. Known of it are five
cells of news-crawler-LM: ROUGE-L and BLEU of plaintext and of JSON, and its rate of valid JSON. Not
transcribed are METEOR, ROUGE-Lsum, Levenshtein, Jaro-Winkler, repetition and perplexity, precision, recall and
F1 of keys, and every cell of the systems that it compares itself with. With the paper at hand, add a row.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ml.records import Record
from ml.training_sets import Task

PAPER = "arXiv:2607.21284, KONVENS 2026"


@dataclass(frozen=True, kw_only=True)
class PublishedValue(Record):
    """One published mean, by the stored name of the metric that follows the same protocol."""

    system: str
    task: str  # a `Task`
    metric: str
    value: float
    counts: str | None = None  # of what, where it is published
    source: str = PAPER


def _of_paper(task: Task, metric: str, value: float, counts: str | None = None) -> PublishedValue:
    return PublishedValue(system="news-crawler-LM", task=task, metric=metric, value=value, counts=counts)


PUBLISHED: Sequence[PublishedValue] = (
    _of_paper(Task.PLAINTEXT, "rouge_l_paper", 0.749),
    _of_paper(Task.PLAINTEXT, "bleu_paper", 0.671),
    _of_paper(Task.JSON, "json_rouge_l_paper", 0.636),
    _of_paper(Task.JSON, "json_bleu_paper", 0.331),
    _of_paper(Task.JSON, "json_validity_paper", 48 / 90, "48 of 90"),
)
