"""How well the nearest points of a node are its neighbours, and stronger pairs closer than weaker
ones.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..graph import Graph
from ..pairs import PassOptions, Points, RowArrays, check_k, lengths_of, rows_of
from ..spaces import Space
from .inputs import are_edges, check_points


class Reconstruction(NamedTuple):
    """What `reconstruction` returns: 1 is the best of both."""

    mean_rank: float
    mean_average_precision: float


def recall_at_1(
    graph: Graph, points: Points, manifold: Space, **options: Unpack[PassOptions]
) -> float:
    """The share of nodes whose nearest node is a neighbour, as in the paper's supplement:
    `precision_at_k` for 1.
    """
    return precision_at_k(graph, points, manifold, 1, **options)


def precision_at_k(
    graph: Graph, points: Points, manifold: Space, k: int, **options: Unpack[PassOptions]
) -> float:
    """The share of neighbours among the k nearest nodes of a node, averaged over the nodes.

    Of equally near nodes the one that comes first is nearer. Nodes without a tie are left out.
    Nodes with fewer than k neighbours count, so that 1 may be out of reach for k > 1. NaN for a
    graph without ties. points are [n, d], 1 <= k < n; ``options`` are those of
    `ultrahyperbolic.pairs.PassOptions`.
    """
    check_points(graph, points)
    return precision_of(
        graph, rows_of(points, manifold, k=check_k(k, len(points)), **options).indices
    )


def precision_of(graph: Graph, indices: Ints) -> float:
    """The share of neighbours among the given nodes [n, k] of each node, over the nodes that have
    an edge.
    """
    hits = are_edges(graph, np.arange(graph.n_nodes)[:, None], indices)[~graph.isolated]
    return float(hits.mean()) if len(hits) else math.nan


def reconstruction(
    graph: Graph, points: Points, manifold: Space, **options: Unpack[PassOptions]
) -> Reconstruction:
    """Mean rank and mean average precision, as Nickel & Kiela (2017) measure how well the graph is
    reconstructed.

    For a node u and its neighbours N(u), let the rank of v ∈ N(u) be

        rank(u, v) = 1 + |{v' ∉ N(u) ∪ {u} : d(u, v') <= d(u, v)}|

    among the nodes that are no neighbours, and the precision at v

        prec(u, v) = |{v' ∈ N(u) : d(u, v') <= d(u, v)}| / |{v' ≠ u : d(u, v') <= d(u, v)}|.

    The mean rank is the mean of rank(u, v) over all (u, v), each tie taken both ways; the mean
    average precision is the mean over the nodes of the mean of prec(u, v) over N(u). Nodes without
    a tie are left out; both are NaN for a graph without edges.

    points are [n, d]; ``options`` are those of `ultrahyperbolic.pairs.PassOptions`.
    """
    check_points(graph, points)
    return reconstruction_of(rows_of(points, manifold, graph.edges, **options))


def mean_rank(
    graph: Graph, points: Points, manifold: Space, **options: Unpack[PassOptions]
) -> float:
    """The mean rank of `reconstruction`."""
    return reconstruction(graph, points, manifold, **options).mean_rank


def mean_average_precision(
    graph: Graph, points: Points, manifold: Space, **options: Unpack[PassOptions]
) -> float:
    """The mean average precision of `reconstruction`."""
    return reconstruction(graph, points, manifold, **options).mean_average_precision


def reconstruction_of(counts: RowArrays) -> Reconstruction:
    """Mean rank and mean average precision from the counts of one pass."""
    if not len(counts.nodes):
        return Reconstruction(math.nan, math.nan)
    rank = 1.0 + float(counts.others.mean())
    degree = np.bincount(counts.nodes)
    total = np.bincount(counts.nodes, counts.neighbors / (counts.neighbors + counts.others))
    joined = degree > 0
    return Reconstruction(rank, float((total[joined] / degree[joined]).mean()))


class ViolatedOrders(NamedTuple):
    """What `violated_orders` returns: shares between 0, the best, and 1; NaN where there is nothing
    to order.
    """

    edges_vs_nonedges: float
    """The share of all (tie, untied pair) in which the tie is not the closer pair."""
    all_classes: float
    """The share of all (stronger pair, weaker pair), the paper's e_k and W(e_k), with the stronger
    not the closer.
    """
    ties: float
    """The share of all (stronger tie, weaker tie) in which the stronger is not the closer; 0.5 by
    chance.
    """


def violated_orders(
    graph: Graph, points: Points, manifold: Space, **options: Unpack[PassOptions]
) -> ViolatedOrders:
    """The shares of violated orders, exact, over all pairs of nodes.

    A pair of nodes is stronger than another if its edge has the larger weight, or if it has an edge
    and the other has none; pairs of one weight are not ordered. The order is violated unless
    d(stronger) < d(weaker): equal distances are a violation, so that points that coincide do not
    look perfect. points are [n, d]; ``options`` are those of `ultrahyperbolic.pairs.PassOptions`.
    One pass over the pairs and O(m log m) for the m edges.
    """
    check_points(graph, points)
    distances = lengths_of(points, manifold, graph.edges, **options)
    return orders_of(
        graph,
        distances,
        rows_of(points, manifold, graph.edges, 0, distances, **options).nonedges,
    )


def orders_of(graph: Graph, distances: Floats, nonedges: Ints) -> ViolatedOrders:
    """The shares, from the distances of the edges [m] and how many non-edges are at most as far as
    each [m].
    """
    against_nonedges = int(nonedges.sum())
    among_edges, class_orders = _among_edges(graph.classes, distances)
    m, n = graph.n_edges, graph.n_nodes
    edge_orders = m * (n * (n - 1) // 2 - m)
    return ViolatedOrders(
        _share(against_nonedges, edge_orders),
        _share(against_nonedges + among_edges, edge_orders + class_orders),
        _share(among_edges, class_orders),
    )


def violated_share(classes: Ints, distances: NDArray[np.floating]) -> float:
    """The share of pairs of ties, with classes [m] and distances [m], in which the stronger is not
    the closer.
    """
    return _share(*_among_edges(classes, distances))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


def _among_edges(classes: Ints, distances: NDArray[np.floating]) -> tuple[int, int]:
    """How many pairs of edges have class_k > class_l and d_k >= d_l, and how many have class_k >
    class_l.
    """
    ordered = (len(classes) ** 2 - sum(size * size for size in np.bincount(classes).tolist())) // 2
    # With equal distances in ascending class, those are the pairs in which l comes before k.
    return _ascents(classes[np.lexsort((classes, distances))]), ordered


def _ascents(values: Ints) -> int:
    """How many positions i < j have values[i] < values[j], for integers [m] from 0 on.

    Bit by bit from the top, values with the same higher bits stand together, and each 1 counts the
    0s before it.
    """
    total = 0
    for bit in reversed(range(int(values.max(initial=0)).bit_length())):
        is_one = (values >> bit & 1).astype(bool)
        zeros_before = np.concatenate(([0], np.cumsum(~is_one)))
        group = values >> (bit + 1)
        group_start = np.searchsorted(group, group[is_one])
        total += int((zeros_before[:-1][is_one] - zeros_before[group_start]).sum())
        values = values[np.argsort(values >> bit, kind="stable")]
    return total
