"""A training that starts from an earlier embedding, after the graph has changed."""

from __future__ import annotations

import math
import os
from dataclasses import replace

import numpy as np

from ..arrays import Bools, Floats, positions_in
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
# How far at most a new node starts from the mean of its neighbours, along each coordinate, in units
# of the widest standard deviation of the points: nodes with the same neighbours have to differ.
_BESIDE = 0.15


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


def half_way(ends: tuple[float, float]) -> tuple[float, float]:
    """What falls from one value to another from half way on, as a factor."""
    return math.sqrt(ends[0] * ends[1]), ends[1]


def gently(config: TrainingConfig) -> TrainingConfig:
    """The training that keeps what is there."""
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
    points = np.empty((graph.n_nodes, old.points.shape[1]))
    points[is_old] = old.points[old_rows[is_old]]
    offsets = np.zeros(graph.n_nodes)
    if old.popularity is not None:
        offsets[:] = old.popularity.mean()
        offsets[is_old] = old.popularity[old_rows[is_old]]
    points = beside_neighbors(graph, usual.geometry, points, is_old, usual.seed)
    if (lost := np.isnan(points[:, 0])).any():
        points[lost] = usual.starting_points(graph)[lost]
    return Given(points, offsets)


def beside_neighbors(
    graph: Graph, geometry: Geometry, points: Floats, has_place: Bools, seed: int
) -> Floats:
    """Points [n, d] with the nodes that have no place beside the mean of their neighbours that do,
    then those that are tied to these, and so on; NaN where no ties lead.
    """
    order = graph.node_order
    ties = graph.reordered(order).adjacency()
    moved, has_place = np.where(has_place[order, None], points[order], 0.0), has_place[order]
    noise = 2.0 * np.random.default_rng(seed).random(moved.shape) - 1.0
    noise *= _BESIDE * moved[has_place].std(0).max()
    quadric = Quadric(geometry.time_dimensions, geometry.beta)
    while True:
        strength = ties @ has_place.astype(np.float64)
        ready = ~has_place & (strength > 0.0)
        if not ready.any():
            break
        mean = (ties[ready] @ moved) / strength[ready, None] + noise[ready]
        if quadric.time == 1:
            mean[:, 0] = np.abs(mean[:, 0])  # one sheet of two
        moved[ready] = phi(quadric, mean)
        has_place |= ready
    moved[~has_place] = np.nan
    return moved[positions_in(order)]
