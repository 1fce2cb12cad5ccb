"""The jobs that people start: from the UI, by schedule, or through `newslm run`.

Belongs here: named selections of assets. Does not belong here: assets.
"""

import dagster as dg

refresh_publisher = dg.define_asset_job(
    "refresh_publisher",
    selection=["raw_pages", "articles"],
    description="Crawl one publisher and extract its pages.",
)
build_corpus = dg.define_asset_job(
    "build_corpus",
    selection=["corpus", "splits", "training_sets"],
    description="Corpus, splits and training sets from all extracted articles.",
)
train_model = dg.define_asset_job(
    "train_model",
    selection=["models", "predictions"],
    description="Train one experiment, register it and answer the held-out pages.",
)
run_baseline = dg.define_asset_job(
    "run_baseline",
    selection=["baseline_predictions"],
    description="Answer the held-out pages with a published extractor.",
)
ask_language_model = dg.define_asset_job(
    "ask_language_model",
    selection=["zero_shot_predictions"],
    description="Answer the held-out pages with a published language model as it is.",
)
evaluate = dg.define_asset_job(
    "evaluate",
    selection=["scores", "evaluation_report"],
    description="Score all answers and write the report.",
)
promote_model = dg.define_asset_job(
    "promote_model",
    selection=["comparison", "champion"],
    description="Compare an experiment's newest version with the champion of its task and, where the check lets it "
    "pass, make it champion. Tag the run `user` with the name of who asks.",
)

ALL = [
    refresh_publisher,
    build_corpus,
    train_model,
    run_baseline,
    ask_language_model,
    evaluate,
    promote_model,
]
