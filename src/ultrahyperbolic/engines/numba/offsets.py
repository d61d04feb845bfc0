"""Offsets of nodes, compiled: pairs are compared by d_ij - a_i - a_j, and the gradient has one row more.

Loops that are the same with offsets and without call the functions here with ``None`` for no offsets, of which nothing
is compiled then. The graph-wide pass has a form of its own: with offsets w alone does not tell whether a pair counts,
but bounds that are wider by the largest offsets of a tile do.
"""

from __future__ import annotations

import math

import numpy as np

from ...pairs.numba.functions import bounds, dissimilarity, exponentials, smooth
from ...pairs.numba.portable import exp, jit, vectorized
from ..base import CELL
from .streaming import (
    FEW,
    ROWS,
    TILE,
    add_pair,
    add_up,
    chords,
    count_between,
    evaluate,
    far,
    half_chord,
    kind_of_table,
    mask,
    push,
    scale_rows,
    slab,
    smallest,
    weigh_pulls,
)


@vectorized
def take_off_row(values, at, count, own, columns):
    """Take the offsets of a node and of others from the dissimilarities of a row."""
    for j in range(count):
        values[at + j] -= own + columns[j]


@jit
def take_off_tile(offsets, values, i, rows, start, count):
    """Take the offsets of both nodes from the dissimilarities of a tile."""
    if offsets is not None:
        for r in range(rows):
            take_off_row(values, r * count, count, offsets[i + r], offsets[start:])


@jit
def take_off_pairs(offsets, values):
    """Take them from those of all pairs of a small graph, row after row."""
    if offsets is not None:
        n, row = len(offsets), 0
        for i in range(n - 1):
            take_off_row(values, row, n - i - 1, offsets[i], offsets[i + 1 :])
            row += n - i - 1


@jit
def take_off_edges(offsets, ends, values):
    """Take them from those of the edges."""
    if offsets is not None:
        for e in range(len(ends)):
            values[e] -= offsets[ends[e, 0]] + offsets[ends[e, 1]]


@jit
def add_offset_pair(offsets, gradient, i, j, weight):
    """Add a weight to the gradient in the offsets of both nodes."""
    if offsets is not None:
        last = len(gradient) - 1
        gradient[last, i] += weight
        gradient[last, j] += weight


@jit
def add_edge_offsets(offsets, gradient, ends, pulls, factor):
    """Add the pulls of the edges, times a factor."""
    if offsets is not None:
        last = len(gradient) - 1
        for e in range(len(ends)):
            gradient[last, ends[e, 0]] += factor * pulls[e]
            gradient[last, ends[e, 1]] += factor * pulls[e]


@jit
def add_offsets(offsets, gradient, weights, factor):
    """Add the weights of all pairs of a small graph, row after row, times a factor."""
    if offsets is not None:
        n, row, slopes = len(offsets), 0, gradient[len(gradient) - 1]
        for i in range(n - 1):
            for j in range(i + 1, n):
                part = factor * weights[row + j - i - 1]
                slopes[i] += part
                slopes[j] += part
            row += n - i - 1


@jit
def scale_offsets(offsets, gradient, factor):
    """Multiply the gradient in the offsets."""
    if offsets is not None:
        last = len(gradient) - 1
        for i in range(len(offsets)):
            gradient[last, i] *= factor


@jit
def bound_offset_moves(offsets, gradient, step, max_step):
    """Make moves of the gradient in the offsets, whose root mean square is ``max_step`` at most.

    One factor for all of them: each cut for itself, offsets would rise with every tie, which is there at all times, and
    fall but little with the few other pairs that are near, or in a sample.
    """
    if offsets is not None:
        slopes, square = gradient[len(gradient) - 1], 0.0
        for i in range(len(slopes)):
            square += slopes[i] * slopes[i]
        length = math.sqrt(square / len(slopes)) * step
        factor = -step if length <= max_step else -step * max_step / length
        for i in range(len(slopes)):
            slopes[i] *= factor


@jit
def shift_offset(offsets, gradient, i):
    """Move the offset of node i by what the last row of the gradient has become; not to what is no number."""
    if offsets is not None:
        moved = offsets[i] + gradient[len(gradient) - 1, i]
        if abs(moved) < np.inf:
            offsets[i] = moved


@jit
def slab_of(offsets, run, space, now, prepared, edges, work, s):
    """The pairs of slab ``s``, with offsets or without."""
    if offsets is None:
        slab(run, space, now, prepared, edges, work, s)
    else:
        _offset_slab(offsets, run, space, now, prepared, edges, work, s)


@vectorized
def _most(values, count):
    most = values[0]
    for j in range(count):
        most = values[j] if values[j] > most else most
    return most


@jit
def _come_nearer(nearest, tau, slack, state, gradient, first):
    """Where a pair is nearer, make the sums of the slab, whose rows begin at ``first``, relative to that."""
    if nearest < state[0] - slack:
        if state[1] > 0.0:
            shrink = exp((nearest - state[0]) / tau)
            state[1] *= shrink
            scale_rows(gradient, first, shrink)
        state[0] = nearest


@jit
def _add_few(offsets, run, space, now, prepared, work, state, w, i, rows, start, count, gradient, first):
    """Add the pairs of a tile that count, one by one."""
    exact, points, factors, cut = run.points, run.pair_points, work.factors, work.cut[0]
    for r in range(rows):
        for j in range(count):
            if w[r * count + j] >= state[2] and w[r * count + j] <= state[3]:
                chord = half_chord(exact, factors, space.time, i + r, start + j)
                value, slope = dissimilarity(chord, space.kind, space.radius, now.epsilon)
                value -= offsets[i + r] + offsets[start + j]
                if value <= state[0] + cut * now.tau:
                    _come_nearer(value, now.tau, prepared.slack, state, gradient, first)
                    weight = exp((state[0] - value) / now.tau)
                    state[1] += weight
                    add_pair(points, i + r, start + j, weight * slope, gradient)
                    add_offset_pair(offsets, gradient, i + r, start + j, weight)


@jit
def _offset_slab(offsets, run, space, now, prepared, edges, work, s):
    """As ``streaming.slab``, of d_ij - a_i - a_j; the last row of the gradient is Σ exp(…) of each node."""
    exact, points, starts, neighbors = run.points, run.pair_points, edges.offsets, edges.neighbors
    factors, table, gradient, tiles, wide = work.factors, work.table, work.gradients[s], work.tiles[s], work.wide
    w, values, pull, weights = tiles[0], tiles[1], tiles[2], tiles[3]
    n, first, last, parts, cut = points.shape[1], work.slabs[s], work.slabs[s + 1], now.parts, work.cut[0]
    tabled, sums = kind_of_table(space.kind, n), gradient[len(gradient) - 1]
    for k in range(len(gradient)):
        for j in range(first, n):
            gradient[k, j] = 0.0
    # Least and total; w outside [low, high] does not count in this tile.
    state = np.empty(4)
    state[0], state[1] = np.inf, 0.0
    cursor = np.zeros(ROWS, np.int64)
    i = first
    while i < last:
        rows = min(ROWS, last - i)
        for r in range(rows):
            cursor[r] = starts[i + r]
        own = _most(offsets[i:], rows)
        # Tiles follow one another, or where this is a sample are the cells of its part.
        cell = (i + 1) // CELL[1]
        cell += (now.part - i // ROWS - cell) % parts
        start = i + 1 if parts == 1 else max(i + 1, cell * CELL[1])
        while start < n:
            count = min(TILE if parts == 1 else (cell + 1) * CELL[1] - start, n - start)
            size = rows * count
            chords(exact, factors, space.time, i, rows, start, count, wide, s, w)
            for r in range(rows):
                while cursor[r] < starts[i + r + 1] and neighbors[cursor[r]] < start + count:
                    cursor[r] += 1
            masked = mask(w, far(w), i, rows, start, count, cursor, starts, neighbors)
            state[2], state[3] = -np.inf, 0.5 * far(w)
            if state[0] < np.inf:
                limit = state[0] + cut * now.tau + own + _most(offsets[start:], count)
                state[2], state[3] = 1.0, -1.0
                if limit >= 0.0:
                    state[2], state[3] = bounds(limit, space.kind, space.radius, now.epsilon)
                    state[3] = min(state[3], 0.5 * far(w))
            alive = count_between(w, size, state[2], state[3])
            if alive * FEW < size or rows < ROWS:
                if alive > 0:
                    _add_few(
                        offsets, run, space, now, prepared, work, state, w, i, rows, start, count, gradient, first
                    )  # fmt: skip
            else:
                evaluate(w, size, tabled, space.radius, now, prepared, table, masked, values, pull)
                if tabled != space.kind:
                    smooth(values, pull, size, now.epsilon, space.time == 0)
                take_off_tile(offsets, values, i, rows, start, count)
                mask(values, far(w), i, rows, start, count, cursor, starts, neighbors)
                _come_nearer(smallest(values, size), now.tau, prepared.slack, state, gradient, first)
                exponentials(values, size, state[0], 1.0 / now.tau, weights)
                mask(weights, 0.0, i, rows, start, count, cursor, starts, neighbors)
                add_up(weights[:size], count, sums, i, sums[start:])
                state[1] += weigh_pulls(weights, pull, size)
                push(points, i, start, count, pull, gradient)
            cell += parts
            start = start + count if parts == 1 else cell * CELL[1]
        i += rows
    work.sums[s, 0], work.sums[s, 1] = state[0], state[1]
