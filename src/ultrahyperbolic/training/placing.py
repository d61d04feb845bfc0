"""Eq. 17 over the rows of new nodes: other points are held, and each new one is tried from several
places at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..engines.callbacks import spread_of
from ..graph.rows import ROUNDING
from ..objective.ranking import NOTHING
from ..spaces import Geometry
from ..spaces.distances import smoothed
from ..spaces.lbfgs import phi, through_phi
from .new_ties import NewTies, Rows, add

# Each node is tried from _STARTS places, of which the better half goes on after each round of
# _STEPS steps.
_STARTS, _ROUNDS, _STEPS = 16, 4, 60
# The longest move of a coordinate falls from the first of these shares of the spread to the second.
_MOVES = (0.1, 1e-5)
# τ and ε fall for this part of the steps.
_COOLING = 0.75
# A node is compared with the _NEAR nearest held nodes, found again after every _LOOK_EVERY steps,
# and with _DRAWN of the others, which stand for all of these.
_NEAR, _LOOK_EVERY, _DRAWN = 96, 10, 32
# So much of the chance to be drawn is the same for all others; the rest follows what they count in
# the sum.
_EVENLY = 0.5
# Adam's averages of the slopes and of their squares.
_SLOPES, _SQUARES = 0.8, 0.95
# Pairs of held nodes that are looked at together: it bounds the memory.
_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Held:
    """What does not move."""

    points: Floats
    """[n, d]"""
    arcs: tuple[Ints, Floats] | None = None
    """[e, 2] the ties among held nodes as `Graph.arcs` has them, and their weights [e], where they
    are known.
    """
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

    indices: Ints
    """[s, k, m]"""
    points: Floats
    """[s, k, m, d]"""
    counts: Floats
    """[s, k, m] the logarithm of how many each stands for."""
    tied: Bools
    """[s, k, m] whether it is a neighbour, which is not to be kept away."""


class _Scored(NamedTuple):
    """(a_i + a_j - d_ij) / τ of pairs, and how it changes with their points."""

    values: Floats
    rates: Floats
    """The derivative is this times the other point with its signs; in flat space, times the
    difference.
    """


class Placing:
    """The search for the points of k new nodes."""

    def __init__(
        self, geometry: Geometry, cooling: Cooling, ties: NewTies, held: Held, seed: int
    ) -> None:
        self.geometry, self.cooling, self.ties, self.held = geometry, cooling, ties, held
        self.rng, radius = np.random.default_rng(seed), geometry.radius
        self.spread = max(
            radius * spread_of(held.points / radius, geometry.time_dimensions), 1e-9 * radius
        )
        self.signs = np.where(np.arange(held.points.shape[1]) < geometry.time_dimensions, -1.0, 1.0)
        n = ties.n_held
        self.popularity, self.heights = (
            np.zeros(n + ties.count) if values is None else values
            for values in (held.popularity, held.heights)
        )
        self.ways = np.ones(len(ties.ends), dtype=np.int64) if ties.ways is None else ties.ways
        self.counted = ties.weights > 0.0
        self.rows = Rows(ties)
        self.pairs = np.triu_indices(ties.count, 1)
        self.to_held, self.to_new = (np.flatnonzero(which) for which in (~ties.among, ties.among))
        self.tied, (first, second) = ties.ends.T[:, self.to_held], ties.ends.T[:, self.to_new]
        self.joined = np.eye(ties.count, dtype=bool)
        self.joined[first, second - n] = self.joined[second - n, first] = True
        there = self.ways[self.to_new] > 0
        self.from_to = np.where(there, first, second - n), np.where(there, second - n, first)

    def run(self, show: Callable[[float], None] = lambda share: None) -> Floats:
        """[k, d] the best of all starts."""
        quadric, total = self.geometry.quadric, _ROUNDS * _STEPS
        assert quadric is not None
        z = np.asarray(phi(quadric, self._starts()))
        moves = np.geomspace(*_MOVES, total) * self.spread
        for number in range(_ROUNDS):
            slopes, squares = np.zeros_like(z), np.zeros_like(z)
            for step in range(_STEPS):
                done = number * _STEPS + step
                temperature, epsilon = self.cooling(done)
                if step % _LOOK_EVERY == 0:
                    near, at_ends = (
                        self._near(z, temperature),
                        self._at_held_ends(temperature, epsilon),
                    )
                slope = through_phi(
                    quadric,
                    z,
                    self._slopes(phi(quadric, z), temperature, epsilon, near, at_ends)[1],
                )
                slopes = _SLOPES * slopes + (1.0 - _SLOPES) * slope
                squares = _SQUARES * squares + (1.0 - _SQUARES) * np.square(slope)
                rms = np.sqrt(squares / (1.0 - _SQUARES ** (step + 1)))
                move = float(moves[done]) / (1.0 - _SLOPES ** (step + 1)) * slopes / (rms + 1e-12)
                z = np.asarray(phi(quadric, z - move))
                show((done + 1) / total)
            # Of every node, the best starts are kept.
            losses, _ = self._slopes(z, temperature, epsilon, self._near(z, temperature), at_ends)
            kept = 1 if number == _ROUNDS - 1 else len(z) // 2
            order = np.argsort(self.rows.of_nodes(losses), axis=0, kind="stable")[:kept]
            z = np.take_along_axis(z, order[:, :, None], 0)
        return np.asarray(z[0])

    def _starts(self) -> Floats:
        """[s, k, d]: the centroid of the neighbours by weight, then places between them and
        beside.
        """
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
        return starts

    def _distances(
        self, products: Floats, squares: Floats, epsilon: float
    ) -> tuple[Floats, Floats]:
        """Smoothed D_γ from scalar products, in flat space from ``squares``, the sums of ⟨x, x⟩ and
        ⟨y, y⟩, too.

        Also its derivative by the products.
        """
        if self.geometry.is_flat:
            values, slopes = smoothed(np.maximum(squares - 2.0 * products, 0.0), None, epsilon)
            return values, -2.0 * slopes
        w = 0.5 * (products / self.geometry.beta - 1.0)
        low, high = -math.inf if self.geometry.q else 0.0, math.inf if self.geometry.p else 0.0
        if not self.geometry.p:
            low = -1.0
        values, slopes = smoothed(np.clip(w, low, high), self.geometry.radius, epsilon)
        return values, np.where((w >= low) & (w <= high), 0.5 / self.geometry.beta * slopes, 0.0)

    def _free(self, i: Ints, j: Ints, temperature: float) -> Floats | float:
        """What springs add to pairs that are no ties: these stand for both directions."""
        if self.held.heights is None:
            return 0.0
        steps, spring = np.abs(self.heights[i] - self.heights[j]), self.held.spring
        other = np.log1p(np.exp(-4.0 * spring / temperature * steps))
        return np.asarray(spring * np.square(steps - 1.0) - temperature * other)

    def _tied(self, i: Ints, j: Ints, way: Ints | int) -> Floats | float:
        """What springs add to ties from i to j, or back."""
        if self.held.heights is None:
            return 0.0
        return np.asarray(
            self.held.spring * np.square(way * (self.heights[i] - self.heights[j]) - 1.0)
        )

    def _products(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """⟨x, y⟩ and ⟨x, x⟩ + ⟨y, y⟩ of points [..., d]."""
        return (x * y) @ self.signs, np.square(x) @ self.signs + np.square(y) @ self.signs

    def _near(self, z: Floats, temperature: float) -> _Near:
        """The held nodes to compare with, of points [s, k, d]."""
        n, (starts, count) = self.ties.n_held, z.shape[:2]
        if n <= _NEAR + _DRAWN:
            indices = np.broadcast_to(np.arange(n), (starts, count, n))
            counts = np.zeros(indices.shape)
        else:
            offset, nodes = (
                float(self.rng.random(dtype=np.float32)),
                max(1, _AT_ONCE // (starts * n)),
            )
            parts = (
                np.arange(start, min(start + nodes, count)) for start in range(0, count, nodes)
            )
            found = [self._chosen(z, some, temperature, offset) for some in parts]
            indices, counts = (np.concatenate(arrays, 1) for arrays in zip(*found, strict=True))
        tied = np.zeros(indices.shape, dtype=bool)
        start, tie, column = np.nonzero(indices[:, self.tied[0]] == self.tied[1][:, None])
        tied[start, self.tied[0][tie], column] = True
        return _Near(indices, self.held.points[indices], counts, tied)

    def _chosen(
        self, z: Floats, nodes: Ints, temperature: float, offset: float
    ) -> tuple[Ints, Floats]:
        """Indices and counts [s, b, m] for new nodes [b], one after the other: the nearest, then
        those drawn.

        Node j of the others is drawn _DRAWN p_j times on average and then stands for 1 / (_DRAWN
        p_j), so that the mean of the sum over all draws is the sum over all others. Draws are
        evenly spaced in Σ p from ``offset`` on, which is in [0, 1) with 24 bits: the last is
        therefore within the sum, too.
        """
        n, points = self.ties.n_held, self.held.points
        x = z[:, nodes]
        products = (x * self.signs) @ points.T
        if self.geometry.is_flat:
            key = np.square(x).sum(-1, keepdims=True) + np.square(points).sum(1) - 2.0 * products
        else:
            w = 0.5 * (products / self.geometry.beta - 1.0)
            key = (2.0 * self.geometry.radius) * np.arcsinh(np.sqrt(np.abs(w)))
        key = key + self._free(n + nodes[:, None], np.arange(n), temperature)
        scores = (self.popularity[:n] - key) / temperature
        new, held = self.tied[:, (self.tied[0] >= nodes[0]) & (self.tied[0] <= nodes[-1])]
        scores[:, new - nodes[0], held] = NOTHING
        near = np.argpartition(-scores, _NEAR, 2)[:, :, :_NEAR]
        np.put_along_axis(scores, near, -math.inf, 2)
        shares = np.exp(scores - scores.max(2, keepdims=True))
        chances = (1.0 - _EVENLY) * shares / shares.sum(2, keepdims=True) + _EVENLY / (n - _NEAR)
        np.put_along_axis(chances, near, 0.0, 2)
        sums = chances.cumsum(2)
        steps = (np.arange(_DRAWN) + offset) / _DRAWN * sums[:, :, -1:]
        drawn = np.empty(steps.shape, dtype=np.int64)
        for row in np.ndindex(drawn.shape[:2]):
            drawn[row] = np.searchsorted(sums[row], steps[row], side="right")
        counts = -np.log(_DRAWN * np.take_along_axis(chances, drawn, 2) / sums[:, :, -1:])
        return np.concatenate((near, drawn), 2), np.concatenate((np.zeros(near.shape), counts), 2)

    def _slopes(
        self, x: Floats, temperature: float, epsilon: float, near: _Near, at_ends: Floats
    ) -> tuple[Floats, Floats]:
        """[s, t] the loss of every tie, of points [s, k, d], and the gradient [s, k, d] of their
        sum.
        """
        ties, n, held = self.ties, self.ties.n_held, self.held.points

        def scored(
            first: Floats, second: Floats, i: Ints, j: Ints, added: Floats | float
        ) -> _Scored:
            d, rates = self._distances(*self._products(first, second), epsilon)
            return _Scored(
                (self.popularity[i] + self.popularity[j] - d - added) / temperature,
                -rates / temperature,
            )

        new = np.arange(n, n + ties.count)
        added = self._free(new[:, None], near.indices, temperature)
        free = scored(x[:, :, None, :], near.points, new[:, None], near.indices, added)
        others = np.where(near.tied, NOTHING, free.values + near.counts)
        rest = apart = np.logaddexp.reduce(others, 2)
        a, b = self.tied
        to_held = scored(x[:, a], held[b], n + a, b, self._tied(n + a, b, self.ways[self.to_held]))
        of_ties = np.zeros((len(x), len(ties.ends)))
        of_ties[:, self.to_held] = to_held.values
        i, j = self.pairs
        among = scored(x[:, i], x[:, j], n + i, n + j, 0.0)
        table = np.full((len(x), ties.count, ties.count), NOTHING)
        table[:, i, j] = table[:, j, i] = among.values
        of_ties[:, self.to_new] = (table - self._tied(new[:, None], new, 1) / temperature)[
            :, *self.from_to
        ]
        table = np.where(
            self.joined, NOTHING, table - self._free(new[:, None], new, temperature) / temperature
        )
        together = np.logaddexp.reduce(table, 2)
        rest = np.logaddexp(apart, together)
        compared = self.rows.compared(of_ties, rest, at_ends)
        losses = np.logaddexp(0.0, compared.values - of_ties) * self.counted
        # The same way back: what each score adds to the sum of the losses.
        pulls = (
            np.exp(compared.values - of_ties - np.logaddexp(0.0, compared.values - of_ties))
            * self.counted
        )
        by_ties, by_rest = self.rows.pulled(compared, pulls)
        by_ties -= pulls
        by_free = np.where(
            near.tied,
            0.0,
            (by_rest * np.exp(apart - rest))[:, :, None] * np.exp(others - apart[:, :, None]),
        )
        by_table = (by_rest * np.exp(together - rest))[:, :, None] * np.exp(
            table - together[:, :, None]
        )
        by_table[:, self.joined] = 0.0
        add(by_table, (slice(None), *self.from_to), by_ties[:, self.to_new])
        gradient = self._pulled(by_free * free.rates, x[:, :, None, :], near.points).sum(2)
        by_held = self._pulled(by_ties[:, self.to_held] * to_held.rates, x[:, a], held[b])
        add(gradient, (slice(None), a), by_held)
        both = (by_table[:, i, j] + by_table[:, j, i]) * among.rates
        add(gradient, (slice(None), i), self._pulled(both, x[:, i], x[:, j]))
        add(gradient, (slice(None), j), self._pulled(both, x[:, j], x[:, i]))
        return losses, gradient

    def _pulled(self, pulls: Floats, own: Floats, other: Floats) -> Floats:
        """What ``pulls`` [...] by scalar products make of points [..., d]; in flat space also by
        squares.
        """
        towards = other - own if self.geometry.is_flat else other * self.signs
        return np.asarray(pulls[..., None] * towards)

    def _at_held_ends(self, temperature: float, epsilon: float) -> Floats:
        """[t] the log-sum-exp of what a tie is compared with at its held end, where its neighbours
        are known.
        """
        found = np.full(len(self.ties.ends), NOTHING)
        n, rows, points = self.ties.n_held, max(1, _AT_ONCE // self.ties.n_held), self.held.points
        for start in range(0, len(self.to_held) if self._not_weaker else 0, rows):
            where, ends = self.to_held[start : start + rows], self.tied[1, start : start + rows]
            d, _ = self._distances(*self._products(points[ends, None], points), epsilon)
            both = (self.popularity[:n] + self.popularity[ends, None] - d) / temperature
            for way, left_out in self._not_weaker.items():
                scores = both - self._tied(ends[:, None], np.arange(n), way) / temperature
                here = left_out[:, (left_out[0] >= start) & (left_out[0] < start + rows)]
                scores[here[0] - start, here[1]] = NOTHING
                found[where] = np.logaddexp(found[where], np.logaddexp.reduce(scores, 1))
        return found

    @cached_property
    def _not_weaker(self) -> dict[int, Ints]:
        """[2, e] what a tie to a held node is not compared with there: its number among these, and
        the other node.

        In a directed graph of pairs that lead from there and, at -1, to there; nothing where ties
        are not known.
        """
        made: dict[int, Ints] = {}
        if self.held.arcs is None:
            return made
        (arcs, weights), ends, own = self.held.arcs, self.tied[1], self.ties.weights[self.to_held]
        for way in (1,) if self.held.heights is None else (1, -1):
            order = np.argsort(arcs[:, ::way][:, 0], kind="stable")
            here, there = arcs[order][:, ::way].T
            first, last = (np.searchsorted(here, ends, side) for side in ("left", "right"))
            ties = np.repeat(np.arange(len(ends)), last - first)
            found = np.arange(len(ties)) + np.repeat(last - np.cumsum(last - first), last - first)
            kept = weights[order][found] >= own[ties] * (1.0 - ROUNDING)
            numbers, others = (
                np.append(ties[kept], np.arange(len(ends))),
                np.append(there[found][kept], ends),
            )
            made[way] = np.stack((numbers, others))
        return made
