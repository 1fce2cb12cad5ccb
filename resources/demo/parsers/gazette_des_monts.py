"""La Gazette des Monts: schema.org microdata."""
# Parser classes are Fundus classes; only `publishers.py` imports them, and that is imported lazily.
# ruff: noqa: TID253
# mypy: allow-untyped-calls

import datetime

from fundus.parser import ArticleBody, BaseParser, ParserProxy, attribute
from fundus.parser.utility import (
    extract_article_body_with_selector,
    generic_date_parsing,
    generic_nodes_to_text,
)
from lxml.cssselect import CSSSelector
from lxml.etree import XPath


class GazetteDesMontsParser(ParserProxy):
    class V1(BaseParser):
        _paragraph_selector = XPath(
            "//div[@itemprop='articleBody']/p[not(@class)]"
            " | //div[@itemprop='articleBody']/*[self::ol or self::blockquote]//p"
        )
        _summary_selector = CSSSelector("p.chapo")
        _subheadline_selector = CSSSelector("div.texte > h2")
        _title_selector = CSSSelector("h1[itemprop='headline']")
        _author_selector = CSSSelector("span[itemprop='author'] span[itemprop='name']")
        _date_selector = XPath("//time[@itemprop='datePublished']/@datetime")
        _topic_selector = CSSSelector("a[itemprop='keywords']")

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
            return generic_nodes_to_text(self._author_selector(self.precomputed.doc), normalize=True)

        @attribute
        def publishing_date(self) -> datetime.datetime | None:
            return generic_date_parsing(next(iter(self._date_selector(self.precomputed.doc)), None))

        @attribute
        def topics(self) -> list[str]:
            return generic_nodes_to_text(self._topic_selector(self.precomputed.doc), normalize=True)
