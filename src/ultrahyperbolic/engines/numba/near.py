"""Evaluations of points that hardly move: of all pairs those alone that are, or may have become, near enough to count.

At a low temperature few pairs without an edge are so near that they count in the sum, and they are the same ones a
moment later. A pass over all pairs is followed by a list of those within its bounds and around them. While no point has
moved so far that another pair could have come within the bounds, the list says it all.
"""

from __future__ import annotations

import math

import numpy as np

from ...pairs.numba.functions import bounds, exponentials
from ...pairs.numba.portable import jit
from .arguments import Prepared
from .streaming import add_pair, evaluate, half_chord, half_chords, nearest_of, scale_of

# A list of more than one pair in _FEW saves nothing, and one longer than _LONGEST takes too much memory.
_FEW, _LONGEST = 8, 1 << 22
# How far beyond the bounds on either side a pair is listed, in units of what is between them.
_MARGIN = 0.5
# Of an entry: two nodes and a w.
ENTRY_BYTES = 16
# Listed pairs that are evaluated at a time.
_TOGETHER = 1024


def most_entries(n: int) -> int:
    """How many pairs of n nodes a list may hold."""
    return min(n * (n - 1) // 2 // _FEW, _LONGEST)


class NearPairs:
    """The pairs of a run that may count, and where the points were when they were found."""

    def __init__(self, width: int, n: int) -> None:
        self.points = np.full((width, n), np.nan)
        room = most_entries(n)
        self.rows, self.columns = np.empty(room, np.int32), np.empty(room, np.int32)
        self.w = np.empty(room)
        self.count, self.low, self.high, self.reach = 0, 0.0, 0.0, 0.0

    @property
    def given_up(self) -> bool:
        """Whether too many pairs count for a list."""
        return self.count < 0

    def look(self, run, space, now, prepared: Prepared, work) -> bool:
        """The pairs without an edge into the workspace, as slabs do; False where the list may be short by now."""
        if self.count <= 0 or prepared.hot:
            return False
        # A squared chord has changed by |⟨u, u⟩ - ⟨v, v⟩| <= ‖u - v‖ (2‖v‖ + ‖u - v‖) at most.
        moved = 2.0 * math.sqrt(np.square(run.points - self.points).sum(0).max())
        slack = scale_of(space) * moved * (4.0 * self.reach + moved)
        listed = self.rows[: self.count], self.columns[: self.count], self.w
        return bool(_look(run, space, now, prepared, work, *listed, self.low + slack, self.high - slack))

    def collect(self, run, space, now, prepared: Prepared, edges, work) -> None:
        """List the pairs of a finished pass that are within and around its bounds."""
        least = work.sums[:, 0].min()
        if prepared.hot or not math.isfinite(least):
            self.count = -1
            return
        low, high = bounds(least + work.cut[0] * now.tau, space.kind, space.radius, now.epsilon)
        margin = _MARGIN * (high - low)
        self.low, self.high = low - margin, high + margin
        self.points[:] = run.points
        self.reach = math.sqrt(np.square(run.points).sum(0).max())
        self.count = _collect(run.points, work.factors, space.time, self.low, self.high, edges, self.rows, self.columns)


@jit
def _collect(points, factors, time, low, high, edges, rows, columns):
    """Write the pairs without an edge between whose bounds w lies; how many, or -1 where there is no room for them."""
    offsets, neighbors, n, count = edges.offsets, edges.neighbors, points.shape[1], 0
    w = np.empty(n)
    for i in range(n - 1):
        half_chords(points, factors, time, i, i + 1, n - i - 1, w, 0)
        for edge in range(offsets[i], offsets[i + 1]):
            w[neighbors[edge] - i - 1] = 1e300
        for j in range(n - i - 1):
            if w[j] >= low and w[j] <= high:
                if count == len(rows):
                    return -1
                rows[count], columns[count] = i, i + 1 + j
                count += 1
    return count


@jit
def _look(run, space, now, prepared, work, rows, columns, w, low, high):
    """The sum and the gradient over listed pairs, as the first slab; False where a pair that counts may be unlisted."""
    factors = work.factors
    # Point after point here: a pair then needs two positions of memory, and not two of every coordinate.
    points = run.points.T.copy().T
    gradient = np.zeros(points.T.shape).T
    count = len(rows)
    for k in range(count):
        w[k] = half_chord(points, factors, space.time, rows[k], columns[k])
    nearest = nearest_of(w, count, space, now.epsilon)
    least, greatest = bounds(nearest + work.cut[0] * now.tau, space.kind, space.radius, now.epsilon)
    if not (least >= low and greatest <= high):
        return False
    near, positions = np.empty(_TOGETHER), np.empty(_TOGETHER, np.int64)
    values, slopes, weights = np.empty(_TOGETHER), np.empty(_TOGETHER), np.empty(_TOGETHER)
    total, size = 0.0, 0
    for k in range(count):
        near[size], positions[size] = w[k], k
        size += w[k] >= least and w[k] <= greatest
        if size == _TOGETHER or k == count - 1:
            evaluate(near, size, space, now, prepared, work.table, 0, values, slopes)
            exponentials(values, size, nearest, 1.0 / now.tau, weights)
            for at in range(size):
                total += weights[at]
                add_pair(points, rows[positions[at]], columns[positions[at]], weights[at] * slopes[at], gradient)
            size = 0
    work.sums[:, 0], work.sums[:, 1] = np.inf, 0.0
    work.sums[0, 0], work.sums[0, 1] = nearest, total
    work.gradients[0][:] = gradient
    return True
