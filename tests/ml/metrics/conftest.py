"""Pairs of texts in many scripts, for comparing the metrics with the libraries that defined them."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from ml.metrics import meteor

VOCABULARIES = {
    "english": """the a of and council councils voted votes voting mayor city quickly quick car automobile house
        home big large buy purchased said says children child won't it's 1,000 2024 U.S. better best""",
    "german": """der die das Straße Straßen Bürger Bürgermeister Maßnahme über für Österreich Grüße wählten
        gewählt Ausschuss Übung ähnlich größer 1.000 Montag""",
    "vietnamese": "người dân thành phố Việt Nam đường phố hội đồng bỏ phiếu thứ hai quyết định mới chính",
    "russian": "совет город люди голосовал голосовали понедельник решение новый улица ещё её объявил мэр и в на",
    "greek": "το της συμβούλιο πόλη άνθρωποι ψήφισε Δευτέρα απόφαση νέος δρόμος δήμαρχος ΟΔΟΣ οδός και",
    "arabic": "المجلس المدينة الناس صوّت الاثنين قرار جديد شارع رئيس البلدية في من على وقال ١٢٣",
    "persian": "شورا شهر مردم می‌خواهند رأی دوشنبه تصمیم تازه خیابان شهردار و در به از گفت ۱۲۳",
    "hebrew": "המועצה העיר אנשים הצביעה יום שני החלטה חדשה רחוב ראש את של על צה״ל ג׳",
    "hindi": "परिषद शहर लोग मतदान सोमवार फ़ैसला नया सड़क महापौर ने को का की है किया १२३",
    "bengali": "পরিষদ শহর মানুষ ভোট সোমবার সিদ্ধান্ত নতুন রাস্তা মেয়র এই করে দিয়েছে ১২৩",
    "tamil": "சபை நகரம் மக்கள் வாக்களித்தது திங்கள் முடிவு புதிய தெரு மேயர் என்று ஒரு",
    "telugu": "మండలి నగరం ప్రజలు ఓటు సోమవారం నిర్ణయం కొత్త వీధి మేయర్ ఒక అని",
    "thai": "สภา เมือง ประชาชน ลงมติ วันจันทร์ ตัดสินใจ ใหม่ ถนน นายกเทศมนตรี ที่ และ น้ำ",
    "chinese": "议会 城市 人民 投票 星期一 决定 新的 街道 市长 的 在 了 二〇二四年",
    "japanese": "議会 都市 人々 投票した 月曜日 決定 新しい 通り 市長 は を ニュース コーヒー ー",
    "korean": "의회는 도시 사람들 투표했다 월요일 결정 새로운 거리 시장 그리고 이 에서",
    "georgian": "საბჭო ქალაქი ხალხი ხმა ორშაბათი გადაწყვეტილება ახალი ქუჩა მერი და ამ",
    "armenian": "խորհուրդ քաղաք մարդիկ քվեարկեց երկուշաբթի որոշում նոր փողոց քաղաքապետ և",
    "amharic": "ምክር ቤት ከተማ ሰዎች ድምፅ ሰኞ ውሳኔ አዲስ መንገድ ከንቲባ እና",
}
"""Words of made-up news, by language: 19 languages in 15 scripts."""

PAIRS_PER_LANGUAGE = 20
JOINS = (
    " ",
    " ",
    " ",
    " ",
    ", ",
    ". ",
    '." ',
    "\n",
    "\n\n",
    " – 1,5 % ",
    "-",
    " (",
    ") ",
    "… ",
    " & ",
    " 3-4 ",
)

Pairs = list[tuple[str, str]]


def _edited(chance: random.Random, words: Sequence[str], vocabulary: Sequence[str]) -> list[str]:
    """The words with some dropped, replaced, repeated or swapped, as an extractor does it."""
    rate = chance.choice([0.0, 0.05, 0.3, 1.0])
    edits = ([], [chance.choice(vocabulary)], [chance.choice(vocabulary), *words[:6]])
    kept = [word for kept in words for word in ([kept] if chance.random() > rate else chance.choice(edits))]
    if chance.random() < 0.3:  # two parts change places
        middle = chance.randint(0, len(kept))
        kept = kept[middle:] + kept[:middle]
    return kept


def _text(chance: random.Random, words: Sequence[str], joins: Sequence[str]) -> str:
    return "".join(word + chance.choice(joins) for word in words)


@pytest.fixture(scope="session")
def pairs() -> Pairs:
    """(prediction, reference) pairs over all languages, the same ones every time."""
    chance = random.Random(20)
    found = []
    for text in VOCABULARIES.values():
        vocabulary = text.split()
        for _ in range(PAIRS_PER_LANGUAGE):
            reference = chance.choices(vocabulary, k=chance.randint(1, 120))
            prediction = _edited(chance, reference, vocabulary)
            seed = chance.random()  # the same one: the same line breaks wherever nothing was edited
            texts = [_text(random.Random(seed), words, JOINS) for words in (prediction, reference)]
            found.append((texts[0], texts[1]))
    return found


@pytest.fixture(scope="session")
def wordnet() -> Path:
    """WordNet's folder; tests that need it are skipped where it is missing."""
    if reason := meteor.unavailable():
        pytest.skip(reason)
    return meteor.folder()
