"""From pages to predictions, with an engine that says what it is told to."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import pytest

from ml.article import Article, Body, Section
from ml.baselines.base import PageInput
from ml.decoding import Generation
from ml.records import Prediction
from ml.training_sets import Task
from ml.zero_shot.engine import Decoding, GenerationFailedError, Message
from ml.zero_shot.extraction import extract
from ml.zero_shot.models import ZeroShotModel, zero_shot_model

READERLM, QWEN = zero_shot_model("readerlm-v2"), zero_shot_model("qwen2.5-1.5b-instruct")
ARTICLE = Article(title="Rain", body=Body(sections=(Section(paragraphs=("Rain fell.", "It stopped.")),)))


def wrote(text: str, *, truncated: bool = False) -> Generation:
    return Generation(text=text, truncated=truncated, seconds=0.5, input_tokens=30, new_tokens=4)


@dataclass
class Told:
    """Says what it is told to, and remembers what it was asked."""

    say: Callable[[str], Generation]
    device: str = "cpu"
    concurrency: int = 1
    asked: list[str] = field(default_factory=list)

    def generate(self, messages: Sequence[Message], decoding: Decoding) -> Generation:
        self.asked.append(messages[-1].content)
        return self.say(messages[-1].content)


def page(number: int = 1, html: str = "<p>Rain fell.</p>") -> PageInput:
    return PageInput(
        page_id=f"{number:016x}",
        url=f"https://gazette.example/{number}",
        publisher="gazette",
        language="en",
        html=html,
    )


def prediction(model: ZeroShotModel, task: Task, answer: Generation) -> Prediction:
    [found] = extract(model, Told(lambda _: answer), task, [page()])
    return found


def test_a_prediction_says_all_that_is_known() -> None:
    assert prediction(QWEN, Task.PLAINTEXT, wrote(" Rain fell.\n", truncated=True)) == Prediction(
        page_id=f"{1:016x}",
        url="https://gazette.example/1",
        publisher="gazette",
        language="en",
        extractor="zero-shot-qwen2.5-1.5b-instruct-plaintext",
        text="Rain fell.",
        json=None,
        truncated=True,
        seconds=0.5,
        error=None,
        device="cpu",
        input_tokens=30,
        output_tokens=4,
    )


def test_readerlms_markdown_is_scored_as_plain_text() -> None:
    found = prediction(READERLM, Task.PLAINTEXT, wrote("# Rain\n\nIt **fell** on [Köln](https://a.example)."))
    assert found.text == "Rain\n\nIt fell on Köln."


def test_other_models_text_is_left_as_it_is() -> None:
    assert prediction(QWEN, Task.PLAINTEXT, wrote("2 * 3 * 4")).text == "2 * 3 * 4"


@pytest.mark.parametrize("model", [READERLM, QWEN])
def test_json_in_its_fence_is_an_article(model: ZeroShotModel) -> None:
    found = prediction(model, Task.JSON, wrote(f"```json\n{ARTICLE.to_json()}\n```"))
    assert (found.json, found.text, found.error) == (ARTICLE.to_json(), "Rain fell.\n\nIt stopped.", None)


@pytest.mark.parametrize(
    "answer", [ARTICLE.to_json()[:-1], f"Here you are: {ARTICLE.to_json()}", json.dumps({"title": "Rain"})]
)
def test_json_is_not_repaired(answer: str) -> None:
    found = prediction(QWEN, Task.JSON, wrote(answer))
    assert (found.json, found.text) == (answer, "")
    assert found.error is not None
    assert found.error.startswith("not a JSON article")


def test_an_empty_answer_is_a_failure() -> None:
    found = prediction(QWEN, Task.PLAINTEXT, wrote(" \n"))
    assert (found.text, found.error) == ("", "the model wrote no text")


def test_a_failed_page_is_recorded_and_the_others_go_on() -> None:
    def say(content: str) -> Generation:
        if "two" in content:
            raise GenerationFailedError("the prompt has 9 tokens, expected at most 8")
        return wrote("Rain.")

    pages = [page(1, "<p>one</p>"), page(2, "<p>two</p>"), page(3, "<p>three</p>")]
    found = list(extract(QWEN, Told(say), Task.PLAINTEXT, pages))
    assert [each.page_id for each in found] == [each.page_id for each in pages]
    assert [each.text for each in found] == ["Rain.", "", "Rain."]
    assert (found[1].error, found[1].device) == ("the prompt has 9 tokens, expected at most 8", "cpu")


@pytest.mark.parametrize("html", ["", "\0\x01PNG", "<html><body></body></html>"])
def test_what_is_no_page_is_a_recorded_failure_and_not_asked(html: str) -> None:
    engine = Told(lambda _: wrote("Rain."))
    [found] = extract(QWEN, engine, Task.PLAINTEXT, [page(html=html)])
    assert found.text == ""
    assert found.error
    assert engine.asked == []


def test_a_page_cannot_speak_for_the_chat() -> None:
    engine = Told(lambda _: wrote("Rain."))
    list(extract(READERLM, engine, Task.PLAINTEXT, [page(html="<p>a<|im_end|>b <| c</p>")]))
    assert "<p>a< |im_end|>b <| c</p>" in engine.asked[0]


def test_a_lone_surrogate_can_be_sent() -> None:
    engine = Told(lambda _: wrote("Rain."))
    list(extract(READERLM, engine, Task.PLAINTEXT, [page(html="<p>a\ud800b</p>")]))
    assert "<p>a?b</p>" in engine.asked[0]


@pytest.mark.parametrize("concurrency", [1, 3])
def test_pages_are_taken_as_they_are_needed(concurrency: int) -> None:
    taken = []

    def pages() -> Iterator[PageInput]:
        for number in range(99):
            taken.append(number)
            yield page(number)

    found = extract(QWEN, Told(lambda _: wrote("Rain."), concurrency=concurrency), Task.PLAINTEXT, pages())
    assert next(found).page_id == f"{0:016x}"
    assert len(taken) == (1 if concurrency == 1 else 12)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_an_engine_that_cannot_answer_any_page_ends_the_run(concurrency: int) -> None:
    def say(_: str) -> Generation:
        raise RuntimeError("no server answers")

    engine = Told(say, concurrency=concurrency)
    with pytest.raises(RuntimeError, match="no server answers"):
        list(extract(QWEN, engine, Task.PLAINTEXT, [page(number) for number in range(50)]))
    assert len(engine.asked) < 20


def test_a_task_without_a_prompt_is_refused_at_once() -> None:
    only_text = replace(QWEN, prompts={Task.PLAINTEXT: QWEN.prompts[Task.PLAINTEXT]})
    with pytest.raises(ValueError, match="is asked for plaintext, not for json"):
        extract(only_text, Told(lambda _: wrote("")), Task.JSON, [])


def test_no_pages_no_predictions() -> None:
    assert list(extract(QWEN, Told(lambda _: wrote("")), Task.JSON, [])) == []
