"""The passes over all pairs: compiled for the CPU, in torch on other devices and for what no
compiled loop knows.
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
from ..spaces import Space, described, manifold_of
from ..spaces.dissimilarities import SMOOTHING, check_dissimilarity
from . import reference
from .kinds import Kind, kernel_space
from .reference import MeasuredTensor
from .statistics import Backend, PassOptions, RowArrays, check_k, popularity_array

if TYPE_CHECKING:
    from .numba.reducers import MeasuredPoints

Points: TypeAlias = "Tensor | Floats"
"""[n, d]: a tensor on any device, or an array, of which most is found without torch."""

_NO_EDGES = np.empty((0, 2), dtype=np.int64)
_COMPILED = (Kind.GEODESIC, Kind.SMOOTHED, Kind.FLAT_SQUARED, Kind.FLAT_SMOOTHED)


def rows_of(
    points: Points,
    space: Space,
    edges: Ints = _NO_EDGES,
    k: int = 0,
    thresholds: Floats | None = None,
    *,
    count: int | None = None,
    **options: Unpack[PassOptions],
) -> RowArrays:
    """Sums of distances, the k nearest, counts for each neighbour and of pairs without an edge.

    Distances are what costs, so one pass answers all. Edges are [m, 2] with i < j, each once. With
    a ``count`` only the sums and the nearest of that many first points are found.
    """
    n = len(points)
    k = check_k(k, n) if k else 0
    bounds = np.empty(0) if thresholds is None else np.array(thresholds, dtype=np.float64)
    bounds[np.isnan(bounds)] = np.inf
    if count is not None:
        edges, bounds = _NO_EDGES, np.empty(0)
    _check_indices(edges, n)
    measured = _measured(points, space, options)
    if isinstance(measured, MeasuredTensor):
        return reference.reduce_rows(measured, edges, k, bounds, count)
    from .numba.reducers import reduce_rows

    threads = options.get("threads") or usable_threads()
    return reduce_rows(measured, _writable(edges), k, bounds, count, threads)


def _writable(pairs: Ints) -> Ints:
    """Pairs of one type, for which the pass is compiled once: read-only arrays have another."""
    return np.require(pairs, np.int64, ["C", "W"])


def lengths_of(points: Points, space: Space, pairs: Ints, **options: Unpack[PassOptions]) -> Floats:
    """The distances [m] of pairs [m, 2], the same numbers as in `rows_of`: they can be compared."""
    _check_indices(pairs, len(points))
    measured = _measured(points, space, options)
    if isinstance(measured, MeasuredTensor):
        return reference.measure_pairs(measured, pairs)
    from .numba.reducers import measure_pairs

    return np.asarray(measure_pairs(measured, _writable(pairs)))


def measured_from(
    points: Points, space: Space, **options: Unpack[PassOptions]
) -> Callable[[Ints], Floats]:
    """What finds the distances [k, n] from the nodes in k rows to all, those of a node to itself
    0.
    """
    measured = _measured(points, space, options)
    if isinstance(measured, MeasuredTensor):
        return partial(reference.measure_rows, measured)
    from .numba.reducers import measure_rows

    return partial(measure_rows, measured)


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


def _check_indices(pairs: Ints, n: int) -> None:
    """Raise unless pairs are of points: compiled loops do not look."""
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= n):
        given = f"{int(pairs.min())} to {int(pairs.max())}"
        raise ValueError(f"edges and pairs must be of positions from 0 to {n - 1}, got {given}")


def _measured(
    points: Points, space: Space, options: PassOptions
) -> MeasuredPoints | MeasuredTensor:
    """Points ready for the compiled passes, or for torch's."""
    backend, epsilon = options.get("backend", "auto"), options.get("epsilon")
    check_choice("backend", backend, get_args(Backend))
    if (threads := options.get("threads")) is not None:
        check_count("threads", threads, 1)
    dissimilarity = check_dissimilarity(options.get("dissimilarity", "geodesic"))
    if epsilon is not None:
        check_positive("epsilon", epsilon)
        if dissimilarity != "smoothed":
            raise ValueError(
                f"epsilon belongs to dissimilarity='smoothed', got dissimilarity={dissimilarity!r}"
            )
    popularity = popularity_array(options, len(points))
    why_not = "" if backend != "reference" else "backend is 'reference'"
    if not why_not:
        try:
            kernel = kernel_space(space, dissimilarity)
            why_not = _why_not(points, space, kernel.kind)
        except ValueError as error:
            why_not = str(error)
    if why_not:
        if backend == "numba":
            raise ValueError(f"backend 'numba': {why_not}; use 'reference'")
        tensor = tensor_of(points).detach()
        return MeasuredTensor(tensor, manifold_of(space), dissimilarity, epsilon, popularity)
    from .numba.reducers import prepare

    array = points if isinstance(points, np.ndarray) else points.detach().numpy()
    return prepare(array, kernel, SMOOTHING if epsilon is None else epsilon, popularity)


def _why_not(points: Points, space: Space, kind: int) -> str:
    """Why the compiled passes do not take points; an empty string if they do."""
    if not installed("numba"):
        return "numba is not installed"
    if kind not in _COMPILED:
        return f"no compiled pass knows {Kind(kind).name.lower().replace('_', ' ')} distances"
    device = "cpu" if isinstance(points, np.ndarray) else points.device.type
    if device != "cpu" or str(points.dtype).removeprefix("torch.") != "float64":
        return f"points must be float64 on the CPU, got {points.dtype} on {device}"
    if points.ndim != 2 or points.shape[1] != space.ambient_dim:
        raise ValueError(
            f"points must be [n, {space.ambient_dim}], got shape {tuple(points.shape)}"
        )
    return ""
