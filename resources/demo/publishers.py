"""The demo's publishers as Fundus sees them: parsers and sources, grouped by country like Fundus' own.

Belongs here: what Fundus needs to crawl the newsroom. Does not belong here: how the sites are printed
(`sites.py`, `newsroom.py`). Importing it generates nothing.
"""
# Only the catalogue of `resources/fundus` imports this module, inside a function.
# ruff: noqa: TID253

from fundus.publishers.base_objects import Publisher, PublisherGroup
from fundus.scraping.url import NewsMap, RSSFeed, Sitemap

from resources.demo.parsers.brackwater_post import BrackwaterPostParser
from resources.demo.parsers.correo_del_valle import CorreoDelValleParser
from resources.demo.parsers.fenwick_echo import FenwickEchoParser
from resources.demo.parsers.gazette_des_monts import GazetteDesMontsParser
from resources.demo.parsers.glos_doliny import GlosDolinyParser
from resources.demo.parsers.harbour_gazette import HarbourGazetteParser
from resources.demo.parsers.kuestenbote import KuestenboteParser
from resources.demo.parsers.morgenblatt import MorgenblattParser
from resources.demo.parsers.nadi_samachar import NadiSamacharParser
from resources.demo.parsers.phare_libre import PhareLibreParser
from resources.demo.parsers.quiet_valley_review import QuietValleyReviewParser
from resources.demo.parsers.sada_al_wadi import SadaAlWadiParser
from resources.demo.parsers.shiomi_shimpo import ShiomiShimpoParser
from resources.demo.parsers.talkurier import TalkurierParser


class DE(metaclass=PublisherGroup):
    default_language = "de"

    Morgenblatt = Publisher(
        name="Morgenblatt",
        domain="http://www.morgenblatt.example",
        parser=MorgenblattParser,
        sources=[
            RSSFeed("http://www.morgenblatt.example/rss.xml"),
            Sitemap("http://www.morgenblatt.example/sitemap.xml"),
        ],
    )

    Talkurier = Publisher(
        name="Talkurier",
        domain="http://www.talkurier.example",
        parser=TalkurierParser,
        sources=[Sitemap("http://www.talkurier.example/sitemap.xml")],
    )

    Kuestenbote = Publisher(
        name="Küstenbote",
        domain="http://www.kuestenbote.example",
        parser=KuestenboteParser,
        sources=[NewsMap("http://www.kuestenbote.example/news-sitemap.xml")],
    )


class UK(metaclass=PublisherGroup):
    default_language = "en"

    HarbourGazette = Publisher(
        name="Harbour Gazette",
        domain="http://www.harbourgazette.example",
        parser=HarbourGazetteParser,
        sources=[RSSFeed("http://www.harbourgazette.example/rss/all.xml")],
    )

    FenwickEcho = Publisher(
        name="Fenwick Echo",
        domain="http://www.fenwickecho.example",
        parser=FenwickEchoParser,
        sources=[Sitemap("http://www.fenwickecho.example/sitemap.xml")],
    )

    BrackwaterPost = Publisher(
        name="The Brackwater Post",
        domain="http://www.brackwaterpost.example",
        parser=BrackwaterPostParser,
        sources=[NewsMap("http://www.brackwaterpost.example/news-sitemap.xml")],
    )

    QuietValleyReview = Publisher(
        name="Quiet Valley Review",
        domain="http://www.quietvalley.example",
        parser=QuietValleyReviewParser,
        sources=[Sitemap("http://www.quietvalley.example/sitemap.xml")],
    )


class FR(metaclass=PublisherGroup):
    default_language = "fr"

    GazetteDesMonts = Publisher(
        name="La Gazette des Monts",
        domain="http://www.gazettedesmonts.example",
        parser=GazetteDesMontsParser,
        sources=[RSSFeed("http://www.gazettedesmonts.example/rss/all.xml")],
    )

    PhareLibre = Publisher(
        name="Le Phare Libre",
        domain="http://m.pharelibre.example",
        parser=PhareLibreParser,
        sources=[Sitemap("http://m.pharelibre.example/sitemap.xml.gz")],
    )


class ES(metaclass=PublisherGroup):
    default_language = "es"

    CorreoDelValle = Publisher(
        name="El Correo del Valle",
        domain="http://www.correodelvalle.example",
        parser=CorreoDelValleParser,
        sources=[Sitemap("http://www.correodelvalle.example/sitemap.xml")],
    )


class PL(metaclass=PublisherGroup):
    default_language = "pl"

    GlosDoliny = Publisher(
        name="Głos Doliny",
        domain="http://www.glosdoliny.example",
        parser=GlosDolinyParser,
        sources=[RSSFeed("http://www.glosdoliny.example/rss/all.xml")],
    )


class JP(metaclass=PublisherGroup):
    default_language = "ja"

    ShiomiShimpo = Publisher(
        name="潮見新報",
        domain="http://www.shiomishimpo.example",
        parser=ShiomiShimpoParser,
        sources=[NewsMap("http://www.shiomishimpo.example/news-sitemap.xml")],
    )


class JO(metaclass=PublisherGroup):
    default_language = "ar"

    SadaAlWadi = Publisher(
        name="صدى الوادي",
        domain="http://www.sadaalwadi.example",
        parser=SadaAlWadiParser,
        sources=[Sitemap("http://www.sadaalwadi.example/sitemap.xml")],
    )


class IND(metaclass=PublisherGroup):
    default_language = "hi"

    NadiSamachar = Publisher(
        name="नदी समाचार",
        domain="http://www.nadisamachar.example",
        parser=NadiSamacharParser,
        sources=[RSSFeed("http://www.nadisamachar.example/rss/all.xml")],
        disallows_training=True,
    )


class DemoPublishers(metaclass=PublisherGroup):
    """All fictional publishers, by country."""

    de = DE
    uk = UK
    fr = FR
    es = ES
    pl = PL
    jp = JP
    jo = JO
    ind = IND
