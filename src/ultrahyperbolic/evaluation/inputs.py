"""What the measures take: points that belong to a graph, scores of its nodes, its edges as a
tensor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Bools, Floats, Ints
from ..graph import Graph
from ..pairs import PassOptions, Points, popularity_array


def check_points(graph: Graph, points: Points) -> None:
    """Raise unless points are [n, d], one row per node, and every row is finite."""
    if points.ndim != 2 or len(points) != graph.n_nodes:
        raise ValueError(
            f"points must be [n, d] with a row for each of the {graph.n_nodes} nodes, got shape "
            f"{tuple(points.shape)}"
        )
    array = as_array(points)
    if not (finite := np.isfinite(array)).all():
        row = int(np.flatnonzero(~finite.all(1))[0])
        raise ValueError(f"points[{row}] is not finite: {format_row(array[row])}")


def in_order(
    graph: Graph, points: Points, options: PassOptions
) -> tuple[Graph, Points, PassOptions]:
    """The same with the nodes in ``graph.node_order``: sums then have the same bits however a graph
    is given.
    """
    order, moved = np.array(graph.node_order), options.copy()
    popularity = popularity_array(options, len(points))
    moved["popularity"] = None if popularity is None else popularity[order]
    return graph.reordered(order), points[order], moved


def as_scores(name: str, scores: ArrayLike | Points, n_nodes: int | None = None) -> Floats:
    """Scores as float64 [n], from an array or a tensor on any device."""
    array = np.asarray(as_array(scores), dtype=np.float64)
    if array.ndim != 1 or n_nodes not in (None, len(array)):
        wanted = "[n]" if n_nodes is None else f"[{n_nodes}], one score per node"
        raise ValueError(f"{name} must be {wanted}, got shape {array.shape}")
    return array


def format_row(row: Floats) -> str:
    """The first coordinates of a point, for messages."""
    values = ", ".join(f"{value:.6g}" for value in row[:8].tolist())
    return f"({values}{', …' if len(row) > 8 else ''})"


def as_array(values: ArrayLike | Points) -> NDArray[np.float64]:
    """An array, also of a tensor on any device."""
    detach = getattr(values, "detach", None)
    return np.asarray(values if detach is None else detach().cpu().numpy())


def are_edges(graph: Graph, first: Ints, second: Ints) -> Bools:
    """Whether an edge joins first[k] and second[k], positions of nodes [...]: booleans [...]."""
    # Edges are sorted by i and then j, so their codes are sorted too.
    codes = graph.edges[:, 0] * graph.n_nodes + graph.edges[:, 1]
    low, high = np.minimum(first, second), np.maximum(first, second)
    if not len(codes):
        return np.zeros(low.shape, dtype=bool)
    wanted = low * graph.n_nodes + high
    found: Bools = codes[np.searchsorted(codes, wanted).clip(max=len(codes) - 1)] == wanted
    return found & (low >= 0) & (high < graph.n_nodes)
