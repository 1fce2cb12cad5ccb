"""Głos Doliny: tables of 2003, no metadata, and dates without a zone."""
# Parser classes are Fundus classes; only `publishers.py` imports them, and that is imported lazily.
# ruff: noqa: TID253
# mypy: allow-untyped-calls

import datetime

from fundus.parser import ArticleBody, BaseParser, ParserProxy, attribute
from fundus.parser.utility import (
    extract_article_body_with_selector,
    generic_author_parsing,
    generic_nodes_to_text,
)
from lxml.cssselect import CSSSelector


class GlosDolinyParser(ParserProxy):
    class V1(BaseParser):
        _paragraph_selector = CSSSelector("td.tresc > p.tekst")
        _subheadline_selector = CSSSelector("td.tresc > p.srodtytul")
        _title_selector = CSSSelector("td.tytul")
        _byline_selector = CSSSelector("font.autor")
        _date_selector = CSSSelector("font.data")
        _topic_selector = CSSSelector("a.tag")

        @attribute
        def body(self) -> ArticleBody | None:
            return extract_article_body_with_selector(
                self.precomputed.doc,
                paragraph_selector=self._paragraph_selector,
                subheadline_selector=self._subheadline_selector,
            )

        @attribute
        def title(self) -> str | None:
            return next(
                iter(generic_nodes_to_text(self._title_selector(self.precomputed.doc), normalize=True)), None
            )

        @attribute
        def authors(self) -> list[str]:
            byline = "".join(
                generic_nodes_to_text(self._byline_selector(self.precomputed.doc), normalize=True)
            )
            return generic_author_parsing(byline.removeprefix("Autor: "))

        @attribute
        def publishing_date(self) -> datetime.datetime | None:
            printed = "".join(
                generic_nodes_to_text(self._date_selector(self.precomputed.doc), normalize=True)
            )
            return datetime.datetime.strptime(printed, "%d.%m.%Y %H:%M") if printed else None

        @attribute
        def topics(self) -> list[str]:
            return generic_nodes_to_text(self._topic_selector(self.precomputed.doc), normalize=True)
