"""What no embedding is needed for: the cheap centralities that a hierarchy should be compared with."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ..graph import Graph
from ..graph.hops import hops_from
from ..pairs import usable_threads
from .inputs import Floats, Ints, both_ways

_WORD = 64  # bits
_BITS_SET = np.array([bin(word).count("1") for word in range(1 << 16)], dtype=np.int64)


def baselines(graph: Graph) -> dict[str, Floats]:
    """Scores [n] of the nodes by name, ``strength``, ``pagerank`` and ``closeness``: the higher, the more central."""
    return {"strength": graph.strength.copy(), "pagerank": pagerank(graph), "closeness": closeness(graph)}


def pagerank(graph: Graph, *, damping: float = 0.85, tolerance: float = 1e-12) -> Floats:
    """PageRank on the weights, each edge both ways: float64 [n], of sum 1.

    A walker follows an edge with a chance in proportion to its weight, and with chance 1 - damping, or at a node
    without edges, goes anywhere. Iterated until the L1 norm of a change is below ``tolerance``, or below what rounding
    leaves of it.
    """
    if not 0.0 <= damping < 1.0:
        raise ValueError(f"damping must be at least 0 and below 1, got {damping}")
    n = graph.n_nodes
    tails, heads, weights = both_ways(graph)
    chances = weights / graph.strength[tails]
    rank = np.full(n, 1.0 / max(n, 1))
    # A sum of k terms is off by up to k roundings, and all ranks together are 1.
    tolerance = max(tolerance, float(np.finfo(np.float64).eps * graph.degree.max(initial=0)))
    # The first change is at most 2, and each at most ``damping`` times the one before, but for rounding.
    change = bound = 2.0
    while min(change, bound) > tolerance:
        arriving = np.bincount(heads, weights=chances * rank[tails], minlength=n)
        stranded = rank[graph.isolated].sum()
        following = damping * (arriving + stranded / max(n, 1)) + (1.0 - damping) / max(n, 1)
        change, rank, bound = float(np.abs(following - rank).sum()), following, damping * bound
    return rank


def closeness(graph: Graph) -> Floats:
    """Closeness centrality on hops, weights aside: float64 [n].

    (r - 1)/(n - 1) · (r - 1)/Σ_j hops(i, j), over the r nodes of the component of i, which is Wasserman and Faust's
    form for graphs of several components; 0 for a node without edges.

    A breadth-first search from 64 nodes at once, a bit of a word for each: n/64 searches of O(m) a level, on all cores.
    Where a search has more levels than nodes that it starts from, a search from each of them is faster.
    """
    n = graph.n_nodes
    offsets, heads = graph.neighbor_lists
    joined = np.flatnonzero(graph.degree)
    first = offsets[joined]

    def search(sources: Ints) -> tuple[Ints, Ints]:
        return _search(n, sources, joined, first, heads) or _search_each(graph, sources)

    hops, reached = np.zeros(n), np.zeros(n)
    with ThreadPoolExecutor(usable_threads()) as pool:
        sources = [joined[start : start + _WORD] for start in range(0, len(joined), _WORD)]
        for some_hops, some_reached in pool.map(search, sources):
            hops += some_hops
            reached += some_reached
    near = np.divide(reached, hops, out=np.zeros(n), where=hops > 0)
    return near * reached / max(n - 1, 1)


def sampled_closeness(graph: Graph, *, sources: int = 256, seed: int = 0) -> Floats:
    """Closeness estimated from the hops to some nodes, drawn among those with an edge: float64 [n]."""
    n = graph.n_nodes
    offsets, heads = graph.neighbor_lists
    joined = np.flatnonzero(graph.degree)
    first = offsets[joined]
    drawn = np.sort(np.random.default_rng(seed).choice(joined, min(sources, len(joined)), replace=False))
    hops, reached = np.zeros(n), np.zeros(n)
    for start in range(0, len(drawn), _WORD):
        some = drawn[start : start + _WORD]
        some_hops, some_reached = _search(n, some, joined, first, heads) or _search_each(graph, some)
        hops += some_hops
        reached += some_reached
    near = np.divide(reached, hops, out=np.zeros(n), where=hops > 0)
    return near * reached * (len(joined) / max(len(drawn), 1)) / max(n - 1, 1)


def _search(n: int, sources: Ints, joined: Ints, first: Ints, heads: Ints) -> tuple[Ints, Ints] | None:
    """Σ hops to at most 64 sources and how many of them are reached, [n] each; nothing where it has too many levels.

    The neighbours of node ``joined[k]`` are ``heads`` from ``first[k]`` on.
    """
    hops, reached = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    seen = np.zeros(n, dtype=np.uint64)
    seen[sources] = np.uint64(1) << np.arange(len(sources), dtype=np.uint64)
    frontier, level = seen.copy(), 0
    while frontier.any():
        level += 1
        if level > _WORD:
            return None
        arriving = np.zeros_like(seen)
        arriving[joined] = np.bitwise_or.reduceat(frontier[heads], first)
        frontier = arriving & ~seen
        seen |= frontier
        # Hops are symmetric, so what reaches a node from the sources is what the node has to go.
        count = _BITS_SET[frontier.view(np.uint16)].reshape(n, 4).sum(1)
        hops += level * count
        reached += count
    return hops, reached


def _search_each(graph: Graph, sources: Ints) -> tuple[Ints, Ints]:
    """The same from one source after the other."""
    hops = hops_from(graph, sources)
    return hops.sum(0, where=hops > 0, dtype=np.int64), (hops > 0).sum(0)
