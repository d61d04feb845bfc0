"""Which nodes and edges a page shows: all of them, or of a large graph the top and a sample."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph import Graph

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_NODES = 5_000
TOP, SAMPLE = 1_000, 1_000
MOST_EDGES = 20_000
MAP_EDGES = 1_200  # of more, a map draws the strongest of each node


class Shown(NamedTuple):
    """The nodes of a page, by rank."""

    nodes: Ints
    """[s] their positions in the embedding, the smallest δ first."""
    top: int
    """So many of them have the smallest δ; the others were drawn."""
    total: int
    """How many nodes there are."""

    @property
    def whole(self) -> bool:
        """Whether every node is shown."""
        return len(self.nodes) == self.total


class ShownEdges(NamedTuple):
    """The edges of a page, the weakest first."""

    ends: Ints
    """[e, 2] positions in :attr:`Shown.nodes`."""
    weights: Floats
    """[e]"""
    between: int
    """How many edges the shown nodes have among them."""
    drawn: NDArray[np.bool_]
    """[e] whether the map draws it, as one of the strongest of a node; the others appear with a selected node."""


def choose_nodes(rank: Ints) -> Shown:
    """All nodes, or beyond ``MOST_NODES`` the first ``TOP`` and ``SAMPLE`` others, each as likely as any other."""
    by_rank = np.argsort(rank, kind="stable")
    n = len(by_rank)
    if n <= MOST_NODES:
        return Shown(by_rank, n, n)
    drawn = np.sort(np.random.default_rng(0).choice(n - TOP, SAMPLE, replace=False)) + TOP
    return Shown(np.concatenate((by_rank[:TOP], by_rank[drawn])), TOP, n)


def choose_edges(graph: Graph, shown: Shown) -> ShownEdges:
    """The edges among the shown nodes; of more than ``MOST_EDGES`` the strongest, with the strongest of each node."""
    place = np.full(graph.n_nodes, -1)
    place[shown.nodes] = np.arange(len(shown.nodes))
    ends = place[graph.edges]
    among = np.flatnonzero((ends >= 0).all(axis=1))
    among = among[np.argsort(graph.weights[among], kind="stable")]
    order = strongest_of_each(ends[among], graph.weights[among], len(shown.nodes))
    drawn = order < _most_per_node(order, len(shown.nodes))
    kept = among[drawn | (np.arange(len(among)) >= len(among) - max(0, MOST_EDGES - int(drawn.sum())))]
    return ShownEdges(ends[kept], graph.weights[kept], len(among), drawn[np.isin(among, kept)])


def strongest_of_each(ends: Ints, weights: Floats, n: int) -> Ints:
    """For each edge [e] how many ties of one of its ends are stronger, of the end that has fewer.

    >>> strongest_of_each(np.array([[0, 1], [0, 2], [1, 2]]), np.array([1.0, 2.0, 3.0]), 3).tolist()
    [1, 0, 0]
    """
    both = np.concatenate((ends[:, 0], ends[:, 1]))
    order = np.lexsort((-np.concatenate((weights, weights)), both))
    first = np.concatenate(([0], np.cumsum(np.bincount(both, minlength=n))[:-1])) if n else np.empty(0, np.int64)
    stronger = np.empty(len(both), np.int64)
    stronger[order] = np.arange(len(both)) - first[both[order]]
    found: Ints = np.minimum(stronger[: len(ends)], stronger[len(ends) :])
    return found


def _most_per_node(order: Ints, n: int) -> int:
    """How many ties of each node a map can bear: all of a small graph, and at least one of each node."""
    room = min(max(MAP_EDGES, 2 * n), 3 * MAP_EDGES)
    counts = np.bincount(order, minlength=1).cumsum()
    return max(1, int(np.searchsorted(counts, room, side="right")))
