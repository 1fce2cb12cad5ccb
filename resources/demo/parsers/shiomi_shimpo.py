"""潮見新報: photo stories, told in long captions."""
# Parser classes are Fundus classes; only `publishers.py` imports them, and that is imported lazily.
# ruff: noqa: TID253
# mypy: allow-untyped-calls

import datetime

from fundus.parser import ArticleBody, BaseParser, ParserProxy, attribute
from fundus.parser.utility import (
    extract_article_body_with_selector,
    generic_date_parsing,
    generic_nodes_to_text,
    generic_topic_parsing,
)
from lxml.cssselect import CSSSelector
from lxml.etree import XPath


class ShiomiShimpoParser(ParserProxy):
    class V1(BaseParser):
        _paragraph_selector = CSSSelector("div.frames > p, ul.notes > li, div.caption-text")
        _subheadline_selector = CSSSelector("h2.scene")
        _credit_filter = XPath("self::span[@class='credit']")
        _writer_selector = CSSSelector("p.staff > span.writer")

        @attribute
        def body(self) -> ArticleBody | None:
            return extract_article_body_with_selector(
                self.precomputed.doc,
                paragraph_selector=self._paragraph_selector,
                subheadline_selector=self._subheadline_selector,
                tag_filter=self._credit_filter,
            )

        @attribute
        def title(self) -> str | None:
            return self.precomputed.meta.get("og:title")

        @attribute
        def authors(self) -> list[str]:
            return generic_nodes_to_text(self._writer_selector(self.precomputed.doc), normalize=True)

        @attribute
        def publishing_date(self) -> datetime.datetime | None:
            return generic_date_parsing(self.precomputed.meta.get("article:published_time"))

        @attribute
        def topics(self) -> list[str]:
            return generic_topic_parsing(self.precomputed.meta.get("article:tag"))
