"""What tests of several parts need: the real pages, where they are, and servers on loopback."""

import functools
import http.server
import os
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

os.environ.setdefault("DAGSTER_DISABLE_TELEMETRY", "true")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real pages; tests that need it skip where a clone does not have it."""
    default = Path(__file__).resolve().parents[2] / "shared"
    folder = Path(os.environ.get("NEWSLM_SHARED", default)) / "data"
    if not (folder / "ccnews").is_dir():
        pytest.skip(f"the real pages are not here: {folder} is missing; set NEWSLM_SHARED to their folder")
    return folder


@dataclass(frozen=True)
class FileServer:
    """A folder served on loopback, and how often each path was asked for."""

    url: str
    requests: Counter[str] = field(default_factory=Counter)


@pytest.fixture(scope="session")
def ccnews_server(shared: Path) -> Iterator[FileServer]:
    """The shared pages, served as Common Crawl serves CC-NEWS."""
    counts: Counter[str] = Counter()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            counts[self.path] += 1

    handler = functools.partial(Handler, directory=str(shared / "ccnews"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield FileServer(url=f"http://127.0.0.1:{server.server_port}/", requests=counts)
        server.shutdown()
