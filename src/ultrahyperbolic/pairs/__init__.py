"""One pass over all pairs of points, with small reducers: sums, neighbours, counts."""

from .dispatch import (
    Points,
    lengths_of,
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
    "lengths_of",
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
