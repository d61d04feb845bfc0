"""What the nodes of a map can be coloured by: communities, and the columns of the table of nodes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints, positions_in
from ..embedding import Embedding
from ..embedding.answers import label_texts
from ..evaluation.clusters import clusters
from ..graph import Graph
from .names import are_names, labels_of

COMMUNITIES = "community"
# Okabe and Ito's colours and others that go with them; they read on white and on black.
PALETTE = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8c6bb1", "#b3a100", "#8c564b", "#2ca7a0",
)  # fmt: skip
REST = "#8b949e"
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
    found: list[Column] = [_by_size(COMMUNITIES, communities(embedding, rows), numbered=True)]
    for name, values in ((name, of[rows]) for name, of in embedding.attributes.items() if name != "cluster"):
        if values.dtype.kind == "f" or (values.dtype.kind in "iu" and len(np.unique(values)) > _FEW):
            found.append(Numbers(name, values.astype(np.float64)))
        else:
            found.append(_by_size(name, values))
    texts = label_texts([embedding.ids[int(row)] for row in rows], labels_of(embedding, graph))
    if any(texts) and not are_names(texts):
        found.append(_by_size("label", np.array(texts, dtype=object)))
    return found


def communities(embedding: Embedding, rows: Ints) -> Ints:
    """The community of each node at ``rows``: by the column ``cluster`` where there is one, else by distance."""
    known = embedding.attributes.get("cluster")
    if known is not None:
        return np.unique(known[rows], return_inverse=True)[1].astype(np.int64)
    if len(rows) == len(embedding):
        return embedding.cluster()[rows]
    popularity = None if embedding.popularity is None else embedding.popularity[rows]
    return clusters(embedding.points[rows], embedding.manifold, popularity=popularity)


def _by_size(name: str, values: NDArray[np.generic] | Ints, *, numbered: bool = False) -> Kinds:
    """Values as kinds, the most frequent first; numbered ones are called 1, 2, …"""
    texts = values if numbered else np.array([str(value) for value in values.tolist()], dtype=object)
    kinds, codes, counts = np.unique(texts, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    named = [str(k + 1) for k in range(len(kinds))] if numbered else [str(kinds[k]) for k in order]
    return Kinds(name, named, positions_in(order)[codes])
