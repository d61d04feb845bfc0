"""Communities among the points: groups of nodes that are near each other by D_γ."""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple, Unpack

import numpy as np
import torch
from torch import Tensor

from ..arrays import Floats, Ints
from ..checks import check_count
from ..geometry import Geometry, Manifold
from ..pairs import PassOptions, nearest
from ..pairs.reference import popularity_of

# Where nobody says how many pairs are joined: so many for each node.
_USUAL = 5
# Of each node so many of the nearest are looked at for one that an average node is joined with, and no more than that
# many: a pair that both ends have so many nearer ones than is deep inside a community.
_SPARE, _FEWEST, _MOST = 4, 16, 64
# Searches, each of which takes nodes in another order; the best is kept.
_SEARCHES = 4
# A move has to gain more than rounding could.
_GAIN = 1e-12


class _Links(NamedTuple):
    """A weighted graph for the search: pairs i < j, each once, and what lies within a node."""

    n: int
    first: Ints
    second: Ints
    weights: Floats
    within: Floats
    """[n] weights of pairs that both ends of are in this node."""

    @property
    def strength(self) -> Floats:
        """[n] the weights at each node; those within count twice, once for each end."""
        ends, twice = np.concatenate((self.first, self.second)), np.tile(self.weights, 2)
        found: Floats = np.bincount(ends, weights=twice, minlength=self.n) + 2.0 * self.within
        return found


def clusters(
    points: Tensor | Floats,
    geometry: Geometry | Manifold,
    *,
    pairs: int | None = None,
    near: tuple[Ints, Floats] | None = None,
    **options: Unpack[PassOptions],
) -> Ints:
    """The community of each of the points [n, d]: int64 [n], numbered from 0, the largest, on.

    The nearest ``pairs`` of all are joined, and each node with the nearest to it. In that graph, the communities are
    those of the greatest modularity that Louvain's method finds (Blondel et al. 2008): how many there are follows from
    the graph. Same points, same communities. Small groups beside much larger ones may be merged, as modularity does.

    Parameters
    ----------
    points
        [n, d].
    geometry
        Where the points are, as a geometry or as a manifold.
    pairs
        How many pairs are joined: as many as the graph has ties is best; by default five for each node.
    near
        The nearest of each point and how far they are, `width_of` columns each, where they are known: it saves a pass.
    options
        Those of `ultrahyperbolic.pairs.PassOptions`; with a popularity, nearest are the pairs of the least
        distance less that of both ends.

    >>> spots = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2, 5.3])[:, None]
    >>> clusters(spots, Geometry.of_flat(1), pairs=9).tolist()
    [1, 1, 1, 0, 0, 0, 0]
    """
    manifold = geometry.manifold if isinstance(geometry, Geometry) else geometry
    given = points if isinstance(points, Tensor) else torch.from_numpy(np.array(points, dtype=np.float64))
    n = len(given)
    if n < 2:
        return np.zeros(n, dtype=np.int64)
    count = _USUAL * n if pairs is None else check_count("pairs", pairs, 0)
    if near is None:
        found = nearest(given, manifold, width_of(n, count), **options)
        near = found.indices.cpu().numpy(), found.distances.double().cpu().numpy()
    popularity = popularity_of(options, given)
    first, second = _nearest_pairs(*near, count, None if popularity is None else popularity.double().cpu().numpy())
    return _by_size(_best(_Links(n, first, second, np.ones(len(first)), np.zeros(n))))


def width_of(n: int, pairs: int) -> int:
    """How many of the nearest of each of n points are looked at, to join so many pairs."""
    return min(n - 1, max(_FEWEST, min(_MOST, _SPARE * math.ceil(2 * pairs / max(1, n)))))


def _nearest_pairs(near: Ints, apart: Floats, count: int, offsets: Floats | None) -> tuple[Ints, Ints]:
    """The nearest pairs i < j of all, ``count`` of them, and beside these that of each node with its nearest."""
    n, width = near.shape
    if offsets is not None:
        apart = apart - offsets[near] - offsets[:, None]
    tails = np.repeat(np.arange(n), width).reshape(n, width)
    codes, where = np.unique(np.minimum(tails, near) * n + np.maximum(tails, near), return_index=True)
    kept = np.zeros(len(codes), dtype=bool)
    kept[np.argsort(apart.ravel()[where], kind="stable")[:count]] = True
    own = np.minimum(tails[:, 0], near[:, 0]) * n + np.maximum(tails[:, 0], near[:, 0])
    kept[np.searchsorted(codes, own)] = True
    return codes[kept] // n, codes[kept] % n


def _best(links: _Links) -> Ints:
    """The groups [n] of the greatest modularity, of searches that take nodes in different orders."""
    best, most = np.zeros(links.n, dtype=np.int64), -math.inf
    rng = np.random.default_rng(0)
    for _ in range(_SEARCHES):
        found = _louvain(links, rng)
        modularity = _modularity(links, found)
        if modularity > most + _GAIN:
            best, most = found, modularity
    return best


def _louvain(links: _Links, rng: np.random.Generator) -> Ints:
    """The group of each node [n]: nodes move to the group where modularity gains most, then groups move as nodes do.

    Then nodes move again, and so on until nothing does.
    """
    member, most = np.arange(links.n), -math.inf
    while True:
        moved = _moved(links, member, rng)
        level = _merged(links, moved, moved.max() + 1)
        while True:
            group = _moved(level, np.arange(level.n), rng)
            moved = group[moved]
            if group.max() + 1 == level.n:
                break
            level = _merged(level, group, group.max() + 1)
        modularity = _modularity(links, moved)
        if modularity <= most + _GAIN:
            return member
        member, most = moved, modularity


def _modularity(links: _Links, group: Ints) -> float:
    """The share of weights within groups, less what chance would have there."""
    whole = max(float(links.weights.sum()), _GAIN)
    inside = links.weights[group[links.first] == group[links.second]].sum() / whole
    totals = np.bincount(group, weights=links.strength) / (2.0 * whole)
    return float(inside - np.square(totals).sum())


def _merged(links: _Links, group: Ints, n: int) -> _Links:
    """The graph of the groups."""
    low, high = np.sort((group[links.first], group[links.second]), axis=0)
    inside = low == high
    within = np.bincount(group, weights=links.within, minlength=n).astype(np.float64)
    within += np.bincount(low[inside], weights=links.weights[inside], minlength=n)
    codes, where = np.unique(low[~inside] * n + high[~inside], return_inverse=True)
    weights = np.bincount(where, weights=links.weights[~inside], minlength=len(codes)).astype(np.float64)
    return _Links(n, codes // n, codes % n, weights, within)


def _moved(links: _Links, start: Ints, rng: np.random.Generator) -> Ints:
    """Groups [n] from which no move of a single node gains, from those of the start on; nodes are taken at random."""
    tails = np.concatenate((links.first, links.second))
    order = np.argsort(tails, kind="stable")
    offsets = np.searchsorted(tails[order], np.arange(links.n + 1)).tolist()
    heads: list[int] = np.concatenate((links.second, links.first))[order].tolist()
    weights: list[float] = np.tile(links.weights, 2)[order].tolist()
    degree: list[float] = links.strength.tolist()
    whole = max(float(links.strength.sum()), _GAIN)
    group: list[int] = start.tolist()
    total: list[float] = np.bincount(start, weights=links.strength, minlength=links.n).tolist()
    waiting, queue = [True] * links.n, deque(rng.permutation(links.n).tolist())
    while queue:
        node = queue.popleft()
        waiting[node] = False
        here, own = group[node], degree[node]
        near = range(offsets[node], offsets[node + 1])
        joined = {here: 0.0}
        for at in near:
            other = group[heads[at]]
            joined[other] = joined.get(other, 0.0) + weights[at]
        total[here] -= own
        best, most = here, joined[here] - own * total[here] / whole
        for other, weight in joined.items():
            gain = weight - own * total[other] / whole
            if gain > most + _GAIN * whole:
                best, most = other, gain
        total[best] += own
        if best == here:
            continue
        group[node] = best
        for at in near:
            if not waiting[heads[at]] and group[heads[at]] != best:
                waiting[heads[at]] = True
                queue.append(heads[at])
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def _by_size(group: Ints) -> Ints:
    """Groups numbered from the largest on; of equal ones, that of the first node is first."""
    _, first, index, counts = np.unique(group, return_index=True, return_inverse=True, return_counts=True)
    number = np.empty(len(first), dtype=np.int64)
    number[np.lexsort((first, -counts))] = np.arange(len(first))
    found: Ints = number[index]
    return found
