"""Which blocks of a page hold an article's text: weak labels from an extraction, and how much of it is there.

Belongs here: matching the words of an `Article` to the words of a `Page`. Does not belong here: predicting labels
for a page without an extraction, or metrics of text against text.
"""

import re
import unicodedata
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from html import unescape
from typing import NamedTuple

from ml.article import Article
from ml.page import Page


class Role(StrEnum):
    """What a block is to the article."""

    NONE = "none"
    SUMMARY = "summary"
    HEADLINE = "headline"
    PARAGRAPH = "paragraph"


@dataclass(frozen=True, kw_only=True, slots=True)
class Alignment:
    """One role a block, by block id, and the share (0 to 1) of the body's words that the labelled blocks hold."""

    roles: tuple[Role, ...]
    coverage: float


_SEED = 4  # words in a row that make a match; shorter lines must equal a whole block
_MAX_REPEATS = 8  # places of one seed that are tried; boilerplate in an endless page repeats more often
_MIN_SHARE = (
    0.5  # of a block's words that must be the article's; below, labelling it adds more noise than text
)
_GAP_COST = (
    1e-4  # words lost per word skipped: of two copies of a line, the one next to the rest of the text wins
)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_SCRIPTS_WITHOUT_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(f"[{_SCRIPTS_WITHOUT_SPACES}]|[^\\W_{_SCRIPTS_WITHOUT_SPACES}]+")


def words(text: str) -> list[str]:
    """The words of a text without regard to case, typography and invisible characters.

    Where a script is written without spaces (Chinese, Japanese, Thai …) every character is a word.
    """
    return _WORD.findall(_plain(text))


def words_of_each(texts: Sequence[str]) -> list[list[str]]:
    """`words` of every text, in one go: twice as fast where they are many and short."""
    lines = _plain("\n".join([text.replace("\n", " ") for text in texts])).split("\n")
    return [_WORD.findall(line) for line in lines[: len(texts)]]


def _plain(text: str) -> str:
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()


def target_coverage(compact: str, article: Article) -> float:
    """The share (0 to 1) of the words of title and body, as a multiset, that a compact page contains.

    An article without words is covered by any page.
    """
    target = Counter(words("\n".join([article.title or "", *article.body.lines()])))
    found = target & Counter(words(unescape(compact)))
    return found.total() / target.total() if target else 1.0


def align(page: Page, article: Article) -> Alignment:
    """Label the blocks of `page` that hold the body of `article`.

    The words of both are matched as two sequences, so a paragraph may spread over several blocks and a block may
    hold several paragraphs. Where text repeats (teasers quote the summary), the copies that keep the reading order
    and lie close together are taken. Takes time near-linear in the words of both.
    """
    lines = list(_labelled_lines(article))
    in_page = _Words.of([block.text for block in page.blocks])
    in_target = _Words.of([line for _, line in lines])
    if not in_target.words:
        return Alignment(roles=(Role.NONE,) * len(page.blocks), coverage=1.0)
    matched = [Counter[Role]() for _ in page.blocks]
    for match in _best_chain(list(_matches(in_page, in_target)), len(in_target.words)):
        matched[in_page.owner[match.page]][lines[in_target.owner[match.target]][0]] += match.length
    roles = tuple(map(_role, matched, in_page.sizes()))
    covered = sum(
        counts.total() for counts, role in zip(matched, roles, strict=True) if role is not Role.NONE
    )
    return Alignment(roles=roles, coverage=covered / len(in_target.words))


def _labelled_lines(article: Article) -> Iterator[tuple[Role, str]]:
    yield from ((Role.SUMMARY, line) for line in article.body.summary)
    for section in article.body.sections:
        yield from ((Role.HEADLINE, line) for line in section.headline)
        yield from ((Role.PARAGRAPH, line) for line in section.paragraphs)


def _role(matched: Counter[Role], size: int) -> Role:
    if not matched or matched.total() < _MIN_SHARE * size:
        return Role.NONE
    return matched.most_common(1)[0][0]


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of several texts in a row; `owner[i]` is the text of word i, `starts[k]` the first word of text k."""

    words: list[str]
    owner: list[int]
    starts: list[int]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "_Words":
        all_words: list[str] = []
        owner: list[int] = []
        starts: list[int] = []
        for at, text in enumerate(texts):
            starts.append(len(all_words))
            all_words += words(text)
            owner += [at] * (len(all_words) - starts[-1])
        return cls(all_words, owner, starts)

    def sizes(self) -> list[int]:
        ends = [*self.starts[1:], len(self.words)]
        return [end - start for start, end in zip(self.starts, ends, strict=False)]

    def end_of_text(self, position: int) -> int:
        """The first word after the text that word `position` belongs to."""
        following = bisect_right(self.starts, position)
        return self.starts[following] if following < len(self.starts) else len(self.words)


class _Match(NamedTuple):
    """`length` equal words, from word `page` of the page and word `target` of the article on."""

    page: int
    target: int
    length: int


def _matches(page: _Words, target: _Words) -> Iterator[_Match]:
    """Every maximal run of equal words, cut at the ends of blocks and lines, and every short line on its own."""
    for run in _runs(page.words, target.words):
        done = 0
        while done < run.length:
            at_page, at_target = run.page + done, run.target + done
            length = min(
                run.length - done,
                page.end_of_text(at_page) - at_page,
                target.end_of_text(at_target) - at_target,
            )
            yield _Match(at_page, at_target, length)
            done += length
    yield from _short_lines(page, target)


def _runs(page: Sequence[str], target: Sequence[str]) -> Iterator[_Match]:
    seeds: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, seed in enumerate(_n_grams(target)):
        if len(seeds[seed]) < _MAX_REPEATS:
            seeds[seed].append(at)
    open_runs: dict[int, _Match] = {}  # by diagonal: page position minus target position
    for at, seed in enumerate(_n_grams(page)):
        for at_target in seeds.get(seed, ()):
            run = open_runs.get(at - at_target)
            if run and run.page + run.length >= at:
                open_runs[at - at_target] = run._replace(length=at + _SEED - run.page)
                continue
            if run:
                yield run
            open_runs[at - at_target] = _Match(at, at_target, _SEED)
    yield from open_runs.values()


def _n_grams(sequence: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(sequence[shift:] for shift in range(_SEED)), strict=False)


def _short_lines(page: _Words, target: _Words) -> Iterator[_Match]:
    lines: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for start, size in zip(target.starts, target.sizes(), strict=True):
        line = tuple(target.words[start : start + size])
        if 0 < size < _SEED and len(lines[line]) < _MAX_REPEATS:
            lines[line].append(start)
    for start, size in zip(page.starts, page.sizes(), strict=True):
        if 0 < size < _SEED:
            for at_target in lines.get(tuple(page.words[start : start + size]), ()):
                yield _Match(start, at_target, size)


def _best_chain(matches: list[_Match], target_size: int) -> list[_Match]:
    """The matches, in order in both texts and not overlapping, that cover the most words at the least gaps."""
    by_start = sorted(set(matches))
    by_end = sorted(range(len(by_start)), key=lambda i: by_start[i].page + by_start[i].length)
    best = _PrefixMaximum(target_size + 1)
    scores = [0.0] * len(by_start)
    previous = [-1] * len(by_start)
    ended = 0
    for at, match in enumerate(by_start):
        while ended < len(by_end) and _page_end(by_start[by_end[ended]]) <= match.page:
            done = by_end[ended]
            end = by_start[done]
            best.update(end.target + end.length, scores[done] + _GAP_COST * _page_end(end), done)
            ended += 1
        score, before = best.query(match.target)
        if before >= 0 and score > _GAP_COST * match.page:
            previous[at] = before
            scores[at] = score - _GAP_COST * match.page
        scores[at] += match.length
    chain = []
    at = max(range(len(scores)), key=scores.__getitem__, default=-1)
    while at >= 0:
        chain.append(by_start[at])
        at = previous[at]
    return chain[::-1]


def _page_end(match: _Match) -> int:
    return match.page + match.length


class _PrefixMaximum:
    """A Fenwick tree: the largest score stored at or before a position, and whose it is, in logarithmic time."""

    def __init__(self, size: int) -> None:
        self._scores = [float("-inf")] * (size + 1)
        self._owners = [-1] * (size + 1)

    def update(self, position: int, score: float, owner: int) -> None:
        at = position + 1
        while at < len(self._scores):
            if score > self._scores[at]:
                self._scores[at], self._owners[at] = score, owner
            at += at & -at

    def query(self, position: int) -> tuple[float, int]:
        at = position + 1
        best = (float("-inf"), -1)
        while at > 0:
            if self._scores[at] > best[0]:
                best = (self._scores[at], self._owners[at])
            at -= at & -at
        return best
