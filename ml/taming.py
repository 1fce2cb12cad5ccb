"""Make hostile markup harmless before it is parsed.

The HTML standard's tree building costs time quadratic in the nesting depth and in the attributes of a tag, and
re-opening forgotten formatting tags multiplies nodes. Pages of good faith come nowhere near; this module
recognises the others in linear time and rewrites them, keeping every word.
Does not belong here: choosing what to keep of a page (`ml/blocks.py`).
"""

import re
from collections import defaultdict
from collections.abc import Iterator

MAX_DEPTH = 1_000  # the worst of 244 real pages has 633 tags open at once, counting forgotten ones
MAX_FORMATTING = (
    8  # forgotten <b>, <i> …, each of which comes back in every paragraph; two real pages have 13
)
MAX_ATTRIBUTES = 1_000
_FEW_TAGS = 2_000  # even if they all nest, or all come back, the tree stays small


def tag_set(names: str) -> frozenset[str]:
    """Names separated by spaces, as a set."""
    return frozenset(names.split())


# Tags whose number says nothing about depth: void ones, and those that the next of their kind closes.
_FLAT = tag_set(
    "a area base br col embed hr img input link meta param source track wbr p li dt dd tr td th option optgroup "
    "thead tbody tfoot colgroup"
)
_FORMATTING = tag_set("b big code em font i nobr s small strike strong tt u")
_USEFUL_ATTRIBUTES = tag_set(
    "class id lang href type rel name property itemprop content datetime hidden style role aria-hidden"
)

# Every quantifier is possessive and every quote may end with the page: a scan never goes back.
# White space is spelled out: the regex engine tests a plain set of characters twice as fast as \s.
_SPACE = r" \t\n\f\r"
_VALUE = rf"""(?:[{_SPACE}]*+=[{_SPACE}]*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^{_SPACE}>]++)?+)?+"""
_NAME = f"[^{_SPACE}>/][^{_SPACE}=>/]*+"
_ATTRIBUTE = re.compile(f"({_NAME}){_VALUE}")
_OVERLOADED_TAG = re.compile(f"<[a-zA-Z][^{_SPACE}/>]*+(?:[{_SPACE}/]*+{_NAME}{_VALUE}){{{MAX_ATTRIBUTES}}}")
_TAG_NAME = re.compile(r"<(/?[a-zA-Z][^\s/>]*)")
_TOKEN = re.compile(
    r"<(?:!--|(?P<close>/?+)(?P<name>[a-zA-Z][^\s/>]*+)"
    r"""(?P<attributes>[^>=]*+(?:=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))?+[^>=]*+)*+)(?:>|\Z))"""
)
_RAW_TEXT_END = {
    name: re.compile(f"</{name}", re.IGNORECASE)
    for name in ("script", "style", "textarea", "title", "iframe", "xmp", "noembed", "noframes")
}


def tame(html: str) -> str:
    """`html` itself where it is harmless, else the same text in less markup."""
    many_tags = html.count("<") > _FEW_TAGS
    if _OVERLOADED_TAG.search(html) or (many_tags and _nests_too_deep(html)):
        return "".join(_rewritten(html))
    return html


def _nests_too_deep(html: str) -> bool:
    """Count the tags open at each point, which is never less than the depth of the tree."""
    open_tags: defaultdict[str, int] = defaultdict(int)
    depth = formatting = 0
    for name, step, step_of_formatting in filter(None, map(_STEPS.__getitem__, _TAG_NAME.findall(html))):
        if step < 0 and not open_tags[name]:
            continue
        open_tags[name] += step
        depth += step
        formatting += step_of_formatting
        if depth > MAX_DEPTH or formatting > MAX_FORMATTING:
            return True
    return False


class _Steps(dict[str, tuple[str, int, int] | None]):
    """What a tag, as written, does to the depth: its name, 1 or -1, and that of formatting; None where nothing."""

    def __missing__(self, written: str) -> tuple[str, int, int] | None:
        name, step = written.lower(), 1
        if name[0] == "/":
            name, step = name[1:], -1
        found = None if name in _FLAT else (name, step, step if name in _FORMATTING else 0)
        if len(self) < _MAX_KNOWN_TAGS:  # hostile pages make up names
            self[written] = found
        return found


_MAX_KNOWN_TAGS = 10_000
_STEPS = _Steps()


def _rewritten(html: str) -> Iterator[str]:
    """The pieces of `html` without formatting tags, attributes nobody reads, and tags beyond the depth limit."""
    open_tags: defaultdict[str, int] = defaultdict(int)
    depth = position = 0
    while token := _TOKEN.search(html, position):
        yield html[position : token.start()]
        position = token.end()
        name = (token["name"] or "").lower()
        if not name:
            position = _end_of_comment(html, position)
        elif name in _RAW_TEXT_END and not token["close"]:
            end = _RAW_TEXT_END[name].search(html, position)
            start, position = position, end.start() if end else len(html)
            yield f"{_tag(token, name)}{html[start:position]}</{name}>"
        elif name in _FLAT:
            yield _tag(token, name)
        elif name in _FORMATTING or name in _RAW_TEXT_END:
            continue
        elif not token["close"] and depth == MAX_DEPTH:
            yield "<br><br>"  # still a boundary between two runs of text
        elif not token["close"] or open_tags[name]:
            step = -1 if token["close"] else 1
            open_tags[name] += step
            depth += step
            yield _tag(token, name)
    yield html[position:]


def _end_of_comment(html: str, position: int) -> int:
    end = html.find("-->", position - 2)  # "<!-->" is a whole comment
    return end + len("-->") if end >= 0 else len(html)


def _tag(token: re.Match[str], name: str) -> str:
    if token["close"]:
        return f"</{name}>"
    useful: dict[str, str] = {}
    for found in _ATTRIBUTE.finditer(token["attributes"]):
        if (key := found[1].lower()) in _USEFUL_ATTRIBUTES:
            useful.setdefault(key, found[0])
    return f"<{' '.join((name, *useful.values()))}>"
