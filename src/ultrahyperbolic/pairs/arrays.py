"""The pass over all pairs of few points in numpy, by D_γ: torch or compiled loops would take longer
to load.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints
from ..spaces import Geometry


class RowArrays(NamedTuple):
    """What a pass over rows finds, as `pairs.RowStatistics` has it, in arrays."""

    sums: Floats
    """[n]"""
    indices: Ints
    """[n, k] the nearest."""
    distances: Floats
    """[n, k] how far they are."""
    nodes: Ints
    """[2m] those with neighbours, and"""
    neighbors: Ints
    """[2m] how many neighbours, and"""
    others: Ints
    """[2m] how many others are at most as far as each."""
    nonedges: Ints
    """[t]"""


def pair_lengths(
    points: Floats, geometry: Geometry, pairs: Ints, popularity: Floats | None
) -> Floats:
    """The distances [m] of pairs [m, 2], the same from either end; +∞ for what is not a number."""
    i, j = np.sort(pairs, axis=1).T
    found = geometry.distances(points[i], points[j])
    found = np.where(np.isnan(found), np.inf, found)
    return found if popularity is None else found - (popularity[i] + popularity[j])


def table_of_rows(
    points: Floats, geometry: Geometry, popularity: Floats | None, rows: Ints
) -> Floats:
    """The distances [k, n] from the nodes in k rows to all."""
    table = np.stack([geometry.distances(points[row], points) for row in rows.tolist()])
    return table if popularity is None else table - (popularity[rows][:, None] + popularity)


def row_arrays(
    points: Floats,
    geometry: Geometry,
    edges: Ints,
    k: int,
    thresholds: Floats | None,
    popularity: Floats | None,
) -> RowArrays:
    """What `pairs.row_statistics` finds."""
    n = len(points)
    i, j = np.triu_indices(n, 1)
    lengths = pair_lengths(points, geometry, np.column_stack((i, j)), popularity)
    table, tied = np.zeros((n, n)), np.zeros((n, n), dtype=bool)
    table[i, j] = table[j, i] = lengths
    first, second = edges.T
    tied[first, second] = tied[second, first] = True
    sums = table.sum(1)
    np.fill_diagonal(table, np.nan)  # which is sorted to the end
    indices = np.argsort(table, axis=1, kind="stable")[:, :k]
    neighbors, others = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for row, mine in zip(table, tied, strict=True):
        near = np.sort(row[mine])
        neighbors.append(np.searchsorted(near, near, side="right"))
        others.append(np.searchsorted(np.sort(row[~mine]), near, side="right"))
    free = np.sort(lengths[~tied[i, j]])
    return RowArrays(
        sums,
        indices,
        np.take_along_axis(table, indices, 1),
        np.repeat(np.arange(n), tied.sum(1)),
        np.concatenate(neighbors),
        np.concatenate(others),
        np.searchsorted(free, np.empty(0) if thresholds is None else thresholds, side="right"),
    )
