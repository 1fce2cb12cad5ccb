"""What the answers of extractors are worth: figures of a set of pages, with intervals over publishers.

Belongs here: from answers and what is right to figures. Does not belong here: the pages, the extractors and the
run (`blocks.py`), or how figures are shown (`figures.py`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from figures import CALIBRATION, LANGUAGE, NEAREST_PEER, Figure

from ml.alignment import Role
from ml.article import Article
from ml.baselines.base import PageInput
from ml.block_model.rendering import body_of
from ml.evaluation import score_predictions
from ml.extractor import Extraction, LabelledPage
from ml.intervals import ScoreTable
from ml.metrics import rouge_l
from ml.metrics.fields import FIELDS, read
from ml.metrics.registry import Reference
from ml.records import Prediction, Score

OURS, ORACLE = "ours", "oracle"
FAILED, GOOD = 0.6, 0.9  # of ROUGE-L: below, a page is lost; from here on, it is read well
LANGUAGE_PAGES = 5  # of a language, for its mean to be told
BINS = 5  # of confidence, with equally many pages each

METRICS = {
    "rouge_l": "rouge_l",
    "bleu": "bleu",
    "valid_json": "json_validity",
    "schema_valid": "schema_validity",
    "title": "title_recall",
    "date_day": "date_day_recall",
    "date_instant": "date_instant_recall",
    "authors_f1": "authors_f1",
    "topics_f1": "topics_f1",
}
"""Figures by the metric they are: every page has one title and one date, so that recall is the share that is right."""
GOLD_METRICS = {
    "gold_shingle_f1": "shingle_f1",
    "gold_title": "title_recall",
    "gold_date_day": "date_day_recall",
    "gold_authors_f1": "authors_f1",
}
_MEAN = "rouge_l"
"""A metric of which a set has the weighted mean: under its name `ScoreTable` averages what is no stored metric."""

_COMPARED_AS = {"title": "title", "authors": "authors", "publishing_date": "date_instant", "topics": "topics"}
"""The keys of an article with a confidence, but for free access, and how `FIELDS` compares them."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """A page as it was received, and what is right of it."""

    received: PageInput
    reference: Reference


@dataclass(frozen=True, kw_only=True)
class LabelledItem(Item):
    """One whose blocks are labelled too."""

    labelled: LabelledPage
    roles: tuple[Role, ...]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a user gets for a page, None where it is no page at all; and the text that a refusal keeps back."""

    extraction: Extraction | None
    kept_back: str = ""

    @property
    def article(self) -> Article:
        """An empty one where the page was refused."""
        return (self.extraction and self.extraction.article) or Article()

    @property
    def is_refused(self) -> bool:
        return not self.extraction or self.extraction.article is None


def predictions(name: str, items: Sequence[Item], articles: Iterable[Article]) -> Iterator[Prediction]:
    """Articles in the form in which all extractors are scored."""
    for item, article in zip(items, articles, strict=True):
        page = item.received
        yield Prediction(
            page_id=page.page_id,
            url=page.url,
            publisher=page.publisher,
            language=page.language,
            extractor=name,
            text=article.plaintext,
            json=article.to_json(),
            truncated=False,
            seconds=0.0,
            error=None,
        )


def on_ccnews(
    items: Sequence[LabelledItem], answers: Sequence[Answer], others: Iterable[Prediction]
) -> dict[str, Figure]:
    """Everything that is told of pages whose families were not seen, beside what others make of them."""
    perfect = (Article(body=body_of(item.labelled.page, item.roles)) for item in items)
    rows = [*_ours(items, answers), *others]
    scores = _scores(items, rows, METRICS)
    of_text = [row for row in scores if row.metric == "rouge_l"]
    oracle = _scores(items, predictions(ORACLE, items, perfect), {"rouge_l": "rouge_l"})
    return {
        **_compared(scores, METRICS),
        **_compared(oracle, {"rouge_l": "rouge_l"}),
        **_compared([_is_lost(row) for row in of_text], {"share_under_06": _MEAN}),
        **_roles(items, answers),
        **_refusals(items, answers),
        **_free_access(items, answers),
        **_languages(of_text),
        **_calibration(items, answers),
    }


def on_gold(
    items: Sequence[Item], answers: Sequence[Answer], others: Iterable[Prediction]
) -> dict[str, Figure]:
    """The same of pages that people annotated."""
    rows = [*_ours(items, answers), *others]
    return _compared(_scores(items, rows, GOLD_METRICS), GOLD_METRICS)


def _ours(items: Sequence[Item], answers: Sequence[Answer]) -> Iterator[Prediction]:
    return predictions(OURS, items, (answer.article for answer in answers))


def _scores(items: Sequence[Item], rows: Iterable[Prediction], metrics: Mapping[str, str]) -> list[Score]:
    references = {item.reference.page_id: item.reference for item in items}
    return score_predictions(rows, references, metrics=metrics.values(), processes=1)


def _compared(rows: Iterable[Score], metrics: Mapping[str, str]) -> dict[str, Figure]:
    """Each extractor's figures by key, and how far ours are ahead of the nearest peer's."""
    table = ScoreTable(rows)
    keys = {metric: key for key, metric in metrics.items()}
    figures = {
        f"{'' if row.extractor == OURS else row.extractor + '_'}{keys[row.metric]}": Figure(
            row.mean, row.low, row.high
        )
        for row in table.summaries()
        if row.metric in keys
    }
    for metric, key in keys.items():
        if table.applies(OURS, metric) and table.applies(NEAREST_PEER, metric):
            ahead = table.difference(metric, OURS, NEAREST_PEER)
            figures[f"ahead_{key}"] = Figure(ahead.mean, ahead.low, ahead.high)
    return figures


def _is_lost(row: Score) -> Score:
    return replace(row, value=float((row.value or 0) < FAILED))


def _averaged(key: str, parts: Iterable[tuple[Item, float, float]]) -> dict[str, Figure]:
    """The mean of a value by page and weight; a page of no weight does not count."""
    rows = [
        Score(
            page_id=item.received.page_id,
            publisher=item.received.publisher,
            language=item.received.language,
            extractor=OURS,
            metric=_MEAN,
            value=value,
            weight=weight,
        )
        for item, value, weight in parts
    ]
    return _compared(rows, {key: _MEAN})


def _roles(items: Sequence[LabelledItem], answers: Sequence[Answer]) -> dict[str, Figure]:
    """F1 of each role over the blocks of all pages together."""
    figures: dict[str, Figure] = {}
    for role in (Role.HEADLINE, Role.SUMMARY, Role.PARAGRAPH):
        parts = [_role_f1(role, item, answer) for item, answer in zip(items, answers, strict=True)]
        figures |= _averaged(f"{role}_f1", parts)
    return figures


def _role_f1(role: Role, item: LabelledItem, answer: Answer) -> tuple[Item, float, float]:
    lines = answer.extraction.lines if answer.extraction else ()
    found = {line.block for line in lines if line.role is role}
    blocks = zip(item.labelled.page.blocks, item.roles, strict=True)
    wanted = {block.id for block, right in blocks if right is role}
    both = len(found) + len(wanted)
    return item, 2 * len(found & wanted) / both if both else 0.0, both


def _refusals(items: Sequence[LabelledItem], answers: Sequence[Answer]) -> dict[str, Figure]:
    """What refusing costs: every page here is an article."""
    pages = [(item, each.is_refused, _quality(item, each)) for item, each in zip(items, answers, strict=True)]
    return {
        **_averaged("refused", ((item, float(no), 1) for item, no, _ in pages)),
        **_averaged("good_refused", ((item, float(no and text >= GOOD), 1) for item, no, text in pages)),
        **_averaged("unrefused_rouge_l", ((item, text, 1) for item, _, text in pages)),
    }


def _quality(item: Item, answer: Answer) -> float:
    """ROUGE-L of the text, kept back or not."""
    return rouge_l.score(answer.kept_back or answer.article.plaintext, item.reference.plaintext)


def _free_access(items: Sequence[LabelledItem], answers: Sequence[Answer]) -> dict[str, Figure]:
    right = (
        (item, float(answer.article.free_access == item.labelled.article.free_access), 1)
        for item, answer in zip(items, answers, strict=True)
    )
    return _averaged("free_access", right)


def _languages(rows: Sequence[Score]) -> dict[str, Figure]:
    """ROUGE-L of the languages with enough pages, and the least of ours."""
    pages = Counter(row.language for row in rows if row.extractor == OURS)
    figures: dict[str, Figure] = {}
    for language in sorted(name for name, count in pages.items() if name and count >= LANGUAGE_PAGES):
        of_language = (row for row in rows if row.language == language)
        figures |= _compared(of_language, {f"{LANGUAGE}{language}": "rouge_l"})
    ours = [found for key, found in figures.items() if key.startswith(LANGUAGE)]
    return figures | {"weakest_language": min(ours, key=lambda found: found.value)} if ours else {}


def _calibration(items: Sequence[LabelledItem], answers: Sequence[Answer]) -> dict[str, Figure]:
    """How far confidence is off: of the text on all pages, of each field on those that were answered."""
    pages = [(item, each, each.extraction) for item, each in zip(items, answers, strict=True)]
    outcomes = {
        "text": [(found.confidence, _quality(item, each) >= GOOD) for item, each, found in pages if found]
    }
    for name in (*_COMPARED_AS, "free_access"):
        outcomes[name] = [
            (found.field_confidence[name], _is_right(name, item.labelled.article, found.article))
            for item, _, found in pages
            if found and found.article
        ]
    told = {name: found for name, found in outcomes.items() if found}
    return {f"{CALIBRATION}{name}": Figure(_calibration_error(found)) for name, found in told.items()}


def _is_right(name: str, wanted: Article, found: Article) -> bool:
    if name not in _COMPARED_AS:
        return found.free_access == wanted.free_access
    counts = FIELDS[_COMPARED_AS[name]](read(found.to_json()), read(wanted.to_json()) or {})
    return counts.found == counts.wanted == counts.shared


def _calibration_error(outcomes: Sequence[tuple[float, bool]]) -> float:
    """Mean distance between confidence and the share that is right, over bins."""
    parts = np.array_split(np.array(sorted(outcomes), dtype=np.float64), BINS)
    distances = (len(part) * abs(part[:, 0].mean() - part[:, 1].mean()) for part in parts if len(part))
    return float(sum(distances)) / len(outcomes)
