"""The OpenAI protocol over a real connection: answers, retries, failures of a page and failures of a run."""

import re
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from openai_stub import KEY, MODEL, Reply, StubServer, completion, refusal, serving

from ml.baselines.base import PageInput
from ml.training_sets import Task
from ml.zero_shot.engine import Decoding, GenerationFailedError, Message
from ml.zero_shot.extraction import extract
from ml.zero_shot.models import zero_shot_model
from ml.zero_shot.server_engine import ServerEngine

ASKED = (Message(role="system", content="Copy."), Message(role="user", content="Köln"))
DECODING = Decoding(context_tokens=100, max_new_tokens=20, repetition_penalty=1.08)


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with serving() as server:
        yield server


@pytest.fixture
def engine(stub: StubServer) -> Iterator[ServerEngine]:
    with ServerEngine(stub.url, MODEL, attempts=3, backoff_s=0.01, timeout_s=5.0) as engine:
        yield engine


def test_an_answer_with_what_it_cost(stub: StubServer, engine: ServerEngine) -> None:
    stub.says(completion("Regen in Köln.", usage={"prompt_tokens": 12, "completion_tokens": 5}, after_s=0.1))
    generation = engine.generate(ASKED, DECODING)
    assert generation.text == "Regen in Köln."
    assert (generation.input_tokens, generation.new_tokens, generation.truncated) == (12, 5, False)
    assert 0.1 < generation.seconds < 2


def test_what_is_asked(stub: StubServer, engine: ServerEngine) -> None:
    engine.generate(ASKED, DECODING)
    assert stub.requests == [
        {
            "model": MODEL,
            "messages": [{"role": "system", "content": "Copy."}, {"role": "user", "content": "Köln"}],
            "max_tokens": 20,
            "temperature": 0,
            "repetition_penalty": 1.08,
        }
    ]


def test_an_answer_cut_off_by_its_length_is_flagged(stub: StubServer, engine: ServerEngine) -> None:
    stub.says(completion("Regen in", finish_reason="length"))
    generation = engine.generate(ASKED, DECODING)
    assert (generation.text, generation.truncated) == ("Regen in", True)


@pytest.mark.parametrize("more", [{}, {"usage": None}, {"usage": {}}])
def test_a_server_need_not_count(more: dict[str, object], stub: StubServer, engine: ServerEngine) -> None:
    stub.says(completion("Regen.", **more))
    generation = engine.generate(ASKED, DECODING)
    assert (generation.input_tokens, generation.new_tokens) == (None, None)


def waited(stub: StubServer) -> float:
    first, second = stub.times
    return second - first


def test_retry_after_is_obeyed(stub: StubServer, engine: ServerEngine) -> None:
    stub.says(refusal(429, "busy", {"Retry-After": "1"}), completion("Later."))
    assert engine.generate(ASKED, DECODING).text == "Later."
    assert waited(stub) >= 1


def test_retry_after_may_be_a_date(stub: StubServer, engine: ServerEngine) -> None:
    at = datetime.now(UTC) + timedelta(seconds=2)
    stub.says(refusal(503, "busy", {"Retry-After": format_datetime(at, usegmt=True)}), completion("Later."))
    assert engine.generate(ASKED, DECODING).text == "Later."
    assert waited(stub) > 0.5  # the date has no fractions of a second


def test_nobody_is_waited_for_longer_than_the_limit(stub: StubServer) -> None:
    stub.says(refusal(429, "busy", {"Retry-After": "86400"}), completion("Later."))
    with ServerEngine(stub.url, MODEL, max_wait_s=0.1) as engine:
        assert engine.generate(ASKED, DECODING).text == "Later."
    assert 0.1 <= waited(stub) < 2


@pytest.mark.parametrize("asked", ["soon", "-1", "²", ""])
def test_a_retry_after_that_says_nothing_is_ignored(
    asked: str, stub: StubServer, engine: ServerEngine
) -> None:
    stub.says(refusal(429, "busy", {"Retry-After": asked}), completion("Later."))
    assert engine.generate(ASKED, DECODING).text == "Later."


@pytest.mark.parametrize("first", [refusal(500, "oops"), Reply(breaks_off=True), refusal(502, "oops")])
def test_a_passing_fault_is_tried_again(first: Reply, stub: StubServer, engine: ServerEngine) -> None:
    stub.says(first, completion("Rain."))
    assert engine.generate(ASKED, DECODING).text == "Rain."
    assert len(stub.requests) == 2


@pytest.mark.parametrize(
    ("reply", "expected", "tries"),
    [
        (refusal(500, "oops"), "answered 500: .*oops", 3),
        (Reply(breaks_off=True), "the connection broke", 3),
        (refusal(400, "maximum context length is 100 tokens, found 120"), "answered 400: .*found 120", 1),
        (Reply(body="Rain", headers={"Content-Encoding": "gzip"}), "the connection broke", 3),
        (Reply(body="<html>Welcome"), "not OpenAI's protocol: text: Invalid JSON.*found <html>Welcome", 1),
        (Reply(body='{"object": "list"}'), "protocol: choices: Field required", 1),
        (Reply(body='{"choices": []}'), "protocol: choices: .*at least 1", 1),
        (completion(None), "protocol: choices.0.message.content: .*valid string", 1),
        (completion(["Rain"]), "protocol: choices.0.message.content: .*valid string", 1),
        (Reply(body="[" + "x" * 9_999), r"x…$", 1),
    ],
)
def test_a_page_fails_and_says_why(
    reply: Reply, expected: str, tries: int, stub: StubServer, engine: ServerEngine
) -> None:
    stub.says(reply)
    with pytest.raises(GenerationFailedError, match=expected):
        engine.generate(ASKED, DECODING)
    assert len(stub.requests) == tries


def test_a_slow_answer_fails_its_page_and_is_not_asked_for_again(stub: StubServer) -> None:
    stub.says(completion("Late.", after_s=0.5))
    with (
        ServerEngine(stub.url, MODEL, timeout_s=0.1) as engine,
        pytest.raises(GenerationFailedError, match=r"no answer within 0.1 s"),
    ):
        engine.generate(ASKED, DECODING)
    assert len(stub.requests) == 1


def failure_of_the_run(url: str, model: str = MODEL, api_key: str | None = None) -> str:
    with (
        ServerEngine(url, model, api_key=api_key, attempts=2, backoff_s=0.01) as engine,
        pytest.raises(RuntimeError) as error,
    ):
        engine.generate(ASKED, DECODING)
    return str(error.value)


def test_an_unknown_model_lists_those_there_are(stub: StubServer) -> None:
    message = failure_of_the_run(stub.url, model="maker/other")
    assert "answered 404" in message
    assert f"it has no model maker/other, but: {MODEL}." in message


def test_an_address_without_its_path_is_recognised(stub: StubServer) -> None:
    message = failure_of_the_run(stub.url.removesuffix("/v1"))
    assert "correct the address, which usually ends in /v1" in message


def test_a_wrong_key_is_said_and_not_shown(stub: StubServer) -> None:
    message = failure_of_the_run(stub.url, api_key="another-secret")
    assert "answered 401: " in message
    assert "pass the server's API key" in message
    assert "another-secret" not in message


def test_the_right_key_is_sent(stub: StubServer) -> None:
    with ServerEngine(stub.url, MODEL, api_key=KEY) as engine:
        assert engine.generate(ASKED, DECODING).text == "Rain fell."


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_never_has_time_is_no_failure_of_the_page(status: int, stub: StubServer) -> None:
    stub.says(refusal(status, "busy"))
    assert "lower the concurrency" in failure_of_the_run(stub.url)


def test_a_redirect_is_not_followed_with_the_key(stub: StubServer) -> None:
    stub.says(Reply(status=307, headers={"Location": "http://elsewhere.example/"}))
    assert "use the address that it redirects to" in failure_of_the_run(stub.url)


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_without_a_server_what_to_start_is_said(closed_port: int) -> None:
    url = f"http://127.0.0.1:{closed_port}/v1"
    message = failure_of_the_run(url, model="Qwen/Qwen2.5-32B-Instruct")
    assert f"no server answers at {url}" in message
    assert "`vllm serve Qwen/Qwen2.5-32B-Instruct`" in message


@pytest.mark.parametrize("address", ["localhost:8000/v1", "", "ftp://localhost/v1"])
def test_what_is_no_address_is_refused_at_once(address: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"found the address {address!r}")):
        ServerEngine(address, MODEL)


@pytest.mark.parametrize("key", ["a-key\n", "a key", "schlüssel"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ValueError, match="the API key holds a space") as error:
        ServerEngine("http://localhost:8000/v1", MODEL, api_key=key)
    assert key not in str(error.value)


def pages(number: int) -> list[PageInput]:
    return [
        PageInput(
            page_id=f"{each:016x}",
            url=f"https://gazette.example/{each}",
            publisher="gazette",
            language="en",
            html=f"<p>Page {each}.</p>",
        )
        for each in range(number)
    ]


def named(body: dict[str, list[dict[str, str]]]) -> int:
    """The number of the page that a request is about."""
    found = re.search(r"Page (\d+)\.", body["messages"][-1]["content"])
    assert found
    return int(found[1])


def test_pages_are_asked_together_and_answered_in_order(stub: StubServer) -> None:
    """The first of each four is the slowest; their seconds are shares of the time that passed."""
    stub.answer = lambda body, _: completion(
        f"Text {named(body)}.", after_s=0.4 if named(body) % 4 == 0 else 0.1
    )
    with ServerEngine(stub.url, MODEL, concurrency=4) as engine:
        found = list(extract(zero_shot_model("readerlm-v2"), engine, Task.PLAINTEXT, pages(12)))
    assert [prediction.text for prediction in found] == [f"Text {number}." for number in range(12)]
    assert stub.most_under_way == 4
    assert {prediction.device for prediction in found} == {"server"}
    slept = 3 * 0.4 + 9 * 0.1
    total = sum(prediction.seconds for prediction in found)
    assert stub.times[-1] - stub.times[0] <= total < slept


def test_one_page_fails_and_the_others_go_on(stub: StubServer) -> None:
    stub.answer = lambda body, _: refusal(400, "too long") if named(body) == 1 else completion("Rain.")
    with ServerEngine(stub.url, MODEL, concurrency=2) as engine:
        found = list(extract(zero_shot_model("readerlm-v2"), engine, Task.PLAINTEXT, pages(4)))
    assert [prediction.text for prediction in found] == ["Rain.", "", "Rain.", "Rain."]
    assert found[1].error is not None
    assert "too long" in found[1].error


def test_a_run_without_a_server_ends_instead_of_answering_nothing(closed_port: int) -> None:
    with (
        ServerEngine(f"http://127.0.0.1:{closed_port}/v1", MODEL, attempts=1, concurrency=4) as engine,
        pytest.raises(RuntimeError, match="no server answers"),
    ):
        list(extract(zero_shot_model("readerlm-v2"), engine, Task.PLAINTEXT, pages(9)))
