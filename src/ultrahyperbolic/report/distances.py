"""How far apart edges and non-edges are, and which kind of geodesic joins them."""

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..arrays import Floats, Ints
from ..evaluation.hierarchy import pairs_within
from ..evaluation.inputs import are_edges
from ..geometry import Geometry, Manifold
from ..graph import Graph
from ..pairs import pair_distances

KINDS = {
    "space-like": "joined by a path that runs away, as in hyperbolic space; any distance is possible",
    "null": "in the same place, or on each other’s light cone: distance 0",
    "time-like": "joined by a path that closes, as on a sphere; the distance is below π√|β|",
    "joined by no geodesic": "no shortest path joins them; D_γ continues linearly from π/2 √|β|",
}
_BINS = 48
_DRAWN = 500_000
_CHUNK = 1 << 20
_LONG = 8


class LongTie(NamedTuple):
    """A strong edge that came out long."""

    ends: tuple[int, int]  # rows
    weight: float
    length: float
    longer_than: float  # the share of the edges that are shorter


class Distances(NamedTuple):
    """Histograms and kinds of the edges and of the other pairs."""

    bins: Floats  # [b + 1]; the last bin holds what is farther too
    edges: Ints  # [b] how many edges fall into each
    others: Ints  # [b] how many pairs without an edge; all pairs where there is no graph
    edge_kinds: Ints  # [4] how many edges are of each of KINDS
    other_kinds: Ints  # [4]
    all_edges: bool  # whether every edge was looked at; else _DRAWN were drawn
    all_pairs: bool  # whether every pair was
    long: list[LongTie]  # the strong edges that came out longest, the longest first


def distances(points: Floats, manifold: Manifold, graph: Graph | None, popularity: Floats | None) -> Distances:
    """All edges and all pairs; where there are more than ``_DRAWN``, that number of them."""
    measured = partial(_measured, torch.from_numpy(np.array(points)), manifold, popularity)
    n = len(points)
    edges, weights = (np.empty((0, 2), np.int64), np.empty(0)) if graph is None else (graph.edges, graph.weights)
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
    # Equal bins from 0, or the least distance, to one that all but a thousandth of the pairs are within.
    known = [lengths for lengths, _ in (tied, free) if len(lengths)]
    last = max((float(np.quantile(part, 0.999)) for part in known), default=0.0)
    first = min([0.0, *(float(part.min()) for part in known)])
    bins = np.linspace(first, last if last > first else first + 1.0, _BINS + 1)
    counts = [np.histogram(np.minimum(lengths, bins[-1]), bins)[0] for lengths, _ in (tied, free)]
    counts += [np.bincount(kinds, minlength=len(KINDS)) for _, kinds in (tied, free)]
    return Distances(
        bins, counts[0], counts[1], counts[2], counts[3], all_edges, all_pairs, _long(edges, weights, tied[0])
    )


def _long(edges: Ints, weights: Floats, lengths: NDArray[np.float32]) -> list[LongTie]:
    """Of the strongest quarter of the edges, those that are longer than half of all; the weakest are never strong."""
    stronger = weights > weights.min(initial=np.inf)
    if not stronger.any():
        return []
    shorter = np.searchsorted(np.sort(lengths), lengths) / len(lengths)
    strong = np.flatnonzero(stronger & (weights >= np.quantile(weights, 0.75)) & (shorter >= 0.5))
    strong = strong[np.argsort(-lengths[strong], kind="stable")][:_LONG]
    return [
        LongTie((int(edges[e, 0]), int(edges[e, 1])), *map(float, (weights[e], lengths[e], shorter[e]))) for e in strong
    ]


def _measured(
    points: Tensor, manifold: Manifold, popularity: Floats | None, chunks: Iterable[Ints]
) -> tuple[NDArray[np.float32], Ints]:
    """Distances of pairs and their kinds, as positions in ``KINDS``."""
    lengths, kinds = [np.empty(0, np.float32)], [np.empty(0, np.int8)]
    for pairs in chunks:
        where = torch.tensor(pairs)
        lengths.append(pair_distances(points, manifold, where, popularity=popularity).numpy().astype(np.float32))
        kinds.append(_kinds(points[where[:, 0]], points[where[:, 1]], manifold))
    return np.concatenate(lengths), np.concatenate(kinds).astype(np.int64)


def _kinds(x: Tensor, y: Tensor, manifold: Manifold) -> NDArray[np.int8]:
    """Positions in ``KINDS`` of pairs of points [m, d], from ⟨x, y⟩; null is what rounding cannot tell from it."""
    geometry = Geometry.of_manifold(manifold)
    if geometry is None or geometry.is_flat:
        return (x == y).all(-1).to(torch.int8).numpy()
    radius_square = -geometry.beta
    along = manifold.inner(x, y)
    rounding = 4 * manifold.ambient_dim * torch.finfo(x.dtype).eps * x.norm(dim=-1) * y.norm(dim=-1)
    kind = torch.where(along < -radius_square, 0, torch.where(along < radius_square, 2, 3))
    # A definite metric has one kind of geodesic; antipodes of a sphere are joined by all of them.
    if geometry.q == 0:
        kind[:] = 0
    elif geometry.p == 0:
        kind[:] = 2
    kind[(along + radius_square).abs() <= rounding] = 1
    return kind.to(torch.int8).numpy()
