"""Serves the newsroom over real HTTP on loopback, to machines and to people.

The sites live on reserved names such as `www.morgenblatt.example`; the server is a plain forward proxy for
them, so their URLs stay the same whatever its port is. Belongs here: sockets, request counts, forced faults.
Does not belong here: what a URL answers (`pages.py`).
"""

import sys
import threading
from collections import Counter
from dataclasses import dataclass, replace
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import ClassVar, Self
from urllib.parse import urlsplit

from resources.demo.pages import Reply, reply
from resources.demo.sites import SITES

_HOSTS = {site.host for site in SITES}


@dataclass
class _ForcedFault:
    status: int
    times_left: int


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "_Server"

    def do_GET(self) -> None:
        answer = self.server.newsroom.answer(self.path, self.headers.get("Host", ""))
        self._send(answer, with_body=True)

    def do_HEAD(self) -> None:
        answer = self.server.newsroom.answer(self.path, self.headers.get("Host", ""))
        self._send(answer, with_body=False)

    def _send(self, answer: Reply, *, with_body: bool) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        for name, value in answer.headers:
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent: `NewsroomServer.requests` counts instead."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    newsroom: "NewsroomServer"

    def handle_error(self, request: object, client_address: object) -> None:
        """A reader who hangs up, or is killed by a test, is no error of the server."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class NewsroomServer:
    """The demo newsroom on `127.0.0.1`; a context manager that serves in threads until it is left.

    `requests` counts GET and HEAD requests by absolute URL of the fictional site.
    """

    RETRY_AFTER_S: ClassVar[int] = 1

    def __init__(self, port: int = 0) -> None:
        """Port 0 takes a free one; raises `OSError` where the port is taken."""
        self.requests: Counter[str] = Counter()
        self._faults: dict[str, _ForcedFault] = {}
        self._lock = threading.Lock()
        self._http = _Server(("127.0.0.1", port), _Handler)
        self._http.newsroom = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._http.server_address[1]

    @property
    def proxy_url(self) -> str:
        """What a client sets as its HTTP proxy, and what a person opens in a browser."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def fail(self, url: str, *, status: int, times: int = 1) -> None:
        """Make the next `times` answers of `url` fail with `status`; 429 and 503 send a Retry-After."""
        with self._lock:
            self._faults[url] = _ForcedFault(status, times)

    def answer(self, target: str, host: str) -> Reply:
        """The answer to a request target: absolute as proxies get it, or a path with a Host header."""
        own = host.partition(":")[0] in ("127.0.0.1", "localhost")
        if target.startswith("http://"):
            return self._visit(target)
        if not own:
            return self._visit(f"http://{host}{target}")
        site_host, _, path = target.lstrip("/").partition("/")
        if site_host in _HOSTS:
            return _with_prefix(self._visit(f"http://{site_host}/{path}"), site_host)
        if site_host:
            return Reply(status=404, body=b"Open / for the list of sites.\n")
        return _index()

    def _visit(self, url: str) -> Reply:
        with self._lock:
            self.requests[url] += 1
            fault = self._faults.get(url)
            if fault and fault.times_left:
                fault.times_left -= 1
                return self._failure(fault.status)
        return reply(urlsplit(url)._replace(query="", fragment="").geturl())

    def _failure(self, status: int) -> Reply:
        headers = (("Retry-After", str(self.RETRY_AFTER_S)),) if status in (429, 503) else ()
        return Reply(status=status, body=b"A fault forced by a test.\n", headers=headers)


def _with_prefix(answer: Reply, host: str) -> Reply:
    """The page for a person without a proxy: links within the site stay on this server."""
    body = answer.body.replace(b'href="/', f'href="/{host}/'.encode())
    headers = tuple((name, value.replace("http://", "/")) for name, value in answer.headers)
    return replace(answer, body=body, headers=headers)


def _index() -> Reply:
    rows = "".join(
        f'<li><a href="/{site.host}/">{escape(site.name)}</a> '
        f"<small>{site.language} · {site.layout} · {escape(site.slogan)}</small></li>"
        for site in SITES
    )
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Demo newsroom</title>'
        "<style>body{font:17px/1.6 Georgia,serif;max-width:44rem;margin:3rem auto;padding:0 1rem}"
        "small{color:#666;font:13px sans-serif}</style>"
        f"<h1>Demo newsroom</h1><p>Fictional publishers; nothing here happened.</p><ul>{rows}</ul></html>"
    )
    return Reply(content_type="text/html; charset=utf-8", body=page.encode())
