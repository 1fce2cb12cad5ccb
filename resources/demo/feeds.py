"""What a site publishes for crawlers: robots.txt, RSS feeds, sitemaps.

Belongs here: the texts of these files. Does not belong here: their URLs (`pages.py`).
"""

from collections.abc import Iterable
from email.utils import format_datetime
from xml.sax.saxutils import escape

from resources.demo.newsroom import Story
from resources.demo.sites import Robots, Site

_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
_NEWS = "http://www.google.com/schemas/sitemap-news/0.9"


def robots_txt(site: Site) -> str:
    """The rules for crawlers."""
    match site.robots:
        case Robots.CLOSED:
            return "# Members only, no crawling please.\nUser-agent: *\nDisallow: /\n"
        case Robots.SLOW:
            extra = "Crawl-delay: 0.1\n"
        case _:
            extra = ""
    rules = f"User-agent: *\n{extra}Disallow: /intern/\nSitemap: {site.root}/sitemap.xml\n"
    if site.robots is Robots.NO_TRAINING:
        return f"# Our articles must not be used for training of machine learning models.\n{rules}"
    return rules


def rss(site: Site, stories: Iterable[Story], more_urls: Iterable[str] = ()) -> str:
    """An RSS 2.0 feed; `more_urls` are listed last, by their URL only."""
    items = [
        f"<item><title>{escape(story.article.title or '')}</title><link>{escape(story.url)}</link>"
        f"<guid>{escape(story.url)}</guid><pubDate>{format_datetime(story.local_time)}</pubDate></item>"
        for story in stories
    ]
    items += [f"<item><title>{escape(url)}</title><link>{escape(url)}</link></item>" for url in more_urls]
    return (
        f'{_XML}<rss version="2.0"><channel><title>{escape(site.name)}</title><link>{site.root}/</link>'
        f"<description>{escape(site.slogan)}</description>{''.join(items)}</channel></rss>"
    )


def sitemap(urls: Iterable[str]) -> str:
    """A sitemap of pages."""
    entries = "".join(f"<url><loc>{escape(url)}</loc></url>" for url in urls)
    return f'{_XML}<urlset xmlns="{_SITEMAP}">{entries}</urlset>'


def sitemap_index(urls: Iterable[str]) -> str:
    """A sitemap of sitemaps."""
    entries = "".join(f"<sitemap><loc>{escape(url)}</loc></sitemap>" for url in urls)
    return f'{_XML}<sitemapindex xmlns="{_SITEMAP}">{entries}</sitemapindex>'


def news_sitemap(site: Site, stories: Iterable[Story], more_urls: Iterable[str] = ()) -> str:
    """A sitemap with titles and dates, as news search engines want it."""
    entries = [
        f"<url><loc>{escape(story.url)}</loc><news:news><news:publication><news:name>{escape(site.name)}"
        f"</news:name><news:language>{site.language}</news:language></news:publication>"
        f"<news:publication_date>{story.local_time.isoformat()}</news:publication_date>"
        f"<news:title>{escape(story.article.title or '')}</news:title></news:news></url>"
        for story in stories
    ]
    entries += [f"<url><loc>{escape(url)}</loc></url>" for url in more_urls]
    return f'{_XML}<urlset xmlns="{_SITEMAP}" xmlns:news="{_NEWS}">{"".join(entries)}</urlset>'
