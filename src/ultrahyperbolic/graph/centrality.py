"""Other centralities of the graph, to compare with: eigenvector and PageRank, and the ranks of
nodes by any score.
"""

import numpy as np

from ..arrays import Floats, Ints, positions_in
from .errors import need
from .graph import Graph
from .network import both_ways
from .rows import without_rounding

_SAME = 1e-9
"""Scores whose relative difference is no more than this differ by rounding alone."""
_DECIMALS = 9
"""Of the scores of an eigenvector, whose maximum is 1."""
_DENSE = 200
"""Of smaller graphs all eigenvectors are computed."""
_FIRST = 4
"""Eigenvectors that are computed of larger ones."""
_RESTARTS = 50


def ranks(scores: Floats) -> Ints:
    """The rank [n] of each node by its score [n]: 1 for the highest; equal scores share a rank, and
    NaN comes last.

    >>> ranks(np.array([2.0, 3.0, 2.0, 1.0])).tolist()
    [2, 1, 2, 4]
    """
    known = without_rounding(np.where(np.isnan(scores), -np.inf, scores), _SAME)
    return 1 + len(known) - np.searchsorted(np.sort(known), known, side="right")


def other_ranks(graph: Graph) -> dict[str, Ints]:
    """The rank [n] of each node by strength, eigenvector centrality and PageRank, by name.

    >>> ranks = other_ranks(Graph.from_edges([("a", "b", 2), ("b", "c", 1)]))
    >>> {name: each.tolist() for name, each in ranks.items()}
    {'strength_rank': [2, 1, 3], 'eigenvector_rank': [2, 1, 3], 'pagerank_rank': [2, 1, 3]}
    """
    scores = {
        "strength": graph.strength,
        "eigenvector": eigenvector(graph),
        "pagerank": pagerank(graph),
    }
    return {f"{name}_rank": ranks(score) for name, score in scores.items()}


def eigenvector(graph: Graph) -> Floats:
    """Eigenvector centrality with weights, float64 [n] with maximum 1; 0 outside of the largest
    component.

    >>> graph = Graph.from_edges([("a", "b", 1), ("b", "c", 1)], nodes="abcd")
    >>> eigenvector(graph).round(6).tolist()
    [0.707107, 1.0, 0.707107, 0.0]
    """
    scores = np.zeros(graph.n_nodes)
    if not graph.n_edges:
        return scores
    nodes = np.flatnonzero(graph.component == np.bincount(graph.component).argmax())
    inside = positions_in(nodes, graph.n_nodes)[graph.edges]
    kept = inside[:, 0] >= 0
    ties = both_ways(inside[kept], graph.weights[kept] / graph.weights.max())
    if len(nodes) <= _DENSE:
        table = np.zeros((len(nodes), len(nodes)))
        table[ties[0], ties[1]] = ties[2]
        eigenvalues, vectors = np.linalg.eigh(table)
    else:
        eigenvalues, vectors = _first_eigenvectors(*ties, len(nodes))
    # Of parts that hardly know of each other the first eigenvalues are equal but for rounding, and
    # any combination of their vectors is one: that which the strengths lead to is taken.
    first = vectors[:, eigenvalues > (1.0 - _SAME) * eigenvalues.max()]
    vector = first @ (first.T @ graph.strength[nodes])
    # The error of a small entry is as large as that of the largest one.
    scores[nodes] = np.round(np.abs(vector) / np.abs(vector).max(), _DECIMALS)
    return scores


def _first_eigenvectors(tails: Ints, heads: Ints, weights: Floats, n: int) -> tuple[Floats, Floats]:
    """The largest eigenvalues [k] and their vectors [n, k] by Lanczos' method; where that is slow,
    as on long and thin graphs, with the inverse of a shifted matrix.
    """
    linalg = need("scipy.sparse.linalg", "eigenvector centrality")
    matrix = need("scipy.sparse", "eigenvector centrality").csr_array(
        (weights, (tails, heads)), (n, n)
    )
    strength = np.bincount(tails, weights, n)
    try:
        eigenpairs = linalg.eigsh(matrix, _FIRST, which="LA", v0=strength, maxiter=_RESTARTS)
    except linalg.ArpackNoConvergence:
        bound = (1.0 + _SAME) * strength.max()  # of the eigenvalues
        eigenpairs = linalg.eigsh(matrix.tocsc(), _FIRST, sigma=bound, v0=strength)
    return eigenpairs[0], eigenpairs[1]


def pagerank(graph: Graph, *, damping: float = 0.85, tolerance: float = 1e-12) -> Floats:
    """PageRank with weights, every edge in both directions: float64 [n] that sums to 1.

    A walker follows an edge with a chance in proportion to its weight, and with chance 1 - damping,
    or at a node without edges, goes anywhere. Iterated until the L1 norm of a change is below
    ``tolerance``, or below what rounding leaves of it.
    """
    if not 0.0 <= damping < 1.0:
        raise ValueError(f"damping must be at least 0 and below 1, got {damping}")
    (i, j), n = graph.edges.T, graph.n_nodes
    tails, heads = np.concatenate((i, j)), np.concatenate((j, i))
    chances = np.tile(graph.weights, 2) / graph.strength[tails]
    rank = np.full(n, 1.0 / max(n, 1))
    # A sum of k terms is off by up to k roundings, and all ranks together are 1.
    tolerance = max(tolerance, float(np.finfo(np.float64).eps * graph.degree.max(initial=0)))
    # The first change is at most 2, and each at most ``damping`` times the one before, but for
    # rounding.
    change = bound = 2.0
    while min(change, bound) > tolerance:
        arriving = np.bincount(heads, weights=chances * rank[tails], minlength=n)
        stranded = rank[graph.isolated].sum()
        following = damping * (arriving + stranded / max(n, 1)) + (1.0 - damping) / max(n, 1)
        change, rank, bound = float(np.abs(following - rank).sum()), following, damping * bound
    return rank
