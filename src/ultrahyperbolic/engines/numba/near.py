"""Evaluations of points that hardly move: of all pairs those alone that are, or may have become,
near enough to count.

At a low temperature few pairs without an edge are so near that they count in the sum, and they are
the same ones a moment later. A pass over all pairs is followed by a list of those that count and of
those around them: a neighbour list with a margin. While points and biases have not moved so far
that another pair could count, the list says it all.
"""

from __future__ import annotations

import math

import numpy as np

from ...pairs.numba.functions import bounds, dissimilarity, exponentials
from ...pairs.numba.portable import entry, jit
from .arguments import Prepared
from .biases import add_to_bias, both_ways, spring_of, stretched
from .streaming import FAR, add_pair, copy, evaluate, half_chord, half_chords, scale_of, smallest

# Fewer nodes have so few pairs that a list saves less than it takes to compile.
_LISTED_NODES = 97
# A list of more than a quarter of all pairs saves little.
_LISTED_SHARE = 4
# The most pairs of a list: 128 MiB.
_MAX_LISTED = 1 << 22
# A pair counts up to this many temperatures beyond the nearest one: all others together are below
# 1e-9 of the sum.
_COUNTS = 32.0
# The margin of the list, as a share of _COUNTS · τ in dissimilarity and of the bounds of w in w.
_MARGIN = 0.5
# Bytes of a listed pair: two nodes, w, value and slope.
ENTRY_BYTES = 32

_bounds = entry(bounds)


def most_entries(n: int) -> int:
    """How many pairs of n nodes a list may hold; 0 for none."""
    return 0 if n < _LISTED_NODES else min(n * (n - 1) // 2 // _LISTED_SHARE, _MAX_LISTED)


class NearPairs:
    """The pairs of a run that may count, and where points and biases were when they were listed."""

    def __init__(self, width: int, n: int) -> None:
        self.points, self.biases = np.full((width, n), np.nan), np.zeros(n)
        room = most_entries(n)
        self.rows, self.columns = np.empty(room, np.int32), np.empty(room, np.int32)
        self.scratch = np.empty((3, room))
        self.count, self.limit, self.margin, self.reach = 0, 0.0, 0.0, 0.0

    def look(self, run, space, now, prepared: Prepared, edges, work) -> bool:
        """The pairs without an edge into the workspace, as slabs do; False where the list may be
        short by now.
        """
        if self.count <= 0:
            return False
        # A squared chord has changed by |⟨u, u⟩ - ⟨v, v⟩| <= ‖u - v‖ (2‖v‖ + ‖u - v‖) at most.
        moved = 2.0 * math.sqrt(np.square(run.points - self.points).sum(0).max())
        if scale_of.py_func(space) * moved * (4.0 * self.reach + moved) > self.margin:
            return False
        shifted = 0.0 if len(run.biases) == 0 else 2.0 * np.abs(run.biases - self.biases).max()
        rows, columns = self.rows[: self.count], self.columns[: self.count]
        shared = (run, edges.heights, space, now, prepared, work)
        return bool(_look(*shared, rows, columns, self.scratch, self.limit - shifted))

    def collect(self, run, space, now, edges, work) -> None:
        """List the pairs that count in a finished pass, and those that a move of w by the margin
        makes count.
        """
        least = work.sums[:, 0].min()
        if self.count < 0 or not math.isfinite(least):
            self.count = -1  # too many pairs count for a list: it is given up
            return
        self.points[:], usual = run.points, 0.0
        if len(run.biases):
            self.biases[:], usual = run.biases, 2.0 * run.biases.mean()
        self.limit = least + (1.0 + _MARGIN) * _COUNTS * now.tau
        low, high = _bounds(max(self.limit + usual, 0.0), space.kind, space.radius, now.epsilon)
        self.margin = _MARGIN * (high - low)
        self.reach = math.sqrt(np.square(run.points).sum(0).max())
        bounded = self.limit, self.margin, now.epsilon
        self.count = _collect(run, work.factors, space, *bounded, edges, self.rows, self.columns)


@jit
def _collect(run, factors, space, limit, margin, epsilon, edges, rows, columns):
    """Write the pairs without an edge that may count; how many, or -1 where there is no room for
    them.

    Such a pair, less its biases, is within ``limit`` where its w is nearer to 0 by ``margin``.
    """
    points, biases, n, count = run.points, run.biases, run.points.shape[1], 0
    w, largest = np.empty(n), 0.0 if len(biases) == 0 else biases.max()
    for i in range(n - 1):
        farthest = limit + (0.0 if len(biases) == 0 else biases[i])
        if farthest + largest < 0.0:
            continue
        low, high = bounds(farthest + largest, space.kind, space.radius, epsilon)
        half_chords(points, factors, space.time, i, i + 1, n - i - 1, w, 0)
        for edge in range(edges.starts[i], edges.starts[i + 1]):
            w[edges.neighbors[edge] - i - 1] = FAR
        for j in range(n - i - 1):
            if w[j] >= low - margin and w[j] <= high + margin:
                if len(biases) > 0:
                    nearer = max(w[j] - margin, 0.0) if w[j] > 0.0 else min(w[j] + margin, 0.0)
                    value = dissimilarity(nearer, space.kind, space.radius, epsilon)[0]
                    if value > farthest + biases[i + 1 + j]:
                        continue
                if count == len(rows):
                    return -1
                rows[count], columns[count] = i, i + 1 + j
                count += 1
    return count


@jit
def _look(run, heights, space, now, prepared, work, rows, columns, scratch, limit):
    """The sum and the gradient over listed pairs, as the first slab; False where a pair that counts
    may be unlisted.
    """
    biases, count, spring = run.biases, len(rows), spring_of(heights, run.record)
    # Point after point here: a pair then needs two positions of memory, and not two of every
    # coordinate.
    points = run.points.T.copy().T
    gradient = np.zeros((points.shape[1], len(run.gradient))).T
    w, values, slopes = scratch[0], scratch[1], scratch[2]
    for k in range(count):
        w[k] = half_chord(points, work.factors, space.time, rows[k], columns[k])
    evaluate(w, count, space, now, prepared, work.table, 0, values, slopes)
    if len(biases) > 0:
        for k in range(count):
            values[k] -= biases[rows[k]] + biases[columns[k]]
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
            add_to_bias(biases, gradient, rows[k], w[k])
            add_to_bias(biases, gradient, columns[k], w[k])
    work.sums[:, 0], work.sums[:, 1] = np.inf, 0.0
    work.sums[0, 0], work.sums[0, 1] = nearest, total
    copy(gradient, work.gradients[0])
    return True
