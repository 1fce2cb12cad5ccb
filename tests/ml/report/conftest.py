"""A small evaluation that knows its own answers: three publishers, two extractors of text and two of JSON."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest

from ml.article import Article, Body, Section
from ml.evaluation import score_predictions
from ml.metrics.registry import Reference
from ml.records import Prediction
from ml.report.inputs import CorpusFacts, ExtractorKind, GoldInput, ReportInput, SplitSize

PARAGRAPHS = ("The council voted on Monday evening.", "The mayor was not there, and nobody asked why.")
TEXT = "\n\n".join(PARAGRAPHS)
ARTICLE = Article(
    title="A vote",
    authors=("Ada Byron",),
    publishing_date=datetime(2024, 3, 1, 7, 30, tzinfo=UTC),
    topics=("Council",),
    body=Body(sections=(Section(paragraphs=PARAGRAPHS),)),
)
PUBLISHERS = ("Gazette", "Tageblatt", "Asahi")
LANGUAGES = {"Gazette": "en", "Tageblatt": "de", "Asahi": None}
KINDS = {
    "tiny-json": ExtractorKind.TRAINED,
    "zero": ExtractorKind.ZERO_SHOT,
    "trafilatura": ExtractorKind.LIBRARY,
    "boilerpipe": ExtractorKind.LIBRARY,
    "only": ExtractorKind.LIBRARY,
}


@dataclass(frozen=True)
class Point:
    """A value of a training curve."""

    name: str
    step: int
    value: float


@dataclass(frozen=True)
class Evaluation:
    """What tests build reports from."""

    text: str
    article: Article
    predictions: Callable[..., list[Prediction]]
    report: Callable[..., ReportInput]
    gold: Callable[..., GoldInput]


def reference(number: int, publisher: str) -> Reference:
    return Reference(
        page_id=f"{publisher}-{number}",
        url=f"https://{publisher.lower()}.example/{number}?a=1&b=<2>",
        publisher=publisher,
        language=LANGUAGES[publisher],
        plaintext=TEXT,
        json=ARTICLE.to_json(),
        compact=f"<p>{TEXT}</p>",
    )


def references(publishers: Sequence[str] = PUBLISHERS) -> Mapping[str, Reference]:
    rows = [reference(number, publisher) for publisher in publishers for number in range(4)]
    return {row.page_id: row for row in rows}


def predictions(
    extractor: str, text: str, publishers: Sequence[str] = PUBLISHERS, **changes: object
) -> list[Prediction]:
    rows = [
        Prediction(
            page_id=row.page_id,
            url=row.url,
            publisher=row.publisher,
            language=row.language,
            extractor=extractor,
            text=text,
            json=None,
            truncated=False,
            seconds=0.25,
            error=None,
        )
        for row in references(publishers).values()
    ]
    return [replace(row, **changes) for row in rows]  # type: ignore[arg-type]


def report(
    rows: Sequence[Prediction], publishers: Sequence[str] = PUBLISHERS, **changes: object
) -> ReportInput:
    pages = references(publishers)
    given: dict[str, object] = {
        "title": "Extraction on unseen publishers",
        "generated": datetime(2024, 5, 1, 8, 30, tzinfo=UTC),
        "provenance": {"Corpus": "c0ffee", "Fundus": "0.5.7"},
        "kinds": KINDS,
        "scores": score_predictions(rows, pages),
        "predictions": rows,
        "references": pages,
    }
    return ReportInput(**(given | changes))  # type: ignore[arg-type]


def gold(rows: Sequence[Prediction]) -> GoldInput:
    """The same pages, were people to have annotated title and text alone."""
    pages = {name: replace(row, fields=frozenset({"title"})) for name, row in references().items()}
    return GoldInput(
        name="people",
        source="somewhere public",
        licence="Apache-2.0",
        pages=12,
        publishers=3,
        scores=score_predictions(rows, pages),
        predictions=rows,
    )


@pytest.fixture(scope="session")
def evaluation() -> Evaluation:
    return Evaluation(text=TEXT, article=ARTICLE, predictions=predictions, report=report, gold=gold)


@pytest.fixture(scope="session")
def whole() -> ReportInput:
    """Everything that a report can hold."""
    right = ARTICLE.to_json()
    wrong = ARTICLE.model_copy(update={"title": "Home", "topics": ("Council", "Sport")}).to_json()
    rows = [
        *predictions(
            "tiny-json",
            "The the the the council.",
            json=wrong,
            device="cuda",
            seconds=3.6,
            truncated=True,
            input_tokens=3000,
            output_tokens=400,
            target_perplexity=2.5,
            target_tokens=10,
        ),
        *predictions("zero", TEXT, json=right, device="server", seconds=7.2),
        *predictions("trafilatura", TEXT, device="cpu", seconds=0.036),
        *predictions("boilerpipe", TEXT.replace("mayor", "mare"), device="cpu"),
    ]
    return report(
        rows,
        prices={"cpu": 0.1, "cuda": 2.0},
        gold=gold([*predictions("zero", TEXT, json=right), *predictions("trafilatura", PARAGRAPHS[0])]),
        corpus=CorpusFacts(
            outcomes={"kept": 90, "low_coverage": 7, "no_body": 3},
            languages={"en": 60, "de": 30},
            input_tokens=[3000, 4000, 5000],
            output_tokens=[400, 500, 600],
            splits=[SplitSize(split="train", publishers=11, families=9, pages=78)],
        ),
        training={"tiny-json": [Point("loss", step, 1 / (step + 1)) for step in range(20)]},
        notes=["One publisher is new."],
        unavailable={"meteor": "WordNet is missing: install it."},
    )
