"""New nodes in an old embedding: placed by their ties, while every old point stays where it is."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Floats
from ..checks import as_integer
from ..embedding import Embedding
from ..embedding.answers import springs_of
from ..embedding.record import GraphRecord, Result, RunRecord
from ..engines.communicator import versions
from ..graph import Graph, as_graph
from ..graph.attributes import taken
from ..graph.heights import heights as heights_of
from ..graph.rows import without_rounding
from ..progress import bar
from ..spaces import Geometry
from .config import TrainingConfig
from .method import recipe
from .new_ties import NewTies
from .placing import Cooling, Held, Placing
from .train import graph_record

log = logging.getLogger("ultrahyperbolic")
# Nodes that are placed at once: pairs of new nodes are looked at, too.
_AT_ONCE = 256


def place(embedding: Embedding, ties: object, *, seed: int = 0, quiet: bool = True) -> Embedding:
    """Points for new nodes by their ties to the nodes of an embedding, which stay where they are.

    Parameters
    ----------
    embedding
        Where the nodes go. Where its graph is at hand, ties of new nodes are also compared with the
        pairs of their old ends.
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
    springs = springs_of(embedding)
    graph = _as_ties(ties, directed=springs is not None)
    news = NewNodes.of(graph, embedding, directed=springs is not None)
    news.require_ties(embedding)
    if not quiet and news.left_out:
        log.warning("%d ties join two nodes of the embedding, and are left out", news.left_out)
    heights = (
        None if springs is None else np.append(springs.heights, _heights(embedding, news.ties))
    )
    points, popularity = place_nodes(embedding, news.ties, heights, seed=seed, quiet=quiet)
    record = RunRecord(
        config=embedding.record.config, seed=seed, versions=versions(), graph=graph_record(graph)
    )
    columns: dict[str, Floats] = {}
    if heights is not None and springs is not None:
        columns["height"] = heights[len(embedding) :]
        record = replace(record, result=Result(0, spring=springs.spring, heights="height"))
    among = news.graph_among(graph)
    return Embedding(
        news.ids, points, embedding.space, record, among, popularity=popularity, attributes=columns
    )


def with_placed(embedding: Embedding, new: Embedding, ties: Graph) -> Embedding:
    """The nodes of an embedding, then those that `place` found by some ties; a column ``new`` says
    which.
    """
    n, ids, graph = len(embedding), [*embedding.ids, *new.ids], embedding.ties
    if graph is not None:
        arcs, weights = graph.arcs if graph.is_directed else (graph.edges, graph.weights)
        found = NewNodes.of(ties, embedding, directed=graph.is_directed).ties
        first, second = np.concatenate((arcs, found.ordered[0])).T
        joined = np.append(weights, found.ordered[1])
        graph = Graph.from_arrays(first, second, joined, ids=ids, directed=graph.is_directed)
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


@dataclass(frozen=True)
class NewNodes:
    """Nodes that an embedding does not have, and their ties."""

    ids: list[Hashable]
    ties: NewTies
    left_out: int = 0
    """How many ties join two old nodes."""

    @classmethod
    def of(cls, graph: Graph, embedding: Embedding, *, directed: bool = False) -> NewNodes:
        """Those of a graph, in its order; ``directed`` keeps directions."""
        n, known = len(embedding), set(embedding.ids)
        ids = [node for node in graph.ids if node not in known]
        rows = {node: row for row, node in enumerate((*embedding.ids, *ids))}
        where = np.array([rows[node] for node in graph.ids], dtype=np.int64)
        ends, weights, ways = where[graph.edges].reshape(-1, 2), graph.weights, None
        left_out = int((ends < n).all(1).sum())
        if directed:
            both = (
                np.repeat(weights[:, None], 2, 1) if graph.directions is None else graph.directions
            )
            ends, weights = np.concatenate((ends, ends[:, ::-1])), both.T.reshape(-1)
            ways = np.where(ends[:, 0] > ends[:, 1], 1, -1)
        ends = np.sort(ends, axis=1)
        kept = ends[:, 1] >= n
        ties = NewTies(
            len(ids),
            n,
            np.column_stack((ends[kept, 1] - n, ends[kept, 0])),
            weights[kept],
            None if ways is None else ways[kept],
        )
        return cls(ids, ties, left_out)

    def require_ties(self, embedding: Embedding) -> None:
        """Raise ``ValueError`` where a node has nothing to be placed by."""
        if not self.ids:
            raise ValueError(
                "every node of the ties is in the embedding already: there is nothing to place"
            )
        lost = np.flatnonzero(self.ties.steps > self.ties.count)
        if not len(lost):
            return
        node = self.ids[lost[0]]
        text = str(node)
        hint = (
            f"; the ids of the embedding are text: try {text!r}"
            if text != node and text in embedding.ids
            else ""
        )
        raise ValueError(
            f"no ties lead from node {node!r} to a node of the embedding ({len(lost)} such): "
            f"give one, or leave the node out{hint}"
        )

    def graph_among(self, graph: Graph) -> Graph:
        """The new nodes with the ties among them."""
        ends, weights = self.ties.ordered
        among = (ends >= self.ties.n_held).all(1)
        (i, j), directed = ends[among].T - self.ties.n_held, self.ties.ways is not None
        found = Graph.from_arrays(
            i, j, weights[among], ids=tuple(self.ids), name=graph.source, directed=directed
        )
        labels = (
            None
            if graph.labels is None
            else {n: graph.labels[n] for n in self.ids if n in graph.labels}
        )
        return replace(found, labels=labels)


def place_nodes(
    embedding: Embedding, ties: NewTies, heights: Floats | None = None, *, seed: int, quiet: bool
) -> tuple[Floats, Floats | None]:
    """Points [k, d] of new nodes, and where the embedding has it their popularity [k].

    Of directed ties, ``heights`` [n + k] are those of old nodes and of new ones.
    """
    geometry, n, springs = (
        embedding.geometry,
        ties.n_held,
        None if heights is None else springs_of(embedding),
    )
    assert geometry is not None
    points, popularity = (
        np.zeros((ties.count, embedding.points.shape[1])),
        _popularity(embedding, ties),
    )
    # Those nearest to old nodes first: what is placed helps to place the others.
    order, cooling = np.argsort(ties.steps, kind="stable"), _cooling(embedding, geometry)
    arcs, spring = (
        None if embedding.graph is None else embedding.graph.arcs,
        0.0 if springs is None else springs.spring,
    )
    with bar("placing", ties.count, show=not quiet) as update:
        for start in range(0, ties.count, _AT_ONCE):
            rows, placed = order[start : start + _AT_ONCE], order[:start]
            here = np.concatenate((np.arange(n), n + placed, n + rows))
            offsets, levels = (
                None if values is None else values[here] for values in (popularity, heights)
            )
            held = Held(
                np.concatenate((embedding.points, points[placed])), arcs, offsets, levels, spring
            )

            def show(share: float, begun: int = start, many: int = len(rows)) -> None:
                update(begun + share * many, "")

            points[rows] = Placing(geometry, cooling, ties.some(rows, placed), held, seed).run(show)
    return points, None if popularity is None else popularity[n:]


def _cooling(embedding: Embedding, geometry: Geometry) -> Cooling:
    """As the embedding was trained; as it would be where nothing is known of that."""
    graph = embedding.graph or Graph.from_arrays([0], [1], ids=max(2, len(embedding)))
    usual = recipe(TrainingConfig(geometry.p, geometry.q, geometry.beta, geometry.flat), graph)
    temperature, epsilon = usual.temperature, usual.epsilon
    if embedding.record.config is not None:
        config = TrainingConfig.from_json(embedding.record.config)
        temperature = max(temperature[0], config.temperature[0]), config.temperature[1]
        if config.dissimilarity == "smoothed":
            epsilon = max(epsilon[0], config.epsilon[0]), config.epsilon[1]
    return Cooling(temperature, epsilon)


def _heights(embedding: Embedding, ties: NewTies) -> Floats:
    """[k] of new nodes: the springs of their ties are at rest, while old nodes stay.

    As in training, only the order of weights counts, where it is known: springs are by their ranks
    among the old ties.
    """
    (arcs, weights), graph, n = ties.ordered, embedding.graph, ties.n_held
    springs = np.ones(len(weights))
    if graph is not None and graph.is_directed:
        old = len(graph.arcs[1])
        every = without_rounding(np.append(graph.arcs[1], weights))
        known, asked = np.sort(every[:old]), every[old:]
        ranks = np.searchsorted(known, asked, "left") + np.searchsorted(known, asked, "right") + 1
        springs = ranks / (old + 1)
    held = np.append(embedding.heights, np.full(ties.count, np.nan))
    return heights_of(n + ties.count, arcs, springs, by_rank=False, held=held)[n:]


def _popularity(embedding: Embedding, ties: NewTies) -> Floats | None:
    """[n + k] of old nodes, and what a line through them says for the ties of new ones; else their
    mean.
    """
    if embedding.popularity is None:
        return None
    line = np.array([0.0, embedding.popularity.mean()])
    if embedding.graph is not None and np.ptp(embedding.graph.degree) > 0:
        line = np.polyfit(np.log1p(embedding.graph.degree), embedding.popularity, 1)
    degree = np.bincount(ties.at_nodes[0], minlength=ties.count) // (1 if ties.ways is None else 2)
    return np.append(embedding.popularity, np.polyval(line, np.log1p(degree)))
