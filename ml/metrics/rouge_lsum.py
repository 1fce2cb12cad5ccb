"""ROUGE-Lsum: ROUGE-L line by line, so that the order of the lines does not count (Lin, 2004, section 3.2).

Belongs here: the union of each reference line's longest common subsequences with all of the prediction's lines,
equal to Google's `rouge_score`, down to which of several longest ones it takes. Does not belong here: ROUGE-L
over the whole text (`rouge_l.py`).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import accumulate, chain, compress
from operator import or_

from more_itertools import chunked

from ml.metrics.rouge_l import rouge_l
from ml.metrics.tokens import rouge_lines, word_lines

Line = tuple[str, ...]

Mask = int
"""A set of places in a line, the first one being the lowest bit."""

_LONG = 500  # words; a longer line is not looked through for every other line

_STATE_BITS = 1 << 28  # kept while a line is compared; only where both lines have tens of thousands of words


def score(prediction: str, reference: str) -> float:
    """ROUGE-Lsum F1, 0 to 1, on the words of every script; two texts without a word give 1."""
    found, wanted = word_lines(prediction), word_lines(reference)
    return 1.0 if not any(found) and not any(wanted) else rouge_lsum(found, wanted)


def score_paper(prediction: str, reference: str) -> float:
    """ROUGE-Lsum F1, 0 to 1, as `rouge_score` computes it: only ASCII letters count; empty texts give 0."""
    return rouge_lsum(rouge_lines(prediction), rouge_lines(reference))


def rouge_lsum(prediction: Iterable[Line], reference: Iterable[Line]) -> float:
    """F1 of the reference's words in some longest common subsequence, each counted as often as both have it."""
    found, wanted = ([line for line in lines if line] for lines in (prediction, reference))
    if len(found) == len(wanted) == 1:  # then only the length counts: faster where a line is a whole article
        return rouge_l(found[0], wanted[0])
    common = _common_words(found, wanted)
    precision, recall = common / max(sum(map(len, found)), 1), common / max(sum(map(len, wanted)), 1)
    return 2 * precision * recall / (precision + recall) if common else 0.0


def _common_words(prediction: Sequence[Line], reference: Sequence[Line]) -> int:
    candidates = _Candidates(prediction)
    covered = Counter(chain.from_iterable(map(candidates.covered, reference)))
    available = Counter(chain.from_iterable(prediction))
    return sum(min(count, available[word]) for word, count in covered.items())


class _Candidates:
    """The prediction's distinct lines, found by their words."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = list(dict.fromkeys(lines))
        self._covered = {line: line for line in self._lines}  # a line covers itself
        self._by_word: dict[str, list[int]] = defaultdict(list)
        for number, line in enumerate(self._lines):
            for word in set(line):
                self._by_word[word].append(number)
        self._places = {number: _places(line) for number, line in enumerate(self._lines) if len(line) > _LONG}

    def covered(self, line: Line) -> Line:
        """Words of a reference line in the union of its longest common subsequences with every candidate."""
        if line not in self._covered:
            masks: dict[str, Mask] = defaultdict(int)
            for place, word in enumerate(line):
                if word in self._by_word:
                    masks[word] |= 1 << place
            union = self._union(masks, len(line))
            self._covered[line] = tuple(compress(line, map(int, reversed(f"{union:b}"))))
        return self._covered[line]

    def _union(self, masks: Mapping[str, Mask], length: int) -> Mask:
        """Begins with the most similar, skips candidates that can add no word, and stops when none is left to add."""
        union, reachable = 0, reduce(or_, masks.values(), 0)
        shared = Counter(chain.from_iterable(self._by_word[word] for word in masks))
        for number, _ in shared.most_common():
            if union == reachable:
                break
            columns = self._columns(number, masks)
            if reduce(or_, columns) & ~union:
                union |= _longest(columns, length)
        return union

    def _columns(self, number: int, masks: Mapping[str, Mask]) -> list[Mask]:
        """Where the reference line has the candidate's words; a 0, or several, for words that it lacks."""
        if number not in self._places:
            return [masks.get(word, 0) for word in self._lines[number]]
        places = self._places[number]
        shared = sorted((place, mask) for word, mask in masks.items() for place in places.get(word, ()))
        ends = [*(place for place, _ in shared[1:]), len(self._lines[number])]
        return [
            column
            for (place, mask), end in zip(shared, ends, strict=True)
            for column in ((mask,) if place + 1 == end else (mask, 0))
        ]


def _places(line: Line) -> Mapping[str, list[int]]:
    places: dict[str, list[int]] = defaultdict(list)
    for place, word in enumerate(line):
        places[word].append(place)
    return places


def _longest(columns: list[Mask], length: int) -> Mask:
    """Places of a line in its longest common subsequence with a candidate.

    `columns` says for the words of the candidate where the line has them. Of several longest ones it is that which
    the usual table of lengths gives when it is walked back from its end, dropping a word of the line first. In
    place of the table each column has a bit vector (Hyyrö, 2004): 0 where the length grows by one.
    """
    everything = (1 << length) - 1

    def grow(state: Mask, column: Mask) -> Mask:
        matches = state & column
        return ((state + matches) | (state - matches)) & everything

    blocks = list(chunked(_without_gaps(columns), max(1, _STATE_BITS // length)))
    starts = list(
        accumulate(blocks[:-1], lambda state, block: reduce(grow, block, state), initial=everything)
    )
    taken, end = 0, length
    while blocks and end:
        block, start = blocks.pop(), starts.pop()
        states = list(accumulate(block, grow, initial=start))
        while block and end:
            column = block.pop()
            end = ((column | states.pop() ^ everything) & (1 << end) - 1).bit_length()
            if end and column >> end - 1 & 1:
                end -= 1
                taken |= 1 << end
    return taken


def _without_gaps(columns: Iterable[Mask]) -> Iterator[Mask]:
    """Of words in a row that the line lacks one does for all, and the first ones change nothing."""
    before = 0
    for column in columns:
        if column or before:
            yield column
        before = column
