"""What every URL of the newsroom answers.

Belongs here: the mapping from URL to bytes, faulty pages included. Does not belong here: sockets and forced
faults (`server.py`), or how a page looks (`layouts.py`).
"""

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from urllib.parse import urlsplit

from ml.article import Article
from resources.demo import feeds, layouts
from resources.demo.newsroom import FaultyPage, Story, articles, faulty_pages, spare_story
from resources.demo.sites import CLOSED_PATH, SITES, Fault, Site

_HOSTS = {site.host: site for site in SITES}


@dataclass(frozen=True, kw_only=True)
class Reply:
    """An HTTP answer."""

    status: int = 200
    content_type: str = "text/plain; charset=utf-8"
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


@lru_cache(maxsize=2048)
def reply(url: str) -> Reply:
    """The answer to an absolute URL; its query and fragment are ignored."""
    parts = urlsplit(url)
    if (site := _HOSTS.get(parts.hostname or "")) is None:
        known = "\n".join(_HOSTS)
        return _text(502, f"{parts.hostname!r} is not a site of the demo newsroom. Its sites are:\n{known}")
    if (file := _files(site).get(parts.path)) is not None:
        return file
    if (print_page := _pages(site).get(parts.path or "/")) is not None:
        return print_page()
    return _text(404, f"There is no page {parts.path} at {site.host}.")


def moved_url(site: Site) -> str:
    """The old URL of the newest article, on sites that moved it."""
    return f"{site.root}/alt/neueste.html"


@cache
def _pages(site: Site) -> Mapping[str, Callable[[], Reply]]:
    """What prints each page; nothing is printed before it is asked for."""
    stories = articles(site.key)
    front = partial(_front, site, stories)
    pages: dict[str, Callable[[], Reply]] = {"/": front, CLOSED_PATH: front}
    pages |= {story.path: partial(_article, site, story) for story in stories}
    pages |= {urlsplit(page.url).path: partial(_faulty, site, page) for page in faulty_pages(site.key)}
    if site.has_moved_article:
        redirect = Reply(status=301, headers=(("Location", stories[0].url),))
        pages[urlsplit(moved_url(site)).path] = lambda: redirect
    return pages


@cache
def _files(site: Site) -> Mapping[str, Reply]:
    """robots.txt, feeds and sitemaps. A moved article is listed by its old URL, a closed page by the careless."""
    stories = articles(site.key)
    listed = stories[1:] if site.has_moved_article else stories
    extra = [moved_url(site)] if site.has_moved_article else []
    extra += [page.url for page in faulty_pages(site.key)]
    extra += [site.root + CLOSED_PATH] if site.lists_closed_path else []
    this_year = [*(story.url for story in listed if story.local_time.year == 2026), *extra]
    last_year = [story.url for story in listed if story.local_time.year == 2025]
    children = [f"{site.root}/sitemap-{year}.xml" for year in (2026, 2025)]
    archive = gzip.compress(feeds.sitemap([*this_year, *last_year]).encode(), mtime=0)
    return {
        "/robots.txt": _text(200, feeds.robots_txt(site)),
        "/rss.xml": _xml(feeds.rss(site, listed[:10]), "application/rss+xml"),
        "/rss/all.xml": _xml(feeds.rss(site, listed, extra), "application/rss+xml"),
        "/news-sitemap.xml": _xml(feeds.news_sitemap(site, listed, extra)),
        "/sitemap.xml": _xml(feeds.sitemap_index(children)),
        "/sitemap-2026.xml": _xml(feeds.sitemap(this_year)),
        "/sitemap-2025.xml": _xml(feeds.sitemap(last_year)),
        "/sitemap.xml.gz": Reply(content_type="application/x-gzip", body=archive),
    }


def _front(site: Site, stories: tuple[Story, ...]) -> Reply:
    return _html(site, layouts.front_page(site, stories))


def _article(site: Site, story: Story) -> Reply:
    stories = articles(site.key)
    start = stories.index(story) + 1 if story in stories else 0
    others = (*stories[start:], *stories[: max(0, start - 1)])
    return _html(site, layouts.article_page(site, story, others))


def _faulty(site: Site, page: FaultyPage) -> Reply:
    story = replace(spare_story(site), url=page.url)
    good = _article(site, story)
    match page.fault:
        case Fault.EMPTY:
            return replace(good, body=b"")
        case Fault.WRONG_CHARSET:  # declared as UTF-8, encoded as Windows does
            return replace(good, body=good.body.decode().encode("windows-1252", "replace"))
        case Fault.NUL_BYTES:
            return replace(good, body=good.body.replace(b". ", b".\0 "))
        case Fault.NOT_FOUND:
            return _text(404, "This page no longer exists.")
        case Fault.SERVER_ERROR:
            return _text(500, "Internal server error.")
        case Fault.TRUNCATED:
            return replace(good, body=good.body[: len(good.body) * 3 // 5])
        case Fault.NO_TEXT:
            bare = Article(title=story.article.title, publishing_date=story.local_time)
            return _article(site, replace(story, blocks=(), article=bare))
        case Fault.DUPLICATE:
            return _article(site, articles(site.key)[3])


def _html(site: Site, text: str) -> Reply:
    return Reply(
        content_type=f"text/html; charset={site.charset}",
        body=text.encode(site.charset, "xmlcharrefreplace"),
    )


def _xml(text: str, content_type: str = "application/xml") -> Reply:
    return Reply(content_type=f"{content_type}; charset=utf-8", body=text.encode())


def _text(status: int, text: str) -> Reply:
    return Reply(status=status, body=f"{text}\n".encode())
