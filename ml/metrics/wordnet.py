"""WordNet's English synonyms, read from Princeton's database files (Miller, 1995).

Belongs here: a word's base forms and the words that share a meaning with one of them, exactly as NLTK's reader
finds them, which wants two more files and seconds to load. Does not belong here: what synonyms are good for
(`meteor.py`).
"""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

VERSION = "WordNet 3.0"

# Suffixes and what stands for them in the base form, by part of speech (WordNet's morphy).
_ENDINGS = {
    "noun": (
        ("s", ""),
        ("ses", "s"),
        ("ves", "f"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ),
    "verb": (
        ("s", ""),
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("ed", "e"),
        ("ed", ""),
        ("ing", "e"),
        ("ing", ""),
    ),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}
_FILES = tuple(f"{kind}.{part}" for kind in ("index", "data") for part in _ENDINGS) + tuple(
    f"{part}.exc" for part in _ENDINGS
)
_CACHED_WORDS = 1 << 16


def problem_with(folder: Path) -> str | None:
    """What keeps `folder` from being the database that the published METEOR values rest on, if anything."""
    if absent := [name for name in _FILES if not (folder / name).is_file()]:
        return f"found no {', '.join(absent[:3])} in {folder}"
    with (folder / "data.noun").open("rb") as file:
        licence = file.read(4096)
    return None if VERSION.encode() in licence else f"found another version in {folder}, expected {VERSION}"


class WordNet:
    """The database in a folder, in memory (about 60 MB): read once, then ask."""

    def __init__(self, folder: Path) -> None:
        self._parts = [_PartOfSpeech(folder, name) for name in _ENDINGS]
        self.synonyms = lru_cache(_CACHED_WORDS)(self._synonyms)

    def _synonyms(self, word: str) -> frozenset[str]:
        """Single words of every synset of a lower-case word's base forms, in the case that WordNet has them."""
        names = (name for part in self._parts for name in part.names(word))
        return frozenset(name for name in names if "_" not in name)


class _PartOfSpeech:
    def __init__(self, folder: Path, name: str) -> None:
        index = (folder / f"index.{name}").read_text(encoding="utf-8").splitlines()
        exceptions = (folder / f"{name}.exc").read_text(encoding="utf-8").splitlines()
        self._senses = dict(
            line.split(" ", 1) for line in index if not line.startswith(" ")
        )  # not the licence
        self._irregular = {form: bases for form, *bases in map(str.split, exceptions)}
        self._synsets = (folder / f"data.{name}").read_bytes()
        self._endings = _ENDINGS[name]

    def names(self, word: str) -> Iterator[str]:
        for base in self._bases(word):
            # index: pos synset_cnt p_cnt [pointers] sense_cnt tagsense_cnt offset [offset ...]
            fields = self._senses[base].split()
            for offset in fields[-int(fields[1]) :]:
                yield from self._names_at(int(offset))

    def _bases(self, word: str) -> set[str]:
        regular = (word[: -len(old)] + new for old, new in self._endings if word.endswith(old))
        return {base for base in (word, *self._irregular.get(word, regular)) if base in self._senses}

    def _names_at(self, offset: int) -> list[str]:
        # data: offset lex_filenum ss_type w_cnt word lex_id [word lex_id ...] ... w_cnt being hexadecimal
        line = self._synsets[offset : self._synsets.index(b"\n", offset)].decode()
        fields = line.split()
        words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
        return [
            word.partition("(")[0] for word in words
        ]  # "(a)", "(p)" or "(ip)": where an adjective may stand
