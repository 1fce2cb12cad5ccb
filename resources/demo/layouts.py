"""Prints stories as HTML through the templates, one template per layout.

Belongs here: what a template gets to see. Does not belong here: which stories there are (`newsroom.py`)
or at which URL a page is served (`pages.py`).
"""

import re
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from resources.demo.newsroom import Story, chapters
from resources.demo.sites import Site

LinkedData = dict[str, object]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "sort_keys": False}
    environment.filters["linked"] = linked
    return environment


def article_page(site: Site, story: Story, others: tuple[Story, ...], layout: str | None = None) -> str:
    """The page of `story`, with teasers of `others`; in another `layout` than the site's if one is named."""
    template = _environment().get_template(f"{layout or site.layout}.html.jinja")
    return template.render(
        site=site,
        ui=site.words.ui,
        story=story,
        article=story.article,
        date=story.local_time,
        date_text=f"{story.local_time:%d.%m.%Y %H:%M}",
        chapters=chapters(story.blocks),
        teasers=others[:6],
        related=others[6:8],
        linked_data=linked_data(site, story),
    )


def front_page(site: Site, stories: tuple[Story, ...]) -> str:
    """The home page of a site: its teasers."""
    return (
        _environment().get_template("front.html.jinja").render(site=site, ui=site.words.ui, stories=stories)
    )


def linked(text: str, story: Story) -> Markup:
    """Inline markup as editors set it: the town links to its topic page, the person is set in bold."""
    html = re.sub(
        re.escape(str(escape(story.town))),
        lambda match: f'<a href="/thema/{len(story.town)}.html">{match[0]}</a>',
        str(escape(text)),
        count=1,
    )
    name = re.escape(str(escape(story.surname)))
    return Markup(re.sub(name, lambda match: f"<strong>{match[0]}</strong>", html, count=1))


def linked_data(site: Site, story: Story) -> LinkedData:
    """The schema.org description of an article."""
    article = story.article
    return {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "mainEntityOfPage": {"@type": "WebPage", "@id": story.url},
        "headline": article.title,
        "description": " ".join(article.body.summary) or article.title,
        "datePublished": story.local_time.isoformat(),
        "dateModified": story.local_time.isoformat(),
        "author": [{"@type": "Person", "name": name} for name in article.authors],
        "publisher": {"@type": "NewsMediaOrganization", "name": site.name, "url": site.root},
        "articleSection": story.section,
        "keywords": list(article.topics),
        "inLanguage": site.language,
        "isAccessibleForFree": article.free_access,
    }
