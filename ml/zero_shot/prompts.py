"""What a model that was never trained on our pages is asked, in chat form.

Belongs here: wording, one `Prompts` per family of models. Does not belong here: which model is asked what
(`ml/zero_shot/models.py`), or the prompts that our own models are trained on (`ml/prompts.py`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ml.article import article_json_schema
from ml.training_sets import Task
from ml.zero_shot.engine import Message

_SCHEMA = json.dumps(article_json_schema(), ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class ChatPrompt:
    """A page between two pieces of text, as the user's turn."""

    before: str
    after: str
    system: str | None = None  # None leaves it to the model's chat template

    def messages(self, page: str) -> tuple[Message, ...]:
        """The turns that ask for one page."""
        user = Message(role="user", content=f"{self.before}{page}{self.after}")
        return (Message(role="system", content=self.system), user) if self.system else (user,)


READERLM: Mapping[Task, ChatPrompt] = {
    Task.PLAINTEXT: ChatPrompt(
        before="Extract the main content from the given HTML and convert it to Markdown format.\n```html\n",
        after="\n```",
    ),
    Task.JSON: ChatPrompt(
        before="Extract the specified information from a list of news threads and present it in a structured "
        "JSON format.\n```html\n",
        after=f"\n```\nThe JSON schema is as follows:```json\n{_SCHEMA}\n```",
    ),
}
"""The two instructions that the card of jinaai/ReaderLM-v2 documents; the model was trained on these words."""

_EXTRACTOR = (
    "You extract the article from a news page. You copy its words in the language of the page: you never "
    "summarise, translate, correct or add."
)
_PAGE = "\n\n<page>\n"
_PAGE_END = "\n</page>"

INSTRUCT: Mapping[Task, ChatPrompt] = {
    Task.PLAINTEXT: ChatPrompt(
        system=_EXTRACTOR,
        before="Write the text of the article below: its summary, its paragraphs and the headlines between them, in "
        "the order of the page, with a blank line after each. Leave out the title, authors, dates, captions, "
        f"advertisements and links to other articles. Answer with plain text only, without Markdown.{_PAGE}",
        after=_PAGE_END,
    ),
    Task.JSON: ChatPrompt(
        system=_EXTRACTOR,
        before="Write the article below as one JSON object that is valid under this JSON Schema. Use null or an "
        "empty list for what the page does not say. Summary, headlines and paragraphs hold one text each, in the "
        f"order of the page. Answer with the JSON only.\n```json\n{_SCHEMA}\n```{_PAGE}",
        after=_PAGE_END,
    ),
}
"""Ours, for chat models without instructions of their authors for this task."""
