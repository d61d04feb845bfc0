"""The sum over all pairs without an edge, value and gradient, in one pass that never holds more
than a tile of them.

Pairs are cut into slabs of rows, fixed by the number of nodes alone. Slabs own their gradients and
are added up in order: the same bits for any number of threads. Within a slab four rows meet a tile
of 256 columns at a time. Pairs whose weight would vanish in the sum are found by comparing w with
two bounds. A tile with few others is finished pair by pair, one with many by tables, without
branches.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...pairs.numba.functions import (
    CUT,
    DEGREE,
    FLAT_SMOOTHED,
    FLAT_SQUARED,
    GEODESIC,
    HIGHEST_OCTAVE,
    LOWEST_OCTAVE,
    SEGMENTS,
    SMOOTHED,
    bounds,
    dissimilarity,
    exponentials,
    fill_octave,
    look_up,
    lowest_octave,
    smooth,
    table_octaves,
)
from ...pairs.numba.portable import (
    WIDTH,
    add,
    exp,
    fma,
    inner,
    load,
    splat,
    store,
    subtract,
    total,
    vectorized,
)
from ..base import CELL
from .arguments import Prepared
from .biases import (
    add_to_bias,
    both_ways,
    count_both_ways,
    spring_of,
    stretch_tile,
    stretched,
    subtract_from_tile,
)

ROWS = CELL[0]
TILE = 256
# Where fewer than one in this many pairs of a tile's row counts, the branch-free loops would do
# more than they save.
FEW = 8
# From this share of a tile's pairs on, leaving out the others costs more than evaluating them.
_DENSE = 0.75
# A pass over all pairs has this many times the slabs of a sample, where adding up their gradients
# would show.
_FEWER_SLABS = 4
# A sample leaves out pairs whose weight is below exp(-30) of that of its nearest pair: its own
# noise is far larger.
_SAMPLE_CUT = 30.0
# Graphs below this size are one slab: starting threads would cost more than they save.
_ONE_SLAB_NODES = 768
# A table that changes with ε pays off from this many pairs on.
_TABLE_PAIRS = 50_000
# w of a tie: beyond every bound, and a number.
FAR = 1e300
# Sums are relative to the least dissimilarity seen so far, or to one that exceeds it by less than
# this, in units of τ.
_SLACK = 8.0
# What a slab has come to: the least dissimilarity and the sum relative to it, and the bounds of w
# that counts and of w that may be nearer than the least.
LEAST, TOTAL, LOW, HIGH, LOWER, HIGHER = range(6)
# Numbers from one row to the next, so that no two threads write to one line of the cache.
_APART = 16


class Workspace(NamedTuple):
    """What a pass over n nodes in d coordinates writes to; allocated once for many passes."""

    slabs: NDArray[np.int64]
    """[S + 1] the first row of each slab."""
    gradients: Floats
    """[S, d, n]"""
    sums: Floats
    """[S, 2] least dissimilarity and Σ exp(-(d - least)/τ) of each slab."""
    tiles: Floats
    """[S, 4, ROWS · TILE] scratch"""
    table: Floats
    """[segments, 2·(DEGREE + 1)]"""
    made_of: Floats
    """[5] what the table was last made of."""
    nodes: Floats
    """[2, DEGREE + 1] scratch of making it."""
    factors: Floats
    """[d] ±1/4|β|, the metric's signs times what makes w of a squared chord."""
    states: Floats
    """[S, _APART] what each slab has come to."""
    cursors: NDArray[np.int64]
    """[S, _APART] scratch: which neighbour of each row comes next."""
    positions: NDArray[np.int64]
    """[S, pairs of a cell] scratch: those that count."""


def slabs_of(n: int, *, sample: bool = False) -> NDArray[np.int64]:
    """The first row of each slab and n, such that slabs hold about equally many pairs i < j."""
    count = 1 if n < _ONE_SLAB_NODES else 16 if n < 16 * _ONE_SLAB_NODES else 64
    if sample:
        count = max(1, count // _FEWER_SLABS)
    share = np.arange(count + 1) / count
    rows = np.round(n * (1.0 - np.sqrt(1.0 - share)) / ROWS).astype(np.int64) * ROWS
    rows[-1] = n
    return rows


def workspace(n: int, d: int, slopes: int | None = None) -> Workspace:
    """Room for passes over n nodes in d coordinates, with gradients [slopes, n] (default: d)."""
    slabs = slabs_of(n)
    count = len(slabs) - 1
    octaves = 2 * (HIGHEST_OCTAVE - LOWEST_OCTAVE)
    return Workspace(
        slabs,
        np.zeros((count, slopes or d, n)),
        np.zeros((count, 2)),
        np.zeros((count, 4, ROWS * TILE)),
        np.zeros((octaves * SEGMENTS, 2 * (DEGREE + 1))),
        np.full(5, np.nan),
        np.zeros((2, DEGREE + 1)),
        np.zeros(d),
        np.zeros((count, _APART)),
        np.zeros((count, _APART), np.int64),
        np.zeros((count, ROWS * CELL[1]), np.int64),
    )


def for_samples(work: Workspace) -> Workspace:
    """The same room for passes over a part of the pairs."""
    slabs = slabs_of(work.gradients.shape[2], sample=True)
    count = len(slabs) - 1
    return work._replace(
        slabs=slabs,
        gradients=work.gradients[:count],
        sums=work.sums[:count],
        tiles=work.tiles[:count],
    )


@vectorized
def half_chords(points, factors, time, i, start, count, w, at):
    """w of node i with ``count`` nodes from ``start`` on, into w from ``at`` on: Σ_k
    factors[k]·(x_ik - x_jk)².
    """
    row = w[at : at + count]
    for j in range(count):
        row[j] = 0.0
    k = 0
    while k < len(points):
        last = time if k < time else len(points)
        factor = factors[k]
        x0, row0 = points[k, i], points[k, start : start + count]
        if k + 2 < last:
            x1, row1 = points[k + 1, i], points[k + 1, start : start + count]
            x2, row2 = points[k + 2, i], points[k + 2, start : start + count]
            for j in range(count):
                t0, t1, t2 = x0 - row0[j], x1 - row1[j], x2 - row2[j]
                row[j] = fma(factor, fma(t2, t2, fma(t1, t1, t0 * t0)), row[j])
            k += 3
        elif k + 1 < last:
            x1, row1 = points[k + 1, i], points[k + 1, start : start + count]
            for j in range(count):
                t0, t1 = x0 - row0[j], x1 - row1[j]
                row[j] = fma(factor, fma(t1, t1, t0 * t0), row[j])
            k += 2
        else:
            for j in range(count):
                t0 = x0 - row0[j]
                row[j] = fma(factor, t0 * t0, row[j])
            k += 1


@inner
def copy(source, target):
    """One matrix into another. (With ``target[:] =`` a message about shapes takes longer to compile
    than the loss.)
    """
    for k in range(len(source)):
        for i in range(source.shape[1]):
            target[k, i] = source[k, i]


@inner
def half_chord(points, factors, time, i, j):
    """w of one pair. With one time coordinate its difference is that of the space coordinates,
    which lose no digits.
    """
    total, time_difference = 0.0, 0.0
    for k in range(time, len(points)):
        difference = points[k, i] - points[k, j]
        total += factors[k] * difference * difference
        time_difference += difference * (points[k, i] + points[k, j])
    if time == 1:
        time_difference /= points[0, i] + points[0, j]
        return total + factors[0] * time_difference * time_difference
    for k in range(time):
        difference = points[k, i] - points[k, j]
        total += factors[k] * difference * difference
    return total


@vectorized
def count_between(w, count, low, high):
    """How many w[:count] lie between two bounds."""
    between = 0
    for j in range(count):
        between += (w[j] >= low) & (w[j] <= high)
    return between


@inner
def nearest_of(w, count, space, epsilon):
    """The least dissimilarity of w[:count]."""
    above, below = np.inf, -np.inf
    for j in range(count):
        if w[j] >= 0.0:
            above = min(above, w[j])
        else:
            below = max(below, w[j])
    nearest = np.inf
    if above < FAR:
        nearest = dissimilarity(above, space.kind, space.radius, epsilon)[0]
    if below > -np.inf:
        nearest = min(nearest, dissimilarity(below, space.kind, space.radius, epsilon)[0])
    return nearest


@vectorized
def sum_of(weights, count):
    """Σ weights[:count]."""
    even = odd = splat(0.0)
    remainder, whole = 0.0, count - count % (2 * WIDTH)
    for j in range(0, whole, 2 * WIDTH):
        even = add(even, load(weights, j))
        odd = add(odd, load(weights, j + WIDTH))
    for j in range(whole, count):
        remainder += weights[j]
    return total(add(even, odd)) + remainder


@vectorized
def weigh_pulls(weights, pull, count):
    """Σ weights, and pull times the weights in place."""
    for j in range(count):
        pull[j] *= weights[j]
    return sum_of(weights, count)


@inner
def evaluate(w, count, space, now, prepared, table, masked, values, slopes):
    """Dissimilarities and slopes at w[:count]; ``masked`` ones get any number."""
    _, reach, above, below, kind = prepared
    lowest = lowest_octave(kind)
    if look_up(table, lowest, above, below, w, count, values, slopes) > masked:
        start = math.ldexp(1.0, lowest)
        for j in range(count):
            size = abs(w[j])
            if size < start or (size >= reach and size < FAR):
                values[j], slopes[j] = dissimilarity(w[j], kind, space.radius, now.epsilon)
    if kind != space.kind:
        smooth(values, slopes, count, now.epsilon, space.time == 0)


@vectorized
def push(points, i, start, count, pull, gradient):
    """Add pull·(x_i - x_j) to the gradient of four rows from i on, and take it from that of the
    columns.
    """
    whole = count - count % WIDTH
    for k in range(len(points)):
        row, slopes = points[k], gradient[k]
        columns, column_slopes = row[start:], slopes[start:]
        x0, x1, x2, x3 = row[i], row[i + 1], row[i + 2], row[i + 3]
        a0, a1, a2, a3 = splat(x0), splat(x1), splat(x2), splat(x3)
        r0 = r1 = r2 = r3 = 0.0
        s0 = s1 = s2 = s3 = splat(0.0)
        for j in range(0, whole, WIDTH):
            y = load(columns, j)
            # Signs are turned, so that both sums are plain multiply-adds: columns take, rows are
            # subtracted below.
            t0, t1, t2, t3 = subtract(y, a0), subtract(y, a1), subtract(y, a2), subtract(y, a3)
            c0, c1 = load(pull, j), load(pull, count + j)
            c2, c3 = load(pull, 2 * count + j), load(pull, 3 * count + j)
            s0, s1, s2, s3 = fma(c0, t0, s0), fma(c1, t1, s1), fma(c2, t2, s2), fma(c3, t3, s3)
            added = fma(c2, t2, fma(c3, t3, load(column_slopes, j)))
            store(column_slopes, j, fma(c0, t0, fma(c1, t1, added)))
        for j in range(whole, count):
            y = columns[j]
            u0, u1, u2, u3 = y - x0, y - x1, y - x2, y - x3
            p0, p1, p2, p3 = pull[j], pull[count + j], pull[2 * count + j], pull[3 * count + j]
            r0, r1, r2, r3 = fma(p0, u0, r0), fma(p1, u1, r1), fma(p2, u2, r2), fma(p3, u3, r3)
            added = fma(p2, u2, fma(p3, u3, column_slopes[j]))
            column_slopes[j] = fma(p0, u0, fma(p1, u1, added))
        slopes[i] -= total(s0) + r0
        slopes[i + 1] -= total(s1) + r1
        slopes[i + 2] -= total(s2) + r2
        slopes[i + 3] -= total(s3) + r3


@vectorized
def push_row(points, i, pull, gradient):
    """Add pull·(x_i - x_j) to the gradient of node i, and take it from that of every node j."""
    n = points.shape[1]
    whole = n - n % WIDTH
    for k in range(len(points)):
        x, row, slopes = points[k, i], points[k], gradient[k]
        xs, sums, remainder = splat(x), splat(0.0), 0.0
        for j in range(0, whole, WIDTH):
            t, c = subtract(load(row, j), xs), load(pull, j)
            sums = fma(c, t, sums)
            store(slopes, j, fma(c, t, load(slopes, j)))
        for j in range(whole, n):
            t, c = row[j] - x, pull[j]
            remainder = fma(c, t, remainder)
            slopes[j] = fma(c, t, slopes[j])
        slopes[i] -= total(sums) + remainder


@vectorized
def smallest(values, count):
    """The least of values[:count]."""
    least = values[0]
    for j in range(count):
        least = values[j] if values[j] < least else least
    return least


@vectorized
def _greatest(values, count):
    greatest = values[0]
    for j in range(count):
        greatest = values[j] if values[j] > greatest else greatest
    return greatest


@inner
def add_pair(points, i, j, pull, gradient):
    """Add pull·(x_i - x_j) to the gradient of i, and take it from that of j."""
    for k in range(len(points)):
        part = pull * (points[k, i] - points[k, j])
        gradient[k, i] += part
        gradient[k, j] -= part


@vectorized
def add_up(weights, count, sums, first, columns):
    """Add the weights of four rows to the sums of their nodes and to those of their columns."""
    a, b, c, d = (
        weights[:count],
        weights[count : 2 * count],
        weights[2 * count : 3 * count],
        weights[3 * count :],
    )
    for j in range(count):
        columns[j] += (a[j] + b[j]) + (c[j] + d[j])
    sums[first] += sum_of(a, count)
    sums[first + 1] += sum_of(b, count)
    sums[first + 2] += sum_of(c, count)
    sums[first + 3] += sum_of(d, count)


@inner
def kind_of_table(kind, n):
    """What a table holds: for few pairs what is to be smoothed, as filling one for every ε costs
    some 50,000 pairs.
    """
    if n * (n - 1) // 2 < _TABLE_PAIRS:
        if kind == SMOOTHED:
            return GEODESIC
        if kind == FLAT_SMOOTHED:
            return FLAT_SQUARED
    return kind


@inner
def mask(array, value, i, rows, start, count, cursor, starts, neighbors):
    """Write a value where a tile holds no pair of this pass, up to each row's ``cursor`` of
    neighbours; how many.
    """
    masked = 0
    for r in range(rows):
        shift = r * count - start
        for j in range(start, min(i + r + 1, start + count)):
            array[shift + j] = value
            masked += 1
        edge = cursor[r] - 1
        while edge >= starts[i + r] and neighbors[edge] >= start:
            array[shift + neighbors[edge]] = value
            masked += 1
            edge -= 1
    return masked


@inner
def _come_nearer(nearest, now, prepared, state, gradient, first):
    """If a pair is nearer, make the sums of the slab, whose rows begin at ``first``, relative to
    it; whether one is.
    """
    if nearest < state[LEAST] - prepared.slack:
        if state[TOTAL] > 0.0:
            shrink = exp((nearest - state[LEAST]) / now.tau)
            state[TOTAL] *= shrink
            for k in range(len(gradient)):
                for j in range(first, gradient.shape[1]):
                    gradient[k, j] *= shrink
        state[LEAST] = nearest
        return True
    return False


@inner
def _set_bounds(state, space, now, cut, slack):
    """Which w count, and which may be nearer than the least dissimilarity."""
    least, kind, radius, epsilon = state[LEAST], space.kind, space.radius, now.epsilon
    state[LOW], state[HIGH] = bounds(least + cut * now.tau, kind, radius, epsilon)
    state[LOWER], state[HIGHER] = bounds(max(least - slack, 0.0), kind, radius, epsilon)


@inner
def _bound_tile(biases, state, space, now, cut, i, rows, start, count):
    """With biases w alone does not tell whether a pair counts, but bounds wider by the largest of a
    tile do.
    """
    state[LOW], state[HIGH] = -np.inf, 0.5 * FAR
    if state[LEAST] < np.inf:
        limit = (
            state[LEAST]
            + cut * now.tau
            + _greatest(biases[i:], rows)
            + _greatest(biases[start:], count)
        )
        state[LOW], state[HIGH] = 1.0, -1.0
        if limit >= 0.0:
            low, high = bounds(limit, space.kind, space.radius, now.epsilon)
            state[LOW], state[HIGH] = low, min(high, 0.5 * FAR)


@inner
def _add_few(run, heights, space, now, prepared, work, s, cut, i, rows, start, count):
    """Add the pairs of a tile that count, one by one."""
    points, biases, state, gradient = run.points, run.biases, work.states[s], work.gradients[s]
    w, limit, spring = work.tiles[s, 0], cut * now.tau, spring_of(heights, run.record)
    for r in range(rows):
        for j in range(count):
            if w[r * count + j] >= state[LOW] and w[r * count + j] <= state[HIGH]:
                chord = half_chord(points, work.factors, space.time, i + r, start + j)
                value, slope = dissimilarity(chord, space.kind, space.radius, now.epsilon)
                if len(biases) > 0:
                    value -= biases[i + r] + biases[start + j]
                    value += stretched(heights, spring, i + r, start + j)
                    if not value <= state[LEAST] + limit:
                        continue
                    _come_nearer(value, now, prepared, state, gradient, work.slabs[s])
                weight = exp((state[LEAST] - value) / now.tau) * both_ways(
                    heights, spring, now.tau, i + r, start + j
                )
                state[TOTAL] += weight
                add_pair(points, i + r, start + j, weight * slope, gradient)
                add_to_bias(biases, gradient, i + r, weight)
                add_to_bias(biases, gradient, start + j, weight)


@vectorized
def _squeeze(w, size, low, high, positions):
    """Move the w between two bounds to the front, and write where they were; how many there are."""
    kept = 0
    for j in range(size):
        x = w[j]
        w[kept], positions[kept] = x, j
        kept += (x >= low) & (x <= high)
    return kept


@inner
def _add_sample(run, heights, space, now, prepared, work, s, i, rows, start, count):
    """Add the pairs of a sampled tile that count, which are evaluated together."""
    points, biases, state, gradient = run.points, run.biases, work.states[s], work.gradients[s]
    tiles, positions = work.tiles[s], work.positions[s]
    w, values, slopes, weights = tiles[0], tiles[1], tiles[2], tiles[3]
    size, spring = rows * count, spring_of(heights, run.record)
    kept = _squeeze(w, size, state[LOW], state[HIGH], positions)
    few = kept * FEW < size or rows < ROWS
    # Where points are far out, the difference of squares has lost digits.
    if few and space.time == 1:
        for k in range(kept):
            first, second = i + positions[k] // count, start + positions[k] % count
            w[k] = half_chord(points, work.factors, 1, first, second)
    evaluate(w, kept, space, now, prepared, work.table, 0, values, slopes)
    if len(biases) > 0:
        for k in range(kept):
            first, second = i + positions[k] // count, start + positions[k] % count
            values[k] -= biases[first] + biases[second]
            values[k] += stretched(heights, spring, first, second)
        _come_nearer(smallest(values, kept), now, prepared, state, gradient, work.slabs[s])
    exponentials(values, kept, state[LEAST], 1.0 / now.tau, weights)
    if len(biases) > 0:
        for k in range(kept):
            first, second = i + positions[k] // count, start + positions[k] % count
            weights[k] *= both_ways(heights, spring, now.tau, first, second)
            add_to_bias(biases, gradient, first, weights[k])
            add_to_bias(biases, gradient, second, weights[k])
    state[TOTAL] += weigh_pulls(weights, slopes, kept)
    if few:
        for k in range(kept):
            first, second = i + positions[k] // count, start + positions[k] % count
            add_pair(points, first, second, slopes[k], gradient)
        return
    for j in range(size):
        values[j] = 0.0
    for k in range(kept):
        values[positions[k]] = slopes[k]
    push(points, i, start, count, values, gradient)


@inner
def _reach(points, scale):
    """No |w| exceeds this."""
    most = 0.0
    for j in range(points.shape[1]):
        square = 0.0
        for k in range(len(points)):
            square += points[k, j] * points[k, j]
        most = max(most, square)
    return 4.0 * scale * most


@inner
def scale_of(space):
    """What makes w of a squared chord."""
    return 1.0 if space.time == 0 else 0.25 / (space.radius * space.radius)


@inner
def prepare(run, space, now, compare, work):
    """What all slabs of a pass share; ``compare`` asks for the least dissimilarity itself."""
    points, radius, table, made_of = run.points, space.radius, work.table, work.made_of
    n, scale = points.shape[1], scale_of(space)
    for k in range(len(points)):
        work.factors[k] = -scale if k < space.time else scale
    tabled = kind_of_table(space.kind, n)
    epsilon = now.epsilon if tabled in (SMOOTHED, FLAT_SMOOTHED) else 0.0
    above, below = table_octaves(_reach(points, scale), tabled)
    # A table that reaches further will do.
    if (
        made_of[0] == tabled
        and made_of[1] == radius
        and made_of[2] == epsilon
        and made_of[3] >= above
    ):
        above, below = int(made_of[3]), int(made_of[4])
    else:
        for octave in range(above + below):
            fill_octave(table, SEGMENTS, octave, above, tabled, radius, epsilon, work.nodes)
        made_of[0], made_of[1], made_of[2] = tabled, radius, epsilon
        made_of[3], made_of[4] = above, below
    slack = 0.0 if compare else _SLACK * now.tau
    return Prepared(slack, math.ldexp(1.0, lowest_octave(tabled) + above), above, below, tabled)


@inner
def combine(tau, work, gradient):
    """The slabs of a pass in their order: the dissimilarity that sums are relative to, the sum, and
    the gradient.
    """
    slabs, gradients, sums = work.slabs, work.gradients, work.sums
    least, total = np.inf, 0.0
    for s in range(len(sums)):
        least = min(least, sums[s, 0])
    gradient[:] = 0.0
    for s in range(len(sums)):
        if sums[s, 1] > 0.0:
            factor = exp((least - sums[s, 0]) / tau)
            total += factor * sums[s, 1]
            for k in range(len(gradient)):
                for j in range(slabs[s], gradient.shape[1]):
                    gradient[k, j] += factor * gradients[s, k, j]
    return least, total


@inner
def slab(run, space, now, prepared, edges, work, s):
    """The pairs of slab ``s``: the rows of the slab with all later nodes, into the workspace.

    Over pairs without an edge: Σ exp(-(d - least)/τ), and Σ exp(…) (∂d/∂w) (x_i - x_j) as the
    gradient [d, n]; the ``least`` that both are relative to is about that of the nearest pair. With
    biases d is d_ij - a_i - a_j, and the gradient has one row more: Σ exp(…) of each node.
    """
    # One function, with every array named before the loops: a tile is so little work that handing
    # them on would show.
    points, biases, heights = run.points, run.biases, edges.heights
    starts, neighbors = edges.starts, edges.neighbors
    factors, table, gradient = work.factors, work.table, work.gradients[s]
    tiles, state, cursor = work.tiles[s], work.states[s], work.cursors[s]
    w, values, pull, weights = tiles[0], tiles[1], tiles[2], tiles[3]
    sums = gradient[len(gradient) - 1]
    n, first, last, parts = points.shape[1], work.slabs[s], work.slabs[s + 1], now.parts
    spring, biased = spring_of(heights, run.record), len(biases) > 0
    cut = CUT if parts == 1 else _SAMPLE_CUT
    gradient[:, first:] = 0.0
    state[LEAST], state[TOTAL] = np.inf, 0.0
    state[LOW] = state[LOWER] = -np.inf
    state[HIGH] = state[HIGHER] = 0.5 * FAR
    i = first
    while i < last:
        rows = min(ROWS, last - i)
        for r in range(rows):
            cursor[r] = starts[i + r]
        # Tiles follow one another, or where this is a sample are the cells of its part.
        cell = (i + 1) // CELL[1]
        cell += (now.part - i // ROWS - cell) % parts
        start = i + 1 if parts == 1 else max(i + 1, cell * CELL[1])
        while start < n:
            count = min(TILE if parts == 1 else (cell + 1) * CELL[1] - start, n - start)
            size = rows * count
            for r in range(rows):
                half_chords(points, factors, space.time, i + r, start, count, w, r * count)
                while cursor[r] < starts[i + r + 1] and neighbors[cursor[r]] < start + count:
                    cursor[r] += 1
            masked = mask(w, FAR, i, rows, start, count, cursor, starts, neighbors)
            if biased:
                _bound_tile(biases, state, space, now, cut, i, rows, start, count)
            alive = count_between(w, size, state[LOW], state[HIGH])
            if not biased and alive > 0 and count_between(w, size, state[LOWER], state[HIGHER]) > 0:
                nearest = nearest_of(w, size, space, now.epsilon)
                if _come_nearer(nearest, now, prepared, state, gradient, first):
                    _set_bounds(state, space, now, cut, prepared.slack)
                alive = count_between(w, size, state[LOW], state[HIGH])
            if alive == 0:
                pass
            elif parts > 1 and (alive < _DENSE * size or rows < ROWS):
                _add_sample(run, heights, space, now, prepared, work, s, i, rows, start, count)
            elif alive * FEW < size or rows < ROWS:
                _add_few(run, heights, space, now, prepared, work, s, cut, i, rows, start, count)
            else:
                evaluate(w, size, space, now, prepared, table, masked, values, pull)
                if biased:
                    subtract_from_tile(biases, values, i, rows, start, count)
                    stretch_tile(heights, spring, values, i, rows, start, count)
                    mask(values, FAR, i, rows, start, count, cursor, starts, neighbors)
                    _come_nearer(smallest(values, size), now, prepared, state, gradient, first)
                exponentials(values, size, state[LEAST], 1.0 / now.tau, weights)
                mask(weights, 0.0, i, rows, start, count, cursor, starts, neighbors)
                count_both_ways(heights, spring, now.tau, weights, i, rows, start, count)
                if biased:
                    add_up(weights[:size], count, sums, i, sums[start:])
                state[TOTAL] += weigh_pulls(weights, pull, size)
                push(points, i, start, count, pull, gradient)
            cell += parts
            start = start + count if parts == 1 else cell * CELL[1]
        i += rows
    work.sums[s, 0], work.sums[s, 1] = state[LEAST], state[TOTAL]
