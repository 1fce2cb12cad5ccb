"""A server on loopback that speaks OpenAI's chat protocol and says what a test tells it to."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "maker/model-1"
KEY = "a-key"


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What goes over the wire."""

    status: int = 200
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    after_s: float = 0.0
    breaks_off: bool = False  # the connection is closed without a reply


def completion(
    content: object, *, finish_reason: str = "stop", after_s: float = 0.0, **more: object
) -> Reply:
    """A reply to POST /chat/completions; `more` are further fields, such as `usage`."""
    message = {"role": "assistant", "content": content}
    body = {
        "id": "c-1",
        "object": "chat.completion",
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
    }
    return Reply(body=json.dumps(body | more), after_s=after_s)


def refusal(status: int, message: str, headers: dict[str, str] | None = None) -> Reply:
    """An error in the form that servers of this protocol give it."""
    return Reply(status=status, body=json.dumps({"error": {"message": message}}), headers=headers or {})


@dataclass
class StubServer:
    """Serves one model to those without a key or with the right one.

    `answer` gets the body of a request and how many came before it.
    """

    url: str = ""
    model: str = MODEL
    answer: Callable[[dict[str, Any], int], Reply] = lambda _body, _number: completion("Rain fell.")
    requests: list[dict[str, Any]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    most_under_way: int = 0
    _under_way: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def says(self, *replies: Reply) -> None:
        """Give these replies, one a request, the last for ever."""
        self.answer = lambda _body, number: replies[min(number, len(replies) - 1)]

    def reply(self, path: str, authorization: str | None, body: dict[str, Any]) -> Reply:
        if authorization not in (None, f"Bearer {KEY}"):
            return refusal(401, "Invalid API key")
        if path == "/v1/models":
            return Reply(body=json.dumps({"object": "list", "data": [{"id": self.model, "object": "model"}]}))
        if path != "/v1/chat/completions":
            return refusal(404, "Not Found")
        if body["model"] != self.model:
            return refusal(404, f"The model `{body['model']}` does not exist.")
        return self._count_and_answer(body)

    def _count_and_answer(self, body: dict[str, Any]) -> Reply:
        with self._lock:
            number = len(self.requests)
            self.requests.append(body)
            self.times.append(time.monotonic())
            self._under_way += 1
            self.most_under_way = max(self.most_under_way, self._under_way)
        reply = self.answer(body, number)
        time.sleep(reply.after_s)
        with self._lock:
            self._under_way -= 1
        return reply


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    stub: StubServer

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _answer(self, body: dict[str, Any]) -> None:
        reply = self.stub.reply(self.path, self.headers.get("Authorization"), body)
        if reply.breaks_off:
            self.close_connection = True
            return
        content = reply.body.encode()
        self.send_response(reply.status)
        for name, value in (reply.headers | {"Content-Length": str(len(content))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Not into the output of the tests."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """A client that gives up waiting is a case like any other."""


@contextmanager
def serving() -> Iterator[StubServer]:
    """A stub at its `url`, as long as the context lasts."""
    stub = StubServer()
    handler = type("Handler", (_Handler,), {"stub": stub})
    with _Server(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        stub.url = f"http://127.0.0.1:{server.server_port}/v1"
        yield stub
        server.shutdown()
