"""The ties of new nodes, and what each of them is compared with at its new ends."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..arrays import Bools, Floats, Ints, positions_in
from ..objective.ranking import NOTHING


@dataclass(frozen=True)
class NewTies:
    """Ties of k new nodes. Positions below ``n_held`` are of nodes that are held, those from there
    on of the new.
    """

    count: int
    n_held: int
    ends: Ints
    """[t, 2] first a new node, counted from 0; then the other end, held or new."""
    weights: Floats
    """[t] In a directed graph each pair of ends has both directions, and one that is no tie the
    weight 0.
    """
    ways: Ints | None = None
    """[t] 1 where a directed tie leads from the new node to the other end, -1 where it leads
    back.
    """

    @cached_property
    def among(self) -> Bools:
        """[t] whether both ends are new."""
        return np.asarray(self.ends[:, 1] >= self.n_held)

    @cached_property
    def ordered(self) -> tuple[Ints, Floats]:
        """The ties as pairs of positions, from the first to the second where they are directed; and
        their weights.
        """
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
        """Those of some new nodes, where ``placed`` ones are held, too: after the others, in this
        order.
        """
        n = self.n_held + len(placed)
        there = np.concatenate((np.arange(self.n_held), self.n_held + placed, self.n_held + rows))
        where = positions_in(there, self.n_held + self.count)
        ends = where[self.ends + np.array([self.n_held, 0])]
        low, high = ends.min(1), ends.max(1)
        kept = (low >= 0) & (high >= n)
        ways = (
            None
            if self.ways is None
            else np.where(ends[:, 0] < ends[:, 1], -self.ways, self.ways)[kept]
        )
        return NewTies(
            len(rows), n, np.column_stack((high - n, low))[kept], self.weights[kept], ways
        )

    @cached_property
    def at_nodes(self) -> tuple[Ints, Ints]:
        """Each tie at every new end it has: nodes [e] and ties [e], those of a node side by side,
        the weakest first.
        """
        among = np.flatnonzero(self.among)
        nodes = np.concatenate((self.ends[:, 0], self.ends[among, 1] - self.n_held))
        ties = np.concatenate((np.arange(len(self.ends)), among))
        order = np.lexsort((ties, self.weights[ties], nodes))
        return nodes[order], ties[order]


def add(to: Floats, at: tuple[slice | Ints, ...], values: Floats) -> None:
    """Add values in places that may be named several times."""
    np.add.at(to, at, values)  # type: ignore[arg-type]


class Compared(NamedTuple):
    """What scores are compared with, and how it came about."""

    values: Floats
    """[s, t] the log-sum-exp of all that each is compared with."""
    table: Floats
    """[s, k, 1 + width] the scores of every node, those of its non-ties first."""
    sums: Floats
    """The log-sum-exp of each and all before it."""


class Rows:
    """The ties of every new node in a row, from the weakest to the strongest."""

    def __init__(self, ties: NewTies) -> None:
        nodes, numbers = ties.at_nodes
        offsets = np.searchsorted(nodes, np.arange(ties.count + 1))
        differs = (np.diff(nodes) != 0) | (np.diff(ties.weights[numbers]) != 0)
        # Where the class of the tie begins.
        begins = np.maximum.accumulate(np.where(np.append(True, differs), np.arange(len(nodes)), 0))
        self.count, self.ties = ties.count, len(ties.ends)
        self.nodes, self.numbers = nodes, numbers
        self.columns = 1 + np.arange(len(nodes)) - offsets[nodes]
        self.below = begins - offsets[nodes]
        self.width = 1 + int(np.diff(offsets).max())
        self.own = nodes == ties.ends[numbers, 0]

    def compared(self, scores: Floats, rest: Floats, at_ends: Floats) -> Compared:
        """What scores [s, t] are compared with: non-ties ``rest`` [s, k], weaker ties, held ends
        ``at_ends`` [t].
        """
        table = np.full((len(scores), self.count, self.width), NOTHING)
        table[:, :, 0] = rest
        table[:, self.nodes, self.columns] = scores[:, self.numbers]
        sums = np.logaddexp.accumulate(table, 2)
        below = sums[:, self.nodes, self.below]
        first, second = np.full(scores.shape, NOTHING), np.tile(at_ends, (len(scores), 1))
        first[:, self.numbers[self.own]] = below[:, self.own]
        second[:, self.numbers[~self.own]] = below[:, ~self.own]
        return Compared(np.logaddexp(first, second), table, sums)

    def pulled(self, compared: Compared, pulls: Floats) -> tuple[Floats, Floats]:
        """The slopes [s, t] by scores and [s, k] by ``rest`` of the sum of what is compared, times
        ``pulls`` [s, t].
        """
        values, table, sums = compared
        share = np.exp(sums[:, self.nodes, self.below] - values[:, self.numbers])
        at_sums = np.zeros(table.shape)
        add(at_sums, (slice(None), self.nodes, self.below), pulls[:, self.numbers] * share)
        with np.errstate(divide="ignore"):
            logs = np.log(at_sums) - sums
        # A score is in all sums from its own on.
        slopes = np.exp(table + np.logaddexp.accumulate(logs[:, :, ::-1], 2)[:, :, ::-1])
        by_scores = np.zeros(pulls.shape)
        add(by_scores, (slice(None), self.numbers), slopes[:, self.nodes, self.columns])
        return by_scores, slopes[:, :, 0]

    def of_nodes(self, losses: Floats) -> Floats:
        """[s, k] the sums of the losses [s, t] over the ties of every node."""
        found = np.zeros((len(losses), self.count))
        add(found, (slice(None), self.nodes), losses[:, self.numbers])
        return found
