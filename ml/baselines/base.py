"""What every baseline shares: raw HTML in, one prediction a page out, whatever the page does to the library.

Belongs here: the interface, and the loop over pages. Does not belong here: how a library is called, which is
one method in a file of its own, what it finds (`extraction.py`) or the process that it runs in (`worker.py`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from typing import ClassVar

from ml.baselines.extraction import Extraction
from ml.baselines.worker import Limits, Worker
from ml.extras import require_extra
from ml.records import Prediction


@dataclass(frozen=True, kw_only=True)
class PageInput:
    """A page as it was received."""

    page_id: str
    url: str
    publisher: str
    language: str | None
    html: str


class Baseline(ABC):
    """A published extractor, used as its authors advise for news.

    Instances hold nothing that cannot be sent to another process.
    """

    name: ClassVar[str]
    package: ClassVar[str]  # to import
    distribution: ClassVar[str]  # to install
    revision: ClassVar[int] = 1  # raised when the file changes what it makes of a page
    gives: ClassVar[frozenset[str]] = frozenset()  # keys of the article's JSON, beside the body

    @abstractmethod
    def extract(self, html: str, url: str) -> Extraction:
        """What the library finds, without a network; raises `ExtractionFailedError` where that is nothing.

        A blank text counts as nothing; any other exception is recorded as a failure of this page.
        """

    @property
    def version(self) -> str | None:
        """The library's release and this file's revision, which answers depend on; None where it is missing."""
        if find_spec(self.package) is None:
            return None
        return f"{metadata.version(self.distribution)}-{self.revision}"

    def require_installed(self) -> None:
        """Raise `RuntimeError` with the command that installs the library, where it is missing."""
        require_extra("baselines", self.package)


def run_baseline(
    baseline: Baseline, pages: Iterable[PageInput], *, timeout_s: float = 60.0, memory_limit_mib: int = 2048
) -> Iterator[Prediction]:
    """One prediction a page, in order; a failure, hang or crash is an empty text with its error.

    `memory_limit_mib` is what a page may cost beyond the imported library; it is enforced on Linux only. Raises
    `RuntimeError` if the library is missing or its worker process cannot start.
    """
    baseline.require_installed()
    limits = Limits(timeout_s=timeout_s, memory_mib=memory_limit_mib)
    with Worker(baseline.name, baseline.extract, writes_json=bool(baseline.gives), limits=limits) as worker:
        for page in pages:
            outcome = worker.extract(page.html, page.url)
            yield Prediction(
                page_id=page.page_id,
                url=page.url,
                publisher=page.publisher,
                language=page.language,
                extractor=baseline.name,
                text=outcome.text,
                json=outcome.json if baseline.gives else None,
                truncated=False,
                seconds=outcome.seconds,
                error=outcome.error,
                device="cpu",
            )
