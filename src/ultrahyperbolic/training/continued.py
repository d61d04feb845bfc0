"""A training that starts from an earlier embedding, after the graph has changed."""

from __future__ import annotations

import math
import os
from dataclasses import replace

import numpy as np

from ..arrays import Floats, Ints, positions_in
from ..embedding import Embedding
from ..graph import Graph
from ..spaces import Geometry
from .config import TrainingConfig
from .start import Given

# Of the usual, how many iterations there are, and how far points move at first: enough to let new
# ties in, too little to throw what is there into disorder. τ and ε start half way down, as a
# factor, for the same reason.
_ITERATIONS, _MOVES = 0.5, 0.1


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


def start_from(old: Embedding, graph: Graph, usual: TrainingConfig, *, quiet: bool) -> Given:
    """The points of the nodes that were there; new ones by their ties, or without any as in the
    ``usual`` training.
    """
    rows = {node: row for row, node in enumerate(old.ids)}
    known = np.array([rows.get(node, -1) for node in graph.ids])
    kept = np.flatnonzero(known >= 0)
    if not len(kept):
        raise ValueError(
            f"no node of {graph.source or 'the graph'} is in the earlier embedding: check that "
            "the ids are the same "
            "and of one type, or start anew without it"
        )
    points, offsets = np.empty((graph.n_nodes, old.points.shape[1])), np.zeros(graph.n_nodes)
    points[kept] = old.points[known[kept]]
    if old.popularity is not None:
        offsets[kept] = old.popularity[known[kept]]
    if len(kept) == graph.n_nodes:
        return Given(points, offsets)
    stay = _staying(old, graph, kept, points[kept], offsets[kept])
    from .place import NewNodes, place_nodes

    news = NewNodes.of(graph, stay)
    found = news.ties.steps <= news.ties.count
    new = np.flatnonzero(known < 0)
    if found.any():
        tied = np.flatnonzero(found)
        points[new[tied]], popularity = place_nodes(
            stay, news.ties.some(tied, np.empty(0, dtype=np.int64)), seed=usual.seed, quiet=quiet
        )
        if popularity is not None:
            offsets[new[tied]] = popularity
    if not found.all():
        points[new[~found]] = usual.starting_points(graph)[new[~found]]
    return Given(points, offsets)


def _staying(
    old: Embedding, graph: Graph, kept: Ints, points: Floats, offsets: Floats
) -> Embedding:
    """The nodes that are in both, with the ties that they have now."""
    where = positions_in(kept, graph.n_nodes)
    both = (where[graph.edges] >= 0).all(1)
    ids = tuple(graph.ids[int(node)] for node in kept)
    first, second = where[graph.edges[both]].T
    ties = Graph.from_arrays(first, second, graph.weights[both], ids=ids)
    popularity = None if old.popularity is None else offsets
    return Embedding(ids, points, old.space, old.record, ties, popularity=popularity)
