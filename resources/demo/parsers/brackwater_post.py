"""The Brackwater Post: metadata only in the state that hydrates the page."""
# Parser classes are Fundus classes; only `publishers.py` imports them, and that is imported lazily.
# ruff: noqa: TID253
# mypy: allow-untyped-calls

import datetime
import json
from typing import TypedDict

from fundus.parser import ArticleBody, BaseParser, ParserProxy, attribute
from fundus.parser.utility import (
    extract_article_body_with_selector,
    generic_author_parsing,
    generic_date_parsing,
    generic_topic_parsing,
)
from lxml.cssselect import CSSSelector


class State(TypedDict):
    headline: str
    published: str
    byline: list[str]
    tags: list[str]


class BrackwaterPostParser(ParserProxy):
    class V1(BaseParser):
        _paragraph_selector = CSSSelector("div[data-block='text']")
        _summary_selector = CSSSelector("div[data-testid='summary']")
        _subheadline_selector = CSSSelector("div[data-block='crosshead']")
        _state_selector = CSSSelector("script#__STATE__")

        def _state(self) -> State:
            (script,) = self._state_selector(self.precomputed.doc)
            state: State = json.loads(script.text_content())["article"]
            return state

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
            return self._state()["headline"]

        @attribute
        def authors(self) -> list[str]:
            return generic_author_parsing(self._state()["byline"])

        @attribute
        def publishing_date(self) -> datetime.datetime | None:
            return generic_date_parsing(self._state()["published"])

        @attribute
        def topics(self) -> list[str]:
            return generic_topic_parsing(self._state()["tags"])
