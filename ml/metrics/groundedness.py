"""Groundedness: the share of the output that the page really says.

Belongs here: word 5-grams of each output line, looked up in the page's text. Does not belong here: whether
the right part of the page was copied; the metrics with a reference measure that.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from html import unescape

from ml.metrics.tokens import word_lines, words

ORDER = 5

_TAG = re.compile(r"<[^<>]*>")

Ngram = tuple[str, ...]


def _line_ngrams(text: str) -> Iterator[Ngram]:
    """5-grams within lines, as a page may put an advert between paragraphs; a shorter line is one n-gram."""
    for tokens in word_lines(text):
        order = min(ORDER, len(tokens))
        if order:
            yield from zip(*(tokens[start:] for start in range(order)), strict=False)


def _on_page(ngrams: Iterable[Ngram], page: str) -> set[Ngram]:
    """The page's n-grams that begin like one of `ngrams` and are as long."""
    orders: dict[str, set[int]] = defaultdict(set)
    for ngram in ngrams:
        orders[ngram[0]].add(len(ngram))
    tokens = words(unescape(_TAG.sub(" ", page)))
    return {
        tokens[start : start + order]
        for start, word in enumerate(tokens)
        if word in orders
        for order in orders[word]
    }


def score(prediction: str, page: str) -> float:
    """Share of the output's 5-grams that `page`, the compact page, contains, 0 to 1.

    An output without a word is 0: a failing extractor must not look faithful.
    """
    ngrams = list(_line_ngrams(prediction))
    known = _on_page(ngrams, page)
    return sum(ngram in known for ngram in ngrams) / len(ngrams) if ngrams else 0.0
