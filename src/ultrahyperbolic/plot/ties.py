"""Which ties a map draws, and their shape."""

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints, positions_in
from ..graph import Graph

MAP_TIES = 1_200  # of more, a map draws the strongest of each node


def backbone(ends: Ints, weights: Floats, n: int) -> NDArray[np.bool_]:
    """Which ties [m] between n nodes a map draws: all of a small graph, else the strongest of each node, at least one.

    >>> backbone(np.array([[0, 1], [0, 2], [1, 2]]), np.array([1.0, 2.0, 3.0]), 3).tolist()
    [True, True, True]
    """
    order = strongest_of_each(ends, weights, n)
    room = min(max(MAP_TIES, 2 * n), 3 * MAP_TIES)
    counts = np.bincount(order, minlength=1).cumsum()
    return order < max(1, int(np.searchsorted(counts, room, side="right")))


def edges_among(graph: Graph, rows: Ints) -> tuple[Ints, Ints]:
    """The edges between nodes at ``rows`` [r], weakest first: their numbers [m], and their ends [m, 2] in ``rows``."""
    ends = positions_in(rows, graph.n_nodes)[graph.edges]
    among = np.flatnonzero((ends >= 0).all(axis=1))
    among = among[np.argsort(graph.weights[among], kind="stable")]
    return among, ends[among]


def strongest_of_each(ends: Ints, weights: Floats, n: int) -> Ints:
    """For each tie [m], the number of stronger ties at one of its ends, whichever has fewer.

    >>> strongest_of_each(np.array([[0, 1], [0, 2], [1, 2]]), np.array([1.0, 2.0, 3.0]), 3).tolist()
    [1, 0, 0]
    """
    both = np.concatenate((ends[:, 0], ends[:, 1]))
    order = np.lexsort((-np.concatenate((weights, weights)), both))
    first = np.concatenate(([0], np.cumsum(np.bincount(both, minlength=n))[:-1])) if n else np.empty(0, np.int64)
    stronger = np.empty(len(both), np.int64)
    stronger[order] = np.arange(len(both)) - first[both[order]]
    return np.minimum(stronger[: len(ends)], stronger[len(ends) :])


def bow(first: Floats, last: Floats) -> Floats:
    """A tie as a slightly bent line, so that ties along one line can be distinguished."""
    share = np.linspace(0.0, 1.0, 25)[:, None]
    across = last - first
    bend = 0.08 * np.array([-across[1], across[0]]) * 4.0 * share * (1.0 - share)
    return first + share * across + bend
