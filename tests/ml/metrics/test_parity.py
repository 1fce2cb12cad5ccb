"""The metrics equal the libraries that defined them, over random texts in 14 scripts."""

import jellyfish
import pytest
from nltk.translate.bleu_score import sentence_bleu
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from ml.metrics import bleu, jaro_winkler, levenshtein, rouge_l
from ml.metrics.tokens import tokens_13a, words

Pairs = list[tuple[str, str]]


def test_there_are_enough_pairs(pairs: Pairs) -> None:
    assert len(pairs) >= 300


def test_13a_tokens_equal_sacrebleu(pairs: Pairs) -> None:
    tokenizer = Tokenizer13a()
    extra = ["a&quot;b&amp;c &lt;p&gt;", "<skipped>1-2 3.5,7 -\nx", "«Ja», 10%-ig; [x]_y^z~", "\t", "a.b.c,d"]
    for text in [text for pair in pairs for text in pair] + extra:
        assert tokens_13a(text) == tuple(tokenizer(text).split())


def test_paper_bleu_equals_sacrebleu(pairs: Pairs) -> None:
    reference = BLEU(smooth_method="none", effective_order=False, tokenize="13a")
    for prediction, wanted in pairs:
        expected = reference.sentence_score(prediction, [wanted]).score / 100
        assert bleu.score_paper(prediction, wanted) == pytest.approx(expected, abs=1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")  # NLTK warns of each text without a common n-gram
def test_unicode_bleu_equals_nltk(pairs: Pairs) -> None:
    for prediction, wanted in pairs:
        expected = sentence_bleu([words(wanted)], words(prediction))
        assert bleu.score(prediction, wanted) == pytest.approx(float(expected), abs=1e-9)


def test_paper_rouge_l_equals_rouge_score(pairs: Pairs) -> None:
    scorer = RougeScorer(["rougeL"])
    for prediction, wanted in pairs:
        expected = scorer.score(wanted, prediction)["rougeL"].fmeasure
        assert rouge_l.score_paper(prediction, wanted) == pytest.approx(expected, abs=1e-9)


def test_unicode_rouge_l_equals_rouge_score_on_unicode_words(pairs: Pairs) -> None:
    class UnicodeTokenizer:
        def tokenize(self, text: str) -> tuple[str, ...]:
            return words(text)

    scorer = RougeScorer(["rougeL"], tokenizer=UnicodeTokenizer())
    for prediction, wanted in pairs[::3]:
        expected = scorer.score(wanted, prediction)["rougeL"].fmeasure
        assert rouge_l.score(prediction, wanted) == pytest.approx(expected, abs=1e-9)


def test_levenshtein_equals_jellyfish_per_character(pairs: Pairs) -> None:
    for prediction, wanted in pairs:
        longer = max(len(prediction), len(wanted))
        expected = jellyfish.levenshtein_distance(prediction, wanted) / longer
        assert levenshtein.score(prediction, wanted) == pytest.approx(expected, abs=1e-9)


def test_jaro_winkler_equals_jellyfish(pairs: Pairs) -> None:
    for prediction, wanted in pairs:
        expected = jellyfish.jaro_winkler_similarity(prediction, wanted)
        assert jaro_winkler.score(prediction, wanted) == pytest.approx(expected, abs=1e-9)
