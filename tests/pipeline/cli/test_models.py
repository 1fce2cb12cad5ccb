"""`newslm models`: comparing, promoting and rolling back, as a person and as a program asks for it."""

import getpass
import json
from pathlib import Path
from typing import Any

import pytest
from promotion_world import World, inventing, new_world, perfect, shortened
from typer.testing import CliRunner, Result

from ml.promotion_history import Kind
from pipeline.cli.main import app


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


def models(world: World, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["models", *arguments, "--home", str(world.home)])


def answer(result: Result) -> Any:
    return json.loads(result.stdout)


def test_a_promotion_says_what_it_rests_on_and_what_the_registry_holds(world: World) -> None:
    world.register("tiny-json", shortened)
    assert models(world, "promote", "tiny-json/1").exit_code == 0
    world.register("tiny-json", perfect)
    result = models(world, "promote", "tiny-json:2", "--asked-by", "Ada")
    assert result.exit_code == 0
    assert "accepted  tiny-json/2 is now champion of json" in result.stdout
    assert "12 held-out pages of 4 publishers; 95% intervals" in result.stdout
    assert "+0.339 [+0.339, +0.339]" in result.stdout
    assert "champions  plaintext: none, json: tiny-json/2" in result.stdout
    (event,) = world.tracking.version("tiny-json/2").history
    assert (event.kind, event.asked_by) == (Kind.PROMOTED, "Ada")


def test_a_refusal_gives_its_reasons_and_exit_code_1(world: World) -> None:
    world.register("tiny-json", perfect)
    models(world, "promote", "tiny-json")
    world.register("tiny-json", inventing)
    result = models(world, "promote", "tiny-json")
    assert result.exit_code == 1
    assert "refused  tiny-json/2 does not become champion of json:" in result.stdout
    assert "Groundedness went from 1.000 to 0.863" in result.stdout
    assert "champions  plaintext: none, json: tiny-json/1" in result.stdout
    (event,) = world.tracking.version("tiny-json/2").history
    assert (event.kind, event.asked_by) == (Kind.REFUSED, getpass.getuser())


def test_programs_get_the_decision_as_json(world: World) -> None:
    world.register("tiny-plaintext", perfect)
    first = answer(models(world, "promote", "tiny-plaintext", "--json"))
    assert (first["decision"], first["compared_with"], first["recorded"]) == ("accepted", None, True)
    world.register("tiny-plaintext", shortened)
    result = models(world, "promote", "tiny-plaintext/2", "--json")
    second = answer(result)
    assert result.exit_code == 1
    assert (second["decision"], second["compared_with"]) == ("refused", "tiny-plaintext/1")
    assert second["champions"] == {"plaintext": "tiny-plaintext/1", "json": None}
    assert [row["metric"] for row in second["comparison"] if row["refusal"]] == ["rouge_l", "bleu"]
    assert len(second["reasons"]) == 2
    assert second["test_set"]


def test_a_dry_run_decides_and_records_nothing(world: World) -> None:
    world.register("tiny-json", perfect)
    before = world.tracking.versions()
    result = models(world, "promote", "tiny-json", "--dry-run")
    assert result.exit_code == 0
    assert "tiny-json/1 would become champion of json" in result.stdout
    assert "nothing was recorded" in result.stdout
    assert world.tracking.versions() == before


def test_two_versions_are_compared_in_the_order_they_are_named(world: World) -> None:
    world.register("tiny-json", shortened)
    world.register("tiny-json", perfect)
    table = models(world, "compare", "tiny-json/1", "tiny-json@challenger")
    assert table.exit_code == 0
    line = next(line for line in table.stdout.splitlines() if line.startswith("ROUGE-L"))
    assert line.split() == ["ROUGE-L", "0.661", "1.000", "-0.339", "[-0.339,", "-0.339]", "worse"]
    found = answer(models(world, "compare", "tiny-json/2", "tiny-json/1", "--json"))
    assert (found["a"], found["b"]) == ("tiny-json/2", "tiny-json/1")
    assert {row["metric"]: row["verdict"] for row in found["comparison"]}["rouge_l"] == "better"
    assert not world.tracking.version("tiny-json/1").history, "a comparison is no decision"


@pytest.mark.parametrize("named", ["json", "smollm2-135m-json", "tiny-json/1"])
def test_a_rollback_goes_to_the_champion_before(world: World, named: str) -> None:
    for model, wrote in (("tiny-json", shortened), ("smollm2-135m-json", perfect)):
        world.register(model, wrote)
        assert models(world, "promote", model).exit_code == 0
    result = models(world, "rollback", named, "--asked-by", "Ben")
    assert result.exit_code == 0
    assert "tiny-json/1 is champion of json again, smollm2-135m-json/1 is not any more" in result.stdout
    assert "champions  plaintext: none, json: tiny-json/1" in result.stdout
    again = models(world, "rollback", named)
    assert again.exit_code == 1
    assert "there is nothing to go back to" in again.stderr


def test_a_rollback_as_json(world: World) -> None:
    for wrote in (shortened, perfect):
        world.register("tiny-json", wrote)
        models(world, "promote", "tiny-json")
    found = answer(models(world, "rollback", "json", "--json", "--asked-by", "Ben"))
    assert (found["version"], found["withdrawn"], found["asked_by"]) == ("tiny-json/1", "tiny-json/2", "Ben")
    assert found["champions"]["json"] == "tiny-json/1"


def test_the_list_shows_aliases_and_the_last_decision(world: World) -> None:
    world.register("tiny-json", perfect)
    models(world, "promote", "tiny-json", "--asked-by", "Ada")
    world.register("tiny-json", None)
    listed = models(world, "list")
    rows = {line.split("│")[2].strip(): line for line in listed.stdout.splitlines() if "│ tiny-json" in line}
    assert "champion " in rows["1"]
    assert "promoted 20" in rows["1"]
    assert "by Ada" in rows["1"]
    assert "challenger" in rows["2"]
    found = answer(models(world, "list", "--json"))
    assert [(row["version"], row["task"], row["aliases"]) for row in found] == [
        ("2", "json", ["challenger"]),
        ("1", "json", ["champion"]),
    ]


def test_two_champions_of_a_task_are_not_unnoticed(world: World) -> None:
    for model in ("tiny-json", "smollm2-135m-json"):
        world.register(model, perfect)
    models(world, "promote", "tiny-json")
    world.tracking.client().set_registered_model_alias("smollm2-135m-json", "champion", "1")
    listed = models(world, "list")
    assert "tiny-json/1 counts" in listed.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["promote", "tiny-json/3"], "no version is named 'tiny-json/3'; tiny-json has 1 @challenger"),
        (["promote", "nobody"], "no model is registered as 'nobody'; registered are: tiny-json"),
        (
            ["compare", "tiny-json", "tiny-json/1"],
            "found tiny-json/1 twice; expected two versions to compare",
        ),
        (["compare", "tiny-json", "x"], "no model is registered as 'x'"),
        (["rollback", "x"], "no model is registered as 'x'"),
        (["rollback", "plaintext"], "the champion of plaintext is nobody"),
    ],
)
def test_what_cannot_be_done_is_told_without_a_traceback(
    world: World, arguments: list[str], message: str
) -> None:
    world.register("tiny-json", perfect)
    result = models(world, *arguments)
    assert result.exit_code == 1
    assert message in result.stderr
    assert "Traceback" not in result.stderr
