"""Tokenizers of the metrics: `words` for every script, and the two that the paper's numbers rest on.

Belongs here: text to comparable tokens. Does not belong here: the language model's tokenizer, or what a
metric does with the tokens. Every tokenizer returns a tuple, so that results can be cached: several metrics
look at the same article one after the other.
"""

import re
import unicodedata
from functools import lru_cache
from itertools import chain

CACHED_TEXTS = 64  # a few articles and pages; whole corpora must not pile up in memory

# Scripts written without spaces between words: a token is one character with its marks.
_UNSPACED = (
    "\u0e01-\u0eff"  # Thai, Lao
    "\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f"  # Myanmar
    "\u1780-\u17ff\u19e0-\u19ff"  # Khmer
    "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\U0001aff0-\U0001b16f"  # kana and iteration marks
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)

# Soft hyphens, joiners, direction marks, variation selectors: invisible, and a matter of house style.
_INVISIBLE = re.compile("[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
                        "\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]")  # fmt: skip


def _marks(first: int, last: int) -> str:
    """The combining marks as a character class body; `\\w` lacks them and would cut Hindi words apart."""
    return re.escape(
        "".join(c for c in map(chr, range(first, last + 1)) if unicodedata.category(c)[0] == "M")
    )


def _word_pattern() -> re.Pattern[str]:
    # Two classes, since `re` looks up a class within the first plane in one step and searches others through.
    rare_marks = rf"(?=[\U00010000-\U0001ffff])[{_marks(0x10000, 0x1FFFF)}]"
    mark = rf"(?:[{_marks(0x300, 0xFFFF)}]|{rare_marks})"
    spaced = rf"[^\W_{_UNSPACED}]+(?:{mark}+[^\W_{_UNSPACED}]*)*"
    unspaced = rf"(?=\w)[{_UNSPACED}]{mark}*"
    return re.compile(f"{spaced}|{unspaced}")


_WORD = _word_pattern()


def normalise(text: str) -> str:
    """Compatibility forms, case and invisible characters removed, so that equal reading is equal text."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    # Again, because folding and removing both bring letters and marks together that compose.
    return unicodedata.normalize("NFKC", _INVISIBLE.sub("", folded))


@lru_cache(maxsize=CACHED_TEXTS)
def words(text: str) -> tuple[str, ...]:
    """Words of spaced scripts, characters of unspaced ones; no punctuation, symbols or case."""
    return tuple(chain.from_iterable(word_lines(text)))


def word_ends(text: str) -> list[tuple[str, int]]:
    """Each word, case folded, and where it ends in `text`; for showing a text with its words marked."""
    return [(match[0].casefold(), match.end()) for match in _WORD.finditer(text)]


@lru_cache(maxsize=CACHED_TEXTS)
def word_lines(text: str) -> tuple[tuple[str, ...], ...]:
    """The words of every line."""
    return tuple(tuple(_WORD.findall(line)) for line in normalise(text).splitlines())


_RAW_WORD = re.compile(r"\w+")


@lru_cache(maxsize=CACHED_TEXTS)
def raw_words(text: str) -> tuple[str, ...]:
    """What Python takes for words, as they are written: Scrapinghub's article-extraction benchmark."""
    return tuple(_RAW_WORD.findall(text))


_ROUGE_TOKEN = re.compile(r"[a-z0-9]+")


@lru_cache(maxsize=CACHED_TEXTS)
def rouge_words(text: str) -> tuple[str, ...]:
    """Tokens of Google's `rouge_score` without stemming: every letter outside ASCII is dropped."""
    return tuple(chain.from_iterable(rouge_lines(text)))


@lru_cache(maxsize=CACHED_TEXTS)
def rouge_lines(text: str) -> tuple[tuple[str, ...], ...]:
    """The same of every line."""
    return tuple(tuple(_ROUGE_TOKEN.findall(line)) for line in text.lower().split("\n"))


_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
# ASCII punctuation, but for ' , - . which have rules of their own, stands alone.
_13A_PIECE = re.compile(r"[!-&(-+/:-@\[-`{-~]|[^\s!-&(-+/:-@\[-`{-~]+")
_13A_MARKS = frozenset(".,-")
_13A_RULES = (
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),  # full stop and comma stay inside numbers
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)


@lru_cache(maxsize=CACHED_TEXTS)
def tokens_13a(text: str) -> tuple[str, ...]:
    """Tokens of mteval-v13a, sacreBLEU's default; its own class would cache 65,536 articles twice."""
    line = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, character in _ENTITIES:
        line = line.replace(entity, character)
    return tuple(chain.from_iterable(map(_split_13a, _13A_PIECE.findall(line))))


def _split_13a(piece: str) -> tuple[str, ...]:
    """The usual cases without the rules: nothing to split, and a comma or full stop after a word."""
    if piece.isalnum() or _13A_MARKS.isdisjoint(piece):
        return (piece,)
    word, mark = piece[:-1], piece[-1]
    return (word, mark) if mark in ",." and word.isalnum() else _split_by_rules(piece)


@lru_cache(maxsize=1 << 12)
def _split_by_rules(piece: str) -> tuple[str, ...]:
    """The rules see a space on either side, so what lies beyond it does not matter."""
    padded = f" {piece} "
    for pattern, replacement in _13A_RULES:
        padded = pattern.sub(replacement, padded)
    return tuple(padded.split())
