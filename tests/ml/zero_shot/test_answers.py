"""Markdown becomes the words that it holds, and only a fence around everything is taken off JSON."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.zero_shot.answers import markdown_to_plaintext, without_json_fence


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("", ""),
        ("Rain fell.", "Rain fell."),
        ("Rain\n====\n\nIt fell.\n\nAgain\n---", "Rain\n\nIt fell.\n\nAgain"),
        ("# Rain\nIt fell.\n### On us", "Rain\n\nIt fell.\n\nOn us"),
        ("It *fell* **hard** on ~~us~~ __all__.", "It fell hard on us all."),
        ("[Rain](https://a.example/b_(c)) and [more][1]\n\n[1]: https://a.example", "Rain and more"),
        ("<https://a.example>", "https://a.example"),
        ("![A photo](a.jpg)\n\nRain.", "Rain."),
        ("[![A photo](a.jpg)](b)Rain", "Rain"),
        ("First line\nsecond  \nthird", "First line second third"),
        ("* one\n* two\n  1. deep\n\n* three", "one\n\ntwo\n\ndeep\n\nthree"),
        ("> She said:\n> it rained.", "She said: it rained."),
        ("| a | b |\n|---|---|\n| 1 | [2](x) |", "a b\n\n1 2"),
        ("Before\n\n---\n\nAfter", "Before\n\nAfter"),
        ("`code` and\n\n```python\nx = 1\n```", "code and\n\nx = 1"),
        ("```markdown\n# Rain\nIt *fell*.\n```", "Rain\n\nIt fell."),
        ("AT&amp;T costs 5\\* a 2 * 3", "AT&T costs 5* a 2 * 3"),
        ("<div>Rain<br>fell</div>", "Rain fell"),
        ("Rain<br/>fell", "Rain fell"),
        ("Rain<sup>2</sup> fell", "Rain2 fell"),
        ("كتاب **جديد**", "كتاب جديد"),
        ("雨が**降った**。", "雨が降った。"),
    ],
)
def test_the_words_of_markdown(markdown: str, text: str) -> None:
    assert markdown_to_plaintext(markdown) == text


PLAIN = st.text("abc déß 雨ب,", min_size=1).map(str.split).filter(bool).map(" ".join)


@given(st.lists(PLAIN))
def test_plain_paragraphs_stay_what_they_are(paragraphs: list[str]) -> None:
    text = "\n\n".join(paragraphs)
    assert markdown_to_plaintext(text) == text


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    assert "\n\n\n" not in markdown_to_plaintext(text)


@pytest.mark.parametrize(
    ("answer", "inside"),
    [
        ('{"a": 1}', '{"a": 1}'),
        (' \n{"a": 1}\n', '{"a": 1}'),
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('\n```JSON \n{"a": "```"}\n```\n', '{"a": "```"}'),
        ('```\n{"a": 1}```', '{"a": 1}'),
        ("```json\n```", ""),
        ('```json\n{"a": ', '```json\n{"a":'),
        ('Here it is:\n```json\n{"a": 1}\n```', 'Here it is:\n```json\n{"a": 1}\n```'),
        ('```json\n{"a": 1}\n```\nDone.', '```json\n{"a": 1}\n```\nDone.'),
        ('```python\n{"a": 1}\n```', '```python\n{"a": 1}\n```'),
        ("", ""),
        ("```", "```"),
    ],
)
def test_only_a_fence_around_the_whole_answer_comes_off(answer: str, inside: str) -> None:
    assert without_json_fence(answer) == inside
