"""What is told of each candidate: numbers about where it stands, how it looks and what agrees with it.

Belongs here: candidates to rows of numbers, the same for every language and publisher. Does not belong here:
the candidates themselves, or what a model makes of the rows. No feature names a publisher, a host or a word.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import numpy as np
import numpy.typing as npt
from rapidfuzz.fuzz import ratio

from ml.fields.candidates import FieldCandidates, Mention, Option, Place
from ml.fields.names import looks_like_name
from ml.fields.text import folded
from ml.metadata import Fact, Metadata, Source
from ml.page import Page

Row = dict[str, float]
Matrix = npt.NDArray[np.float64]

MISSING = -1.0
FAR = -99.0  # of a distance in blocks or hours, where there is none: left of every real one
_LEAD_BLOCKS = 25
_TITLE_PLACES = (Place.JSON_LD, Place.META, Place.TITLE_TAG, Place.HEADING)
_AUTHOR_PLACES = (Place.JSON_LD, Place.META, Place.BYLINE)
_DATE_PLACES = (Place.JSON_LD, Place.META, Place.TIME, Place.MODIFIED, Place.VISIBLE)
_TOPIC_PLACES = (Place.JSON_LD, Place.META, Place.SECTION, Place.VISIBLE)
_AUTHOR_HINT = re.compile("author|autor|byline")
_SITE_BREAK = re.compile(r"\s+[|–—\-·•»«:]+\s+|[｜|]|--+")
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True)
class View:
    """A page and its candidates, with what several features ask for."""

    page: Page
    found: FieldCandidates

    @cached_property
    def text(self) -> str:
        """All of the page's text, folded."""
        return folded("\n".join(block.text for block in self.page.blocks))

    @cached_property
    def lead(self) -> str:
        """The text around the headline, folded."""
        first = max(0, self.found.headline - 5)
        blocks = self.page.blocks[first : self.found.headline + _LEAD_BLOCKS]
        return folded("\n".join(block.text[:500] for block in blocks))

    @cached_property
    def titles(self) -> str:
        return "\n".join(folded(option.value) for option in self.found.title)

    @cached_property
    def headline(self) -> str:
        blocks = self.page.blocks
        return folded(blocks[self.found.headline].text[:400]) if blocks else ""

    @cached_property
    def json_ld_title(self) -> str:
        return folded(next(iter(self.page.metadata.values(Fact.TITLE, Source.JSON_LD)), ""))

    @cached_property
    def title_tag(self) -> str:
        return folded(next(iter(self.page.metadata.values(Fact.TITLE, Source.TITLE_TAG)), ""))

    @cached_property
    def site(self) -> str:
        """What the title tag says after the title: the site's name, mostly."""
        tag = next(iter(self.page.metadata.values(Fact.TITLE, Source.TITLE_TAG)), "")
        parts = [folded(part) for part in _SITE_BREAK.split(tag)[1:]]
        return " ".join(part for part in parts if part and part not in self.headline)


def title_rows(view: View) -> list[Row]:
    """One row a title."""
    options = view.found.title
    keys = [folded(option.value) for option in options]
    longest = max(map(len, keys), default=1)
    shared: Row = {
        "options": len(options),
        "stated_by_json_ld": float(any(option.at(Place.JSON_LD) for option in options)),
        "stated_by_meta": sum(bool(_whole(option.at(Place.META))) for option in options),
        "headings": sum(option.at(Place.HEADING) is not None for option in options),
        "json_ld_is_headline": ratio(view.json_ld_title, view.headline),
        "json_ld_in_title_tag": float(bool(view.json_ld_title) and view.json_ld_title in view.title_tag),
    }
    return [_title_row(view, option, keys, at, longest) | shared for at, option in enumerate(options)]


def _whole(mention: Mention | None) -> bool:
    return mention is not None and mention.part == 0


def _title_row(view: View, option: Option[str], keys: Sequence[str], at: int, longest: int) -> Row:
    key = keys[at]
    others = [other for number, other in enumerate(keys) if number != at]
    whole = [mention for mention in option.mentions if mention.part == 0]
    return {
        **_positions(option, _TITLE_PLACES),
        "number": at,
        "places": len({mention.place for mention in whole}),
        "whole_mentions": len(whole),
        "cut": max((mention.part for mention in option.mentions), default=0) if not whole else 0.0,
        "cuts": sum(mention.part > 0 for mention in option.mentions),
        "length": len(key),
        "share_of_longest": len(key) / longest,
        "begins_others": sum(other.startswith(key) for other in others),
        "begun_by_others": sum(key.startswith(other) for other in others),
        "ends_others": sum(other.endswith(key) for other in others),
        "ended_by_others": sum(key.endswith(other) for other in others),
        "like_headline": ratio(key, view.headline),
        "like_json_ld": ratio(key, view.json_ld_title) if view.json_ld_title else MISSING,
        "like_title_tag": ratio(key, view.title_tag),
        "like_others": float(np.mean([ratio(key, other) for other in others])) if others else 100.0,
        "visible": float(key in view.lead),
        "breaks": len(_SITE_BREAK.findall(option.value)),
        "colon": float(":" in option.value),
        "holds_site": float(bool(view.site) and view.site in key),
        "cut_off": float(option.value.rstrip().endswith(("…", "..."))),
    }


def _positions(option: Option[str] | Option[datetime], places: Sequence[Place]) -> Row:
    """For each place, the number of the value's first statement there; `MISSING` where it is not."""
    found = {place: option.at(place) for place in places}
    return {place.value: mention.statement if mention else MISSING for place, mention in found.items()}


def author_rows(view: View) -> list[Row]:
    """One row a name."""
    options = view.found.authors
    keys = [folded(option.value) for option in options]
    words = [frozenset(_WORD.findall(key)) for key in keys]
    persons = [option for option in options if _like_person(view, option.value)]
    shared: Row = {
        "options": len(options),
        **{f"{place}_names": sum(o.at(place) is not None for o in options) for place in _AUTHOR_PLACES},
        **{f"{place}_persons": sum(o.at(place) is not None for o in persons) for place in _AUTHOR_PLACES},
        "prefixed_names": sum(any(m.prefixed for m in option.mentions) for option in options),
    }
    return [_author_row(view, option, keys[at], words, at) | shared for at, option in enumerate(options)]


def _like_person(view: View, name: str) -> bool:
    """Whether a name looks like a person's, not a newsroom's."""
    return looks_like_name(name) and not (view.site and folded(name) in view.site)


def _author_row(view: View, option: Option[str], key: str, words: Sequence[frozenset[str]], at: int) -> Row:
    byline = option.at(Place.BYLINE)
    parts = option.value.split()
    own = words[at]
    return {
        **_positions(option, _AUTHOR_PLACES),
        "number": at,
        "places": len({mention.place for mention in option.mentions}),
        "part": option.mentions[0].part,
        "parts": option.mentions[0].parts,
        "distance": byline.distance if byline else FAR,
        "links": byline.links if byline else MISSING,
        "hint_author": float(bool(_AUTHOR_HINT.search(byline.hint))) if byline else MISSING,
        "prefixed": float(any(mention.prefixed for mention in option.mentions)),
        "visible": float(key in view.text),
        "visible_in_lead": float(key in view.lead),
        "like_person": float(_like_person(view, option.value)),
        "same_words": sum(own == other for other in words) - 1,
        "within_other": sum(own < other for other in words),
        "holds_other": sum(own > other for other in words),
        **_looks(option.value, parts),
        "in_site": float(key in view.site) if view.site else MISSING,
        "like_site": _like_site(key, view.site),
        "in_titles": float(key in view.titles),
        "in_topics": float(any(folded(topic.value) == key for topic in view.found.topics)),
    }


def _like_site(key: str, site: str) -> float:
    """How much of the longer one the name and the site's name share, without spaces and punctuation."""
    if not site:
        return MISSING
    return ratio("".join(_WORD.findall(key)), "".join(_WORD.findall(site)))


def _looks(value: str, parts: Sequence[str]) -> Row:
    return {
        "words": len(parts),
        "length": len(value),
        "capitalised": sum(part[:1].isupper() for part in parts) / max(1, len(parts)),
        "upper": float(value.isupper()),
        "lower": float(value == value.lower()),
        "digits": sum(character.isdigit() for character in value),
        "dot_inside": float("." in value[1:-1] and " " not in value),
        "hyphen": float("-" in value),
        "slash": float("/" in value),
        "unspaced_script": float(bool(_UNSPACED.search(value))),
    }


def date_rows(view: View) -> list[Row]:
    """One row a date."""
    options = view.found.publishing_date
    dates = [option.value for option in options]
    instants = [_instant(date) for date in dates]
    published = [at for at, o in zip(instants, options, strict=True) if not _is_only(o, Place.MODIFIED)]
    shared: Row = {
        "stated_by_json_ld": sum(option.at(Place.JSON_LD) is not None for option in options),
    }
    return [
        {
            **_date_row(option),
            **_agreement(at, dates, instants),
            "after_earliest_h": _hours(instants[at] - min(published, default=instants[at])),
            "before_latest_h": _hours(max(published, default=instants[at]) - instants[at]),
            **shared,
        }
        for at, option in enumerate(options)
    ]


def _date_row(option: Option[datetime]) -> Row:
    date, visible = option.value, option.at(Place.VISIBLE)
    return {
        **_positions(option, _DATE_PLACES),
        "places": len({mention.place for mention in option.mentions}),
        "zone": float(date.tzinfo is not None),
        "midnight": float((date.hour, date.minute, date.second) == (0, 0, 0)),
        "fraction": float(bool(date.microsecond)),
        "distance": visible.distance if visible else FAR,
    }


def _agreement(at: int, dates: Sequence[datetime], instants: Sequence[float]) -> Row:
    """How the other dates lie around one."""
    date, instant = dates[at], instants[at]
    clock = date.replace(tzinfo=None)
    return {
        "same_instant": sum(abs(instant - other) < 60 for other in instants) - 1,
        "same_clock": sum(clock == other.replace(tzinfo=None) for other in dates) - 1,
        "same_day": sum(date.date() == other.date() for other in dates) - 1,
        "earlier": sum(other < instant for other in instants),
        "later": sum(other > instant for other in instants),
    }


def _is_only(option: Option[datetime], place: Place) -> bool:
    return all(mention.place is place for mention in option.mentions)


def _instant(date: datetime) -> float:
    """Seconds since 1970; of a date without a zone, as if in UTC."""
    return date.timestamp() if date.tzinfo else (date - datetime(1970, 1, 1)).total_seconds()


def _hours(seconds: float) -> float:
    return min(max(seconds / 3600, -1000.0), 1000.0)


def topic_rows(view: View) -> list[Row]:
    """One row a topic, with what is told of the list that it stands in: lists are right or wrong as a whole.

    Not how long a list is: trees would know the pages they learnt from by it (F1 0.79 with it, 0.81 without).
    """
    options = view.found.topics
    keys = [folded(option.value) for option in options]
    in_title = [float(key in view.titles) for key in keys]
    in_text = [float(key in view.text) for key in keys]
    authors = {folded(option.value) for option in view.found.authors}
    lists = _by_list(options, in_title, in_text)
    return [
        {
            "in_title": in_title[at],
            "in_text": in_text[at],
            "is_author": float(keys[at] in authors),
            **_topic_row(option),
            **lists[option.mentions[0].place, option.mentions[0].statement],
            "in_site": float(keys[at] in view.site) if view.site else MISSING,
            "like_site": _like_site(keys[at], view.site),
        }
        for at, option in enumerate(options)
    ]


def _topic_row(option: Option[str]) -> Row:
    visible = option.at(Place.VISIBLE)
    return {
        **_positions(option, _TOPIC_PLACES),
        "places": len({mention.place for mention in option.mentions}),
        "mentions": len(option.mentions),
        "links": visible.links if visible else MISSING,
        "tag_hint": float(visible is not None and "tag" in visible.hint),
        "distance": visible.distance if visible else FAR,
        **_looks(option.value, option.value.split()),
        "underscore": float("_" in option.value),
    }


def _by_list(
    options: Sequence[Option[str]], in_title: Sequence[float], in_text: Sequence[float]
) -> dict[tuple[Place, int], Row]:
    """By list (its place and number), what is told of it as a whole."""
    members: dict[tuple[Place, int], list[int]] = {}
    for at, option in enumerate(options):
        members.setdefault((option.mentions[0].place, option.mentions[0].statement), []).append(at)
    return {
        key: {
            "list_in_title": float(np.mean([in_title[at] for at in ats])),
            "list_in_text": float(np.mean([in_text[at] for at in ats])),
            "list_words": float(np.mean([len(options[at].value.split()) for at in ats])),
        }
        for key, ats in members.items()
    }


_OPEN = frozenset(("true", "1", "free", "yes", "unlocked"))
_CLOSED = frozenset(("false", "0", "no", "locked", "paid", "premium"))


def access_rows(view: View) -> list[Row]:
    """One row a page: what it states about free access, and signs of a paywall."""
    stated = [(source, value.strip().lower()) for source, value in view.found.free_access]
    hints = [block.hint for block in view.page.blocks]
    return [
        {
            "json_ld_open": sum(source is Source.JSON_LD and value in _OPEN for source, value in stated),
            "json_ld_closed": sum(source is Source.JSON_LD and value in _CLOSED for source, value in stated),
            "meta_open": sum(source is Source.META and value in _OPEN for source, value in stated),
            "meta_closed": sum(source is Source.META and value in _CLOSED for source, value in stated),
            "meta_metered": sum(source is Source.META and value == "metered" for source, value in stated),
            "first_closed": float(bool(stated) and stated[0][1] in _CLOSED),
            "paywall_hints": sum("paywall" in hint or "premium" in hint for hint in hints),
            "subscribe_hints": sum("subscribe" in hint for hint in hints),
            "paragraphs": sum(block.tag == "p" and len(block.text) > 80 for block in view.page.blocks),
            "characters": sum(len(block.text) for block in view.page.blocks if block.tag == "p"),
        }
    ]


ROWS: dict[str, Callable[[View], list[Row]]] = {
    "title": title_rows,
    "authors": author_rows,
    "publishing_date": date_rows,
    "topics": topic_rows,
    "free_access": access_rows,
}
"""By field, what is told of each of its candidates, in their order."""


def _feature_names() -> dict[str, tuple[str, ...]]:
    """The features by field, asked of the rows of a page that has a candidate for each."""
    here = Mention(place=Place.JSON_LD)
    text, date = Option(value="x", mentions=(here,)), Option(value=datetime(2000, 1, 1), mentions=(here,))
    found = FieldCandidates(
        title=(text,), authors=(text,), publishing_date=(date,), topics=(text,), free_access=(), headline=0
    )
    view = View(Page(language=None, metadata=Metadata(), blocks=()), found)
    return {name: tuple(rows(view)[0]) for name, rows in ROWS.items()}


FEATURES = _feature_names()
"""The names of each field's features, in their order."""


def matrix(rows: Sequence[Row], features: int | None = None) -> Matrix:
    """The rows as numbers, (rows, features); every row of a field has the same features in the same order."""
    values = [list(row.values()) for row in rows]
    return np.array(values, dtype=np.float64).reshape(len(rows), features or -1)
