"""What every metric owes: a text equals itself, nothing equals nothing, and bad input has a defined result."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.metrics import (
    bleu,
    fields,
    fields_paper,
    groundedness,
    jaro_winkler,
    json_validity,
    levenshtein,
    meteor,
    repetition,
    rouge_l,
    rouge_lsum,
    schema_validity,
    shingles,
)

Metric = Callable[[str, str], float | None]

SIMILARITIES: list[Metric] = [
    bleu.score,
    rouge_l.score,
    rouge_lsum.score,
    jaro_winkler.score,
    groundedness.score,
    shingles.precision,
    shingles.recall,
]
OF_THE_PAPER: list[Metric] = [bleu.score_paper, rouge_l.score_paper, rouge_lsum.score_paper]
OF_THE_OUTPUT: list[Metric] = [
    repetition.score,
    repetition.score_paper,
    repetition.score_paper_words,
    json_validity.score,
    schema_validity.score,
    lambda prediction, _: fields_paper.is_valid(prediction),
]
ALL: list[Metric] = [*SIMILARITIES, *OF_THE_PAPER, *OF_THE_OUTPUT, levenshtein.score]
METEORS: list[Metric] = [meteor.score, meteor.score_paper]

SENTENCES = {
    "english": "The council voted on Monday.",
    "german": "Der Ausschuss tagte am Montag über die Straße.",
    "russian": "Совет проголосовал в понедельник.",
    "greek": "Το συμβούλιο ψήφισε τη Δευτέρα.",
    "arabic": "صوّت المجلس يوم الاثنين.",
    "hebrew": "המועצה הצביעה ביום שני.",
    "hindi": "परिषद ने सोमवार को मतदान किया।",
    "bengali": "পরিষদ সোমবার ভোট দিয়েছে।",
    "tamil": "சபை திங்களன்று வாக்களித்தது.",
    "thai": "สภาลงมติเมื่อวันจันทร์",
    "korean": "의회는 월요일에 투표했다.",
    "japanese": "議会は月曜日に採決した。",
    "chinese": "议会周一投票。",
    "georgian": "საბჭომ ორშაბათს კენჭი უყარა.",
    "short": "Ja.",
}


@pytest.mark.parametrize("text", SENTENCES.values(), ids=SENTENCES.keys())
def test_a_text_equals_itself_in_every_script(text: str) -> None:
    assert [score(text, text) for score in SIMILARITIES] == pytest.approx([1.0] * len(SIMILARITIES))
    assert levenshtein.score(text, text) == 0


@pytest.mark.parametrize("text", SENTENCES.values(), ids=SENTENCES.keys())
def test_an_empty_prediction_scores_nothing(text: str) -> None:
    nothing = [0.0] * 5 + [None, 0.0]  # an article without a shingle has no precision
    assert [score("", text) for score in SIMILARITIES] == nothing
    assert [score("", text) for score in OF_THE_PAPER] == [0.0] * len(OF_THE_PAPER)
    assert levenshtein.score("", text) == 1


def test_empty_against_empty_is_defined() -> None:
    assert [score("", "") for score in SIMILARITIES] == [1, 1, 1, 1, 0, None, None]
    assert [score("", "") for score in OF_THE_PAPER] == [0, 0, 0]  # as the libraries do
    assert [score("", "") for score in OF_THE_OUTPUT] == [0] * len(OF_THE_OUTPUT)
    assert levenshtein.score("", "") == 0


def test_empty_texts_have_a_meteor(wordnet: Path) -> None:
    assert [[score(*pair) for score in METEORS] for pair in (("", "a"), ("a", ""), ("", ""))] == [
        [0, 0],
        [0, 0],
        [1, 0],
    ]


def test_the_papers_rouge_gives_a_japanese_article_nothing_against_itself() -> None:
    text = SENTENCES["japanese"]
    assert rouge_l.score_paper(text, text) == rouge_lsum.score_paper(text, text) == 0


def _is_share(value: float | None) -> bool:
    return value is None or 0 <= value <= 1 + 1e-12  # not NaN either


@given(st.text(), st.text())
def test_every_value_lies_between_0_and_1(prediction: str, reference: str) -> None:
    assert all(_is_share(score(prediction, reference)) for score in ALL)


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=12).map(" ".join), st.just("a b c a b"))
def test_word_order_metrics_prefer_the_text_itself(prediction: str, reference: str) -> None:
    for score in (bleu.score, rouge_l.score, rouge_lsum.score):
        assert score(prediction, reference) <= score(reference, reference)


ARTICLE = "The council voted on Monday, said Mayor O'Neil.\n\nIt was the 3rd vote of 2024 … “Done”, he said."

ODD_TEXTS = {
    "spaces": " \n\t\u00a0\u2003 ",
    "lone surrogates": "\ud800 \udc00 council \udfff voted\ud83d",
    "right to left": "\u202eצה״ל הצביע\u202c ביום שני \u200f صوّت المجلس",
    "control characters": "".join(map(chr, range(32))) + " council \x7f\x80\x9f voted \x1b[31m",
    "NUL": "\0The \0council\0 voted\0",
    "marks alone": "\u0301\u0308 \u200d\u200d \ufe0f",
    "emoji": "👩‍👩‍👧‍👦 🇩🇪 👍🏽 voted 1️⃣",
    "noncharacters": "\uffff \ufdd0 \U0010ffff council",
    "half JSON": '{"title": "The council voted", "body": {"summary": [',
    "brackets": "[{(<" * 3000,
    "one letter": "a",
    "one long word": "a" * 20_000,
    "a loop": "The council voted on Monday. " * 400,
}


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS.keys())
def test_odd_texts_have_a_value_as_prediction_and_as_reference(text: str) -> None:
    for pair in ((text, ARTICLE), (ARTICLE, text), (text, text), (text, ""), ("", text)):
        assert all(_is_share(score(*pair)) for score in ALL)
    assert levenshtein.score(text, text) == 0
    assert jaro_winkler.score(text, text) == 1
    assert rouge_l.score(text, text) == rouge_lsum.score(text, text) == 1


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS.keys())
def test_odd_texts_have_a_meteor(text: str, wordnet: Path) -> None:
    for pair in ((text, ARTICLE), (ARTICLE, text), (text, text)):
        assert all(_is_share(score(*pair)) for score in METEORS)


MEGABYTE = 1_000_000


def _megabytes() -> dict[str, str]:
    chance = random.Random(6)
    vocabulary = ["".join(chance.choices("abcdefgh", k=chance.randint(1, 9))) for _ in range(5000)]
    words = chance.choices(vocabulary, k=180_000)
    lines = (" ".join(words[start : start + 15]) for start in range(0, len(words), 15))
    return {
        "lines": "\n".join(lines)[:MEGABYTE],
        "one line": " ".join(words)[:MEGABYTE],
        "one word": "x" * MEGABYTE,
        "a loop": ("Der Rat stimmte am Montag ab.\n" * MEGABYTE)[:MEGABYTE],
        "full stops": "." * MEGABYTE,
        "quotes": "'\"" * (MEGABYTE // 2),
        "brackets": '{"a":' * (MEGABYTE // 5),
        "characters": "".join(map(chr, chance.choices(range(0x4E00, 0x9FFF), k=MEGABYTE // 3))),
    }


MEGABYTES = _megabytes()


@pytest.mark.parametrize("text", MEGABYTES.values(), ids=MEGABYTES.keys())
def test_a_megabyte_has_a_value_against_an_article(text: str) -> None:
    for pair in ((text, ARTICLE), (ARTICLE, text)):
        assert all(_is_share(score(*pair)) for score in ALL)


@pytest.mark.parametrize("text", MEGABYTES.values(), ids=MEGABYTES.keys())
def test_a_megabyte_has_a_value_against_nearly_itself(text: str) -> None:
    middle = len(text) // 2
    edited = f"{text[: middle - 500]} something else {text[middle:]}"
    assert all(_is_share(score(edited, text)) for score in ALL)


@pytest.mark.parametrize("text", MEGABYTES.values(), ids=MEGABYTES.keys())
def test_a_megabyte_has_a_meteor(text: str, wordnet: Path) -> None:
    assert all(_is_share(score(text, ARTICLE)) for score in METEORS)


ODD_VALUES: list[object] = [
    None,
    True,
    0,
    -1e308,
    "",
    "x",
    "\ud800",
    [],
    [[]],
    [None, 1, "x", {}],
    {},
    {"": None},
]
KEYS = ("title", "authors", "publishing_date", "topics", "free_access", "body", "other")


def _odd_articles() -> list[str]:
    bodies: list[object] = [{"summary": odd, "sections": odd} for odd in ODD_VALUES]
    bodies += [{"summary": [], "sections": [{"headline": odd, "paragraphs": odd}, odd]} for odd in ODD_VALUES]
    return [json.dumps({key: odd for key in KEYS}) for odd in [*ODD_VALUES, *bodies]]


@pytest.mark.parametrize("text", [*_odd_articles(), *ODD_TEXTS.values(), "null", "[]", "{}", "7"])
def test_any_output_can_be_compared_key_by_key(text: str) -> None:
    wanted = (
        '{"title":"T","authors":["A"],"publishing_date":"2024-05-01T08:00:00","topics":[],"free_access":true,'
    )
    wanted += '"body":{"summary":["S"],"sections":[{"headline":["H"],"paragraphs":["P"]}]}}'
    right = fields.read(wanted)
    assert right is not None
    for compare in fields.FIELDS.values():
        counts = compare(fields.read(text), right)
        assert 0 <= counts.shared <= min(counts.found, counts.wanted)
    counted = fields_paper.counts(text, wanted)
    assert counted is None or min(counted) >= 0
    assert (counted is not None) == (fields_paper.is_valid(text) == 1)
