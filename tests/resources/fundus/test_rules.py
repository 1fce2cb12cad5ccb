"""Rules: when their versions change, and what becomes of a page that a rule fails on."""
# ruff: noqa: TID253 (Fundus is what is tested with)

import datetime
import importlib
import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from fundus.parser import BaseParser, ParserProxy, attribute
from fundus.publishers.base_objects import Publisher, PublisherGroup
from fundus.scraping.url import RSSFeed

from ml.records import RawPage, Reason
from resources.demo.newsroom import articles
from resources.demo.pages import reply
from resources.fundus.catalogue import Catalogue, demo_catalogue, fundus_catalogue
from resources.fundus.definitions import digest_of
from resources.fundus.extraction import extract, extract_pages
from resources.fundus.rules import rules_version, sources_version

TEMPLATE = '''
"""A template that several newspapers may share."""
from fundus.parser import BaseParser, ParserProxy, attribute
from lxml.cssselect import CSSSelector

class TemplateParser(ParserProxy):
    class V1(BaseParser):
        _headline = CSSSelector("h1.headline")  # on every page

        @attribute
        def title(self) -> str | None:
            """The headline as it is printed."""
            return next((node.text_content() for node in self._headline(self.precomputed.doc)), None)
'''
PARSER = """
from datetime import date
from .template import TemplateParser

class TownParser(TemplateParser):
    class V1(TemplateParser.V1):
        pass
"""
PUBLISHERS = """
from fundus.publishers.base_objects import Publisher, PublisherGroup
from fundus.scraping.url import RSSFeed
from .parser import TownParser

class XX(metaclass=PublisherGroup):
    default_language = "en"

    Town = Publisher(
        name="The Town",
        domain="http://town.example",
        parser=TownParser,
        sources=[RSSFeed("http://town.example/rss.xml")],  # its only feed
    )
"""

Declare = Callable[..., Catalogue]


@pytest.fixture
def declare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Declare:
    """Makes a publisher from the text of its modules; every call is a release, a package of its own."""
    releases = itertools.count()
    monkeypatch.syspath_prepend(tmp_path)

    def declared(
        template: str = TEMPLATE, parser: str = PARSER, publishers: str = PUBLISHERS, **others: str
    ) -> Catalogue:
        # A process reads the source of a module once, so no other test has a package of this name.
        package = f"{tmp_path.name}_{next(releases)}"
        (tmp_path / package).mkdir()
        modules = {"template": template, "parser": parser, "publishers": publishers, **others}
        for name, text in modules.items():
            (tmp_path / package / f"{name}.py").write_text(text)
        return Catalogue(importlib.import_module(f"{package}.publishers").XX)

    return declared


# --- versions


@pytest.mark.parametrize("catalogue", [fundus_catalogue, demo_catalogue], ids=["fundus", "demo"])
def test_every_publisher_has_a_version_of_its_rules_and_of_its_sources(catalogue) -> None:
    known = catalogue()
    rules = {key: rules_version(known, key) for key in known}
    sources = {key: sources_version(known, key) for key in known}
    for version in (*rules.values(), *sources.values()):
        assert len(version) == 16
        int(version, 16)
    assert len({(rules[key], known.family(key)) for key in known}) == len(set(rules.values())), (
        "only publishers of one family can have the same rules"
    )
    assert len(set(sources.values())) == len(known)
    assert rules == {key: rules_version(known, key) for key in known}


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("template", "  # on every page", "  # on nearly every page"),
        ("template", '"""The headline as it is printed."""', '"""What the editors wrote above it."""'),
        ("template", '"""A template that several newspapers may share."""', ""),
        ("template", "next((node", "next(\n                (node"),
        ("parser", "class TownParser", "# One of many.\nclass TownParser"),
        ("parser", "        pass", '        """As the template."""\n        pass'),
        ("publishers", "  # its only feed", ""),
        ("publishers", '"http://town.example"', "'http://town.example'"),
    ],
)
def test_what_only_readers_see_changes_no_version(declare: Declare, part: str, old: str, new: str) -> None:
    before, after = declare(), declare(**{part: changed(part, old, new)})
    assert rules_version(before, "Town") == rules_version(after, "Town")
    assert sources_version(before, "Town") == sources_version(after, "Town")


@pytest.mark.parametrize(
    ("part", "old", "new"),
    [
        ("template", "h1.headline", "h1.title"),
        ("template", "node.text_content()", "node.text"),
        ("parser", "        pass", "        title = None"),
        ("parser", "        pass", "        VALID_UNTIL = date(2030, 1, 1)"),
    ],
)
def test_a_changed_rule_changes_its_version_alone(declare: Declare, part: str, old: str, new: str) -> None:
    before, after = declare(), declare(**{part: changed(part, old, new)})
    assert rules_version(before, "Town") != rules_version(after, "Town")
    assert sources_version(before, "Town") == sources_version(after, "Town")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/rss.xml", "/feed.xml"),
        ('"http://town.example"', '"https://town.example"'),
        ("sources=", "url_filter=None, sources="),
        ("sources=", "deprecated=True, sources="),
    ],
)
def test_a_changed_declaration_changes_the_version_of_the_sources_alone(
    declare: Declare, old: str, new: str
) -> None:
    before, after = declare(), declare(publishers=changed("publishers", old, new))
    assert rules_version(before, "Town") == rules_version(after, "Town")
    assert sources_version(before, "Town") != sources_version(after, "Town")


def test_another_publisher_of_the_country_changes_no_version_of_the_first(declare: Declare) -> None:
    village = (
        '\n    Village = Publisher(name="The Village", domain="http://village.example", parser=TownParser,'
        ' sources=[RSSFeed("http://village.example/rss.xml")])\n'
    )
    before, after = declare(), declare(publishers=PUBLISHERS + village)
    assert list(after) == ["Town", "Village"]
    for version in (rules_version, sources_version):
        assert version(before, "Town") == version(after, "Town")
    assert sources_version(after, "Town") != sources_version(after, "Village")


HELPERS = """
import re
from . import layout

MARKS = re.compile(r"[*+]")

def without_marks(text):
    return MARKS.sub("", text)

def first(texts):
    return next(iter(texts), None)

def column(doc):
    return layout.column(doc)
"""
USER = """
from fundus.parser import BaseParser, ParserProxy, attribute
from .helpers import column, without_marks as plain

class TownParser(ParserProxy):
    class V1(BaseParser):
        @attribute
        def title(self) -> str | None:
            return plain(column(self.precomputed.doc).text_content())
"""
LAYOUT = "def column(doc):\n    return doc[0]"


@pytest.mark.parametrize(
    ("part", "old", "new", "is_other"),
    [
        ("helpers", 'MARKS.sub("", text)', 'MARKS.sub(" ", text)', True),  # called by another name
        ("helpers", "[*+]", "[*]", True),  # used by what is called
        ("layout", "doc[0]", "doc[1]", True),  # of a module that was imported as a whole
        ("helpers", "next(iter(texts), None)", "max(texts)", False),
        ("helpers", "import re\n", "import re\nimport json\n", False),
    ],
)
def test_a_changed_helper_changes_those_that_use_it(
    declare: Declare, part: str, old: str, new: str, is_other: bool
) -> None:
    texts = {"helpers": HELPERS, "layout": LAYOUT}
    assert old in texts[part]
    before = declare(parser=USER, **texts)
    after = declare(parser=USER, **{**texts, part: texts[part].replace(old, new)})
    assert (rules_version(before, "Town") != rules_version(after, "Town")) is is_other


def test_a_helper_of_fundus_is_part_of_the_rules_of_those_that_use_it() -> None:
    def version(definition: str) -> str:
        return digest_of([("fundus.parser.utility", definition)], packages=frozenset({"fundus"}))

    assert version("generic_date_parsing") != version("generic_author_parsing")
    with pytest.raises(LookupError, match=r"fundus\.parser\.utility was expected to define 'gone'"):
        version("gone")


def test_a_declaration_that_is_laid_out_differently_is_an_error_that_says_so(declare: Declare) -> None:
    catalogue = declare(publishers=changed("publishers", "Town = Publisher(", "Town: Publisher = Publisher("))
    with pytest.raises(RuntimeError, match=r"'Town' was expected in \S+ as `Town = Publisher"):
        sources_version(catalogue, "Town")


def changed(part: str, old: str, new: str) -> str:
    text = {"template": TEMPLATE, "parser": PARSER, "publishers": PUBLISHERS}[part]
    assert old in text
    return text.replace(old, new, 1)


# --- extraction


def town(parser: type[ParserProxy]) -> Catalogue:
    publisher = Publisher(
        name="The Town",
        domain="http://town.example",
        parser=parser,
        sources=[RSSFeed("http://town.example/rss")],
    )
    return Catalogue(PublisherGroup("XX", (), {"default_language": "en", "Town": publisher}))


class TownParser(ParserProxy):
    class V1(BaseParser):
        VALID_UNTIL = datetime.date(2024, 6, 30)

        @attribute
        def title(self) -> str | None:
            return self.precomputed.doc.xpath("string(//h1)")

        @attribute
        def authors(self) -> list[str]:
            return [self.precomputed.doc.xpath("//address")[0].text]

        @attribute(validate=False)
        def mood(self) -> str | None:
            raise ArithmeticError("no field of an article")


PAGE = "<html><body><h1>A \n bridge&nbsp;opens </h1><address>Ann Ames</address></body></html>"


def stored(html: str = PAGE, *, publisher: str = "Town", year: int = 2024, page_id: str = "1") -> RawPage:
    return RawPage(
        page_id=page_id,
        url=f"http://town.example/{page_id}",
        final_url=f"http://town.example/{page_id}",
        publisher=publisher,
        crawl_date=datetime.datetime(year, 5, 1, tzinfo=datetime.UTC),
        source="web",
        origin="feed",
        fundus_version="0.5.7",
        html=html,
        html_sha256="0" * 64,
    )


def test_a_page_becomes_an_article_with_normal_spaces() -> None:
    extraction = extract(town(TownParser), stored())
    assert extraction.reason is None
    assert extraction.article is not None
    assert (extraction.article.title, extraction.article.authors) == ("A bridge opens", ("Ann Ames",))


def test_a_page_is_read_by_the_rules_of_its_day() -> None:
    story = articles("Morgenblatt")[0]
    html = reply(story.url).body.decode()
    catalogue = demo_catalogue()
    now = extract(catalogue, stored(html, publisher="Morgenblatt", year=2026)).article
    before_the_relaunch = extract(catalogue, stored(html, publisher="Morgenblatt", year=2025)).article
    assert now is not None
    assert now == story.article
    assert before_the_relaunch is not None
    assert before_the_relaunch.plaintext == ""


def test_no_rules_for_the_day_is_a_reason() -> None:
    extraction = extract(town(TownParser), stored(year=2025))
    assert extraction.article is None
    assert extraction.reason is Reason.PARSER_MISSING
    assert "2025-05-01" in (extraction.detail or "")


def test_a_failing_field_is_a_reason_that_names_it_and_other_attributes_do_not_count() -> None:
    extraction = extract(town(TownParser), stored("<html><body><h1>No byline</h1></body></html>"))
    assert extraction.article is None
    assert extraction.reason is Reason.EXTRACTION_FAILED
    assert extraction.detail == "authors: IndexError('list index out of range')"


@pytest.mark.parametrize("html", ["", " \n ", "<!-- nothing -->"])
def test_an_empty_document_is_a_reason(html: str) -> None:
    extraction = extract(town(TownParser), stored(html))
    assert extraction.article is None
    assert extraction.reason is Reason.EXTRACTION_FAILED
    assert extraction.detail


@pytest.mark.parametrize("key", list(demo_catalogue()))
@pytest.mark.parametrize(
    "html",
    [
        "",
        "\x00" * 50,
        "<html><head><title>x</title></head></html>",
        '<script type="application/ld+json">{"@graph": [null, 5, {"@type": ["x", null]}]}</script><p>x</p>',
        '<script type="application/ld+json">{"headline": </script><p>x</p>',
        f"<body>{'<div>' * 5_000}<p>x</p></body>",
    ],
    ids=["empty", "nul", "no body", "odd data", "broken data", "deep"],
)
def test_a_bad_page_never_stops_a_publisher(key: str, html: str) -> None:
    extraction = extract(demo_catalogue(), stored(html, publisher=key, year=2026))
    assert (extraction.article is None) == (extraction.reason is not None)


def test_every_stored_page_is_a_row_oldest_first_and_once() -> None:
    catalogue = town(TownParser)
    pages = [
        stored(year=2025, page_id="late"),
        stored("", page_id="empty", year=2023),
        stored(page_id="good"),
        stored(page_id="good"),
    ]
    rows = extract_pages(catalogue, "Town", pages)
    assert [(row.page_id, row.reason) for row in rows] == [
        ("empty", Reason.EMPTY_PAGE),
        ("good", Reason.EMPTY_TEXT),
        ("late", Reason.PARSER_MISSING),
    ]
    assert {(row.family, row.rules_version) for row in rows} == {("Town", rules_version(catalogue, "Town"))}
