"""Sums, neighbours and counts over the distances of all pairs, compiled: blocks of rows on every
core.

Distances are compared, so a pair has one distance, bit for bit: seen from either end, alone or in a
row, on any number of threads and any processor. Loops here therefore keep to the order and the
rounding they are written in.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ..kinds import KernelSpace
from ..statistics import RowArrays, sorted_ties, with_counts
from .functions import (
    DEGREE,
    FLAT_SQUARED,
    SEGMENTS,
    dissimilarity,
    fill_octave,
    look_up,
    lowest_octave,
    separations,
    table_octaves,
)
from .portable import inner, jit

# Columns of a tile: what a row of it needs stays in the fastest cache.
_TILE = 256
# Pairs of a block of rows: some milliseconds of work.
_BLOCK_PAIRS = 1 << 20
# Neighbours of a node up to which counting the row once for each beats sorting the row into them.
_FEW = 64
# Cells of the grid for each threshold that is found with it.
_CELLS = 4


class MeasuredPoints(NamedTuple):
    """Points and what is measured between them, as the compiled functions take it."""

    points: Floats
    """[d, n], coordinate after coordinate, time first."""
    level: Floats
    """[d, n] the points divided by their heights."""
    heights: Floats
    """[n] the lengths of the time parts; 1 in flat space."""
    time: int
    """How many coordinates are time; 0 in flat space."""
    radius: float
    """√|β|; 1 in flat space."""
    kind: int
    epsilon: float
    table: Floats
    """[segments, 2·(DEGREE + 1)], of w > 0 and then of w < 0."""
    above: int
    """How many octaves of w > 0 the table has."""
    below: int
    """How many octaves of w < 0 it has."""
    popularity: Floats
    """[n] what is taken from the distances of a point."""


def prepare(
    points: Floats, space: KernelSpace, epsilon: float, popularity: Floats | None
) -> MeasuredPoints:
    """A space of points [n, d], the first of their coordinates time."""
    time, radius, kind = space
    columns = np.ascontiguousarray(points.T)
    n = len(points)
    heights = np.sqrt(np.square(columns[:time]).sum(0)) if time else np.ones(n)
    reach = np.square(columns).sum(0).max(initial=0.0) / (radius * radius if time else 0.25)
    table, above, below = _tabulated(float(reach), kind, radius, epsilon)
    popularity = np.zeros(n) if popularity is None else np.ascontiguousarray(popularity)
    return MeasuredPoints(
        columns,
        columns / heights,
        heights,
        time,
        radius,
        kind,
        epsilon,
        table,
        above,
        below,
        popularity,
    )


def reduce_rows(
    space: MeasuredPoints,
    edges: Ints,
    k: int,
    thresholds: Floats,
    count: int | None,
    threads: int,
) -> RowArrays:
    """What `pairs.rows_of` returns."""
    n = space.points.shape[1]
    last = n if count is None else count
    lengths = measure_pairs(space, edges)
    ties = sorted_ties(edges, lengths, n)
    order = np.argsort(thresholds)
    grid = _grid(thresholds[order])
    sums, farthest = np.empty(last), np.empty(last)
    indices = np.empty((last, k), np.int64)
    distances = np.empty((last, k))
    at_most = np.zeros(len(ties.limits), np.int64)
    rows = max(1, _BLOCK_PAIRS // max(1, n))

    def reduce(first: int) -> Ints:
        """A block of rows; its histogram."""
        histogram = np.zeros(len(thresholds) + 1, np.int64)
        _reduce_rows(
            space,
            first,
            min(first + rows, last),
            ties.offsets,
            ties.limits,
            grid,
            sums,
            farthest,
            indices,
            distances,
            at_most,
            histogram,
        )
        return histogram

    histogram = np.zeros(len(thresholds) + 1, np.int64)
    starts = range(0, last, rows)
    with nullcontext() if threads == 1 or len(starts) < 2 else ThreadPoolExecutor(threads) as pool:
        for part in (map if pool is None else pool.map)(reduce, starts):
            histogram += part
    nonedges = np.empty(len(thresholds), np.int64)
    nonedges[order] = np.cumsum(histogram[:-1])
    nonedges -= np.searchsorted(np.sort(lengths), thresholds, side="right")
    return with_counts(sums, indices, distances, ties, at_most, nonedges, farthest)


@jit
def _tabulated(reach, kind, radius, epsilon):
    """The table of dissimilarities, and its octaves of w > 0 and of w < 0."""
    above, below = table_octaves(reach, kind)
    table = np.empty(((above + below) * SEGMENTS, 2 * (DEGREE + 1)))
    scratch = np.empty((2, DEGREE + 1))
    for octave in range(above + below):
        fill_octave(table, SEGMENTS, octave, above, kind, radius, epsilon, 0.0, scratch)
    return table, above, below


@inner
def _tile(space, i, start, count, values, scratch):
    """Distances of node i to ``count`` nodes from ``start`` on; +∞ for what is not a number."""
    w = scratch[0]
    separations(
        space.points,
        space.level,
        space.heights,
        space.time,
        space.radius,
        i,
        start,
        count,
        w,
        scratch[1],
    )
    lowest = lowest_octave(space.kind)
    outside = 0
    if space.kind == FLAT_SQUARED:  # a table would round
        for j in range(count):
            values[j] = w[j]
    else:
        outside = look_up(
            space.table, lowest, space.above, space.below, w, count, values, scratch[2]
        )
    if outside > 0:
        least = math.ldexp(1.0, lowest)
        above = math.ldexp(1.0, lowest + space.above)
        below = math.ldexp(1.0, lowest + space.below)
        for j in range(count):
            if not least <= abs(w[j]) < (above if w[j] > 0.0 else below):
                values[j] = dissimilarity(w[j], space.kind, space.radius, space.epsilon)[0]
    for j in range(count):
        distance = values[j] if values[j] == values[j] else np.inf
        values[j] = distance - (space.popularity[i] + space.popularity[start + j])


@inner
def _nearest(values, i, indices, distances):
    """The nearest of the others, the nearest first and the lower index of equals, into indices and
    distances [k].
    """
    size = 0
    for j in range(len(values)):
        if j == i or (size == len(indices) and not values[j] < distances[size - 1]):
            continue
        size = min(size + 1, len(indices))
        place = size - 1
        while place > 0 and values[j] < distances[place - 1]:
            indices[place] = indices[place - 1]
            distances[place] = distances[place - 1]
            place -= 1
        indices[place] = j
        distances[place] = values[j]


@inner
def _count_up_to(values, limit):
    count = 0
    for j in range(len(values)):
        count += values[j] <= limit
    return count


@inner
def _tally(values, grid, histogram):
    """Add the values above limit t - 1 and not above t to histogram[t]; NaN is none."""
    limits, low, rate, starts = grid
    cells = len(starts) - 2
    for j in range(len(values)):
        if not values[j] <= limits[-1]:
            continue
        place = (values[j] - low) * rate
        cell = cells if place >= cells else int(place) if place > 0.0 else 0
        first, last = starts[cell], starts[cell + 1]
        while first < last:
            middle = (first + last) // 2
            if limits[middle] < values[j]:
                first = middle + 1
            else:
                last = middle
        histogram[first] += 1


@jit
def _reduce_rows(
    space,
    first,
    last,
    offsets,
    limits,
    grid,
    sums,
    farthest,
    indices,
    distances,
    at_most,
    histogram,
):
    n = space.points.shape[1]
    values = np.empty(n)
    scratch = np.empty((3, _TILE))
    whole = np.zeros(2, np.int32)  # a grid of one cell, for the few limits of a row
    for i in range(first, last):
        for start in range(0, n, _TILE):
            _tile(space, i, start, min(_TILE, n - start), values[start:], scratch)
        total, largest = 0.0, -np.inf
        for j in range(n):
            total += values[j] if j != i else 0.0
            largest = values[j] if j != i and values[j] > largest else largest
        sums[i] = total
        farthest[i] = largest
        if indices.shape[1] > 0:
            _nearest(values, i, indices[i], distances[i])
        values[i] = np.nan
        here, end = offsets[i], offsets[i + 1]
        if end - here <= _FEW:
            for e in range(here, end):
                at_most[e] = _count_up_to(values, limits[e])
        else:
            whole[1] = end - here
            _tally(values, (limits[here:end], 0.0, 0.0, whole), at_most[here:end])
            for e in range(here + 1, end):
                at_most[e] += at_most[e - 1]
        if len(grid[0]) > 0:
            _tally(values[i + 1 :], grid, histogram)


def _grid(limits: Floats) -> tuple[Floats, float, float, NDArray[np.int32]]:
    """Ascending limits with an even grid: where it starts, its cells per unit of distance, the
    first limit of each cell.

    It leaves out the extremes, which may be far from the rest: they share the cells at its ends.
    """
    finite = limits[np.isfinite(limits)]
    cells = _CELLS * len(limits)
    low, rate = 0.0, 0.0
    if len(finite):
        extremes = len(finite) // 64
        low = float(finite[extremes])
        width = float(finite[-1 - extremes]) - low
        rate = cells / width if width > 0.0 and math.isfinite(cells / width) else 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        places = (limits - low) * rate
        which = np.where(places > 0.0, np.minimum(places, cells), 0.0).astype(np.int64)
    return limits, low, rate, np.searchsorted(which, np.arange(cells + 2)).astype(np.int32)


@jit
def measure_rows(space, rows):
    """The distances [k, n] of the nodes ``rows`` [k] to all, with the same bits; 0 to
    themselves.
    """
    n = space.points.shape[1]
    found, scratch = np.empty((len(rows), n)), np.empty((3, _TILE))
    for k in range(len(rows)):
        for start in range(0, n, _TILE):
            _tile(space, rows[k], start, min(_TILE, n - start), found[k, start:], scratch)
        found[k, rows[k]] = 0.0
    return found


@jit
def measure_pairs(space, pairs):
    """The distance of each of the pairs [m, 2], with the bits it has in the other passes."""
    found, scratch = np.empty(len(pairs)), np.empty((3, _TILE))
    for e in range(len(pairs)):
        _tile(space, pairs[e, 0], pairs[e, 1], 1, found[e:], scratch)
    return found
