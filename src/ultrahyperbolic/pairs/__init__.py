"""One pass over all pairs of points, with small reducers: sums, neighbours, counts."""

from .reference import (
    Nearest,
    NeighborCounts,
    PassOptions,
    RowStatistics,
    nearest,
    neighbor_counts,
    nonedge_counts,
    pair_distances,
    row_statistics,
    row_sums,
)

__all__ = [
    "Nearest",
    "NeighborCounts",
    "PassOptions",
    "RowStatistics",
    "nearest",
    "neighbor_counts",
    "nonedge_counts",
    "pair_distances",
    "row_statistics",
    "row_sums",
]
