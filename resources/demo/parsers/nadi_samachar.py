"""नदी समाचार: a portal of numbered parts, metadata in meta tags of its own."""
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


class NadiSamacharParser(ParserProxy):
    class V1(BaseParser):
        _paragraph_selector = CSSSelector("section.hissa > div.para")
        _summary_selector = CSSSelector("div.saar")
        _subheadline_selector = CSSSelector("section.hissa > h4")

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
            return self.precomputed.meta.get("title")

        @attribute
        def authors(self) -> list[str]:
            return generic_author_parsing(self.precomputed.meta.get("author"))

        @attribute
        def publishing_date(self) -> datetime.datetime | None:
            return generic_date_parsing(self.precomputed.meta.get("publish-date"))

        @attribute
        def topics(self) -> list[str]:
            return generic_topic_parsing(self.precomputed.meta.get("news_keywords"))
