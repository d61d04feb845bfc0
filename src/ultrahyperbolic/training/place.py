"""New nodes in an old embedding: placed by their ties, while every old point stays where it is."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import NoReturn

import numpy as np

from ..arrays import Floats, Ints, positions_in
from ..checks import as_integer, cut
from ..embedding import Embedding
from ..embedding.answers import springs_of
from ..embedding.record import GraphRecord, Result, RunRecord
from ..engines.base import BatchState, Machine
from ..engines.communicator import versions
from ..graph import Graph, as_graph
from ..graph.attributes import taken
from ..graph.heights import heights as heights_of
from ..loop import Callback, Stopped
from ..progress import bar
from ..spaces import Geometry
from ..spaces.distances import dissimilarities
from .batch import train_batch
from .config import TrainingConfig
from .continued import beside_neighbors, half_way
from .inputs import among
from .method import recipe
from .start import Given
from .train import graph_record, problem_of

log = logging.getLogger("ultrahyperbolic")
# New nodes are compared with at most this many old ones: those nearest to where they start.
_MAX_OLD_NODES = 5_000
# New nodes are tried from so many starts at once, and the training of the lowest loss is kept.
_STARTS = 4
# Iterations of each, of which the last tenth finish; they move new nodes by this share of the
# spread of the points at first, far enough to leave a poor place.
_ITERATIONS, _MAX_MOVE, _FINISH = 400, 0.3, 0.1
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
    with bar("placing", _ITERATIONS, show=not quiet) as update:
        found = _place_nodes(embedding, whole, heights, seed, lambda now: update(now.iteration, ""))
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


def _place_nodes(
    embedding: Embedding,
    whole: Graph,
    heights: Floats | None,
    seed: int,
    show: Callback[BatchState],
) -> Given:
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
    seeds = [(seed + k) % 2**63 for k in range(_STARTS)]
    starts = [beside_neighbors(whole, geometry, points, ~is_new, each) for each in seeds]
    lost = np.flatnonzero(np.isnan(starts[0][:, 0]))
    if len(lost):
        _refuse(embedding, [whole.ids[row] for row in lost.tolist()])
    order = whole.node_order
    order = order[np.isin(order, _compared(whole, Given(starts[0], offsets), n, geometry))]
    inner = among(whole, order)
    config = _config(embedding, inner)
    configs = [replace(config, seed=each) for each in seeds]
    problem = problem_of(inner, configs)
    if problem.pairs.heights is not None and heights is not None:
        problem = problem._replace(pairs=replace(problem.pairs, heights=heights[order]))
    state = BatchState.start([start[order] for start in starts])
    state.offsets[:] = state.best_offsets[:] = offsets[order]
    state.record["spring"] = 0.0 if springs is None else springs.spring

    computed = train_batch(
        problem, configs, Machine("cpu"), state, callbacks=[show], moves=is_new[order]
    )
    if computed.outcome.ending.why is Stopped.INTERRUPTED:
        raise KeyboardInterrupt
    best, rows = int(np.argmin(computed.after)), positions_in(order, whole.n_nodes)[n:]
    return Given(computed.state.best[best, rows], computed.state.best_offsets[best, rows])


def _refuse(embedding: Embedding, lost: list[Hashable]) -> NoReturn:
    """Raise ``ValueError``: nothing says where some nodes go."""
    text = str(lost[0])
    hint = ""
    if text != lost[0] and text in embedding.ids:
        hint = f"; the ids of the embedding are text: try {cut(repr(text))}"
    raise ValueError(
        f"no ties lead from node {cut(repr(lost[0]))} to a node of the embedding "
        f"({len(lost)} such): give one, or leave the node out{hint}"
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
    where = TrainingConfig(
        geometry.p, geometry.q, geometry.beta, geometry.flat, iterations=_ITERATIONS
    )
    usual = replace(
        recipe(where, graph, popularity=embedding.popularity is not None),
        start="given",
        max_step=(_MAX_MOVE, 1e-3 * _MAX_MOVE),
        finish=_FINISH,
        centrality=0.0,
    )
    (hot, cold), (rough, fine) = usual.temperature, usual.epsilon
    if embedding.record.config is not None:
        config = TrainingConfig.from_json(embedding.record.config)
        hot, cold = max(hot, config.temperature[0]), config.temperature[1]
        if config.dissimilarity == "smoothed":
            rough, fine = max(rough, config.epsilon[0]), config.epsilon[1]
    temperature, epsilon = (hot, cold), (rough, fine)
    if geometry.is_flat:
        # Flat space shrinks while τ falls. At the first τ, the distances between the old points are
        # all alike, and every start would come to the same place.
        temperature, epsilon = half_way(temperature), half_way(epsilon)
    return replace(usual, temperature=temperature, epsilon=epsilon)
