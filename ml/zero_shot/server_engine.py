"""Asks a model on a server that speaks OpenAI's chat protocol, such as vLLM's.

Belongs here: the protocol, retries, and which failure is a page's and which ends a run. Does not belong here: prompts
or pages, or starting a server.
"""

import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Annotated, Any, Self, TypeVar

import httpx
from pydantic import BaseModel, Field, ValidationError
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

from ml.decoding import Generation
from ml.zero_shot.engine import Decoding, GenerationFailedError, Message

_CONNECT_TIMEOUT_S = 10.0
_SHOWN_CHARACTERS = 300

_KEY = re.compile(r"[!-~]+")

_BUSY = frozenset({429, 502, 503, 504})  # says nothing about the page
_REMEDIES: Mapping[int, str] = {
    401: "pass the server's API key",
    403: "pass an API key that may use this model",
    405: "correct the address; it usually ends in /v1",
    **dict.fromkeys((301, 302, 307, 308), "use the address that it redirects to"),
    **dict.fromkeys(_BUSY, "it had no time after all retries: lower the concurrency, or wait and run again"),
}
"""What to do about a status that every page would get."""

_Reply = TypeVar("_Reply", bound=BaseModel)


class _Said(BaseModel):
    content: str


class _Choice(BaseModel):
    message: _Said
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Completion(BaseModel):
    """What we read of a reply to POST /chat/completions."""

    choices: Annotated[tuple[_Choice, ...], Field(min_length=1)]
    usage: _Usage | None = None


class _Model(BaseModel):
    id: str


class _Models(BaseModel):
    """What we read of a reply to GET /models."""

    data: tuple[_Model, ...]


class _TransientError(Exception):
    """Worth another try; `final` is what to raise when there is none left."""

    def __init__(self, final: Exception, *, retry_after_s: float | None = None) -> None:
        super().__init__(str(final))
        self.final = final
        self.retry_after_s = retry_after_s


class ServerEngine:
    """One model of one server. Use it as a context manager, or `close` it.

    `timeout_s` is for one answer. Connection errors and statuses 429 and 5xx are tried `attempts` times in all,
    after the time that the server asks for (`Retry-After`, at most `max_wait_s`), or else with growing, random
    pauses from `backoff_s` on. vLLM, SGLang and others read `repetition_penalty`, which OpenAI's own servers refuse.
    """

    device = "server"

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        concurrency: int = 8,
        timeout_s: float = 600.0,
        attempts: int = 5,
        backoff_s: float = 1.0,
        max_wait_s: float = 120.0,
    ) -> None:
        if httpx.URL(base_url).scheme not in ("http", "https"):
            raise ValueError(f"found the address {base_url!r}, expected one such as http://localhost:8000/v1")
        if api_key and not _KEY.fullmatch(api_key):
            raise ValueError("the API key holds a space or a sign that no HTTP header takes: copy it again")
        self._base_url = base_url.rstrip("/")
        self._model = model
        self._timeout_s = timeout_s
        self._concurrency = concurrency
        self._max_wait_s = max_wait_s
        self._pause = wait_random_exponential(multiplier=backoff_s, max=max_wait_s)
        self._attempts = attempts
        self._clock = _SharedClock()
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            timeout=httpx.Timeout(timeout_s, connect=_CONNECT_TIMEOUT_S),
            limits=httpx.Limits(max_connections=concurrency),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @property
    def concurrency(self) -> int:
        """Pages asked for at the same time; the server batches them."""
        return self._concurrency

    def generate(self, messages: Sequence[Message], decoding: Decoding) -> Generation:
        """The model's next turn; of `decoding`, the server's own settings say what the context is."""
        response, seconds = self._ask(_request(self._model, messages, decoding))
        self._require_success(response)
        completion = _read(response, _Completion)
        choice, usage = completion.choices[0], completion.usage or _Usage()
        return Generation(
            text=choice.message.content,
            truncated=choice.finish_reason == "length",
            seconds=seconds,
            input_tokens=usage.prompt_tokens,
            new_tokens=usage.completion_tokens,
        )

    def _ask(self, body: Mapping[str, Any]) -> tuple[httpx.Response, float]:
        """`_post`, again as long as that may help."""
        retrying = Retrying(
            stop=stop_after_attempt(self._attempts),
            wait=self._wait,
            retry=retry_if_exception_type(_TransientError),
            reraise=True,
        )
        try:
            return retrying(self._post, body)
        except _TransientError as error:
            raise error.final from error

    def _wait(self, state: RetryCallState) -> float:
        """What the server asks for, or else a random pause that grows."""
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after_s if isinstance(error, _TransientError) else None
        return self._pause(state) if asked is None else min(asked, self._max_wait_s)

    def _post(self, body: Mapping[str, Any]) -> tuple[httpx.Response, float]:
        """A reply that another try would not change, and its share of the time that all requests take."""
        before = self._clock.advance(1)
        try:
            response = self._send(body)
        finally:
            after = self._clock.advance(-1)
        if response.status_code in _BUSY:
            raise _TransientError(self._refused(response), retry_after_s=_retry_after_s(response))
        if response.is_server_error:
            raise _TransientError(_page_failed(response), retry_after_s=_retry_after_s(response))
        return response, after - before

    def _send(self, body: Mapping[str, Any]) -> httpx.Response:
        try:
            return self._client.post(f"{self._base_url}/chat/completions", json=body)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise _TransientError(self._unreachable()) from error
        except httpx.TimeoutException as error:  # another try would take as long
            raise GenerationFailedError(f"no answer within {self._timeout_s:g} s") from error
        except httpx.RequestError as error:
            raise _TransientError(GenerationFailedError(f"the connection broke: {error}")) from error

    def _require_success(self, response: httpx.Response) -> None:
        if response.status_code == httpx.codes.NOT_FOUND:
            raise self._unknown(response)
        if response.status_code in _REMEDIES:
            raise self._refused(response)
        if not response.is_success:
            raise _page_failed(response)

    def _unreachable(self) -> RuntimeError:
        return RuntimeError(
            f"no server answers at {self._base_url}: start one, for instance with `vllm serve {self._model}`, or "
            f"correct the address"
        )

    def _refused(self, response: httpx.Response) -> RuntimeError:
        return RuntimeError(f"{_described(response)}; {_REMEDIES[response.status_code]}")

    def _unknown(self, response: httpx.Response) -> RuntimeError:
        """Either the model or the address is wrong; the models that there are tell which."""
        try:
            listed = self._client.get(f"{self._base_url}/models")
            there = ", ".join(model.id for model in _read(listed, _Models).data)
        except (httpx.RequestError, GenerationFailedError):
            return RuntimeError(f"{_described(response)}; correct the address, which usually ends in /v1")
        return RuntimeError(
            f"{_described(response)}; it has no model {self._model}, but: {there}. Serve the model, or name "
            f"the one that is meant"
        )


def _request(model: str, messages: Sequence[Message], decoding: Decoding) -> dict[str, Any]:
    return {
        "model": model,
        "messages": [asdict(message) for message in messages],
        "max_tokens": decoding.max_new_tokens,
        "temperature": 0,
        "repetition_penalty": decoding.repetition_penalty,
    }


def _read(response: httpx.Response, kind: type[_Reply]) -> _Reply:
    """The reply as the protocol has it; raises `GenerationFailedError` where it is something else."""
    try:
        return kind.model_validate_json(response.content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "text"
        raise GenerationFailedError(
            f"the server's reply is not OpenAI's protocol: {where}: {first['msg']}; found {_shown(response.text)}"
        ) from error


def _page_failed(response: httpx.Response) -> GenerationFailedError:
    return GenerationFailedError(_described(response))


def _described(response: httpx.Response) -> str:
    return f"{response.url} answered {response.status_code}: {_shown(response.text)}"


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def _retry_after_s(response: httpx.Response) -> float | None:
    """Seconds that the server asks to wait, given as such or as a date (RFC 9110, 10.2.3)."""
    asked = response.headers.get("Retry-After", "")
    if asked.isascii() and asked.isdecimal():
        return float(asked)
    try:
        date = parsedate_to_datetime(asked)
    except ValueError:
        return None
    return max((date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds(), 0.0)


class _SharedClock:
    """Splits time among the requests that are under way, so that their seconds add up to the time that passed.

    With n requests under way each gets 1/n of every moment; the sum is what the run took, not n times as long.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way = 0
        self._per_request = 0.0  # integral of 1/n over the time with n > 0
        self._then = 0.0

    def advance(self, change: int) -> float:
        """Account for the time until now, then for a request that starts (1) or ends (-1).

        The difference between what is returned at a request's start and at its end are its seconds.
        """
        with self._lock:
            now = time.perf_counter()
            if self._under_way:
                self._per_request += (now - self._then) / self._under_way
            self._then, self._under_way = now, self._under_way + change
            return self._per_request
