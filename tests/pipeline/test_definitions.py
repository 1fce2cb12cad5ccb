"""The graph that Dagster loads: its assets, their groups and dependencies, and how modules may import."""

import json
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from pipeline.definitions import defs
from pipeline.environment import resources

SNAPSHOT = Path(__file__).parent / "asset_graph.json"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> dg.Definitions:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEWSLM_HOME", str(tmp_path_factory.mktemp("home")))
        return defs()


def described(definitions: dg.Definitions) -> dict[str, object]:
    graph = definitions.resolve_asset_graph()
    return {
        spec.key.to_user_string(): {
            "group": spec.group_name,
            "kinds": sorted(spec.kinds),
            "depends_on": sorted(dep.asset_key.to_user_string() for dep in spec.deps),
            "partitions": getattr(spec.partitions_def, "name", None) or type(spec.partitions_def).__name__,
            "checks": sorted(key.name for key in graph.asset_check_keys if key.asset_key == spec.key),
            "automated": spec.automation_condition is not None,
        }
        for spec in sorted(definitions.resolve_all_asset_specs(), key=lambda spec: spec.key)
    }


def test_the_asset_graph_is_the_one_that_was_agreed(definitions: dg.Definitions) -> None:
    """After a wanted change: python tests/pipeline/test_definitions.py, then read the difference."""
    assert described(definitions) == json.loads(SNAPSHOT.read_text())


def test_every_asset_says_what_it_is_and_what_it_holds(definitions: dg.Definitions) -> None:
    for spec in definitions.resolve_all_asset_specs():
        assert spec.description, spec.key
        assert len(spec.description) > 80, spec.key
        if spec.key.to_user_string() not in ("fundus_rules", "evaluation_report", "champion"):
            assert spec.metadata["dagster/column_schema"].columns, spec.key


def test_training_is_never_started_by_itself(definitions: dg.Definitions) -> None:
    automated = {
        spec.key.to_user_string(): spec.automation_condition for spec in definitions.resolve_all_asset_specs()
    }
    assert automated["models"] is None
    assert automated["predictions"] is None
    assert automated["articles"] is not None


def test_a_missing_home_is_named_with_what_to_do() -> None:
    with pytest.raises(ValueError, match=r"NEWSLM_HOME is not set.*newslm run"):
        resources({})


def test_settings_reach_the_resources(tmp_path: Path) -> None:
    parts = resources(
        {
            "NEWSLM_HOME": str(tmp_path),
            "NEWSLM_SOURCE": "web",
            "NEWSLM_MAX_PAGES": "7",
            "NEWSLM_STORE": "memory://news",
            "MLFLOW_TRACKING_URI": "http://mlflow.example:5000",
        }
    )
    assert (parts["crawl"].source, parts["crawl"].max_pages) == ("web", 7)
    assert parts["store"].uri == "memory://news"
    assert parts["tracking"].tracking_uri == "http://mlflow.example:5000"


def test_imports_point_one_way() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-logo"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout


def test_the_command_line_and_the_definitions_load_no_heavy_library() -> None:
    """Torch and its kin take seconds to import; nothing that only looks at the graph should wait for them."""
    script = (
        "import sys, pipeline.cli.main, pipeline.definitions; "
        "print(*(sys.modules.keys() & {'torch', 'transformers', 'peft', 'mlflow', 'datasets'}))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert answer.stdout.split() == []


if __name__ == "__main__":
    import os
    import tempfile

    os.environ["NEWSLM_HOME"] = tempfile.mkdtemp()
    SNAPSHOT.write_text(json.dumps(described(defs()), indent=2) + "\n")
