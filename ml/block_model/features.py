"""What a block looks like, as numbers: one row a block, computed from the page alone.

Belongs here: features that hold on pages of every publisher and script. Does not belong here: words of a language,
names of publishers, or what a model makes of the numbers (`model.py`).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ml.alignment import words, words_of_each
from ml.blocks import Block
from ml.metadata import Fact
from ml.page import JSON_LD_HINT, Page

Matrix: TypeAlias = npt.NDArray[np.float32]
Numbers: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.int64]
Columns: TypeAlias = dict[str, Numbers]
Value = TypeVar("Value", bound=Hashable)


def block_features(page: Page) -> Matrix:
    """The features of a page's blocks, (blocks, `FEATURES`), in the order of `FEATURES`."""
    if not page.blocks:
        return np.empty((0, len(FEATURES)), dtype=np.float32)
    columns = _columns(page)
    matrix = np.empty((len(page.blocks), len(columns)), dtype=np.float32)
    for at, values in enumerate(columns.values()):
        matrix[:, at] = values
    return matrix


def _columns(page: Page) -> Columns:
    text, markup, places = _text(page.blocks), _markup(page.blocks), places_of(page.blocks)
    mass = _mass(text, markup)
    stated = _overlaps(page)
    return {
        **text,
        **markup,
        **stated,
        **_looks_like_a_date(page.blocks, text),
        **_position(text, mass, stated["is_title"] > 0),
        "beside_title": np.isin(places.around, places.around[stated["is_title"] > 0]).astype(np.float64),
        **_mass_by_place(places, mass),
        **_runs(places, mass),
        **_repetition(page.blocks),
        **_neighbours({**text, **markup}, places),
    }


# --- the text itself, character by character

_STOPS = frozenset(".!?…。！？｡।॥؟۔።")
_UNSPACED_STOPS = frozenset("。！？｡।॥")
_COMMAS = frozenset(",;:、，；：،؛")
_BARS = frozenset("|•·/→▶")
_QUOTES = frozenset("\"'")
_CLASSES = ("other", "upper", "lower", "letter", "unspaced", "digit", "space", "comma", "stop", "quote",
            "dash", "bar", "symbol")  # fmt: skip
_CLASS = {name: number for number, name in enumerate(_CLASSES)}
_BY_CATEGORY = {
    "Lu": "upper", "Lt": "upper", "Ll": "lower", "Lm": "letter", "Lo": "letter", "Mn": "letter", "Mc": "letter",
    "Nd": "digit", "Zs": "space", "Pi": "quote", "Pf": "quote", "Pd": "dash", "Sm": "symbol", "Sc": "symbol",
    "So": "symbol",
}  # fmt: skip
_UNSPACED = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x9FFF))
_LAST = 0xFFFF  # of the table; what lies beyond (emoji, mostly) counts as other


@lru_cache(maxsize=1)
def _class_table() -> npt.NDArray[np.uint8]:
    """The class of every character of the basic plane."""
    table = np.zeros(_LAST + 1, dtype=np.uint8)
    for code in range(_LAST):
        table[code] = _CLASS[_class_of(chr(code))]
    for first, last in _UNSPACED:
        letters = table[first : last + 1]
        letters[letters == _CLASS["letter"]] = _CLASS["unspaced"]
    return table


def _class_of(character: str) -> str:
    for name, members in (("stop", _STOPS), ("comma", _COMMAS), ("bar", _BARS), ("quote", _QUOTES)):
        if character in members:
            return name
    return _BY_CATEGORY.get(unicodedata.category(character), "other")


def _text(blocks: Sequence[Block]) -> Columns:
    """Counts of characters by class. A page is one array of characters, so that no loop runs over them."""
    text = "\n".join(block.text for block in blocks) + "\n"
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    classes = _class_table()[np.minimum(codes, _LAST)]
    sizes = np.fromiter((len(block.text) for block in blocks), np.int64, len(blocks))
    ends = np.cumsum(sizes + 1) - 1
    starts = ends - sizes
    owner = np.repeat(np.arange(len(blocks)), sizes + 1)
    width = len(_CLASSES)
    counts = np.bincount(owner * width + classes, minlength=len(blocks) * width).reshape(-1, width)
    by_name = {name: counts[:, number].astype(np.float64) for name, number in _CLASS.items()}
    last = classes[np.maximum(ends - 1, 0)]
    before_last = classes[np.maximum(ends - 2, 0)]
    stops = classes == _CLASS["stop"]
    ended = stops & ~np.append(stops[1:], False) & _closes(classes, codes)
    letters = np.maximum(by_name["upper"] + by_name["lower"] + by_name["letter"] + by_name["unspaced"], 1)
    word_count = by_name["space"] + 1 + by_name["unspaced"] / 2
    return {
        "characters": sizes,
        "words": word_count,
        "word_length": sizes / word_count,
        "sentences": np.bincount(owner[ended], minlength=len(blocks)),
        "ends_in_stop": (last == _CLASS["stop"])
        | ((last == _CLASS["quote"]) & (before_last == _CLASS["stop"])),
        "ends_in_colon": codes[np.maximum(ends - 1, 0)] == ord(":"),
        "starts_as": classes[starts],
        "ends_as": last,
        "upper_share": by_name["upper"] / letters,
        "capitalised_share": by_name["upper"] / word_count,
        "unspaced_share": by_name["unspaced"] / letters,
        **{f"{name}_share": by_name[name] / np.maximum(sizes, 1)
           for name in ("digit", "comma", "stop", "quote", "dash", "bar", "symbol", "other")},
        "commas": by_name["comma"],
        "digits": by_name["digit"],
        "quotes": by_name["quote"],
    }  # fmt: skip


def _closes(classes: npt.NDArray[np.uint8], codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Whether a stop here would end a sentence: a space, a quote or the end follows, or the script needs none."""
    following = np.append(classes[1:], _CLASS["other"])
    spaced = (
        (following == _CLASS["space"]) | (following == _CLASS["quote"]) | np.append(codes[1:] == 10, True)
    )
    unspaced = np.isin(codes, [ord(stop) for stop in _UNSPACED_STOPS])
    closes: npt.NDArray[np.bool_] = spaced | unspaced
    return closes


# --- the markup around it

_TAGS = (
    "p div h1 h2 h3 h4 h5 h6 li blockquote figcaption section article td header footer pre summary main aside nav dd "
    "dt figure address"
)
_TAG = {name: number for number, name in enumerate(_TAGS.split(), start=1)}
_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
_AROUND = ("article", "main", "section", "aside", "header", "footer", "nav", "figure", "figcaption", "blockquote",
           "ul", "ol", "li", "table", "form", "details", "dl", "p", "b")  # fmt: skip
# What the hints of `ml/blocks.py` say, by what they say of the text around them.
_MEANINGS = {
    "body": "body article blog entry story post paragraph",
    "main": "main",
    "lead": "abstract bullet chapo deck dek description einleitung entradilla epigraph excerpt highlight highlights "
    "ingress intro lead lede perex preface resumen standfirst strapline sumario summary synopsis takeaway tldr "
    "vorspann",
    "title": "headline title titre titulo",
    "heading": "header heading",
    "subline": "subhead subline subtitle tagline",
    "kicker": "kicker label overline ressort section category",
    "caption": "caption figcaption figure image photo copyright credit gallery media video",
    "author": "author autor byline bio editor reporter",
    "source": "source signature",
    "date": "date time publish update live",
    "related": "card most popular promo read recommend related teaser trending ticker",
    "comment": "comment",
    "social": "social share",
    "navigation": "banner breadcrumb footer menu meta nav search sidebar weather widget",
    "topic": "tag topic",
    "advert": "advert anzeige sponsor",
    "barrier": "consent cookie legal login modal dialog paywall premium subscribe form",
    "newsletter": "newsletter",
    "box": "box info infobox fact dossier aside",
    "quote": "blockquote quote",
    "name": "name",
    "news": "news",
}
_MEANING = {word: number for number, said in enumerate(_MEANINGS.values(), start=1) for word in said.split()}
_NOWHERE = 20.0  # levels up; more than any path is long


def _markup(blocks: Sequence[Block]) -> Columns:
    numbers, distinct = _numbered((block.tag, block.hint, block.path) for block in blocks)
    table = np.array([_said_by(*place) for place in distinct])[numbers]
    columns: Columns = {name: table[:, at] for at, name in enumerate(_MARKUP_NAMES)}
    columns["link_density"] = np.fromiter((block.link_density for block in blocks), np.float64, len(blocks))
    return columns


_MARKUP_NAMES = (
    "tag",
    "is_paragraph",
    "is_heading",
    "is_bold",
    "is_hidden_body",
    "hint_first",
    "hint_last",
    "depth",
    *(f"in_{tag}" for tag in _AROUND),
    *(f"up_to_{meaning}" for meaning in _MEANINGS),
)


@lru_cache(maxsize=65_536)
def _said_by(tag: str, hint: str, path: str) -> tuple[float, ...]:
    """The columns of `_MARKUP_NAMES` for a block of this tag and hint at this place."""
    steps = [step.partition(".")[::2] for step in path.split("/")]
    levels_up = dict.fromkeys(_MEANINGS, _NOWHERE)
    names = list(levels_up)
    for distance, (_, said) in zip(range(len(steps) - 1, -1, -1), steps, strict=True):
        for word in said.split("-"):
            if meaning := _MEANING.get(word):
                levels_up[names[meaning - 1]] = float(distance)
    tags = {name for name, _ in steps}
    first, *_, last = hint.split("-") * 2
    return (
        float(_TAG.get(tag, 0)),
        float(tag == "p"),
        float(tag in _HEADINGS),
        float(path.endswith("/b")),
        float(hint == JSON_LD_HINT),
        float(_MEANING.get(first, 0)),
        float(_MEANING.get(last, 0)),
        float(len(steps)),
        *(float(name in tags) for name in _AROUND),
        *levels_up.values(),
    )


# --- what the page says about the article elsewhere

_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_CLOCK = re.compile(r"(?<!\d)[0-2]?\d[:.h][0-5]\d(?!\d)")
_DATE_CHARACTERS = 120  # a date line is short
_COMPARED_CHARACTERS = 500  # a longer block is neither title nor summary
_IS_TITLE, _IS_DESCRIPTION = 0.6, 0.5


def _overlaps(page: Page) -> Columns:
    """How much of each block stands in a title, description or name that the page states, and the other way."""
    lines = words_of_each([block.text[:_COMPARED_CHARACTERS] for block in page.blocks])
    facts = {
        "title": [set(words(value)) for value in page.metadata.values(Fact.TITLE)],
        "description": [set(words(value)) for value in page.metadata.values(Fact.DESCRIPTION)],
        "author": [_words_of(page.metadata.values(Fact.AUTHOR))],
        "topics": [_words_of(page.metadata.values(Fact.TOPIC) + page.metadata.values(Fact.SECTION))],
    }
    stated = frozenset(chain.from_iterable(chain.from_iterable(facts.values())))
    held = {
        at: _Held(common, len(set(lines[at])))
        for at, line in enumerate(lines)
        if (common := stated.intersection(line))
    }
    shares = {name: _shares(held, list(filter(None, texts)), len(lines)) for name, texts in facts.items()}
    columns: Columns = {}
    for name in ("title", "description"):
        columns[f"of_{name}"], columns[f"{name}_in"] = shares[name]
    described = np.sqrt(columns["of_description"] * columns["description_in"])
    columns["is_description"] = _is_best(described, _IS_DESCRIPTION)
    columns["of_author"], columns["of_topics"] = shares["author"][0], shares["topics"][0]
    match = np.sqrt(columns["of_title"] * columns["title_in"])
    match = match + np.fromiter(
        (0.3 * (block.tag == "h1") for block in page.blocks), np.float64, len(page.blocks)
    )
    columns["title_match"] = match
    columns["is_title"] = _is_best(match, _IS_TITLE)
    return columns


def _is_best(match: Numbers, enough: float) -> Numbers:
    """1 for the first of the blocks that match best, 0 for all others, and for all where none matches enough."""
    best = np.zeros(len(match))
    best[int(match.argmax())] = match.max() >= enough
    return best


class _Held(NamedTuple):
    """The words of a block that are stated anywhere, and the number of all its words, each counted once."""

    stated: frozenset[str]
    words: int


def _shares(held: Mapping[int, _Held], texts: Sequence[set[str]], blocks: int) -> tuple[Numbers, Numbers]:
    """For each block, the largest shares of its words in a stated text, and of that text's words in it."""
    of_block, of_text = np.zeros(blocks), np.zeros(blocks)
    for text in texts:
        for at, block in held.items():
            if common := len(block.stated & text):
                of_block[at] = max(of_block[at], common / block.words)
                of_text[at] = max(of_text[at], common / len(text))
    return of_block, of_text


def _words_of(texts: Iterable[str]) -> set[str]:
    return set(chain.from_iterable(map(words, texts)))


def _looks_like_a_date(blocks: Sequence[Block], text: Columns) -> Columns:
    year, clock = np.zeros(len(blocks)), np.zeros(len(blocks))
    may_be = (text["digits"] >= 3) & (text["characters"] <= _DATE_CHARACTERS)
    for at in np.flatnonzero(may_be).tolist():
        year[at] = _YEAR.search(blocks[at].text) is not None
        clock[at] = _CLOCK.search(blocks[at].text) is not None
    return {"has_year": year, "has_clock": clock}


# --- where it stands

_SENTENCE_CHARACTERS = 80  # this much text outside links counts as running text even without a full stop


def _mass(text: Columns, markup: Columns) -> Numbers:
    """Characters of running text in each block: what lies outside links, where it has sentences."""
    running = (text["sentences"] > 0) | (text["characters"] >= _SENTENCE_CHARACTERS)
    mass: Numbers = text["characters"] * (1 - markup["link_density"]) * running
    return mass


def _position(text: Columns, mass: Numbers, is_title: npt.NDArray[np.bool_]) -> Columns:
    count = len(mass)
    index = np.arange(count, dtype=np.float64)
    words_before = np.cumsum(text["words"]) - text["words"]
    mass_before = np.cumsum(mass) - mass
    title_at = int(is_title.argmax()) if is_title.any() else -1
    return {
        "index": index,
        "blocks": np.full(count, count),
        "relative_index": index / count,
        "blocks_to_end": count - index,
        "words_before": words_before,
        "words_before_share": words_before / max(float(text["words"].sum()), 1.0),
        "mass_before_share": mass_before / max(float(mass.sum()), 1.0),
        "mass_total": np.full(count, mass.sum()),
        "from_title": index - title_at if title_at >= 0 else np.full(count, -999.0),
        "words_from_title": words_before - words_before[title_at]
        if title_at >= 0
        else np.full(count, -9999.0),
        "mass_from_title": mass_before - mass_before[title_at] if title_at >= 0 else np.full(count, -9999.0),
        **{f"mass_within_{reach}": _window(mass, reach) for reach in (2, 5, 15)},
    }


def _window(values: Numbers, reach: int) -> Numbers:
    """The sum of the values at most `reach` places away, the place itself included."""
    sums = np.concatenate(([0.0], np.cumsum(values)))
    at = np.arange(len(values))
    window: Numbers = sums[np.minimum(at + reach + 1, len(values))] - sums[np.maximum(at - reach, 0)]
    return window


class Places(NamedTuple):
    """Numbers, (blocks,): of each block's path, of the two paths around it, and of its place and the one around.

    Paths carry over to pages of other templates, places tell apart what one template tells apart.
    """

    own: Indices
    parent: Indices
    grandparent: Indices
    place: Indices
    around: Indices


def places_of(blocks: Sequence[Block]) -> Places:
    """Which blocks stand at like places."""
    own, paths = _numbered(block.path.removesuffix("/b") for block in blocks)
    parent, parents = _numbered(map(_outer, paths))
    grandparent, _ = _numbered(map(_outer, parents))
    place = np.fromiter((block.place for block in blocks), np.int64, len(blocks))
    around = np.fromiter((block.around for block in blocks), np.int64, len(blocks))
    return Places(own, parent[own], grandparent[parent[own]], place, around)


def _outer(path: str) -> str:
    return path.rpartition("/")[0] or path


def _numbered(values: Iterable[Value]) -> tuple[Indices, list[Value]]:
    """A number for each value, equal for equal ones, and the distinct values in the order of their numbers."""
    numbers: dict[Value, int] = {}
    found = [numbers.setdefault(value, len(numbers)) for value in values]
    return np.array(found, dtype=np.int64), list(numbers)


def _mass_by_place(places: Places, mass: Numbers) -> Columns:
    columns: Columns = {}
    for name, numbers in zip(("path", "parent", "outer", "place", "around"), places, strict=True):
        total = np.bincount(numbers, weights=mass)
        rank = np.empty(len(total), dtype=np.float64)
        rank[np.argsort(-total, kind="stable")] = np.arange(len(total))
        columns[f"{name}_mass_share"] = (total / max(float(total.sum()), 1.0))[numbers]
        columns[f"{name}_rank"] = rank[numbers]
        columns[f"{name}_blocks"] = np.bincount(numbers)[numbers].astype(np.float64)
    top = columns["parent_rank"] == 0
    at = np.arange(len(mass), dtype=np.float64)
    held = np.flatnonzero(top & (mass > 0))
    first, last = (int(held[0]), int(held[-1])) if len(held) else (0, len(mass) - 1)
    of_top = np.cumsum(mass * top) - mass * top
    columns["from_first_of_top"] = at - first
    columns["from_last_of_top"] = at - last
    columns["top_mass_before_share"] = of_top / max(float((mass * top).sum()), 1.0)
    columns["top_within_5"] = _window((mass * top).astype(np.float64), 5)
    return columns


def _runs(places: Places, mass: Numbers) -> Columns:
    """Neighbouring blocks with one path around them, as a run: how long it is and what it holds."""
    columns: Columns = {}
    for name, numbers in (("path", places.own), ("parent", places.parent)):
        run = np.cumsum(np.concatenate(([False], numbers[1:] != numbers[:-1])))
        sizes, masses = np.bincount(run), np.bincount(run, weights=mass)
        starts = np.cumsum(sizes) - sizes
        columns[f"{name}_run_blocks"] = sizes[run].astype(np.float64)
        columns[f"{name}_run_mass"] = masses[run]
        columns[f"{name}_run_at"] = np.arange(len(run), dtype=np.float64) - starts[run]
        columns[f"{name}_run_is_largest"] = (run == int(masses.argmax())).astype(np.float64)
    return columns


def _repetition(blocks: Sequence[Block]) -> Columns:
    texts = [block.text for block in blocks]
    counts = Counter(texts)
    seen: Counter[str] = Counter()
    before = np.zeros(len(texts))
    for at, text in enumerate(texts):
        before[at] = seen[text]
        seen[text] += 1
    return {
        "repeats": np.fromiter((counts[text] for text in texts), np.int64, len(texts)),
        "repeats_before": before,
    }


# --- the blocks beside it

_OFFSETS = (-3, -2, -1, 1, 2, 3)
_SEEN_OF_NEIGHBOURS = (
    "characters",
    "link_density",
    "sentences",
    "tag",
    "hint_last",
    "is_bold",
    "ends_in_stop",
)
_OUTSIDE = -1.0


def _neighbours(columns: Columns, places: Places) -> Columns:
    found: Columns = {}
    compared = (places.own, places.parent, places.place, places.around)
    for offset in _OFFSETS:
        for name in _SEEN_OF_NEIGHBOURS:
            found[f"{name}_{offset:+d}"] = shifted(columns[name].astype(np.float64), offset)
        for name, numbers in zip(("path", "parent", "place", "around"), compared, strict=True):
            found[f"same_{name}_{offset:+d}"] = shifted(numbers.astype(np.float64), offset) == numbers
    return found


def shifted(values: Numbers, offset: int, outside: float = _OUTSIDE) -> Numbers:
    """The value `offset` places further on, for each place; `outside` beyond the ends."""
    moved = np.full_like(values, outside)
    if abs(offset) >= len(values):
        return moved
    if offset >= 0:
        moved[: len(values) - offset] = values[offset:]
    else:
        moved[-offset:] = values[:offset]
    return moved


def _names() -> tuple[str, ...]:
    from ml.metadata import Metadata

    block = Block(id=0, tag="p", hint="", path="p", text="-", link_density=0.0)
    return tuple(_columns(Page(language=None, metadata=Metadata(), blocks=(block,))))


FEATURES = _names()
"""The name of every column, in order."""
