"""The process that a library runs in, so that no page can stop the run.

Belongs here: starting, limiting, timing and replacing the process, and turning what happens in it into an
outcome. Does not belong here: pages and predictions (`base.py`).
"""

import logging
import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from ml.article import normalise_text
from ml.baselines.extraction import Extraction, ExtractionFailedError

# Spawned, not forked: a fork of a threaded process, such as Dagster's, may inherit a held lock.
_PROCESSES = multiprocessing.get_context("spawn")

START_TIMEOUT_S = 120.0
MAX_OUTPUT_CHARS = 10_000_000  # several times the longest page; more would stop those who read the answers
MAX_ERROR_CHARS = 300

_OUT_OF_MEMORY = 112  # exit code of the worker, which no library uses
_ORPHAN_GRACE_S = 2.0

# Long enough that no library takes a short cut past its imports.
_FIRST_PAGE = (
    "<html lang='en'><head><title>The old bridge</title></head><body><article><h1>The old bridge</h1>"
    + "<p>The council voted on Monday to rebuild the old bridge over the river, which has been closed since the "
    "flood of last year, and asked three engineers to say what it would cost to do so before the winter.</p>"
    * 4
    + "</article></body></html>"
)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one page: a text, and the article as JSON, or an error."""

    text: str = ""
    json: str = ""
    seconds: float
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one page may cost."""

    timeout_s: float
    memory_mib: int  # beyond what the imported library takes; enforced on Linux only


@dataclass(frozen=True, kw_only=True)
class _Job:
    name: str
    extract: Callable[[str, str], Extraction]
    writes_json: bool
    limits: Limits


class Worker:
    """A process that extracts page after page, and is replaced when a page hangs or kills it.

    `extract` takes HTML and URL; it must be importable, such as a method of an instance that can be pickled.
    """

    def __init__(
        self, name: str, extract: Callable[[str, str], Extraction], *, writes_json: bool, limits: Limits
    ) -> None:
        self._job = _Job(name=name, extract=extract, writes_json=writes_json, limits=limits)

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def extract(self, html: str, url: str) -> Outcome:
        started = time.perf_counter()
        try:
            self._pipe.send((html, url))
            if self._pipe.poll(self._job.limits.timeout_s):
                outcome: Outcome = self._pipe.recv()
                return outcome
            error = f"no answer within {self._job.limits.timeout_s:g} s"
        except (EOFError, ConnectionError):
            self._process.join()
            error = self._cause_of_death()
        seconds = time.perf_counter() - started
        self._stop()
        self._start()
        return Outcome(seconds=seconds, error=error)

    def _cause_of_death(self) -> str:
        code = self._process.exitcode
        if code == _OUT_OF_MEMORY:
            return f"needed more than {self._job.limits.memory_mib} MiB"
        if code is not None and code < 0:
            return f"the worker process was ended by {signal.Signals(-code).name}"
        return f"the worker process died with exit code {code}"

    def _start(self) -> None:
        self._pipe, theirs = _PROCESSES.Pipe()
        self._process = _PROCESSES.Process(target=_serve, args=(self._job, theirs), daemon=True)
        self._process.start()
        theirs.close()  # so that the worker's death is the end of the pipe
        try:
            if self._pipe.poll(START_TIMEOUT_S):
                self._pipe.recv()
                return
        except (EOFError, ConnectionError):
            pass
        self._stop()
        raise RuntimeError(f"the worker process of {self._job.name} did not start; its error is above")

    def _stop(self) -> None:
        self._process.kill()
        self._process.join()
        self._process.close()
        self._pipe.close()


def _serve(job: _Job, pipe: Connection) -> None:
    """Answer pages until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this process
    logging.disable()  # failures come back as outcomes; the libraries log a traceback of each besides
    warnings.simplefilter("ignore")
    with suppress(ExtractionFailedError):
        job.extract(_FIRST_PAGE, "https://example.org/")  # imports, before the clock runs
    _limit_memory(job.limits.memory_mib)
    pipe.send(None)
    with suppress(EOFError, ConnectionError):  # the parent is gone
        while True:
            html, url = pipe.recv()
            with _ends_unless_done_within(job.limits.timeout_s + _ORPHAN_GRACE_S):
                outcome = _outcome(job, html, url)
            pipe.send(outcome)


def _limit_memory(mib: int) -> None:
    """Let the process take `mib` MiB more than it has; elsewhere than on Linux nothing enforces such a limit."""
    if sys.platform == "linux":
        import resource

        pages_in_use = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages_in_use * resource.getpagesize() + mib * 2**20
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(
            resource.RLIMIT_AS, (limit if most == resource.RLIM_INFINITY else min(limit, most), most)
        )


@contextmanager
def _ends_unless_done_within(seconds: float) -> Iterator[None]:
    """For a page that hangs after the parent was killed: nobody else would end this process then."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _outcome(job: _Job, html: str, url: str) -> Outcome:
    started = time.perf_counter()
    try:
        found = job.extract(html, url)
        return _answer(job, found, seconds=time.perf_counter() - started)
    except ExtractionFailedError as error:
        failure = str(error)
    except MemoryError:
        _end_for_want_of_memory()
    except Exception as error:  # noqa: BLE001 - containing the libraries' bugs is what this process is for
        if _ran_out_of_memory(error):
            _end_for_want_of_memory()
        failure = f"{type(error).__name__}: {error}"
    return Outcome(
        seconds=time.perf_counter() - started, error=_storable(normalise_text(failure))[:MAX_ERROR_CHARS]
    )


def _answer(job: _Job, found: Extraction, *, seconds: float) -> Outcome:
    text, json = _storable(found.text.strip()), found.article().to_json() if job.writes_json else ""
    if not text:
        raise ExtractionFailedError("found no text")
    if len(text) + len(json) > MAX_OUTPUT_CHARS:
        raise ExtractionFailedError(
            f"wrote {len(text) + len(json):,} characters, more than {MAX_OUTPUT_CHARS:,}"
        )
    return Outcome(text=text, json=json, seconds=seconds)


def _end_for_want_of_memory() -> NoReturn:
    """Without an answer: what memory is left may do neither for that nor for another page."""
    os._exit(_OUT_OF_MEMORY)


def _ran_out_of_memory(error: BaseException) -> bool:
    """Whether a `MemoryError` is behind it; readability-lxml, for one, raises its own error in its place."""
    while (earlier := error.__cause__ or error.__context__) is not None:
        if isinstance(earlier, MemoryError):
            return True
        error = earlier
    return False


def _storable(text: str) -> str:
    """Without halves of surrogate pairs, which Python strings can hold and no file can."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
