"""The evaluation report: what a person reads to decide.

Belongs here: gathering what the report shows from the store, writing it, and attaching it to the runs of
the models it judges. Does not belong here: its content and looks (`ml/report/`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain

import dagster as dg

from assets.corpus import CORPUS, PAGE_SPLITS
from assets.evaluation import SCORES_OF, complete_answers, left_out, trained_models
from assets.models import CURVES
from assets.presentation import picture
from ml.baselines.registry import BASELINES
from ml.metrics.registry import missing
from ml.plots import score_intervals
from ml.records import CorpusRow, CurveRecord, ModelRecord, Prediction, Score, Split
from ml.report.data import to_files
from ml.report.inputs import CorpusFacts, ExtractorKind, GoldInput, ReportInput, SplitSize
from ml.report.report import render_html, render_markdown
from ml.splits import PageSplit
from ml.zero_shot.registry import ZERO_SHOT
from resources.crawl import Crawl
from resources.fundus.catalogue import fundus_version
from resources.provenance import git_commit
from resources.store import Store
from resources.test_set import HELD_OUT, REPORT_FILE, Evaluation, EvaluationSet
from resources.tracking import Tracking

SHOWN = ("rouge_l", "bleu", "groundedness")
MARKDOWN_FILE = REPORT_FILE.replace(".html", ".md")
DATA_FOLDER = "report/data"


@dg.asset(
    deps=["scores"],
    group_name="evaluation",
    kinds={"html", "mlflow"},
    description="One self-contained HTML page with every score, its interval, the corpus it rests on and the worst "
    "pages, and its data as Parquet and CSV; the page is attached to the MLflow run of every model in it.",
)
def evaluation_report(
    crawl: Crawl, store: Store, tracking: Tracking, evaluation: Evaluation
) -> dg.MaterializeResult:
    judged = trained_models(store)
    content = _content(crawl, store, evaluation, judged)
    text = render_markdown(content)
    files = {REPORT_FILE: render_html(content).encode(), MARKDOWN_FILE: text.encode()}
    paths = {name: store.write_bytes(name, data) for name, data in files.items()}
    for name, data in to_files(content).items():
        store.write_bytes(f"{DATA_FOLDER}/{name}", data)
    attached = {paths[name].name: data for name, data in files.items()}
    for record in judged.values():
        tracking.log_report(record.run_id, attached)
    shown = [row for row in content.summaries if row.metric in SHOWN]
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": len(content.predictions),
            "path": dg.MetadataValue.path(str(paths[REPORT_FILE])),
            "data": dg.MetadataValue.path(str(store.root / DATA_FOLDER)),
            **{
                name: dg.MetadataValue.url(tracking.report_url(record.run_id))
                for name, record in judged.items()
            },
            "summary": dg.MetadataValue.md(text),
            "intervals": picture(score_intervals(shown)),
        }
    )


def _content(
    crawl: Crawl, store: Store, evaluation: Evaluation, models: Mapping[str, ModelRecord]
) -> ReportInput:
    test, *others = evaluation.sets(store)
    answered = complete_answers(store, test)
    absent = left_out(store, answered)
    return ReportInput(
        title="News extraction on publishers never seen in training",
        generated=datetime.now(UTC),
        provenance=_provenance(crawl, store, test, models),
        scores=list(store.rows(SCORES_OF[HELD_OUT], Score)),
        predictions=list(chain.from_iterable(answered.values())),
        references=test.references(),
        kinds={name: _kind(name) for name in (*BASELINES, *ZERO_SHOT, *models)},
        prices=evaluation.prices,
        unavailable=missing(),
        gold=next((_gold(store, evaluation, questions) for questions in others), None),
        corpus=_corpus_facts(store),
        training={
            name: list(store.rows(CURVES, CurveRecord, experiment=name))
            for name in models
            if name in store.partitions(CURVES, "experiment")
        },
        notes=[f"Left out, since they have not answered the current test pages: {', '.join(absent)}."]
        if absent
        else [],
    )


def _kind(extractor: str) -> ExtractorKind:
    if extractor in BASELINES:
        return ExtractorKind.LIBRARY
    return ExtractorKind.ZERO_SHOT if extractor in ZERO_SHOT else ExtractorKind.TRAINED


def _gold(store: Store, evaluation: Evaluation, questions: EvaluationSet) -> GoldInput:
    predictions: list[Prediction] = list(chain.from_iterable(complete_answers(store, questions).values()))
    return GoldInput(
        name=evaluation.gold_name,
        source=evaluation.gold_source,
        licence=evaluation.gold_licence,
        scores=list(store.rows(SCORES_OF[questions.name], Score)),
        predictions=predictions,
        pages=len(questions.page_ids),
        publishers=len({row.publisher for row in predictions}),
    )


def _provenance(
    crawl: Crawl, store: Store, test: EvaluationSet, models: Mapping[str, ModelRecord]
) -> dict[str, str]:
    named = (
        f"{name} version {record.model_version} (run {record.run_id[:8]})" for name, record in models.items()
    )
    return {
        "Pages from": crawl.source,
        "Corpus version": store.version(CORPUS) or "none",
        "Split version": store.version(PAGE_SPLITS) or "none",
        "Test set version": test.version,
        "Fundus": fundus_version(),
        "Code": git_commit() or "not from a git checkout",
        "Models": ", ".join(named) or "none",
    }


def _corpus_facts(store: Store) -> CorpusFacts:
    rows = list(store.rows(CORPUS, CorpusRow))
    kept = [row for row in rows if row.reason is None]
    return CorpusFacts(
        outcomes=Counter(row.reason or "kept" for row in rows),
        languages=Counter(row.language or "unknown" for row in kept),
        input_tokens=[row.input_tokens for row in kept],
        output_tokens=[row.text_tokens for row in kept],
        splits=_split_sizes(list(store.rows(PAGE_SPLITS, PageSplit))),
    )


def _split_sizes(pages: Sequence[PageSplit]) -> list[SplitSize]:
    return [
        SplitSize(
            split=split,
            publishers=len({page.publisher for page in pages if page.split == split}),
            families=len({page.family for page in pages if page.split == split}),
            pages=sum(page.split == split for page in pages),
        )
        for split in Split
    ]
