"""Tokens exist in every script, and do not depend on case, width or invisible characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.metrics.tokens import rouge_words, tokens_13a, word_lines, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't stop — 1,5 Mio. €!", ("don", "t", "stop", "1", "5", "mio")),
        ("Straße STRASSE", ("strasse", "strasse")),
        ("ﬁne ＡＢＣ", ("fine", "abc")),
        ("snake_case", ("snake", "case")),
        ("co\u00adoper\u00adate", ("cooperate",)),
        ("e\u0301t\u00e9 e\u200d\u0301", ("\u00e9t\u00e9", "\u00e9")),
        ("मुझे हिन्दी अच्छी लगती है।", ("मुझे", "हिन्दी", "अच्छी", "लगती", "है")),
        ("می‌خواهم بروم؟", ("میخواهم", "بروم")),
        ("한국어 텍스트.", ("한국어", "텍스트")),
        ("𑀓𑀸𑀓 𑀓", ("𑀓𑀸𑀓", "𑀓")),  # Brahmi, whose marks lie beyond the first plane
        ("東京で、カタカナー。", ("東", "京", "で", "カ", "タ", "カ", "ナ", "ー")),
        ("ดีครับ", ("ดี", "ค", "รั", "บ")),
        ("GPT-4は強い", ("gpt", "4", "は", "強", "い")),
        ("", ()),
        ("… — !", ()),
    ],
)
def test_words(text: str, expected: tuple[str, ...]) -> None:
    assert words(text) == expected


@given(st.text())
def test_words_survive_any_text_and_are_never_empty(text: str) -> None:
    assert all(words(text))


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Zs", "Cs"], include_characters="\n")))
def test_lines_hold_the_same_words(text: str) -> None:
    assert tuple(word for line in word_lines(text) for word in line) == words(text)


def test_the_papers_tokens_lose_what_is_not_ascii() -> None:
    assert rouge_words("Die Bürger, 2024") == ("die", "b", "rger", "2024")
    assert rouge_words("東京で") == ()


def test_13a_splits_punctuation_but_not_numbers() -> None:
    assert tokens_13a("It costs $1,000.50, he said (twice).") == (
        "It", "costs", "$", "1,000.50", ",", "he", "said", "(", "twice", ")", ".",
    )  # fmt: skip
