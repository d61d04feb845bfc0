"""Evaluations of points that hardly move: of all pairs those alone that are, or may have become,
near enough to count.

At a low temperature few pairs without an edge are so near that they count in the sum, and they are
the same ones a moment later. A pass over all pairs is followed by a list of those that count and of
those around them. While points and offsets have not moved so far that another pair could count, the
list says it all.
"""

from __future__ import annotations

import math

import numpy as np

from ...pairs.numba.functions import bounds, dissimilarity, exponentials
from ...pairs.numba.portable import entry, jit
from .arguments import Prepared
from .offsets import add_offset, both_ways, spring_of, stretched
from .streaming import add_pair, copy, evaluate, half_chord, half_chords, scale_of, smallest

# A list of more than one pair in _FEW saves little, and one longer than _LONGEST takes too much
# memory.
_FEW, _LONGEST = 4, 1 << 22
# A pair counts up to this many temperatures beyond the nearest one: the rest, all together, is
# below 1e-9 of the sum.
_COUNTS = 32.0
# How far beyond what counts a pair is listed: in units of how far that reaches, and of the usual
# bounds of w.
_MARGIN = 0.5
# Of an entry: two nodes, w, value and slope.
ENTRY_BYTES = 32

_bounds = entry(bounds)


def most_entries(n: int) -> int:
    """How many pairs of n nodes a list may hold."""
    return min(n * (n - 1) // 2 // _FEW, _LONGEST)


class NearPairs:
    """The pairs of a run that may count, and where points and offsets were when they were found."""

    def __init__(self, width: int, n: int) -> None:
        self.points, self.offsets = np.full((width, n), np.nan), np.zeros(n)
        room = most_entries(n)
        self.rows, self.columns = np.empty(room, np.int32), np.empty(room, np.int32)
        self.found = np.empty((3, room))
        self.count, self.limit, self.margin, self.reach = 0, 0.0, 0.0, 0.0

    def look(self, run, space, now, prepared: Prepared, edges, work) -> bool:
        """The pairs without an edge into the workspace, as slabs do; False where the list may be
        short by now.
        """
        if self.count <= 0 or prepared.hot:
            return False
        # A squared chord has changed by |⟨u, u⟩ - ⟨v, v⟩| <= ‖u - v‖ (2‖v‖ + ‖u - v‖) at most.
        moved = 2.0 * math.sqrt(np.square(run.points - self.points).sum(0).max())
        if scale_of.py_func(space) * moved * (4.0 * self.reach + moved) > self.margin:
            return False
        shifted = 0.0 if len(run.offsets) == 0 else 2.0 * np.abs(run.offsets - self.offsets).max()
        listed = self.rows[: self.count], self.columns[: self.count], self.found
        return bool(
            _look(
                run,
                run.offsets,
                edges.heights,
                space,
                now,
                prepared,
                work,
                *listed,
                self.limit - shifted,
            )
        )

    def collect(self, run, space, now, prepared: Prepared, edges, work) -> None:
        """List the pairs that count in a finished pass, and those that a move of w by the margin
        makes count.
        """
        least = work.sums[:, 0].min()
        if self.count < 0 or prepared.hot or not math.isfinite(least):
            self.count = -1  # too many pairs count for a list: it is given up
            return
        self.points[:], usual = run.points, 0.0
        if len(run.offsets):
            self.offsets[:], usual = run.offsets, 2.0 * run.offsets.mean()
        self.limit = least + (1.0 + _MARGIN) * _COUNTS * now.tau
        low, high = _bounds(max(self.limit + usual, 0.0), space.kind, space.radius, now.epsilon)
        self.margin = _MARGIN * (high - low)
        self.reach = math.sqrt(np.square(run.points).sum(0).max())
        bounded = self.limit, self.margin, now.epsilon
        self.count = _collect(
            run.points, run.offsets, work.factors, space, *bounded, edges, self.rows, self.columns
        )


@jit
def _collect(points, offsets, factors, space, limit, margin, epsilon, edges, rows, columns):
    """Write the pairs without an edge that may count; how many, or -1 where there is no room for
    them.

    Such a pair, less its offsets, is within ``limit`` where its w is nearer to 0 by ``margin``.
    """
    starts, neighbors, n, count = edges.offsets, edges.neighbors, points.shape[1], 0
    w, most = np.empty(n), 0.0 if len(offsets) == 0 else offsets.max()
    for i in range(n - 1):
        own = limit + (0.0 if len(offsets) == 0 else offsets[i])
        if own + most < 0.0:
            continue
        low, high = bounds(own + most, space.kind, space.radius, epsilon)
        half_chords(points, factors, space.time, i, i + 1, n - i - 1, w, 0)
        for edge in range(starts[i], starts[i + 1]):
            w[neighbors[edge] - i - 1] = 1e300
        for j in range(n - i - 1):
            if w[j] >= low - margin and w[j] <= high + margin:
                if len(offsets) > 0:
                    nearer = max(w[j] - margin, 0.0) if w[j] > 0.0 else min(w[j] + margin, 0.0)
                    value = dissimilarity(nearer, space.kind, space.radius, epsilon)[0]
                    if value > own + offsets[i + 1 + j]:
                        continue
                if count == len(rows):
                    return -1
                rows[count], columns[count] = i, i + 1 + j
                count += 1
    return count


@jit
def _look(run, offsets, heights, space, now, prepared, work, rows, columns, found, limit):
    """The sum and the gradient over listed pairs, as the first slab; False where a pair that counts
    may be unlisted.
    """
    factors, count, spring = work.factors, len(rows), spring_of(heights, run.record)
    # Point after point here: a pair then needs two positions of memory, and not two of every
    # coordinate.
    points = run.points.T.copy().T
    gradient = np.zeros((points.shape[1], len(run.gradient))).T
    w, values, slopes = found[0], found[1], found[2]
    for k in range(count):
        w[k] = half_chord(points, factors, space.time, rows[k], columns[k])
    evaluate(w, count, space, now, prepared, work.table, 0, values, slopes)
    if len(offsets) > 0:
        for k in range(count):
            values[k] -= offsets[rows[k]] + offsets[columns[k]]
            values[k] += stretched(heights, spring, rows[k], columns[k])
    nearest, total = smallest(values, count), 0.0
    last = nearest + _COUNTS * now.tau
    if last > limit:
        return False
    exponentials(values, count, nearest, 1.0 / now.tau, w)
    for k in range(count):
        if values[k] <= last:
            w[k] *= both_ways(heights, spring, now.tau, rows[k], columns[k])
            total += w[k]
            add_pair(points, rows[k], columns[k], w[k] * slopes[k], gradient)
            add_offset(offsets, gradient, rows[k], w[k])
            add_offset(offsets, gradient, columns[k], w[k])
    work.sums[:, 0], work.sums[:, 1] = np.inf, 0.0
    work.sums[0, 0], work.sums[0, 1] = nearest, total
    copy(gradient, work.gradients[0])
    return True
