"""One pass over all pairs of points: sums, neighbours and counts."""

from .dispatch import (
    Points,
    distances_from,
    lengths_of,
    measured_from,
    rows_of,
    tensor_of,
    usable_threads,
)
from .statistics import Backend, PassOptions, RowArrays, check_k, popularity_array

__all__ = [
    "Backend",
    "PassOptions",
    "Points",
    "RowArrays",
    "check_k",
    "distances_from",
    "lengths_of",
    "measured_from",
    "popularity_array",
    "rows_of",
    "tensor_of",
    "usable_threads",
]
