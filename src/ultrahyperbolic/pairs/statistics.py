"""What a pass over all pairs is asked and returns, whatever computes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict

import numpy as np

from ..arrays import Floats, Ints
from ..checks import as_integer
from ..spaces.dissimilarities import Dissimilarity

if TYPE_CHECKING:
    from ..lazy import Tensor

Backend = Literal["auto", "numba", "reference"]


class PassOptions(TypedDict, total=False):
    """The keyword options of every pass, all optional."""

    dissimilarity: Dissimilarity
    """How far apart two points are; ``"geodesic"``, D_γ, unless given."""
    epsilon: float | None
    """Of the smoothed dissimilarity."""
    backend: Backend
    """``"reference"`` is torch, ``"numba"`` compiled; ``"auto"``, unless given, is what suits the
    points.
    """
    threads: int | None
    """Of the compiled pass; default: all. The results do not depend on it."""
    popularity: Tensor | Floats | None
    """[n] of each point: the distance of a pair is d_ij less the popularity of i and of j."""


class RowArrays(NamedTuple):
    """What a pass over rows finds."""

    sums: Floats
    """[n] Σ_{j ≠ i} d(x_i, x_j)"""
    indices: Ints
    """[n, k] the nearest other points, the nearest first; of equally near ones the lower index."""
    distances: Floats
    """[n, k] how far they are."""
    nodes: Ints
    """[2m] u, for each node u and each of its neighbours v, by u and then in ascending order of
    d(u, v).
    """
    neighbors: Ints
    """[2m] how many neighbours v' of u have d(u, v') <= d(u, v), v itself included."""
    others: Ints
    """[2m] how many nodes v' ≠ u that are no neighbours of u have d(u, v') <= d(u, v)."""
    nonedges: Ints
    """[t] how many pairs without an edge are at most as far as each threshold."""
    farthest: Floats
    """[n] how far the farthest other point is; -∞ where there is none."""


class Ties(NamedTuple):
    """The edges as each node sees them, by node and then by length."""

    nodes: Ints
    """[2m]"""
    limits: Floats
    """[2m] the lengths."""
    offsets: Ints
    """[n + 1] where those of each node begin."""


def sorted_ties(edges: Ints, lengths: Floats, n: int) -> Ties:
    """The edges [m, 2] with lengths [m], or with one at either end [2m], of n nodes."""
    nodes = edges.T.ravel()
    both = lengths if len(lengths) == len(nodes) else np.tile(lengths, 2)
    order = np.lexsort((both, nodes))
    return Ties(nodes[order], both[order], np.searchsorted(nodes[order], np.arange(n + 1)))


def with_counts(
    sums: Floats,
    indices: Ints,
    distances: Floats,
    ties: Ties,
    at_most: Ints,
    nonedges: Ints,
    farthest: Floats,
) -> RowArrays:
    """The result, where ``at_most`` [2m] nodes are no farther than each neighbour, itself
    included.
    """
    nodes, limits = ties.nodes, ties.limits
    changes = (nodes[1:] != nodes[:-1]) | (limits[1:] != limits[:-1])
    ends = np.flatnonzero(np.append(changes, [True] * (len(nodes) > 0)))
    last = ends[np.searchsorted(ends, np.arange(len(nodes)))]
    neighbors = last + 1 - ties.offsets[nodes]
    others = at_most - neighbors
    return RowArrays(sums, indices, distances, nodes, neighbors, others, nonedges, farthest)


def popularity_array(options: PassOptions, n: int) -> Floats | None:
    """The popularity [n] of points as an array; raise unless each has one."""
    given = options.get("popularity")
    if given is None:
        return None
    array = np.array(
        given if isinstance(given, np.ndarray) else given.detach().cpu().numpy(), dtype=np.float64
    )
    if array.shape != (n,) or not np.isfinite(array).all():
        raise ValueError(f"popularity must be [{n}] finite numbers, got shape {array.shape}")
    return array


def check_k(k: int, n: int) -> int:
    """K as an int; raise unless 1 <= k < n."""
    k = as_integer("k", k)
    if not 1 <= k < n:
        raise ValueError(f"k must be at least 1 and below the number of points, {n}, got {k}")
    return k
