"""Names of authors in the statements that hold them: "By Ann Lee and Bo Ek, Reuters (AP)" is three.

Belongs here: cutting statements into names, and stripping what stands around a name. Does not belong here:
whether a name is an author's, which `ml/fields/model.py` learns. Nothing is added: every name is a part of
the statement, and lists of words are of languages, never of publishers.
"""

import re
from collections.abc import Iterator

MAX_NAME_CHARACTERS = 80
MAX_NAME_WORDS = 5

# Between names in any case. A comma too: "Lee, Ann" gives two halves, which the model knows by the whole name.
_SEPARATOR = re.compile(r"\s*(?:[;,|،、，；]|\s[–—·•]\s|\s/\s|\s\+\s)\s*")
_CONJUNCTION = re.compile(
    r"\s+(?:and|und|&|et|och|og|ja|και|и|та|і|और|و|및|와|dan|với|ve|en)\s+", re.IGNORECASE
)
# These also join the parts of one name ("Ortega y Gasset", "dpa/lsw"): they part only what looks like two names.
_DOUBTFUL = re.compile(r"\s+(?:y|e|i|et)\s+|/|・")
_PREFIX = re.compile(
    r"^(?:(?:written|reported|posted|published|updated|edited|compiled|words|text|texte|texto|testo|tekst|story"
    r"|(?:ein\w*\s+)?(?:gastbeitrag|kommentar|analyse|kolumne|interview|reportage|bericht)\w*|écrit|publié"
    r"|escrito|scritto|geschrieben)\s+)?"
    r"(?:by|von|vom|par|por|af|av|door|autor(?:en|in|innen|es|a)?|authors?|auteure?s?|autore|autrice|redaktion"
    r"|autorin/autor|reporter|text|texte|texto|testo|tekst|автор|автори|авторы|författare|skribent|yazar|penulis|文|記者"
    r"|作者|责编|責編|责任编辑|責任編輯|기자|글)(?:\s*[:：]\s*|\s+)(?=\S)",
    re.IGNORECASE,
)
_BRACKETS = re.compile(r"\s*(?:\([^()]*\)|\[[^\[\]]*\]|【[^】]*】|（[^）]*）)\s*$")
_LINKS = re.compile(r"(?<!\S)(?:\S*?(?:https?://|www\.)\S*|\S+@\S+\.\w+)|(?<!\w)@\w+")
_AROUND = " \t.,;:|/-–—·•*\"“”„»«'’‘()[]"
_HAS_LETTER = re.compile(r"[^\W\d_]")
_SMALL_PREFIX = re.compile(r"^(?:di|da|de|door|przez|na|oleh|bởi|od|a cura di)\s+(?=[A-ZÀ-Þ])")
_GLUED_BY = re.compile(r"^[Bb]y(?=[A-Z])")
_AFTER_NAME = re.compile(
    r"\s*(?:\d|\b(?:published|updated|posted|last\s|aktualisiert|veröffentlicht|erschienen|stand\b|am\s\d|publié"
    r"|actualizado|publicado|aggiornato|pubblicato|опубликовано|\d)).*$",
    re.IGNORECASE,
)


def split_names(statement: str) -> Iterator[str]:
    """The names in a list of authors, as they stand there but without prefixes, roles in brackets and links."""
    for part in _SEPARATOR.split(_LINKS.sub(" | ", statement)):
        for piece in _CONJUNCTION.split(_without_prefix(part)):
            for name in _split_doubtful(piece):
                yield from _name(name)


def names_of_byline(text: str) -> Iterator[str]:
    """The names in a line near the headline, which may hold dates and sections too, and no longer parts."""
    opened = _GLUED_BY.sub("", text.strip().lstrip("(（"))
    for part in _SEPARATOR.split(_SMALL_PREFIX.sub("", _without_prefix(opened))):
        for name in split_names(_AFTER_NAME.sub("", part)):
            if len(name.split()) <= MAX_NAME_WORDS and not any(character.isdigit() for character in name):
                yield name


def looks_like_name(name: str) -> bool:
    """Whether a text without any hint may be a name: two to four words, all but particles capitalised."""
    words = name.split()
    capitalised = sum(word[0].isupper() for word in words)
    return 2 <= len(words) <= 4 and capitalised >= 2 and words[0][0].isupper() and words[-1][0].isupper()


def starts_as_byline(text: str) -> bool:
    """Whether a text starts as "By …" does, in any of the languages known here."""
    return bool(_PREFIX.match(text))


def _without_prefix(text: str) -> str:
    return _PREFIX.sub("", text.strip(), count=1)


def _split_doubtful(text: str) -> list[str]:
    parts = _DOUBTFUL.split(text)
    return parts if all(len(part.split()) > 1 for part in parts) else [text]


def _name(text: str) -> Iterator[str]:
    """The name without what stands around it; nothing where no letter is left, or far too many are."""
    name = " ".join(_without_brackets(text).strip(_AROUND).split())
    if name and text.rstrip().startswith(name) and text.strip().startswith(f"{name}."):
        name += "." if _ends_in_initial(name) else ""
    if _HAS_LETTER.search(name) and len(name) <= MAX_NAME_CHARACTERS:
        yield name


def _ends_in_initial(name: str) -> bool:
    """Whether the full stop after a name belongs to it: "John F.", not "Ann Lee."."""
    return len(name.split()[-1]) == 1


def _without_brackets(text: str) -> str:
    shorter = _BRACKETS.sub("", text)
    return shorter if _HAS_LETTER.search(shorter) else text
