"""One pass over all pairs of points, with small reducers: sums, neighbours, counts."""

from .dispatch import (
    nearest,
    neighbor_counts,
    nonedge_counts,
    pair_distances,
    row_statistics,
    row_sums,
    usable_threads,
)
from .reference import Backend, Nearest, NeighborCounts, PassOptions, RowStatistics

__all__ = [
    "Backend",
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
    "usable_threads",
]
