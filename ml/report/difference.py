"""Two texts side by side, word by word: what is shared, what one of them lacks.

Belongs here: aligning and shortening. Does not belong here: markup; the template does that.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rapidfuzz.distance import Indel

from ml.metrics.tokens import word_ends

MAX_COMPARED_WORDS = 4_000  # the alignment costs words times words
MAX_SHOWN_WORDS = 220
CONTEXT_WORDS = 8

_LINE_BREAKS = re.compile(r"\s*\n\s*")


class Kind(StrEnum):
    """What a piece is: in both texts, only in this one, or a stretch left out of the display."""

    SHARED = "shared"
    OWN = "own"
    LEFT_OUT = "left out"


@dataclass(frozen=True)
class Piece:
    """A stretch of one text."""

    kind: Kind
    text: str  # for `LEFT_OUT`, words on what was left out


@dataclass(frozen=True, kw_only=True)
class _Words:
    keys: list[str]
    texts: list[str]  # each word with the punctuation before it
    not_compared: int


@dataclass(frozen=True, kw_only=True)
class _Run:
    is_shared: bool
    start: int
    end: int


def side_by_side(prediction: str, reference: str) -> tuple[list[Piece], list[Piece]]:
    """The pieces of both texts. Case and punctuation do not count, as in the metrics."""
    left, right = _words(prediction), _words(reference)
    blocks = Indel.opcodes(left.keys, right.keys)
    left_runs = [
        _Run(is_shared=block.tag == "equal", start=block.src_start, end=block.src_end) for block in blocks
    ]
    right_runs = [
        _Run(is_shared=block.tag == "equal", start=block.dest_start, end=block.dest_end) for block in blocks
    ]
    return list(_pieces(left, left_runs)), list(_pieces(right, right_runs))


def _words(text: str) -> _Words:
    text = _LINE_BREAKS.sub(" ¶ ", text.strip())
    found = word_ends(text) or [(text, len(text))] * bool(text)  # dots alone are something to show, too
    compared = found[:MAX_COMPARED_WORDS]
    ends = [end for _, end in compared]
    texts = [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return _Words(keys=[key for key, _ in compared], texts=texts, not_compared=len(found) - len(compared))


def _pieces(words: _Words, runs: Sequence[_Run]) -> Iterator[Piece]:
    """Runs as pieces: the middle of long shared runs, and all beyond the limit, is only counted."""
    room = MAX_SHOWN_WORDS
    for run in runs:
        texts = words.texts[run.start : run.end]
        if run.is_shared:
            yield from _abridged(texts)
            room = max(0, room - min(len(texts), 2 * CONTEXT_WORDS))
        elif texts:
            yield Piece(Kind.OWN, "".join(texts[:room]))
            room -= len(texts)
        if room <= 0:
            yield from _left_out(len(words.texts) - run.end - room + words.not_compared, "more words")
            return
    yield from _left_out(words.not_compared, "more words")


def _abridged(texts: Sequence[str]) -> Iterator[Piece]:
    """A shared run, without its middle where that saves more than it costs."""
    hidden = len(texts) - 2 * CONTEXT_WORDS
    if hidden <= CONTEXT_WORDS:
        yield Piece(Kind.SHARED, "".join(texts))
        return
    yield Piece(Kind.SHARED, "".join(texts[:CONTEXT_WORDS]))
    yield from _left_out(hidden, "words alike")
    yield Piece(Kind.SHARED, "".join(texts[-CONTEXT_WORDS:]))


def _left_out(count: int, what: str) -> Iterator[Piece]:
    if count > 0:
        yield Piece(Kind.LEFT_OUT, f"{count:,} {what}")
