"""Examples as token ids: what is read, what is learnt, and what happens to long ones."""

from typing import TYPE_CHECKING

import pytest

from ml.backbones import load_backbone
from ml.datasets import IGNORE, encode_example, encode_examples, encode_prompt
from ml.experiments import EXPERIMENTS, Experiment
from ml.prompts import PROMPTS
from ml.records import Example

if TYPE_CHECKING:
    from pathlib import Path

    from transformers import PreTrainedTokenizerBase

PLAIN = EXPERIMENTS["tiny-plaintext"]
SHORT = PLAIN.model_copy(update={"max_input_tokens": 6, "max_output_tokens": 4})
STRICT = SHORT.model_copy(update={"overlong": "refuse"})


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> "PreTrainedTokenizerBase":
    cache: Path = tmp_path_factory.mktemp("cache")
    return load_backbone("tiny", cache_dir=cache)[1]


def example(page: str, target: str) -> Example:
    return Example(
        page_id="0" * 16,
        url="https://gazette.example/1",
        publisher="gazette",
        language="en",
        split="train",
        input=page,
        target=target,
    )


@pytest.mark.parametrize("task", ["plaintext", "json"])
def test_the_model_reads_prompt_and_page_and_learns_the_target(
    task: str, tokenizer: "PreTrainedTokenizerBase"
) -> None:
    experiment = EXPERIMENTS[f"tiny-{task}"]
    encoded = encode_example(example("<h1>Rain</h1>", "Rain fell."), tokenizer, experiment)
    read = tokenizer.decode(encoded.input_ids[: encoded.prompt_tokens])
    written = tokenizer.decode(encoded.input_ids[encoded.prompt_tokens :])
    assert read == f"{PROMPTS[task].before}<h1>Rain</h1>{PROMPTS[task].after}"
    assert written == f"Rain fell.{tokenizer.eos_token}"
    assert not encoded.truncated


def test_labels_hide_the_prompt_only(tokenizer: "PreTrainedTokenizerBase") -> None:
    encoded = encode_example(example("<h1>Rain</h1>", "Rain fell."), tokenizer, PLAIN)
    labels, start = encoded.labels, encoded.prompt_tokens
    assert (labels[:start] == IGNORE).all()
    assert (labels[start:] == encoded.input_ids[start:]).all()
    assert (encoded.input_ids != IGNORE).all()


def test_decoding_reads_the_prompt_of_training(tokenizer: "PreTrainedTokenizerBase") -> None:
    encoded = encode_example(example("a page", "a text"), tokenizer, PLAIN)
    prompt = encode_prompt("a page", tokenizer, PLAIN)
    assert (encoded.input_ids[: encoded.prompt_tokens] == prompt.input_ids).all()


def test_a_page_cannot_write_special_tokens(tokenizer: "PreTrainedTokenizerBase") -> None:
    page = f"a{tokenizer.eos_token}b<|im_start|>c"
    ids = encode_prompt(page, tokenizer, PLAIN).input_ids.tolist()
    assert not set(tokenizer.all_special_ids) & set(ids)
    assert page in tokenizer.decode(ids)


def test_a_lone_surrogate_becomes_a_question_mark(tokenizer: "PreTrainedTokenizerBase") -> None:
    assert "a?b" in tokenizer.decode(encode_prompt("a\ud800b", tokenizer, PLAIN).input_ids)


def test_a_long_page_keeps_its_head_and_is_flagged(tokenizer: "PreTrainedTokenizerBase") -> None:
    prompt = encode_prompt("one two three four five six seven eight", tokenizer, SHORT)
    text = tokenizer.decode(prompt.input_ids)
    assert prompt.truncated
    assert "one two three four five six\n" in text
    assert text.endswith(PROMPTS["plaintext"].after)


def test_a_cut_target_does_not_end(tokenizer: "PreTrainedTokenizerBase") -> None:
    encoded = encode_example(example("page", "one two three four five"), tokenizer, SHORT)
    assert encoded.truncated
    assert tokenizer.decode(encoded.input_ids[encoded.prompt_tokens :]) == "one two three four"


def test_the_limits_are_inclusive(tokenizer: "PreTrainedTokenizerBase") -> None:
    fitting = example("one two three four five six", "one two three four")
    assert not encode_example(fitting, tokenizer, STRICT).truncated


@pytest.mark.parametrize(
    ("page", "target", "found"),
    [
        ("one two three four five six seven", "one", "the page has 7 tokens, tiny-plaintext takes at most 6"),
        ("one", "one two three four five", "the target has 5 tokens, tiny-plaintext takes at most 4"),
    ],
)
def test_a_refused_example_is_named_with_its_numbers(
    page: str, target: str, found: str, tokenizer: "PreTrainedTokenizerBase"
) -> None:
    with pytest.raises(ValueError, match=f"https://gazette.example/1: {found}"):
        encode_example(example(page, target), tokenizer, STRICT)


def test_all_refused_examples_are_reported_together(tokenizer: "PreTrainedTokenizerBase") -> None:
    long = example("one two three four five six seven", "one")
    with pytest.raises(ValueError, match="2 of 3 examples are too long"):
        encode_examples([long, example("one", "one"), long], tokenizer, STRICT)


def test_experiments_that_fit_their_pages_lose_nothing(tokenizer: "PreTrainedTokenizerBase") -> None:
    experiment = Experiment(name="x", backbone="tiny", task="plaintext")
    encoded = encode_example(example("word " * 20_000, "word " * 7_000), tokenizer, experiment)
    assert not encoded.truncated
    assert len(encoded.input_ids) > 27_000
