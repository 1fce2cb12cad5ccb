"""METEOR: words matched as they are, by stem or by synonym, less for scattered ones (Lavie and Agarwal, 2007).

Belongs here: the matching in stages and the score, equal to NLTK's. Does not belong here: WordNet's files
(`wordnet.py`). A text has not quite 1 against itself: its one chunk costs 0.5 / words³. Stems and synonyms are
English ones; in other languages nearly only equal words match.
"""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

from ml.metrics.tokens import CACHED_TEXTS, words
from ml.metrics.wordnet import VERSION, WordNet, problem_with

ALPHA, BETA, GAMMA = 0.9, 3.0, 0.5

WORDNET_VARIABLE = "NEWSLM_WORDNET"
_DEBIAN = "/usr/share/wordnet"

_CACHED_WORDS = 1 << 16

# What ends a sentence, and does not stand before a small letter: most abbreviations do.
_BETWEEN_SENTENCES = re.compile(r"""(?:(?<=[.!?])|(?<=[.!?]["'”’»)\]]))\s++(?![a-zß-öø-ÿ])""")

Position = int
Match = tuple[Position, Position]  # of the prediction's word, of the reference's


def unavailable() -> str | None:
    """Why METEOR cannot be computed on this machine and what to do about it; None where it can."""
    problem = problem_with(folder())
    return problem and (
        f"METEOR needs {VERSION}: {problem}. Run apt-get install wordnet-base, or set {WORDNET_VARIABLE} to a "
        "folder with its dict files."
    )


def score(prediction: str, reference: str) -> float:
    """METEOR, 0 to 1, on the words of every script; two texts without a word give 1."""
    found, wanted = words(prediction), words(reference)
    return 1.0 if not found and not wanted else meteor(found, wanted)


def score_paper(prediction: str, reference: str) -> float:
    """METEOR, 0 to 1, of NLTK's word tokens, as the paper's code computes it; empty texts give 0.

    One deviation: NLTK finds the ends of sentences with a trained model that has to be downloaded, this with a
    rule. Where they disagree, a full stop stays at its word or not, in both texts alike.
    """
    return meteor(_treebank_words(prediction), _treebank_words(reference))


def meteor(prediction: Sequence[str], reference: Sequence[str]) -> float:
    """METEOR of lower-case tokens; 0 if none match. Raises `RuntimeError` where WordNet is missing."""
    matches = _align(prediction, reference)
    if not matches:
        return 0.0
    precision, recall = len(matches) / len(prediction), len(matches) / len(reference)
    mean = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
    penalty: float = GAMMA * (_chunks(matches) / len(matches)) ** BETA
    return (1 - penalty) * mean


def _chunks(matches: list[Match]) -> int:
    """Runs of matches that are adjacent in both texts, `matches` being in the prediction's order."""
    return 1 + sum(after != (before[0] + 1, before[1] + 1) for before, after in pairwise(matches))


def _align(prediction: Sequence[str], reference: Sequence[str]) -> list[Match]:
    """Stage by stage, what is left of the one is matched with what is left of the other."""
    synonyms, stem = _wordnet(folder()).synonyms, _stemmer()
    found, wanted = dict(enumerate(prediction)), dict(enumerate(reference))
    matches = _match(found, wanted, lambda word: (word,))
    found, wanted = _with_stems(found, stem), _with_stems(wanted, stem)
    matches += _match(found, wanted, lambda word: (word,))
    matches += _match(found, wanted, synonyms)  # of stems: as NLTK has it
    return sorted(matches)


def _with_stems(tokens: dict[Position, str], stem: Callable[[str], str]) -> dict[Position, str]:
    return {position: stem(word) for position, word in tokens.items()}


def _match(
    found: dict[Position, str], wanted: dict[Position, str], forms: Callable[[str], Iterable[str]]
) -> list[Match]:
    """From the last word backwards, each with the last free word of the reference that is one of its `forms`.

    Takes what it matches out of `found` and `wanted`.
    """
    places: dict[str, list[Position]] = defaultdict(list)
    for position, word in wanted.items():
        places[word].append(position)
    matches = []
    for position in reversed(tuple(found)):
        free = [places[form] for form in forms(found[position]) if places.get(form)]
        if free:
            last = max(free, key=lambda positions: positions[-1]).pop()
            matches.append((position, last))
            del found[position], wanted[last]
    return matches


@lru_cache(CACHED_TEXTS)
def _treebank_words(text: str) -> tuple[str, ...]:
    tokenize = _tokenizer()
    sentences = _BETWEEN_SENTENCES.split(text)
    return tuple(token.lower() for sentence in sentences for token in tokenize(sentence))


def folder() -> Path:
    """Where WordNet is looked for: Debian's place, or what `NEWSLM_WORDNET` names."""
    return Path(os.environ.get(WORDNET_VARIABLE) or _DEBIAN)


@cache
def _wordnet(path: Path) -> WordNet:
    if reason := unavailable():
        raise RuntimeError(reason)
    return WordNet(path)


@cache
def _stemmer() -> Callable[[str], str]:
    from nltk.stem.porter import PorterStemmer  # importing NLTK takes a second or two

    stem: Callable[[str], str] = PorterStemmer().stem
    return lru_cache(_CACHED_WORDS)(stem)


@cache
def _tokenizer() -> Callable[[str], list[str]]:
    from nltk.tokenize.destructive import NLTKWordTokenizer

    tokenize: Callable[[str], list[str]] = NLTKWordTokenizer().tokenize
    return tokenize
