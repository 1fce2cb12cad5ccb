"""Token counts: SmolLM2's own numbers, without its weights."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.tokens import count_tokens, load_tokenizer, pack, tokenizer_from_gguf


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        # From the vocabulary: "Hello" 19556, "," 28, " world" 905, "!" 17.
        ("Hello, world!", ["Hello", ",", "Ġworld", "!"]),
        ("in 2024", ["in", "Ġ", "2", "0", "2", "4"]),  # every digit alone, and so is the space before
        ("  two", ["Ġ", "Ġtwo"]),
        ("<|im_start|>x", ["<|im_start|>", "x"]),
    ],
)
def test_splits_as_smollm2_does(text: str, tokens: list[str]) -> None:
    assert load_tokenizer().encode(text).tokens == tokens
    assert count_tokens(text) == len(tokens)


def test_vocabulary_is_complete() -> None:
    tokenizer = load_tokenizer()
    assert tokenizer.get_vocab_size() == 49_152
    assert [tokenizer.token_to_id(token) for token in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")] == [
        0,
        1,
        2,
    ]
    assert tokenizer.encode("Hello").ids == [19556]


# The vocabulary lacks some bytes that only control characters and unassigned code points need.
@given(st.text(st.characters(exclude_categories=("Cs", "Cc", "Cn", "Co"))))
def test_nothing_is_lost(text: str) -> None:
    tokenizer = load_tokenizer()
    assert tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False) == text


def test_lone_surrogates_count_as_question_marks() -> None:
    assert count_tokens("a\ud800b") == count_tokens("a?b")


def test_it_is_loaded_once() -> None:
    assert load_tokenizer() is load_tokenizer()


@pytest.mark.parametrize("text", ["a " * 200_000, "a" * 200_000, "\n" * 200_000, "日" * 200_000])
def test_counts_long_texts_in_linear_time(text: str) -> None:
    started = time.process_time()
    count_tokens(text)
    assert time.process_time() - started < 5


def test_packing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    pack(load_tokenizer(), tmp_path / "a.xz")
    pack(load_tokenizer(), tmp_path / "b.xz")
    assert (tmp_path / "a.xz").read_bytes() == (tmp_path / "b.xz").read_bytes()


def test_weights_with_another_splitting_rule_are_refused(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf", reason="rebuilding the tokenizer needs the extra [lm]")
    writer = gguf.GGUFWriter(tmp_path / "x.gguf", "llama")
    writer.add_tokenizer_pre("gpt-2")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ValueError, match="builds 'smollm' only"):
        tokenizer_from_gguf(tmp_path / "x.gguf")
