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
_LARGE, _WORD = 100_000, 64  # nodes from which sources are followed together, and bits of a word
SEARCH_BYTES = 64 << 20

Table = NDArray[np.int32]


def hops_from(graph: Graph, sources: Ints) -> Table:
    """The length of the shortest path from each source to every node: [k, n], -1 where there is none.

    Sources are searched from in blocks, by scipy where it is installed. Beyond the result, and the graph's lists of
    neighbours, this takes ``SEARCH_BYTES`` at most; of a large graph, another 16 bytes per edge, and each block is 64
    sources that are followed together.
    """
    if graph.n_nodes >= _LARGE and len(sources) > 1:
        return _hops_together(graph, sources)
    search = _search_of_scipy(graph) if find_spec("scipy") is not None else _search_of_numpy(graph)
    hops = np.empty((len(sources), graph.n_nodes), dtype=np.int32)
    rows = max(1, _ENTRIES // max(graph.n_nodes, 1))
    for start in range(0, len(sources), rows):
        hops[start : start + rows] = search(sources[start : start + rows])
    return hops


def _hops_together(graph: Graph, sources: Ints) -> Table:
    """A breadth-first search from 64 nodes at once, a bit of a word for each: O(m) a level.

    Where that has more levels than sources, a search from each of them is faster.
    """
    offsets, nodes = graph.neighbor_lists
    joined = np.flatnonzero(graph.degree)
    first = offsets[joined]
    hops = np.full((len(sources), graph.n_nodes), -1, dtype=np.int32)
    for start in range(0, len(sources), _WORD):
        some, table = sources[start : start + _WORD], hops[start : start + _WORD]
        bits = np.uint64(1) << np.arange(len(some), dtype=np.uint64)
        seen = np.zeros(graph.n_nodes, dtype=np.uint64)
        np.bitwise_or.at(seen, some, bits)
        table[np.arange(len(some)), some] = 0
        frontier, level = seen.copy(), 0
        while frontier.any():
            level += 1
            if level > _WORD:
                table[:] = np.concatenate([_search_of_numpy(graph)(each[None]) for each in some])
                break
            arriving = np.zeros_like(seen)
            arriving[joined] = np.bitwise_or.reduceat(frontier[nodes], first)
            frontier = arriving & ~seen
            seen |= frontier
            reached = np.flatnonzero(frontier)
            words = frontier[reached]
            for row, bit in zip(table, bits, strict=True):
                row[reached[(words & bit) > 0]] = level
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
