"""Talkurier: a soup of divs, nothing in JSON-LD."""
# Parser classes are Fundus classes; only `publishers.py` imports them, and that is imported lazily.
# ruff: noqa: TID253
# mypy: allow-untyped-calls

import datetime

from fundus.parser import ArticleBody, BaseParser, ParserProxy, attribute
from fundus.parser.utility import (
    extract_article_body_with_selector,
    generic_author_parsing,
    generic_date_parsing,
    generic_nodes_to_text,
)
from lxml.cssselect import CSSSelector


class TalkurierParser(ParserProxy):
    class V1(BaseParser):
        _paragraph_selector = CSSSelector("div.adtext, div.adtext-list > div")
        _summary_selector = CSSSelector("div.lead-in")
        _subheadline_selector = CSSSelector("div.subheadrow")
        _title_selector = CSSSelector("div.headline-shade")
        _byline_selector = CSSSelector("div.byline-header")
        _topic_selector = CSSSelector("div.adtags > a")

        @attribute
        def body(self) -> ArticleBody | None:
            return extract_article_body_with_selector(
                self.precomputed.doc,
                paragraph_selector=self._paragraph_selector,
                summary_selector=self._summary_selector,
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
            return generic_author_parsing(byline.removeprefix("Von "))

        @attribute
        def publishing_date(self) -> datetime.datetime | None:
            return generic_date_parsing(self.precomputed.meta.get("date"))

        @attribute
        def topics(self) -> list[str]:
            return generic_nodes_to_text(self._topic_selector(self.precomputed.doc), normalize=True)
