"""Baselines that fail on demand; a module of its own, so that a worker process can import them."""

import os
import signal
import socket
import time
from collections.abc import Callable
from typing import NoReturn

from ml.baselines.base import Baseline
from ml.baselines.extraction import Extraction, ExtractionFailedError

NETWORK_USED = 9


def _hold_memory() -> NoReturn:
    held = []
    while True:
        held.append(bytearray(2**20))


def _hold_memory_and_hide_it() -> NoReturn:
    try:
        _hold_memory()
    except MemoryError as error:
        raise ValueError("a library's own error") from error


def _bug() -> NoReturn:
    raise KeyError("nobody expected\n\ud800 this")


def _refuse() -> NoReturn:
    raise ExtractionFailedError("no article here")


_MOODS: dict[str, Callable[[], str | None]] = {
    "hang": lambda: time.sleep(60),
    "exit": lambda: os._exit(7),
    "segfault": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "hog": _hold_memory,
    "hidden hog": _hold_memory_and_hide_it,
    "bug": _bug,
    "refuse": _refuse,
    "blank": lambda: " \n ",
    "flood": lambda: "x" * 20_000_000,
}


class Moody(Baseline):
    """Does to the worker what the page says."""

    name = "moody"
    package = "json"

    def extract(self, html: str, url: str) -> Extraction:
        text = _MOODS[html]() if html in _MOODS else f"{html} {url}"
        return Extraction(text=text or "")


class Structured(Moody):
    """Gives keys beside the text, as bad as libraries do."""

    name = "structured"
    gives = frozenset({"title", "authors"})

    def extract(self, html: str, url: str) -> Extraction:
        found = super().extract(html, url)
        return Extraction(text=found.text, title=" \n", authors=("", "Ann  Miller", " "), topics=("\ud800",))


class Offline(Baseline):
    """Another baseline in a process that ends when it reaches for the network."""

    def __init__(self, inner: Baseline) -> None:
        self.inner = inner
        self.name, self.package, self.gives = inner.name, inner.package, inner.gives

    def extract(self, html: str, url: str) -> Extraction:
        socket.getaddrinfo = socket.socket.connect = _end  # type: ignore[assignment, method-assign]
        return self.inner.extract(html, url)


def _end(*_: object, **__: object) -> NoReturn:
    os._exit(NETWORK_USED)


class Absent(Moody):
    """Needs a library that is not there."""

    name = "absent"
    package = "a_package_that_nobody_has"


class Unstartable(Moody):
    """Ends its worker before the first page."""

    name = "unstartable"

    def extract(self, html: str, url: str) -> Extraction:
        raise SystemExit(3)


class Broken(Moody):
    """Fails before the first page, as with a library that changed its interface."""

    name = "broken"

    def extract(self, html: str, url: str) -> Extraction:
        raise AttributeError("no such function")
