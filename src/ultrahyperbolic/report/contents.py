"""What the page draws, as plain data: all nodes and edges, or of a large graph the most central and
a sample.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints, positions_in
from ..embedding import Embedding
from ..embedding.answers import RankedBy, other_ranks, ranks_by
from ..embedding.record import RunRecord
from ..evaluation import evaluate
from ..evaluation.inputs import are_edges
from ..graph import Graph
from ..pairs import lengths_of, measured_from, rows_of
from ..plot.layout import map_of, part_of
from ..plot.maps import (
    PALETTE,
    REST,
    Column,
    Kinds,
    backbone,
    columns,
    edges_among,
    labels_of,
    names_of,
)
from .distances import Distances, distances

MOST_NODES = 5_000
TOP, SAMPLE = 1_000, 1_000
# Each shown node is compared with all others. Where that would be more than _PAIRS pairs, fewer
# nodes are shown, but at least _FEWEST of either kind.
_PAIRS, _FEWEST = 1 << 28, 100
MOST_EDGES = 20_000
NEAREST = 5
_LOOKED_AT = 50  # of the nearest nodes, to find those without a tie; below _SMALL nodes all
_SMALL = 1_000
_BANDS = (0.4, 0.7, 0.9)  # where the bands of strength part
_CHARACTERS = 1_500_000  # of all names together
_CUT = 300  # characters that a name is cut to where together they have more
_PLACED = 6_000  # nodes that are placed, drawn evenly
_CELLS = 72
_BLOCK = 1 << 22  # distances that are held at once

Data = dict[str, Any]
"""What becomes JSON: of the nodes and the ties, a list for each column."""


class ShownNodes(NamedTuple):
    """The nodes of a page, by rank."""

    nodes: Ints  # [s] their positions in the embedding, by rank
    top: int  # how many of them, the first, have the first ranks; the others were drawn
    total: int  # how many nodes there are

    @property
    def whole(self) -> bool:
        """Whether every node is shown."""
        return len(self.nodes) == self.total


class ShownEdges(NamedTuple):
    """The edges of a page, the weakest first."""

    ends: Ints  # [e, 2] positions in `ShownNodes.nodes`
    numbers: Ints  # [e] which edges of the graph they are
    between: int  # how many edges the shown nodes have among them
    drawn: NDArray[np.bool_]
    """[e] whether the map draws it, as one of the strongest of a node; the others appear with a
    selected node.
    """


class Contents(NamedTuple):
    """Everything a page describes, and the data that it draws."""

    embedding: Embedding
    graph: Graph | None
    shown: ShownNodes
    edges: ShownEdges | None
    columns: list[Column]
    distances: Distances
    measures: dict[str, float]
    called: list[str]  # the names of all nodes
    data: Data


def gather(embedding: Embedding, graph: Graph | None) -> Contents:
    """Choose, measure and lay out."""
    if graph is not None and embedding.graph is not graph:
        embedding = embedding.with_graph(graph)
    shown = choose_nodes(embedding.rank)
    edges = None if graph is None else choose_edges(graph, shown)
    seen = distances(embedding.points, embedding.space, graph, embedding.popularity)
    places = map_of(embedding, graph, shown.nodes)
    found = columns(embedding, graph, shown.nodes)
    called = names_of(list(embedding.ids), labels_of(embedding, graph))
    data: Data = {
        "total": len(embedding),
        "nodes": _nodes(embedding, graph, shown, called, places),
        "colours": [_colours(column) for column in found],
        "palette": [*PALETTE, REST],
        "density": density(embedding, shown, places),
        "near": _near(embedding, graph, shown, called),
        "edges": None if edges is None or graph is None else _edges(embedding, graph, shown, edges),
        "distances": {name: getattr(seen, name).tolist() for name in ("bins", "edges", "others")},
        "loss": _loss(embedding.record),
    }
    measures = dict(embedding.record.measures)
    if not measures and graph is not None and shown.whole:
        measures = evaluate(
            graph, embedding.points, embedding.space, popularity=embedding.popularity
        )
    return Contents(embedding, graph, shown, edges, found, seen, measures, called, data)


def choose_nodes(rank: Ints) -> ShownNodes:
    """All nodes; of more than ``MOST_NODES``, the ``TOP`` most central and ``SAMPLE`` drawn; of
    very many, fewer.
    """
    by_rank = np.argsort(rank, kind="stable")
    n = len(by_rank)
    if n <= MOST_NODES:
        return ShownNodes(by_rank, n, n)
    most = max(_FEWEST, _PAIRS // (2 * n))
    top, sample = min(TOP, most), min(SAMPLE, most)
    drawn = np.sort(np.random.default_rng(0).choice(n - top, sample, replace=False)) + top
    return ShownNodes(np.concatenate((by_rank[:top], by_rank[drawn])), top, n)


def choose_edges(graph: Graph, shown: ShownNodes) -> ShownEdges:
    """The edges among the shown nodes; of more than ``MOST_EDGES``, what the map draws and the
    strongest others.
    """
    among, ends = edges_among(graph, shown.nodes)
    drawn = backbone(ends, graph.weights[among], len(shown.nodes))
    spare = np.flatnonzero(~drawn)[: max(0, len(among) - MOST_EDGES)]
    kept = np.delete(np.arange(len(among)), spare)
    return ShownEdges(ends[kept], among[kept], len(among), drawn[kept])


def _colours(column: Column) -> Data:
    if isinstance(column, Kinds):
        return {
            "name": column.name,
            "kinds": cut_texts(column.kinds),
            "codes": column.codes.tolist(),
        }
    known = [
        None if math.isnan(value) else float(f"{value:.6g}") for value in column.values.tolist()
    ]
    return {"name": column.name, "values": known}


def _nodes(
    embedding: Embedding,
    graph: Graph | None,
    shown: ShownNodes,
    called: Sequence[str],
    places: Floats,
) -> Data:
    """Of the shown nodes: names, places, ranks, and of a directed graph heights; ids where the
    names are labels.
    """
    found: Data = {
        "name": cut_texts([called[int(row)] for row in shown.nodes]),
        "x": _rounded(places[:, 0]),
        "y": _rounded(places[:, 1]),
        "delta": _rounded(embedding.delta[shown.nodes], digits=8),
    }
    ids = cut_texts([embedding.ids[int(row)] for row in shown.nodes])
    if ids != found["name"]:
        found["id"] = ids
    by: RankedBy = "delta" if embedding.centrality is None else "centrality"
    ranks = ranks_by(embedding, by)
    if graph is not None:
        found["strength"] = _rounded(graph.strength[shown.nodes], digits=8)
        found["degree"] = graph.degree[shown.nodes].tolist()
    ranks |= other_ranks(embedding, by)
    if embedding.centrality is not None:
        found["centrality"] = _rounded(embedding.centrality.values[shown.nodes], digits=8)
    if embedding.is_directed:
        found["height"] = _rounded(embedding.heights[shown.nodes])
        ranks["height_rank"] = ranks_by(embedding, "height")["rank"]
    return found | {name: of[shown.nodes].tolist() for name, of in ranks.items()}


def cut_texts(values: Sequence[object]) -> list[str]:
    """Values as text; shortened if together they are too long for a page.

    >>> cut_texts(["ann", 7, ("a", 1)])
    ['ann', '7', "('a', 1)"]
    """
    texts = list(map(str, values))
    if sum(map(len, texts)) <= _CHARACTERS:
        return texts
    return [
        text if len(text) <= _CUT else f"{text[:_CUT]}… ({len(text)} characters)" for text in texts
    ]


def _near(
    embedding: Embedding, graph: Graph | None, shown: ShownNodes, called: Sequence[str]
) -> Data:
    """The nearest of all nodes to each shown one, and the nearest without a tie, by position on the
    page.

    Nodes that the page does not show come last.
    """
    k, n = min(NEAREST, len(embedding) - 1), len(embedding)
    indices, lengths = _nearest(embedding, shown, n - 1 if n <= _SMALL else _LOOKED_AT)
    untied = (
        np.zeros(indices.shape, bool)
        if graph is None
        else ~are_edges(graph, shown.nodes[:, None], indices)
    )
    free = [np.flatnonzero(row)[:NEAREST] for row in untied]
    used = np.concatenate(
        [indices[:, :k].ravel(), *(row[some] for row, some in zip(indices, free, strict=True))]
    )
    place = positions_in(shown.nodes, n)
    others = np.unique(used[place[used] < 0])
    place[others] = len(shown.nodes) + np.arange(len(others))
    found = {
        "k": k,
        "nodes": place[indices[:, :k]].ravel().tolist(),
        "distances": _rounded(lengths[:, :k].ravel(), digits=4),
        "others": cut_texts([called[int(row)] for row in others]),
    }
    if graph is not None:
        found["free"] = [
            list(zip(place[row[some]].tolist(), _rounded(far[some], digits=4), strict=True))
            for row, far, some in zip(indices, lengths, free, strict=True)
        ]
    return found


def _nearest(embedding: Embedding, shown: ShownNodes, k: int) -> tuple[Ints, Floats]:
    """The k nearest of each shown node, and how far they are, [s, k]."""
    if k == 0:
        return np.empty((len(shown.nodes), 0), np.int64), np.empty((len(shown.nodes), 0))
    if shown.whole:
        indices, lengths = embedding.nearest(k)
        return indices[shown.nodes], lengths[shown.nodes]
    order = np.concatenate((shown.nodes, np.setdiff1d(np.arange(len(embedding)), shown.nodes)))
    points, popularity = part_of(embedding, order)
    s = len(shown.nodes)
    found = rows_of(points, embedding.space, k=k, count=s, popularity=popularity)
    return order[found.indices[:s]], found.distances[:s]


def _beside(embedding: Embedding, rows: Ints, others: Ints) -> Ints:
    """[r] which of the ``others``, by position, is nearest to each of some nodes."""
    points, popularity = part_of(embedding, np.concatenate((others, rows)))
    measured = measured_from(points, embedding.space, popularity=popularity)
    return np.asarray(measured(np.arange(len(others), len(points)))[:, : len(others)].argmin(1))


def _edges(embedding: Embedding, graph: Graph, shown: ShownNodes, edges: ShownEdges) -> Data:
    ends = shown.nodes[edges.ends].reshape(-1, 2)
    lengths = lengths_of(embedding.points, embedding.space, ends, popularity=embedding.popularity)
    weights = graph.weights[edges.numbers]
    bands = _bands(weights, weights[edges.drawn])
    limits = [weights[bands == band] for band in range(int(bands.max(initial=-1)) + 1)]
    found = {
        "ends": edges.ends.ravel().tolist(),
        "weights": _rounded(weights),
        "distances": _rounded(lengths, digits=4),
        "band": bands.tolist(),
        "drawn": np.flatnonzero(edges.drawn).tolist(),
        "bands": [[*_rounded(np.array([part.min(), part.max()])), len(part)] for part in limits],
    }
    if graph.directions is not None and embedding.is_directed:
        # 1 where a tie leads from its first end to its second, 2 where it leads back, 3 where both.
        found["ways"] = ((graph.directions[edges.numbers] > 0.0) @ np.array([1, 2])).tolist()
    return found


def _bands(weights: Floats, drawn: Floats) -> Ints:
    """At most four bands of strength [e] from 0, the weakest; the last is the strongest tenth of
    those drawn.
    """
    if len(weights) == 0:
        return np.empty(0, np.int64)
    distinct = np.unique(drawn)
    cuts = (
        np.unique(np.quantile(drawn, _BANDS, method="lower"))
        if len(distinct) > len(_BANDS) + 1
        else distinct[:-1]
    )
    return np.unique(np.searchsorted(cuts, weights), return_inverse=True)[1].astype(np.int64)


def _loss(record: RunRecord) -> Data | None:
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
    return [
        int(value) if value.is_integer() and abs(value) < 1e15 else value for value in shortened
    ]


def density(embedding: Embedding, shown: ShownNodes, places: Floats) -> Data | None:
    """How many nodes lie in each cell of a grid over the map; None where all are shown.

    All nodes, or ``_PLACED`` drawn evenly, each beside the shown node nearest to it.
    """
    if shown.whole:
        return None
    others = np.setdiff1d(np.arange(shown.total), shown.nodes)
    rng = np.random.default_rng(0)
    if len(others) > _PLACED:
        others = np.sort(rng.choice(others, _PLACED, replace=False))
    blocks = np.array_split(others, max(1, len(others) * len(shown.nodes) // _BLOCK))
    beside = places[np.concatenate([_beside(embedding, rows, shown.nodes) for rows in blocks])]
    around = 0.02 * np.ptp(places, axis=0) * rng.normal(size=beside.shape)
    everywhere = np.concatenate((places, beside + around))
    counts, *grids = np.histogram2d(everywhere[:, 1], everywhere[:, 0], bins=_CELLS)
    y, x = (np.round(0.5 * (grid[1:] + grid[:-1]), 3).tolist() for grid in grids)
    return {"x": x, "y": y, "counts": counts.astype(np.int64).tolist()}
