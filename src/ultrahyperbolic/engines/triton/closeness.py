"""The term that holds the sums of distances to closeness, on the device: see ``objective/closeness.py``.

Plain operations of torch with sums in a fixed order, so that it can be part of a captured iteration.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from ...objective import Closeness
from ...objective.tables import half_chord_table, scale_of, signs_of, value_and_slope
from ...pairs.kinds import KernelSpace

_BLOCK = 256


class ClosenessTerm:
    """The term for the runs of one graph."""

    def __init__(self, closeness: Closeness, device: torch.device) -> None:
        self.few, self.many = (min(count, len(closeness.landmarks)) for count in (closeness.few, closeness.many))
        self.unit = closeness.unit
        self.landmarks, self.hops, self.component = (
            torch.from_numpy(np.ascontiguousarray(array)).to(device)
            for array in (closeness.landmarks, closeness.hops, closeness.component)
        )
        # Nodes component after component, cut into blocks: a sum is one thread's. Where blocks and components begin.
        self.order = self.component.argsort(stable=True)
        sizes = torch.bincount(self.component)
        blocks = (sizes + _BLOCK - 1) // _BLOCK
        before, self.components = sizes.cumsum(0) - sizes, torch.cat((sizes.new_zeros(1), blocks.cumsum(0)))
        place = torch.arange(int(self.components[-1]), device=device) - self.components[:-1].repeat_interleave(blocks)
        self.blocks = torch.cat((before.repeat_interleave(blocks) + _BLOCK * place, sizes.sum()[None]))

    def _mean(self, values: Tensor, counts: Tensor) -> Tensor:
        """[n] the mean over the node's component, of the nodes that count."""
        both = torch.stack((values * counts, counts), 1)[self.order]
        sums = torch.segment_reduce(both, "sum", offsets=self.blocks, unsafe=True)
        sums = torch.segment_reduce(sums, "sum", offsets=self.components, unsafe=True)
        return (sums[:, 0] / sums[:, 1].clamp_min(1.0))[self.component]

    def add(
        self,
        points: Tensor,
        offsets: Tensor | None,
        space: KernelSpace,
        schedule: tuple[Tensor, Tensor],
        weight: float,
        iteration: Tensor | None,
        gradient: Tensor,
        slopes: Tensor | None,
    ) -> Tensor:
        """The term at points [d, n], its gradient added; ``schedule``: τ and ε. No iteration: an evaluation."""
        tau, epsilon = schedule
        rows = torch.arange(self.many if iteration is None else self.few, device=points.device)
        if iteration is not None:
            rows = (rows + iteration * self.few) % len(self.landmarks)
        marks, hops = self.landmarks[rows], self.hops[rows].double()
        x = points.T
        y = x[marks]
        middle = x.mean(0)
        values, rates = value_and_slope(half_chord_table(y - middle, x - middle, space), space, epsilon)
        if offsets is not None:
            values = values - (offsets[marks][:, None] + offsets)
        here = (hops > 0).double()
        met = here.sum(0)
        counts = (met > 0).double()
        excess = ((values - self.unit * space.radius * hops) * here).sum(0) / met.clamp_min(1.0)
        ratio = (excess - self._mean(excess, counts)) / tau
        loss = ((ratio.abs() + torch.log1p(torch.exp(-2.0 * ratio.abs())) - math.log(2.0)) * counts).sum()
        pulls = torch.tanh(ratio) * counts
        pulls = (pulls - self._mean(pulls, counts)) * counts * (weight / tau) / met.clamp_min(1.0)
        pairs = here * pulls * rates
        factor = 2.0 * scale_of(space) * signs_of(space, x)
        added = (x * pairs.sum(0)[:, None] - pairs.T @ y) * factor
        added[marks] = added[marks] + (y * pairs.sum(1)[:, None] - pairs @ x) * factor
        gradient += added.T
        if slopes is not None:
            shift = -met * pulls
            shift[marks] = shift[marks] - (here * pulls).sum(1)
            slopes += shift
        return weight * loss
