"""A training that starts from an earlier embedding, after the graph has changed."""

from __future__ import annotations

import math
import os
from dataclasses import replace

import numpy as np

from ..arrays import Bools, Floats
from ..embedding import Embedding
from ..graph import Graph
from ..spaces import Geometry
from ..spaces.lbfgs import phi
from ..spaces.named import Quadric
from .config import TrainingConfig
from .start import Given

# Of the usual, how many iterations there are, and how far points move at first: enough to let new
# ties in, too little to throw what is there into disorder. τ and ε start half way down, as a
# factor, for the same reason.
_ITERATIONS, _MOVES = 0.5, 0.1
# How far from the mean of its neighbours a new node starts, in units of the spread of the points:
# new nodes with the same neighbours have to differ.
_BESIDE = 0.05


def earlier(source: object) -> Embedding:
    """The embedding to continue from: itself, or that of a folder."""
    if isinstance(source, Embedding):
        return source
    if isinstance(source, str | os.PathLike):
        return Embedding.load(source)
    raise TypeError(
        f"continue_from must be an Embedding or the folder of one, got {type(source).__name__}"
    )


def earlier_geometry(old: Embedding) -> Geometry:
    """Where an embedding lives; ``ValueError`` where a training cannot continue there."""
    if old.geometry is None:
        raise ValueError(
            f"the earlier embedding is on {old.manifold}: a training can only continue in one "
            "geometry"
        )
    return old.geometry


def gently(config: TrainingConfig) -> TrainingConfig:
    """The training that keeps what is there."""

    def half_way(ends: tuple[float, float]) -> tuple[float, float]:
        return math.sqrt(ends[0] * ends[1]), ends[1]

    longest = config.max_step
    if longest is not None:
        longest = max(_MOVES * longest[0], longest[1]), longest[1]
    return replace(
        config,
        start="given",
        temperature=half_way(config.temperature),
        epsilon=half_way(config.epsilon),
        max_step=longest,
    )


def fewer(iterations: int) -> int:
    """How many iterations there are instead of the usual number."""
    return max(1, round(_ITERATIONS * iterations))


def start_from(old: Embedding, graph: Graph, usual: TrainingConfig) -> Given:
    """The points of the nodes that were there; new ones beside their neighbours, or without any
    tie to those as in the ``usual`` training.
    """
    rows = {node: row for row, node in enumerate(old.ids)}
    old_rows = np.array([rows.get(node, -1) for node in graph.ids])
    is_old = old_rows >= 0
    if not is_old.any():
        raise ValueError(
            f"no node of {graph.source or 'the graph'} is in the earlier embedding: check that "
            "the ids are the same and of one type, or start anew without it"
        )
    points = old.points[old_rows] if is_old.all() else usual.starting_points(graph)
    points[is_old] = old.points[old_rows[is_old]]
    offsets = np.zeros(graph.n_nodes)
    if old.popularity is not None:
        offsets[:] = old.popularity.mean()
        offsets[is_old] = old.popularity[old_rows[is_old]]
    beside_neighbors(graph, usual.geometry, points, is_old, usual.seed)
    return Given(points, offsets)


def beside_neighbors(
    graph: Graph, geometry: Geometry, points: Floats, is_placed: Bools, seed: int
) -> Bools:
    """Move nodes without a place [n, d] beside the mean of their neighbours that have one, then
    those that are tied to these, and so on; which nodes [n] have a place in the end.
    """
    order = graph.node_order
    ties = graph.reordered(order).adjacency()
    moved, has_place = points[order], is_placed[order]
    noise = np.random.default_rng(seed).standard_normal(points.shape)
    noise *= _BESIDE * points[is_placed].std(0).max()
    while True:
        strength = ties @ has_place.astype(np.float64)
        ready = ~has_place & (strength > 0.0)
        if not ready.any():
            break
        sums = ties[ready] @ np.where(has_place[:, None], moved, 0.0)
        mean = sums / strength[ready, None] + noise[ready]
        time = geometry.time_dimensions
        if time == 1:
            mean[:, 0] = np.abs(mean[:, 0])  # one sheet of two
        moved[ready] = phi(Quadric(time, geometry.beta), mean)
        has_place |= ready
    points[order] = moved
    found = np.empty_like(has_place)
    found[order] = has_place
    return found
