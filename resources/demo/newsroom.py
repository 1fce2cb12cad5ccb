"""The editors: which articles every site prints, as exact ground truth.

Belongs here: stories, their dates, bylines and URLs, agency copy, pages that go wrong on purpose.
Does not belong here: how a page looks (`layouts.py`) or travels (`pages.py`, `server.py`).
"""

import re
import unicodedata
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from functools import cache
from itertools import count
from random import Random

from ml.article import Article, Body, Section
from resources.demo.content import Block, Draft, Kind, write_draft
from resources.demo.sites import Fault, Site, site

ARTICLES_PER_SITE = 25

_FIRST_DAY = datetime(2025, 4, 2, 6, 0)
_DAYS_APART = 13
_WIRE = {6: 0, 14: 1}  # article number to number of the agency story, in languages with several sites
_WIRE_LANGUAGES = ("de", "en")
_ASCII = str.maketrans({"ß": "ss", "ł": "l", "ä": "ae", "ö": "oe", "ü": "ue", "’": "-"})


@dataclass(frozen=True, kw_only=True)
class Story:
    """An article as its editors wrote it, and the furniture that surrounds it on the page."""

    url: str
    article: Article
    section: str
    town: str
    surname: str
    blocks: tuple[Block, ...]
    pull_quote: str  # repeats a sentence of the text
    captions: tuple[str, ...]
    comments: tuple[tuple[str, str], ...]  # name and text
    has_correction: bool
    from_wire: bool  # agency copy that other sites print word for word

    @property
    def path(self) -> str:
        """The URL without scheme and host."""
        return "/" + self.url.split("/", 3)[3]

    @property
    def local_time(self) -> datetime:
        """The date as a reader sees it; every story has one."""
        if self.article.publishing_date is None:
            raise RuntimeError(f"the story {self.url} has no date; the newsroom dates every story")
        return self.article.publishing_date


@dataclass(frozen=True)
class FaultyPage:
    """A page that a site links and that goes wrong on purpose; not part of `articles`."""

    url: str
    fault: Fault


def articles(publisher_name: str) -> tuple[Story, ...]:
    """Everything a site has published, newest first: `url` and the exact `article` of each story.

    Takes the key or the name of a demo publisher.
    """
    return _stories(site(publisher_name))


def faulty_pages(publisher_name: str) -> tuple[FaultyPage, ...]:
    """The pages of a site that go wrong on purpose."""
    one = site(publisher_name)
    return tuple(FaultyPage(f"{one.root}/archiv/{fault}.html", fault) for fault in one.faults)


@cache
def spare_story(one: Site) -> Story:
    """A story outside the gold, for faulty pages to be made from."""
    return _story(one, ARTICLES_PER_SITE, _draft(one, ARTICLES_PER_SITE, 0))


@cache
def _stories(one: Site) -> tuple[Story, ...]:
    stories: list[Story] = []
    titles: set[str] = set()
    for number in range(ARTICLES_PER_SITE):
        drafts = (_draft(one, number, attempt) for attempt in count())
        draft = next(draft for draft in drafts if draft.titles[0] not in titles)
        titles.add(draft.titles[0])
        stories.append(_story(one, number, draft))
    return tuple(reversed(stories))


def _draft(one: Site, number: int, attempt: int) -> Draft:
    if number in _WIRE and one.language in _WIRE_LANGUAGES:
        draft = write_draft(one.language, f"wire {one.language} {_WIRE[number]}")
        turn = (len(one.key) + attempt) % len(draft.titles)
        return replace(draft, titles=draft.titles[turn:] + draft.titles[:turn])
    return write_draft(one.language, f"{one.key} {number} {attempt}", one.genre)


def _story(one: Site, number: int, draft: Draft) -> Story:
    rng = Random(f"{one.key} page {number}")
    from_wire = number in _WIRE and one.language in _WIRE_LANGUAGES
    article = Article(
        title=draft.titles[0],
        authors=_byline(one, rng, from_wire),
        publishing_date=_date(one, rng, number),
        topics=draft.topics,
        free_access=not (one.paywall_every and number % one.paywall_every == 1),
        body=Body(summary=(draft.summary,) if one.has_summary else (), sections=_sections(draft.blocks)),
    )
    return Story(
        url=f"{one.root}/{draft.subject.path}/{_slug(1040 + 7 * number, draft.titles[0])}.html",
        article=article,
        section=draft.subject.section,
        town=draft.town,
        surname=draft.surname,
        blocks=draft.blocks,
        pull_quote=rng.choice(draft.sentences()),
        captions=draft.captions,
        comments=draft.comments[: rng.randint(1, 3)],
        has_correction=rng.random() < 0.2,
        from_wire=from_wire,
    )


def _byline(one: Site, rng: Random, from_wire: bool) -> tuple[str, ...]:
    reporters = rng.sample(one.words.authors, rng.choice((1, 1, 1, 2)))
    if from_wire:
        return (one.words.agency,) if rng.random() < 0.5 else (reporters[0], one.words.agency)
    return tuple(reporters)


def _date(one: Site, rng: Random, number: int) -> datetime:
    local = _FIRST_DAY + timedelta(days=number * _DAYS_APART, minutes=rng.randrange(15 * 60))
    if not one.has_time_zone:
        return local
    # Simplified: all summer times begin and end with those of Europe in 2025.
    is_summer = one.summer_time and (3, 30) <= (local.month, local.day) < (10, 26)
    return local.replace(tzinfo=timezone(timedelta(hours=one.utc_offset_h + is_summer)))


def _sections(blocks: tuple[Block, ...]) -> tuple[Section, ...]:
    return tuple(
        Section(
            headline=(headline,) if headline else (),
            paragraphs=tuple(line for block in parts for line in block.lines),
        )
        for headline, parts in chapters(blocks)
    )


def chapters(blocks: tuple[Block, ...]) -> list[tuple[str | None, list[Block]]]:
    """Blocks grouped under their headlines; what comes before the first one has none."""
    grouped: list[tuple[str | None, list[Block]]] = []
    for block in blocks:
        if block.kind is Kind.HEADLINE:
            grouped.append((block.lines[0], []))
        elif grouped:
            grouped[-1][1].append(block)
        else:
            grouped.append((None, [block]))
    return grouped


def _slug(number: int, title: str) -> str:
    plain = unicodedata.normalize("NFKD", title.lower().translate(_ASCII)).encode("ascii", "ignore").decode()
    words = re.findall(r"[a-z]+", plain)[:6]
    return "-".join([str(number), *words])
