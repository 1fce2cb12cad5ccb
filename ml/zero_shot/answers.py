"""From the form in which a model answers to the form that is scored.

Belongs here: taking off what a model is documented to put around or into its answer. Does not belong here:
repairing answers, which would score us instead of the model.
"""

from collections.abc import Iterator, Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from selectolax.lexbor import LexborHTMLParser

from ml.article import normalise_text

_BREAKS = ("softbreak", "hardbreak")
_TEXTS = ("text", "code_inline")


def without_json_fence(answer: str) -> str:
    """The inside of a "```json" fence around the whole answer; any other answer unchanged but for outer space.

    ReaderLM-v2 and chat models answer so by design. A fence with words around it, or one that the length limit
    left open, stays: it makes the answer invalid JSON, and that is what the model wrote.
    """
    answer = answer.strip()
    opening, _, rest = answer.partition("\n")
    fenced = opening.rstrip().lower() in ("```", "```json") and rest.endswith("```")
    return rest.removesuffix("```").strip() if fenced else answer


def markdown_to_plaintext(markdown: str) -> str:
    """The words of a Markdown text: headings, paragraphs, list items and table rows, between blank lines.

    Links keep their text; images, rules and addresses go. A fence around everything that says it holds
    Markdown is read as Markdown, code is kept as it is, and of HTML the text is kept.
    """
    lines = (normalise_text(line) for line in _lines(_parser().parse(markdown)))
    return "\n\n".join(line for line in lines if line)


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def _lines(tokens: Sequence[Token]) -> Iterator[str]:
    """One text per block; the cells of a table row make one."""
    row: list[str] | None = None
    for token in tokens:
        if token.type == "tr_open":
            row = []
        elif token.type == "tr_close" and row is not None:
            yield " ".join(row)
            row = None
        elif row is not None:
            row.append(_text(token))
        elif token.type == "fence" and token.info.strip().lower() in ("markdown", "md"):
            yield from _lines(_parser().parse(token.content))
        else:
            yield _text(token)


def _text(token: Token) -> str:
    """The words of a block; none for one that only opens or closes another."""
    if token.type == "html_block":
        return LexborHTMLParser(token.content).text(separator=" ")
    if token.children is None:
        return token.content
    return "".join(_inline(child) for child in token.children)


def _inline(token: Token) -> str:
    if token.type in _BREAKS or (token.type == "html_inline" and token.content.lower().startswith("<br")):
        return " "
    return token.content if token.type in _TEXTS else ""
