"""Eq. 17 over the rows of new nodes: other points are held, and each new one is tried from several places at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..arrays import Bools, Floats, Ints, positions_in
from ..engines.callbacks import spread_of
from ..geometry import Geometry
from ..geometry.functions import extended_smooth, smooth
from ..graph.rows import ROUNDING
from ..objective.ranking import NOTHING, both_stretched, stretched

# Each node is tried from _STARTS places, of which the better half goes on after each round of _STEPS steps.
_STARTS, _ROUNDS, _STEPS = 16, 4, 60
# The longest move of a coordinate falls from the first of these shares of the spread to the second.
_MOVES = (0.1, 1e-5)
# τ and ε fall for this part of the steps.
_COOLING = 0.75
# A node is compared with the _NEAR nearest held nodes, found again after every _LOOK_EVERY steps, and with _DRAWN of
# the others, which stand for all of these.
_NEAR, _LOOK_EVERY, _DRAWN = 96, 10, 32
# So much of the chance to be drawn is the same for all others; the rest follows what they count in the sum.
_EVENLY = 0.5
# Adam's averages of the slopes and of their squares.
_SLOPES, _SQUARES = 0.8, 0.95
# Pairs of held nodes that are looked at together: it bounds the memory.
_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class NewTies:
    """Ties of k new nodes. Positions below ``n_held`` are of nodes that are held, those from there on of the new."""

    count: int
    n_held: int
    ends: Ints
    """[t, 2] first a new node, counted from 0; then the other end, held or new."""
    weights: Floats
    """[t] In a directed graph each pair of ends has both directions, and one that is no tie the weight 0."""
    ways: Ints | None = None
    """[t] 1 where a directed tie leads from the new node to the other end, -1 where it leads back."""

    @cached_property
    def among(self) -> Bools:
        """[t] whether both ends are new."""
        return np.asarray(self.ends[:, 1] >= self.n_held)

    @cached_property
    def ordered(self) -> tuple[Ints, Floats]:
        """The ties as pairs of positions, from the first to the second where they are directed; and their weights."""
        ends = self.ends + np.array([self.n_held, 0])
        if self.ways is not None:
            ends = np.where(self.ways[:, None] > 0, ends, ends[:, ::-1])
        there = self.weights > 0.0
        return ends[there], self.weights[there]

    @cached_property
    def steps(self) -> Ints:
        """[k] how many ties lead from a new node to one that is held; k + 1 where none do."""
        a, b = self.ends.T
        steps = np.full(self.count, self.count + 1)
        steps[a[~self.among]] = 1
        a, b = a[self.among], b[self.among] - self.n_held
        while True:
            before = steps.copy()
            np.minimum.at(steps, a, before[b] + 1)
            np.minimum.at(steps, b, before[a] + 1)
            if (steps == before).all():
                return steps

    def some(self, rows: Ints, placed: Ints) -> NewTies:
        """Those of some new nodes, where ``placed`` ones are held, too: after the others, in this order."""
        n = self.n_held + len(placed)
        there = np.concatenate((np.arange(self.n_held), self.n_held + placed, self.n_held + rows))
        where = positions_in(there, self.n_held + self.count)
        ends = where[self.ends + np.array([self.n_held, 0])]
        low, high = ends.min(1), ends.max(1)
        kept = (low >= 0) & (high >= n)
        ways = None if self.ways is None else np.where(ends[:, 0] < ends[:, 1], -self.ways, self.ways)[kept]
        return NewTies(len(rows), n, np.column_stack((high - n, low))[kept], self.weights[kept], ways)

    @cached_property
    def at_nodes(self) -> tuple[Ints, Ints]:
        """Each tie at every new end it has: nodes [e] and ties [e], those of a node side by side, the weakest first."""
        among = np.flatnonzero(self.among)
        nodes = np.concatenate((self.ends[:, 0], self.ends[among, 1] - self.n_held))
        ties = np.concatenate((np.arange(len(self.ends)), among))
        order = np.lexsort((ties, self.weights[ties], nodes))
        return nodes[order], ties[order]


@dataclass(frozen=True)
class Held:
    """What does not move."""

    points: Floats
    """[n, d]"""
    arcs: tuple[Ints, Floats] | None = None
    """[e, 2] the ties among held nodes as `Graph.arcs` has them, and their weights [e], where they are known."""
    popularity: Floats | None = None
    """[n + k] of the held nodes and of the new ones."""
    heights: Floats | None = None
    """[n + k] of a directed graph, like popularity."""
    spring: float = 0.0
    """κ of a directed graph."""


class Cooling(NamedTuple):
    """How τ and ε fall, from the first to the second."""

    temperature: tuple[float, float]
    epsilon: tuple[float, float]

    def __call__(self, step: int) -> tuple[float, float]:
        """τ and ε at a step."""
        share = min(1.0, step / (_COOLING * _ROUNDS * _STEPS))
        t, e = self.temperature, self.epsilon
        return t[0] * (t[1] / t[0]) ** share, e[0] * (e[1] / e[0]) ** share


class _Near(NamedTuple):
    """The held nodes that each new one is compared with, for each start."""

    indices: Tensor
    """[s, k, m]"""
    points: Tensor
    """[s, k, m, d]"""
    counts: Tensor
    """[s, k, m] the logarithm of how many each stands for."""
    tied: Tensor
    """[s, k, m] whether it is a neighbour, which is not to be kept away."""


class Placing:
    """The search for the points of k new nodes."""

    def __init__(self, geometry: Geometry, cooling: Cooling, ties: NewTies, held: Held, seed: int) -> None:
        self.geometry, self.cooling, self.ties, self.held = geometry, cooling, ties, held
        self.manifold, self.rng = geometry.manifold, np.random.default_rng(seed)
        radius = geometry.radius
        self.spread = max(radius * spread_of(held.points / radius, geometry.time_dimensions), 1e-9 * radius)
        self.points = torch.from_numpy(held.points.copy())
        self.signs = torch.ones(held.points.shape[1], dtype=torch.float64)
        self.signs[: geometry.time_dimensions] = -1.0
        n = ties.n_held
        self.popularity, self.heights = (
            torch.from_numpy(np.zeros(n + ties.count) if values is None else values.copy())
            for values in (held.popularity, held.heights)
        )
        self.ways = torch.from_numpy(np.ones(len(ties.ends), dtype=np.int64) if ties.ways is None else ties.ways.copy())
        self.counted = torch.from_numpy(ties.weights > 0.0)
        self.rows = _Rows(ties)
        self.pairs = torch.from_numpy(np.stack(np.triu_indices(ties.count, 1)))
        self.to_held, self.to_new = (torch.from_numpy(np.flatnonzero(which)) for which in (~ties.among, ties.among))
        ends = torch.from_numpy(ties.ends.T.copy())
        self.tied, (first, second) = ends[:, self.to_held], ends[:, self.to_new]
        self.joined = torch.eye(ties.count, dtype=torch.bool)
        self.joined[first, second - n] = self.joined[second - n, first] = True
        there = self.ways[self.to_new] > 0
        self.from_to = torch.where(there, first, second - n), torch.where(there, second - n, first)

    def run(self, show: Callable[[float], None] = lambda share: None) -> Floats:
        """[k, d] the best of all starts."""
        z, total = self.manifold.phi(self._starts()), _ROUNDS * _STEPS
        moves = np.geomspace(*_MOVES, total) * self.spread
        for number in range(_ROUNDS):
            slopes, squares = torch.zeros_like(z), torch.zeros_like(z)
            for step in range(_STEPS):
                done = number * _STEPS + step
                temperature, epsilon = self.cooling(done)
                if step % _LOOK_EVERY == 0:
                    near, at_ends = self._near(z, temperature), self._at_held_ends(temperature, epsilon)
                z.requires_grad_()
                loss = self._losses(self.manifold.phi(z), temperature, epsilon, near, at_ends).sum()
                (slope,) = torch.autograd.grad(loss, z)
                slopes = _SLOPES * slopes + (1.0 - _SLOPES) * slope
                squares = _SQUARES * squares + (1.0 - _SQUARES) * slope.square()
                rms = (squares / (1.0 - _SQUARES ** (step + 1))).sqrt()
                move = float(moves[done]) / (1.0 - _SLOPES ** (step + 1)) * slopes / (rms + 1e-12)
                z = self.manifold.phi(z.detach() - move)
                show((done + 1) / total)
            # Of every node, the best starts are kept.
            losses = self._losses(z, temperature, epsilon, self._near(z, temperature), at_ends)
            order = self.rows.of_nodes(losses).argsort(0)[: 1 if number == _ROUNDS - 1 else len(z) // 2]
            z = z.gather(0, order[:, :, None].expand(-1, -1, z.shape[2]))
        return np.asarray(z[0].numpy())

    def _starts(self) -> Tensor:
        """[s, k, d]: the centroid of the neighbours by weight, then places between them and beside."""
        count, n = self.ties.count, self.ties.n_held
        starts = np.zeros((_STARTS, count, self.held.points.shape[1]))
        nodes, numbers = self.ties.at_nodes
        first = np.searchsorted(nodes, np.arange(count + 1))
        left = set()
        for node in range(count):
            mine = numbers[first[node] : first[node + 1]]
            mine = mine[self.ties.ends[mine, 1] < n]
            if not len(mine):
                left.add(node)
                continue
            near, weights = self.held.points[self.ties.ends[mine, 1]], self.ties.weights[mine]
            shares = self.rng.dirichlet(np.full(len(mine), 0.5), _STARTS)
            shares[0] = weights / weights.sum()
            centres = shares @ near
            beside = np.sqrt(np.square(near - centres[0]).sum(1).mean()) + 0.1 * self.spread
            size = beside * np.geomspace(0.05, 1.0, _STARTS)[:, None] / math.sqrt(near.shape[1])
            starts[:, node] = centres + size * self.rng.standard_normal(centres.shape)
        # Those that are tied to new nodes alone start beside these.
        pairs = self.ties.ends[self.ties.among] - [0, n]
        both = np.concatenate((pairs, pairs[:, ::-1])).tolist()
        while ready := {i: j for i, j in both if i in left and j not in left}:
            for i, j in ready.items():
                noise = self.rng.standard_normal(starts[:, j].shape)
                starts[:, i] = starts[:, j] + 0.05 * self.spread * noise
            left -= set(ready)
        return torch.from_numpy(starts)

    def _dissimilarity(self, products: Tensor, squares: Tensor, epsilon: float) -> Tensor:
        """Smoothed D_γ from scalar products; in flat space from ``squares``, the sums of ⟨x, x⟩ and ⟨y, y⟩, too."""
        if self.geometry.is_flat:
            return smooth((squares - 2.0 * products).clamp_min(0.0), epsilon)
        beta = torch.tensor(self.geometry.beta, dtype=torch.float64)
        w = 0.5 * (products / beta - 1.0)
        sign = 0
        if not self.geometry.q:
            w, sign = w.clamp_min(0.0), 1
        elif not self.geometry.p:
            w, sign = w.clamp(-1.0, 0.0), -1
        return extended_smooth(w, -beta, epsilon, sign=sign)

    def _free(self, i: Tensor, j: Tensor, temperature: float) -> Tensor | float:
        """What springs add to pairs that are no ties."""
        if self.held.heights is None:
            return 0.0
        return both_stretched(self.heights[i] - self.heights[j], self.held.spring, temperature)

    def _tied(self, i: Tensor, j: Tensor, way: Tensor | int) -> Tensor | float:
        """What springs add to ties from i to j, or back."""
        if self.held.heights is None:
            return 0.0
        return stretched(way * (self.heights[i] - self.heights[j]), self.held.spring)

    def _products(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """⟨x, y⟩ and ⟨x, x⟩ + ⟨y, y⟩ of points [..., d]."""
        x_signed = x * self.signs
        return (x_signed * y).sum(-1), (x_signed * x).sum(-1) + (y * self.signs * y).sum(-1)

    def _near(self, z: Tensor, temperature: float) -> _Near:
        """The held nodes to compare with, of points [s, k, d]."""
        n, (starts, count) = self.ties.n_held, z.shape[:2]
        if n <= _NEAR + _DRAWN:
            indices = torch.arange(n).expand(starts, count, n)
            counts = torch.zeros(indices.shape, dtype=torch.float64)
        else:
            offset, nodes = float(self.rng.random(dtype=np.float32)), max(1, _AT_ONCE // (starts * n))
            parts = (torch.arange(start, min(start + nodes, count)) for start in range(0, count, nodes))
            found = [self._chosen(z, some, temperature, offset) for some in parts]
            indices, counts = (torch.cat(tensors, 1) for tensors in zip(*found, strict=True))
        tied = torch.zeros(indices.shape, dtype=torch.bool)
        start, tie, column = (indices[:, self.tied[0]] == self.tied[1][:, None]).nonzero().T
        tied[start, self.tied[0][tie], column] = True
        return _Near(indices, self.points[indices], counts, tied)

    def _chosen(self, z: Tensor, nodes: Tensor, temperature: float, offset: float) -> tuple[Tensor, Tensor]:
        """Indices and counts [s, b, m] for new nodes [b], one after the other: the nearest, then those drawn.

        Node j of the others is drawn _DRAWN p_j times on average and then stands for 1 / (_DRAWN p_j), so that the mean
        of the sum over all draws is the sum over all others. Draws are evenly spaced in Σ p from ``offset`` on, which
        is in [0, 1) with 24 bits: the last is therefore within the sum, too.
        """
        n = self.ties.n_held
        x = z[:, nodes]
        products = (x * self.signs) @ self.points.T
        if self.geometry.is_flat:
            key = (x * x).sum(-1, keepdim=True) + (self.points**2).sum(1) - 2.0 * products
        else:
            key = (2.0 * self.geometry.radius) * (0.5 * (products / self.geometry.beta - 1.0)).abs().sqrt().asinh()
        key = key + self._free(n + nodes[:, None], torch.arange(n), temperature)
        scores = (self.popularity[:n] - key) / temperature
        new, held = self.tied[:, (self.tied[0] >= nodes[0]) & (self.tied[0] <= nodes[-1])]
        scores[:, new - nodes[0], held] = NOTHING
        near = scores.topk(_NEAR, 2).indices
        chances = (1.0 - _EVENLY) * scores.scatter(2, near, -math.inf).softmax(2) + _EVENLY / (n - _NEAR)
        sums = chances.scatter_(2, near, 0.0).cumsum(2)
        steps = (torch.arange(_DRAWN, dtype=torch.float64) + offset) / _DRAWN * sums[:, :, -1:]
        drawn = torch.searchsorted(sums, steps, right=True)
        counts = -torch.log(_DRAWN * chances.gather(2, drawn) / sums[:, :, -1:])
        return torch.cat((near, drawn), 2), torch.cat((torch.zeros(near.shape, dtype=torch.float64), counts), 2)

    def _losses(self, x: Tensor, temperature: float, epsilon: float, near: _Near, at_ends: Tensor) -> Tensor:
        """[s, t] the loss of every tie, of points [s, k, d]."""
        ties, n = self.ties, self.ties.n_held

        def scores(first: Tensor, second: Tensor, i: Tensor, j: Tensor, added: Tensor | float) -> Tensor:
            d = self._dissimilarity(*self._products(first, second), epsilon) + added
            return (self.popularity[i] + self.popularity[j] - d) / temperature

        new = torch.arange(n, n + ties.count)
        added = self._free(new[:, None], near.indices, temperature)
        free = scores(x[:, :, None, :], near.points, new[:, None], near.indices, added) + near.counts
        rest = torch.logsumexp(free.masked_fill(near.tied, NOTHING), 2)
        a, b = self.tied
        of_ties = x.new_zeros(len(x), len(ties.ends))
        added = self._tied(n + a, b, self.ways[self.to_held])
        of_ties = of_ties.index_copy(1, self.to_held, scores(x[:, a], self.points[b], n + a, b, added))
        if ties.count > 1:
            i, j = self.pairs
            pairs, every = scores(x[:, i], x[:, j], n + i, n + j, 0.0), torch.arange(len(x))[:, None]
            table = x.new_full((len(x), ties.count, ties.count), NOTHING)
            table = table.index_put((every, i, j), pairs).index_put((every, j, i), pairs)
            there = table - self._tied(new[:, None], new, 1) / temperature
            of_ties = of_ties.index_copy(1, self.to_new, there[:, *self.from_to])
            table = table - self._free(new[:, None], new, temperature) / temperature
            rest = torch.logaddexp(rest, torch.logsumexp(table.masked_fill(self.joined, NOTHING), 2))
        compared = self.rows.compared(of_ties, rest, at_ends)
        return torch.logaddexp(torch.zeros_like(compared), compared - of_ties) * self.counted

    def _at_held_ends(self, temperature: float, epsilon: float) -> Tensor:
        """[t] the log-sum-exp of what a tie is compared with at its held end, where its neighbours are known."""
        found = torch.full((len(self.ties.ends),), NOTHING, dtype=torch.float64)
        n, rows = self.ties.n_held, max(1, _AT_ONCE // self.ties.n_held)
        for start in range(0, len(self.to_held) if self._not_weaker else 0, rows):
            where, ends = self.to_held[start : start + rows], self.tied[1, start : start + rows]
            d = self._dissimilarity(*self._products(self.points[ends, None], self.points), epsilon)
            both = (self.popularity[:n] + self.popularity[ends, None] - d) / temperature
            for way, left_out in self._not_weaker.items():
                scores = both - self._tied(ends[:, None], torch.arange(n), way) / temperature
                here = left_out[:, (left_out[0] >= start) & (left_out[0] < start + rows)]
                scores[here[0] - start, here[1]] = NOTHING
                found[where] = torch.logaddexp(found[where], torch.logsumexp(scores, 1))
        return found

    @cached_property
    def _not_weaker(self) -> dict[int, Tensor]:
        """[2, e] what a tie to a held node is not compared with there: its number among these, and the other node.

        In a directed graph of pairs that lead from there and, at -1, to there; nothing where ties are not known.
        """
        made: dict[int, Tensor] = {}
        if self.held.arcs is None:
            return made
        (arcs, weights), ends, own = self.held.arcs, self.tied[1].numpy(), self.ties.weights[self.to_held.numpy()]
        for way in (1,) if self.held.heights is None else (1, -1):
            order = np.argsort(arcs[:, ::way][:, 0], kind="stable")
            here, there = arcs[order][:, ::way].T
            first, last = (np.searchsorted(here, ends, side) for side in ("left", "right"))
            ties = np.repeat(np.arange(len(ends)), last - first)
            found = np.arange(len(ties)) + np.repeat(last - np.cumsum(last - first), last - first)
            kept = weights[order][found] >= own[ties] * (1.0 - ROUNDING)
            numbers, others = np.append(ties[kept], np.arange(len(ends))), np.append(there[found][kept], ends)
            made[way] = torch.from_numpy(np.stack((numbers, others)))
        return made


class _Rows:
    """The ties of every new node in a row, from the weakest to the strongest."""

    def __init__(self, ties: NewTies) -> None:
        nodes, numbers = ties.at_nodes
        offsets = np.searchsorted(nodes, np.arange(ties.count + 1))
        differs = (np.diff(nodes) != 0) | (np.diff(ties.weights[numbers]) != 0)
        # Where the class of the tie begins.
        begins = np.maximum.accumulate(np.where(np.append(True, differs), np.arange(len(nodes)), 0))
        self.count, self.ties = ties.count, len(ties.ends)
        self.nodes, self.numbers = torch.from_numpy(nodes), torch.from_numpy(numbers)
        self.columns = torch.from_numpy(np.arange(len(nodes)) - offsets[nodes])
        self.below = torch.from_numpy(begins - offsets[nodes])
        self.width = int(np.diff(offsets).max())
        self.own = torch.from_numpy(nodes == ties.ends[numbers, 0])

    def compared(self, scores: Tensor, rest: Tensor, at_ends: Tensor) -> Tensor:
        """[s, t] the log-sum-exp of all a tie is compared with: non-ties ``rest`` [s, k], held ends ``at_ends`` [t]."""
        every = torch.arange(len(scores))[:, None]
        table = scores.new_full((len(scores), self.count, self.width), NOTHING)
        table = table.index_put((every, self.nodes, self.columns), scores[:, self.numbers])
        table = torch.cat((rest[:, :, None], table), 2)
        below = torch.logcumsumexp(table, 2)[:, self.nodes, self.below]
        nothing = scores.new_full((len(scores), self.ties), NOTHING)
        first = nothing.index_put((every, self.numbers[self.own]), below[:, self.own])
        second = at_ends.expand(len(scores), -1).index_put((every, self.numbers[~self.own]), below[:, ~self.own])
        return torch.logaddexp(first, second)

    def of_nodes(self, losses: Tensor) -> Tensor:
        """[s, k] the sums of the losses [s, t] over the ties of every node."""
        return losses.new_zeros(len(losses), self.count).index_add(1, self.nodes, losses[:, self.numbers])
