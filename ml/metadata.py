"""What a page says about its article outside the visible text: JSON-LD, meta tags, `time` elements, headings.

Belongs here: reading those statements as typed candidates. Does not belong here: deciding which candidate is
right (that is an extractor's job), or the visible text (`ml/blocks.py`).
"""

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from html import unescape
from typing import TypeAlias

from ml.charset import encode

MAX_VALUE_CHARACTERS = 2_000
_MAX_JSON_LD_NODES = 20_000


class Fact(StrEnum):
    """What a candidate is about. The values name the `<meta>` tags of the compact page."""

    TITLE = "title"
    DESCRIPTION = "description"
    AUTHOR = "author"
    PUBLISHED = "published"
    MODIFIED = "modified"
    TOPIC = "keywords"
    SECTION = "section"
    FREE_ACCESS = "free"


class Source(StrEnum):
    """Where a candidate was found."""

    JSON_LD = "json-ld"
    META = "meta"
    TITLE_TAG = "title-tag"
    TIME = "time"
    HEADING = "heading"


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """One statement, as the page makes it; dates and lists are not interpreted."""

    fact: Fact
    source: Source
    value: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Metadata:
    """Every candidate of a page: JSON-LD first, then meta tags, then the rest in reading order.

    `site_name` and `url` are the page's own words. `kinds` is what it says that it is, in lower case: the schema.org
    types of JSON-LD's top and graph nodes ("newsarticle", "webpage"), then og:type ("article").
    """

    candidates: tuple[Candidate, ...] = ()
    site_name: str | None = None
    url: str | None = None
    kinds: tuple[str, ...] = ()

    def values(self, fact: Fact, *sources: Source) -> tuple[str, ...]:
        """The distinct values of a fact, best source first; of the given sources only, if any are given."""
        found = (c.value for c in self.candidates if c.fact is fact and (not sources or c.source in sources))
        return tuple(dict.fromkeys(found))


_META_FACTS = {
    name: fact
    for fact, names in {
        Fact.TITLE: "title og:title twitter:title dc.title headline",
        Fact.DESCRIPTION: "description og:description twitter:description dc.description",
        Fact.AUTHOR: "author article:author dc.creator parsely-author sailthru.author citation_author byl",
        Fact.PUBLISHED: "published article:published_time og:published_time article:published datepublished date "
        "dc.date dc.date.issued dcterms.created dcterms.date pubdate publishdate publish-date publish_date "
        "publication_date parsely-pub-date sailthru.date date.created citation_publication_date",
        Fact.MODIFIED: "modified article:modified_time og:updated_time article:modified datemodified last-modified "
        "dcterms.modified lastmod",
        Fact.TOPIC: "keywords news_keywords article:tag parsely-tags sailthru.tags keyword dc.subject",
        Fact.SECTION: "section article:section articlesection parsely-section og:section",
        Fact.FREE_ACCESS: "free isaccessibleforfree article:content_tier",
    }.items()
    for name in names.split()
}

_JSON_LD_FACTS = {
    "headline": Fact.TITLE,
    "description": Fact.DESCRIPTION,
    "author": Fact.AUTHOR,
    "datePublished": Fact.PUBLISHED,
    "dateModified": Fact.MODIFIED,
    "keywords": Fact.TOPIC,
    "articleSection": Fact.SECTION,
    "isAccessibleForFree": Fact.FREE_ACCESS,
}
_ARTICLE_TYPE = re.compile(r"(Article|Posting|Report|Review|Critique)$")
_TYPE_NAME = re.compile(r"[/:#]")
_JSON_START = re.compile(r"[{\[]")
_DECODER = json.JSONDecoder(strict=False)  # pages have raw line breaks in their strings
_SAYS_SOMETHING = re.compile(r"\w")
_LANGUAGE = re.compile(r"([a-zA-Z]{2,3})(?:[-_]|$)")
_READ_KEYS = frozenset(_JSON_LD_FACTS) | {"articleBody", "inLanguage", "publisher"}

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


@dataclass(frozen=True, kw_only=True, slots=True)
class JsonLd:
    """The article that a page's JSON-LD describes, and the types of all that it describes, as written there."""

    candidates: tuple[Candidate, ...] = ()
    body: str = ""
    language: str | None = None
    publisher: str | None = None
    types: tuple[str, ...] = ()


def meta_candidate(name: str, content: str) -> Candidate | None:
    """The candidate that a `<meta>` tag states, if its (lower-case) name is one we know."""
    fact = _META_FACTS.get(name)
    return candidate(fact, Source.META, content) if fact else None


def candidate(fact: Fact, source: Source, value: str) -> Candidate | None:
    """A candidate with its value on one line and not too long; None where the value says nothing."""
    text = shorten(" ".join(value.split()))
    if not _SAYS_SOMETHING.search(text) or (fact is Fact.AUTHOR and text.startswith(("http://", "https://"))):
        return None
    return Candidate(fact=fact, source=source, value=text)


def shorten(text: str) -> str:
    """At most `MAX_VALUE_CHARACTERS` of a line, cut between words where there are any."""
    if len(text) <= MAX_VALUE_CHARACTERS:
        return text
    return text[: MAX_VALUE_CHARACTERS + 1].rsplit(" ", 1)[0][:MAX_VALUE_CHARACTERS]


def primary_language(tag: str | None) -> str | None:
    """The ISO 639 code in a language tag or locale ("de-AT", "de_AT" and "DE" give "de")."""
    found = _LANGUAGE.match(tag.strip()) if tag else None
    return found[1].lower() if found else None


def read_json_ld(scripts: Iterable[str]) -> JsonLd:
    """The article in the JSON-LD scripts of a page; what is not JSON, or nested beyond reason, is passed over."""
    nodes = [node for script in scripts for node in _top_nodes(_loads(script))]
    articles = _articles_on_top(nodes)
    candidates = [
        found
        for article in articles
        for key, fact in _JSON_LD_FACTS.items()
        for value in _texts(article.get(key))
        if (found := candidate(fact, Source.JSON_LD, unescape(value)))
    ]
    bodies = [unescape(text) for article in articles for text in _texts(article.get("articleBody"))]
    return JsonLd(
        candidates=tuple(dict.fromkeys(candidates)),
        body=max(bodies, key=len, default=""),
        language=primary_language(_first(articles, "inLanguage")),
        publisher=_first(articles, "publisher"),
        types=tuple(dict.fromkeys(name for node in nodes for name in _texts(node.get("@type")))),
    )


def _first(nodes: Iterable[dict[str, Json]], key: str) -> str | None:
    return next((text for node in nodes for text in _texts(node.get(key))), None)


def metadata(candidates: Iterable[Candidate], metas: Mapping[str, str], json_ld: JsonLd) -> Metadata:
    """All that a page states: its candidates, and what its meta tags (by name) and its JSON-LD say of the page."""
    names = (metas.get("og:site_name"), metas.get("application-name"), unescape(json_ld.publisher or ""))
    lines = (shorten(" ".join(name.split())) for name in names if name)
    kinds = (kind.strip().lower() for kind in (*map(_type_name, json_ld.types), metas.get("og:type", "")))
    return Metadata(
        candidates=tuple(dict.fromkeys(candidates)),
        site_name=next(filter(_SAYS_SOMETHING.search, lines), None),
        url=shorten(metas.get("og:url", "").strip()) or None,
        kinds=tuple(dict.fromkeys(filter(None, kinds))),
    )


def _type_name(name: str) -> str:
    """A type without its vocabulary: "https://schema.org/NewsArticle" and "schema:NewsArticle" are NewsArticle."""
    return _TYPE_NAME.split(name.rstrip("/"))[-1]


def _loads(script: str) -> Json:
    """The first JSON value in a script, without the comment marks and semicolons that some put around it."""
    text = script.replace("<![CDATA[", "")
    try:
        start = _JSON_START.search(text)
        loaded: Json = _DECODER.raw_decode(text, start.start())[0] if start else None
    except (ValueError, RecursionError):  # RecursionError: nested a thousand deep, hence no article
        return None
    return loaded


def _top_nodes(document: Json) -> Iterator[dict[str, Json]]:
    """The objects of a JSON-LD document that stand for the page itself, not for a list or a part in it."""
    waiting = deque([document])
    for _ in range(_MAX_JSON_LD_NODES):
        if not waiting:
            return
        node = waiting.popleft()
        if isinstance(node, list):
            waiting.extend(node)
        elif isinstance(node, dict):
            yield node
            waiting.extend(node[key] for key in ("@graph", "mainEntity", "mainEntityOfPage") if key in node)


def _articles_on_top(nodes: list[dict[str, Json]]) -> list[dict[str, Json]]:
    """The article nodes about the same headline; without any, whatever node has a headline."""
    named = {
        identity: node for node in nodes if isinstance(identity := node.get("@id"), str) and len(node) > 1
    }
    articles = [node for node in nodes if _is_article(node)] or [node for node in nodes if _headline(node)]
    headline = next(filter(None, map(_headline, articles)), "")
    same = [node for node in articles if _headline(node) in ("", headline)]
    return [{key: _resolved(node[key], named) for key in node if key in _READ_KEYS} for node in same]


def _headline(node: dict[str, Json]) -> str:
    return next(_texts(node.get("headline")), "")


def _is_article(node: dict[str, Json]) -> bool:
    return any(_ARTICLE_TYPE.search(name) for name in _texts(node.get("@type")))


def _resolved(value: Json, named: dict[str, dict[str, Json]]) -> Json:
    """`{"@id": …}` references to other nodes of the page (authors, mostly) replaced by those nodes."""
    values = value if isinstance(value, list) else [value]
    return [
        named.get(str(v["@id"]), v) if isinstance(v, dict) and "@id" in v and "name" not in v else v
        for v in values
    ]


def _texts(value: Json) -> Iterator[str]:
    """The plain values in a JSON-LD value: strings, numbers, booleans, and the names of objects."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting.extend(reversed(item))
        elif isinstance(item, dict):
            waiting.append(item.get("name", item.get("@value")))
        elif item is not None:
            yield encode(item).decode().replace("\0", "") if isinstance(item, str) else json.dumps(item)
