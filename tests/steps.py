"""The loop of torch users."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def train(optimizer: torch.optim.Optimizer, loss: Callable[[], Tensor], steps: int) -> list[float]:
    """The losses before each of some steps."""
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses
