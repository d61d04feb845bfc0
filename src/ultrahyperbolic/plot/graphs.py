"""What a figure of a graph or a training shows, as plain data that any library can draw."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..embedding import Embedding
from ..graph import Graph
from .scaling import plane

# At most this many ties are drawn, the strongest.
_MOST_TIES = 5000


class Nodes(NamedTuple):
    """Dots, and the ties between them."""

    places: Floats  # [n, 2]
    ids: Sequence[str]
    deltas: Floats
    ranks: NDArray[np.int64]
    sizes: Floats  # [n] diameters in points
    ties: NDArray[np.int64]  # [m, 2] positions of nodes
    strengths: Floats  # [m] from 0 to 1


class Line(NamedTuple):
    """Values over iterations."""

    name: str
    x: Floats
    y: Floats
    share: float  # where its colour is in the scale, from 0 to 1
    ended: bool = False  # whether it stops because every constraint was met: a dot says so


class Drawing(NamedTuple):
    """One flat panel of a figure."""

    title: str
    x: str = ""
    y: str = ""
    nodes: Nodes | None = None
    lines: Sequence[Line] = ()
    log: bool = False
    by_rank: bool = False  # whether upward is by rank, 1 at the top


def hierarchy_drawing(embedding: Embedding, graph: Graph | None = None, title: str = "") -> Drawing:
    """Height by rank, and left to right by the order along the first axis of the plane, spread evenly."""
    across = np.argsort(np.argsort(plane(embedding)[:, 0], kind="stable"), kind="stable")
    places = np.stack((across.astype(float), embedding.rank.astype(float)), axis=1)
    title = title or f"height by rank of δ on {_name(embedding)}"
    return Drawing(title, y="rank", nodes=_nodes(embedding, graph, places), by_rank=True)


def map_drawing(embedding: Embedding, graph: Graph | None = None) -> Drawing:
    """The nodes in the plane."""
    return Drawing(f"{len(embedding)} nodes on {_name(embedding)}", nodes=_nodes(embedding, graph, plane(embedding)))


def losses_drawing(runs: Mapping[str, Embedding], title: str) -> Drawing:
    """The loss of each run; colours follow the order of the runs."""
    if not runs:
        raise ValueError("losses needs at least one run")
    lines = []
    for number, (name, embedding) in enumerate(runs.items()):
        record = embedding.record
        loss = np.asarray(record.loss, dtype=float)
        if not len(loss):
            raise ValueError(f"the run {name!r} holds no loss: it was not trained here, or not yet")
        iterations = np.arange(len(loss), dtype=float) * record.loss_every
        ended = record.result is not None and record.result.ordered_at is not None
        lines.append(Line(name, iterations, loss, number / max(1, len(runs) - 1), ended))
    return Drawing(title, "iteration", "loss", lines=lines, log=True)


def _nodes(embedding: Embedding, graph: Graph | None, places: Floats) -> Nodes:
    graph = embedding.ties if graph is None else graph
    ties, strengths = np.empty((0, 2), dtype=np.int64), np.empty(0)
    if graph is not None:
        if list(graph.ids) != list(embedding.ids):
            graph = graph.with_nodes(embedding.ids)
        strongest = np.argsort(graph.weights, kind="stable")[-_MOST_TIES:]
        ties, strengths = graph.edges[strongest], graph.weights[strongest] / graph.weights.max(initial=1e-300)
    n = len(embedding)
    # The top is largest; a crowd is small.
    sizes = np.clip(60.0 / np.sqrt(n), 2.0, 9.0) * (1.0 + 1.2 * (1.0 - (embedding.rank - 1.0) / max(1, n - 1)))
    return Nodes(places, [str(node) for node in embedding.ids], embedding.delta, embedding.rank, sizes, ties, strengths)


def _name(embedding: Embedding) -> str:
    return str(embedding.manifold) if embedding.geometry is None else embedding.geometry.name
