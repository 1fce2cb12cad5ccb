"""From challenger to champion: the comparison that a person reads, the check that gates, the alias that moves.

Belongs here: a model's newest version against its task's champion, and the promotion. Does not belong here: the
rule (`ml/promotion.py`), or who answers what and where it is written down (`resources/promotion.py`).
"""

import dagster as dg

from assets.presentation import bullet_list, definition_metadata
from ml.promotion import Comparison, Decision, markdown_table
from pipeline import partitions
from resources.promotion import Gate
from resources.store import Store, content_version
from resources.tracking import Tracking
from resources.trainer import Trainer

COMPARISONS = "comparisons"
MAY_BE_PROMOTED = "may_be_promoted"
ASKED_BY_TAG = "user"
"""The tag of a run that says who asked for it; without one, the run itself did."""


@dg.asset(
    partitions_def=partitions.experiments,
    deps=["models", "predictions", "corpus", "splits"],
    group_name="promotion",
    kinds={"mlflow", "parquet"},
    pool="gpu",
    check_specs=[
        dg.AssetCheckSpec(
            MAY_BE_PROMOTED,
            asset="comparison",
            blocking=True,
            description="Not worse than the champion in any headline metric beyond its interval, not more ungrounded, "
            "valid JSON not lower. A refusal is recorded on the model version.",
        )
    ],
    metadata=definition_metadata(Comparison),
    description="An experiment's newest registered version against the champion of its task, on the same held-out "
    "pages. A champion that has not answered the current pages is fetched from MLflow and asked now.",
)
def comparison(
    context: dg.AssetExecutionContext, store: Store, tracking: Tracking, trainer: Trainer
) -> dg.MaterializeResult:
    gate = Gate(store, tracking, trainer)
    decision = gate.decide(tracking.version(context.partition_key))
    store.replace(COMPARISONS, Comparison, decision.rows, experiment=context.partition_key)
    if not decision.accepted:
        gate.settle(decision, _asked_by(context))
    return dg.MaterializeResult(
        data_version=dg.DataVersion(content_version([Comparison.table(decision.rows)])),
        metadata={**_shown(decision), **gate.evidence.model_dump()},
        check_results=[_check(decision)],
    )


@dg.asset(
    partitions_def=partitions.experiments,
    deps=[comparison],
    group_name="promotion",
    kinds={"mlflow"},
    pool="gpu",
    description="The alias `champion` of the task, moved to the experiment's newest version; the decision, its numbers "
    "and who asked are recorded there. Decided anew from the stored answers: no old comparison promotes.",
)
def champion(
    context: dg.AssetExecutionContext, store: Store, tracking: Tracking, trainer: Trainer
) -> dg.MaterializeResult:
    gate = Gate(store, tracking, trainer)
    version = tracking.version(context.partition_key)
    decision = gate.decide(version)
    event = gate.settle(decision, _asked_by(context))
    if not decision.accepted:
        raise dg.Failure(f"{version.label} is refused: {'; '.join(decision.reasons)}", allow_retries=False)
    return dg.MaterializeResult(
        data_version=dg.DataVersion(version.label),
        metadata={
            **_shown(decision),
            "asked_by": event.asked_by,
            "mlflow": dg.MetadataValue.url(tracking.version_url(version)),
        },
    )


def _check(decision: Decision) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        check_name=MAY_BE_PROMOTED,
        passed=decision.accepted,
        metadata={
            "reasons": bullet_list(decision.reasons or ["no metric refuses it"]),
            "basis": decision.basis,
        },
    )


def _shown(decision: Decision) -> dict[str, str | dg.MetadataValue]:
    """What the UI shows of a decision."""
    return {
        "candidate": decision.candidate,
        "champion_before": decision.champion or "none",
        "decision": decision.verdict,
        "basis": decision.basis,
        "comparison": dg.MetadataValue.md(markdown_table(decision.rows)),
    }


def _asked_by(context: dg.AssetExecutionContext) -> str:
    return context.run.tags.get(ASKED_BY_TAG) or f"dagster:{context.run.run_id}"
