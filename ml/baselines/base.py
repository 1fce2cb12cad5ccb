"""What every baseline shares: raw HTML in, one prediction a page out, whatever the page does to the library.

Belongs here: the interface, the loop, the worker process, timing and failures. Does not belong here: how a
library is called, which is one method in a file of its own.
"""

import logging
import multiprocessing
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from multiprocessing.connection import Connection
from types import TracebackType
from typing import ClassVar, Self

from ml.extras import require_extra
from ml.records import Prediction

# Spawned, not forked: a fork of a threaded process, such as Dagster's, may inherit a held lock.
_PROCESSES = multiprocessing.get_context("spawn")

START_TIMEOUT_S = 120.0


@dataclass(frozen=True, kw_only=True)
class PageInput:
    """A page as it was received."""

    page_id: str
    url: str
    publisher: str
    language: str | None
    html: str


class ExtractionFailedError(Exception):
    """The library found no article, or gave up on the page in a way that it documents."""


class Baseline(ABC):
    """A published extractor. Instances hold nothing that cannot be sent to another process."""

    name: ClassVar[str]
    package: ClassVar[str]  # to import and to install
    revision: ClassVar[int] = 1  # raised when the file changes what it makes of a page

    @abstractmethod
    def extract(self, html: str, url: str) -> str:
        """The article's text; raises `ExtractionFailedError` where there is none."""

    @property
    def version(self) -> str | None:
        """The library's release and this file's revision, which answers depend on; None where it is missing."""
        if find_spec(self.package) is None:
            return None
        return f"{metadata.version(self.package)}-{self.revision}"

    def require_installed(self) -> None:
        """Raise `RuntimeError` with the command that installs the library, where it is missing."""
        require_extra("baselines", self.package)


@dataclass(frozen=True, kw_only=True)
class _Outcome:
    text: str = ""
    seconds: float
    error: str | None = None


def run_baseline(
    baseline: Baseline, pages: Iterable[PageInput], *, timeout_s: float = 60.0
) -> Iterator[Prediction]:
    """One prediction a page, in order; a failure, hang or crash is an empty text with its error.

    Raises `RuntimeError` if the library is missing or its worker process cannot start.
    """
    baseline.require_installed()
    with _Worker(baseline, timeout_s=timeout_s) as worker:
        for page in pages:
            outcome = worker.extract(page)
            yield Prediction(
                page_id=page.page_id,
                url=page.url,
                publisher=page.publisher,
                language=page.language,
                extractor=baseline.name,
                text=outcome.text,
                json=None,
                truncated=False,
                seconds=outcome.seconds,
                error=outcome.error,
            )


class _Worker:
    """A process that extracts page after page, and is replaced when a page hangs or kills it."""

    def __init__(self, baseline: Baseline, *, timeout_s: float) -> None:
        self._baseline = baseline
        self._timeout_s = timeout_s

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def extract(self, page: PageInput) -> _Outcome:
        started = time.perf_counter()
        try:
            self._pipe.send((page.html, page.url))
            if self._pipe.poll(self._timeout_s):
                outcome: _Outcome = self._pipe.recv()
                return outcome
            error = f"no answer within {self._timeout_s:g} s"
        except (EOFError, ConnectionError):
            self._process.join()
            error = f"the worker process died with exit code {self._process.exitcode}"
        self._stop()
        self._start()
        return _Outcome(seconds=time.perf_counter() - started, error=error)

    def _start(self) -> None:
        self._pipe, theirs = _PROCESSES.Pipe()
        self._process = _PROCESSES.Process(target=_serve, args=(self._baseline, theirs), daemon=True)
        self._process.start()
        theirs.close()  # so that the worker's death is the end of the pipe
        try:
            if self._pipe.poll(START_TIMEOUT_S):
                self._pipe.recv()
                return
        except EOFError:
            pass
        self._stop()
        raise RuntimeError(f"the worker process of {self._baseline.name} did not start; its error is above")

    def _stop(self) -> None:
        self._process.kill()
        self._process.join()
        self._process.close()
        self._pipe.close()


def _serve(baseline: Baseline, pipe: Connection) -> None:
    """Answer pages until the parent is gone. An error that the library does not document ends the process."""
    logging.disable()  # failures come back as outcomes; the libraries log a traceback of each besides
    _timed(baseline, "<p>One paragraph.</p>", "https://example.org/")  # imports, before the clock runs
    pipe.send(None)
    while True:
        try:
            html, url = pipe.recv()
        except EOFError:
            return
        pipe.send(_timed(baseline, html, url))


def _timed(baseline: Baseline, html: str, url: str) -> _Outcome:
    started = time.perf_counter()
    try:
        text = baseline.extract(html, url)
    except ExtractionFailedError as error:
        return _Outcome(seconds=time.perf_counter() - started, error=str(error))
    return _Outcome(text=text, seconds=time.perf_counter() - started)
