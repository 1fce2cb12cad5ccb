"""The table of experiments: valid, complete, and the paper's rows unchanged."""

import subprocess
import sys

import pytest
from pydantic import ValidationError

from ml.backbones import BACKBONES
from ml.experiments import EXPERIMENTS, Experiment, experiment_named

PAPER_ROWS = ("qwen2.5-1.5b", "qwen2.5-1.5b-simctg", "news-crawler-lm")


def test_every_row_exists_for_both_tasks() -> None:
    rows = ("tiny", "smollm2-135m", *PAPER_ROWS)
    assert set(EXPERIMENTS) == {f"{row}-{task}" for row in rows for task in ("plaintext", "json")}


def test_experiments_agree_with_their_names() -> None:
    for name, experiment in EXPERIMENTS.items():
        assert experiment.name == name
        assert name.endswith(experiment.task)
        assert experiment.backbone in BACKBONES


@pytest.mark.parametrize("task", ["plaintext", "json"])
@pytest.mark.parametrize("row", PAPER_ROWS)
def test_paper_rows_follow_the_papers_recipe(row: str, task: str) -> None:
    experiment = EXPERIMENTS[f"{row}-{task}"]
    assert (experiment.lora_rank, experiment.lora_alpha) == (16, 16)
    projections = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    assert experiment.target_modules == projections
    assert (experiment.optimizer, experiment.learning_rate) == ("adamw_bnb_8bit", 4e-5)
    assert (experiment.weight_decay, experiment.batch_size) == (0.01, 1)
    assert (experiment.max_steps, experiment.warmup_steps) == (60_000, 1_000)
    assert (experiment.eval_every, experiment.patience) == (1_000, 3)
    assert (experiment.max_input_tokens, experiment.max_output_tokens) == (24_000, 8_000)
    assert experiment.contrastive_margin == 0.5
    assert (experiment.contrastive_weight > 0) == (row != "qwen2.5-1.5b")


def test_news_crawler_lm_is_readerlm_v2_and_not_for_commerce() -> None:
    backbone = BACKBONES[EXPERIMENTS["news-crawler-lm-json"].backbone]
    assert backbone.source == "jinaai/ReaderLM-v2"
    assert not backbone.permits_commercial_use
    assert BACKBONES[EXPERIMENTS["qwen2.5-1.5b-json"].backbone].permits_commercial_use


def test_every_mismatch_is_reported_at_once() -> None:
    with pytest.raises(ValidationError) as error:
        Experiment(name="x", backbone="gpt", task="json", contrastive_margin=2, warmup_steps=60_000)
    for expected in ("backbone is 'gpt'", "contrastive_margin is 2", "warmup_steps is 60000"):
        assert expected in str(error.value)


def test_speculation_needs_single_pages() -> None:
    with pytest.raises(ValidationError, match="prompt_lookup_tokens is 5 with decode_batch_size 2"):
        Experiment(name="x", backbone="tiny", task="json", prompt_lookup_tokens=5, decode_batch_size=2)


def test_unknown_settings_are_refused_and_experiments_do_not_change() -> None:
    with pytest.raises(ValidationError, match="learning_rat"):
        Experiment.model_validate({"name": "x", "backbone": "tiny", "task": "json", "learning_rat": 1})
    with pytest.raises(ValidationError, match="frozen"):
        EXPERIMENTS["tiny-json"].max_steps = 1


def test_an_experiment_survives_its_json() -> None:
    for experiment in EXPERIMENTS.values():
        assert Experiment.model_validate_json(experiment.model_dump_json()) == experiment


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'big'; there are: tiny-plaintext, .*news-crawler-lm-json"):
        experiment_named("big")


def test_the_tables_need_no_torch() -> None:
    code = "import sys, ml.experiments, ml.model_card, ml.decoding; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
