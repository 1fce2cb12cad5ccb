"""Fetching from a real server: what it does to be refused, to be slow, or to be too much."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ml.archives import ArchivedPage
from resources.fetching import Manners, Unfetched, fetch_pages

asked: Counter[str] = Counter()


class Server(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        asked[self.path] += 1
        handler = getattr(self, f"_{self.path.strip('/').replace('.', '_')}", self._page)
        handler()

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _page(self) -> None:
        self._answer(200, b"<p>M\xf6wen", Content_Type="text/html; charset=latin-1")

    def _robots_txt(self) -> None:
        self._answer(200, b"User-agent: *\nDisallow: /closed\nCrawl-delay: 0.1")

    def _busy_once(self) -> None:
        if asked[self.path] == 1:
            self._answer(503, Retry_After=formatdate(time.time(), usegmt=True))
        else:
            self._page()

    def _always_busy(self) -> None:
        self._answer(429, Retry_After="0")

    def _busy_for_long(self) -> None:
        self._answer(503, Retry_After="3600")

    def _drip(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        for _ in range(20):
            self.wfile.write(b"x")
            time.sleep(0.1)

    def _gone(self) -> None:
        self._answer(410)

    def _picture(self) -> None:
        self._answer(200, b"\x89PNG", Content_Type="image/png")

    def _loop(self) -> None:
        self._answer(302, Location="/loop")

    def _to_closed(self) -> None:
        self._answer(302, Location="/closed")

    def _moved(self) -> None:
        self._answer(301, Location="/page")

    def _huge(self) -> None:
        self._answer(200, b"x" * 2000, Content_Type="text/html")

    def _cut(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b"<p>cut")
        self.close_connection = True


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def asked_of_nobody() -> None:
    asked.clear()


IMPATIENT = Manners(delay_s=0, silence_s=5, page_s=0.5, max_bytes=1000, backoff_s=0.01, max_wait_s=1)


def fetch(*urls: str) -> list[ArchivedPage | Unfetched]:
    return list(fetch_pages(urls, IMPATIENT))


def test_a_page_comes_as_it_was_sent(site: str) -> None:
    (page,) = fetch(f"{site}/page", f"{site}/page")
    assert isinstance(page, ArchivedPage)
    assert (page.url, page.data, page.charset) == (f"{site}/page", b"<p>M\xf6wen", "latin-1")
    assert page.origin == ""


def test_redirects_are_followed_under_the_url_that_was_asked(site: str) -> None:
    (page,) = fetch(f"{site}/moved")
    assert isinstance(page, ArchivedPage)
    assert page.url == f"{site}/moved"


def test_a_busy_server_is_asked_again(site: str) -> None:
    (page,) = fetch(f"{site}/busy_once")
    assert isinstance(page, ArchivedPage)
    assert asked["/busy_once"] == 2


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/always_busy", "answered 429"),
        ("/busy_for_long", "asking to come back in 3600 s"),
        ("/drip", "took longer than 0.5 s"),
        ("/gone", "answered 410"),
        ("/picture", "no HTML page, but image/png"),
        ("/loop", "redirected more than 10 times"),
        ("/huge", "larger than 1,000 bytes"),
        ("/cut", "no answer: peer closed"),
    ],
)
def test_what_does_not_come_says_why(site: str, path: str, error: str) -> None:
    failed, page = fetch(f"{site}{path}", f"{site}/page")
    assert isinstance(failed, Unfetched)
    assert error in failed.error
    assert isinstance(page, ArchivedPage), "the others go on"


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/page", "ftp://example.org/x", "http://", "http://[::1"])
def test_what_cannot_be_asked_says_why(url: str) -> None:
    (failed,) = fetch(url)
    assert isinstance(failed, Unfetched)
    assert failed.error


def test_robots_txt_is_obeyed(site: str) -> None:
    started = time.monotonic()
    closed, first, second = fetch(f"{site}/closed", f"{site}/page", f"{site}/other")
    assert isinstance(closed, Unfetched)
    assert closed.error == "closed to robots by its robots.txt"
    assert isinstance(first, ArchivedPage)
    assert isinstance(second, ArchivedPage)
    assert asked["/closed"] == 0
    assert asked["/robots.txt"] == 1
    assert time.monotonic() - started >= 0.1, "its crawl delay is kept"


def test_a_redirect_to_what_is_closed_is_not_followed(site: str) -> None:
    (closed,) = fetch(f"{site}/to_closed")
    assert isinstance(closed, Unfetched)
    assert asked["/closed"] == 0
