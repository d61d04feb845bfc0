"""Sums, neighbours and counts over the distances of all pairs, compiled: blocks of rows on every
core.

Distances are compared, so a pair has one distance, bit for bit: seen from either end, alone or in a
row, on any number of threads. Loops here therefore keep to the order and the rounding they are
written in. A distance is a function of w alone, read from a table where there is one; w is taken
from the form that loses fewest digits, as the manifolds do.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ..arrays import RowArrays
from ..kinds import KernelSpace
from .functions import (
    BROKEN,
    DEGREE,
    EXTRINSIC,
    FLAT_DISTANCE,
    FLAT_SQUARED,
    dissimilarity,
    fill_octave,
    lowest_octave,
    table_octaves,
)
from .portable import allocating, asin, asinh, bits, entry, from_bits, inner, jit

_table_octaves, _fill_octave = entry(table_octaves), entry(fill_octave)

_TILE = 256
# Pairs of a block: some milliseconds of work. More where a block counts for many thresholds, or
# would be one of many.
_BLOCK_PAIRS = 1 << 20
_PAIRS_PER_THRESHOLD = 8
_MOST_BLOCKS = 4096
# Up to this many neighbours of a node, counting the row once for each is faster than sorting the
# row into them.
_FEW = 128
# Cells of the grid for each threshold that is found with it.
_CELLS = 4
# Half chords below this are made again, from differences of the points as they are stored.
_NEAR = 1e-4
# From ‖t‖‖t′‖ = 4|β| on two points are far from the pole, as for the manifolds.
_FAR = 4.0
# Distances are compared here, so tables are finer than training's: 64 segments of an octave keep 14
# digits.
SEGMENT_BITS = 6
SEGMENTS = 1 << SEGMENT_BITS


class MeasuredPoints(NamedTuple):
    """Points and what is measured between them, as the compiled functions take it."""

    points: Floats
    """[d, n], coordinate after coordinate, time first."""
    time: int
    """How many coordinates are time; 0 in flat space."""
    radius: float
    """√|β|, and 1 in flat space."""
    radius_square: float
    """|β|, and 1 in flat space."""
    kind: int
    epsilon: float
    heights: Floats
    """[n] ‖t‖"""
    level: Floats
    """[d, n] the points divided by their heights; empty unless there are several time
    dimensions.
    """
    table: Floats
    """[segments, 2·(DEGREE + 1)], of w > 0 and then of w < 0."""
    first: int
    """The segment that it begins with, of all that there are of floating-point numbers."""
    above: int
    below: int
    """How many segments of w > 0 and of w < 0 it has."""
    popularity: Floats
    """[n] what is taken from the distances of a point; [0] for nothing."""


def prepare(
    points: Floats, space: KernelSpace, epsilon: float, popularity: Floats | None = None
) -> MeasuredPoints:
    """A space of points [n, d], the first of their coordinates time."""
    (time, radius, kind), square = space, space.radius * space.radius
    columns = np.ascontiguousarray(points.T)
    above, below = 0, 0
    if kind not in (FLAT_SQUARED, FLAT_DISTANCE, EXTRINSIC):
        scale = 0.25 / square if time else 1.0
        above, below = _table_octaves(
            4.0 * scale * float(np.square(columns).sum(0).max(initial=0.0)), kind
        )
    table = np.empty(((above + below) * SEGMENTS, 2 * (DEGREE + 1)))
    for octave in range(above + below):
        _fill_octave(
            table, SEGMENTS, octave, above, kind, radius, epsilon, np.empty((2, DEGREE + 1))
        )
    heights = np.sqrt(np.square(columns[:time]).sum(0))
    level = columns / heights if time > 1 else np.empty((0, 0))
    first = (1023 + lowest_octave.py_func(kind)) << SEGMENT_BITS
    above, below = above * SEGMENTS, below * SEGMENTS
    popularity = np.empty(0) if popularity is None else np.ascontiguousarray(popularity)
    return MeasuredPoints(
        columns,
        time,
        radius,
        square,
        kind,
        epsilon,
        heights,
        level,
        table,
        first,
        above,
        below,
        popularity,
    )


def reduce_rows(
    space: MeasuredPoints,
    block_rows: int | None,
    threads: int,
    edges: Ints | None,
    k: int,
    thresholds: Floats | None,
    *,
    count: int | None,
    upper: bool,
) -> RowArrays:
    """What `pairs.reference.row_statistics` finds."""
    n = space.points.shape[1]
    asked = n if count is None else count
    edges = np.empty((0, 2), dtype=np.int64) if edges is None else edges
    tails, heads = (edges if upper else np.concatenate((edges, edges[:, ::-1]))).T
    by_tail = np.argsort(tails, kind="stable")
    tails, heads = tails[by_tail], heads[by_tail]
    bounds = np.empty(0) if thresholds is None else thresholds
    bounds = np.where(np.isnan(bounds), np.inf, bounds)
    order = np.argsort(bounds)
    ordered, offsets = bounds[order], np.searchsorted(tails, np.arange(n + 1))
    grid, histogram = _grid(ordered), np.zeros(len(bounds), np.int64)
    found = (
        np.empty(n),
        np.empty((n, k), np.int64),
        np.empty((n, k)),
        *np.empty((2, len(tails)), np.int64),
    )
    rows = max(_BLOCK_PAIRS, _PAIRS_PER_THRESHOLD * len(bounds)) // max(1, n)
    rows = block_rows or max(1, rows, n // _MOST_BLOCKS)

    def reduce(first: int) -> Ints:
        """A block of rows; its histogram."""
        own = np.zeros_like(histogram)
        _reduce_rows(
            space,
            first,
            min(first + rows, asked),
            offsets,
            heads,
            ordered,
            *grid,
            upper,
            *found,
            own,
        )
        return own

    with nullcontext() if rows >= asked or threads == 1 else ThreadPoolExecutor(threads) as pool:
        for own in (map if pool is None else pool.map)(reduce, range(0, asked, rows)):
            histogram += own
    return RowArrays(*found[:3], tails, *found[3:], np.cumsum(histogram)[np.argsort(order)])


@inner
def _flat(points, i, start, count, w):
    """‖x_i - x_j‖² for ``count`` nodes j from ``start`` on."""
    for j in range(count):
        w[j] = 0.0
    for k in range(len(points)):
        x, row = points[k, i], points[k, start : start + count]
        for j in range(count):
            difference = x - row[j]
            w[j] += difference * difference


@inner
def _hyperbolic(points, radius_square, i, start, count, w):
    """w for one time coordinate: between y_0 x and x_0 y there is no difference in time, so nothing
    cancels.
    """
    x0, row0 = points[0, i], points[0, start : start + count]
    for j in range(count):
        difference = x0 - row0[j]
        w[j] = radius_square * (difference * difference)
    for k in range(1, len(points)):
        x, row = points[k, i], points[k, start : start + count]
        for j in range(count):
            difference = x0 * row[j] - row0[j] * x
            w[j] += difference * difference
    for j in range(count):
        w[j] /= 4.0 * radius_square * (x0 * row0[j])


@inner
def _ultrahyperbolic(space, i, start, count, w, w_bar, side, half):
    """w and 1 + w from the chord of x and ±y, both divided by their heights: nothing cancels far
    out.
    """
    level, time = space.level, space.time
    for j in range(count):
        side[j] = half[j] = 0.0
    for k in range(time):
        x, row = level[k, i], level[k, start : start + count]
        for j in range(count):
            side[j] += x * row[j]
    for j in range(count):
        side[j] = -1.0 if side[j] < 0.0 else 1.0
    for k in range(len(level)):
        x, row, sign = level[k, i], level[k, start : start + count], -1.0 if k < time else 1.0
        for j in range(count):
            difference = x - side[j] * row[j]
            half[j] += sign * (difference * difference)
    height, heights, quarter = (
        space.heights[i],
        space.heights[start : start + count],
        0.25 / space.radius_square,
    )
    near = 0
    for j in range(count):
        product, difference = height * heights[j], height - heights[j]
        half[j] = quarter * product * half[j] + 0.25 * (difference * difference) / product
        near += abs(half[j]) < _NEAR
    if near > 0:
        for j in range(count):
            if abs(half[j]) < _NEAR:
                half[j] = _near_half_chord(space, min(i, start + j), max(i, start + j), side[j])
    for j in range(count):
        w[j] = half[j] if side[j] > 0.0 else -1.0 - half[j]
        w_bar[j] = 1.0 + half[j] if side[j] > 0.0 else -half[j]


@inner
def _near_half_chord(space, i, j, side):
    """w of x and ±y as the manifold has it: their difference as it is stored, without the rounding
    of a division.
    """
    f = space.heights[i] / space.heights[j]
    if space.heights[i] * space.heights[j] <= _FAR * space.radius_square:
        f = 1.0
    whole = min(np.rint(f), 1.0)
    total = 0.0
    for k in range(len(space.points)):
        x, y = space.points[k, i], side * space.points[k, j]
        chord = (whole * y - x) + (f - whole) * y
        total += -chord * chord if k < space.time else chord * chord
    return (total / space.radius_square + (f - 1.0) * (f - 1.0)) / (4.0 * f)


@inner
def _segment(word, first, above, below):
    """Where in a table a number with these bits is; -1 where no table has it."""
    segment = ((word & 0x7FFFFFFFFFFFFFFF) >> (52 - SEGMENT_BITS)) - first
    limit, shift = (below, above) if word < 0 else (above, 0)
    return segment + shift if (segment >= 0) & (segment < limit) else -1


@inner
def _look_up(table, first, above, below, w, count, values):
    """Values at w[:count] from a table; how many lie outside it (theirs are then meaningless)."""
    outside = 0
    for j in range(count):
        word = bits(w[j])
        segment = _segment(word, first, above, below)
        outside += segment < 0
        # The bits below the segment, as a number of [-1/2, 1/2).
        t = from_bits(((word << SEGMENT_BITS) & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000) - 1.5
        # Unsigned, so that no index counts from the end.
        row = table[np.uint64(max(segment, 0))]
        values[j] = row[0] + t * (row[1] + t * (row[2] + t * (row[3] + t * (row[4] + t * row[5]))))
    return outside


@inner
def _function(space, w, w_bar):
    """The distance itself, for what no table holds."""
    radius = space.radius
    if space.kind != BROKEN or w > -0.5:
        return dissimilarity(w, space.kind, radius, space.epsilon)[0]
    # Near the antipode w̄ has the digits. On the sphere rounding may leave it below 0, where
    # nothing is.
    if w_bar > 0.0:
        return radius * (math.pi - 2.0 * asin(math.sqrt(w_bar)))
    if space.time == len(space.points):
        return radius * math.pi
    return radius * (math.pi + 2.0 * asinh(math.sqrt(-w_bar)))


@inner
def _tile(space, i, start, count, values, scratch):
    """Distances of node i to ``count`` nodes from ``start`` on; +∞ for what is not a number."""
    w, w_bar = scratch[0], scratch[1]
    if space.time == 0:
        _flat(space.points, i, start, count, w)
    elif space.time == 1:
        _hyperbolic(space.points, space.radius_square, i, start, count, w)
    else:
        _ultrahyperbolic(space, i, start, count, w, w_bar, scratch[2], scratch[3])
    if space.kind == FLAT_SQUARED:
        for j in range(count):
            values[j] = w[j]
    elif space.kind in (FLAT_DISTANCE, EXTRINSIC):
        unit = 1.0 if space.kind == FLAT_DISTANCE else 2.0 * space.radius
        for j in range(count):
            values[j] = unit * math.sqrt(abs(w[j]))
    elif _look_up(space.table, space.first, space.above, space.below, w, count, values) > 0:
        for j in range(count):
            if _segment(bits(w[j]), space.first, space.above, space.below) < 0:
                values[j] = _function(space, w[j], w_bar[j])
    for j in range(count):
        values[j] = values[j] if values[j] == values[j] else np.inf


@inner
def _take_off(popularity, i, start, count, values):
    """Take the popularity of node i and of each of ``count`` nodes from ``start`` on from their
    distances.
    """
    if len(popularity) > 0:
        for j in range(count):
            values[j] -= popularity[i] + popularity[start + j]


@inner
def _sum(values):
    """The sum, in four strands."""
    a = b = c = d = 0.0
    whole = len(values) - len(values) % 4
    for j in range(0, whole, 4):
        a += values[j]
        b += values[j + 1]
        c += values[j + 2]
        d += values[j + 3]
    for j in range(whole, len(values)):
        a += values[j]
    return (a + b) + (c + d)


@inner
def _sink(indices, distances, at, size, index, distance):
    """Put an entry into the heap [:size], whose first is the farthest and of equals the last, from
    ``at`` down.
    """
    child = 2 * at + 1
    while child < size:
        other = child + 1
        if other < size and (
            distances[other] > distances[child]
            or (distances[other] == distances[child] and indices[other] > indices[child])
        ):
            child = other
        if distances[child] < distance or (distances[child] == distance and indices[child] < index):
            break
        indices[at], distances[at] = indices[child], distances[child]
        at, child = child, 2 * child + 1
    indices[at], distances[at] = index, distance


@inner
def _nearest(values, i, indices, distances):
    """The nearest of the others, the nearest first and the lower index of equals, into indices and
    distances [k].
    """
    k = len(indices)
    for slot in range(k):
        indices[slot] = slot if slot < i else slot + 1
        distances[slot] = values[indices[slot]]
    for slot in range(k // 2 - 1, -1, -1):
        _sink(indices, distances, slot, k, indices[slot], distances[slot])
    for j in range(k if i >= k else k + 1, len(values)):
        if values[j] < distances[0] and j != i:
            _sink(indices, distances, 0, k, j, values[j])
    for size in range(k - 1, 0, -1):
        index, distance = indices[size], distances[size]
        indices[size], distances[size] = indices[0], distances[0]
        _sink(indices, distances, 0, size, index, distance)


@inner
def _search(ordered, value, first, last):
    """The first position from which on ``ordered`` is at least the value, which is one of [first,
    last].
    """
    # Which half it is in cannot be foreseen; for the last few, going on is cheaper than guessing.
    while last - first > 8:
        middle = (first + last) // 2
        if ordered[middle] < value:
            first = middle + 1
        else:
            last = middle
    while first < last and ordered[first] < value:
        first += 1
    return first


@inner
def _count_up_to(values, bound):
    found = 0
    for j in range(len(values)):
        found += values[j] <= bound
    return found


@allocating
def _count(values, i, joined, neighbors, others):
    """Neighbours and others at most as far as each of the neighbours ``joined``; values at those
    become NaN.
    """
    degree = len(joined)
    near = np.empty(degree)
    for e in range(degree):
        near[e] = values[joined[e]]
        others[e] = 0
    near.sort()
    for e in range(degree):
        values[joined[e]] = np.nan
    values[i] = np.nan
    neighbors[degree - 1] = degree
    for e in range(degree - 2, -1, -1):
        neighbors[e] = neighbors[e + 1] if near[e] == near[e + 1] else e + 1
    if degree <= _FEW:
        for e in range(degree):
            others[e] = _count_up_to(values, near[e])
        return
    for j in range(len(values)):
        if values[j] <= near[degree - 1]:
            others[_search(near, values[j], 0, degree - 1)] += 1
    for e in range(1, degree):
        others[e] += others[e - 1]


@jit
def _reduce_rows(
    space,
    first,
    last,
    offsets,
    heads,
    thresholds,
    low,
    rate,
    starts,
    upper,
    sums,
    indices,
    distances,
    neighbors,
    others,
    histogram,
):
    n = space.points.shape[1]
    values, scratch = np.empty(n), np.empty((4, _TILE))
    for i in range(first, last):
        start, here, end = i + 1 if upper else 0, offsets[i], offsets[i + 1]
        for at in range(start, n, _TILE):
            _tile(space, i, at, min(_TILE, n - at), values[at - start :], scratch)
        _take_off(space.popularity, i, start, n - start, values)
        if upper:
            for e in range(here, end):
                values[heads[e] - start] = np.nan
        else:
            values[i] = 0.0
            sums[i] = _sum(values)
            if indices.shape[1] > 0:
                _nearest(values, i, indices[i], distances[i])
            if here < end:
                _count(values, i, heads[here:end], neighbors[here:end], others[here:end])
        if len(histogram) > 0:
            _tally(values[i + 1 - start : n - start], thresholds, low, rate, starts, histogram)


@inner
def _cell(value, low, rate, cells):
    """Which cell of an even grid a value falls into: never a later one than a greater value."""
    place = (value - low) * rate
    return cells if place >= cells else int(place) if place > 0.0 else 0


@inner
def _tally(values, thresholds, low, rate, starts, histogram):
    """Add the values above threshold t - 1 and not above t to histogram[t], found with a grid; NaN
    is none.
    """
    cells, farthest = len(starts) - 2, thresholds[-1]
    for j in range(len(values)):
        if values[j] <= farthest:
            cell = _cell(values[j], low, rate, cells)
            histogram[_search(thresholds, values[j], starts[cell], starts[cell + 1])] += 1


def _grid(thresholds: Floats) -> tuple[float, float, NDArray[np.int32]]:
    """An even grid for ascending thresholds: where it starts, its cells per unit of distance, the
    first of each cell.

    It leaves out the extremes, which may be far from the rest: they share the cells at its ends.
    """
    finite, low, rate, cells = (
        thresholds[np.isfinite(thresholds)],
        0.0,
        0.0,
        _CELLS * len(thresholds),
    )
    if len(finite):
        out = len(finite) // 64
        low, width = float(finite[out]), float(finite[-1 - out] - finite[out])
        rate = cells / width if width > 0.0 else 0.0
        rate = rate if math.isfinite(rate) else 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        places = (thresholds - low) * rate
        found = np.where(places > 0.0, np.minimum(places, cells), 0.0).astype(
            np.int64
        )  # as `_cell` has it
    starts = np.searchsorted(found, np.arange(cells + 2)).astype(np.int32)
    return low, rate, starts


@jit
def measure_rows(space, rows):
    """The distances [k, n] of the nodes ``rows`` [k] to all, with the same bits; to itself, what a
    tile says.
    """
    n = space.points.shape[1]
    found, scratch = np.empty((len(rows), n)), np.empty((4, _TILE))
    for k in range(len(rows)):
        for at in range(0, n, _TILE):
            _tile(space, rows[k], at, min(_TILE, n - at), found[k, at:], scratch)
        _take_off(space.popularity, rows[k], 0, n, found[k])
    return found


@jit
def measure_pairs(space, pairs):
    """The distance of each of the pairs [m, 2], with the bits it has in the other passes."""
    found, scratch = np.empty(len(pairs)), np.empty((4, _TILE))
    for e in range(len(pairs)):
        _tile(space, pairs[e, 0], pairs[e, 1], 1, found[e:], scratch)
        _take_off(space.popularity, pairs[e, 0], pairs[e, 1], 1, found[e:])
    return found
