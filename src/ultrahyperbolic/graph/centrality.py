"""Other centralities of the graph, to compare with: eigenvector and PageRank, and ranks by any of them."""

import numpy as np

from ..arrays import Floats, Ints
from .graph import Graph
from .rows import without_rounding


def other_ranks(graph: Graph) -> dict[str, Ints]:
    """The rank [n] of each node by degree, strength and PageRank, by name: 1 for the highest, equal ones share theirs.

    >>> {name: ranks.tolist() for name, ranks in other_ranks(Graph.from_edges([("a", "b", 2), ("b", "c", 1)])).items()}
    {'degree_rank': [2, 1, 2], 'strength_rank': [2, 1, 3], 'pagerank_rank': [2, 1, 3]}
    """
    scores = {"degree": graph.degree, "strength": graph.strength, "pagerank": without_rounding(pagerank(graph))}
    higher = {name: len(score) - np.searchsorted(np.sort(score), score, side="right") for name, score in scores.items()}
    return {f"{name}_rank": 1 + count for name, count in higher.items()}


def pagerank(graph: Graph, *, damping: float = 0.85, tolerance: float = 1e-12) -> Floats:
    """PageRank with weights, every edge in both directions: float64 [n] that sums to 1.

    A walker follows an edge with a chance in proportion to its weight, and with chance 1 - damping, or at a node
    without edges, goes anywhere. Iterated until the L1 norm of a change is below ``tolerance``, or below what rounding
    leaves of it.
    """
    if not 0.0 <= damping < 1.0:
        raise ValueError(f"damping must be at least 0 and below 1, got {damping}")
    (i, j), n = graph.edges.T, graph.n_nodes
    tails, heads = np.concatenate((i, j)), np.concatenate((j, i))
    chances = np.tile(graph.weights, 2) / graph.strength[tails]
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
