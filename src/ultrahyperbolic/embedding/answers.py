"""The questions an embedding answers, as plain columns: for the class in memory and for a folder read without torch."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints, positions_in
from ..checks import suggestion
from ..graph import Graph
from ..graph.attributes import free_names
from ..graph.heights import heights as heights_of

if TYPE_CHECKING:
    from .embedding import Embedding

Columns = dict[str, Sequence[object] | NDArray[np.generic]]
Labels = Mapping[Hashable, object]
Way = Literal["out", "in"]
RankedBy = Literal["centrality", "height"]
# How nodes are ranked by the graph alone, and the column of each.
OTHER_RANKS = {"degree": "degree_rank", "strength": "strength_rank", "PageRank": "pagerank_rank"}
_NAMED = 3  # nodes that an error names
# The most names that are searched for one spelt like an unknown name.
_SEARCHED = 100_000
# Of a large graph, ranks are resampled fewer times, and over fewer nodes: so many at most and at least.
_MOST, _FEWEST, _DISTANCES, _RANKS = 200, 40, 1 << 20, 1 << 23


def less_popularity(distances: Floats, popularity: Floats | None, row: int) -> Floats:
    """The distances [n] of the node in a row, less the popularity of both nodes; 0 to itself."""
    if popularity is None:
        return distances
    found: Floats = distances - (popularity[row] + popularity)
    found[row] = 0.0
    return found


class Springs(NamedTuple):
    """What directions add to distances: κ (h_i - h_j - 1)² to that from i to j."""

    heights: Floats  # [n]
    spring: float  # κ

    def add(self, distances: Floats, row: int, way: Way) -> Floats:
        """Distances [n] from the node in a row to all, or to it from all."""
        steps = self.heights[row] - self.heights
        found: Floats = distances + self.spring * np.square((steps if way == "out" else -steps) - 1.0)
        found[row] = 0.0
        return found


def springs_of(embedding: Embedding) -> Springs | None:
    """Those of an embedding of a directed graph; None of an undirected one."""
    result = embedding.record.result
    if result is None or result.spring is None or result.heights is None:
        return None
    return Springs(np.asarray(embedding.attributes[result.heights], dtype=np.float64), result.spring)


def directed(embedding: Embedding) -> Springs:
    """The same; ``ValueError`` where there is none."""
    if (found := springs_of(embedding)) is None:
        raise ValueError("the embedding has no directions: train it with directed=True (--directed)")
    return found


class TiesOf(NamedTuple):
    """The ties of a node."""

    nodes: Ints  # the rows of the others
    weights: Floats


def ranking(
    embedding: Embedding, top: int | list[int] | None = None, by: RankedBy = "centrality", graph: Graph | None = None
) -> Columns:
    """The nodes from rank 1 on, or those of a list: node, label, delta, rank, interval, ranks of the graph, attributes.

    By height, the highest node has rank 1, and the interval needs the directed ``graph``.
    """
    columns = {**ranks_by(embedding, by, graph), **embedding.other_ranks}
    order = np.array(top) if isinstance(top, list) else np.argsort(columns["rank"], kind="stable")[:top]
    found = names_at(embedding, order) | {"delta": embedding.delta[order]}
    found |= {name: column[order] for name, column in columns.items()}
    return with_attributes(found, embedding, order)


def ranks_by(embedding: Embedding, by: RankedBy, graph: Graph | None = None) -> dict[str, Ints]:
    """The rank [n] of each node, and the ends of its interval, rank_low and rank_high [n], where they can be told."""
    if by == "height":
        heights = directed(embedding).heights
        rank = positions_in(np.argsort(-heights, kind="stable")) + 1
        if graph is None or not graph.is_directed:
            return {"rank": rank}
        return {"rank": rank} | _ends(rank, _by_resampled_ties(heights, graph))
    columns = {**embedding.rank_columns}
    return columns if "rank_low" in columns else columns | _ends(columns["rank"], _by_resampled_nodes(embedding))


def _by_resampled_nodes(embedding: Embedding) -> Iterator[Floats]:
    """δ [n], again and again, as if the nodes that distances are summed over were drawn at random, with replacement.

    Of a large graph these are a part of its nodes. Nodes of another component do not count, nor does what moves all
    nodes of a component alike: the distance between components has no meaning.
    """
    n, rng = len(embedding), np.random.default_rng(0)
    component = np.zeros(n, np.int64) if embedding.ties is None else embedding.ties.component
    others = np.sort(rng.permutation(n)[: max(_FEWEST, _DISTANCES // max(n, 1))])
    far = np.zeros((n, len(others)))
    for column, node in enumerate(others.tolist()):
        within = component == component[node]
        within[node] = False  # to itself it is as far as to the others
        if within.any():
            far[within, column] = (found := embedding.distances_from(node)[within]) - found.mean()
    share, count = n / len(others), _resamples(n)
    drawn = rng.multinomial(n, np.full(len(others), 1.0 / len(others)), size=count)
    return (embedding.delta + far @ (times - share) for times in drawn)


def _by_resampled_ties(heights: Floats, graph: Graph) -> Iterator[Floats]:
    """Heights [n] from the top down, as if the ties were drawn at random: they vary as those by the ties alone do."""
    arcs, weights = graph.arcs
    all_ties, rng = heights_of(graph.n_nodes, arcs, weights), np.random.default_rng(0)
    drawn = (rng.integers(len(arcs), size=len(arcs)) for _ in range(_resamples(80 * len(arcs))))
    return (all_ties - heights - heights_of(graph.n_nodes, arcs[some], weights[some]) for some in drawn)


def _resamples(cost: int) -> int:
    return max(_FEWEST, min(_MOST, _RANKS // max(cost, 1)))


def _ends(rank: Ints, scores: Iterable[Floats]) -> dict[str, Ints]:
    """The interval around the rank [n] of each node that holds nine tenths of its ranks by scores [n], lowest first."""
    ranks = np.sort([positions_in(np.argsort(score, kind="stable")) + 1 for score in scores], axis=0)
    aside = len(ranks) // 20
    return {"rank_low": np.minimum(rank, ranks[aside]), "rank_high": np.maximum(rank, ranks[-1 - aside])}


def interval_words(embedding: Embedding, by: RankedBy = "centrality") -> str:
    """What the intervals of `ranking` are, for people."""
    ranks = embedding.record.ranks
    if by == "centrality" and ranks is not None and "rank_low" in embedding.rank_columns:
        return ranks.text
    score, some = ("delta", "nodes") if by == "centrality" else ("the height", "ties")
    return f"the interval that holds 90 % of a node's ranks when {score} is computed from a random sample of the {some}"


def alike_words(table: Columns) -> str:
    """The largest groups of neighbouring ranks that all lie in each other's intervals, for people; empty without any.

    >>> alike_words({"rank": [1, 2, 3, 4, 5], "rank_low": [1, 2, 2, 3, 5], "rank_high": [1, 3, 4, 4, 5]})
    '2–3, 3–4'
    """
    if "rank_low" not in table:
        return ""
    rank, low, high = (np.asarray(table[name], dtype=np.int64) for name in ("rank", "rank_low", "rank_high"))
    # How far the intervals of a rank and of all below it reach.
    reach, groups, end = np.minimum.accumulate(np.searchsorted(rank, high, "right")[::-1])[::-1], list[str](), 0
    for first in range(len(rank)):
        before, end = end, max(end, first + 1)
        while end < reach[first] and low[end] <= rank[first]:
            end += 1
        if end > max(before, first + 1):
            groups.append(f"{rank[first]}–{rank[end - 1]}")
    return ", ".join(groups)


def ranks_in_words(table: Columns) -> list[str]:
    """The ranks of a ranking, each with its interval where that is known."""
    if "rank_low" not in table:
        return list(map(str, table["rank"]))
    found = zip(table["rank"], table["rank_low"], table["rank_high"], strict=True)
    return [f"{rank} ({low}–{high})" for rank, low, high in found]


def nearest(embedding: Embedding, row: int, k: int, way: Way | None = None) -> Columns:
    """What is known of the k nearest nodes of one; with a ``way``, of the likeliest ends of ties from it, or to it."""
    distances = embedding.distances_from(row)
    if way is not None:
        distances = directed(embedding).add(distances, row, way)
    order = np.argsort(distances, kind="stable")
    order = order[order != row][:k]
    found = names_at(embedding, order) | {"distance": distances[order]}
    if (ties := embedding.ties_of(row)) is not None:
        weights = np.zeros(len(distances))
        weights[ties.nodes] = ties.weights
        found |= {"weight": weights[order], "connected": np.isin(order, ties.nodes)}
    return with_attributes(found, embedding, order)


def rows_of(columns: Columns) -> Iterator[dict[str, object]]:
    """The rows of a table, of plain values."""
    plain = [values.tolist() if isinstance(values, np.ndarray) else list(values) for values in columns.values()]
    return (dict(zip(columns, row, strict=True)) for row in zip(*plain, strict=True))


def label_texts(ids: Iterable[Hashable], labels: Labels | None) -> list[str]:
    """The label of each id as text; empty where it has none."""
    known = labels or {}
    return ["" if (label := known.get(node)) is None else str(label) for node in ids]


def names_at(embedding: Embedding, order: Ints) -> Columns:
    """The nodes in some rows, and their labels where there are any."""
    ids = [embedding.ids[int(row)] for row in order]
    found: Columns = {"node": ids}
    if embedding.labels:
        found["label"] = label_texts(ids, embedding.labels)
    return found


def with_attributes(found: Columns, embedding: Embedding, order: Ints) -> Columns:
    """A table of the nodes in some rows, and their attributes, under names that the table does not have."""
    names = free_names(list(embedding.attributes), list(found))
    return found | {names[name]: values[order] for name, values in embedding.attributes.items()}


class NodeFinder:
    """Finds the row of a node by its id, or by its label where one node alone has that label."""

    def __init__(self, ids: Iterable[Hashable], labels: Labels | None) -> None:
        self._rows = {node: row for row, node in enumerate(ids)}
        self._labels = labels or {}

    def __call__(self, node: Hashable) -> int:
        """The row; ``KeyError`` where there is none, or a label names several nodes."""
        if self.has_id(node):
            return self._rows[node]
        named = self._named(node)
        if len(named) == 1:
            return self._rows[named[0]]
        if named:
            some = ", ".join(map(repr, named[:_NAMED])) + (", …" if len(named) > _NAMED else "")
            raise KeyError(f"the label {node!r} is ambiguous: {len(named)} nodes have it ({some}); use an id")
        hint = suggestion(node, map(str, self.names)) if isinstance(node, str) and len(self.names) <= _SEARCHED else ""
        if not isinstance(node, str) and str(node) in self._rows:
            hint = f"; ids read from text are text: try {str(node)!r}"
        raise KeyError(f"no node {node!r} in this embedding{hint}")

    def knows(self, node: object) -> bool:
        """Whether there is one row for it."""
        return isinstance(node, Hashable) and (self.has_id(node) or len(self._named(node)) == 1)

    def has_id(self, node: Hashable) -> bool:
        """Whether it is the id of a node."""
        try:
            return node in self._rows
        except TypeError:
            return False

    @property
    def names(self) -> list[Hashable]:
        """All ids, and all labels as text."""
        return [*self._rows, *map(str, self._labels.values())]

    def _named(self, node: object) -> list[Hashable]:
        """The ids of the nodes that have a label."""
        return self._by_label.get(node, []) if isinstance(node, str) else []

    @cached_property
    def _by_label(self) -> dict[str, list[Hashable]]:
        found: dict[str, list[Hashable]] = {}
        for node, label in self._labels.items():
            if label is not None and node in self._rows:
                found.setdefault(str(label), []).append(node)
        return found
