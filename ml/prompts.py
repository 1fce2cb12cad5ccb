"""What the language model is asked: the text before and after the page, per task.

Belongs here: wording. Does not belong here: tokens and lengths (`ml/datasets.py`). The prompts hold no
chat template: every backbone is fine-tuned on them, and a template of its own would only cost tokens.
An adapter knows one wording, so changing a prompt means training again.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ml.training_sets import Task


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """The model reads `before`, the compact page, `after`, and then writes the target."""

    before: str
    after: str


PROMPTS: Mapping[Task, Prompt] = {
    Task.PLAINTEXT: Prompt(before="### Page\n", after="\n\n### Article as plain text\n"),
    Task.JSON: Prompt(before="### Page\n", after="\n\n### Article as JSON\n"),
}
