"""Communities: groups of nodes that are strongly tied, or near each other by D_γ."""

import math
from typing import Unpack

import numpy as np

from ..arrays import Floats, Ints
from ..checks import check_count
from ..graph import Graph
from ..pairs import PassOptions, Points, rows_of
from ..spaces import Space

_SEARCHES = 4  # of which the best is kept
_USUAL = 5  # pairs per node that are joined by default
# For each pair that an average node is joined by, _SPARE of its nearest are looked at, within these
# bounds: a pair whose ends both have _MOST nearer ones is deep inside a community.
_SPARE, _FEWEST, _MOST = 4, 16, 64


def communities(graph: Graph) -> Ints:
    """The community of each node of a graph: int64 [n], with 0 for the largest.

    They are those of the greatest modularity, in which a tie counts by its weight, that Louvain's
    method finds (Blondel et al. 2008): how many there are follows from the graph. Same graph, same
    communities, in whatever order it is given. Small groups beside much larger ones may be merged,
    as modularity does.

    >>> rows = [("a", "b", 5), ("c", "d", 5), ("d", "e", 5), ("b", "c", 1)]
    >>> communities(Graph.from_edges(rows)).tolist()
    [1, 1, 0, 0, 0]
    """
    order, found = graph.node_order, np.empty(graph.n_nodes, dtype=np.int64)
    inner = graph.reordered(order)
    given = np.lexsort(inner.edges.T)
    first, second = inner.edges[given].T
    found[order] = _communities(graph.n_nodes, first, second, inner.weights[given])
    return found


def clusters(
    points: Points,
    geometry: Space,
    *,
    pairs: int | None = None,
    near: tuple[Ints, Floats] | None = None,
    **options: Unpack[PassOptions],
) -> Ints:
    """The community of each of the points [n, d] by their distances: int64 [n], with 0 for the
    largest.

    The nearest ``pairs`` of all are joined, best as many as the graph has ties (default: five for
    each node), and each node with the nearest to it. The communities are those of that graph, as
    `communities` finds them, without weights. Same points, same communities. ``near`` saves a pass
    where the nearest of each point and how far they are is known, `width_of` columns each.
    ``options`` are those of `ultrahyperbolic.pairs.PassOptions`; with a popularity, a distance is
    less that of both ends.

    >>> from ultrahyperbolic.geometry import Geometry
    >>> spots = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2, 5.3])[:, None]
    >>> clusters(spots, Geometry.of_flat(1), pairs=9).tolist()
    [1, 1, 1, 0, 0, 0, 0]
    """
    n = len(points)
    if n < 2:
        return np.zeros(n, dtype=np.int64)
    count = _USUAL * n if pairs is None else check_count("pairs", pairs, 0)
    if near is None:
        given = np.array(points, dtype=np.float64) if isinstance(points, np.ndarray) else points
        found = rows_of(given, geometry, k=width_of(n, count), **options)
        near = found.indices, found.distances
    first, second = _nearest_pairs(*near, count)
    return _communities(n, first, second, np.ones(len(first)))


def width_of(n: int, pairs: int) -> int:
    """How many nearest neighbours of each of n points are needed to join ``pairs`` pairs."""
    return min(n - 1, max(_FEWEST, min(_MOST, _SPARE * math.ceil(2 * pairs / max(1, n)))))


def _nearest_pairs(near: Ints, apart: Floats, count: int) -> tuple[Ints, Ints]:
    """The ``count`` nearest pairs i < j, and each node with the nearest to it."""
    n, tails = len(near), np.arange(len(near))[:, None]
    pairs = np.minimum(tails, near) * n + np.maximum(tails, near)
    codes, where = np.unique(pairs, return_index=True)
    kept = np.zeros(len(codes), dtype=bool)
    kept[np.argsort(apart.ravel()[where], kind="stable")[:count]] = True
    kept[np.searchsorted(codes, pairs[:, 0])] = True
    return codes[kept] // n, codes[kept] % n


def _communities(n: int, first: Ints, second: Ints, weights: Floats) -> Ints:
    """The group [n] of each of n nodes by Louvain's method, in the graph of the edges first [m] –
    second [m].

    Groups are numbered by size, the largest first; equal ones in the order of their first nodes.
    """
    import networkx as nx

    if not len(first):
        return np.arange(n)
    joined = nx.empty_graph(n)
    joined.add_weighted_edges_from(
        zip(first.tolist(), second.tolist(), (weights / weights.max()).tolist(), strict=True)
    )
    searches = (nx.community.louvain_communities(joined, seed=seed) for seed in range(_SEARCHES))
    best = max(searches, key=lambda groups: nx.community.modularity(joined, groups))
    group = np.empty(n, dtype=np.int64)
    for number, nodes in enumerate(sorted(best, key=lambda nodes: (-len(nodes), min(nodes)))):
        group[list(nodes)] = number
    return group
