"""El Correo del Valle: paragraphs are separated by line breaks."""
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
    transform_breaks_to_tag,
)
from lxml.cssselect import CSSSelector
from lxml.etree import XPath


class CorreoDelValleParser(ParserProxy):
    class V1(BaseParser):
        _paragraph_selector = XPath("//p[@class='br-wrap' and not(b or span)]")
        _summary_selector = CSSSelector("p.br-wrap > b.standfirst")
        _subheadline_selector = CSSSelector("p.br-wrap > b.crosshead")
        _text_selector = CSSSelector("div.story-text")

        @attribute
        def body(self) -> ArticleBody | None:
            for text in self._text_selector(self.precomputed.doc):
                transform_breaks_to_tag(text, __class__="br-wrap")
            return extract_article_body_with_selector(
                self.precomputed.doc,
                paragraph_selector=self._paragraph_selector,
                summary_selector=self._summary_selector,
                subheadline_selector=self._subheadline_selector,
            )

        @attribute
        def title(self) -> str | None:
            return self.precomputed.meta.get("DC.title")

        @attribute
        def authors(self) -> list[str]:
            return generic_author_parsing(self.precomputed.meta.get("DC.creator"))

        @attribute
        def publishing_date(self) -> datetime.datetime | None:
            return generic_date_parsing(self.precomputed.meta.get("DC.date.issued"))

        @attribute
        def topics(self) -> list[str]:
            return generic_topic_parsing(self.precomputed.meta.get("keywords"))
