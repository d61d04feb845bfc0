"""What the page draws, as plain data."""

import math
from collections.abc import Sequence
from typing import NamedTuple, NotRequired, TypedDict

import numpy as np
import torch
from torch import Tensor

from ..arrays import Floats, Ints, positions_in
from ..embedding import Embedding
from ..embedding.record import RunRecord
from ..evaluation import evaluate
from ..evaluation.by_component import chord_table
from ..geometry import Manifold
from ..graph import Graph
from ..pairs import pair_distances
from ..plot.colours import PALETTE, REST, Column, Kinds, columns
from ..plot.layout import map_of
from ..plot.names import labels_of, names_of
from .choice import ShownEdges, ShownNodes, choose_edges, choose_nodes
from .distances import Distances, distances
from .space import SpaceView, in_space

NEAREST = 5
_BANDS = (0.4, 0.7, 0.9)  # where the bands of strength part
_CHARACTERS, _CUT = 1_500_000, 300  # of all names together; what each is cut to where they have more
_ROW_NUMBERS = 1 << 22  # chords that are held at once
_SPARE = 3  # chords more than are asked for, as rounding may change the order of the shortest
_PLACED = 6_000  # nodes that are placed, drawn evenly
_CELLS = 72
_BLOCK = 1 << 22  # distances that are held at once


class NodeData(TypedDict):
    """The shown nodes, column by column."""

    name: list[str]  # what people call them: labels, else ids
    id: NotRequired[list[str]]  # where the names are labels
    x: list[float]
    y: list[float]
    rank: list[int]
    rank_low: NotRequired[list[int]]
    rank_high: NotRequired[list[int]]
    delta: list[float]
    strength: NotRequired[list[float]]
    degree: NotRequired[list[int]]


class Density(TypedDict):
    """How many nodes lie in each cell of a grid over the map."""

    x: list[float]
    y: list[float]
    counts: list[list[int]]  # by row, from the lowest y on


class PageData(TypedDict):
    """What the script of the page draws."""

    total: int
    nodes: NodeData
    colours: list[dict[str, object]]
    palette: list[str]
    density: Density | None
    near: dict[str, object]
    edges: dict[str, object] | None
    space: dict[str, object]
    distances: dict[str, list[float]]
    loss: dict[str, object] | None


class Contents(NamedTuple):
    """Everything a page describes, and the data that it draws."""

    embedding: Embedding
    graph: Graph | None
    shown: ShownNodes
    edges: ShownEdges | None
    space: SpaceView
    columns: list[Column]
    distances: Distances
    measures: dict[str, float]
    data: PageData


def gather(embedding: Embedding, graph: Graph | None) -> Contents:
    """Choose, measure and lay out."""
    shown = choose_nodes(embedding.rank)
    edges = None if graph is None else choose_edges(graph, shown)
    space = in_space(embedding.points, embedding.manifold)
    seen = distances(embedding.points, embedding.manifold, graph, embedding.popularity)
    flat = map_of(embedding, graph, shown.nodes)
    found = columns(embedding, graph, shown.nodes)
    called = names_of(list(embedding.ids), labels_of(embedding, graph))
    data: PageData = {
        "total": len(embedding),
        "nodes": _nodes(embedding, graph, shown, called, flat.places),
        "colours": [_colours(column) for column in found],
        "palette": [*PALETTE, REST],
        "density": density(embedding, shown, flat.places),
        "near": _near(embedding, shown, called),
        "edges": None if edges is None else _edges(embedding, shown, edges),
        "space": {"axes": space.axes, "points": [_rounded(column) for column in space.coordinates[shown.nodes].T]},
        "distances": seen.as_data(),
        "loss": _loss(embedding.record),
    }
    return Contents(embedding, graph, shown, edges, space, found, seen, _measures(embedding, graph, shown), data)


def _colours(column: Column) -> dict[str, object]:
    if isinstance(column, Kinds):
        return {"name": column.name, "kinds": cut_texts(column.kinds), "codes": column.codes.tolist()}
    known = [None if math.isnan(value) else float(f"{value:.6g}") for value in column.values.tolist()]
    return {"name": column.name, "values": known}


def _measures(embedding: Embedding, graph: Graph | None, shown: ShownNodes) -> dict[str, float]:
    """The recorded measures; computed now if there are none and the graph is small."""
    if embedding.record.measures:
        return dict(embedding.record.measures)
    if graph is None or not shown.whole:
        return {}
    points = torch.from_numpy(np.array(embedding.points))
    return evaluate(graph, points, embedding.manifold, popularity=embedding.popularity)


def _nodes(
    embedding: Embedding, graph: Graph | None, shown: ShownNodes, called: Sequence[str], places: Floats
) -> NodeData:
    found: NodeData = {
        "name": cut_texts([called[int(row)] for row in shown.nodes]),
        "x": _rounded(places[:, 0]),
        "y": _rounded(places[:, 1]),
        "rank": embedding.rank[shown.nodes].tolist(),
        "delta": _rounded(embedding.delta[shown.nodes], digits=8),
    }
    ids = cut_texts([embedding.ids[int(row)] for row in shown.nodes])
    if ids != found["name"]:
        found["id"] = ids
    if embedding.rank_intervals is not None:
        found["rank_low"] = embedding.rank_intervals.low[shown.nodes].tolist()
        found["rank_high"] = embedding.rank_intervals.high[shown.nodes].tolist()
    if graph is not None:
        found["strength"] = _rounded(graph.strength[shown.nodes], digits=8)
        found["degree"] = graph.degree[shown.nodes].tolist()
    return found


def cut_texts(values: Sequence[object]) -> list[str]:
    """Values as text; shortened if together they are too long for a page.

    >>> cut_texts(["ann", 7, ("a", 1)])
    ['ann', '7', "('a', 1)"]
    """
    texts = [value if isinstance(value, str) else str(value) for value in values]
    if sum(map(len, texts)) <= _CHARACTERS:
        return texts
    return [text if len(text) <= _CUT else f"{text[:_CUT]}… ({len(text)} characters)" for text in texts]


def _near(embedding: Embedding, shown: ShownNodes, called: Sequence[str]) -> dict[str, object]:
    """The nearest of all nodes to each shown one, by position on the page; nodes that it does not show come last."""
    k = min(NEAREST, len(embedding) - 1)
    indices, lengths = _nearest(embedding, shown, k)
    place = positions_in(shown.nodes, len(embedding))
    others = np.unique(indices[place[indices] < 0])
    place[others] = len(shown.nodes) + np.arange(len(others))
    return {
        "k": k,
        "nodes": place[indices].ravel().tolist(),
        "distances": _rounded(lengths.ravel(), digits=4),
        "others": cut_texts([called[int(row)] for row in others]),
    }


def _nearest(embedding: Embedding, shown: ShownNodes, k: int) -> tuple[Ints, Floats]:
    if k == 0:
        return np.empty((len(shown.nodes), 0), np.int64), np.empty((len(shown.nodes), 0))
    if shown.whole:
        indices, lengths = embedding.nearest(k)
        return indices[shown.nodes], lengths[shown.nodes]
    tensor = torch.from_numpy(np.array(embedding.points))
    rows = max(1, _ROW_NUMBERS // len(embedding))
    blocks = [shown.nodes[start : start + rows] for start in range(0, len(shown.nodes), rows)]
    popularity = None if embedding.popularity is None else torch.from_numpy(np.array(embedding.popularity))
    parts = [_nearest_of(torch.from_numpy(block), tensor, embedding.manifold, k, popularity) for block in blocks]
    return np.concatenate([indices for indices, _ in parts]), np.concatenate([lengths for _, lengths in parts])


def _nearest_of(
    rows: Tensor, points: Tensor, manifold: Manifold, k: int, popularity: Tensor | None
) -> tuple[Ints, Floats]:
    """The k nearest of the points at ``rows``, [rows, k]: only those with the shortest chords on either side of the
    light cone, which a product of matrices gives, are measured.
    """
    if popularity is not None:
        far = manifold.cdist(points[rows], points, dissimilarity="geodesic") - (popularity[rows][:, None] + popularity)
        far[torch.arange(len(rows)), rows] = torch.inf
        lengths, chosen = far.topk(k, largest=False)
        return chosen.numpy(), lengths.numpy()
    chords = chord_table(points[rows], points, manifold)
    chords[torch.arange(len(rows)), rows] = torch.inf
    sides = [torch.where(chords >= 0, chords, torch.inf), torch.where(chords < 0, -chords, torch.inf)]
    shortest = [side.topk(k + _SPARE, largest=False) for side in sides]
    found = torch.cat([some.indices for some in shortest], dim=1)
    pairs = torch.stack((rows[:, None].expand_as(found), found), dim=-1)
    lengths = pair_distances(points, manifold, pairs.reshape(-1, 2)).view_as(found)
    lengths[torch.cat([some.values for some in shortest], dim=1).isinf()] = torch.inf
    nearby = lengths.topk(k, largest=False)
    return found.gather(1, nearby.indices).numpy(), nearby.values.numpy()


def _edges(embedding: Embedding, shown: ShownNodes, edges: ShownEdges) -> dict[str, object]:
    tensor = torch.from_numpy(np.array(embedding.points))
    ends = torch.from_numpy(shown.nodes[edges.ends])
    lengths = pair_distances(tensor, embedding.manifold, ends, popularity=embedding.popularity)
    bands = _bands(edges.weights, edges.weights[edges.drawn])
    limits = [edges.weights[bands == band] for band in range(int(bands.max(initial=-1)) + 1)]
    return {
        "ends": edges.ends.ravel().tolist(),
        "weights": _rounded(edges.weights),
        "distances": _rounded(lengths.numpy(), digits=4),
        "band": bands.tolist(),
        "drawn": np.flatnonzero(edges.drawn).tolist(),
        "bands": [[*_rounded(np.array([part.min(), part.max()])), len(part)] for part in limits],
    }


def _bands(weights: Floats, drawn: Floats) -> Ints:
    """At most four bands of strength [e] from 0, the weakest; the last is the strongest tenth of those drawn."""
    if len(weights) == 0:
        return np.empty(0, np.int64)
    distinct = np.unique(drawn)
    cuts = np.unique(np.quantile(drawn, _BANDS, method="lower")) if len(distinct) > len(_BANDS) + 1 else distinct[:-1]
    bands = np.searchsorted(cuts, weights)
    return np.unique(bands, return_inverse=True)[1].astype(np.int64)


def _loss(record: RunRecord) -> dict[str, object] | None:
    """Iterations and losses, if at least two are numbers; the others leave gaps."""
    if sum(value is not None for value in record.loss) < 2:
        return None
    best = -1 if record.result is None else record.result.best_iteration
    return {
        "values": [None if value is None else float(f"{value:.6g}") for value in record.loss],
        "every": max(record.loss_every, 1),
        "best": best if best >= 0 else None,
    }


def _rounded(values: Floats, digits: int = 5) -> list[float]:
    """Numbers rounded to ``digits`` significant digits; whole ones without a point."""
    shortened = (float(f"{value:.{digits}g}") for value in values.tolist())
    return [int(value) if value.is_integer() and abs(value) < 1e15 else value for value in shortened]


def density(embedding: Embedding, shown: ShownNodes, places: Floats) -> Density | None:
    """All nodes, or ``_PLACED`` drawn evenly, each beside the shown node nearest to it; None where all are shown."""
    if shown.whole:
        return None
    others = np.setdiff1d(np.arange(shown.total), shown.nodes)
    rng = np.random.default_rng(0)
    if len(others) > _PLACED:
        others = np.sort(rng.choice(others, _PLACED, replace=False))
    beside = places[_nearest_shown(embedding, shown, others)]
    around = 0.02 * np.ptp(places, axis=0) * rng.normal(size=beside.shape)
    everywhere = np.concatenate((places, beside + around))
    low, high = everywhere.min(0), everywhere.max(0)
    grids = [np.linspace(low[k], high[k], _CELLS + 1) for k in range(2)]
    counts = np.histogram2d(everywhere[:, 1], everywhere[:, 0], bins=[grids[1], grids[0]])[0].astype(np.int64)
    middles = [np.round(0.5 * (grid[1:] + grid[:-1]), 3).tolist() for grid in grids]
    return {"x": middles[0], "y": middles[1], "counts": counts.tolist()}


def _nearest_shown(embedding: Embedding, shown: ShownNodes, others: Ints) -> Ints:
    """The position on the page [o] of the shown node nearest to each of the others."""
    points = torch.from_numpy(np.array(embedding.points))
    known = points[torch.from_numpy(shown.nodes)]
    popular = None if embedding.popularity is None else torch.from_numpy(np.array(embedding.popularity[shown.nodes]))
    found = []
    for rows in np.array_split(others, max(1, len(others) * len(known) // _BLOCK)):
        far = embedding.manifold.cdist(points[torch.from_numpy(rows)], known, dissimilarity="geodesic")
        found.append((far if popular is None else far - popular).argmin(1).numpy())
    return np.concatenate(found)
