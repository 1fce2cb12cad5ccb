"""Random pairs of texts in many scripts, for comparing the metrics with the libraries that defined them."""

import random

import pytest

ALPHABETS = {
    "latin": "abcdefghijklmnopqrstuvwxyzäöüßéñ",
    "cyrillic": "абвгдежзийклмнопрстуфхцчшщъыьэюя",
    "greek": "αβγδεζηθικλμνξοπρσςτυφχψωά",
    "arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "hebrew": "אבגדהוזחטיכלמנסעפצקרשת",
    "devanagari": "कखगघचछजझटठडढतथदधनपफबभमयरलवशषसह",
    "bengali": "কখগঘচছজঝটঠডঢতথদধনপফবভমযরলশষসহ",
    "tamil": "கஙசஞடணதநபமயரலவழளறன",
    "thai": "กขคงจฉชซญดตถทธนบปผพฟมยรลวศสหอ",
    "hangul": "가나다라마바사아자차카타파하거너더러",
    "kana": "あいうえおかきくけこさしすせそアイウエオカキクケコ",
    "han": "的一是不了人我在有他这中大来上国个到说们",
    "georgian": "აბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰ",
    "armenian": "աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ",
}
PAIRS_PER_SCRIPT = 25


def _word(chance: random.Random, alphabet: str) -> str:
    return "".join(chance.choices(alphabet, k=chance.randint(1, 7)))


def _edited(chance: random.Random, words: list[str], alphabet: str) -> list[str]:
    """The words with some dropped, replaced or repeated, as an extractor does it."""
    rate = chance.choice([0.0, 0.05, 0.3, 1.0])
    edits = ([], [_word(chance, alphabet)], [_word(chance, alphabet), *words[:6]])
    kept = ([word] if chance.random() > rate else chance.choice(edits) for word in words)
    return [word for part in kept for word in part]


def _text(chance: random.Random, words: list[str]) -> str:
    return "".join(
        word + chance.choice([" ", " ", " ", ", ", ". ", "\n\n", " – 1,5 % ", "-"]) for word in words
    )


@pytest.fixture(scope="session")
def pairs() -> list[tuple[str, str]]:
    """(prediction, reference) pairs over all scripts, the same ones every time."""
    chance = random.Random(20)
    found = []
    for alphabet in ALPHABETS.values():
        for _ in range(PAIRS_PER_SCRIPT):
            vocabulary = [_word(chance, alphabet) for _ in range(30)]
            reference = chance.choices(vocabulary, k=chance.randint(4, 120))
            prediction = _edited(chance, reference, alphabet)
            found.append((_text(chance, prediction), _text(chance, reference)))
    return found
