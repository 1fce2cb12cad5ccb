"""Extraction of any number of pages: on all cores, in order, in little memory, whatever a page does to its process.

Belongs here: the worker processes. Does not belong here: a row's columns (`extraction_rows.py`), where pages come
from, or where rows go (`extraction_files.py`).
"""

import hashlib
import signal
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import chain
from multiprocessing import get_context
from pathlib import Path

from more_itertools import chunked

from ml.archives import ArchivedPage
from ml.extraction_rows import ExtractionRow, extraction_row, failed_row
from ml.extractor import Extractor

PAGES_PER_TASK = 16
TIMEOUT_S = 30.0


@dataclass(frozen=True, kw_only=True)
class Work:
    """What is done with every page."""

    model: Path
    provenance: bool = False
    timeout_s: float = TIMEOUT_S

    @property
    def version(self) -> str:
        """The first digits of the model file's SHA-256."""
        return _version(self.model)


@cache
def _version(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def extract_pages(pages: Iterable[ArchivedPage], work: Work, *, jobs: int) -> Iterator[ExtractionRow]:
    """One row a page, in order; `jobs` processes hold a few dozen pages each, however many there are.

    A page that kills its process, or takes longer than `timeout_s`, is an error in its row. A few pages are read in
    this process: starting others would take longer.
    """
    tasks = chunked(pages, PAGES_PER_TASK)
    yield from _extracted(next(tasks, []), work)
    if jobs == 1:
        yield from chain.from_iterable(_extracted(task, work) for task in tasks)
    else:
        yield from _in_processes(tasks, work, jobs)


Task = list[ArchivedPage]


def _in_processes(tasks: Iterable[Task], work: Work, jobs: int) -> Iterator[ExtractionRow]:
    """Rows of each task; when a process dies, the tasks under way are done again, a page at a time."""
    waiting: deque[tuple[Task, Future[list[ExtractionRow]]]] = deque()
    pool = _pool(jobs, work)
    try:
        for task in chain(tasks, [None] * 2 * jobs):  # the Nones empty the queue
            if task:
                waiting.append((task, pool.submit(_extracted, task, work)))
            if waiting and (not task or len(waiting) >= 2 * jobs):
                done, future = waiting.popleft()
                try:
                    yield from future.result()
                except BrokenProcessPool:
                    pool.shutdown(cancel_futures=True)
                    pool = _pool(jobs, work)
                    lost = [done, *(each for each, _ in waiting)]
                    waiting.clear()
                    for each in lost:
                        yield from _one_by_one(each, work)
    finally:
        pool.shutdown(cancel_futures=True)


def _one_by_one(task: Task, work: Work) -> Iterator[ExtractionRow]:
    """Each page in a process that may die alone."""
    pool = _pool(1, work)
    try:
        for page in task:
            try:
                yield from pool.submit(_extracted, [page], work).result()
            except BrokenProcessPool:
                yield failed_row(page, "the page killed the process that read it", model=work.version)
                pool.shutdown()
                pool = _pool(1, work)
    finally:
        pool.shutdown(cancel_futures=True)


def _pool(jobs: int, work: Work) -> ProcessPoolExecutor:
    """Processes that are up, and leave interrupts to this one."""
    context = get_context("forkserver")  # not forked: threads of this process would leave their locks behind
    context.set_forkserver_preload(["ml.bulk"])
    ignore = (signal.SIGINT, signal.SIG_IGN)
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=signal.signal, initargs=ignore)
    with _interrupts_later():  # nobody waits for half a process
        wait([pool.submit(_extracted, [], work) for _ in range(jobs)])
    return pool


@contextmanager
def _interrupts_later() -> Iterator[None]:
    interrupts: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupts:
        raise KeyboardInterrupt


def _extracted(task: Task, work: Work) -> list[ExtractionRow]:
    extractor = _loaded(work.model)
    rows = []
    for page in task:
        try:
            with _time_limit(work.timeout_s):
                rows.append(extraction_row(extractor, page, model=work.version, provenance=work.provenance))
        except _TooLongError:
            rows.append(failed_row(page, f"took longer than {work.timeout_s:g} s", model=work.version))
    return rows


@cache
def _loaded(path: Path) -> Extractor:
    return Extractor.load(path)


class _TooLongError(Exception):
    """The page took longer than it may."""


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
