"""One pass over a parsed page: its visible text as an ordered list of blocks, and the elements that state facts.

Belongs here: which elements bound a block, what is skipped, and the features of a block. Does not belong here:
parsing, or how blocks are written down (`ml/page.py`).
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from selectolax.lexbor import LexborNode

from ml.taming import tag_set


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A run of text between two block-level boundaries, inline tags unwrapped.

    `tag` is the nearest block-level element. `hint` is the nearest telling class, id or sectioning tag of it or
    the elements around it, "" if there is none. `path` lists up to `MAX_PATH` elements around the text, outermost
    first, as "article.story/div/p", with "/b" at its end where all of the text is bold. `link_density` is the share
    of the text's characters inside links, 0 to 1.
    """

    id: int
    tag: str
    hint: str
    path: str
    text: str
    link_density: float

    @property
    def is_bold(self) -> bool:
        """Whether all of the text is bold: often a headline that is not marked up as one."""
        return self.path.endswith(_BOLD_STEP)


MAX_PATH = 10
_BOLD_STEP = "/b"
_HINT_REACH = 4  # how far up an element without a telling class borrows one
_MAX_HINT_CHARACTERS = 20
_MAX_NAMES = 8

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
# No digits: names like "css-1x2y3z", "col-8" and "mt-4" tell nothing.
_POSITIONAL = tag_set(
    "active clearfix container container-fluid content even first inner item last left odd outer right wrapper"
)
_TELLING_NAME = re.compile(r"(?=.*[a-z]{4})[a-z_-]+")
_STATEMENTS = tag_set("meta script time title")
_BOLD = tag_set("b strong")
_ENCLOSING = BOUNDARIES | _BOLD | {"a"}
_OF_INTEREST = _ENCLOSING | _STATEMENTS | {"br"}

Statement: TypeAlias = tuple[str, LexborNode]
"""An element that says something outside the visible text, with its tag: meta, title, time or script."""


@dataclass(slots=True)
class _Element:
    """An open block-level element; hint and path are only worked out if it holds text itself."""

    tag: str
    node: LexborNode
    parent: "_Element | None"
    own_hint: str | None = None
    path: str | None = None


@dataclass(slots=True)
class _Reader:
    """Collects the text of the current block and closes it at each boundary."""

    blocks: list[Block] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    element: _Element | None = None
    parts: list[str] = field(default_factory=list)
    characters: int = 0
    linked: int = 0
    bold: int = 0
    links_open: int = 0
    bold_open: int = 0
    after_break: bool = False

    def add_text(self, text: str) -> None:
        self.parts.append(text)
        if text.isspace():
            return
        size = len(text.strip())
        self.characters += size
        if self.links_open:
            self.linked += size
        if self.bold_open:
            self.bold += size
        self.after_break = False

    def begin(self, tag: str, node: LexborNode) -> None:
        if tag in BOUNDARIES:
            self._end_block()
            self.element = _Element(tag, node, self.element)
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
            self._end_block()
            self.element = self.element.parent if self.element else None
        elif tag == "a":
            self.links_open -= 1
        else:
            self.bold_open -= 1

    def _break_line(self) -> None:
        """A line break is a space, two in a row end a paragraph."""
        if self.after_break:
            self._end_block()
        self.parts.append(" ")
        self.after_break = True

    def _end_block(self) -> None:
        if self.characters and self.element:
            self.blocks.append(self._block(self.element))
            self.characters = self.linked = self.bold = 0
        self.parts.clear()
        self.after_break = False

    def _block(self, element: _Element) -> Block:
        path = element.path or _path(element)
        return Block(
            id=len(self.blocks),
            tag=element.tag,
            hint=_hint(element),
            path=path + _BOLD_STEP if self.bold == self.characters else path,
            text=" ".join("".join(self.parts).split()),
            link_density=self.linked / self.characters,
        )


def read(root: LexborNode) -> tuple[list[Block], list[Statement]]:
    """The blocks under `root`, and the elements that state something about the page, in reading order.

    A loop, not a recursion, because pages nest as deep as they like.
    """
    reader = _Reader()
    open_tags: list[str] = []
    node: LexborNode | None = root
    while node is not None:
        tag = node.tag or ""
        if tag == "-text":
            reader.add_text(node.text_content or "")
        elif tag in _OF_INTEREST:
            reader.begin(tag, node)
        child = None if tag in SKIPPED else node.first_child
        if child is not None:
            open_tags.append(tag)
            node = child
            continue
        if tag in _ENCLOSING:
            reader.end(tag)
        while open_tags and node is not None and node.next is None:
            node = node.parent
            if (tag := open_tags.pop()) in _ENCLOSING:
                reader.end(tag)
        node = node.next if open_tags and node is not None else None
    return reader.blocks, reader.statements


def _hint(element: _Element) -> str:
    seen: _Element | None = element
    for _ in range(_HINT_REACH):
        if seen is None or seen.tag == "body":  # the body's class is about the whole page
            break
        if hint := _own_hint(seen):
            return hint
        seen = seen.parent
    return ""


def _own_hint(element: _Element) -> str:
    if element.own_hint is None:
        attributes = element.node.attributes
        names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
        element.own_hint = _telling_name(names) or (element.tag if element.tag in _SECTIONS else "")
    return element.own_hint


@lru_cache(maxsize=16_384)  # the same few class attributes come on every element of a template
def _telling_name(names: str) -> str:
    for name in names.lower().split(maxsplit=_MAX_NAMES)[:_MAX_NAMES]:
        short = name[:_MAX_HINT_CHARACTERS]
        if short in _SECTIONS or (short not in _POSITIONAL and _TELLING_NAME.fullmatch(short)):
            return short
    return ""


def _path(element: _Element) -> str:
    """The path to an element; worked out from the nearest element above that knows its own."""
    unknown = [element]
    while (above := unknown[-1].parent) is not None and above.path is None:
        unknown.append(above)
    path = above.path if above is not None else None
    for part in reversed(unknown):
        hint = _own_hint(part)
        step = f"{part.tag}.{hint}" if hint and hint != part.tag else part.tag
        path = part.path = f"{_without_surplus(path)}/{step}" if path else step
    return path or ""


def _without_surplus(path: str) -> str:
    return path.partition("/")[2] if path.count("/") >= MAX_PATH - 1 else path
