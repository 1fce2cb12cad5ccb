"""The losses against numbers worked out by hand, and against the formulas written out plainly."""

import math
from collections.abc import Callable

import pytest
import torch  # noqa: TID253
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor  # noqa: TID253

from ml.datasets import IGNORE
from ml.losses import contrastive_loss, target_cross_entropy, target_nll


def naive_contrastive(hidden: Tensor, mask: Tensor, margin: float) -> Tensor:
    """The formula of the SimCTG paper, pair by pair."""
    losses = []
    for states, keep in zip(hidden, mask.bool(), strict=True):
        rows = [row for row, kept in zip(states, keep, strict=True) if kept]
        terms = [
            (margin - 1 + torch.cosine_similarity(a, b, dim=0)).clamp(min=0)
            for i, a in enumerate(rows)
            for j, b in enumerate(rows)
            if i != j
        ]
        pairs = len(rows) * (len(rows) - 1)
        losses.append(sum(terms, torch.zeros((), dtype=hidden.dtype)) / max(pairs, 1))
    return torch.stack(losses).mean()


def naive_cross_entropy(hidden: Tensor, lm_head: Callable[[Tensor], Tensor], labels: Tensor) -> Tensor:
    """All logits at once, then torch's own mean over the labels that count."""
    logits = lm_head(hidden)[:, :-1].flatten(0, 1)
    return torch.nn.functional.cross_entropy(logits, labels[:, 1:].flatten(), ignore_index=IGNORE)


def random_batch(seed: int, *, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Hidden states (3, 9, 5), and a mask that keeps 9, 4 and 2 of the tokens."""
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(3, 9, 5, generator=generator, dtype=torch.float64).to(dtype)
    mask = torch.arange(9) < torch.tensor([[9], [4], [2]])
    return hidden.requires_grad_(), mask


def gradient(loss: Tensor, *of: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(loss, of)


def test_contrastive_loss_of_three_directions() -> None:
    # cos(a, b) = 0.8, cos(a, c) = 0, cos(b, c) = 0.6. With a margin of 0.5 the pairs exceed 1 - 0.5 by
    # 0.3, 0 and 0.1. Each pair counts twice among T (T - 1) = 6: 2 * 0.4 / 6 = 0.4 / 3.
    hidden = torch.tensor([[[2.0, 0.0], [4.0, 3.0], [0.0, 5.0]]])
    loss = contrastive_loss(hidden, torch.ones(1, 3), margin=0.5)
    assert loss.item() == pytest.approx(0.4 / 3, abs=1e-6)


def test_contrastive_loss_of_equal_tokens_is_the_margin() -> None:
    hidden = torch.full((2, 7, 4), 3.0)
    assert contrastive_loss(hidden, torch.ones(2, 7), margin=0.3).item() == pytest.approx(0.3, abs=1e-6)


def test_contrastive_loss_averages_over_sequences() -> None:
    # One sequence of equal tokens (0.5), one of orthogonal tokens (0): 0.25.
    hidden = torch.tensor([[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])
    assert contrastive_loss(hidden, torch.ones(2, 2), margin=0.5).item() == pytest.approx(0.25, abs=1e-6)


@pytest.mark.parametrize("kept", [0, 1])
def test_contrastive_loss_without_a_pair_is_zero_with_zero_gradient(kept: int) -> None:
    hidden = torch.randn(2, 5, 3, requires_grad=True)
    mask = torch.arange(5).expand(2, 5) < kept
    loss = contrastive_loss(hidden, mask)
    assert loss.item() == 0
    assert gradient(loss, hidden)[0].abs().max().item() == 0


def test_contrastive_loss_of_zero_vectors_is_finite() -> None:
    # The zero vector is like nothing; the other two are equal: 2 * 0.5 / 6.
    hidden = torch.tensor([[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]], requires_grad=True)
    loss = contrastive_loss(hidden, torch.ones(1, 3), margin=0.5)
    assert loss.item() == pytest.approx(1 / 6, abs=1e-6)
    assert gradient(loss, hidden)[0].abs().max().item() < 1


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 2**32), margin=st.floats(0, 1))
def test_contrastive_loss_and_gradient_equal_the_naive_form(seed: int, margin: float) -> None:
    hidden, mask = random_batch(seed)
    ours, naive = contrastive_loss(hidden, mask, margin), naive_contrastive(hidden, mask, margin)
    torch.testing.assert_close(ours, naive, rtol=0, atol=1e-12)
    torch.testing.assert_close(gradient(ours, hidden), gradient(naive, hidden), rtol=0, atol=1e-12)


def test_contrastive_loss_ignores_what_is_masked() -> None:
    hidden, mask = random_batch(0)
    changed = torch.where(mask[..., None], hidden, 1e6)
    torch.testing.assert_close(contrastive_loss(hidden, mask), contrastive_loss(changed, mask))


def test_contrastive_loss_accumulates_in_float32() -> None:
    hidden, mask = random_batch(1, dtype=torch.bfloat16)
    exact = naive_contrastive(hidden.double(), mask, 0.5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = contrastive_loss(hidden, mask)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(exact.item(), abs=1e-6)
    assert gradient(loss, hidden)[0].dtype == torch.bfloat16


def test_cross_entropy_of_two_targets() -> None:
    # Two words; logits (log 3, 0) give them 3/4 and 1/4. Position 1 must predict word 0, position 2 word
    # 1: -(log 3/4 + log 1/4) / 2 = (log 4/3 + log 4) / 2. Position 0 is a prompt's, position 3 predicts
    # nothing.
    hidden = torch.full((1, 4, 1), math.log(3))
    labels = torch.tensor([[IGNORE, IGNORE, 0, 1]])
    loss = target_cross_entropy(hidden, two_words, labels)
    assert loss.item() == pytest.approx((math.log(4 / 3) + math.log(4)) / 2, abs=1e-6)


def two_words(states: Tensor) -> Tensor:
    """Logits (x, 0) of a state x."""
    return torch.cat([states, torch.zeros_like(states)], dim=-1)


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
def test_cross_entropy_and_gradients_equal_the_naive_form(chunk: int) -> None:
    hidden, mask = random_batch(2)
    lm_head = torch.nn.Linear(5, 11, dtype=torch.float64)
    labels = torch.arange(27).reshape(3, 9).remainder(11).where(mask, IGNORE)
    ours = target_cross_entropy(hidden, lm_head, labels, chunk=chunk)
    naive = naive_cross_entropy(hidden, lm_head, labels)
    torch.testing.assert_close(ours, naive, rtol=0, atol=1e-12)
    weights = (hidden, *lm_head.parameters())
    torch.testing.assert_close(gradient(ours, *weights), gradient(naive, *weights), rtol=0, atol=1e-12)


def test_nll_sums_and_counts() -> None:
    hidden = torch.full((1, 4, 1), math.log(3))
    total, tokens = target_nll(hidden, two_words, torch.tensor([[IGNORE, 0, 0, 0]]), chunk=2)
    assert tokens.item() == 3
    assert total.item() == pytest.approx(3 * math.log(4 / 3), abs=1e-6)


def test_cross_entropy_without_targets_is_zero_with_zero_gradient() -> None:
    hidden = torch.randn(2, 5, 3, requires_grad=True)
    lm_head = torch.nn.Linear(3, 7)
    loss = target_cross_entropy(hidden, lm_head, torch.full((2, 5), IGNORE))
    assert loss.item() == 0
    assert gradient(loss, hidden)[0].abs().max().item() == 0


def test_the_first_token_is_never_a_target() -> None:
    hidden = torch.randn(1, 3, 2)
    _, tokens = target_nll(hidden, torch.nn.Linear(2, 4), torch.tensor([[1, IGNORE, IGNORE]]))
    assert tokens.item() == 0


def test_cross_entropy_accumulates_in_float32() -> None:
    hidden, _ = random_batch(3, dtype=torch.bfloat16)
    lm_head = torch.nn.Linear(5, 11, dtype=torch.bfloat16)
    labels = torch.arange(27).reshape(3, 9).remainder(11)
    loss = target_cross_entropy(hidden, lm_head, labels, chunk=4)
    exact = naive_cross_entropy(hidden, lambda states: lm_head(states).double(), labels)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(exact.item(), abs=1e-5)


def test_only_target_positions_meet_the_head_and_never_more_than_a_chunk() -> None:
    sizes = []

    def head(states: Tensor) -> Tensor:
        sizes.append(len(states))
        return two_words(states)

    labels = torch.full((1, 100), IGNORE)
    labels[0, 60:67] = 1
    loss = target_cross_entropy(torch.ones(1, 100, 1, requires_grad=True), head, labels, chunk=3)
    assert sizes == [3, 3, 1]
    loss.backward()
    assert sorted(sizes) == [1, 1, 3, 3, 3, 3]  # and computed again on the way back
