"""What every metric owes: a text equals itself, nothing equals nothing, and empty is not good."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.metrics import bleu, groundedness, jaro_winkler, levenshtein, repetition, rouge_l

SIMILARITIES = [bleu.score, rouge_l.score, jaro_winkler.score, groundedness.score]
ALL = [*SIMILARITIES, bleu.score_paper, rouge_l.score_paper, levenshtein.score, repetition.score]

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
    assert [score("", text) for score in SIMILARITIES] == [0.0] * len(SIMILARITIES)
    assert levenshtein.score("", text) == 1


def test_empty_against_empty_is_defined() -> None:
    assert (bleu.score("", ""), rouge_l.score("", ""), jaro_winkler.score("", "")) == (1, 1, 1)
    assert (bleu.score_paper("", ""), rouge_l.score_paper("", "")) == (0, 0)  # as the libraries do
    assert (levenshtein.score("", ""), repetition.score("", "")) == (0, 0)
    assert groundedness.score("", "") == 0


def test_the_papers_rouge_gives_a_japanese_article_nothing_against_itself() -> None:
    assert rouge_l.score_paper(SENTENCES["japanese"], SENTENCES["japanese"]) == 0


@given(st.text(), st.text())
def test_every_value_lies_between_0_and_1(prediction: str, reference: str) -> None:
    assert all(0 <= score(prediction, reference) <= 1 + 1e-12 for score in ALL)


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=12).map(" ".join), st.just("a b c a b"))
def test_word_order_metrics_prefer_the_text_itself(prediction: str, reference: str) -> None:
    assert bleu.score(prediction, reference) <= bleu.score(reference, reference)
    assert rouge_l.score(prediction, reference) <= rouge_l.score(reference, reference)
