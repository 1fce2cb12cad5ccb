"""One page, one representation: what the language model, the block model and the aligner all read.

Belongs here: HTML to `Page`, and `Page` to text. Does not belong here: decoding bytes (`ml/charset.py`), the walk
over the tree (`ml/blocks.py`), what JSON-LD says (`ml/metadata.py`), or other models' formats (`ml/readerlm.py`).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ml.blocks import Block, Statement, read
from ml.charset import PageError, decode, encode, text_or_raise
from ml.metadata import (
    Candidate,
    Fact,
    JsonLd,
    Metadata,
    Source,
    candidate,
    meta_candidate,
    metadata,
    primary_language,
    read_json_ld,
    shorten,
)
from ml.records import Reason
from ml.taming import tag_set, tame

__all__ = [
    "Block",
    "Metadata",
    "Page",
    "PageError",
    "decode",
    "parse_page",
    "render_blocks",
    "render_compact",
]

JSON_LD_HINT = "json-ld"
_WORD = re.compile(r"\w+")
_DIGIT = re.compile(r"\d")
_CUT_OFF = " .…"  # how a description ends that is cut from the page's text
# Of the words of JSON-LD's articleBody; with fewer on view, the body is added as blocks. None of 626 real pages needs
# it: a body for scripts only is rare, but the page would be lost without it.
_MAX_VISIBLE_SHARE = 0.5
_LINK_LIST_DENSITY = 0.8
# The tags that say something about their text and may stand anywhere; every other is written as a div.
_WRITTEN_AS_IS = tag_set("address dd dt figcaption h1 h2 h3 h4 h5 h6 legend li p pre summary ul")
_HEADINGS = tag_set("h1 h2 h3 h4 h5 h6")


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """A news page: its language, what it states about the article, and its visible text as blocks."""

    language: str | None
    metadata: Metadata
    blocks: tuple[Block, ...]


def parse_page(html: str | bytes) -> Page:
    """Read a page in one pass, in time linear in its length.

    Raises `PageError` for an empty page (`EMPTY_PAGE`), binary data (`NOT_HTML`) and a page without any text in
    its body (`NO_BODY`).
    """
    text = decode(html) if isinstance(html, bytes) else text_or_raise(html)
    if not text or text.isspace():
        raise PageError(Reason.EMPTY_PAGE, "expected HTML, found an empty page")
    root = LexborHTMLParser(encode(tame(text))).root
    blocks, statements = read(root) if root else ([], [])
    json_ld = read_json_ld(node.text() for tag, node in statements if tag == "script" and _is_json_ld(node))
    blocks += _blocks_of_hidden_body(json_ld, blocks)
    if not root or not blocks:
        raise PageError(
            Reason.NO_BODY, f"expected text in the page's body, found none in {len(text):,} characters"
        )
    metas = [_name_and_content(node) for tag, node in statements if tag == "meta"]
    candidates = [*json_ld.candidates, *_stated_in_tags(metas, statements), *_headings(blocks)]
    first_metas = {name: content for name, content in reversed(metas) if content}
    return Page(
        language=_language(root, json_ld, first_metas.get("og:locale")),
        metadata=metadata(candidates, first_metas, json_ld),
        blocks=tuple(blocks),
    )


def _is_json_ld(script: LexborNode) -> bool:
    return (script.attributes.get("type") or "").strip().lower().startswith("application/ld+json")


def _stated_in_tags(metas: Iterable[tuple[str, str]], statements: Iterable[Statement]) -> Iterator[Candidate]:
    """Candidates from `<meta>`, the first `<title>`, and `<time>`, in this order."""
    stated = (meta_candidate(name, content) for name, content in metas)
    titles = [
        candidate(Fact.TITLE, Source.TITLE_TAG, node.text()) for tag, node in statements if tag == "title"
    ]
    times = (
        candidate(Fact.PUBLISHED, Source.TIME, node.attributes.get("datetime") or "")
        for tag, node in statements
        if tag == "time"
    )
    return filter(None, (*stated, *titles[:1], *times))


def _name_and_content(meta: LexborNode) -> tuple[str, str]:
    attributes = meta.attributes
    name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or ""
    return name.strip().lower(), attributes.get("content") or ""


def _headings(blocks: Iterable[Block]) -> Iterator[Candidate]:
    for block in blocks:
        if block.tag == "h1" and (found := candidate(Fact.TITLE, Source.HEADING, block.text)):
            yield found


def _language(root: LexborNode, json_ld: JsonLd, locale: str | None) -> str | None:
    declared = primary_language(root.attributes.get("lang"))
    return declared or json_ld.language or primary_language(locale)


def _blocks_of_hidden_body(json_ld: JsonLd, visible: list[Block]) -> list[Block]:
    """The paragraphs of JSON-LD's articleBody, where the page shows them only to scripts or subscribers."""
    body_words = set(_WORD.findall(json_ld.body))
    if not body_words:
        return []
    visible_words = _WORD.findall("\n".join(block.text for block in visible))
    if len(body_words.intersection(visible_words)) > _MAX_VISIBLE_SHARE * len(body_words):
        return []
    lines = (" ".join(line.split()) for line in json_ld.body.splitlines())
    return [
        Block(id=at, tag="p", hint=JSON_LD_HINT, path=JSON_LD_HINT, text=line, link_density=0.0)
        for at, line in enumerate(filter(None, lines), start=len(visible))
    ]


def render_compact(page: Page) -> str:
    """The page as the language model reads it: stated facts as meta tags, then the text in plain markup.

    Blocks that share a hint stand in one `<div class=hint>`; runs of links (navigation, teasers) become one
    `<ul>`. The text is HTML: `render_compact(parse_page(compact))` is `compact` again.
    """
    language = [f"<html lang={page.language}>"] if page.language else []
    blocks = list(_without_repeated_labels(_with_links_joined(page.blocks)))
    return "\n".join([*language, *_header(page.metadata, blocks), *_body(blocks)])


def _header(metadata: Metadata, blocks: Iterable[Block]) -> Iterator[str]:
    text = "\n".join(block.text for block in blocks)
    for fact in Fact:
        for value in _worth_reading(metadata, fact):
            if fact is not Fact.DESCRIPTION or value.rstrip(_CUT_OFF) not in text:
                yield f'<meta name={fact} content="{escape(value)}">'


def _worth_reading(metadata: Metadata, fact: Fact) -> list[str]:
    """The values of a fact that go into the header: the best source's, or two versions of title and description."""
    ranked = [
        metadata.values(fact, source)
        for source in (Source.JSON_LD, Source.META, Source.TITLE_TAG, Source.TIME)
    ]
    if fact in (Fact.TITLE, Fact.DESCRIPTION):
        return list(dict.fromkeys((*ranked[0], *ranked[1])))[:2] or list(ranked[2])
    if fact is Fact.MODIFIED and _worth_reading(metadata, Fact.PUBLISHED):
        return []
    best = next(filter(None, ranked), ())
    if fact in (Fact.AUTHOR, Fact.TOPIC, Fact.SECTION):
        return [shorten("; ".join(best))] if best else []
    return list(best[:1])


def _body(blocks: Iterable[Block]) -> Iterator[str]:
    for hint, group in groupby(blocks, key=lambda block: block.hint):
        lines = [(_written_tag(block), _written_text(block)) for block in group]
        if hint and len(lines) > 1:
            yield from [f"<div class={hint}>", *(_element(tag, text) for tag, text in lines), "</div>"]
        else:
            yield from (_element(tag, text, hint) for tag, text in lines)


def _with_links_joined(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks with each run of links as one, every link once in a page: menus come again and again."""
    seen: set[str] = set()
    hint = ""
    for is_links, run in groupby(blocks, key=_is_link):
        run_blocks = list(run)
        if not is_links or len(run_blocks) == 1:
            yield from run_blocks
            hint = run_blocks[-1].hint
            continue
        texts = [text for text in dict.fromkeys(block.text for block in run_blocks) if text not in seen]
        seen.update(texts)
        first = run_blocks[0]
        hint = first.hint if first.hint == hint else ""
        if texts:
            yield Block(id=first.id, tag="ul", hint=hint, path="", text=" | ".join(texts), link_density=1.0)


def _without_repeated_labels(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks without what a template repeats ("Advertisement", "Read more"); dates and headings stay."""
    seen: set[tuple[str, str]] = set()
    for block in blocks:
        label = (block.hint, block.text) if _is_label(block) else None
        if label not in seen:
            yield block
        if label:
            seen.add(label)


def _is_label(block: Block) -> bool:
    return _written_tag(block) == "div" and not block.is_bold and not _DIGIT.search(block.text)


def _is_link(block: Block) -> bool:
    return (
        block.link_density >= _LINK_LIST_DENSITY and block.tag != "h1"
    )  # many a title links to its own page


def _written_tag(block: Block) -> str:
    return block.tag if block.tag in _WRITTEN_AS_IS else "div"


def _written_text(block: Block) -> str:
    text = block.text.replace("&", "&amp;").replace("<", "&lt;")
    return f"<b>{text}</b>" if block.is_bold and block.tag not in _HEADINGS else text


def _element(tag: str, text: str, hint: str = "") -> str:
    start = f"<{tag} class={hint}>" if hint else f"<{tag}>"
    return start + text if tag == "p" else f"{start}{text}</{tag}>"


def render_blocks(page: Page) -> str:
    """One line a block: id, tag, hint, link density and text, separated by tabs."""
    return "\n".join(
        f"{block.id}\t{block.tag}\t{block.hint or '-'}\t{block.link_density:.2f}\t{block.text}"
        for block in page.blocks
    )
