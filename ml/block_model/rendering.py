"""Labelled blocks as an article: every line is the text of a block, and says which.

Belongs here: roles and a page to a body, to Markdown, and to the place each line was copied from. Does not belong
here: finding the roles (`model.py`) or the fields beside the body.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ml.alignment import Role
from ml.article import Article, Body, Section
from ml.page import Page


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A line of an article's body and where it was copied from: the block's id and path in its page."""

    role: Role
    text: str
    block: int
    path: str


def body_lines(page: Page, roles: Sequence[Role]) -> tuple[Line, ...]:
    """The lines of the body in the order of `Body.lines`, with their provenance: summary first, then as they stand.

    Raises `ValueError` unless there is one role a block.
    """
    if len(roles) != len(page.blocks):
        raise ValueError(
            f"found {len(roles)} roles for {len(page.blocks)} blocks, expected one a block: label this very page"
        )
    lines = [
        Line(role=role, text=block.text, block=block.id, path=block.path)
        for block, role in zip(page.blocks, roles, strict=True)
        if role is not Role.NONE
    ]
    return tuple(sorted(lines, key=lambda line: line.role is not Role.SUMMARY))


def body_of(page: Page, roles: Sequence[Role]) -> Body:
    """The body that labelled blocks give; a headline after a paragraph begins a new section."""
    lines = body_lines(page, roles)
    summary = tuple(line.text for line in lines if line.role is Role.SUMMARY)
    sections = _sections([line for line in lines if line.role is not Role.SUMMARY])
    return Body(summary=summary, sections=tuple(sections))


def _sections(lines: Sequence[Line]) -> Iterator[Section]:
    headline: list[str] = []
    paragraphs: list[str] = []
    for line in lines:
        if line.role is not Role.HEADLINE:
            paragraphs.append(line.text)
            continue
        if paragraphs:
            yield Section(headline=tuple(headline), paragraphs=tuple(paragraphs))
            headline, paragraphs = [], []
        headline.append(line.text)
    if headline or paragraphs:
        yield Section(headline=tuple(headline), paragraphs=tuple(paragraphs))


_MARKUP = re.compile(r"[\\`*_\[\]<>&~|#!]")
_STARTS_AS_LIST = re.compile(r"([-+=]|\d{1,9}[.)])(?=\s|[-=]|$)")


def markdown(article: Article) -> str:
    """An article as CommonMark: title, summary in bold, headlines of the second level, paragraphs.

    What is markup in Markdown is escaped: a reader sees the very text of the article.
    """
    title = [f"# {_escaped(article.title)}"] if article.title else []
    parts = [*title, *(f"**{_escaped(line)}**" for line in article.body.summary)]
    for section in article.body.sections:
        parts += [f"## {_escaped(line)}" for line in section.headline]
        parts += [_escaped(line) for line in section.paragraphs]
    return "".join(f"{part}\n\n" for part in parts).removesuffix("\n")


def _escaped(text: str) -> str:
    escaped = _MARKUP.sub(r"\\\g<0>", text)
    if start := _STARTS_AS_LIST.match(escaped):
        return f"{escaped[: start.end() - 1]}\\{escaped[start.end() - 1 :]}"
    return escaped
