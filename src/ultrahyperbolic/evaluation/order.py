"""How often the distances violate the order of strengths: a stronger pair should be closer."""

import math
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..arrays import Ints
from ..geometry import Manifold
from ..graph import Graph
from ..pairs import PassOptions, nonedge_counts, pair_distances
from .inputs import check_points, edge_tensor


class ViolatedOrders(NamedTuple):
    """What `violated_orders` returns: shares between 0, the best, and 1; NaN where there is nothing to order."""

    edges_vs_nonedges: float
    """The share of all (edge, non-edge) in which the edge is not the closer pair."""
    all_classes: float
    """The share of all (stronger pair, weaker pair), the paper's e_k and W(e_k), with the stronger not the closer."""
    ties: float
    """The share of all (stronger tie, weaker tie) in which the stronger is not the closer; 0.5 by chance."""


def violated_orders(graph: Graph, points: Tensor, manifold: Manifold, **options: Unpack[PassOptions]) -> ViolatedOrders:
    """The shares of violated orders, exact, over all pairs of nodes.

    A pair of nodes is stronger than another if its edge has the larger weight, or if it has an edge and the other has
    none; pairs of one weight are not ordered. The order is violated unless d(stronger) < d(weaker): equal distances
    are a violation, so that points that coincide do not look perfect. points are [n, d]; ``options`` are those of
    `ultrahyperbolic.pairs.PassOptions`. One pass over the pairs and O(m log m) for the m edges.
    """
    check_points(graph, points)
    edges = edge_tensor(graph.edges)
    distances = pair_distances(points, manifold, edges, **options)
    return orders_of(graph, distances, nonedge_counts(points, manifold, edges, distances, **options))


def orders_of(graph: Graph, distances: Tensor, nonedges: Tensor) -> ViolatedOrders:
    """The shares, from the distances of the edges [m] and how many non-edges are at most as far as each [m]."""
    against_nonedges = int(nonedges.sum())
    among_edges, class_orders = _among_edges(graph.classes, distances.cpu().numpy())
    m, n = graph.n_edges, graph.n_nodes
    edge_orders = m * (n * (n - 1) // 2 - m)
    return ViolatedOrders(
        _share(against_nonedges, edge_orders),
        _share(against_nonedges + among_edges, edge_orders + class_orders),
        _share(among_edges, class_orders),
    )


def violated_share(classes: Ints, distances: NDArray[np.floating]) -> float:
    """The share of pairs of ties, with classes [m] and distances [m], in which the stronger is not the closer."""
    return _share(*_among_edges(classes, distances))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


def _among_edges(classes: Ints, distances: NDArray[np.floating]) -> tuple[int, int]:
    """How many pairs of edges have class_k > class_l and d_k >= d_l, and how many have class_k > class_l."""
    ordered = (len(classes) ** 2 - sum(size * size for size in np.bincount(classes).tolist())) // 2
    # With equal distances in ascending class, those are the pairs in which l comes before k.
    return _ascents(classes[np.lexsort((classes, distances))]), ordered


def _ascents(values: Ints) -> int:
    """How many positions i < j have values[i] < values[j], for integers [m] from 0 on.

    Bit by bit from the top, values with the same higher bits stand together, and each 1 counts the 0s before it.
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
