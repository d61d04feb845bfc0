"""Triadic closure: how far a graph is from a tree, seen from each node with two of its
neighbours.
"""

import math
from typing import NamedTuple

import numpy as np

from ..arrays import positions_in
from ..graph import Graph
from .inputs import are_edges

# Candidates for the third side of a triangle that are looked at together: it bounds the memory.
_AT_ONCE = 1 << 20


class TriadicClosure(NamedTuple):
    """What `triadic_closure` returns: shares of all wedges, which add up to 1; NaN where there is
    no wedge.
    """

    transitivity: float
    """Wedges whose ends are joined, 3 · triangles / wedges: 0 in a tree, 1 where every component is
    a clique.
    """
    open_wedges: float
    """Wedges whose ends are not joined: a triangle would close them."""


def triadic_closure(graph: Graph) -> TriadicClosure:
    """How many of a graph's wedges, paths of two edges, are sides of a triangle, and how many are
    open.

    Weights are not looked at. Exact, in O(m) memory; the time is at most O(m √m log m) for m edges,
    and near O(m log m) for the graphs of people, words and machines.

    >>> triadic_closure(Graph.from_edges([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]))
    TriadicClosure(transitivity=0.6, open_wedges=0.4)
    """
    wedges = int((graph.degree * (graph.degree - 1) // 2).sum())
    if not wedges:
        return TriadicClosure(math.nan, math.nan)
    closed = 3 * _triangles(graph)
    return TriadicClosure(closed / wedges, (wedges - closed) / wedges)


def sampled_closure(graph: Graph, *, wedges: int = 1_000_000, seed: int = 0) -> dict[str, float]:
    """An estimate from ``wedges`` random wedges, in linear time, with its standard error
    ``transitivity_error``.
    """
    counts = graph.degree * (graph.degree - 1) // 2
    total = int(counts.sum())
    if not total:
        return {}
    rng = np.random.default_rng(seed)
    ends, (offsets, heads) = np.cumsum(counts), graph.neighbor_lists
    middle = np.searchsorted(ends, rng.integers(total, size=wedges), side="right")
    degree = graph.degree[middle]
    first = rng.integers(degree)
    second = (first + rng.integers(1, degree)) % degree  # any other
    closed = float(
        are_edges(graph, heads[offsets[middle] + first], heads[offsets[middle] + second]).mean()
    )
    error = math.sqrt(closed * (1.0 - closed) / wedges)
    return {"transitivity": closed, "open_wedges": 1.0 - closed, "transitivity_error": error}


def _triangles(graph: Graph) -> int:
    """The number of triangles. Edges lead from the smaller degree to the larger, so that no node
    has more than √2m of them: for each edge u → v, the v → w with u → w are counted.
    """
    n = graph.n_nodes
    ends = np.sort(positions_in(np.argsort(graph.degree, kind="stable"))[graph.edges], axis=1)
    codes = np.sort(ends[:, 0] * n + ends[:, 1])
    tails, heads = codes // n, codes % n
    first = np.searchsorted(tails, np.arange(n + 1))
    counts = np.diff(first)[heads]
    before = np.cumsum(counts) - counts
    triangles, start = 0, 0
    while start < len(codes):
        stop = max(start + 1, int(np.searchsorted(before, before[start] + _AT_ONCE)))
        middles, count = heads[start:stop], counts[start:stop]
        at = np.repeat(first[middles] - np.cumsum(count) + count, count) + np.arange(count.sum())
        wanted = np.repeat(tails[start:stop], count) * n + heads[at]
        triangles += int(
            (codes[np.searchsorted(codes, wanted).clip(max=len(codes) - 1)] == wanted).sum()
        )
        start = stop
    return triangles
