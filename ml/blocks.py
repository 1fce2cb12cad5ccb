"""One pass over a parsed page: its visible text as an ordered list of blocks, and the elements that state facts.

Belongs here: which elements bound a block, what is skipped, and the features of a block. Does not belong here:
parsing, or how blocks are written down (`ml/page.py`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count, groupby
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ml.taming import tag_set


class Block(NamedTuple):
    """A run of text between two block-level boundaries, inline tags unwrapped.

    `tag` is the nearest block-level element. `hint` is what the nearest telling class, id or sectioning tag of
    it or the elements around it says, in at most two words of those that templates share, "" if there is none.
    `path` lists up to `MAX_PATH` elements around the text, outermost first, as "article.story/div/p", with "/b"
    at its end where all of the text is bold, by its tag or class. `link_density` is the share of the text's
    characters inside links, 0 to 1. `place` is the same number for all blocks of a page whose elements have the
    same tags and the very same classes, all the way up; `around` is the number of the place one level up.
    """

    id: int
    tag: str
    hint: str
    path: str
    text: str
    link_density: float
    place: int = 0
    around: int = 0

    @property
    def is_bold(self) -> bool:
        """Whether all of the text is bold: often a headline that is not marked up as one."""
        return self.path.endswith("/b")


MAX_PATH = 10
_HINT_REACH = 3  # how many levels up an element without a telling class borrows one
_MAX_NAMES_CHARACTERS = 160  # of a class attribute; what tells comes first

BOUNDARIES = tag_set(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol p pre search section "
    "summary table tbody td tfoot th thead tr ul"
)
SKIPPED = tag_set(
    "script style svg math template iframe object embed audio video canvas map select datalist "
    "textarea input button title meta noframes noembed"
)
_SECTIONS = tag_set("article aside blockquote figure footer header main nav")
# What class names of news pages have in common, as patterns. All else in them is layout, a brand or a hash: many
# tokens for nothing that holds on the next publisher's pages.
_HINT_WORDS = tag_set(
    "abstract advert anzeige article aside author autor banner bio blockquote blog body breadcrumb bullet(?!in) "
    "byline caption card category chapo comment consent cookie copyright credit date deck dek(?!o) description "
    "dialog dossier editor einleitung entradilla entry epigraph excerpt fact figcaption figure footer form gallery "
    "header heading headline highlights? image info infobox ingress "
    "intro kicker label lead(?!er|ing) lede legal live login main media menu meta modal most name nav news "
    "newsletter overline paragraph paywall perex photo popular post(?!er) preface premium promo publish quote "
    "read recommend related reporter ressort resumen search section share sidebar signature social source sponsor "
    "standfirst story strapline subhead subline subscribe subtitle sumario summary synopsis tag tagline takeaway "
    "teaser ticker time title titre titulo tldr topic trending update video vorspann weather widget"
)
# By first letter, because the engine tries one alternative after the other; reversed, so that longer words go first.
_HINT_WORD = re.compile(
    "|".join(
        f"{letter}(?:{'|'.join(word[1:] for word in words)})"
        for letter, words in groupby(sorted(_HINT_WORDS, reverse=True), key=itemgetter(0))
    )
)
_STATEMENTS = tag_set("meta script time title")
_BOLD = tag_set("b strong")
_BOLD_CLASS = re.compile(r"(?<![a-z])(?:semi|extra)?bold(?![a-z])", re.IGNORECASE)
_ENCLOSING = BOUNDARIES | _BOLD | {"a"}
_OF_INTEREST = _ENCLOSING | _STATEMENTS | {"br"}


def _numbers_of_tags(names: frozenset[str]) -> dict[int, str]:
    """The parser's numbers of tags: the name of a node is built and hashed anew each time it is asked for."""
    document = LexborHTMLParser("")
    return {document.create_node(name).tag_id: name for name in names}


_TAGS = _numbers_of_tags(_OF_INTEREST | SKIPPED)

Statement: TypeAlias = tuple[str, LexborNode]
"""An element that says something outside the visible text, with its tag: meta, title, time or script."""


@dataclass(slots=True)
class _Place:
    """Where an element stands: elements of one kind side by side share their place, and with it all it says.

    `reach` is how many more levels of elements inside may borrow its hint. `number` tells the places of a page
    apart, `around` is the number of the place that this one is in.
    """

    tag: str
    hint: str = ""
    reach: int = 0
    steps: tuple[str, ...] = ()
    is_bold: bool = False
    around: int = 0
    numbers: Iterator[int] = field(default_factory=count)  # one for all places of the page
    number: int = field(init=False)
    inside: "dict[tuple[str, str | None, str], _Place]" = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.number = next(self.numbers)

    def of(self, tag: str, names: str | None, identity: str | None) -> "_Place":
        """The place of an element inside this one, by its tag, class attribute and what its id says."""
        # The id itself would make a place of every element.
        said_by_id = _telling_words(identity) if identity else ""
        kind = (tag, names, said_by_id)
        if (place := self.inside.get(kind)) is None:
            hint = _telling_words(names) or said_by_id or (tag if tag in _SECTIONS else "")
            place = self.inside[kind] = self._new(
                tag, hint, is_bold=bool(names and "bold" in names.lower() and _BOLD_CLASS.search(names))
            )
        return place

    def _new(self, tag: str, hint: str, *, is_bold: bool) -> "_Place":
        step = f"{tag}.{hint}" if hint and hint != tag else tag
        steps = (*self.steps, step)[-MAX_PATH:]
        if tag == "body":  # its class is about the whole page
            hint, reach = "", 0
        elif hint or not self.reach:
            reach = _HINT_REACH if hint else 0
        else:
            hint, reach = self.hint, self.reach - 1
        return _Place(tag, hint, reach, steps, is_bold, around=self.number, numbers=self.numbers)


@dataclass(slots=True)
class _Reader:
    """Collects the text of the current block and closes it at each boundary."""

    blocks: list[Block] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    places: list[_Place] = field(default_factory=lambda: [_Place("")])
    parts: list[str] = field(default_factory=list)
    characters: int = 0
    linked: int = 0
    bold: int = 0
    links_open: int = 0
    bold_open: int = 0
    after_break: bool = False

    def add_text(self, node: LexborNode) -> None:
        if node.is_empty_text_node:  # most are: the line breaks of the source
            if self.characters:
                self.parts.append(" ")
            return
        text = node.text_content or ""
        self.parts.append(text)
        size = len(text.strip())
        if not size:
            return
        self.characters += size
        if self.links_open:
            self.linked += size
        if self.bold_open:
            self.bold += size
        self.after_break = False

    def begin(self, tag: str, node: LexborNode) -> None:
        if tag in BOUNDARIES:
            if self.characters:
                self._end_block()
            attributes = node.attributes
            self.places.append(self.places[-1].of(tag, attributes.get("class"), attributes.get("id")))
        elif tag == "a":
            self.links_open += 1
        elif tag in _BOLD:
            self.bold_open += 1
        elif tag == "br":
            self._break_line()
        else:
            self.statements.append((tag, node))

    def end(self, tag: str) -> None:
        if tag in BOUNDARIES:
            if self.characters:
                self._end_block()
            self.places.pop()
        elif tag == "a":
            self.links_open -= 1
        else:
            self.bold_open -= 1

    def _break_line(self) -> None:
        """A line break is a space, two in a row end a paragraph."""
        if self.after_break:
            self._end_block()
        elif self.characters:
            self.parts.append(" ")
            self.after_break = True

    def _end_block(self) -> None:
        self.blocks.append(self._block(self.places[-1]))
        self.characters = self.linked = self.bold = 0
        self.parts.clear()
        self.after_break = False

    def _block(self, place: _Place) -> Block:
        is_bold = place.is_bold or self.bold == self.characters
        return Block(
            id=len(self.blocks),
            tag=place.tag,
            hint=place.hint,
            path="/".join((*place.steps, "b") if is_bold else place.steps),
            text=" ".join("".join(self.parts).split()),
            link_density=self.linked / self.characters,
            place=place.number,
            around=place.around,
        )


def read(root: LexborNode) -> tuple[list[Block], list[Statement]]:
    """The blocks under `root`, and the elements that state something about the page, in reading order.

    A loop, not a recursion, because pages nest as deep as they like.
    """
    reader = _Reader()
    waiting: list[tuple[str, LexborNode | None]] = [
        ("", root)
    ]  # tags to close, and what follows their elements
    while waiting:
        tag, node = waiting.pop()
        if tag in _ENCLOSING:
            reader.end(tag)
        while node is not None:
            if node.is_text_node:
                reader.add_text(node)
                node = node.next
                continue
            tag = _TAGS.get(node.tag_id, "")
            if tag in _OF_INTEREST:
                reader.begin(tag, node)
            child = None if tag in SKIPPED else node.first_child
            if child is not None:
                waiting.append((tag, node.next))
                node = child
                continue
            if tag in _ENCLOSING:
                reader.end(tag)
            node = node.next
    return reader.blocks, reader.statements


def _telling_words(names: str | None) -> str:
    """What the first telling name in a class attribute says, "" if there is none."""
    if names:
        for name in names[:_MAX_NAMES_CHARACTERS].split():
            if words := _words_of(name):
                return words
    return ""


@lru_cache(maxsize=65_536)  # enough for the names on the pages of all publishers, some 200 each
def _words_of(name: str) -> str:
    """The first and the last word that tells something: block and element, where names are built that way."""
    words = _HINT_WORD.findall(name.lower())
    return "-".join(dict.fromkeys((words[0], words[-1]))) if words else ""
