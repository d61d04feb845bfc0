"""The sum over all pairs without an edge, value and gradient, in one pass that never holds more
than a tile of them.

Pairs are cut into slabs of rows, fixed by the number of nodes alone. Slabs own their gradients and
are added up in order: the same bits for any number of threads. Within a slab four rows meet a tile
of 256 columns at a time. Pairs whose weight would vanish in the sum are found by comparing w with
two bounds. A tile with few others is finished pair by pair, one with many by tables, without
branches. Where no pair vanishes, exp(-d/τ) itself is the table ("hot").
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...pairs.numba.functions import (
    BROKEN,
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
    widen,
)
from ..base import CELL
from .arguments import SMALL_NODES, Prepared
from .offsets import (
    add_offset,
    both_ways,
    count_both_ways,
    spring_of,
    stretch_tile,
    stretched,
    take_off_tile,
)

ROWS = CELL[0]
TILE = 256
# Where fewer than one in this many pairs of a tile's row counts, the branch-free loops would do
# more than they save.
FEW = 8
# From this share of a tile's pairs on, leaving out the others costs more than evaluating them.
_MOST = 0.75
# A pass over all pairs has this many times the slabs of a sample, where adding up their gradients
# would show.
_FEWER_SLABS = 4
# What a sample leaves out is told from nothing by no more than this: exp(-30) of its nearest pair.
_SAMPLE_CUT = 30.0
# Graphs below this size are one slab: starting threads would cost more than they save.
_ONE_SLAB_NODES = 768
# A table that changes with τ or ε pays off from this many pairs on.
_TABLE_PAIRS = 50_000
# exp(-d/τ) is interpolated to 1e-12 while d changes by less than 2τ between |w| and e·|w|, and the
# nearest pair of a few is nearer than 8τ.
_HOT_RATE, _HOT_NEAREST = 2.0, 8.0
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
    gradients: NDArray[np.floating]
    """[S, d, n]"""
    sums: Floats
    """[S, 2] least dissimilarity and Σ exp(-(d - least)/τ) of each slab."""
    tiles: NDArray[np.floating] | None
    """[S, 4, ROWS · TILE] scratch"""
    wide: Floats | None
    """[S, ROWS · TILE] where single precision makes its w: they are differences of squares, which
    would lose digits.
    """
    table: Floats
    """[segments, 2·(DEGREE + 1)]"""
    made_of: Floats
    """[6] what the table was last made of."""
    factors: Floats
    """[d] ±1/4|β|, the metric's signs times what makes w of a squared chord."""
    cut: Floats
    """[1] by how much, in units of τ, a pair may be farther than the nearest and still count."""
    states: Floats
    """[S, _APART] what each slab has come to."""
    cursors: NDArray[np.int64]
    """[S, _APART] scratch: which neighbour of each row comes next."""
    positions: NDArray[np.int64]
    """[S, pairs of a cell] scratch: those that count."""
    nodes: Floats
    """[6, SMALL_NODES] scratch"""


def slabs_of(n: int, *, sample: bool = False) -> NDArray[np.int64]:
    """The first row of each slab and n, such that slabs hold about equally many pairs i < j."""
    count = 1 if n < _ONE_SLAB_NODES else 16 if n < 16 * _ONE_SLAB_NODES else 64
    if sample:
        count = max(1, count // _FEWER_SLABS)
    share = np.arange(count + 1) / count
    rows = np.round(n * (1.0 - np.sqrt(1.0 - share)) / ROWS).astype(np.int64) * ROWS
    rows[-1] = n
    return rows


def workspace(n: int, d: int, dtype: type = np.float64, slopes: int | None = None) -> Workspace:
    """Room for passes over n nodes in d coordinates, with gradients [slopes, n] (default: d); pairs
    are ``dtype``.
    """
    slabs = slabs_of(n)
    count = len(slabs) - 1
    octaves = 2 * (HIGHEST_OCTAVE - LOWEST_OCTAVE)
    return Workspace(
        slabs,
        np.zeros((count, slopes or d, n), dtype),
        np.zeros((count, 2)),
        np.zeros((count, 4, ROWS * TILE), dtype),
        None if dtype is np.float64 else np.zeros((count, ROWS * TILE)),
        np.zeros((octaves * SEGMENTS, 2 * (DEGREE + 1))),
        np.full(6, np.nan),
        np.zeros(d),
        np.array([CUT]),
        np.zeros((count, _APART)),
        np.zeros((count, _APART), np.int64),
        np.zeros((count, ROWS * CELL[1]), np.int64),
        np.zeros((6, SMALL_NODES)),
    )


def for_samples(work: Workspace) -> Workspace:
    """The same room for passes over a part of the pairs."""
    slabs = slabs_of(work.gradients.shape[2], sample=True)
    rooms = {name: getattr(work, name) for name in ("gradients", "sums", "tiles", "wide")}
    fewer = {name: room[: len(slabs) - 1] for name, room in rooms.items() if room is not None}
    return work._replace(slabs=slabs, **fewer)


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


@vectorized
def _narrow(wide, count, w):
    for j in range(count):
        w[j] = wide[j]


@inner
def copy(source, target):
    """One matrix into another. (With ``target[:] =`` a message about shapes takes longer to compile
    than the loss.)
    """
    for k in range(len(source)):
        for i in range(source.shape[1]):
            target[k, i] = source[k, i]


@inner
def chords(points, factors, time, i, rows, start, count, wide, s, w):
    """w of a tile of slab ``s``, by way of ``wide`` where there is that."""
    if wide is None:
        for r in range(rows):
            half_chords(points, factors, time, i + r, start, count, w, r * count)
    else:
        exact = wide[s]
        for r in range(rows):
            half_chords(points, factors, time, i + r, start, count, exact, r * count)
        _narrow(exact, rows * count, w)


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
    found = 0
    for j in range(count):
        found += (w[j] >= low) & (w[j] <= high)
    return found


@inner
def far(w):
    """What stands for w of an edge: beyond every bound, and a number in both precisions."""
    return 1e300 if w.itemsize == 8 else 1e37


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
    if above < far(w):
        nearest = dissimilarity(above, space.kind, space.radius, epsilon)[0]
    if below > -np.inf:
        nearest = min(nearest, dissimilarity(below, space.kind, space.radius, epsilon)[0])
    return nearest


@vectorized
def sum_of(weights, count):
    """Σ weights[:count]."""
    even = odd = splat(0.0)
    rest, whole = 0.0, count - count % (2 * WIDTH)
    for j in range(0, whole, 2 * WIDTH):
        even, odd = add(even, widen(load(weights, j))), add(odd, widen(load(weights, j + WIDTH)))
    for j in range(whole, count):
        rest += weights[j]
    return total(add(even, odd)) + rest


@vectorized
def weigh_pulls(weights, pull, count):
    """Σ weights, and pull times the weights in place."""
    for j in range(count):
        pull[j] *= weights[j]
    return sum_of(weights, count)


@inner
def evaluate(w, count, space, now, prepared, table, masked, values, slopes):
    """Dissimilarities and slopes at w[:count] (hot: exp(-d/τ), and times the slope); ``masked``
    ones get any number.
    """
    hot, _, reach, above, below, kind = prepared
    lowest = lowest_octave(kind)
    if look_up(table, lowest, above, below, w, count, values, slopes) > masked:
        start = math.ldexp(1.0, lowest)
        for j in range(count):
            size = abs(w[j])
            if (
                size < start
                or (size >= reach and size < far(w))
                or (kind == BROKEN and w[j] <= -0.5)
            ):
                value, slope = dissimilarity(w[j], kind, space.radius, now.epsilon)
                if hot:
                    value = exp(-value / now.tau)
                    slope *= value
                values[j], slopes[j] = value, slope
    if kind != space.kind:
        smooth(values, slopes, count, now.epsilon, space.time == 0)


@inner
def without_exponentials(space, prepared):
    """For what a hot pass does not evaluate: its table holds exponentials, and nothing is read from
    it.
    """
    return Prepared(False, 0.0, 0.0, 0, 0, space.kind) if prepared.hot else prepared


@vectorized
def push(points, i, start, count, pull, gradient):
    """Add pull·(x_i - x_j) to the gradient of four rows from i on, and take it from that of the
    columns.
    """
    whole = count - count % WIDTH
    for k in range(len(points)):
        x0, x1, x2, x3 = points[k, i], points[k, i + 1], points[k, i + 2], points[k, i + 3]
        a0, a1, a2, a3 = splat(x0), splat(x1), splat(x2), splat(x3)
        r0 = r1 = r2 = r3 = x0 - x0
        s0 = s1 = s2 = s3 = splat(r0)
        for j in range(0, whole, WIDTH):
            y = load(points, (k, start + j))
            # Signs are turned, so that both sums are plain multiply-adds: columns take, rows are
            # subtracted below.
            t0, t1, t2, t3 = subtract(y, a0), subtract(y, a1), subtract(y, a2), subtract(y, a3)
            c0, c1, c2, c3 = (
                load(pull, j),
                load(pull, count + j),
                load(pull, 2 * count + j),
                load(pull, 3 * count + j),
            )
            s0, s1, s2, s3 = fma(c0, t0, s0), fma(c1, t1, s1), fma(c2, t2, s2), fma(c3, t3, s3)
            added = fma(c2, t2, fma(c3, t3, load(gradient, (k, start + j))))
            store(gradient, (k, start + j), fma(c0, t0, fma(c1, t1, added)))
        for j in range(whole, count):
            y, column = points[k, start + j], gradient[k, start + j]
            u0, u1, u2, u3 = y - x0, y - x1, y - x2, y - x3
            p0, p1, p2, p3 = pull[j], pull[count + j], pull[2 * count + j], pull[3 * count + j]
            r0, r1, r2, r3 = fma(p0, u0, r0), fma(p1, u1, r1), fma(p2, u2, r2), fma(p3, u3, r3)
            gradient[k, start + j] = fma(p0, u0, fma(p1, u1, fma(p2, u2, fma(p3, u3, column))))
        gradient[k, i] -= total(s0) + r0
        gradient[k, i + 1] -= total(s1) + r1
        gradient[k, i + 2] -= total(s2) + r2
        gradient[k, i + 3] -= total(s3) + r3


@vectorized
def push_row(points, i, start, count, pull, at, gradient):
    """Add pull[at:]·(x_i - x_j) to the gradient of i, and take it from that of ``count`` nodes from
    ``start`` on.
    """
    whole = count - count % WIDTH
    for k in range(len(points)):
        x, rest = points[k, i], points[k, i] * 0
        own, sums = splat(x), splat(rest)
        for j in range(0, whole, WIDTH):
            t, c = subtract(load(points, (k, start + j)), own), load(pull, at + j)
            sums = fma(c, t, sums)
            store(gradient, (k, start + j), fma(c, t, load(gradient, (k, start + j))))
        for j in range(whole, count):
            u, p = points[k, start + j] - x, pull[at + j]
            rest = fma(p, u, rest)
            gradient[k, start + j] = fma(p, u, gradient[k, start + j])
        gradient[k, i] -= total(sums) + rest


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


@vectorized
def weigh(slopes, weights, count, factor):
    """Multiply the weights by slopes and a factor."""
    for j in range(count):
        weights[j] *= factor * slopes[j]


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
def mask(array, value, i, rows, start, count, cursor, offsets, neighbors):
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
        while edge >= offsets[i + r] and neighbors[edge] >= start:
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
def _bound_tile(offsets, state, w, space, now, cut, i, rows, start, count):
    """With offsets w alone does not tell whether a pair counts, but bounds wider by the largest of
    a tile do.
    """
    state[LOW], state[HIGH] = -np.inf, 0.5 * far(w)
    if state[LEAST] < np.inf:
        limit = (
            state[LEAST]
            + cut * now.tau
            + _greatest(offsets[i:], rows)
            + _greatest(offsets[start:], count)
        )
        state[LOW], state[HIGH] = 1.0, -1.0
        if limit >= 0.0:
            low, high = bounds(limit, space.kind, space.radius, now.epsilon)
            state[LOW], state[HIGH] = low, min(high, 0.5 * far(w))


@inner
def _add_few(
    offsets,
    heights,
    run,
    space,
    now,
    prepared,
    work,
    state,
    w,
    i,
    rows,
    start,
    count,
    gradient,
    first,
):
    """Add the pairs of a tile that count, one by one."""
    exact, points, factors, limit = run.points, run.pair_points, work.factors, work.cut[0] * now.tau
    spring = spring_of(heights, run.record)
    for r in range(rows):
        for j in range(count):
            if w[r * count + j] >= state[LOW] and w[r * count + j] <= state[HIGH]:
                chord = half_chord(exact, factors, space.time, i + r, start + j)
                value, slope = dissimilarity(chord, space.kind, space.radius, now.epsilon)
                if len(offsets) > 0:
                    value -= offsets[i + r] + offsets[start + j]
                    value += stretched(heights, spring, i + r, start + j)
                    if not value <= state[LEAST] + limit:
                        continue
                    _come_nearer(value, now, prepared, state, gradient, first)
                weight = exp((state[LEAST] - value) / now.tau) * both_ways(
                    heights, spring, now.tau, i + r, start + j
                )
                state[TOTAL] += weight
                add_pair(points, i + r, start + j, weight * slope, gradient)
                add_offset(offsets, gradient, i + r, weight)
                add_offset(offsets, gradient, start + j, weight)


@vectorized
def _squeeze(w, size, low, high, positions):
    """Move the w between two bounds to the front, and write where they were; how many there are."""
    found = 0
    for j in range(size):
        x = w[j]
        w[found], positions[found] = x, j
        found += (x >= low) & (x <= high)
    return found


@inner
def _add_sample(
    popularity, heights, run, space, now, prepared, work, s, state, positions, i, rows, start, count
):
    """Add the pairs of a sampled tile that count, which are evaluated together."""
    points, gradient, tiles = run.pair_points, work.gradients[s], work.tiles[s]
    w, values, slopes, weights = tiles[0], tiles[1], tiles[2], tiles[3]
    size, spring = rows * count, spring_of(heights, run.record)
    found = _squeeze(w, size, state[LOW], state[HIGH], positions)
    few = found * FEW < size or rows < ROWS
    if (
        few and space.time == 1
    ):  # where points are far out, the difference of squares has lost digits
        for k in range(found):
            w[k] = half_chord(
                run.points, work.factors, 1, i + positions[k] // count, start + positions[k] % count
            )
    evaluate(w, found, space, now, prepared, work.table, 0, values, slopes)
    if len(popularity) > 0:
        for k in range(found):
            first, second = i + positions[k] // count, start + positions[k] % count
            values[k] -= popularity[first] + popularity[second]
            values[k] += stretched(heights, spring, first, second)
        _come_nearer(smallest(values, found), now, prepared, state, gradient, work.slabs[s])
    exponentials(values, found, state[LEAST], 1.0 / now.tau, weights)
    if len(popularity) > 0:
        for k in range(found):
            first, second = i + positions[k] // count, start + positions[k] % count
            weights[k] *= both_ways(heights, spring, now.tau, first, second)
            add_offset(popularity, gradient, first, weights[k])
            add_offset(popularity, gradient, second, weights[k])
    state[TOTAL] += weigh_pulls(weights, slopes, found)
    if few:
        for k in range(found):
            add_pair(
                points, i + positions[k] // count, start + positions[k] % count, slopes[k], gradient
            )
        return
    for j in range(size):
        values[j] = 0.0
    for k in range(found):
        values[positions[k]] = slopes[k]
    push(points, i, start, count, values, gradient)


@inner
def _is_hot(popularity, points, factors, space, now, offsets, neighbors):
    """Whether exp(-d/τ) can be a table: no popularity, a large τ, and some of 64 non-edges not far
    in units of τ.
    """
    if len(popularity) > 0 or space.radius > _HOT_RATE * now.tau:
        return False
    n = points.shape[1]
    for i in range(0, n - 1, max(1, n // 64)):
        if offsets[i + 1] > offsets[i] and neighbors[offsets[i]] == i + 1:
            continue
        w = half_chord(points, factors, space.time, i, i + 1)
        if dissimilarity(w, space.kind, space.radius, now.epsilon)[0] <= _HOT_NEAREST * now.tau:
            return True
    return False


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
def prepare(run, space, now, compare, edges, work):
    """What all slabs of a pass share; ``compare`` asks for the least dissimilarity itself."""
    time, radius, kind, epsilon, tau, points = (
        space.time,
        space.radius,
        space.kind,
        now.epsilon,
        now.tau,
        run.points,
    )
    table, made_of, n, scale = work.table, work.made_of, points.shape[1], scale_of(space)
    for k in range(len(points)):
        work.factors[k] = -scale if k < time else scale
    hot = (
        n * (n - 1) // 2 >= _TABLE_PAIRS
        and not compare
        and _is_hot(run.offsets, points, work.factors, space, now, edges.offsets, edges.neighbors)
    )

    slack = 0.0 if compare else _SLACK * tau
    tabled = kind_of_table(kind, n)
    smoothed = tabled in (SMOOTHED, FLAT_SMOOTHED)
    above, below = table_octaves(_reach(points, scale), kind)
    wanted = (
        float(tabled),
        radius,
        epsilon if smoothed else 0.0,
        tau if hot else 0.0,
        float(above),
        float(below),
    )
    same = True
    for k in range(4):
        same = same and made_of[k] == wanted[k]
    if same and made_of[4] >= above:  # a table that reaches further will do
        above, below = int(made_of[4]), int(made_of[5])
    else:
        for octave in range(above + below):
            fill_octave(
                table, SEGMENTS, octave, above, tabled, radius, epsilon, wanted[3], work.nodes
            )
        for k in range(6):
            made_of[k] = wanted[k]
    return Prepared(
        hot, slack, math.ldexp(1.0, lowest_octave(tabled) + above), above, below, tabled
    )


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
def slab(popularity, heights, run, space, now, prepared, edges, work, s):
    """The pairs of slab ``s``: the rows of the slab with all later nodes, into the workspace.

    Over pairs without an edge: Σ exp(-(d - least)/τ), and Σ exp(…) (∂d/∂w) (x_i - x_j) as the
    gradient [d, n]. The ``least`` that both are relative to is that of the nearest pair, or 0 in a
    hot pass. With a ``popularity`` [n], the run's own, d is d_ij - a_i - a_j, and the gradient has
    one row more: Σ exp(…) of each node.
    """
    # One function, with every array named before the loops: a tile is so little work that handing
    # them on would show.
    exact, points, offsets, neighbors = run.points, run.pair_points, edges.offsets, edges.neighbors
    factors, table, gradient, tiles, wide = (
        work.factors,
        work.table,
        work.gradients[s],
        work.tiles[s],
        work.wide,
    )
    w, values, pull, weights, sums = (
        tiles[0],
        tiles[1],
        tiles[2],
        tiles[3],
        gradient[len(gradient) - 1],
    )
    n, first, last, hot, parts, cut = (
        points.shape[1],
        work.slabs[s],
        work.slabs[s + 1],
        prepared.hot,
        now.parts,
        work.cut[0],
    )
    spring, popular = spring_of(heights, run.record), len(popularity) > 0
    if parts > 1:
        cut = min(cut, _SAMPLE_CUT)
    gradient[:, first:] = 0.0
    state, cursor, positions = work.states[s], work.cursors[s], work.positions[s]
    state[LEAST], state[TOTAL] = (0.0, 0.0) if hot else (np.inf, 0.0)
    state[LOW] = state[LOWER] = -np.inf
    state[HIGH] = state[HIGHER] = 0.5 * far(w)
    i = first
    while i < last:
        rows = min(ROWS, last - i)
        for r in range(rows):
            cursor[r] = offsets[i + r]
        # Tiles follow one another, or where this is a sample are the cells of its part.
        cell = (i + 1) // CELL[1]
        cell += (now.part - i // ROWS - cell) % parts
        start = i + 1 if parts == 1 else max(i + 1, cell * CELL[1])
        while start < n:
            count = min(TILE if parts == 1 else (cell + 1) * CELL[1] - start, n - start)
            size = rows * count
            chords(exact, factors, space.time, i, rows, start, count, wide, s, w)
            for r in range(rows):
                while cursor[r] < offsets[i + r + 1] and neighbors[cursor[r]] < start + count:
                    cursor[r] += 1
            masked = mask(w, far(w), i, rows, start, count, cursor, offsets, neighbors)
            if popular:
                _bound_tile(popularity, state, w, space, now, cut, i, rows, start, count)
            alive = size if hot else count_between(w, size, state[LOW], state[HIGH])
            if (
                not popular
                and alive > 0
                and not hot
                and count_between(w, size, state[LOWER], state[HIGHER]) > 0
            ):
                nearest = nearest_of(w, size, space, now.epsilon)
                if _come_nearer(nearest, now, prepared, state, gradient, first):
                    _set_bounds(state, space, now, cut, prepared.slack)
                alive = count_between(w, size, state[LOW], state[HIGH])
            if parts > 1 and not hot and (alive < _MOST * size or rows < ROWS):
                if alive > 0:
                    _add_sample(
                        popularity,
                        heights,
                        run,
                        space,
                        now,
                        prepared,
                        work,
                        s,
                        state,
                        positions,
                        i,
                        rows,
                        start,
                        count,
                    )
            elif alive * FEW < size or rows < ROWS:
                if alive > 0:
                    _add_few(
                        popularity,
                        heights,
                        run,
                        space,
                        now,
                        prepared,
                        work,
                        state,
                        w,
                        i,
                        rows,
                        start,
                        count,
                        gradient,
                        first,
                    )
            else:
                evaluate(w, size, space, now, prepared, table, masked, values, pull)
                if hot:
                    mask(values, 0.0, i, rows, start, count, cursor, offsets, neighbors)
                    mask(pull, 0.0, i, rows, start, count, cursor, offsets, neighbors)
                    state[TOTAL] += sum_of(values, size)
                else:
                    if popular:
                        take_off_tile(popularity, values, i, rows, start, count)
                        stretch_tile(heights, spring, values, i, rows, start, count)
                        mask(values, far(w), i, rows, start, count, cursor, offsets, neighbors)
                        _come_nearer(smallest(values, size), now, prepared, state, gradient, first)
                    exponentials(values, size, state[LEAST], 1.0 / now.tau, weights)
                    mask(weights, 0.0, i, rows, start, count, cursor, offsets, neighbors)
                    count_both_ways(heights, spring, now.tau, weights, i, rows, start, count)
                    if popular:
                        add_up(weights[:size], count, sums, i, sums[start:])
                    state[TOTAL] += weigh_pulls(weights, pull, size)
                push(points, i, start, count, pull, gradient)
            cell += parts
            start = start + count if parts == 1 else cell * CELL[1]
        i += rows
    work.sums[s, 0], work.sums[s, 1] = state[LEAST], state[TOTAL]
