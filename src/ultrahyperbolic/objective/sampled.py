"""The ranking loss (Eq. 17) estimated from samples: some ties, and their ends against nodes that
all of them share.

A batch is a draw of ties, whose losses count for those of all. What a tie is compared with is a sum
over weaker pairs, class by class, each drawn for itself and scaled by class size / sample. Pairs
without a tie are those of the batch's ends with nodes drawn for the whole batch, so that their half
chords are one matrix product. The logarithm of a sum is biased, the less the larger the sample;
samples of everything give the loss itself. Draws are stratified: the k-th of s draws is uniform in
the k-th of s equal parts, so that few items are drawn twice.
"""

import math
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from ..checks import check_count
from .ranking import NOTHING, RankedPairs, Scope
from .tables import GraphTable, Local, Mapper, NodeTable
from .tables import Measure as Measure


@dataclass(frozen=True)
class SampleSizes:
    """The sizes of an iteration's samples; at most what the graph has."""

    ties: int
    """In a batch. A second draw of this size estimates the sums over weaker ties of the graph."""
    others: int = 192
    """Nodes drawn for the whole batch, which each end of its ties meets."""
    per_end: int = 16
    """Weaker ties of each end, where a tie is compared with the pairs of its ends."""
    scaled: bool = True
    """Whether a sum counts for its class. Unscaled, as the paper has it, a tie is compared with its
    sample alone.
    """

    def __post_init__(self) -> None:
        for name in ("ties", "others", "per_end"):
            check_count(name, getattr(self, name), 1)


class Draw(NamedTuple):
    """The sample of an iteration."""

    ties: Tensor
    """[b] numbers of ties, ascending."""
    weaker: Tensor
    """[b] numbers of ties for the sums over weaker ones, ascending; [b, 2, s] of each end, where it
    is by node.
    """
    logs: Tensor
    """[b, 2, s] the logarithm of what each of them counts for; [0] where all count the same."""
    rows: Tensor
    """[r] nodes, ascending, each once: the ends of the ties, and of the nodes without a tie
    some.
    """
    counts: Tensor
    """[r] how many nodes each stands for."""
    columns: Tensor
    """[c] nodes, ascending."""


class Estimate(NamedTuple):
    """The loss, and its gradient in the nodes of the sample."""

    loss: Tensor
    """A scalar."""
    nodes: Tensor
    """[k] the nodes that were looked at, ascending; the gradient of all others is 0."""
    gradient: Tensor
    """[k, d] Euclidean."""
    offsets: Tensor | None
    """[k] in the offsets of nodes, where there are some."""


class SampledLoss:
    """The estimate for a graph on a device, where everything is drawn and computed.

    ``scope`` is as for `ExactLoss`. Pairs of a batch are of ``dtype``; half chords and sums are
    float64. ``mapper`` is like ``map``, over the blocks of a batch's pairs; a thread pool's keeps
    all threads busy.
    """

    ways = 1
    """How many devices share the blocks of a batch's pairs; their number is a multiple of it."""

    def __init__(
        self,
        pairs: RankedPairs,
        sizes: SampleSizes,
        scope: Scope = "graph",
        *,
        device: torch.device | None = None,
        dtype: torch.dtype = torch.float64,
        mapper: Mapper = map,
    ) -> None:
        if pairs.heights is not None and scope != "graph":
            raise ValueError("a directed graph is compared with scope 'graph'")
        self.n, self.m, self.scope, self.sizes = pairs.n_nodes, pairs.n_edges, scope, sizes
        self.silent = pairs.silent
        self.device, self.dtype, self.mapper = device or torch.device("cpu"), dtype, mapper
        self._edges = self._here(pairs.edges)
        self._heights = None if pairs.heights is None else self._here(pairs.heights)
        self._starts = self._here(np.unique(pairs.weaker))
        # The neighbours [2m] of every node, ascending, and where each node's begin [n + 1]. Among
        # the ordered pairs of a directed graph, [m] neighbours, there is the reverse of each.
        i, j = self._edges.unbind(1)
        keys = i * self.n + j
        keys = (
            (keys if self._heights is not None else torch.cat((keys, j * self.n + i))).sort().values
        )
        self._begin = torch.searchsorted(
            keys, torch.arange(self.n + 1, device=self.device) * self.n
        )
        self._neighbors = keys.remainder_(max(self.n, 1))
        self._degrees = self._begin[1:] - self._begin[:-1]
        self._alone = torch.nonzero(self._degrees == 0)[:, 0]
        # How many ties that may be drawn each node has.
        self._drawable = self._degrees
        if pairs.heights is not None:
            self._drawable = torch.bincount(
                self._edges[self.silent :].reshape(-1), minlength=self.n
            )
        if scope == "node":
            _, self._listed, self._class_starts, self._places = map(self._here, pairs.incidence)
            self._most = int(self._degrees.max())

    def _here(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def resized(self, sizes: SampleSizes) -> Self:
        """The same estimate with other sample sizes; the tables of the graph are shared."""
        other = copy(self)
        other.sizes = sizes
        return other

    def draw(self, *seed: int) -> Draw:
        """A sample, determined by the given numbers, such as a seed and an iteration."""
        state = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] >> 1)
        generator = torch.Generator(self.device).manual_seed(state)

        def some(count: int, size: int) -> Tensor:
            """``count`` numbers below ``size``, stratified, ascending."""
            count = min(count, size)
            if count == size:
                return torch.arange(size, device=self.device)
            places = torch.rand(count, generator=generator, device=self.device, dtype=torch.float64)
            places += torch.arange(count, device=self.device)
            return places.mul_(size / count).long().clamp_max_(size - 1)

        size = self.m - self.silent
        ties, columns = some(self.sizes.ties, size) + self.silent, some(self.sizes.others, self.n)
        rows, times = torch.unique(self._edges[ties], return_counts=True)
        counts = times.double() * (size / len(ties)) / self._drawable[rows]
        if len(self._alone) and self.scope == "graph":
            alone = self._alone[
                some(math.ceil(len(self._alone) * len(ties) / size), len(self._alone))
            ]
            # A node drawn twice stands for twice the nodes.
            alone, times = torch.unique(alone, return_counts=True)
            rows, order = torch.cat((rows, alone)).sort()
            counts = torch.cat((counts, times.double() * (len(self._alone) / times.sum())))[order]
        if self.scope == "node":
            shape = len(ties), 2, min(self.sizes.per_end, self._most)
            uniform = torch.rand(
                shape, generator=generator, device=self.device, dtype=torch.float64
            )
            return Draw(ties, *self._at_ends(ties, uniform), rows, counts, columns)
        weaker = some(self.sizes.ties, self.m)
        return Draw(ties, weaker, torch.empty(0, device=self.device), rows, counts, columns)

    def _at_ends(self, ties: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor]:
        """A sample of the weaker ties of both ends, and the logarithm of the weight of each."""
        first = self._begin[self._edges[ties]]
        there = self._class_starts[self._places[ties]] - first  # [b, 2] how many
        taken = there.clamp_max(uniform.shape[2])
        place = torch.arange(uniform.shape[2], device=self.device)
        which = ((place + uniform) * (there.double() / taken.clamp_min(1))[..., None]).long()
        which = torch.minimum(which, (there - 1).clamp_min(0)[..., None])
        listed = self._listed[(first[..., None] + which).clamp_max_(len(self._listed) - 1)]
        share = there.double() / taken.clamp_min(1)
        logs = share.clamp_min(1.0).log() if self.sizes.scaled else torch.zeros_like(share)
        return listed, torch.where(place < taken[..., None], logs[..., None], NOTHING)

    def __call__(
        self, points: Tensor, offsets: Tensor | None, draw: Draw, measure: Measure
    ) -> Estimate:
        """The estimate at points [n, d], float64 on the device, with the offsets [n] of nodes or
        none.
        """
        ends, weaker_ends = self._edges[draw.ties], self._edges[draw.weaker.reshape(-1)]
        touched = torch.cat((ends.reshape(-1), weaker_ends.reshape(-1), draw.rows, draw.columns))
        nodes, index = torch.unique(touched, return_inverse=True)
        sizes = (2 * len(ends), 2 * len(weaker_ends), len(draw.rows), len(draw.columns))
        at_ends, at_weaker, at_rows, at_columns = index.split(sizes)
        heights = None if self._heights is None else self._heights[nodes]
        local = Local(points[nodes], None if offsets is None else offsets[nodes], measure, heights)
        table = self._table(draw, local, at_rows, at_columns)
        pairs = at_ends.view(-1, 2), at_weaker.view(-1, 2)
        (own, own_slopes), (below, below_slopes) = map(local.scores, pairs)
        loss, own_pulls, below_pulls, rest_pulls = self._loss(draw, own, below, table.log_sums())
        local.add(pairs[0], own_slopes, own_pulls)
        local.add(pairs[1], below_slopes, below_pulls)
        table.add(rest_pulls)
        return Estimate(loss, nodes, local.gradient, local.slopes)

    def _loss(
        self, draw: Draw, own: Tensor, below: Tensor, rest: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The loss of scores -d/τ of ties, of weaker ones and of log sums over other pairs, and its
        slopes in these.
        """
        weight = (self.m - self.silent) / len(draw.ties)
        if self.scope == "graph":
            share = math.log(self.m / len(draw.weaker)) if self.sizes.scaled else 0.0
            terms = torch.cat((rest - share, below))
            cumulative = torch.logcumsumexp(terms, 0)
            first = self._starts[torch.searchsorted(self._starts, draw.ties, right=True) - 1]
            last = torch.searchsorted(draw.weaker, first)
            excess = cumulative[last] + share - own
            pulls = weight * excess.sigmoid()
            # A term is part of its sum and of all later ones: Σ pull · exp(term - sum), as one sum
            # from the end.
            at_sums = (
                torch.zeros_like(terms).index_put_((last,), pulls, accumulate=True).log()
                - cumulative
            )
            at_terms = (terms + torch.logcumsumexp(at_sums.flip(0), 0).flip(0)).exp()
            below_pulls, rest_pulls = at_terms[len(rest) :], at_terms[: len(rest)]
        else:
            row = torch.searchsorted(draw.rows, self._edges[draw.ties])
            scores, others = below.view(draw.weaker.shape) + draw.logs, rest[row]
            compared = torch.logsumexp(torch.logaddexp(others, torch.logsumexp(scores, 2)), 1)
            excess = compared - own
            pulls = weight * excess.sigmoid()
            below_pulls = (pulls[:, None, None] * (scores - compared[:, None, None]).exp()).view(-1)
            at_others = pulls[:, None] * (others - compared[:, None]).exp()
            rest_pulls = torch.zeros_like(rest).index_put_((row,), at_others, accumulate=True)
        loss = torch.logaddexp(torch.zeros_like(excess), excess).sum() * weight
        return loss, -pulls, below_pulls, rest_pulls

    def _table(
        self, draw: Draw, local: Local, rows: Tensor, columns: Tensor
    ) -> GraphTable | NodeTable:
        """The pairs of a draw's rows and columns, which are at these places of the touched
        points.
        """
        share = self.n / len(columns)
        counts = torch.full_like(draw.counts, share)
        if self.scope == "graph":
            counts = draw.counts * (0.5 * share)  # each pair without a tie is met from either end
        logs = counts.log() if self.sizes.scaled else torch.zeros_like(counts)
        kind, masked = (
            GraphTable if self.scope == "graph" else NodeTable,
            self.tied(draw.rows, draw.columns),
        )
        return kind(local, rows, columns, logs, masked, self.dtype, self.mapper, self.ways)

    def tied(self, rows: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
        """Where, row after row, a table of ascending rows and of columns has a node with itself or
        a neighbour.
        """
        degrees = self._degrees[columns]
        column = torch.repeat_interleave(torch.arange(len(columns), device=self.device), degrees)
        before = degrees.cumsum(0) - degrees
        place = (
            torch.arange(len(column), device=self.device)
            - before[column]
            + self._begin[columns][column]
        )
        nodes = torch.cat((self._neighbors[place], columns))
        column = torch.cat((column, torch.arange(len(columns), device=self.device)))
        row = torch.searchsorted(rows, nodes).clamp_max_(len(rows) - 1)
        found = rows[row] == nodes
        order = row[found].argsort(stable=True)
        return row[found][order], column[found][order]
