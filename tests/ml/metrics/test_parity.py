"""The metrics equal the libraries that defined them, over made-up texts in 15 scripts."""

import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import jellyfish
import Levenshtein
import nltk
import pytest
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.tokenize.destructive import NLTKWordTokenizer
from nltk.translate.bleu_score import sentence_bleu
from nltk.translate.meteor_score import single_meteor_score
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from ml.metrics import bleu, jaro_winkler, levenshtein, meteor, repetition, rouge_l, rouge_lsum, shingles
from ml.metrics.tokens import tokens_13a, word_lines, words
from ml.metrics.wordnet import WordNet

Pairs = list[tuple[str, str]]

TOLERANCE = 1e-9


class UnicodeTokenizer:
    """Our words for Google's ROUGE."""

    def tokenize(self, text: str) -> tuple[str, ...]:
        return words(text)


def test_there_are_enough_different_pairs(pairs: Pairs) -> None:
    assert len(set(pairs)) >= 300
    assert 0.3 < fmean(prediction != wanted for prediction, wanted in pairs) < 0.9
    assert 0.3 < fmean(rouge_l.score(*pair) for pair in pairs) < 0.9


def test_13a_tokens_equal_sacrebleu(pairs: Pairs) -> None:
    tokenizer = Tokenizer13a()
    extra = ["a&quot;b&amp;c &lt;p&gt;", "<skipped>1-2 3.5,7 -\nx", "«Ja», 10%-ig; [x]_y^z~", "\t", "a.b.c,d"]
    chance = random.Random(13)
    hard = ["".join(chance.choices("ab é1².,,..--'\n\x1c\u00a0$&;", k=30)) for _ in range(2000)]
    for text in [text for pair in pairs for text in pair] + extra + hard:
        assert tokens_13a(text) == tuple(tokenizer(text).split())


def test_paper_bleu_equals_sacrebleu(pairs: Pairs) -> None:
    reference = BLEU(smooth_method="none", effective_order=False, tokenize="13a")
    for prediction, wanted in pairs:
        expected = reference.sentence_score(prediction, [wanted]).score / 100
        assert bleu.score_paper(prediction, wanted) == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.filterwarnings("ignore::UserWarning")  # NLTK warns of each text without a common n-gram
def test_unicode_bleu_equals_nltk(pairs: Pairs) -> None:
    for prediction, wanted in pairs:
        found, right = words(prediction), words(wanted)
        order = min(4, len(right))  # short references: ours by definition, see `bleu.score`
        expected = sentence_bleu([right], found, weights=(1 / order,) * order) if found else 0.0
        # NLTK has a smallest positive float in place of 0
        assert bleu.score(prediction, wanted) == pytest.approx(float(expected), abs=TOLERANCE)


def test_paper_rouge_equals_rouge_score(pairs: Pairs) -> None:
    scorer = RougeScorer(["rougeL", "rougeLsum"])
    for prediction, wanted in pairs:
        expected = scorer.score(wanted, prediction)
        assert rouge_l.score_paper(prediction, wanted) == pytest.approx(
            expected["rougeL"].fmeasure, abs=TOLERANCE
        )
        assert rouge_lsum.score_paper(prediction, wanted) == pytest.approx(
            expected["rougeLsum"].fmeasure, abs=TOLERANCE
        )


def test_unicode_rouge_equals_rouge_score_on_unicode_words(pairs: Pairs) -> None:
    scorer = RougeScorer(["rougeL", "rougeLsum"], tokenizer=UnicodeTokenizer())
    for prediction, wanted in pairs:
        if words(wanted) and words(prediction):
            expected = scorer.score(wanted, prediction)
            assert rouge_l.score(prediction, wanted) == pytest.approx(
                expected["rougeL"].fmeasure, abs=TOLERANCE
            )
            assert rouge_lsum.score(prediction, wanted) == pytest.approx(
                expected["rougeLsum"].fmeasure, abs=TOLERANCE
            )


@pytest.mark.parametrize("long", [0, 5, 500], ids=["long", "mixed", "short"])
@pytest.mark.parametrize("state_bits", [1, 30, 1 << 28], ids=["columns", "small blocks", "one block"])
def test_rouge_lsum_takes_the_same_of_several_longest_sequences(
    state_bits: int, long: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few words and many lines: nearly every line has several longest common subsequences."""
    monkeypatch.setattr(rouge_lsum, "_STATE_BITS", state_bits)
    monkeypatch.setattr(rouge_lsum, "_LONG", long)
    chance, scorer = random.Random(5), RougeScorer(["rougeLsum"])
    for _ in range(200):
        vocabulary = "abcdefghijkl"[: chance.choice([2, 3, 5, 12])]
        prediction, wanted = (
            "\n".join(" ".join(chance.choices(vocabulary, k=chance.randint(0, 14))) for _ in range(5))
            for _ in range(2)
        )
        expected = scorer.score(wanted, prediction)["rougeLsum"].fmeasure
        assert rouge_lsum.score_paper(prediction, wanted) == pytest.approx(expected, abs=TOLERANCE)


def _without_marks(pair: tuple[str, str]) -> tuple[str, str]:
    """Each character replaced by a Han one: jellyfish takes a letter with its marks for one character."""
    characters = {ord(old): 0x4E00 + number for number, old in enumerate(sorted(set("".join(pair))))}
    return pair[0].translate(characters), pair[1].translate(characters)


def test_levenshtein_equals_two_libraries(pairs: Pairs) -> None:
    for pair in pairs:
        longer = max(map(len, pair))
        value = pytest.approx(levenshtein.score(*pair), abs=TOLERANCE)
        assert Levenshtein.distance(*pair) / longer == value
        assert jellyfish.levenshtein_distance(*_without_marks(pair)) / longer == value


def test_levenshtein_beyond_the_narrow_band_is_the_same() -> None:
    chance = random.Random(1)
    wanted, prediction = ("".join(chance.choices("abcd ", k=6000)) for _ in range(2))
    assert Levenshtein.distance(prediction, wanted) > levenshtein.NEAR
    assert levenshtein.score(prediction, wanted) == Levenshtein.distance(prediction, wanted) / 6000


def test_jaro_winkler_equals_jellyfish(pairs: Pairs) -> None:
    for pair in pairs:
        expected = jellyfish.jaro_winkler_similarity(*_without_marks(pair))
        assert jaro_winkler.score(*pair) == pytest.approx(expected, abs=TOLERANCE)


def _shingles(text: str) -> Counter[tuple[str, ...]]:
    tokens = re.findall(r"\w+", text)
    if 0 < len(tokens) < 4:
        return Counter([tuple(tokens)])
    return Counter(tuple(tokens[start : start + 4]) for start in range(len(tokens) - 3))


def test_shingles_equal_the_plain_count(pairs: Pairs) -> None:
    cut = [(prediction[:20], wanted[:20]) for prediction, wanted in pairs]  # short ones
    for prediction, wanted in pairs + cut:
        found, right = _shingles(prediction), _shingles(wanted)
        shared = (found & right).total()
        precision, recall = shingles.precision(prediction, wanted), shingles.recall(prediction, wanted)
        assert precision == (pytest.approx(shared / found.total()) if found else None)
        assert recall == (pytest.approx(shared / right.total()) if right else None)


def test_paper_repetition_equals_the_plain_count(pairs: Pairs) -> None:
    for prediction, _ in pairs:
        tokens = prediction.split()
        counts = Counter(" ".join(tokens[start : start + 5]) for start in range(len(tokens) - 4))
        again = sum(count - 1 for count in counts.values())
        assert repetition.score_paper(prediction) == pytest.approx(again / max(counts.total(), 1))


@pytest.fixture(scope="module")
def nltk_wordnet(wordnet: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WordNetCorpusReader]:
    """NLTK's reader wants the files under a folder of its own, and one more whose names no metric looks at."""
    root = tmp_path_factory.mktemp("nltk_data")
    copy = root / "corpora" / "wordnet"
    copy.mkdir(parents=True)
    for pattern in ("index.*", "data.*", "*.exc"):
        for file in wordnet.glob(pattern):
            shutil.copyfile(file, copy / file.name)
    (copy / "lexnames").write_text("".join(f"{number:02}\tname{number}\t1\n" for number in range(45)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nltk.data, "path", [str(root)])
        with pytest.warns(UserWarning, match="multilingual"):
            reader = WordNetCorpusReader(str(copy), None)
        yield reader


def test_synonyms_equal_nltk(wordnet: Path, nltk_wordnet: WordNetCorpusReader) -> None:
    chance, ours = random.Random(3), WordNet(wordnet)
    index = sorted(nltk_wordnet.all_lemma_names())
    irregular = sorted(form for forms in nltk_wordnet._exception_map.values() for form in forms)
    inflected = (
        chance.choice(index) + end for end in ("s", "es", "ed", "ing", "er", "est", "men") for _ in range(150)
    )
    for word in [
        *chance.sample(index, 1000),
        *chance.sample(irregular, 500),
        *inflected,
        "xyzzy",
        "東京",
        "_",
        "a",
    ]:
        lemmas = (lemma.name() for synset in nltk_wordnet.synsets(word) for lemma in synset.lemmas())
        assert ours.synonyms(word) == {name for name in lemmas if "_" not in name}


def test_meteor_equals_nltk(pairs: Pairs, nltk_wordnet: WordNetCorpusReader) -> None:
    tokenize = NLTKWordTokenizer().tokenize
    for prediction, wanted in pairs:
        found, right = tokenize(prediction), tokenize(wanted)
        expected = single_meteor_score(right, found, wordnet=nltk_wordnet)
        lower = ([token.lower() for token in tokens] for tokens in (found, right))
        assert meteor.meteor(*lower) == pytest.approx(expected, abs=TOLERANCE)


def test_meteor_of_unicode_words_equals_nltk(pairs: Pairs, nltk_wordnet: WordNetCorpusReader) -> None:
    for prediction, wanted in pairs:
        expected = single_meteor_score(words(wanted), words(prediction), wordnet=nltk_wordnet)
        if words(wanted) or words(prediction):
            assert meteor.score(prediction, wanted) == pytest.approx(expected, abs=TOLERANCE)


def test_every_stage_of_meteor_equals_nltk(nltk_wordnet: WordNetCorpusReader) -> None:
    """English words that are equal, inflected, synonyms or neither, in any order: 300 more pairs."""
    chance = random.Random(8)
    single = [name for name in sorted(nltk_wordnet.all_lemma_names()) if name.isalpha()]
    for _ in range(300):
        vocabulary = chance.sample(single, 25)
        wanted = chance.choices(vocabulary, k=chance.randint(1, 60))
        found = [_varied(chance, word, nltk_wordnet) for word in wanted]
        if chance.random() < 0.3:
            chance.shuffle(found)
        expected = single_meteor_score(wanted, found, wordnet=nltk_wordnet)
        assert meteor.meteor([word.lower() for word in found], wanted) == pytest.approx(
            expected, abs=TOLERANCE
        )


def _varied(chance: random.Random, word: str, wordnet: WordNetCorpusReader) -> str:
    synonyms = sorted({lemma.name() for synset in wordnet.synsets(word) for lemma in synset.lemmas()})
    return chance.choice(
        [word, word, word + chance.choice(["s", "ed", "ing"]), chance.choice(synonyms), "other"]
    )


def test_meteors_sentences_are_those_of_nltks_tokenizer() -> None:
    """What ends a sentence is a token of its own; abbreviations before a small letter keep their full stop."""
    text = 'They voted. "It passed." Then, approx. at noon, they left!'
    assert meteor._treebank_words(text) == (
        "they", "voted", ".", "``", "it", "passed", ".", "''", "then", ",", "approx.", "at", "noon", ",",
        "they", "left", "!",
    )  # fmt: skip


def test_words_of_lines_equal_words(pairs: Pairs) -> None:
    for prediction, _ in pairs:
        assert tuple(word for line in word_lines(prediction) for word in line) == words(prediction)
