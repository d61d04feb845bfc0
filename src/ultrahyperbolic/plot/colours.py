"""What the nodes of a map can be coloured by: communities, and the columns of the table of nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .layout import Floats, Ints, Links
from .names import are_names, label_texts, labels_of

if TYPE_CHECKING:
    from ..embedding import Embedding
    from ..graph import Graph

COMMUNITIES = "community"
# Okabe and Ito's colours and others that go with them; they read on white and on black.
PALETTE = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8c6bb1", "#b3a100", "#8c564b", "#2ca7a0",
)  # fmt: skip
REST = "#8b949e"
_FEW = 12  # whole numbers of at most so many values are kinds


@dataclass(frozen=True)
class Kinds:
    """A column of kinds: each node is of one."""

    name: str
    kinds: Sequence[str]
    """The largest first; nodes of none are of the kind ""."""
    codes: Ints
    """[n] positions in ``kinds``."""


@dataclass(frozen=True)
class Numbers:
    """A column of numbers."""

    name: str
    values: Floats
    """[n], NaN where a node has none."""


Column = Kinds | Numbers


def columns(embedding: Embedding, graph: Graph | None, rows: Ints, links: Links) -> list[Column]:
    """What the nodes at ``rows`` can be coloured by, communities first; ``links`` are the map's."""
    found: list[Column] = [_by_size(COMMUNITIES, communities(embedding, rows, links), numbered=True)]
    attributes: Mapping[str, NDArray[np.generic]] = getattr(embedding, "attributes", {})
    found += [_column(name, values[rows]) for name, values in attributes.items() if name != "cluster"]
    texts = label_texts([embedding.ids[int(row)] for row in rows], labels_of(embedding, graph))
    if any(texts) and not are_names(texts):
        found.append(_by_size("label", np.array(texts, dtype=object)))
    return found


def communities(embedding: Embedding, rows: Ints, links: Links) -> Ints:
    """The community of each node at ``rows``: the embedding's own, else, as of a part, found on the map's links."""
    known = getattr(embedding, "attributes", {}).get("cluster")
    if known is None and len(rows) == len(embedding) and (find := getattr(embedding, "cluster", None)) is not None:
        known = find()
    if known is None:
        return _grouped(len(rows), links)
    return np.unique(known[rows], return_inverse=True)[1].astype(np.int64)


def _column(name: str, values: NDArray[np.generic]) -> Column:
    if values.dtype.kind == "f" or (values.dtype.kind in "iu" and len(np.unique(values)) > _FEW):
        return Numbers(name, values.astype(np.float64))
    return _by_size(name, values)


def _by_size(name: str, values: NDArray[np.generic] | Ints, *, numbered: bool = False) -> Kinds:
    """Values as kinds, the most frequent first; numbered ones are called 1, 2, …"""
    texts = values if numbered else np.array([str(value) for value in values.tolist()], dtype=object)
    kinds, codes, counts = np.unique(texts, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    place = np.empty(len(kinds), np.int64)
    place[order] = np.arange(len(kinds))
    named = [str(k + 1) for k in range(len(kinds))] if numbered else [str(kinds[k]) for k in order]
    return Kinds(name, named, place[codes])


def _grouped(n: int, links: Links) -> Ints:
    """Communities of high modularity: nodes move to the group they are most linked to, then groups do (Louvain)."""
    group = np.arange(n)
    while True:
        moved = _moved(len(np.unique(group)), Links(group[links.ends], links.weights))
        if moved is None:
            return group
        group = moved[group]


def _moved(n: int, links: Links) -> Ints | None:
    """One round of moves among n groups: the new group of each, or None where none gains by a move."""
    beside: list[dict[int, float]] = [{} for _ in range(n)]
    mass = np.bincount(links.ends.ravel(), np.repeat(links.weights, 2), n).tolist()
    for (a, b), weight in zip(links.ends.tolist(), links.weights.tolist(), strict=True):
        if a != b:
            beside[a][b] = beside[a].get(b, 0.0) + weight
            beside[b][a] = beside[b].get(a, 0.0) + weight
    group, total, twice = list(range(n)), list(mass), max(sum(mass), 1e-300)
    changed = True
    for _ in range(30):
        if not changed:
            break
        changed = False
        for node in range(n):
            shares: dict[int, float] = {group[node]: 0.0}
            for other, weight in beside[node].items():
                shares[group[other]] = shares.get(group[other], 0.0) + weight
            total[group[node]] -= mass[node]
            gains = {to: share - total[to] * mass[node] / twice for to, share in shares.items()}
            best = max(gains, key=lambda to: (gains[to], to == group[node], -to))
            changed |= best != group[node]
            group[node] = best
            total[best] += mass[node]
    found = np.unique(group, return_inverse=True)[1].astype(np.int64)
    return found if found.max(initial=-1) + 1 < n else None
