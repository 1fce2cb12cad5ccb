"""The demo newsroom, crawled over real HTTP by Fundus' own Crawler and compared with what its editors wrote."""
# ruff: noqa: TID253 (Fundus is what is tested with)

import copy
import datetime
import http.client
import itertools
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import fundus
import pytest
from fundus.publishers.base_objects import Publisher, Robots
from fundus.scraping.session import session_handler

from ml.article import Article, Body, Section
from resources.demo import layouts
from resources.demo.content import Kind, Writer, phrases
from resources.demo.newsroom import ARTICLES_PER_SITE, Story, articles, faulty_pages
from resources.demo.pages import moved_url, reply
from resources.demo.publishers import DemoPublishers
from resources.demo.server import NewsroomServer
from resources.demo.sites import CLOSED_PATH, SITES, Fault, Site, site

KEYS = [one.key for one in SITES]
OPEN_KEYS = [key for key in KEYS if key != "QuietValleyReview"]


@dataclass
class Crawl:
    """Everything one crawl of all publishers brought home, by publisher key and responded URL."""

    publishers: dict[str, Publisher]
    pages: dict[str, dict[str, fundus.Article]]
    requests: Counter[str]


def fresh_publisher(key: str) -> Publisher:
    """A publisher that has not read its robots.txt yet: the shared one keeps it for the whole process."""
    publisher = copy.copy(DemoPublishers[key])
    publisher.robots = Robots(f"{publisher.domain}/robots.txt", headers=publisher.request_header)
    return publisher


def crawl(server: NewsroomServer, publisher: Publisher) -> dict[str, fundus.Article]:
    with session_handler.context(proxies={"http": server.proxy_url}):
        crawler = fundus.Crawler(publisher, delay=0.0, threading=False)
        found = list(crawler.crawl(only_complete=False, error_handling="catch"))
    return {page.html.responded_url: page for page in found}


def extracted(body: fundus.parser.ArticleBody, values: dict[str, object]) -> Article:
    sections = tuple(
        Section(headline=tuple(part.headline), paragraphs=tuple(part.paragraphs)) for part in body.sections
    )
    return Article.model_validate({**values, "body": Body(summary=tuple(body.summary), sections=sections)})


def to_article(page: fundus.Article) -> Article:
    names = ("title", "authors", "publishing_date", "topics", "free_access")
    assert page.body is not None
    return extracted(page.body, {name: getattr(page, name) for name in names})


@pytest.fixture(scope="module")
def crawled() -> Crawl:
    publishers = {key: fresh_publisher(key) for key in KEYS}
    with NewsroomServer() as server:
        pages = {key: crawl(server, publisher) for key, publisher in publishers.items()}
        return Crawl(publishers, pages, Counter(server.requests))


@pytest.fixture
def server() -> Iterator[NewsroomServer]:
    with NewsroomServer() as running:
        yield running


def get(server: NewsroomServer, target: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request("GET", target, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("key", OPEN_KEYS)
def test_fundus_extracts_exactly_what_the_editors_wrote(crawled: Crawl, key: str) -> None:
    gold = {story.url: story.article for story in articles(key)}
    found = {url: to_article(page) for url, page in crawled.pages[key].items() if url in gold}

    assert len(gold) == ARTICLES_PER_SITE
    assert {url: article.to_json() for url, article in found.items()} == {
        url: article.to_json() for url, article in gold.items()
    }


def test_robots_are_respected_though_sources_list_closed_pages(crawled: Crawl) -> None:
    careless = site("Talkurier")
    assert CLOSED_PATH.encode() in reply(f"{careless.root}/sitemap-2026.xml").body
    assert crawled.requests[f"{careless.root}/robots.txt"] == 1
    assert not [url for url in crawled.requests if urlsplit(url).path.startswith("/intern/")]


def test_a_site_that_disallows_all_crawling_gives_no_page(crawled: Crawl) -> None:
    asked = {
        urlsplit(url).path for url in crawled.requests if urlsplit(url).netloc == "www.quietvalley.example"
    }

    # Fundus itself still reads the sitemaps that its publisher names; it fetches none of the pages.
    assert asked <= {"/robots.txt", "/sitemap.xml", "/sitemap-2025.xml", "/sitemap-2026.xml"}
    assert crawled.pages["QuietValleyReview"] == {}
    assert not crawled.publishers["QuietValleyReview"].robots.can_fetch(
        "*", "http://www.quietvalley.example/"
    )


def test_one_publisher_disallows_training_by_flag_and_by_robots(crawled: Crawl) -> None:
    assert [key for key in KEYS if crawled.publishers[key].disallows_training] == ["NadiSamachar"]
    assert crawled.publishers["NadiSamachar"].robots.disallows_training()
    assert b"Crawl-delay: 0.1" in reply(f"{site('PhareLibre').root}/robots.txt").body


def test_every_page_is_requested_once_but_those_of_two_sources(crawled: Crawl) -> None:
    twice = {url for url, count in crawled.requests.items() if count > 1}
    assert twice == {story.url for story in articles("Morgenblatt")[1:11]}
    assert max(crawled.requests.values()) == 2


def test_a_moved_article_arrives_under_its_new_url(crawled: Crawl) -> None:
    newest = articles("Morgenblatt")[0]
    page = crawled.pages["Morgenblatt"][newest.url]
    assert page.html.requested_url == moved_url(site("Morgenblatt"))


def faulty_url(fault: Fault) -> tuple[str, str]:
    return next((key, page.url) for key in KEYS for page in faulty_pages(key) if page.fault is fault)


def test_every_fault_is_there_once_and_was_asked_for(crawled: Crawl) -> None:
    pages = [page for key in KEYS for page in faulty_pages(key)]
    assert Counter(page.fault for page in pages) == Counter(list(Fault))
    assert max(len(faulty_pages(key)) for key in KEYS) <= 2
    assert all(crawled.requests[page.url] == 1 for page in pages)


@pytest.mark.parametrize("fault", [Fault.NOT_FOUND, Fault.SERVER_ERROR])
def test_a_missing_page_gives_nothing(crawled: Crawl, fault: Fault) -> None:
    key, url = faulty_url(fault)
    assert url not in crawled.pages[key]


def test_broken_pages_behave_as_such_pages_do(crawled: Crawl) -> None:
    def page(fault: Fault) -> fundus.Article:
        key, url = faulty_url(fault)
        return crawled.pages[key][url]

    assert page(Fault.EMPTY).exception is not None
    assert page(Fault.EMPTY).html.content == ""
    assert "\ufffd" in page(Fault.WRONG_CHARSET).html.content
    assert "\0" in page(Fault.NUL_BYTES).html.content
    assert "</html>" not in page(Fault.TRUNCATED).html.content
    assert not page(Fault.NO_TEXT).body
    assert page(Fault.NO_TEXT).title
    key, url = faulty_url(Fault.DUPLICATE)
    original = articles(key)[3].url
    assert crawled.pages[key][url].html.content == crawled.pages[key][original].html.content


def test_pages_before_the_relaunch_fit_the_former_parser() -> None:
    one = site("Morgenblatt")
    stories = articles(one.key)
    former_parser = DemoPublishers["Morgenblatt"].parser(datetime.date(2025, 6, 1))
    assert len(DemoPublishers["Morgenblatt"].parser) == 2

    for story in stories[-5:]:
        values = former_parser.parse(layouts.article_page(one, story, stories, one.former_layout))
        body = values.pop("body")
        del values["meta"], values["ld"]
        # The former pages said nothing of free access.
        gold = story.article.model_copy(update={"free_access": True})
        assert extracted(body, values) == gold


def test_sites_and_publishers_agree() -> None:
    publishers = {publisher.__name__: publisher for publisher in DemoPublishers}
    assert list(publishers) == KEYS
    for one in SITES:
        publisher = publishers[one.key]
        assert (publisher.name, publisher.domain, publisher.languages) == (one.name, one.root, {one.language})
        assert articles(one.name) == articles(one.key)


def test_languages_and_layouts_differ_enough() -> None:
    assert len(SITES) == 14
    assert len({one.language for one in SITES}) == 8
    assert len({one.layout for one in SITES}) == 12
    assert {one.words.direction for one in SITES} == {"ltr", "rtl"}
    assert {one.words.space for one in SITES} == {" ", ""}
    assert [one.key for one in SITES if one.layout == "northline"] == ["HarbourGazette", "FenwickEcho"]


def shingles(story: Story, language: str) -> set[tuple[str, ...]]:
    text = story.article.plaintext
    tokens = list(text) if language == "ja" else text.split()
    return {tuple(tokens[i : i + 5]) for i in range(len(tokens) - 4)}


@pytest.mark.parametrize("one", SITES, ids=KEYS)
def test_articles_of_a_site_are_distinct_and_varied(one: Site) -> None:
    stories = articles(one.key)
    assert (
        len({story.url for story in stories}) == len({s.article.title for s in stories}) == ARTICLES_PER_SITE
    )
    assert [s.local_time for s in stories] == sorted((s.local_time for s in stories), reverse=True)
    for left, right in itertools.combinations([shingles(story, one.language) for story in stories], 2):
        assert len(left & right) / len(left | right) < 0.3

    kinds = {block.kind for story in stories for block in story.blocks}
    assert kinds >= {Kind.PARAGRAPH, Kind.HEADLINE, Kind.ITEMS, Kind.QUOTE}
    assert all(len(story.article.body.lines()) >= 4 for story in stories)


def test_agency_copy_is_word_for_word_the_same_under_other_headlines() -> None:
    carried: dict[str, list[Story]] = {}
    for key in KEYS:
        for story in articles(key):
            if story.from_wire:
                carried.setdefault(story.article.plaintext, []).append(story)

    assert [len(stories) for stories in carried.values()] == [3, 3, 4, 4]
    assert all(len({story.article.title for story in stories}) > 1 for stories in carried.values())


def test_pages_carry_the_furniture_that_makes_extraction_hard() -> None:
    page = reply(articles("Morgenblatt")[2].url).body.decode()
    labels = phrases("de").ui
    for label in ("cookies", "related", "newsletter", "more", "comments", "author_box", "imprint"):
        assert labels[label] in page
    paid = next(story for story in articles("HarbourGazette") if not story.article.free_access)
    assert phrases("en").ui["paywall"] in reply(paid.url).body.decode()
    has_linked_data = {one.key for one in SITES if b"ld+json" in reply(articles(one.key)[0].url).body}
    assert 4 <= len(has_linked_data) <= 10


DIGEST = """
import hashlib
from resources.demo.newsroom import articles
from resources.demo.pages import reply
from resources.demo.sites import SITES
pages = [reply(story.url).body for one in SITES for story in articles(one.key)[:3]]
files = [reply(one.root + path).body for one in SITES for path in ("/rss.xml", "/sitemap.xml.gz")]
print(hashlib.sha256(b"".join(pages + files)).hexdigest())
"""


def test_pages_are_the_same_in_every_process() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_importing_the_publishers_generates_nothing() -> None:
    code = (
        "import sys, resources.demo.publishers\n"
        "print([name for name in ('resources.demo.newsroom', 'jinja2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_server_answers_as_proxy_by_host_and_by_prefix(server: NewsroomServer) -> None:
    story = articles("BrackwaterPost")[0]
    host = site("BrackwaterPost").host
    as_proxy = get(server, story.url)
    by_host = get(server, story.path, Host=host)
    status, _, by_prefix = get(server, f"/{host}{story.path}")

    assert as_proxy[0] == by_host[0] == status == 200
    assert as_proxy[2] == by_host[2]
    assert f'href="/{host}/'.encode() in by_prefix
    assert server.requests[story.url] == 3


def test_the_index_lists_every_site(server: NewsroomServer) -> None:
    status, _, page = get(server, "/")
    assert status == 200
    for one in SITES:
        assert f'href="/{one.host}/"' in page.decode()
        assert get(server, f"/{one.host}/")[0] == 200


def test_unknown_hosts_and_paths_say_so(server: NewsroomServer) -> None:
    status, _, text = get(server, "http://www.elsewhere.example/")
    assert status == 502
    assert "'www.elsewhere.example' is not a site of the demo newsroom" in text.decode()
    assert get(server, f"{site('Talkurier').root}/nothing.html")[0] == 404
    assert get(server, "/nothing.html")[0] == 404


@pytest.mark.parametrize("status", [429, 503])
def test_forced_faults_pass(server: NewsroomServer, status: int) -> None:
    url = articles("Talkurier")[0].url
    server.fail(url, status=status, times=2)

    answers = [get(server, url) for _ in range(3)]

    assert [answer[0] for answer in answers] == [status, status, 200]
    assert answers[0][1]["Retry-After"] == "1"
    assert server.requests[url] == 3


def test_queries_and_fragments_do_not_change_the_page() -> None:
    url = articles("GlosDoliny")[0].url
    with NewsroomServer() as server:
        assert get(server, f"{url}?utm_source=feed")[2] == reply(url).body


def test_an_unknown_publisher_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown demo publisher 'Nobody'; there are Morgenblatt"):
        articles("Nobody")


def test_a_template_with_an_unknown_slot_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown slot 'weather'"):
        Writer("en", "seed").write("It was {weather}.")
