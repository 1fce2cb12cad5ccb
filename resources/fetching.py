"""Pages by their URLs, fetched as a polite reader would: robots.txt, pauses, and patience with busy servers.

Belongs here: HTTP for pages that someone names one by one. Does not belong here: finding pages on a site
(`sources.py`), or what a page holds (`ml/`).
"""

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from importlib.metadata import version
from types import TracebackType
from typing import Self, TypeVar

import httpx
from protego import Protego
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt

from ml.archives import ArchivedPage

ROBOT = "news-crawler-LM"
"""The name by which a robots.txt may address us."""

USER_AGENT = f"{ROBOT}/{version('news-crawler-lm')} (newslm extract)"
MAX_REDIRECTS = 10
_HOSTS_AT_ONCE = 16
_MAX_ROBOTS_BYTES = 512_000  # RFC 9309, section 2.5
_HTML_TYPES = ("text/html", "application/xhtml+xml", "")
_BUSY = frozenset({429, 500, 502, 503, 504})
_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Manners:
    """How servers are treated; a robots.txt may ask for a longer `delay_s` between two pages of its host."""

    delay_s: float = 1.0
    silence_s: float = 20.0  # a server that sends nothing for so long does not answer
    page_s: float = 120.0  # for the whole of a page
    max_bytes: int = 20_000_000  # of a page, unzipped
    attempts: int = 3
    backoff_s: float = 2.0  # before the second attempt; doubled before each other
    max_wait_s: float = 120.0  # a server that asks for more patience gets none


@dataclass(frozen=True, kw_only=True)
class Unfetched:
    """A URL that gave no page, and why."""

    url: str
    error: str


def fetch_pages(urls: Iterable[str], manners: Manners | None = None) -> Iterator[ArchivedPage | Unfetched]:
    """The page of every URL, or why there is none, as they come; a URL that is named twice is fetched once.

    Hosts are asked side by side, each for one page at a time. Nothing is fetched much before it is taken.
    """
    queues = _by_host(urls)
    idle, under_way = deque(queues), dict[Future[ArchivedPage | Unfetched], str]()
    with _Fetcher(manners or Manners()) as fetcher:
        while idle or under_way:
            while idle and len(under_way) < _HOSTS_AT_ONCE:
                host = idle.popleft()
                under_way[fetcher.start(queues[host].popleft())] = host
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                host = under_way.pop(future)
                if queues[host]:
                    idle.append(host)
                yield future.result()


def _by_host(urls: Iterable[str]) -> dict[str, deque[str]]:
    queues: defaultdict[str, deque[str]] = defaultdict(deque)
    for url in dict.fromkeys(urls):
        queues[_host(url)].append(url)
    return queues


def _host(url: str) -> str:
    try:
        return httpx.URL(url).host
    except httpx.InvalidURL:  # and an error when its turn comes
        return ""


class _FetchError(Exception):
    """The URL gives no page."""


class _BusyError(_FetchError):
    """It may give one later."""

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class _Site:
    """A host: its robots.txt, which is read once, and its turns, of which there is one at a time."""

    def __init__(self, delay_s: float) -> None:
        self._lock = threading.Lock()
        self._delay_s, self._due = delay_s, 0.0
        self._robots: Protego | None = None
        self._closed_by: _FetchError | None = None

    def require_allowed(self, url: httpx.URL, read_robots: Callable[[], Protego]) -> None:
        """Raise `_FetchError` for what robots.txt forbids: everything, where a server fails to tell (RFC 9309)."""
        with self._lock:
            if not (self._robots or self._closed_by):
                self._learn(read_robots)
        if self._closed_by:
            raise _FetchError(f"left alone, because its robots.txt cannot be read: {self._closed_by}")
        if self._robots and not self._robots.can_fetch(str(url), ROBOT):
            raise _FetchError("closed to robots by its robots.txt")

    def _learn(self, read_robots: Callable[[], Protego]) -> None:
        try:
            self._robots = read_robots()
        except _FetchError as error:
            self._closed_by = error
        else:
            self._delay_s = max(self._delay_s, self._robots.crawl_delay(ROBOT) or 0.0)

    @contextmanager
    def turn(self, pause: Callable[[float], None]) -> Iterator[None]:
        """The time for one request, when the one before is long enough ago."""
        with self._lock:
            pause(self._due - time.monotonic())
            try:
                yield
            finally:
                self._due = time.monotonic() + self._delay_s


class _Fetcher:
    """Threads that fetch a URL each. Leaving it ends their pauses at once, and requests when they time out."""

    def __init__(self, manners: Manners) -> None:
        self._manners = manners
        self._client = httpx.Client(headers={"User-Agent": USER_AGENT}, timeout=manners.silence_s)
        self._threads = ThreadPoolExecutor(_HOSTS_AT_ONCE)
        self._sites: dict[bytes, _Site] = {}
        self._left = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left.set()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._client.close()

    def start(self, url: str) -> Future[ArchivedPage | Unfetched]:
        return self._threads.submit(self._fetch, url)

    def _fetch(self, url: str) -> ArchivedPage | Unfetched:
        try:
            return self._page(url)
        except (_FetchError, httpx.InvalidURL) as error:
            return Unfetched(url=url, error=str(error))

    def _page(self, url: str) -> ArchivedPage:
        """Redirects are followed here, so that each host on the way is asked first whether it may be."""
        place = httpx.URL(url)
        for _ in range(MAX_REDIRECTS + 1):
            _require_web(place)
            site = self._sites.setdefault(place.netloc, _Site(self._manners.delay_s))
            site.require_allowed(place, partial(self._patiently, partial(self._robots, place)))
            found = self._patiently(partial(self._ask, place, site))
            if not isinstance(found, httpx.URL):
                data, charset = found
                return ArchivedPage(url=url, date=datetime.now(UTC), data=data, charset=charset, origin="")
            place = found
        raise _FetchError(f"redirected more than {MAX_REDIRECTS} times")

    def _patiently(self, ask: Callable[[], _T]) -> _T:
        """The answer of a server that may be busy at first."""
        return Retrying(
            stop=stop_after_attempt(self._manners.attempts),
            wait=self._wait,
            retry=retry_if_exception_type(_BusyError),
            sleep=self._pause,
            reraise=True,
        )(ask)

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after_s if isinstance(error, _BusyError) else None
        return self._manners.backoff_s * 2 ** (state.attempt_number - 1) if asked is None else asked

    def _pause(self, seconds: float) -> None:
        if self._left.wait(max(seconds, 0.0)):
            raise _FetchError("not fetched: the run ended")

    def _ask(self, url: httpx.URL, site: _Site) -> tuple[bytes, str | None] | httpx.URL:
        """A page's bytes and charset, or where the page has gone."""
        with site.turn(self._pause), self._response(url) as response:
            if response.next_request:
                return response.next_request.url
            _require_html(response)
            return self._body(response), response.charset_encoding

    def _robots(self, url: httpx.URL) -> Protego:
        with self._response(url.join("/robots.txt"), follow_redirects=True) as response:
            text = b"" if response.is_client_error else next(response.iter_bytes(_MAX_ROBOTS_BYTES), b"")
        return Protego.parse(text.decode("utf-8-sig", "replace"))

    @contextmanager
    def _response(self, url: httpx.URL, *, follow_redirects: bool = False) -> Iterator[httpx.Response]:
        """A response whose body is still to come; raises `_FetchError` for whatever happens on the way."""
        try:
            with self._client.stream("GET", url, follow_redirects=follow_redirects) as response:
                if response.status_code in _BUSY:
                    raise self._busy(response)
                yield response
        except httpx.TransportError as error:
            raise _BusyError(f"no answer: {error or type(error).__name__}") from error
        except httpx.RequestError as error:  # broken compression, endless redirects
            raise _FetchError(f"a broken answer: {error}") from error

    def _busy(self, response: httpx.Response) -> _FetchError:
        message, asked = f"answered {_status(response)}", _retry_after_s(response)
        if asked is not None and asked > self._manners.max_wait_s:
            return _FetchError(f"{message}, asking to come back in {asked:.0f} s")
        return _BusyError(message, retry_after_s=asked)

    def _body(self, response: httpx.Response) -> bytes:
        body, deadline = bytearray(), time.monotonic() + self._manners.page_s
        for part in response.iter_bytes():
            body += part
            if len(body) > self._manners.max_bytes:
                raise _FetchError(f"larger than {self._manners.max_bytes:,} bytes")
            if time.monotonic() > deadline:
                raise _FetchError(f"took longer than {self._manners.page_s:g} s")
        return bytes(body)


def _require_web(url: httpx.URL) -> None:
    if url.scheme not in ("http", "https") or not url.host:
        raise _FetchError(f"no address of a page: expected http:// or https://, found {str(url)!r}")


def _require_html(response: httpx.Response) -> None:
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if not response.is_success:
        raise _FetchError(f"answered {_status(response)}")
    if kind not in _HTML_TYPES:
        raise _FetchError(f"no HTML page, but {kind}")


def _status(response: httpx.Response) -> str:
    return f"{response.status_code} {response.reason_phrase}".strip()


def _retry_after_s(response: httpx.Response) -> float | None:
    """Seconds that the server asks to wait, given as such or as a date (RFC 9110, section 10.2.3)."""
    asked = response.headers.get("Retry-After", "")
    if asked.isascii() and asked.isdecimal():
        return float(asked)
    try:
        date = parsedate_to_datetime(asked)
    except ValueError:
        return None
    return max((date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds(), 0.0)
