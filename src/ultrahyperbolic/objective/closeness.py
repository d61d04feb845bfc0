"""What gently holds the sums of a node's distances: its centrality in the graph.

The ranking loss says of a pair without a tie only that it is longer than ties, so that δ, a sum
over all pairs, would be what the optimiser happened to leave. This term asks that δ follows
current-flow closeness f:

    weight · Σ_i log cosh((δ_i - c_i) / τ)

δ_i is the mean of d_ij - a_i - a_j over landmarks j of the component, and c_i = -log f_i, scaled to
a standard deviation. Both are taken relative to their mean over the component. Like the ranking
loss the term is in units of τ, and its slope is bounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np

from ..arrays import Floats, Ints
from ..graph import Graph
from ..graph.flow import centrality_of
from ..lazy import Tensor, torch

_SPREAD = 0.06
"""The standard deviation of c_i, in units of the radius."""
_DIGITS = 6
"""Decimals of log f that are kept: further ones could differ between processors."""
ALL_NODES = 96
"""Up to this many nodes all of them are landmarks of every iteration."""
# Beyond: the most and the fewest landmarks of an evaluation, and its pairs between them; an
# evaluation has this many times the landmarks of an iteration of descent, and half of all.
_MOST, _FEWEST, _PAIRS, _TIMES = 256, 64, 200_000, 8


class Closeness(NamedTuple):
    """What δ is held to."""

    landmarks: Ints
    """[L] nodes, in no order."""
    component: Ints
    """[n] numbered from 0."""
    target: Floats
    """[n] c_i relative to its mean over the component, in units of the radius."""
    few: int
    """Landmarks of an iteration of descent: the next ones of all, in turn."""
    many: int
    """Landmarks of an evaluation: the first ones."""

    @classmethod
    def of(cls, graph: Graph) -> Self:
        """Those of a graph."""
        n, component = graph.n_nodes, graph.component.copy()
        count, many, few = sizes_of(n)
        # A node is drawn as one end of a pair within a component.
        pairs = np.bincount(component)[component].astype(np.float64)
        landmarks = np.random.default_rng(0).choice(n, count, replace=False, p=pairs / pairs.sum())
        values = centrality_of(graph).values
        target = -np.log(np.where(values > 0.0, values, 1.0))
        target = (
            target - (np.bincount(component, target) / np.bincount(component))[component]
        ).round(_DIGITS)
        deviation = math.sqrt(float(np.add.reduce(target * target)) / n)
        target *= _SPREAD / max(deviation, 10.0**-_DIGITS)
        return cls(landmarks, component, target, few, many)

    @classmethod
    def none(cls, n: int) -> Self:
        """No landmarks, for trainings without this term."""
        return cls(np.zeros(0, np.int64), np.zeros(n, np.int64), np.zeros(n), 0, 0)

    def rows(self, iteration: int | None = None) -> Ints:
        """Which landmarks an iteration of descent looks at, or without one an evaluation."""
        count, total = (self.many, 0) if iteration is None else (self.few, iteration * self.few)
        size = len(self.landmarks)
        return (total + np.arange(min(count, size))) % max(size, 1)


def sizes_of(n: int) -> tuple[int, int, int]:
    """How many landmarks n nodes have, and how many of them an evaluation and an iteration of
    descent look at.
    """
    if n <= ALL_NODES:
        return n, n, n
    many = max(_FEWEST, min(_MOST, _PAIRS // n))
    return min(n, 2 * many), many, many // _TIMES


def closeness_loss(
    closeness: Closeness,
    points: Tensor,
    offsets: Tensor | None,
    dissimilarity: Callable[[Tensor, Tensor], Tensor],
    tau: float,
    radius: float,
    rows: Ints,
) -> Tensor:
    """The sum over i by its definition, at points [n, d] with the offsets [n] of nodes or none."""
    component, target = (torch.from_numpy(each).to(points.device) for each in closeness[1:3])
    marks = torch.from_numpy(closeness.landmarks[rows]).to(points.device)
    distances = dissimilarity(points[marks][:, None], points[None])
    if offsets is not None:
        distances = distances - (offsets[marks][:, None] + offsets)
    here = (component[marks][:, None] == component) & (
        marks[:, None] != torch.arange(len(points)).to(marks)
    )
    met = here.sum(0)
    excess = torch.where(here, distances, 0.0).sum(0) / met.clamp_min(1) - radius * target
    total = points.new_zeros(())
    for number in range(int(component.max()) + 1):
        mine = (component == number) & (met > 0)
        if mine.any():
            scaled = (excess[mine] - excess[mine].mean()).abs() / tau
            total = total + (scaled + torch.log1p(torch.exp(-2.0 * scaled)) - math.log(2.0)).sum()
    return total
