"""How many edges apart nodes are: a breadth-first search from each of some nodes, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from .graph import Graph
from .rows import Ints

# Entries of the table that one search fills, edges that numpy follows at once, and what their arrays take at most.
_ENTRIES = 1 << 21
_EDGES = 1 << 18
SEARCH_BYTES = 64 << 20

Table = NDArray[np.int32]


def hops_from(graph: Graph, sources: Ints) -> Table:
    """The length of the shortest path from each source to every node: [k, n], -1 where there is none.

    Sources are searched from in blocks, by scipy where it is installed. Beyond the result, and the graph's lists of
    neighbours, this takes ``SEARCH_BYTES`` at most.
    """
    search = _search_of_scipy(graph) if find_spec("scipy") is not None else _search_of_numpy(graph)
    hops = np.empty((len(sources), graph.n_nodes), dtype=np.int32)
    rows = max(1, _ENTRIES // max(graph.n_nodes, 1))
    for start in range(0, len(sources), rows):
        hops[start : start + rows] = search(sources[start : start + rows])
    return hops


def _search_of_scipy(graph: Graph) -> Callable[[Ints], NDArray[np.float64]]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    offsets, nodes = graph.neighbor_lists
    joined = csr_array((np.ones(len(nodes)), nodes, offsets), shape=(graph.n_nodes, graph.n_nodes))

    def search(sources: Ints) -> NDArray[np.float64]:
        hops: NDArray[np.float64] = dijkstra(joined, indices=sources, unweighted=True)
        hops[np.isinf(hops)] = -1.0
        return hops

    return search


def _search_of_numpy(graph: Graph) -> Callable[[Ints], Table]:
    n, degree = graph.n_nodes, graph.degree
    offsets, nodes = graph.neighbor_lists

    def search(sources: Ints) -> Table:
        """All sources go on by one edge at a time; ``reached`` holds source · n + node of what was reached last."""
        reached = np.arange(len(sources)) * n + sources
        hops = np.full(len(sources) * n, -1, dtype=np.int32)
        hops[reached], level = 0, 0
        while len(reached):
            level += 1
            ends = np.cumsum(degree[reached % n])
            cuts = np.searchsorted(ends, np.arange(_EDGES, ends[-1], _EDGES))
            reached = np.concatenate([step(some, hops, level) for some in np.split(reached, cuts)])
        return hops.reshape(len(sources), n)

    def step(reached: Ints, hops: Table, level: int) -> Ints:
        """One edge on from some; what they reach first, each once."""
        node = reached % n
        count = degree[node]
        # The places of their neighbours in the lists: for each its offset, and 0, 1, …, count - 1 beyond it.
        place = np.repeat(offsets[node] - np.cumsum(count) + count, count)
        place += np.arange(len(place))
        found: Ints = np.repeat(reached - node, count) + nodes[place]
        found = found[hops[found] < 0]
        # Several edges may lead to one node: the one whose number stays in the table goes on.
        number = np.arange(-2, -2 - len(found), -1, dtype=np.int32)
        hops[found] = number
        found = found[hops[found] == number]
        hops[found] = level
        return found

    return search
