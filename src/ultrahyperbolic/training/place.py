"""New nodes in an old embedding: placed by their ties, while every old point stays where it is."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable
from contextlib import closing
from dataclasses import replace
from typing import NoReturn

import numpy as np

from ..arrays import Floats, Ints, positions_in
from ..checks import as_integer
from ..embedding import Embedding
from ..embedding.answers import springs_of
from ..embedding.record import GraphRecord, Result, RunRecord
from ..engines.base import MEETS, BatchState, Machine, Problem, RunSpec, Schedule
from ..engines.communicator import versions
from ..engines.registry import make_engine
from ..graph import Graph, as_graph
from ..graph.attributes import taken
from ..graph.heights import heights as heights_of
from ..objective import RankedPairs
from ..progress import bar
from ..rounding import geometric
from ..spaces import Geometry
from ..spaces.distances import dissimilarities
from .config import TrainingConfig
from .continued import beside_neighbors
from .finish import Finishing
from .inputs import among
from .method import recipe
from .start import Given
from .train import graph_record

log = logging.getLogger("ultrahyperbolic")
# New nodes are compared with at most this many old ones: those nearest to where they start.
_MAX_OLD_NODES = 5_000
# τ and ε fall from the first value of a training to the last in so many stages, each of at most so
# many quasi-Newton steps.
import os as _o
_STAGES, _STEPS = int(_o.environ.get("ST","6")), int(_o.environ.get("STEPS","30"))
# Pairs of nodes whose distances are computed at once: it bounds the memory.
_BLOCK_PAIRS = 1 << 20


def place(embedding: Embedding, ties: object, *, seed: int = 0, quiet: bool = True) -> Embedding:
    """Points for new nodes by their ties to the nodes of an embedding, which stay where they are.

    Parameters
    ----------
    embedding
        Where the nodes go. Where its ties are known, new ties are compared with them, too.
    ties
        Pairs (id, id) or triples (id, id, weight), or anything `as_graph` takes. Nodes that the
        embedding does not have are the new ones; ties among them count, ties among old ones are
        left out. In an embedding of a directed graph ties lead from the first node to the second,
        and new nodes get heights by their ties, too.
    seed
        Same seed, same points.
    quiet
        No progress bar and no notes.

    Returns
    -------
    Embedding
        Of the new nodes alone, in the order in which they appear; its graph holds the ties among
        them.
    """
    seed = as_integer("seed", seed)
    if embedding.geometry is None:
        raise TypeError(
            "nodes can be placed on pseudo-hyperboloids and in flat space, not on "
            f"{embedding.manifold}"
        )
    n, springs = len(embedding), springs_of(embedding)
    graph = _as_ties(ties, directed=springs is not None)
    whole, left_out = _joined(embedding, graph)
    if not quiet and left_out:
        log.warning("%d ties join two nodes of the embedding, and are left out", left_out)
    heights = None
    if springs is not None:
        held = np.append(springs.heights, np.full(whole.n_nodes - n, np.nan))
        heights = heights_of(whole.n_nodes, *whole.arcs, held=held)
    with bar("placing", show=not quiet):
        found = _place_nodes(embedding, whole, heights, seed)
    record = RunRecord(
        config=embedding.record.config, seed=seed, versions=versions(), graph=graph_record(graph)
    )
    columns: dict[str, Floats] = {}
    if heights is not None and springs is not None:
        columns["height"] = heights[n:]
        record = replace(record, result=Result(0, spring=springs.spring, heights="height"))
    ties_among = among(whole, np.arange(n, whole.n_nodes))
    labels = None
    if graph.labels is not None:
        labels = {node: graph.labels[node] for node in ties_among.ids if node in graph.labels}
    ties_among = replace(ties_among, labels=labels)
    return Embedding(
        ties_among.ids,
        found.points,
        embedding.space,
        record,
        ties_among,
        popularity=None if embedding.popularity is None else found.offsets,
        attributes=columns,
    )


def with_placed(embedding: Embedding, new: Embedding, ties: Graph) -> Embedding:
    """The nodes of an embedding, then those that `place` found by some ties; a column ``new`` says
    which.
    """
    n = len(embedding)
    graph = None if embedding.ties is None else _joined(embedding, ties)[0]
    ids = [*embedding.ids, *new.ids]
    record = replace(
        new.record,
        graph=GraphRecord(nodes=len(ids), edges=None if graph is None else graph.n_edges),
    )
    popularity = None
    if embedding.popularity is not None and new.popularity is not None:
        popularity = np.append(embedding.popularity, new.popularity)
    labels = {**(embedding.labels or {}), **(new.labels or {})} or None
    columns = {
        **taken(embedding.attributes, np.arange(n), len(ids)),
        "new": np.repeat(["", "yes"], [n, len(new)]),
    }
    if record.result is not None and embedding.record.result is not None:
        column = embedding.record.result.heights or "height"
        columns[column] = np.append(embedding.heights, new.heights)
        record = replace(record, result=replace(record.result, heights=column))
    points = np.concatenate((embedding.points, new.points))
    return Embedding(
        ids,
        points,
        embedding.space,
        record,
        graph,
        popularity=popularity,
        labels=labels,
        attributes=columns,
    )


def _as_ties(ties: object, *, directed: bool = False) -> Graph:
    options = {"directed": True} if directed and not isinstance(ties, Graph) else {}
    if (
        isinstance(ties, str)
        or not isinstance(ties, Iterable)
        or hasattr(ties, "__array__")
        or hasattr(ties, "nodes")
    ):
        return as_graph(ties, **options)
    return Graph.from_edges(list(ties), name="the ties", directed=directed)


def _joined(embedding: Embedding, graph: Graph) -> tuple[Graph, int]:
    """The nodes of an embedding and then the new ones of a graph, with the ties of both; and how
    many ties of the graph are left out, as they join two old nodes.
    """
    n, directed = len(embedding), springs_of(embedding) is not None
    old_ids = set(embedding.ids)
    new_ids = [node for node in graph.ids if node not in old_ids]
    if not new_ids:
        raise ValueError(
            "every node of the ties is in the embedding already: there is nothing to place"
        )
    rows = {node: row for row, node in enumerate((*embedding.ids, *new_ids))}
    where = np.array([rows[node] for node in graph.ids], dtype=np.int64)
    left_out = int((where[graph.edges] < n).all(1).sum())
    ends, weights = graph.arcs if directed else (graph.edges, graph.weights)
    new = (where[ends] >= n).any(1)
    ends, weights = where[ends[new]], weights[new]
    if (old := embedding.ties) is not None:
        old_ends, old_weights = old.arcs if directed else (old.edges, old.weights)
        ends, weights = np.concatenate((old_ends, ends)), np.append(old_weights, weights)
    first, second = ends.T
    whole = Graph.from_arrays(
        first, second, weights, ids=list(rows), directed=directed, name=graph.source
    )
    return whole, left_out


def _place_nodes(embedding: Embedding, whole: Graph, heights: Floats | None, seed: int) -> Given:
    """Points [k, d] and offsets [k] of the nodes of ``whole`` that come after those of the
    embedding.

    Of directed ties, ``heights`` [n + k] are those of old nodes and of new ones.
    """
    geometry, n, springs = embedding.geometry, len(embedding), springs_of(embedding)
    assert geometry is not None
    is_new = np.arange(whole.n_nodes) >= n
    points = np.zeros((whole.n_nodes, embedding.points.shape[1]))
    points[:n] = embedding.points
    offsets = np.zeros(whole.n_nodes)
    if embedding.popularity is not None:
        offsets[:n], offsets[n:] = embedding.popularity, embedding.popularity.mean()
    is_placed = beside_neighbors(whole, geometry, points, ~is_new, seed)
    if not is_placed.all():
        _refuse(embedding, [whole.ids[row] for row in np.flatnonzero(~is_placed).tolist()])
    order = whole.node_order
    order = order[np.isin(order, _compared(whole, Given(points, offsets), n, geometry))]
    inner = among(whole, order)
    pairs = RankedPairs.of(inner)
    if pairs.heights is not None and heights is not None:
        pairs = replace(pairs, heights=heights[order])
    config = _config(embedding, inner)
    spec = RunSpec(
        geometry,
        Schedule(
            geometric(*config.temperature, _STAGES),
            geometric(*config.epsilon, _STAGES),
            np.ones(_STAGES),
            np.ones(_STAGES),
            parts=max(1, inner.n_nodes // MEETS),
        ),
        "smoothed",
        keep="last",
        popularity=embedding.popularity is not None,
        seed=seed,
    )
    import os
    R=int(os.environ.get("R","1")); SC=float(os.environ.get("SC",".2")); FIX=os.environ.get("FIX")
    rng=np.random.default_rng(seed); sp=embedding.points.std(0).max(); ps=[points[order]]
    from ..spaces.lbfgs import phi; from ..spaces.named import Quadric
    for r in range(1,R):
        q=points[order].copy(); m=is_new[order]; q[m]=phi(Quadric(geometry.time_dimensions,geometry.beta), q[m]+SC*sp*rng.standard_normal(q[m].shape)); ps.append(q)
    state = BatchState.start(ps)
    state.offsets[:] = state.best_offsets[:] = offsets[order]
    state.record["spring"] = 0.0 if springs is None else springs.spring
    with closing(make_engine(Problem(pairs, [spec]*R), Machine("cpu"))) as engine:
        for stage in range(1, _STAGES + 1):
            state.iteration, state.stopped = stage, None
            state.rested[:] = -1
            steps = Finishing(engine, stage, converge=True, moves=is_new[order])
            while state.iteration < stage + _STEPS and state.stopped is None:
                steps.advance(state, 1)
            state.points[:], state.offsets[:] = state.best, state.best_offsets
            if FIX: state.offsets[:]=offsets[order]
    rows = positions_in(order, whole.n_nodes)[n:]
    b=int(np.argmin(state.record["best_loss"]))
    return Given(state.points[b, rows], state.offsets[b, rows])


def _refuse(embedding: Embedding, lost: list[Hashable]) -> NoReturn:
    """Raise ``ValueError``: nothing says where some nodes go."""
    text = str(lost[0])
    hint = ""
    if text != lost[0] and text in embedding.ids:
        hint = f"; the ids of the embedding are text: try {text!r}"
    raise ValueError(
        f"no ties lead from node {lost[0]!r} to a node of the embedding ({len(lost)} such): "
        f"give one, or leave the node out{hint}"
    )


def _compared(whole: Graph, start: Given, n: int, geometry: Geometry) -> Ints:
    """The nodes that matter: the new ones, those they are tied to, and of old ones the nearest."""
    if n <= _MAX_OLD_NODES:
        return np.arange(whole.n_nodes)
    nearest = np.full(n, np.inf)
    new, rows = np.arange(n, whole.n_nodes), max(1, _BLOCK_PAIRS // n)
    for first in range(0, len(new), rows):
        some = start.points[new[first : first + rows], None]
        apart = dissimilarities(
            some, start.points[None, :n], geometry.time_dimensions, -geometry.beta
        )
        nearest = np.minimum(nearest, apart.min(0))
    nearest -= start.offsets[:n]
    ends = whole.edges[(whole.edges >= n).any(1)]
    nearest[ends[ends < n]] = -np.inf
    kept = np.argsort(nearest, kind="stable")[:_MAX_OLD_NODES]
    return np.append(kept, new)


def _config(embedding: Embedding, graph: Graph) -> TrainingConfig:
    """As the embedding was trained; as it would be where nothing is known of that."""
    geometry = embedding.geometry
    assert geometry is not None
    usual = recipe(TrainingConfig(geometry.p, geometry.q, geometry.beta, geometry.flat), graph)
    if embedding.record.config is None:
        return usual
    config = TrainingConfig.from_json(embedding.record.config)
    hot = max(usual.temperature[0], config.temperature[0])
    rough, fine = usual.epsilon
    if config.dissimilarity == "smoothed":
        rough, fine = max(rough, config.epsilon[0]), config.epsilon[1]
    return replace(
        usual, temperature=(hot, config.temperature[1]), epsilon=(rough, fine)
    )
