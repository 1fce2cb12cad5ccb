"""The fictional publishers: their names, layouts and habits, good and bad.

Belongs here: facts that the newsroom prints by. Does not belong here: what Fundus knows about a publisher
(`publishers.py` and `parsers/`), or any text (`content.py`).
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from resources.demo.content import Genre, Phrases, phrases

CLOSED_PATH = "/intern/redaktion.html"
"""Closed by every robots.txt; a careless site lists it in its sitemap all the same."""


class Fault(StrEnum):
    """What is wrong with a page that a site links nevertheless."""

    EMPTY = "empty"
    WRONG_CHARSET = "wrong_charset"
    NUL_BYTES = "nul_bytes"
    NOT_FOUND = "not_found"
    SERVER_ERROR = "server_error"
    TRUNCATED = "truncated"
    NO_TEXT = "no_text"
    DUPLICATE = "duplicate"  # the bytes of another article under a second URL


class Robots(StrEnum):
    """What a robots.txt says besides closing `/intern/`."""

    OPEN = ""
    CLOSED = "closed"
    SLOW = "slow"  # Crawl-delay
    NO_TRAINING = "no_training"


@dataclass(frozen=True, kw_only=True)
class Site:
    """One news site."""

    key: str  # Fundus' name of the publisher
    name: str
    host: str
    language: str  # ISO 639-1
    layout: str  # a template in `templates/`
    accent: str
    slogan: str
    utc_offset_h: float
    summer_time: bool = False
    former_layout: str | None = None  # before a relaunch; kept for stored old pages
    genre: Genre = Genre.REPORT
    has_summary: bool = True
    has_time_zone: bool = True  # whether the page tells the zone of its dates
    paywall_every: int = 0  # every n-th article is for subscribers; 0 for none
    charset: str = "utf-8"
    robots: Robots = Robots.OPEN
    faults: tuple[Fault, ...] = ()
    has_moved_article: bool = False  # its newest article is linked by an old URL that redirects
    lists_closed_path: bool = False

    @property
    def root(self) -> str:
        """The URL of the site, without a slash at the end."""
        return f"http://{self.host}"

    @cached_property
    def words(self) -> Phrases:
        """The language of the site."""
        return phrases(self.language)


SITES: tuple[Site, ...] = (
    Site(
        key="Morgenblatt", name="Morgenblatt", host="www.morgenblatt.example", language="de",
        layout="semantic", former_layout="breaks", accent="#8c1c13", slogan="Zeitung für das Quirltal",
        utc_offset_h=1, summer_time=True, paywall_every=4,
        faults=(Fault.NOT_FOUND,), has_moved_article=True,
    ),
    Site(
        key="Talkurier", name="Talkurier", host="www.talkurier.example", language="de",
        layout="divs", accent="#0b5c7a", slogan="Nachrichten aus den Tälern", utc_offset_h=1, summer_time=True,
        faults=(Fault.WRONG_CHARSET, Fault.DUPLICATE), lists_closed_path=True,
    ),
    Site(
        key="Kuestenbote", name="Küstenbote", host="www.kuestenbote.example", language="de",
        layout="ticker", genre=Genre.TICKER, accent="#14505c", slogan="Minute für Minute",
        utc_offset_h=1, summer_time=True, faults=(Fault.NO_TEXT,),
    ),
    Site(
        key="HarbourGazette", name="Harbour Gazette", host="www.harbourgazette.example", language="en",
        layout="northline", accent="#1d3f72", slogan="A Northline newspaper",
        utc_offset_h=0, summer_time=True, paywall_every=3, faults=(Fault.SERVER_ERROR,),
    ),
    Site(
        key="FenwickEcho", name="Fenwick Echo", host="www.fenwickecho.example", language="en",
        layout="northline", accent="#5a2a6e", slogan="A Northline newspaper",
        utc_offset_h=0, summer_time=True, paywall_every=5,
    ),
    Site(
        key="BrackwaterPost", name="The Brackwater Post", host="www.brackwaterpost.example", language="en",
        layout="hydration", accent="#00695c", slogan="News at the turn of the tide",
        utc_offset_h=0, summer_time=True, faults=(Fault.TRUNCATED,),
    ),
    Site(
        key="QuietValleyReview", name="Quiet Valley Review", host="www.quietvalley.example", language="en",
        layout="semantic", accent="#4e5d3a", slogan="For members only", utc_offset_h=0, summer_time=True,
        robots=Robots.CLOSED,
    ),
    Site(
        key="GazetteDesMonts", name="La Gazette des Monts", host="www.gazettedesmonts.example", language="fr",
        layout="microdata", accent="#b3541e", slogan="Le quotidien des hautes vallées",
        utc_offset_h=1, summer_time=True, faults=(Fault.EMPTY,),
    ),
    Site(
        key="PhareLibre", name="Le Phare Libre", host="m.pharelibre.example", language="fr",
        layout="amp", accent="#20418f", slogan="L’actualité du littoral", utc_offset_h=1, summer_time=True,
        has_summary=False, robots=Robots.SLOW,
    ),
    Site(
        key="CorreoDelValle", name="El Correo del Valle", host="www.correodelvalle.example", language="es",
        layout="breaks", accent="#7a1f3d", slogan="Diario independiente de la comarca",
        utc_offset_h=1, summer_time=True, faults=(Fault.NUL_BYTES,),
    ),
    Site(
        key="GlosDoliny", name="Głos Doliny", host="www.glosdoliny.example", language="pl",
        layout="tables", accent="#003399", slogan="Portal Doliny Wartki, w sieci od 2003 roku",
        utc_offset_h=1, summer_time=True, has_summary=False, has_time_zone=False, charset="windows-1250",
    ),
    Site(
        key="ShiomiShimpo", name="潮見新報", host="www.shiomishimpo.example", language="ja",
        layout="photo", genre=Genre.PHOTO_STORY, accent="#b0272f", slogan="写真で伝える港町の毎日",
        utc_offset_h=9, has_summary=False,
    ),
    Site(
        key="SadaAlWadi", name="صدى الوادي", host="www.sadaalwadi.example", language="ar",
        layout="blocks", accent="#1b6e4a", slogan="أخبار الوادي وما حوله", utc_offset_h=3,
    ),
    Site(
        key="NadiSamachar", name="नदी समाचार", host="www.nadisamachar.example", language="hi",
        layout="portal", accent="#c4570a", slogan="घाटी की हर खबर", utc_offset_h=5.5,
        robots=Robots.NO_TRAINING,
    ),
)  # fmt: skip


def site(name: str) -> Site:
    """The site with this name or key; raises `ValueError` naming all keys where there is none."""
    for one in SITES:
        if name in (one.key, one.name):
            return one
    raise ValueError(f"unknown demo publisher {name!r}; there are {', '.join(one.key for one in SITES)}")
