"""SmolLM2's tokenizer: what "tokens" means wherever this project counts them.

Belongs here: loading the packed tokenizer, counting, and rebuilding the pack from published weights.
Does not belong here: the tokenizers that the backbones are trained with (they come with their weights).
`python -m ml.tokens --rebuild MODEL.gguf` writes the pack again.
"""

import argparse
import json
import lzma
from functools import cache
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE

PACK_PATH = Path(__file__).parent / "tokenizer" / "smollm2.json.xz"

_CONTROL_TOKEN = 3  # GGUF's token type of special tokens such as <|im_start|>


@cache
def load_tokenizer() -> Tokenizer:
    """The packed tokenizer; read once, then shared."""
    return Tokenizer.from_buffer(lzma.decompress(PACK_PATH.read_bytes()))


def count_tokens(text: str) -> int:
    """How many SmolLM2 tokens `text` is, without special tokens around it; lone surrogates count as "?"."""
    encodable = text.encode("utf-8", "replace").decode("utf-8")
    # The "fast" batch call does not track offsets, which costs half of the time on a page.
    [encoding] = load_tokenizer().encode_batch_fast([encodable], add_special_tokens=False)
    return len(encoding)


def tokenizer_from_gguf(path: Path) -> Tokenizer:
    """Build the tokenizer from the vocabulary and merges in SmolLM2's GGUF weights.

    GGUF names the splitting rule ("smollm") but does not spell it out: every digit alone, then GPT-2's
    byte-level words. transformers' GGUF reader knows only the second half.
    """
    from gguf import GGUFReader

    fields = GGUFReader(path).fields
    if (rule := fields["tokenizer.ggml.pre"].contents()) != "smollm":
        raise ValueError(f"{path} splits words by the rule {rule!r}; this code builds 'smollm' only")
    tokens: list[str] = fields["tokenizer.ggml.tokens"].contents()
    kinds: list[int] = fields["tokenizer.ggml.token_type"].contents()
    pairs = (merge.split(" ") for merge in fields["tokenizer.ggml.merges"].contents())
    tokenizer = Tokenizer(BPE({token: i for i, token in enumerate(tokens)}, [(a, b) for a, b in pairs]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = [token for token, kind in zip(tokens, kinds, strict=True) if kind == _CONTROL_TOKEN]
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in special])
    return tokenizer


def pack(tokenizer: Tokenizer, path: Path = PACK_PATH) -> None:
    """Write the tokenizer as compressed JSON; the same tokenizer gives the same bytes."""
    text = json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":"))
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def _main() -> None:
    parser = argparse.ArgumentParser(description="Rebuild the packed SmolLM2 tokenizer from GGUF weights.")
    parser.add_argument("--rebuild", type=Path, required=True, metavar="MODEL.gguf")
    pack(tokenizer_from_gguf(parser.parse_args().rebuild))
    print(f"wrote {PACK_PATH} ({PACK_PATH.stat().st_size:,} bytes)")


if __name__ == "__main__":
    _main()
