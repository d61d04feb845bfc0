"""What a figure of a graph or a training shows, as plain data that any library can draw."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ..arrays import Floats
from ..embedding import Embedding
from ..graph import Graph

# At most this many ties are drawn, the strongest.
_MOST_TIES = 5000
# Nodes that the plane is computed from; all others are placed by their dissimilarities to them.
LANDMARKS = 500


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


def plane(embedding: Embedding, *, landmarks: int = LANDMARKS) -> Floats:
    """Positions [n, 2] whose squared distances are like the dissimilarities: classical scaling with landmarks.

    It needs nothing but the dissimilarities, D_γ or on flat space the squared distance, and so suits any signature.
    Above ``landmarks`` nodes, that number are chosen, and the others are placed by their dissimilarities to them.
    """
    n = len(embedding)
    chosen = np.arange(n)
    if n > landmarks:
        chosen = np.sort(np.random.default_rng(0).choice(n, landmarks, replace=False))
    points = torch.from_numpy(embedding.points.copy())
    squares = np.empty((len(chosen), n))
    for row, index in enumerate(chosen):
        squares[row] = embedding.manifold.dissimilarity(points[index], points).numpy()
    among = squares[:, chosen]
    centred = among - among.mean(0) - among.mean(1)[:, None] + among.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    values, vectors = values[:-3:-1], vectors[:, :-3:-1]
    # Of an eigenvector either sign will do: the one whose largest entry is positive.
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(0), np.arange(vectors.shape[1])])
    # Nodes on one line, or in one place, leave nothing for an axis.
    usable = values > 1e-9 * max(np.abs(among).max(initial=0.0), 1e-300)
    scale = np.where(usable, 1.0 / np.sqrt(np.where(usable, values, 1.0)), 0.0)
    placed = np.zeros((n, 2))
    placed[:, : len(values)] = -0.5 * (squares - among.mean(1)[:, None]).T @ (vectors * scale)
    return placed


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
