"""How far apart the ends of ties and other pairs are, and which strong ties came out long."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..evaluation.hierarchy import pairs_within
from ..evaluation.inputs import are_edges
from ..graph import Graph
from ..pairs import lengths_of
from ..spaces import Space

_BINS = 48
_DRAWN = 500_000  # ties, and other pairs, at most
_CHUNK = 1 << 20  # ties that are measured at once
_LONG = 8


class LongTie(NamedTuple):
    """A strong edge that came out long."""

    ends: tuple[int, int]  # rows
    weight: float
    length: float
    longer_than: float  # the share of the edges that are shorter


class Distances(NamedTuple):
    """Histograms of the edges and of the other pairs."""

    bins: Floats  # [b + 1]; the last bin holds what is farther too
    edges: Ints  # [b] how many edges fall into each
    others: Ints  # [b] how many pairs without an edge; all pairs where there is no graph
    all_edges: bool  # whether every edge was looked at; else _DRAWN were drawn
    all_pairs: bool  # whether every pair was
    long: list[LongTie]  # the strong edges that came out longest, the longest first


def distances(
    points: Floats, manifold: Space, graph: Graph | None, popularity: Floats | None
) -> Distances:
    """All edges and all pairs; where there are more than ``_DRAWN``, that number of them."""

    def measured(chunks: Iterable[Ints]) -> NDArray[np.float32]:
        lengths = [np.empty(0, np.float32)]
        for pairs in chunks:
            found = lengths_of(points, manifold, pairs, popularity=popularity)
            lengths.append(found.astype(np.float32))
        return np.concatenate(lengths)

    n = len(points)
    edges, weights = (
        (np.empty((0, 2), np.int64), np.empty(0)) if graph is None else (graph.edges, graph.weights)
    )
    all_edges, all_pairs = len(edges) <= _DRAWN, n * (n - 1) // 2 <= _DRAWN
    rng = np.random.default_rng(0)
    if not all_edges:
        drawn = rng.integers(len(edges), size=_DRAWN)
        edges, weights = edges[drawn], weights[drawn]
    tied = measured(edges[k : k + _CHUNK] for k in range(0, len(edges), _CHUNK))
    pairs: Iterable[Ints] = pairs_within(np.zeros(n, np.int64))
    if not all_pairs:
        node = rng.integers(n, size=_DRAWN)
        pairs = [np.column_stack((node, (node + rng.integers(1, n, size=_DRAWN)) % n))]
    free = measured(some if graph is None else some[~are_edges(graph, *some.T)] for some in pairs)
    # Equal bins from 0, or the least distance, to one that all but a thousandth of the pairs are
    # within.
    known = [lengths for lengths in (tied, free) if len(lengths)]
    last = max((float(np.quantile(part, 0.999)) for part in known), default=0.0)
    first = min([0.0, *(float(part.min()) for part in known)])
    bins = np.linspace(first, last if last > first else first + 1.0, _BINS + 1)
    near, far = (np.histogram(np.minimum(part, bins[-1]), bins)[0] for part in (tied, free))
    return Distances(bins, near, far, all_edges, all_pairs, _long(edges, weights, tied))


def _long(edges: Ints, weights: Floats, lengths: NDArray[np.float32]) -> list[LongTie]:
    """Of the strongest quarter of the edges, those that are longer than half of all; the weakest
    are never strong.
    """
    stronger = weights > weights.min(initial=np.inf)
    if not stronger.any():
        return []
    shorter = np.searchsorted(np.sort(lengths), lengths) / len(lengths)
    strong = np.flatnonzero(stronger & (weights >= np.quantile(weights, 0.75)) & (shorter >= 0.5))
    strong = strong[np.argsort(-lengths[strong], kind="stable")][:_LONG]
    return [
        LongTie((int(a), int(b)), *map(float, (weights[e], lengths[e], shorter[e])))
        for e, (a, b) in zip(strong, edges[strong], strict=True)
    ]
