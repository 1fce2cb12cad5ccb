"""The rows: what each model is asked, and that a changed question is another version."""

from dataclasses import replace

import pytest

from ml.article import article_json_schema
from ml.page import parse_page, render_compact
from ml.training_sets import Task
from ml.zero_shot.models import ZERO_SHOT_MODELS, ZeroShotModel, zero_shot_model
from ml.zero_shot.prompts import ChatPrompt

HTML = "<html><head><script>x = 1</script></head><body><h1>Rain</h1><p class='a'>It fell.</p></body></html>"
ROWS = [pytest.param(model, id=name) for name, model in ZERO_SHOT_MODELS.items()]


def asked(model: ZeroShotModel, task: Task) -> list[tuple[str, str]]:
    messages = model.prompts[task].messages(model.render(HTML))
    return [(message.role, message.content) for message in messages]


def test_readerlm_is_asked_as_its_card_says() -> None:
    [(role, content)] = asked(zero_shot_model("readerlm-v2"), Task.PLAINTEXT)
    assert role == "user"
    assert content == (
        "Extract the main content from the given HTML and convert it to Markdown format.\n"
        "```html\n<html><head></head><body><h1>Rain</h1><p class='a'>It fell.</p></body></html>\n```"
    )
    assert zero_shot_model("readerlm-v2").decoding.repetition_penalty == 1.08


def test_readerlm_gets_the_schema_after_the_page() -> None:
    [(_, content)] = asked(zero_shot_model("readerlm-v2"), Task.JSON)
    page, schema = content.split("\n```\nThe JSON schema is as follows:```json\n")
    assert page.endswith("</html>")
    assert schema.endswith("\n```")


@pytest.mark.parametrize("name", ["qwen2.5-1.5b-instruct", "qwen2.5-32b-instruct", "smollm2-135m"])
def test_chat_models_read_our_compact_page(name: str) -> None:
    for task in Task:
        (system, _), (user, content) = asked(zero_shot_model(name), task)
        assert (system, user) == ("system", "user")
        assert render_compact(parse_page(HTML)) in content


@pytest.mark.parametrize("model", ROWS)
def test_every_model_is_shown_every_field_of_the_schema(model: ZeroShotModel) -> None:
    content = asked(model, Task.JSON)[-1][1]
    assert all(f'"{field}"' in content for field in article_json_schema()["properties"])


@pytest.mark.parametrize("model", ROWS)
def test_a_row_is_complete(model: ZeroShotModel) -> None:
    assert set(model.prompts) == set(model.readers) == set(Task)
    assert model.decoding.max_new_tokens < model.decoding.context_tokens
    assert "/" in model.source
    assert model.licence in ("Apache-2.0", "CC-BY-NC-4.0")


def test_the_licence_that_forbids_commercial_use_is_said() -> None:
    model = zero_shot_model("readerlm-v2")
    assert (model.source, model.licence) == ("jinaai/ReaderLM-v2", "CC-BY-NC-4.0")
    assert "commercial use is not permitted" in model.notice


def test_extractors_are_named_by_model_and_task() -> None:
    names = {model.extractor(task) for model in ZERO_SHOT_MODELS.values() for task in Task}
    assert "zero-shot-readerlm-v2-plaintext" in names
    assert len(names) == 2 * len(ZERO_SHOT_MODELS)


def test_versions_tell_models_and_tasks_apart_and_stay() -> None:
    versions = {model.version(task) for model in ZERO_SHOT_MODELS.values() for task in Task}
    assert len(versions) == 2 * len(ZERO_SHOT_MODELS)
    model = zero_shot_model("readerlm-v2")
    assert model.version(Task.JSON) == replace(model).version(Task.JSON)


@pytest.mark.parametrize(
    "change",
    [
        {"revision": 2},
        {"chat_template": "{{ messages }}"},
        {"decoding": replace(zero_shot_model("readerlm-v2").decoding, repetition_penalty=1.0)},
        {"backbone": zero_shot_model("smollm2-135m").backbone},
        {"prompts": {Task.PLAINTEXT: ChatPrompt(before="Copy: ", after="")}},
    ],
)
def test_what_changes_an_answer_changes_the_version(change: dict[str, object]) -> None:
    model = zero_shot_model("readerlm-v2")
    assert replace(model, **change).version(Task.PLAINTEXT) != model.version(Task.PLAINTEXT)


def test_an_unknown_model_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'gpt'; there are: readerlm-v2, qwen2.5-1.5b-instruct"):
        zero_shot_model("gpt")
