"""What the sums of a node's distances are held to: its hops to landmarks.

The ranking loss says of a pair without a tie only that it is longer than ties, so that δ, a sum over all pairs, would
be what the optimiser happened to leave. This term asks that δ follows closeness, the mean number of hops:

    weight · Σ_i k_i log cosh((δ_i - c_i) / τ)

δ_i is the mean of d_ij - a_i - a_j over some landmarks j, c_i the mean number of hops times a length; both are taken
relative to their mean over the component. k_i is a quarter of the degree, in units of its mean, and at least 1: the
ties of a hub pull it by their number. Like the ranking loss the term is in units of τ, and its slope is bounded. To c_i
a score of the rank by mean hops is added where these differ little: what ties do to δ is about as large on all graphs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np

from ..arrays import Floats, Ints
from ..graph import Graph
from ..graph.hops import Table, hop_sums, hops_from
from ..lazy import Tensor, torch
from ..rounding import asinh

# In units of the radius: how long the longest path is to be, and the least standard deviation of c_i.
_REACH, _SPREAD = 0.6, 0.04
# Up to this many nodes all of them are landmarks of every iteration.
ALL_NODES = 96
# Beyond: the most and the fewest landmarks of an evaluation, and its pairs between them; an evaluation has this many
# times the landmarks of an iteration of descent, and half of all.
_MOST, _FEWEST, _PAIRS, _TIMES = 256, 64, 200_000, 8
# Mean hops are those to all nodes, or to as many as make about this many pairs; to landmarks at least.
_COUNTED = 40_000_000


class Closeness(NamedTuple):
    """Hops of every node to landmarks."""

    landmarks: Ints
    """[L] nodes, in no order."""
    hops: Table
    """[L, n], -1 where there is no path."""
    component: Ints
    """[n] numbered from 0."""
    shift: Floats
    """[n] unit · mean hops - c_i, relative to its mean over the component, in units of the radius."""
    firmness: Floats
    """[n] a quarter of the degree in units of its mean, at least 1."""
    unit: float
    """How long a hop is where one distance is compared with it, in units of the radius."""
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
        most = max(count, min(n, _COUNTED // n))
        drawn = np.random.default_rng(0).choice(n, most, replace=False, p=pairs / pairs.sum())
        landmarks, (sums, reached) = drawn[:count], hop_sums(graph, drawn[count:])
        hops = hops_from(graph, landmarks)
        for row in hops:
            sums += np.maximum(row, 0)
            reached += row > 0
        unit = _REACH / max(int(hops.max(initial=1)), 1)
        apart = _apart(component, sums, reached)
        scores, apart = _scores(component, apart), unit * apart
        # If all ranks differ, this share of the scores brings the standard deviation of c_i up to what is wanted.
        missing, both = _SPREAD**2 - float(np.add.reduce(apart * apart)) / n, float(np.add.reduce(scores * apart)) / n
        share = math.sqrt(both * both + missing) - both if missing > 0.0 else 0.0
        firmness = np.maximum(1.0, n / (8.0 * graph.n_edges) * graph.degree)
        return cls(landmarks, hops, component, -share * scores, firmness, unit, few, many)

    @classmethod
    def none(cls, n: int) -> Self:
        """No landmarks, for trainings without this term."""
        zeros, hops = np.zeros(n), np.zeros((0, n), np.int32)
        return cls(np.zeros(0, np.int64), hops, np.zeros(n, np.int64), zeros, zeros, 0.0, 0, 0)

    def rows(self, iteration: int | None = None) -> Ints:
        """Which landmarks an iteration of descent looks at, or without one an evaluation."""
        count, total = (self.many, 0) if iteration is None else (self.few, iteration * self.few)
        size = len(self.landmarks)
        return (total + np.arange(min(count, size))) % max(size, 1)


def _apart(component: Ints, sums: Ints, reached: Ints) -> Floats:
    """[n] mean hops, less their mean over the component; 0 where none are known."""
    known = np.flatnonzero(reached)
    own, mean = component[known], sums[known] / reached[known]
    apart = np.zeros(len(component))
    apart[known] = mean - (np.bincount(own, mean) / np.maximum(np.bincount(own), 1))[own]
    return apart


def _scores(component: Ints, values: Floats) -> Floats:
    """[n] the quantiles of a logistic distribution, of mean 0 and variance 1, at the ranks within the component.

    Equal values share a rank. The first ranks are farther from each other than those in the middle.
    """
    order = np.lexsort((values, component))
    (labels, ordered), sizes = (array[order] for array in (component, values)), np.bincount(component)
    starts = np.flatnonzero(np.diff(labels, prepend=-1) | (np.diff(ordered, prepend=math.nan) != 0.0))
    counts, middles = np.diff(starts, append=len(order)), np.cumsum(sizes) - 0.5 * (sizes + 1)
    ranks = np.empty(len(order))
    ranks[order] = np.repeat(starts + 0.5 * (counts - 1), counts)
    above = 2.0 * (ranks - middles[component]) / sizes[component]
    return np.copysign(asinh(2.0 * np.abs(above) / (1.0 - above * above)), above) * (math.sqrt(3.0) / math.pi)


def sizes_of(n: int) -> tuple[int, int, int]:
    """How many landmarks n nodes have, and how many of them an evaluation and an iteration of descent look at."""
    if n <= ALL_NODES:
        return n, n, n
    many = max(_FEWEST, min(_MOST, _PAIRS // n))
    return min(n, 2 * many), many, many // _TIMES


def closeness_bytes(n: int) -> int:
    """Memory that the term takes."""
    count, many, _ = sizes_of(n)
    return 4 * count * n + 8 * n * (many + 16)


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
    marks = torch.from_numpy(closeness.landmarks[rows]).to(points.device)
    hops = torch.from_numpy(closeness.hops[rows]).to(points)
    distances = dissimilarity(points[marks][:, None], points[None])
    if offsets is not None:
        distances = distances - (offsets[marks][:, None] + offsets)
    here = hops > 0
    met = here.sum(0)
    excess = torch.where(here, distances - closeness.unit * radius * hops, 0.0).sum(0) / met.clamp_min(1)
    component, shift, firmness = (torch.from_numpy(each).to(points.device) for each in closeness[2:5])
    excess, total = excess + radius * shift, points.new_zeros(())
    for number in range(int(component.max()) + 1):
        mine = (component == number) & (met > 0)
        if mine.any():
            scaled = (excess[mine] - excess[mine].mean()).abs() / tau
            total = total + (firmness[mine] * (scaled + torch.log1p(torch.exp(-2.0 * scaled)) - math.log(2.0))).sum()
    return total
