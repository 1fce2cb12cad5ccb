"""Training: it learns, it resumes exactly, it stores what it found, and it refuses what it cannot use."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
import torch  # noqa: TID253

from ml.datasets import encode_example
from ml.decoding import load_adapter
from ml.experiments import EXPERIMENTS, Experiment
from ml.losses import target_nll
from ml.model_card import CardFacts
from ml.records import Example
from ml.training import TrainingResult, train

WORDS = (
    "rain",
    "river",
    "city",
    "council",
    "budget",
    "bridge",
    "school",
    "night",
    "market",
    "police",
    "goal",
)
CARD = CardFacts(
    source="demo",
    corpus_version="corpus-1",
    split_version="splits-1",
    fundus_version="0.5.7",
    test_publishers=3,
    git_commit=None,
)
# Five pages in batches of two make an epoch of three steps: 11 steps cross three epochs' ends and stop
# inside the fourth. Evaluations fall between checkpoints, and both between logs.
SMALL = EXPERIMENTS["tiny-plaintext"].model_copy(
    update={
        "batch_size": 2,
        "max_steps": 11,
        "warmup_steps": 2,
        "eval_every": 4,
        "save_every": 3,
        "log_every": 2,
        "max_input_tokens": 48,
        "max_output_tokens": 12,
    }
)


def examples(number: int, seed: int) -> list[Example]:
    """Pages of random words whose target is the first paragraph."""
    generator = random.Random(seed)
    return [_example(f"{seed}-{index}", generator) for index in range(number)]


def _example(name: str, generator: random.Random) -> Example:
    text = " ".join(generator.choices(WORDS, k=8)).capitalize() + "."
    return Example(
        page_id=hashlib.sha256(name.encode()).hexdigest()[:16],
        url=f"https://gazette.example/{name}",
        publisher=f"publisher-{name[-1]}",
        language=generator.choice(["de", "en", None]),
        split="train",
        input=f"<h1>News</h1><p>{text}</p>",
        target=text,
    )


TRAIN, VALIDATION = examples(5, 1), examples(3, 2)


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Layers this small wait for each other on two busy cores, five times as long as they compute."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Crash(Exception):
    """Stands for the process' end, without its cost."""


class CrashAt:
    """A listener that ends the training when the losses of `step` are logged: before its checkpoint."""

    def __init__(self, step: int) -> None:
        self.step = step

    def __call__(self, numbers: Mapping[str, float]) -> None:
        if numbers["step"] == self.step and "loss" in numbers:
            raise Crash


def run(
    output_dir: Path, experiment: Experiment = SMALL, *, crash_at: int = -1, data: Sequence[Example] = TRAIN
) -> TrainingResult:
    return train(
        experiment,
        train=data,
        validation=VALIDATION,
        output_dir=output_dir,
        cache_dir=output_dir.parent / "cache",
        on_log=CrashAt(crash_at),
        card=CARD,
    )


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> TrainingResult:
    return run(tmp_path_factory.mktemp("training") / "unbroken")


def assert_same_training(result: TrainingResult, expected: TrainingResult) -> None:
    assert result.weights_sha256 == expected.weights_sha256
    assert result.history == expected.history
    assert result.tokens == expected.tokens
    assert (result.steps, result.best_step) == (expected.steps, expected.best_step)
    assert result.best_validation_perplexity == expected.best_validation_perplexity


def test_the_loss_falls_clearly(tmp_path: Path) -> None:
    seen: list[Mapping[str, float]] = []
    result = train(
        SMALL.model_copy(update={"max_steps": 40, "eval_every": 20, "save_every": 20, "log_every": 1}),
        train=TRAIN,
        validation=VALIDATION,
        output_dir=tmp_path / "run",
        cache_dir=tmp_path / "cache",
        on_log=seen.append,
        card=CARD,
    )
    first, last = result.history[0], result.history[-1]
    assert first.cross_entropy == pytest.approx(10.8, abs=0.1)  # log 49,152: it knows nothing
    assert last.cross_entropy < 4
    assert result.best_validation_perplexity < 200
    assert [entry["step"] for entry in seen if "loss" in entry] == list(range(1, 41))
    assert [entry["step"] for entry in seen if "validation_perplexity" in entry] == [20, 40]


def test_history_and_schedule(unbroken: TrainingResult) -> None:
    history = unbroken.history
    assert [record.step for record in history] == [2, 3, 4, 6, 8, 9, 10, 11]
    # The rates that the steps used: the first is 0, the third the full rate, a twelfth would be 0 again.
    ninths = [4.5, 9, 8, 6, 4, 3, 2, 1]
    assert [record.learning_rate for record in history] == pytest.approx([0.01 * n / 9 for n in ninths])
    evaluated = [record.step for record in history if record.validation_perplexity is not None]
    assert evaluated == [4, 8, 11]
    for record in history:
        assert record.contrastive is not None
        assert record.loss == pytest.approx(record.cross_entropy + record.contrastive, abs=1e-4)


def test_without_the_contrastive_term_the_loss_is_the_cross_entropy(tmp_path: Path) -> None:
    plain = SMALL.model_copy(update={"contrastive_weight": 0.0, "max_steps": 3})
    for record in run(tmp_path / "run", plain).history:
        assert record.contrastive is None
        assert record.loss == pytest.approx(record.cross_entropy, abs=1e-4)


def test_the_stored_adapter_has_the_perplexity_of_the_best_evaluation(unbroken: TrainingResult) -> None:
    """exp(sum of nll / sum of tokens), computed page by page with the adapter read back from disk."""
    loaded = load_adapter(unbroken.adapter_dir, unbroken.adapter_dir.parent / "cache")
    causal = loaded.model.get_base_model()
    total = tokens = torch.zeros(())
    for example in VALIDATION:
        encoded = encode_example(example, loaded.tokenizer, SMALL)
        with torch.no_grad():
            hidden = causal.model(torch.as_tensor(encoded.input_ids)[None].long()).last_hidden_state
            nll, count = target_nll(hidden, causal.lm_head, torch.as_tensor(encoded.labels)[None].long())
        total, tokens = total + nll, tokens + count
    perplexity = (total / tokens).exp().item()
    assert perplexity == pytest.approx(unbroken.best_validation_perplexity, rel=1e-5)
    evaluations = [record.validation_perplexity for record in unbroken.history]
    assert unbroken.best_validation_perplexity == min(filter(None, evaluations))


def test_what_is_left_in_the_folder(unbroken: TrainingResult) -> None:
    assert files(unbroken.adapter_dir.parent) == {"adapter", "result.json", "run.json"}
    assert files(unbroken.adapter_dir) == {
        "README.md",
        "adapter_config.json",
        "adapter_model.safetensors",
        "experiment.json",
    }
    weights = (unbroken.adapter_dir / "adapter_model.safetensors").read_bytes()
    assert unbroken.weights_sha256 == hashlib.sha256(weights).hexdigest()
    config = json.loads((unbroken.adapter_dir / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == "tiny"


def test_the_card_states_data_numbers_and_licence(unbroken: TrainingResult) -> None:
    card = (unbroken.adapter_dir / "README.md").read_text()
    assert "license: apache-2.0" in card
    assert "| train | 5 | 5 |" in card
    assert "| validation | 3 | 3 |" in card
    assert f"{unbroken.best_validation_perplexity:.3f}" in card
    assert "corpus-1" in card
    assert "random weights" in card


def test_the_cards_example_runs(unbroken: TrainingResult, capsys: pytest.CaptureFixture[str]) -> None:
    card = (unbroken.adapter_dir / "README.md").read_text()
    code = card.split("```python\n")[1].split("```")[0]
    page = unbroken.adapter_dir.parent / "page.html"
    page.write_text("<html><body><p>Rain fell on the river.</p></body></html>")
    for named, real in (("this/folder", unbroken.adapter_dir), ("page.html", page)):
        assert f'Path("{named}")' in code
        code = code.replace(f'Path("{named}")', f"Path({str(real)!r})")
    exec(code, {})
    page.unlink()
    assert capsys.readouterr().out.endswith("\n")


def test_a_finished_run_is_returned_at_once(unbroken: TrainingResult) -> None:
    assert run(unbroken.adapter_dir.parent, crash_at=1) == unbroken


def test_a_finished_run_may_move(unbroken: TrainingResult, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(unbroken.adapter_dir.parent, moved)
    result = run(moved)
    assert result.adapter_dir == moved / "adapter"
    assert_same_training(result, unbroken)


# Resumed from nothing, from the ends of two epochs (3 and 9), and from the middle of one (8).
@pytest.mark.parametrize("step", [2, 4, 9, 11])
def test_resume_after_a_crash_is_exact(step: int, tmp_path: Path, unbroken: TrainingResult) -> None:
    with pytest.raises(Crash):
        run(tmp_path / "run", crash_at=step)
    assert_same_training(run(tmp_path / "run"), unbroken)


def test_two_crashes_and_a_torn_checkpoint(tmp_path: Path, unbroken: TrainingResult) -> None:
    for step in (4, 11):
        with pytest.raises(Crash):
            run(tmp_path / "run", crash_at=step)
    checkpoints = tmp_path / "run" / "checkpoints"
    newest = max(checkpoints.iterdir(), key=lambda folder: int(folder.name.split("-")[1]))
    (newest / "trainer_state.json").write_text('{"best_global_step": 4, "be')
    torn = checkpoints / "checkpoint-11"
    torn.mkdir()
    (torn / "adapter_model.safetensors").write_bytes(b"half")
    assert_same_training(run(tmp_path / "run"), unbroken)


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = {path!r}
from test_training import SMALL, TRAIN, VALIDATION, CARD
from ml.training import train

def kill(numbers):
    if numbers["step"] == 10:
        os.kill(os.getpid(), signal.SIGKILL)

folder = Path({folder!r})
train(SMALL, train=TRAIN, validation=VALIDATION, output_dir=folder, cache_dir=folder.parent, on_log=kill, card=CARD)
"""


def test_a_process_killed_with_sigkill_resumes_to_the_same_weights(
    tmp_path: Path, unbroken: TrainingResult
) -> None:
    tests = Path(__file__).parent
    code = KILLED.format(path=[str(tests), str(tests.parents[1])], folder=str(tmp_path / "run"))
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    killed = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, env=environment)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert "checkpoint-9" in files(tmp_path / "run" / "checkpoints")
    assert_same_training(run(tmp_path / "run"), unbroken)


# Its rate is so high that validation is best at the first evaluation.
WORSENING = SMALL.model_copy(
    update={"learning_rate": 3.0, "patience": 2, "eval_every": 2, "log_every": 1, "max_steps": 40}
)


@pytest.fixture(scope="module")
def stopped_early(tmp_path_factory: pytest.TempPathFactory) -> TrainingResult:
    return run(tmp_path_factory.mktemp("training") / "stopped_early", WORSENING)


def test_early_stopping_keeps_the_best_adapter(stopped_early: TrainingResult) -> None:
    evaluated = {r.step: r.validation_perplexity for r in stopped_early.history if r.validation_perplexity}
    assert evaluated[stopped_early.best_step] == min(evaluated.values())
    # Two evaluations without improvement, one every two steps.
    assert stopped_early.steps == stopped_early.best_step + 2 * 2 < 40


def test_patience_outlives_a_crash(tmp_path: Path, stopped_early: TrainingResult) -> None:
    with pytest.raises(Crash):
        run(tmp_path / "run", WORSENING, crash_at=stopped_early.steps - 1)
    assert_same_training(run(tmp_path / "run", WORSENING), stopped_early)


@pytest.mark.parametrize(("experiment", "expected"), [(SMALL, "unbroken"), (WORSENING, "stopped_early")])
def test_killed_between_the_last_step_and_the_result(
    experiment: Experiment, expected: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Neither the step after the last, nor the step after early stopping, is taken."""
    (tmp_path / "run").mkdir()
    obstacle = tmp_path / "run" / "adapter"
    obstacle.write_text("in the way")
    with pytest.raises(NotADirectoryError):
        run(tmp_path / "run", experiment)
    obstacle.unlink()
    assert_same_training(run(tmp_path / "run", experiment), request.getfixturevalue(expected))


def test_other_data_or_settings_are_refused(unbroken: TrainingResult) -> None:
    folder = unbroken.adapter_dir.parent
    with pytest.raises(ValueError, match="holds a run of tiny-plaintext with another train: "):
        run(folder, data=TRAIN[:4])
    with pytest.raises(ValueError, match="another experiment: train in a new folder"):
        run(folder, SMALL.model_copy(update={"seed": 7}))


def test_another_seed_is_another_adapter(tmp_path: Path, unbroken: TrainingResult) -> None:
    other = run(tmp_path / "run", SMALL.model_copy(update={"seed": 7}))
    assert other.weights_sha256 != unbroken.weights_sha256


@pytest.mark.parametrize(("train_pages", "validation_pages"), [(0, 3), (5, 0), (0, 0)])
def test_empty_sets_are_refused_with_their_counts(
    train_pages: int, validation_pages: int, tmp_path: Path
) -> None:
    expected = f"found {train_pages} for training and {validation_pages} for validation"
    with pytest.raises(ValueError, match=expected):
        train(
            SMALL,
            train=TRAIN[:train_pages],
            validation=VALIDATION[:validation_pages],
            output_dir=tmp_path / "run",
            cache_dir=tmp_path,
            card=CARD,
        )
    assert not (tmp_path / "run").exists()


def test_divergence_stops_with_step_and_remedy(tmp_path: Path) -> None:
    wild = SMALL.model_copy(update={"learning_rate": 1e30, "warmup_steps": 0})
    with pytest.raises(RuntimeError, match=r"diverged at step \d+: .*Lower learning_rate"):
        run(tmp_path / "run", wild)
    assert not (tmp_path / "run" / "result.json").exists()


def test_a_gradient_that_overflows_stops_before_the_step(tmp_path: Path) -> None:
    steep = SMALL.model_copy(update={"contrastive_weight": 1e38})
    with pytest.raises(RuntimeError, match="diverged at step 1: the norm of the gradient is inf"):
        run(tmp_path / "run", steep)


def test_overlong_examples_are_counted_or_refused(tmp_path: Path) -> None:
    short = {"max_input_tokens": 8, "max_steps": 3}
    assert run(tmp_path / "cut", SMALL.model_copy(update=short)).truncated_examples == 8
    with pytest.raises(ValueError, match="8 of 8 examples are too long"):
        run(tmp_path / "refused", SMALL.model_copy(update=short | {"overlong": "refuse"}))


def test_gradient_checkpointing_changes_memory_and_not_the_adapter(tmp_path: Path) -> None:
    settings = {"max_steps": 3, "eval_every": 3}
    plain = run(tmp_path / "plain", SMALL.model_copy(update=settings))
    lean = run(tmp_path / "lean", SMALL.model_copy(update=settings | {"gradient_checkpointing": True}))
    losses = [record.loss for record in plain.history]
    assert [record.loss for record in lean.history] == pytest.approx(losses, rel=1e-5)


def test_the_papers_settings_run_on_the_tiny_backbone(tmp_path: Path) -> None:
    """8-bit Adam, bfloat16, gradient checkpointing, LoRA alone: only the schedule is short."""
    paper = EXPERIMENTS["news-crawler-lm-plaintext"].model_copy(
        update={"backbone": "tiny", "warmup_steps": 1, "max_steps": 4, "eval_every": 2, "log_every": 1}
    )
    result = run(tmp_path / "run", paper)
    first, *_, last = result.history
    assert (result.steps, result.truncated_examples) == (4, 0)
    assert last.cross_entropy == pytest.approx(first.cross_entropy, abs=0.5)  # a rate of 4e-5 takes longer


def test_bfloat16_trains_close_to_float32(tmp_path: Path, unbroken: TrainingResult) -> None:
    half = run(tmp_path / "half", SMALL.model_copy(update={"precision": "bfloat16"}))
    losses = [record.loss for record in unbroken.history]
    assert [record.loss for record in half.history] == pytest.approx(losses, abs=0.15)
