"""The passes over all pairs, on the backend that suits the points: compiled for the CPU, in numpy
or in torch.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, Unpack, get_args

import numpy as np

from ..arrays import Floats, Ints
from ..checks import check_choice, check_count, check_positive
from ..lazy import Tensor, installed, torch
from ..spaces import Geometry, Space, described, manifold_of
from ..spaces.dissimilarities import SMOOTHING, Dissimilarity
from . import reference
from .arrays import RowArrays, pair_lengths, row_arrays, table_of_rows
from .kinds import KernelSpace, kernel_space
from .reference import Backend, Nearest, NeighborCounts, PassOptions, RowStatistics

if TYPE_CHECKING:
    from ..geometry import Manifold
    from .numba.reducers import MeasuredPoints

Points: TypeAlias = "Tensor | Floats"
"""[n, d]: a tensor on any device, or an array, of which most is found without torch."""

# Once loaded, the compiled passes are faster from 100 nodes on, but others are done with 1,000
# before they are loaded.
_COMPILED_NODES = 1000
_NO_EDGES = np.empty((0, 2), dtype=np.int64)
_USUAL = PassOptions(dissimilarity="geodesic", epsilon=None, backend="auto", popularity=None)


def row_sums(points: Tensor, manifold: Manifold, **options: Unpack[PassOptions]) -> Tensor:
    """Σ_{j ≠ i} d(x_i, x_j) for each of the points [n, d]: float64 [n], summed in float64 whatever
    their dtype.
    """
    return _statistics(points, manifold, options).sums


def nearest(
    points: Tensor,
    manifold: Manifold,
    k: int,
    *,
    count: int | None = None,
    **options: Unpack[PassOptions],
) -> Nearest:
    """The k nearest other points of each of the points [n, d], 1 <= k < n, or of the first
    ``count`` of them.
    """
    found = _statistics(
        points, manifold, options, k=reference.check_k(k, len(points)), count=count
    ).nearest
    return Nearest(found.indices[:count], found.distances[:count])


def neighbor_counts(
    points: Tensor, manifold: Manifold, edges: Tensor, **options: Unpack[PassOptions]
) -> NeighborCounts:
    """For each node and each of its neighbours, how many neighbours and how many others are at most
    as far.

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
    return _statistics(
        points, manifold, options, edges, reference.check_k(k, len(points)), thresholds
    )


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
    ends = None if edges is None else edges.cpu().long().numpy()
    prepared = _prepared(points, manifold, options, ends)
    if prepared is None:
        return reference.row_statistics(
            points, manifold, edges, k, thresholds, count=count, upper=upper, **options
        )
    from .numba.reducers import reduce_rows

    bounds = None if thresholds is None else thresholds.detach().cpu().double().numpy()
    found = reduce_rows(*prepared, ends, k, bounds, count=count, upper=upper)
    sums, indices, distances, *counts, nonedges = map(torch.from_numpy, found)
    return RowStatistics(sums, Nearest(indices, distances), NeighborCounts(*counts), nonedges)


def pair_distances(
    points: Tensor, manifold: Manifold, pairs: Tensor, **options: Unpack[PassOptions]
) -> Tensor:
    """d(x_i, x_j) for each row (i, j) of ``pairs``, int64 [m, 2]: [m], in the dtype of the points
    [n, d].

    The same numbers as in the other passes over these points, which can therefore be compared with
    them.
    """
    ends = np.ascontiguousarray(pairs.cpu().long().numpy())
    prepared = _prepared(points, manifold, options, ends)
    if prepared is None:
        return reference.pair_distances(points, manifold, pairs, **options)
    from .numba.reducers import measure_pairs

    return torch.from_numpy(measure_pairs(prepared[0], ends))


def nonedge_counts(
    points: Tensor,
    manifold: Manifold,
    edges: Tensor,
    thresholds: Tensor,
    **options: Unpack[PassOptions],
) -> Tensor:
    """How many pairs i < j that are no edge have d(x_i, x_j) <= θ, for each θ of ``thresholds``:
    int64 [t].

    Edges are int64 [m, 2] with i < j, each once; thresholds [t] have the dtype of the points [n, d]
    and any order.
    """
    return _statistics(points, manifold, options, edges, 0, thresholds, upper=True).nonedges


def rows_of(
    points: Points,
    space: Space,
    edges: Ints = _NO_EDGES,
    k: int = 0,
    thresholds: Floats | None = None,
    *,
    count: int | None = None,
    upper: bool = False,
    **options: Unpack[PassOptions],
) -> RowArrays:
    """`row_statistics` in arrays; with ``count`` only sums and nearest of the first rows, with
    ``upper`` nonedges.
    """
    k = reference.check_k(k, len(points)) if k else 0
    if (prepared := _prepared(points, space, options, edges)) is not None:
        from .numba.reducers import reduce_rows

        return reduce_rows(*prepared, edges, k, thresholds, count=count, upper=upper)
    if isinstance(points, np.ndarray) and (geometry := _plain(points, space, options)) is not None:
        return row_arrays(
            points, geometry, edges, k, thresholds, reference.popularity_array(options, len(points))
        )
    tensor, ties = tensor_of(points), torch.tensor(edges, dtype=torch.int64)
    bounds = None if thresholds is None else torch.tensor(thresholds).to(tensor)
    sums, near, counts, nonedges = reference.row_statistics(
        tensor, manifold_of(space), ties, k, bounds, count=count, upper=upper, **options
    )
    return RowArrays(
        *(part.cpu().numpy() for part in (sums, near[0], near[1].double(), *counts, nonedges))
    )


def lengths_of(points: Points, space: Space, pairs: Ints, **options: Unpack[PassOptions]) -> Floats:
    """`pair_distances` in arrays."""
    if (prepared := _prepared(points, space, options, pairs)) is not None:
        from .numba.reducers import measure_pairs

        return np.asarray(measure_pairs(prepared[0], np.array(pairs, order="C")))
    if isinstance(points, np.ndarray) and (geometry := _plain(points, space, options)) is not None:
        return pair_lengths(
            points, geometry, pairs, reference.popularity_array(options, len(points))
        )
    ends = torch.tensor(np.ascontiguousarray(pairs), dtype=torch.int64)
    found = reference.pair_distances(tensor_of(points), manifold_of(space), ends, **options)
    return np.asarray(found.double().cpu().numpy())


def measured_from(
    points: Points, space: Space, **options: Unpack[PassOptions]
) -> Callable[[Ints], Floats]:
    """What finds the distances [k, n] from the nodes in k rows to all, those of a node to itself
    0.
    """
    whole: Callable[[Ints], Floats]
    if (prepared := _prepared(points, space, options, None)) is not None:
        from .numba.reducers import measure_rows

        whole = partial(measure_rows, prepared[0])
    elif (
        isinstance(points, np.ndarray) and (geometry := _plain(points, space, options)) is not None
    ):
        whole = partial(
            table_of_rows, points, geometry, reference.popularity_array(options, len(points))
        )
    else:
        whole = partial(reference.table_of_rows, tensor_of(points), manifold_of(space), options)

    def found(rows: Ints) -> Floats:
        distances = whole(rows)
        distances[np.arange(len(rows)), rows] = 0.0
        return distances

    return found


def distances_from(space: Space, here: Floats, there: Floats) -> Floats:
    """[n] the distances of a point [d] to points [n, d]: D_γ, in flat space the squared
    distance.
    """
    if (geometry := described(space)) is not None:
        return geometry.distances(here, there)
    return np.asarray(manifold_of(space).dissimilarity(tensor_of(here), tensor_of(there)).numpy())


def tensor_of(points: Points) -> Tensor:
    """Points as a tensor; of an array a copy, as a tensor cannot be read-only."""
    return torch.tensor(points) if isinstance(points, np.ndarray) else points


def usable_threads() -> int:
    """How many threads this process may run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _plain(points: Floats, space: Space, options: PassOptions) -> Geometry | None:
    """The geometry of few points on which numpy finds what is asked for; None where torch has
    to.
    """
    few = len(points) < _COMPILED_NODES and points.dtype == np.float64
    return space if _is_usual(options) and few and isinstance(space, Geometry) else None


def _is_usual(options: PassOptions) -> bool:
    return {**_USUAL, **options, "popularity": None} == _USUAL


def _prepared(
    points: Points, space: Space, options: PassOptions, indices: Ints | None
) -> tuple[MeasuredPoints, int | None, int] | None:
    """Points ready for the compiled passes, rows of a block and threads; None where others do it.

    ``indices`` are of points.
    """
    backend, threads = options.get("backend", "auto"), options.get("threads")
    check_choice("backend", backend, get_args(Backend))
    if threads is not None:
        threads = check_count("threads", threads, 1)
    # Numpy has few points finished before the compiled passes are loaded, and torch where it is
    # loaded anyway.
    compiled = len(points) >= _COMPILED_NODES or (
        isinstance(points, np.ndarray) and isinstance(space, Geometry) and not _is_usual(options)
    )
    if backend == "reference" or (backend == "auto" and not compiled):
        return None
    dissimilarity, epsilon = reference.dissimilarity_of(options)
    try:
        kernel = _compiled_for(points, space, dissimilarity, indices)
    except ValueError as why:
        if backend == "numba":
            raise ValueError(f"backend 'numba': {why}; use 'reference'") from None
        return None
    epsilon = SMOOTHING if epsilon is None else epsilon
    check_positive("epsilon", epsilon)
    block_rows = reference.block_rows_of(options)
    from .numba.reducers import prepare

    array = points if isinstance(points, np.ndarray) else points.detach().numpy()
    popularity = reference.popularity_array(options, len(points))
    return prepare(array, kernel, epsilon, popularity), block_rows, threads or usable_threads()


def _compiled_for(
    points: Points, space: Space, dissimilarity: Dissimilarity, indices: Ints | None
) -> KernelSpace:
    """The space for the compiled pass, which does not look whether ``indices`` are those of points;
    or why not.
    """
    if not installed("numba"):
        raise ValueError("numba is not installed")
    device = "cpu" if isinstance(points, np.ndarray) else points.device.type
    if device != "cpu" or str(points.dtype).removeprefix("torch.") != "float64":
        raise ValueError(f"points must be float64 on the CPU, got {points.dtype} on {device}")
    kernel, n = kernel_space(space, dissimilarity), len(points)
    if points.ndim != 2 or points.shape[1] != space.ambient_dim:
        raise ValueError(
            f"points must be [n, {space.ambient_dim}], got shape {tuple(points.shape)}"
        )
    if indices is not None and len(indices) and (indices.min() < 0 or indices.max() >= n):
        found = f"{int(indices.min())} to {int(indices.max())}"
        raise ValueError(f"edges and pairs must be of positions from 0 to {n - 1}, got {found}")
    return kernel
