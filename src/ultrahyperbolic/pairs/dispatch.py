"""The passes over all pairs, on the backend that suits the points: compiled for the CPU, or in torch."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Unpack, get_args

import numpy as np
import torch
from torch import Tensor

from ..checks import check_choice, check_count, check_positive
from ..geometry import Manifold
from ..geometry.arguments import Dissimilarity
from . import reference
from .kinds import kernel_space
from .reference import Backend, Nearest, NeighborCounts, PassOptions, RowStatistics

if TYPE_CHECKING:
    from .numba.reducers import MeasuredPoints

# Once loaded, the compiled passes are faster from 100 nodes on, but torch is done with 1,000 before they are loaded.
_COMPILED_NODES = 1000
_SMOOTHING = 0.1  # of the manifolds' smoothed dissimilarity


def row_sums(points: Tensor, manifold: Manifold, **options: Unpack[PassOptions]) -> Tensor:
    """Σ_{j ≠ i} d(x_i, x_j) for each of the points [n, d]: float64 [n], summed in float64 whatever their dtype."""
    return _statistics(points, manifold, options).sums


def nearest(
    points: Tensor, manifold: Manifold, k: int, *, count: int | None = None, **options: Unpack[PassOptions]
) -> Nearest:
    """The k nearest other points of each of the points [n, d], 1 <= k < n, or of the first ``count`` of them."""
    found = _statistics(points, manifold, options, k=reference.check_k(k, len(points)), count=count).nearest
    return Nearest(found.indices[:count], found.distances[:count])


def neighbor_counts(
    points: Tensor, manifold: Manifold, edges: Tensor, **options: Unpack[PassOptions]
) -> NeighborCounts:
    """For each node and each of its neighbours, how many neighbours and how many others are at most as far.

    Edges are int64 [m, 2] with i < j, each once; points are [n, d].
    """
    return _statistics(points, manifold, options, edges).counts


def row_statistics(
    points: Tensor,
    manifold: Manifold,
    edges: Tensor,
    k: int,
    thresholds: Tensor | None = None,
    **options: Unpack[PassOptions],
) -> RowStatistics:
    """`row_sums`, `nearest`, `neighbor_counts` and `nonedge_counts` in one pass.

    Distances are what costs. Without thresholds no non-edges are counted.
    """
    return _statistics(points, manifold, options, edges, reference.check_k(k, len(points)), thresholds)


def _statistics(
    points: Tensor,
    manifold: Manifold,
    options: PassOptions,
    edges: Tensor | None = None,
    k: int = 0,
    thresholds: Tensor | None = None,
    *,
    count: int | None = None,
    upper: bool = False,
) -> RowStatistics:
    prepared = _prepared(points, manifold, options, edges)
    if prepared is None:
        return reference.row_statistics(points, manifold, edges, k, thresholds, count=count, upper=upper, **options)
    from .numba.reducers import reduce_rows

    return reduce_rows(*prepared, edges, k, thresholds, count=count, upper=upper)


def pair_distances(points: Tensor, manifold: Manifold, pairs: Tensor, **options: Unpack[PassOptions]) -> Tensor:
    """d(x_i, x_j) for each row (i, j) of ``pairs``, int64 [m, 2]: [m], in the dtype of the points [n, d].

    The same numbers as in the other passes over these points, which can therefore be compared with them.
    """
    prepared = _prepared(points, manifold, options, pairs)
    if prepared is None:
        return reference.pair_distances(points, manifold, pairs, **options)
    from .numba.reducers import measure_pairs

    return torch.from_numpy(measure_pairs(prepared[0], np.ascontiguousarray(pairs.cpu().long().numpy())))


def nonedge_counts(
    points: Tensor, manifold: Manifold, edges: Tensor, thresholds: Tensor, **options: Unpack[PassOptions]
) -> Tensor:
    """How many pairs i < j that are no edge have d(x_i, x_j) <= θ, for each θ of ``thresholds``: int64 [t].

    Edges are int64 [m, 2] with i < j, each once; thresholds [t] have the dtype of the points [n, d] and any order.
    """
    return _statistics(points, manifold, options, edges, 0, thresholds, upper=True).nonedges


def usable_threads() -> int:
    """How many threads this process may run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _prepared(
    points: Tensor, manifold: Manifold, options: PassOptions, indices: Tensor | None
) -> tuple[MeasuredPoints, int | None, int] | None:
    """Points ready for the compiled passes, rows of a block and threads; None where torch does it.

    ``indices`` are of points.
    """
    backend, threads = options.get("backend", "auto"), options.get("threads")
    check_choice("backend", backend, get_args(Backend))
    if threads is not None:
        threads = check_count("threads", threads, 1)
    if backend == "reference" or (backend == "auto" and len(points) < _COMPILED_NODES):
        return None
    dissimilarity, epsilon = reference.dissimilarity_of(options)
    why = _unsuited(points, manifold, dissimilarity, indices)
    if why is not None:
        if backend == "numba":
            raise ValueError(f"backend 'numba': {why}; use 'reference'")
        return None
    epsilon = _SMOOTHING if epsilon is None else epsilon
    check_positive("epsilon", epsilon)
    block_rows = reference.block_rows_of(options)
    from .numba.reducers import prepare

    popularity, space = reference.popularity_of(options, points), kernel_space(manifold, dissimilarity)
    taken_off = None if popularity is None else popularity.numpy()
    return prepare(points.detach().numpy(), space, epsilon, taken_off), block_rows, threads or usable_threads()


def _unsuited(points: Tensor, manifold: Manifold, dissimilarity: Dissimilarity, indices: Tensor | None) -> str | None:
    """Why the compiled pass cannot be taken, which does not look whether ``indices`` are those of points."""
    if find_spec("numba") is None:
        return "numba is not installed"
    if points.device.type != "cpu" or points.dtype != torch.float64:
        return f"points must be float64 on the CPU, got {points.dtype} on {points.device}"
    try:
        kernel_space(manifold, dissimilarity)
    except ValueError as error:
        return str(error)
    if points.dim() != 2 or points.shape[1] != manifold.ambient_dim:
        return f"points must be [n, {manifold.ambient_dim}], got shape {tuple(points.shape)}"
    if indices is None or not indices.numel() or (indices.min() >= 0 and indices.max() < len(points)):
        return None
    n = len(points)
    return f"edges and pairs must be of positions from 0 to {n - 1}, got {int(indices.min())} to {int(indices.max())}"
