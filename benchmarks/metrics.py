"""How fast the metrics are, beside the libraries that define them, and how far their values are apart.

Without --data the pairs are generated: articles in several scripts and what a careless extractor makes of them.
With --data, a folder packed as CC-NEWS is, they are Fundus' extraction and Trafilatura's of every page. The
comparison is over a sample of the pairs, since ROUGE alone would take the libraries minutes; the totals are over
all of them. Figures are processor time of one core, ours the median of three rounds; METEOR is wall-clock time
of two processes, their start included.

    python benchmarks/metrics.py --pairs 1000 --json metrics.json
"""

import argparse
import json
import logging
import math
import multiprocessing
import random
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median

import jellyfish
import Levenshtein
from more_itertools import chunked
from nltk.translate.bleu_score import sentence_bleu
from rich.console import Console
from rich.table import Table
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU

from ml.article import Article, Body, Section
from ml.metrics import bleu, jaro_winkler, levenshtein, rouge_l, rouge_lsum
from ml.metrics.registry import METRICS, Reference, missing
from ml.metrics.tokens import rouge_lines, rouge_words, tokens_13a, word_lines, words
from ml.records import Prediction

ROUNDS = 3
SAMPLE = 60
PROCESSES = 2

Pair = tuple[Prediction, Reference]
Texts = tuple[str, str]  # prediction and reference
Compare = Callable[[str, str], float]


# The pairs


VOCABULARIES = (
    """the of and to in a is that for it was on with as by at from council city vote mayor year people government
    new police million first report minister court company market week plan work school water family night team
    children economy climate street public health officials announced decided increased according percent""",
    """der die das und in zu den mit von für ist im dem nicht ein eine als auch es an werden aus hat dass sie nach
    Stadt Bürger Straße Jahr Prozent Minister Regierung Gemeinderat Entscheidung Maßnahmen größer Öffentlichkeit""",
    """и в не на что с по как из к за от это года город совет решение люди мэр полиция правительство новый улица
    вода школа рынок неделя работа миллион первый суд""",
    "في من على إلى أن عن هذا التي المدينة المجلس القرار الناس رئيس الحكومة الشرطة السنة جديد شارع مدرسة السوق",
    "के में की है को से का और पर यह शहर परिषद निर्णय लोग सरकार पुलिस वर्ष नया सड़क विद्यालय बाज़ार पानी परिवार",
    "の に は を た が で と し れ さ ある いる 市 議会 決定 市民 政府 警察 年 新しい 道路 学校 市場 水 家族 発表 した",
)
WEIGHTS = (5, 5, 1, 1, 1, 1)  # how often an article is in which language


def generated_pairs(count: int) -> list[Pair]:
    """Articles of a median of 600 words, and copies that lose, add, change and join lines."""
    chance = random.Random(2026)
    return [_generated_pair(chance, number) for number in range(count)]


def _generated_pair(chance: random.Random, number: int) -> Pair:
    vocabulary = chance.choices(VOCABULARIES, WEIGHTS)[0].split()
    vocabulary = vocabulary + [_compound(chance, vocabulary) for _ in range(400)]
    wanted = _paragraphs(chance, vocabulary, words_wanted=int(chance.lognormvariate(6.4, 0.5)))
    found = list(_extracted(chance, wanted, vocabulary))
    page = "".join(f"<p>{line}</p>\n" for line in [*_paragraphs(chance, vocabulary, 400), *wanted])
    return _pair(str(number), _article(chance, found), _article(chance, wanted), compact=page)


def _compound(chance: random.Random, vocabulary: Sequence[str]) -> str:
    return "".join(chance.sample(vocabulary, 2)).capitalize()


def _paragraphs(chance: random.Random, vocabulary: Sequence[str], words_wanted: int) -> list[str]:
    weights = [1 / (rank + 1) for rank in range(len(vocabulary))]  # as Zipf has it
    lines, left = [], words_wanted
    while left > 0:
        length = min(left, chance.randint(15, 60))
        lines.append(_line(chance, chance.choices(vocabulary, weights, k=length)))
        left -= length
    return lines


def _line(chance: random.Random, tokens: Sequence[str]) -> str:
    joins = chance.choices(
        (" ", ", ", ". ", ' "', '" ', "-", " 2024 ", " 1,5 "), (80, 6, 6, 1, 1, 2, 1, 1), k=len(tokens)
    )
    return "".join(token + join for token, join in zip(tokens, joins, strict=True)).strip(' ,.-"') + "."


def _extracted(chance: random.Random, lines: Sequence[str], vocabulary: Sequence[str]) -> Iterator[str]:
    rate = chance.choice((0.02, 0.1, 0.3, 0.8))
    for line in lines:
        fate = chance.random()
        if fate > rate:
            yield line
        elif fate > 0.5 * rate:  # an advert instead of it, or after it
            yield from chance.choice(([], [line]))
            yield _line(chance, chance.choices(vocabulary, k=12))
        else:
            tokens = line.split()
            yield " ".join(token for token in tokens if chance.random() > 0.2) or line


def _article(chance: random.Random, lines: Sequence[str]) -> Article:
    sections = tuple(Section(paragraphs=tuple(lines[start : start + 5])) for start in range(0, len(lines), 5))
    return Article(
        title=lines[0][:80] if lines else None,
        authors=("Ann Lee", "José Díaz")[: chance.randint(0, 2)],
        publishing_date=datetime(2024, 5, chance.randint(1, 2), 8, 30, tzinfo=UTC),
        topics=tuple(lines[-1].split()[:4]) if lines else (),
        body=Body(sections=sections),
    )


def real_pairs(data: Path) -> list[Pair]:
    """Trafilatura's and Fundus' extraction of the same pages."""
    from cleaning import compact, samples

    from ml.baselines.extraction import ExtractionFailedError
    from ml.baselines.trafilatura import Trafilatura

    pairs = []
    for page in samples(data):
        with suppress(ExtractionFailedError):
            found = Trafilatura().extract(page.html, page.url).article()
            pairs.append(_pair(page.url, found, page.article, compact=compact(page.html)))
    return pairs


def _pair(page_id: str, found: Article, wanted: Article, *, compact: str) -> Pair:
    prediction = Prediction(
        page_id=page_id,
        url=page_id,
        publisher="benchmark",
        language=None,
        extractor="benchmark",
        text=found.plaintext,
        json=found.to_json(),
        truncated=False,
        seconds=1.0,
        error=None,
        device="cpu",
    )
    reference = Reference(
        page_id=page_id,
        url=page_id,
        publisher="benchmark",
        language=None,
        plaintext=wanted.plaintext,
        json=wanted.to_json(),
        compact=compact,
    )
    return prediction, reference


# The libraries


class _OurWords:
    """For Google's ROUGE, which takes a tokenizer."""

    def tokenize(self, text: str) -> tuple[str, ...]:
        return words(text)


def _rouge(kind: str, *, unicode: bool = False) -> Compare:
    scorer = RougeScorer([kind], tokenizer=_OurWords() if unicode else None)
    return lambda prediction, reference: float(scorer.score(reference, prediction)[kind].fmeasure)


def _sacrebleu() -> Compare:
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)  # it advises against unsmoothed BLEU at each call
    scorer = BLEU(smooth_method="none", effective_order=False, tokenize="13a")
    return lambda prediction, reference: scorer.sentence_score(prediction, [reference]).score / 100


def _nltk_bleu(prediction: str, reference: str) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of each text without a common n-gram
        return float(sentence_bleu([words(reference)], words(prediction)))


def _levenshtein(prediction: str, reference: str) -> float:
    return Levenshtein.distance(prediction, reference) / max(len(prediction), len(reference), 1)


def _without_marks(pair: Texts) -> Texts:
    """Each character replaced by a Han one: jellyfish takes a letter with its marks for one character."""
    characters = {ord(old): 0x4E00 + number for number, old in enumerate(sorted(set("".join(pair))))}
    return pair[0].translate(characters), pair[1].translate(characters)


@dataclass(frozen=True)
class Peer:
    """One of our metrics and the library that has it too."""

    metric: str
    ours: Compare
    library: str
    theirs: Compare
    prepare: Callable[[Texts], Texts] = lambda pair: pair  # not timed


def peers() -> list[Peer]:
    return [
        Peer("ROUGE-L (paper)", rouge_l.score_paper, "rouge-score", _rouge("rougeL")),
        Peer("ROUGE-L", rouge_l.score, "rouge-score, our words", _rouge("rougeL", unicode=True)),
        Peer("ROUGE-Lsum (paper)", rouge_lsum.score_paper, "rouge-score", _rouge("rougeLsum")),
        Peer("ROUGE-Lsum", rouge_lsum.score, "rouge-score, our words", _rouge("rougeLsum", unicode=True)),
        Peer("BLEU (paper)", bleu.score_paper, "sacrebleu", _sacrebleu()),
        Peer("BLEU", bleu.score, "NLTK, our words", _nltk_bleu),
        Peer("Levenshtein distance", levenshtein.score, "python-Levenshtein", _levenshtein),
        Peer(
            "Jaro-Winkler", jaro_winkler.score, "jellyfish", jellyfish.jaro_winkler_similarity, _without_marks
        ),
    ]


# Measuring


@dataclass(frozen=True, kw_only=True)
class Row:
    """A metric's cost beside its library's, both per pair, and the largest difference of their values."""

    peer: Peer
    ms: float
    library_ms: float
    largest_difference: float


def compare(peer: Peer, texts: Sequence[Texts]) -> Row:
    prepared = [peer.prepare(pair) for pair in texts]
    ours, seconds = _timed(lambda: [peer.ours(*pair) for pair in texts])
    theirs, library_seconds = _timed(lambda: [peer.theirs(*pair) for pair in prepared], rounds=1)
    return Row(
        peer=peer,
        ms=1000 * seconds / len(texts),
        library_ms=1000 * library_seconds / len(texts),
        largest_difference=max(abs(value - other) for value, other in zip(ours, theirs, strict=True)),
    )


def ms_together(metrics: Sequence[Peer], texts: Sequence[Texts]) -> float:
    """Of all of ours, pair by pair as the product does it: what shares tokens stands together."""
    _, seconds = _timed(lambda: [peer.ours(*pair) for pair in texts for peer in metrics])
    return 1000 * seconds / len(texts)


def _timed(work: Callable[[], list[float]], rounds: int = ROUNDS) -> tuple[list[float], float]:
    """What `work` returns, and the median of its processor time, each round beginning with no tokens known."""
    seconds, values = [], []
    for _ in range(rounds):
        for tokenizer in (words, word_lines, rouge_words, rouge_lines, tokens_13a):
            tokenizer.cache_clear()
        started = time.process_time()
        values = work()
        seconds.append(time.process_time() - started)
    return values, median(seconds)


def seconds_for_all(pairs: Sequence[Pair]) -> float:
    """Processor time of every metric of both protocols but METEOR, page by page as the product does it."""
    names = [name for name in _measured() if "meteor" not in name]
    return _timed(lambda: _measure(names, pairs))[1]


def seconds_for_meteor(pairs: Sequence[Pair]) -> float | None:
    """Wall-clock time of METEOR of both protocols and of the JSON, with the start of the processes."""
    names = [name for name in _measured() if "meteor" in name]
    if not names:
        return None
    started = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        for _ in pool.imap(partial(_measure, names), list(chunked(pairs, 50))):
            pass
    return time.perf_counter() - started


def _measured() -> list[str]:
    absent = missing()
    return [name for name, metric in METRICS.items() if metric.measure and name not in absent]


def _measure(names: Sequence[str], pairs: Sequence[Pair]) -> list[float]:
    measures = [measure for name in names if (measure := METRICS[name].measure)]
    results = (measure(*pair) for pair in pairs for measure in measures)
    return [result.value for result in results if result]


# Reporting


Figures = dict[str, float | None]


def show(rows: Sequence[Row], figures: Figures, console: Console) -> None:
    table = Table(title=f"{figures['sample']:.0f} of {figures['pairs']:.0f} pairs, on both sides")
    for heading in ("metric", "ms a pair", "library", "its ms a pair", "ratio", "largest difference"):
        table.add_column(heading, justify="left" if heading in ("metric", "library") else "right")
    for row in rows:
        table.add_row(
            row.peer.metric,
            f"{row.ms:.3f}",
            row.peer.library,
            f"{row.library_ms:.2f}",
            f"{row.library_ms / row.ms:.0f}",
            f"{row.largest_difference:.1e}",
        )
    table.add_section()
    table.add_row(
        "together, pair by pair",
        f"{figures['peers_ms']:.3f}",
        "",
        f"{figures['libraries_ms']:.2f}",
        f"{figures['speedup']:.0f}",
        f"{figures['largest_difference']:.1e}",
    )
    console.print(table)
    console.print(
        f"All {figures['metrics']:.0f} metrics but METEOR, JSON included: "
        f"{figures['seconds_per_1000']:.1f} s for 1,000 pairs on one core"
    )
    seconds = figures["meteor_seconds_per_1000"]
    console.print(
        "METEOR: WordNet is missing"
        if seconds is None
        else f"METEOR of texts in both protocols and of JSON: {seconds:.1f} s for 1,000 pairs in {PROCESSES} processes"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--pairs", type=int, default=1000, help="how many pairs to generate or take from --data"
    )
    parser.add_argument("--data", type=Path, help="folder with manifest.jsonl and crawl-data/")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    if arguments.pairs < 1:
        parser.error(f"found --pairs {arguments.pairs}, expected at least 1")
    if arguments.data and not (arguments.data / "manifest.jsonl").is_file():
        parser.error(f"found no manifest.jsonl in {arguments.data}; expected a folder packed as CC-NEWS is")
    pairs = (
        real_pairs(arguments.data)[: arguments.pairs] if arguments.data else generated_pairs(arguments.pairs)
    )
    sample = [
        (prediction.text, reference.plaintext)
        for prediction, reference in pairs[:: math.ceil(len(pairs) / SAMPLE)]
    ]
    rows = [compare(peer, sample) for peer in peers()]
    figures = _comparison(rows, sample) | _totals(pairs)
    show(rows, figures, Console())
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


def _comparison(rows: Sequence[Row], sample: Sequence[Texts]) -> Figures:
    libraries_ms, peers_ms = (
        sum(row.library_ms for row in rows),
        ms_together([row.peer for row in rows], sample),
    )
    return {
        "speedup": libraries_ms / peers_ms,
        "peers_ms": peers_ms,
        "libraries_ms": libraries_ms,
        "largest_difference": max(row.largest_difference for row in rows),
        "sample": len(sample),
    }


def _totals(pairs: Sequence[Pair]) -> Figures:
    meteor_s = seconds_for_meteor(pairs)
    return {
        "seconds_per_1000": seconds_for_all(pairs) * 1000 / len(pairs),
        "meteor_seconds_per_1000": None if meteor_s is None else meteor_s * 1000 / len(pairs),
        "metrics": sum("meteor" not in name for name in _measured()),
        "pairs": len(pairs),
        "median_words": median(len(words(reference.plaintext)) for _, reference in pairs),
    }


if __name__ == "__main__":
    main()
