"""One pass over all pairs of points, with small reducers: sums, neighbours, counts."""

from .dispatch import (
    Points,
    distances_from,
    lengths_of,
    measured_from,
    nearest,
    neighbor_counts,
    nonedge_counts,
    pair_distances,
    row_statistics,
    row_sums,
    rows_of,
    tensor_of,
    usable_threads,
)
from .reference import Backend, Nearest, NeighborCounts, PassOptions, RowStatistics

__all__ = [
    "Backend",
    "Nearest",
    "NeighborCounts",
    "PassOptions",
    "Points",
    "RowStatistics",
    "distances_from",
    "lengths_of",
    "measured_from",
    "nearest",
    "neighbor_counts",
    "nonedge_counts",
    "pair_distances",
    "row_statistics",
    "row_sums",
    "rows_of",
    "tensor_of",
    "usable_threads",
]
