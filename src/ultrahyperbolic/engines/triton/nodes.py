"""Edges compared with the pairs of their two ends, on a CUDA device.

Two passes over the pairs: sums by node, and once the edges of every node are added up, the gradient.
"""

from __future__ import annotations

import numpy as np
import torch
import triton
from numpy.typing import NDArray

from ...objective import RankedPairs
from .node_kernels import (
    node_denominators_kernel,
    node_pass_kernel,
    node_pulls_kernel,
    row_sums_kernel,
    stronger_kernel,
    weaker_kernel,
)
from .passes import Passes

# Edges of a node that its program takes at once, and edges of a program that takes edges.
_ENTRIES, _CHUNK = 32, 128

When = tuple[torch.Tensor, int, torch.Tensor]
"""The schedule [B, 4, T], T, and the iteration of each run."""


class NodeSums:
    """The sums by node of a batch of runs of one graph.

    Parameters
    ----------
    pairs : RankedPairs
        The graph.
    passes : Passes
        How its pairs are cut; the gradient of the pass is written there.
    """

    def __init__(self, pairs: RankedPairs, passes: Passes) -> None:
        device, n, m, runs = passes.device, pairs.n_nodes, pairs.n_edges, passes.runs
        self.passes, self.n, self.m, self.chunks = passes, n, m, triton.cdiv(m, _CHUNK)

        def integers(array: NDArray[np.int64]) -> torch.Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(device)

        def double(*shape: int) -> torch.Tensor:
            return torch.zeros(*shape, dtype=torch.float64, device=device)

        found = pairs.incidence
        self.edges, self.offsets, self.incident = integers(pairs.edges), integers(found.offsets), integers(found.edges)
        # At either end of an edge its last weaker edge and its first stronger one; -1 for none.
        starts, stops = found.starts[found.places], found.stops[found.places]
        self.before = integers(np.where(starts > found.offsets[pairs.edges], starts - 1, -1))
        self.after = integers(np.where(stops < found.offsets[pairs.edges + 1], stops, -1))
        self.nearest, self.sums = (double(runs, passes.splits, n) for _ in range(2))
        self.relative, self.coefficients = (torch.zeros(runs, n, dtype=passes.dtype, device=device) for _ in range(2))
        self.log_sums = double(runs, n)
        self.below, self.above = (double(runs, 2 * m) for _ in range(2))
        self.shares = double(runs, m)

    def sum_up(self, points: torch.Tensor, factors: torch.Tensor, radius: torch.Tensor, when: When, parts: int) -> None:
        """The first pass: of every node the nearest other pair and the sum of all, or of one part in so many."""
        passes = self.passes
        row_sums_kernel[passes.grid](
            points, factors, radius, self.n, when[0], when[1], when[2], passes.offsets, *passes.excluded, self.nearest,
            self.sums, passes.splits, passes.tiles, parts, **passes.cut(parts), **passes.measure,
            POPULAR=passes.popular, num_warps=passes.shape.warps,
        )  # fmt: skip

    def rank(self, values: torch.Tensor, log_z: torch.Tensor, chunk_loss: torch.Tensor, when: When, parts: int) -> None:
        """The denominators of the edges, their loss, and the coefficients of the second pass."""
        runs = self.passes.runs
        weaker_kernel[(self.n, runs)](
            self.nearest, self.sums, self.passes.splits, parts, values, self.offsets, self.incident, self.n, self.m,
            *when, self.relative, self.log_sums, self.below, SPLITS=triton.next_power_of_2(self.passes.splits),
            SIZE=_ENTRIES, num_warps=1,
        )  # fmt: skip
        node_denominators_kernel[(self.chunks, runs)](
            values, self.m, self.below, self.log_sums, self.edges, self.before, self.n, self.chunks, *when, log_z,
            self.shares, chunk_loss, SIZE=_CHUNK,
        )  # fmt: skip
        stronger_kernel[(self.n, runs)](
            log_z, self.offsets, self.incident, self.n, self.m, parts, *when, self.relative, self.log_sums, self.above,
            self.coefficients, SIZE=_ENTRIES, num_warps=1,
        )  # fmt: skip

    def pull(
        self, points: torch.Tensor, factors: torch.Tensor, radius: torch.Tensor, when: When,
        of_edges: tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], parts: int,
    ) -> None:  # fmt: skip
        """The second pass, into the gradient of the passes; ``of_edges`` are values, slopes, and where pulls go.

        These are changes with w; where nodes have offsets, the last of ``of_edges`` takes those with d.
        """
        passes = self.passes
        node_pass_kernel[passes.grid](
            points, factors, radius, self.n, *when, self.relative, self.coefficients, passes.offsets, *passes.excluded,
            passes.gradient, passes.splits, passes.tiles, parts, **passes.cut(parts), **passes.measure,
            POPULAR=passes.popular, num_warps=passes.shape.warps,
        )  # fmt: skip
        values, slopes, pulls, bare = of_edges
        node_pulls_kernel[(self.chunks, passes.runs)](
            values, slopes, self.shares, self.m, self.above, self.after, *when, pulls, bare, SIZE=_CHUNK,
            POPULAR=passes.popular,
        )  # fmt: skip
