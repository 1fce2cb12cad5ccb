"""صدى الوادي: an Arabic site made with a block editor."""
# Parser classes are Fundus classes; only `publishers.py` imports them, and that is imported lazily.
# ruff: noqa: TID253
# mypy: allow-untyped-calls

import datetime

from fundus.parser import ArticleBody, BaseParser, ParserProxy, attribute
from fundus.parser.utility import (
    extract_article_body_with_selector,
    generic_author_parsing,
    generic_date_parsing,
    generic_topic_parsing,
)
from lxml.cssselect import CSSSelector
from lxml.etree import XPath


class SadaAlWadiParser(ParserProxy):
    class V1(BaseParser):
        _paragraph_selector = XPath(
            "//div[@class='entry-content']/p[not(@class)]"
            " | //ul[@class='wp-block-list']/li | //blockquote[@class='wp-block-quote']/p"
        )
        _summary_selector = CSSSelector("div.wp-block-excerpt")
        _subheadline_selector = CSSSelector("h2.wp-block-heading")

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
            title: str | None = self.precomputed.ld.bf_search("headline")
            return title

        @attribute
        def authors(self) -> list[str]:
            return generic_author_parsing(self.precomputed.ld.bf_search("author"))

        @attribute
        def publishing_date(self) -> datetime.datetime | None:
            return generic_date_parsing(self.precomputed.ld.bf_search("datePublished"))

        @attribute
        def topics(self) -> list[str]:
            return generic_topic_parsing(self.precomputed.ld.bf_search("keywords"))
