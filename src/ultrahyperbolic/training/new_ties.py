"""The ties of new nodes to those that are held, and among themselves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints


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
    def among(self) -> NDArray[np.bool_]:
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
        where = np.full(self.n_held + self.count, -1)
        where[: self.n_held] = np.arange(self.n_held)
        where[self.n_held + placed] = np.arange(self.n_held, n)
        where[self.n_held + rows] = n + np.arange(len(rows))
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
