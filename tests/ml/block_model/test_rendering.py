import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ml.alignment import Role
from ml.article import Article, Body, Section
from ml.block_model.rendering import body_lines, body_of, markdown
from ml.blocks import Block
from ml.metadata import Metadata
from ml.page import Page

N, S, H, P = Role.NONE, Role.SUMMARY, Role.HEADLINE, Role.PARAGRAPH


def page_of(count: int) -> Page:
    blocks = tuple(
        Block(id=at, tag="p", hint="", path=f"body/p{at}", text=f"Text {at}", link_density=0.0)
        for at in range(count)
    )
    return Page(language=None, metadata=Metadata(), blocks=blocks)


def test_headlines_begin_sections() -> None:
    body = body_of(page_of(8), (N, S, P, H, H, P, P, H))
    assert body == Body(
        summary=("Text 1",),
        sections=(
            Section(paragraphs=("Text 2",)),
            Section(headline=("Text 3", "Text 4"), paragraphs=("Text 5", "Text 6")),
            Section(headline=("Text 7",)),
        ),
    )


def test_nothing_labelled_is_an_empty_body() -> None:
    assert body_of(page_of(3), (N, N, N)) == Body()


@given(st.lists(st.sampled_from([N, S, H, P]), max_size=20))
def test_every_line_says_where_it_was_copied_from(roles: list[Role]) -> None:
    page = page_of(len(roles))
    lines = body_lines(page, roles)
    assert [line.text for line in lines] == body_of(page, roles).lines()
    assert sorted(line.block for line in lines) == [at for at, role in enumerate(roles) if role is not N]
    for line in lines:
        block = page.blocks[line.block]
        assert (line.text, line.path, line.role) == (block.text, block.path, roles[line.block])


def test_roles_of_another_page_are_refused() -> None:
    with pytest.raises(ValueError, match="2 roles for 3 blocks"):
        body_of(page_of(3), (N, P))


def test_markdown() -> None:
    article = Article(
        title="Title",
        body=Body(summary=("Sum",), sections=(Section(headline=("Head",), paragraphs=("Para", "1. Two")),)),
    )
    assert markdown(article) == "# Title\n\n**Sum**\n\n## Head\n\nPara\n\n1\\. Two\n"


LINE = st.text(st.characters(categories=["L", "P", "S", "Nd", "Zs"]), min_size=1, max_size=40)


@given(LINE.filter(str.strip))
def test_markdown_shows_the_text_as_it_is(text: str) -> None:
    article = Article(body=Body(sections=(Section(paragraphs=(text,)),)))
    line = article.body.lines()[0]
    inline = [token for token in MarkdownIt().parse(markdown(article)) if token.type == "inline"]
    assert len(inline) == 1
    assert "".join(child.content for child in inline[0].children or []) == line


@given(LINE.filter(str.strip))
def test_headlines_and_summaries_too(text: str) -> None:
    article = Article(title=text, body=Body(summary=(text,), sections=(Section(headline=(text,)),)))
    tokens = MarkdownIt().parse(markdown(article))
    shown = ["".join(child.content for child in token.children or []) for token in tokens if token.children]
    assert shown == [article.title] * 3
