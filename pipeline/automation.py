"""When assets are rebuilt by themselves.

Belongs here: automation conditions, attached to assets by name. Does not belong here: schedules and
sensors that start from outside events (`schedules.py`, `sensors.py`).
"""

import dagster as dg

Condition = dg.AutomationCondition


def on_changed_input() -> dg.AutomationCondition:
    """Rebuild when the content of a dependency changed, once, until it has been requested.

    Not `eager()`: that runs again on unchanged data, forgets a change that lands during a run, and lets one
    publisher that was never crawled block the corpus for ever. A failed run is asked for once more.
    """
    changed = Condition.any_deps_match(Condition.data_version_changed())
    latched = changed.since(Condition.newly_requested() | Condition.initial_evaluation())
    retried = Condition.execution_failed().newly_true()
    return (latched | retried) & ~Condition.any_deps_in_progress() & ~Condition.in_progress()


CONDITIONS: dict[str, dg.AutomationCondition] = {
    "raw_pages": Condition.on_missing(),  # new publishers; the weekly refresh crawls the others
    "articles": on_changed_input() & ~Condition.any_deps_match(Condition.missing()),
    "corpus": on_changed_input(),
    "splits": on_changed_input(),
    "training_sets": on_changed_input(),
    "baseline_predictions": on_changed_input(),
    "scores": on_changed_input(),
    "evaluation_report": on_changed_input(),
}
"""Training and zero-shot language models are missing on purpose: they cost a GPU. Promotion is missing, too: a person
asks for it."""


def automated(asset: dg.AssetsDefinition) -> dg.AssetsDefinition:
    """The asset with its condition, if it has one."""
    return asset.map_asset_specs(
        lambda spec: spec.replace_attributes(automation_condition=CONDITIONS.get(spec.key.to_user_string()))
    )
