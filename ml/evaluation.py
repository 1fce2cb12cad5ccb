"""Scores per article: every metric of every answered page.

Belongs here: pairing predictions with references, and making sure that they are of the same pages. Does not
belong here: the metrics (`ml/metrics/`), or what many scores say together (`ml/intervals.py`).
"""

import multiprocessing
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from more_itertools import chunked

from ml.metrics.registry import METRICS, Protocol, Reference, missing
from ml.records import Prediction, Score

PAIRS_PER_TASK = 16
MANY_PAIRS = 256  # fewer are scored in less time than a process takes to start


def score_predictions(
    predictions: Iterable[Prediction],
    references: Mapping[str, Reference],
    *,
    protocols: Iterable[Protocol] = tuple(Protocol),
    metrics: Iterable[str] | None = None,
    processes: int | None = None,
) -> list[Score]:
    """One row per prediction and metric that a page is measured by, `references` being keyed by page id.

    `metrics` names some alone, those that a harmonic mean is of for it; None is all of the protocols.
    `processes` None is one for few pairs and one a core for many. A failed prediction is scored as the empty
    text that it holds. Metrics that this machine cannot compute
    have no rows (`ml.metrics.registry.missing` says why). Raises `ValueError` where a prediction is not
    text, or an extractor did not answer exactly the reference pages, once each: means over different pages
    cannot be compared.
    """
    rows = _with_failed_json(list(predictions))
    _require_text(rows)
    _require_same_pages(rows, references)
    rows.sort(key=lambda row: row.page_id)  # tokens of a page are cached: what shares it stands together
    names = _measured_by(set(METRICS if metrics is None else metrics), set(protocols))
    tasks = chunked(((row, references[row.page_id]) for row in rows), PAIRS_PER_TASK)
    score = partial(_score_pairs, names)
    workers = processes or _processes_for(len(rows))
    if workers == 1:
        return [row for task in tasks for row in score(task)]
    # Spawned, not forked: a fork of a threaded process, such as Dagster's, may inherit a held lock.
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        return [row for scored in pool.imap(score, tasks) for row in scored]


def _measured_by(wanted: set[str], protocols: set[Protocol]) -> list[str]:
    """What pages are measured by, for the metrics that are wanted and that this machine can compute."""
    absent = missing()
    parts = wanted.union(*(METRICS[name].harmonic_of or () for name in wanted))
    return [
        name
        for name, metric in METRICS.items()
        if name in parts and metric.measure and metric.protocol in protocols and name not in absent
    ]


def _processes_for(pairs: int) -> int:
    return 1 if pairs < MANY_PAIRS else os.cpu_count() or 1


def _with_failed_json(predictions: Sequence[Prediction]) -> list[Prediction]:
    """No JSON from an extractor that writes it elsewhere is an invalid output, not an inapplicable metric."""
    writers = {row.extractor for row in predictions if row.json is not None}
    return [
        replace(row, json="") if row.json is None and row.extractor in writers else row for row in predictions
    ]


def _require_text(predictions: Sequence[Prediction]) -> None:
    wrong = [
        f"{type(value).__name__} as {field} of {row.extractor} on page {row.page_id}"
        for row in predictions
        for field, value in (("text", row.text), ("json", row.json or ""))
        if not isinstance(value, str)
    ]
    if wrong:
        raise ValueError(f"found {'; '.join(wrong[:3])} ({len(wrong)} in all); expected text")


def _require_same_pages(predictions: Sequence[Prediction], references: Mapping[str, Reference]) -> None:
    answered: dict[str, Counter[str]] = defaultdict(Counter)
    for row in predictions:
        answered[row.extractor][row.page_id] += 1
    problems = [
        f"{extractor}: {problem}"
        for extractor, pages in sorted(answered.items())
        for problem in _page_problems(pages, references)
    ]
    if problems:
        raise ValueError(
            f"expected one prediction of every extractor for each of the {len(references)} reference pages, "
            f"found {'; '.join(problems)}. Score complete runs over one split version only."
        )


def _page_problems(pages: Counter[str], references: Mapping[str, Reference]) -> Iterator[str]:
    found = {
        "missing": sorted(references.keys() - pages.keys()),
        "unknown": sorted(pages.keys() - references.keys()),
        "repeated": sorted(page for page, count in pages.items() if count > 1),
    }
    return (f"{len(ids)} {kind} (such as {ids[0]})" for kind, ids in found.items() if ids)


def _score_pairs(names: Sequence[str], pairs: Sequence[tuple[Prediction, Reference]]) -> list[Score]:
    return [_score(name, prediction, reference) for prediction, reference in pairs for name in names]


def _score(name: str, prediction: Prediction, reference: Reference) -> Score:
    measure = METRICS[name].measure
    measured = measure(prediction, reference) if measure else None
    return Score(
        page_id=prediction.page_id,
        publisher=prediction.publisher,
        language=prediction.language,
        extractor=prediction.extractor,
        metric=name,
        value=None if measured is None else measured.value,
        weight=1.0 if measured is None else measured.weight,
    )
