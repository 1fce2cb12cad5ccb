"""The gate: what a version wrote on today's pages decides, and what was decided is found on the version."""

import json
from pathlib import Path

import pytest
from promotion_world import World, inventing, new_world, on, perfect, shortened, unreadable

from ml.experiments import EXPERIMENTS
from ml.model_card import CardFacts
from ml.promotion_history import Kind
from ml.training import train
from ml.training_sets import Task
from resources.promotion import Gate
from resources.test_set import TestSet


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


def promote(world: World, name: str, asked_by: str = "Ada") -> bool:
    gate = world.gate
    decision = gate.decide(world.tracking.version(name))
    gate.settle(decision, asked_by)
    return decision.accepted


def test_a_better_model_takes_the_alias_and_a_worse_one_does_not(world: World) -> None:
    world.register("tiny-json", shortened)
    assert promote(world, "tiny-json/1")
    world.register("smollm2-135m-json", perfect)
    assert promote(world, "smollm2-135m-json")
    assert world.aliases() == {
        "smollm2-135m-json/1": ("challenger", "champion"),
        "tiny-json/1": ("challenger",),
    }
    world.register("tiny-json", on({"North", "South", "East"}, shortened))
    assert not promote(world, "tiny-json/2")
    assert world.aliases() == {
        "smollm2-135m-json/1": ("challenger", "champion"),
        "tiny-json/2": ("challenger",),
    }


def test_a_decision_is_recorded_with_its_numbers_and_what_it_was_made_from(world: World) -> None:
    world.register("tiny-json", perfect)
    promote(world, "tiny-json")
    world.register("tiny-json", on({"West"}, unreadable))
    promote(world, "tiny-json", "Ben")
    version = world.tracking.version("tiny-json/2")
    (event,) = version.history
    assert (event.kind, event.asked_by, event.champion) == (Kind.REFUSED, "Ben", "tiny-json/1")
    assert event.reasons[-1].startswith("Valid JSON went from 1.000 to 0.750 (-0.250 [")
    assert event.metrics["json_validity"].difference == -0.25
    assert event.evidence is not None
    assert event.evidence.test_set == TestSet(world.store).version
    assert event.evidence.corpus == world.store.version("corpus")
    assert event.evidence.split == world.store.version("page_splits")
    client = world.tracking.client()
    paths = [file.path for file in client.list_artifacts(version.run_id, "promotion")]
    assert [Path(path).suffix for path in paths] == [".json", ".md"]
    facts = json.loads(Path(client.download_artifacts(version.run_id, paths[0])).read_text())
    rows = {row["metric"]: row for row in facts["rows"]}
    assert (facts["kind"], rows["json_validity"]["candidate_mean"]) == ("refused", 0.75)
    assert "Asked by Ben" in Path(client.download_artifacts(version.run_id, paths[1])).read_text()
    assert all(len(text) < 5_000 for text in version.tags.values()), "what the strictest registry takes"


def test_deciding_changes_nothing(world: World) -> None:
    world.register("tiny-plaintext", perfect)
    before = world.tracking.versions()
    assert world.gate.decide(before[0]).accepted
    assert world.tracking.versions() == before


def test_an_invented_paragraph_is_refused_whatever_else_is_better(world: World) -> None:
    world.register("tiny-plaintext", shortened)
    promote(world, "tiny-plaintext")
    decision = world.gate.decide(world.register("tiny-plaintext", inventing))
    assert [row.metric for row in decision.rows if row.refusal] == ["groundedness"]


def test_a_task_is_judged_against_its_own_champion(world: World) -> None:
    world.register("tiny-json", perfect)
    promote(world, "tiny-json")
    world.register("tiny-plaintext", shortened)
    assert world.gate.decide(world.tracking.version("tiny-plaintext")).champion is None


def test_the_champion_is_not_judged_again(world: World) -> None:
    world.register("tiny-plaintext", perfect)
    promote(world, "tiny-plaintext")
    with pytest.raises(ValueError, match="tiny-plaintext/1 is the champion of plaintext already"):
        world.gate.decide(world.tracking.version("tiny-plaintext"))


def test_models_of_two_tasks_are_compared_by_their_text(world: World) -> None:
    text, structured = world.register("tiny-plaintext", shortened), world.register("tiny-json", perfect)
    rows = world.gate.compare(text, structured)
    assert [row.metric for row in rows] == ["rouge_l", "bleu", "groundedness"]
    assert (rows[0].verdict, rows[0].refusal) == ("worse", None)
    with pytest.raises(ValueError, match="found tiny-json/1 twice"):
        world.gate.compare(structured, structured)


def test_without_held_out_pages_nothing_is_decided(world: World) -> None:
    version = world.register("tiny-json", None)
    world.hold_out([])
    with pytest.raises(RuntimeError, match="no page is held out"):
        world.gate.decide(version)


def test_a_foreign_model_is_refused_with_what_it_lacks(world: World, tmp_path: Path) -> None:
    client = world.tracking.client()
    world.register("tiny-json", perfect)
    run_id = world.tracking.version("tiny-json").run_id
    client.create_registered_model("theirs")
    client.create_model_version("theirs", str(tmp_path), run_id)
    with pytest.raises(
        ValueError, match=r"theirs/1 was trained for an unknown task, expected plaintext or json"
    ):
        world.gate.decide(world.tracking.version("theirs"))
    client.set_model_version_tag("theirs", "1", "task", "json")
    with pytest.raises(ValueError, match="theirs/1 has no tag weights_sha256"):
        world.gate.decide(world.tracking.version("theirs"))


def test_a_champion_that_has_not_answered_today_s_pages_is_fetched_and_asked(world: World) -> None:
    """A model trained for two steps writes nothing of use, so that whoever found a paragraph is better."""
    experiment = EXPERIMENTS["tiny-plaintext"].model_copy(
        update={"warmup_steps": 1, "max_steps": 2, "eval_every": 2, "save_every": 2, "max_output_tokens": 4}
    )
    examples = TestSet(world.store).examples(Task.PLAINTEXT)[:1]
    card = CardFacts(
        source="demo",
        corpus_version="c",
        split_version="s",
        fundus_version="f",
        test_publishers=0,
        git_commit=None,
    )
    result = train(
        experiment,
        train=examples,
        validation=examples,
        output_dir=world.home / "run",
        cache_dir=Path(world.trainer.cache_dir),
        card=card,
    )
    champion = world.register_folder("tiny-plaintext", Path(result.adapter_dir))
    world.tracking.client().set_registered_model_alias("tiny-plaintext", "champion", champion.version)
    candidate = world.register("smollm2-135m-plaintext", shortened)

    gate = world.gate
    assert (gate.unanswered(champion), gate.unanswered(candidate)) == (12, 0)
    decision = gate.decide(candidate)
    assert decision.accepted
    assert decision.champion == "tiny-plaintext/1"
    assert gate.unanswered(champion) == 0
    rows = TestSet(world.store).answers("tiny-plaintext", result.weights_sha256[:16])
    assert {row.extractor for row in rows} == {"tiny-plaintext"}, (
        "where the asset `predictions` looks for them"
    )

    (world.home / "training" / "registered").rename(world.home / "gone")
    again = Gate(world.store, world.tracking, world.trainer)
    assert again.decide(candidate) == decision
    assert not (world.home / "training" / "registered").exists(), "nothing is asked or fetched twice"
