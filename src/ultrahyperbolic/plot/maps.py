"""What a map shows of the nodes, wherever they lie: their names and colours, and which ties are
drawn.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Bools, Floats, Ints, positions_in
from ..embedding import Embedding
from ..embedding.answers import Labels, label_texts
from ..evaluation import clusters, communities
from ..graph import Graph

COMMUNITIES = "community"
# Okabe and Ito's colours and others that go with them; they read on white and on black.
PALETTE = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#d55e00",
    "#56b4e9",
    "#8c6bb1",
    "#b3a100",
    "#8c564b",
    "#2ca7a0",
)
REST = "#8b949e"
MAP_TIES = 1_200  # of more, a map draws the strongest of each node
_FEW = 12  # whole numbers with at most this many different values are kinds


class Kinds(NamedTuple):
    """A column of categories, one for each node."""

    name: str
    kinds: Sequence[str]  # the largest first; nodes of none are of the kind ""
    codes: Ints  # [n] positions in kinds


class Numbers(NamedTuple):
    """A column of numbers."""

    name: str
    values: Floats  # [n], NaN where a node has none


Column = Kinds | Numbers


def columns(embedding: Embedding, graph: Graph | None, rows: Ints) -> list[Column]:
    """What the nodes at ``rows`` can be coloured by, communities first."""
    groups = communities_of(embedding, graph, rows)
    found: list[Column] = [_by_size(COMMUNITIES, groups, numbered=True)]
    for name, column in embedding.attributes.items():
        if name == "cluster":
            continue
        values, kind = column[rows], column.dtype.kind
        if kind == "f" or (kind in "iu" and len(np.unique(values)) > _FEW):
            found.append(Numbers(name, values.astype(np.float64)))
        else:
            found.append(_by_size(name, values))
    texts = label_texts([embedding.ids[int(row)] for row in rows], labels_of(embedding, graph))
    if any(texts) and not are_names(texts):
        found.append(_by_size("label", np.array(texts, dtype=object)))
    return found


def communities_of(embedding: Embedding, graph: Graph | None, rows: Ints) -> Ints:
    """The community of each node at ``rows``: the column ``cluster`` where there is one, else by
    the ties.

    Of some of the nodes, or where no ties are known, it is that by distances.
    """
    known = embedding.attributes.get("cluster")
    if known is not None:
        return np.unique(known[rows], return_inverse=True)[1].astype(np.int64)
    if len(rows) == len(embedding):
        ties = embedding.ties if graph is None else graph
        return (embedding.cluster("map") if ties is None else communities(ties))[rows]
    popularity = None if embedding.popularity is None else embedding.popularity[rows]
    return clusters(embedding.points[rows], embedding.space, popularity=popularity)


def _by_size(name: str, values: NDArray[np.generic] | Ints, *, numbered: bool = False) -> Kinds:
    """Values as kinds, the most frequent first; numbered ones are called 1, 2, …"""
    texts = (
        values if numbered else np.array([str(value) for value in values.tolist()], dtype=object)
    )
    kinds, codes, counts = np.unique(texts, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    named = [str(k + 1) for k in range(len(kinds))] if numbered else [str(kinds[k]) for k in order]
    return Kinds(name, named, positions_in(order)[codes])


def labels_of(embedding: Embedding, graph: Graph | None) -> Labels:
    """The labels that are known: the embedding's own, else the graph's."""
    return embedding.labels or (graph.labels if graph is not None and graph.labels else {})


def are_names(labels: Sequence[str]) -> bool:
    """Whether labels name the nodes: half or more have one of their own. Else they sort nodes into
    kinds.

    >>> are_names(["Ann", "Bob", "Ann", "Cid", "Dee"]), are_names(["red", "blue", "red", "red"])
    (True, False)
    """
    counts = Counter(filter(str.strip, labels))
    return sum(count == 1 for count in counts.values()) >= 0.5 * sum(counts.values()) > 0


def names_of(ids: Sequence[Hashable], labels: Labels) -> list[str]:
    """What to call each node: its label if that names it, with the id where two share one; else its
    id.

    >>> names_of([1, 2, 3, 4], {1: "Ann", 2: "Bob", 3: "Ann", 4: "Cid"})
    ['Ann (1)', 'Bob', 'Ann (3)', 'Cid']
    >>> names_of([1, 2, 3], {1: "red", 2: "red", 3: "blue"})
    ['1', '2', '3']
    """
    own = list(map(str, ids))
    texts = label_texts(ids, labels)
    if not are_names(texts):
        return own
    counts = Counter(texts)
    return [
        node if not text.strip() else text if counts[text] == 1 else f"{text} ({node})"
        for node, text in zip(own, texts, strict=True)
    ]


def edges_among(graph: Graph, rows: Ints) -> tuple[Ints, Ints]:
    """The edges between nodes at ``rows`` [r], weakest first: their numbers [m], and their ends [m,
    2] in ``rows``.
    """
    ends = positions_in(rows, graph.n_nodes)[graph.edges]
    among = np.flatnonzero((ends >= 0).all(axis=1))
    among = among[np.argsort(graph.weights[among], kind="stable")]
    return among, ends[among]


def backbone(ends: Ints, weights: Floats, n: int) -> Bools:
    """Which ties [m] between n nodes a map draws: all of a small graph, else the strongest of each
    node, at least one.

    >>> backbone(np.array([[0, 1], [0, 2], [1, 2]]), np.array([1.0, 2.0, 3.0]), 3).tolist()
    [True, True, True]
    """
    both = np.concatenate((ends[:, 0], ends[:, 1]))
    order = np.lexsort((-np.concatenate((weights, weights)), both))
    stronger: Ints = positions_in(order) - np.searchsorted(both[order], both)
    # The number of stronger ties at one of its ends, whichever has fewer.
    fewest = np.minimum(stronger[: len(ends)], stronger[len(ends) :])
    room = min(max(MAP_TIES, 2 * n), 3 * MAP_TIES)
    counts = np.bincount(fewest, minlength=1).cumsum()
    return fewest < max(1, int(np.searchsorted(counts, room, side="right")))
