"""The two terms of the training loss: cross-entropy on the target, and SimCTG's contrastive loss.

Belongs here: functions of hidden states and labels. Does not belong here: running a model
(`ml/training.py`), or choosing weights and margins (`ml/experiments.py`).
"""

from collections.abc import Callable

import torch  # noqa: TID253 - this module is torch code; it is imported where a model is trained
from torch import Tensor  # noqa: TID253
from torch.nn import functional  # noqa: TID253
from torch.utils.checkpoint import checkpoint  # noqa: TID253

from ml.datasets import IGNORE

LanguageModelHead = Callable[[Tensor], Tensor]
"""Hidden states (n, d) to logits (n, V)."""


def target_nll(
    hidden: Tensor, lm_head: LanguageModelHead, labels: Tensor, *, chunk: int = 1_024
) -> tuple[Tensor, Tensor]:
    """Summed negative log-likelihood in nats of the target tokens, and their number.

    `hidden` (B, T, d) are the last hidden states, `labels` (B, T) the token ids with `IGNORE` where
    nothing is to be predicted. Position t predicts token t + 1. Logits exist for target positions only,
    and for `chunk` of them at a time: each chunk's logits are computed again on the way back, because
    T x V of them would take 46 GiB for 32k tokens of a vocabulary of 150k. Without targets both are 0.
    """
    wanted = labels[:, 1:] != IGNORE  # (B, T-1)
    states, targets = hidden[:, :-1][wanted], labels[:, 1:][wanted]  # (n, d), (n,)
    total = hidden.new_zeros((), dtype=_accumulation_dtype(hidden))
    for part, expected in zip(torch.split(states, chunk), torch.split(targets, chunk), strict=True):
        if torch.is_grad_enabled() and len(states) > chunk:
            total = total + checkpoint(
                _chunk_nll, part, lm_head, expected, use_reentrant=False, preserve_rng_state=False
            )
        else:
            total = total + _chunk_nll(part, lm_head, expected)
    return total, wanted.sum()


def target_cross_entropy(
    hidden: Tensor, lm_head: LanguageModelHead, labels: Tensor, *, chunk: int = 1_024
) -> Tensor:
    """Mean negative log-likelihood in nats per target token: the logarithm of the perplexity.

    Shapes as in `target_nll`. A batch without targets gives 0 with zero gradients, not 0/0.
    """
    total, tokens = target_nll(hidden, lm_head, labels, chunk=chunk)
    return total / tokens.clamp(min=1)


def contrastive_loss(hidden: Tensor, mask: Tensor, margin: float = 0.5) -> Tensor:
    """How much more alike than `margin` allows two different tokens' representations are (SimCTG).

    For a sequence of T tokens with last hidden states h, and s_ij the cosine of h_i and h_j,

        L = 1 / (T (T - 1)) * sum over i != j of max(0, margin - s_ii + s_ij),

    and with s_ii = 1 each term is max(0, s_ij - (1 - margin)). Su et al., 2022, "A Contrastive Framework
    for Neural Text Generation", equation 2. `hidden` is (B, T, d), `mask` (B, T) is true (or 1) for
    tokens that count, `margin` lies in 0 to 1. The result is the mean over the B sequences; one with
    fewer than two tokens has no pair and contributes 0. A zero vector has no direction: its
    similarity to others is taken as 0. The sum is kept in float32 or better, whatever `hidden` is.

    Memory is O(T^2) for the longest sequence.
    """
    # Autocast would run the product of the directions in bfloat16, where 0.5 and 0.502 are neighbours.
    with torch.autocast(hidden.device.type, enabled=False):
        losses = [
            _sequence_contrastive_loss(states[keep], margin)
            for states, keep in zip(hidden, mask.bool(), strict=True)
        ]
        return torch.stack(losses).mean()


def _sequence_contrastive_loss(states: Tensor, margin: float) -> Tensor:
    tokens = len(states)
    directions = _directions(states)  # (T, d)
    similarity = directions @ directions.T  # (T, T)
    # Symmetric, so the pairs above the diagonal count twice; the diagonal (i = j) never does.
    excess = (similarity - (1 - margin)).clamp(min=0).triu(diagonal=1)
    return 2 * excess.sum() / max(tokens * (tokens - 1), 1)


def _directions(states: Tensor) -> Tensor:
    """Rows scaled to length 1. A zero row stays zero, with a gradient that is finite and small."""
    states = states.to(_accumulation_dtype(states))
    squares = states.square().sum(dim=-1, keepdim=True)
    return states * torch.where(squares > 0, squares, 1.0).rsqrt()


def _chunk_nll(states: Tensor, lm_head: LanguageModelHead, targets: Tensor) -> Tensor:
    logits = lm_head(states)  # (n, V)
    return functional.cross_entropy(logits.to(_accumulation_dtype(logits)), targets, reduction="sum")


def _accumulation_dtype(tensor: Tensor) -> torch.dtype:
    """float32 for half-precision tensors, their own type otherwise."""
    return torch.promote_types(tensor.dtype, torch.float32)
