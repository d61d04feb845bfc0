"""How well the nearest points of a node are its neighbours in the graph."""

import math
from typing import NamedTuple, Unpack

import numpy as np
import torch
from torch import Tensor

from ..arrays import Ints
from ..geometry import Manifold
from ..graph import Graph
from ..pairs import NeighborCounts, PassOptions, nearest, neighbor_counts
from .inputs import are_edges, check_points, edge_tensor


class Reconstruction(NamedTuple):
    """What `reconstruction` returns: 1 is the best of both."""

    mean_rank: float
    mean_average_precision: float


def recall_at_1(graph: Graph, points: Tensor, manifold: Manifold, **options: Unpack[PassOptions]) -> float:
    """The share of nodes whose nearest node is a neighbour, as in the paper's supplement: `precision_at_k` for 1."""
    return precision_at_k(graph, points, manifold, 1, **options)


def precision_at_k(graph: Graph, points: Tensor, manifold: Manifold, k: int, **options: Unpack[PassOptions]) -> float:
    """The share of neighbours among the k nearest nodes of a node, averaged over the nodes.

    Of equally near nodes the one that comes first is nearer. Nodes without an edge are left out. Nodes with fewer than
    k neighbours count, so that 1 may be out of reach for k > 1. NaN for a graph without edges. points are [n, d],
    1 <= k < n; ``options`` are those of `ultrahyperbolic.pairs.PassOptions`.
    """
    check_points(graph, points)
    return precision_of(graph, nearest(points, manifold, k, **options).indices.cpu().numpy())


def precision_of(graph: Graph, indices: Ints) -> float:
    """The share of neighbours among the given nodes [n, k] of each node, over the nodes that have an edge."""
    hits = are_edges(graph, np.arange(graph.n_nodes)[:, None], indices)[~graph.isolated]
    return float(hits.mean()) if len(hits) else math.nan


def reconstruction(graph: Graph, points: Tensor, manifold: Manifold, **options: Unpack[PassOptions]) -> Reconstruction:
    """Mean rank and mean average precision, as Nickel & Kiela (2017) measure how well the graph is reconstructed.

    For a node u and its neighbours N(u), let the rank of v ∈ N(u) be

        rank(u, v) = 1 + |{v' ∉ N(u) ∪ {u} : d(u, v') <= d(u, v)}|

    among the nodes that are no neighbours, and the precision at v

        prec(u, v) = |{v' ∈ N(u) : d(u, v') <= d(u, v)}| / |{v' ≠ u : d(u, v') <= d(u, v)}|.

    The mean rank is the mean of rank(u, v) over all (u, v), each edge taken both ways; the mean average precision is
    the mean over the nodes of the mean of prec(u, v) over N(u). Nodes without an edge are left out; both are NaN for a
    graph without edges.

    points are [n, d]; ``options`` are those of `ultrahyperbolic.pairs.PassOptions`.
    """
    check_points(graph, points)
    return reconstruction_of(neighbor_counts(points, manifold, edge_tensor(graph.edges), **options))


def mean_rank(graph: Graph, points: Tensor, manifold: Manifold, **options: Unpack[PassOptions]) -> float:
    """The mean rank of `reconstruction`."""
    return reconstruction(graph, points, manifold, **options).mean_rank


def mean_average_precision(graph: Graph, points: Tensor, manifold: Manifold, **options: Unpack[PassOptions]) -> float:
    """The mean average precision of `reconstruction`."""
    return reconstruction(graph, points, manifold, **options).mean_average_precision


def reconstruction_of(counts: NeighborCounts) -> Reconstruction:
    """Mean rank and mean average precision from the counts of one pass."""
    if not len(counts.nodes):
        return Reconstruction(math.nan, math.nan)
    rank = 1.0 + float(counts.others.double().mean())
    precision = counts.neighbors.double() / (counts.neighbors + counts.others)
    degree = torch.bincount(counts.nodes)
    average = torch.zeros(len(degree), dtype=torch.float64, device=degree.device).index_add_(0, counts.nodes, precision)
    joined = degree > 0
    return Reconstruction(rank, float((average[joined] / degree[joined]).mean()))
