"""The questions an embedding answers, as plain columns: for the class in memory and for a folder
read without torch.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..checks import check_choice, cut, suggestion
from ..graph.attributes import free_names
from ..graph.centrality import ranks

if TYPE_CHECKING:
    from .embedding import Embedding

Columns = dict[str, Sequence[object] | NDArray[np.generic]]
Labels = Mapping[Hashable, object]
Way = Literal["out", "in"]
RankedBy = Literal["centrality", "delta", "height"]
OTHER_RANKS = {
    "centrality": "centrality_rank",
    "delta": "delta_rank",
    "strength": "strength_rank",
    "eigenvector": "eigenvector_rank",
    "PageRank": "pagerank_rank",
}
"""What nodes are ranked by beside, and the column of each."""
INTERVALS = (
    "the interval of ranks that the standard errors leave open: the centrality of so large a "
    "graph is estimated"
)
_NINE_TENTHS = 1.645
"""Standard errors on both sides."""
_NAMED = 3  # nodes that an error names
# The most names that are searched for one spelt like an unknown name.
_SEARCHED = 100_000


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
        found: Floats = distances + self.spring * np.square(
            (steps if way == "out" else -steps) - 1.0
        )
        found[row] = 0.0
        return found


def springs_of(embedding: Embedding) -> Springs | None:
    """Those of an embedding of a directed graph; None of an undirected one."""
    result = embedding.record.result
    if result is None or result.spring is None or result.heights is None:
        return None
    return Springs(
        np.asarray(embedding.attributes[result.heights], dtype=np.float64), result.spring
    )


def directed(embedding: Embedding) -> Springs:
    """The same; ``ValueError`` where there is none."""
    if (found := springs_of(embedding)) is None:
        raise ValueError(
            "the embedding has no directions: train it with directed=True (--directed)"
        )
    return found


class TiesOf(NamedTuple):
    """The ties of a node."""

    nodes: Ints  # the rows of the others
    weights: Floats


def ranking(
    embedding: Embedding, top: int | list[int] | None = None, by: RankedBy | None = None
) -> Columns:
    """The nodes from rank 1 on, or those of a list: node, label, rank, interval, scores, other
    ranks, attributes.
    """
    by = by or ranked_by(embedding)
    check_choice("by", by, get_args(RankedBy))
    columns: dict[str, NDArray[np.generic]] = {**ranks_by(embedding, by)}
    if embedding.centrality is not None:
        columns["centrality"] = embedding.centrality.values
    columns |= {"delta": embedding.delta, **other_ranks(embedding, by)}
    order = (
        np.array(top) if isinstance(top, list) else np.argsort(columns["rank"], kind="stable")[:top]
    )
    found = names_at(embedding, order) | {name: column[order] for name, column in columns.items()}
    return with_attributes(found, embedding, order)


def score_column(embedding: Embedding, by: RankedBy) -> str:
    """The column of `ranking` that holds the scores by which nodes are ranked."""
    result = embedding.record.result
    return (
        result.heights
        if by == "height" and result is not None and result.heights is not None
        else by
    )


def ranked_by(embedding: Embedding) -> RankedBy:
    """What ranks the nodes unless someone asks for something else: δ where the graph is not
    known.
    """
    if embedding.is_directed:
        return "height"
    return "delta" if embedding.centrality is None else "centrality"


def ranks_by(embedding: Embedding, by: RankedBy) -> dict[str, Ints]:
    """The rank [n] of each node, and rank_low and rank_high [n], the ends of its interval, where it
    is an estimate.
    """
    if by == "height":
        return {"rank": ranks(directed(embedding).heights)}
    if by == "delta":
        return {"rank": ranks(-embedding.delta)}
    if (found := embedding.centrality) is None:
        raise ValueError(
            "the centrality needs the graph, which this embedding does not know: rank by delta"
        )
    if not found.errors.any():
        return {"rank": ranks(found.values)}
    low, high = (found.values + side * _NINE_TENTHS * found.errors for side in (-1.0, 1.0))
    surely_higher = len(low) - np.searchsorted(np.sort(low), high, side="right")
    maybe_higher = len(high) - np.searchsorted(np.sort(high), low, side="left")
    return {"rank": ranks(found.values), "rank_low": 1 + surely_higher, "rank_high": maybe_higher}


def other_ranks(embedding: Embedding, by: RankedBy) -> dict[str, Ints]:
    """The ranks [n] by centrality and δ, but for the one that is asked for, and by other
    centralities of the graph.
    """
    found = (
        {}
        if embedding.centrality is None
        else {"centrality_rank": ranks(embedding.centrality.values)}
    )
    found["delta_rank"] = ranks(-embedding.delta)
    found.pop(f"{by}_rank", None)
    return found | embedding.other_ranks


def ranks_in_words(table: Columns) -> list[str]:
    """The ranks of a ranking, each with its interval where it is an estimate."""
    if "rank_low" not in table:
        return list(map(str, table["rank"]))
    found = zip(table["rank"], table["rank_low"], table["rank_high"], strict=True)
    return [f"{rank} ({low}–{high})" for rank, low, high in found]


def nearest(embedding: Embedding, row: int, k: int, way: Way | None = None) -> Columns:
    """What is known of the k nearest nodes of one; with a ``way``, of the likeliest ends of ties
    from it, or to it.
    """
    distances = embedding.distances_from(row)
    if way is not None:
        distances = directed(embedding).add(distances, row, way)
    order = np.argsort(distances, kind="stable")
    order = order[order != row][:k]
    found = names_at(embedding, order) | {"distance": distances[order]}
    if (ties := embedding.ties_of(row, way)) is not None:
        weights = np.zeros(len(distances))
        weights[ties.nodes] = ties.weights
        found |= {"weight": weights[order], "connected": np.isin(order, ties.nodes)}
    return with_attributes(found, embedding, order)


def rows_of(columns: Columns) -> Iterator[dict[str, object]]:
    """The rows of a table, of plain values."""
    plain = [
        values.tolist() if isinstance(values, np.ndarray) else list(values)
        for values in columns.values()
    ]
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
    """A table of the nodes in some rows, and their attributes, under names that the table does not
    have.
    """
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
            some = ", ".join(cut(repr(one)) for one in named[:_NAMED])
            some += ", …" * (len(named) > _NAMED)
            raise KeyError(
                f"the label {cut(repr(node))} is ambiguous: {len(named)} nodes have it "
                f"({some}); use an id"
            )
        hint = (
            suggestion(node, map(str, self.names))
            if isinstance(node, str) and len(self.names) <= _SEARCHED
            else ""
        )
        if not isinstance(node, str) and str(node) in self._rows:
            hint = f"; ids read from text are text: try {cut(repr(str(node)))}"
        raise KeyError(f"no node {cut(repr(node))} in this embedding{hint}")

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
