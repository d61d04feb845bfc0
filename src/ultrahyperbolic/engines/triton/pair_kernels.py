"""The kernels of the pass over all pairs, and of the dissimilarities of single pairs, on a CUDA
device.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .pair_functions import LOG2_E, both_ways, dissimilarity, exp2, lengthened

# Of products of matrices, a tile is left out whose weights are below 2 to minus this.
_NEGLIGIBLE = tl.constexpr(60.0)


@triton.jit
def coordinates(points, n, rows, D: tl.constexpr, SPLIT: tl.constexpr):
    """The coordinates of a block of rows, and with SPLIT their fine parts after them."""
    x = ()
    for k in tl.static_range(2 * D if SPLIT else D):
        x = x + (tl.load(points + k * n + rows, mask=rows < n, other=1.0)[:, None],)
    return x


@triton.jit
def _split_half_chords(x, points, n, columns, factors, D: tl.constexpr, TIME: tl.constexpr):
    """The same in float32, of coordinates that are a multiple of a grid's spacing and a fine rest.

    Squares of multiples and their sums are whole numbers, so that the difference of large squares,
    which w is near the light cone, loses no digit; what the rests add is small, and so is its
    rounding.
    """
    t = ()
    coarse = tl.zeros_like(x[0] + tl.load(points + columns, mask=columns < n, other=0.0)[None, :])
    fine = coarse
    for k in tl.static_range(D):
        difference = x[k] - tl.load(points + k * n + columns, mask=columns < n, other=0.0)[None, :]
        rest = (
            x[D + k] - tl.load(points + (D + k) * n + columns, mask=columns < n, other=0.0)[None, :]
        )
        more = 2.0 * difference + rest
        t = t + (difference + rest,)
        if k >= TIME:
            coarse += difference * difference
            fine += rest * more
        else:
            coarse -= difference * difference
            fine -= rest * more
    return (coarse + fine) * tl.abs(tl.load(factors)), t


@triton.jit
def half_chords(
    x, points, n, columns, factors, D: tl.constexpr, TIME: tl.constexpr, SPLIT: tl.constexpr
):
    """w of rows x with columns, and differences of coordinates; in float64 one time coordinate
    follows from space.
    """
    if SPLIT:
        return _split_half_chords(x, points, n, columns, factors, D, TIME)
    t = ()
    w = tl.zeros_like(x[0] + tl.load(points + columns, mask=columns < n, other=0.0)[None, :])
    along = w
    for k in tl.static_range(D):
        y = tl.load(points + k * n + columns, mask=columns < n, other=0.0)[None, :]
        difference = x[k] - y
        t = t + (difference,)
        if k >= TIME:
            w += difference * difference
            if TIME == 1 and x[0].dtype == tl.float64:
                along += difference * (x[k] + y)
        elif TIME != 1 or x[0].dtype != tl.float64:
            w -= difference * difference
    if TIME == 1 and x[0].dtype == tl.float64:
        along /= x[0] + tl.load(points + columns, mask=columns < n, other=1.0)[None, :]
        w -= along * along
    return w * tl.abs(tl.load(factors)), t


@triton.jit
def matrix(points, n, nodes, D: tl.constexpr, WIDTH: tl.constexpr):
    """The coordinates of a block of nodes [nodes, WIDTH], 0 beyond D."""
    k = tl.arange(0, WIDTH)[None, :].to(tl.int64)
    return tl.load(points + k * n + nodes[:, None], mask=(k < D) & (nodes < n)[:, None], other=0.0)


@triton.jit
def half_chords_of_products(x, y, factors, D: tl.constexpr, WIDTH: tl.constexpr):
    """w of rows [rows, WIDTH] with columns in float32, from their products: the rounding is that of
    the squares.
    """
    k = tl.arange(0, WIDTH)
    signs = tl.load(factors + k, mask=k < D, other=0.0)[None, :]
    squares = tl.sum(x * x * signs, 1)[:, None] + tl.sum(y * y * signs, 1)[None, :]
    return squares - 2.0 * tl.dot(x, tl.trans(y * signs), input_precision="tf32x3")


@triton.jit
def is_edge(bitmap, words, rows, columns):
    """1 where a bitmap leaves a pair out, else 0."""
    word = tl.load(bitmap + rows[:, None] * words + (columns // 32)[None, :])
    return (word >> (columns % 32)[None, :]) & 1


@triton.jit
def first_tile(begin, block, parts, iteration, BM: tl.constexpr, BN: tl.constexpr):
    """The first tile of columns from ``begin`` on whose square cell with a block of rows is in an
    iteration's part.
    """
    part = iteration % parts
    return begin + (part + parts - (block * BM // BN + begin) % parts) % parts


@triton.jit
def seek(list_columns, at, stop, column):
    """Where in a block's list of columns, from ``at`` on, those from ``column`` on begin."""
    ahead = tl.arange(0, 64)
    passed = 64
    while passed == 64:
        here = tl.load(list_columns + at + ahead, mask=at + ahead < stop, other=2147483647)
        passed = tl.sum((here < column).to(tl.int32), 0)
        at += passed
    return at


@triton.jit
def listed(
    list_columns,
    list_rows,
    at,
    stop,
    tile,
    rows,
    columns,
    n,
    BN: tl.constexpr,
    SAMPLED: tl.constexpr,
):
    """Which pairs of a tile a block's list of columns leaves out, and where in the list the next
    tile begins.
    """
    out = (columns >= n)[None, :] | (rows >= n)[:, None]
    if SAMPLED:
        at = seek(list_columns, at, stop, tile * BN)
    while (at < stop) and (tl.load(list_columns + at) < (tile + 1) * BN):
        hit = (columns == tl.load(list_columns + at))[None, :] & (rows == tl.load(list_rows + at))[
            :, None
        ]
        out = out | hit
        at += 1
    return out, at


@triton.jit
def shortest(
    w,
    out,
    offsets,
    own,
    columns,
    n,
    radius,
    epsilon,
    KIND: tl.constexpr,
    COEFFICIENTS: tl.constexpr,
    FAST: tl.constexpr,
    POPULAR: tl.constexpr,
):
    """What no dissimilarity of a tile is below: that of its least |w|, less the largest offsets."""
    least = tl.min(tl.min(tl.where(out, 1e4, tl.abs(w)), 1), 0)
    value, _slope = dissimilarity(
        tl.zeros([1], w.dtype) + least, radius, epsilon, KIND, COEFFICIENTS, FAST
    )
    bound = tl.max(value, 0)
    if POPULAR:
        theirs = tl.load(offsets + columns, mask=columns < n, other=float("-inf")).to(w.dtype)
        bound -= tl.max(tl.max(own, 1), 0) + tl.max(theirs, 0)
    return bound


@triton.jit
def nearest_kernel(
    points,
    factors,
    radius,
    n,
    schedule,
    total_iterations,
    iterations,
    offsets,
    heights,
    springs,
    bitmap,
    words,
    list_columns,
    list_rows,
    list_starts,
    list_stops,
    found,
    splits,
    tiles,
    parts,
    D: tl.constexpr,
    TIME: tl.constexpr,
    SPLIT: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BITMAP: tl.constexpr,
    SAMPLED: tl.constexpr,
    KIND: tl.constexpr,
    COEFFICIENTS: tl.constexpr,
    FAST: tl.constexpr,
    POPULAR: tl.constexpr,
    DIRECTED: tl.constexpr,
    PRODUCTS: tl.constexpr,
):
    """The least w >= 0 and the greatest w < 0 among a program's pairs; with offsets the least d_ij
    - a_i - a_j.
    """
    block, split, run = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    real = points.dtype.element_ty
    rows = block * BM + tl.arange(0, BM)
    points += run * (2 * D if SPLIT else D) * n
    factors += run * D
    step = tl.load(iterations + run)
    x = matrix(points, n, rows, D, PRODUCTS) if PRODUCTS else coordinates(points, n, rows, D, SPLIT)
    above = tl.full([BM, BN], float("inf"), real)
    below = tl.full([BM, BN], float("-inf"), real)
    least = tl.full([], float("inf"), real)
    if POPULAR:
        offsets += run * n
        own = tl.load(offsets + rows, mask=rows < n, other=0.0).to(real)[:, None]
        epsilon = tl.load(schedule + (run * 4 + 1) * total_iterations + step).to(real)
        r = tl.load(radius + run).to(real)
    if not BITMAP:
        at = tl.load(list_starts + block * splits + split)
        stop = tl.load(list_stops + block * splits + split)
    # A pair is met once, or twice near the diagonal: tiles left of it are skipped.
    begin = first_tile(tl.maximum(split * tiles, block * BM // BN), block, parts, step, BM, BN)
    for tile in range(begin, min((split + 1) * tiles, tl.cdiv(n, BN)), parts):
        columns = tile * BN + tl.arange(0, BN)
        if PRODUCTS:
            w = half_chords_of_products(
                x, matrix(points, n, columns, D, PRODUCTS), factors, D, PRODUCTS
            )
        else:
            w, _t = half_chords(x, points, n, columns, factors, D, TIME, SPLIT)
        if BITMAP:
            out = is_edge(bitmap, words, rows, columns) != 0
        else:
            out, at = listed(list_columns, list_rows, at, stop, tile, rows, columns, n, BN, SAMPLED)
        if POPULAR:
            counts = True
            if PRODUCTS:
                bound = shortest(
                    w, out, offsets, own, columns, n, r, epsilon, KIND, COEFFICIENTS, FAST, POPULAR
                )
                counts = bound < least
            if counts:
                value, _slope = dissimilarity(w, r, epsilon, KIND, COEFFICIENTS, FAST)
                value = lengthened(
                    value, offsets, own, heights, springs + run, rows, columns, n, DIRECTED
                )
                above = tl.minimum(above, tl.where(out, float("inf"), value))
                if PRODUCTS:
                    least = tl.min(tl.min(above, 1), 0)
        else:
            above = tl.minimum(above, tl.where(out | (w < 0.0), float("inf"), w))
            below = tl.maximum(below, tl.where(out | (w >= 0.0), float("-inf"), w))
    at_found = found + ((run * tl.num_programs(0) + block) * splits + split) * 2
    tl.store(at_found, tl.min(tl.min(above, 1), 0).to(tl.float64))
    tl.store(at_found + 1, tl.max(tl.max(below, 1), 0).to(tl.float64))


@triton.jit
def least_kernel(
    found,
    count,
    schedule,
    total_iterations,
    iterations,
    radius,
    least,
    KIND: tl.constexpr,
    COEFFICIENTS: tl.constexpr,
    SIZE: tl.constexpr,
):
    """The dissimilarity of the nearest pair from what the programs found: least [B]."""
    run = tl.program_id(0)
    above = tl.full([SIZE], float("inf"), tl.float64)
    below = tl.full([SIZE], float("-inf"), tl.float64)
    for start in range(0, count, SIZE):
        at = start + tl.arange(0, SIZE)
        above = tl.minimum(
            above, tl.load(found + (run * count + at) * 2, mask=at < count, other=float("inf"))
        )
        below = tl.maximum(
            below, tl.load(found + (run * count + at) * 2 + 1, mask=at < count, other=float("-inf"))
        )
    nearest_above, nearest_below = tl.min(above, 0), tl.max(below, 0)
    epsilon = tl.load(schedule + (run * 4 + 1) * total_iterations + tl.load(iterations + run))
    r = tl.load(radius + run)
    # Both as one vector: the functions take blocks.
    side = tl.arange(0, 2)
    w = tl.where(side == 0, nearest_above, nearest_below)
    exists = tl.abs(w) < float("inf")
    value, _slope = dissimilarity(tl.where(exists, w, 1.0), r, epsilon, KIND, COEFFICIENTS, False)
    tl.store(least + run, tl.min(tl.where(exists, value, float("inf")), 0))


@triton.jit
def pass_kernel(
    points,
    factors,
    radius,
    n,
    schedule,
    total_iterations,
    iterations,
    least,
    offsets,
    heights,
    springs,
    bitmap,
    words,
    list_columns,
    list_rows,
    list_starts,
    list_stops,
    sums,
    gradient,
    splits,
    tiles,
    parts,
    D: tl.constexpr,
    TIME: tl.constexpr,
    SPLIT: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BITMAP: tl.constexpr,
    SAMPLED: tl.constexpr,
    KIND: tl.constexpr,
    COEFFICIENTS: tl.constexpr,
    FAST: tl.constexpr,
    POPULAR: tl.constexpr,
    DIRECTED: tl.constexpr,
    PRODUCTS: tl.constexpr,
):
    """Σ exp(-(d - least)/τ) over a program's pairs, into sums [B, blocks, splits], and Σ exp(…)
    (∂d/∂w) (x_i - x_j) over its columns for each of its rows, into gradient [B, splits, D, n]; with
    offsets, Σ exp(…) is one row more.
    """
    block, split, run = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    real = points.dtype.element_ty
    rows = block * BM + tl.arange(0, BM)
    points += run * (2 * D if SPLIT else D) * n
    factors += run * D
    step = tl.load(iterations + run)
    rate = (1.0 / tl.load(schedule + run * 4 * total_iterations + step) * LOG2_E).to(real)
    epsilon = tl.load(schedule + (run * 4 + 1) * total_iterations + step).to(real)
    nearest = tl.load(least + run).to(real)
    r = tl.load(radius + run).to(real)
    x = matrix(points, n, rows, D, PRODUCTS) if PRODUCTS else coordinates(points, n, rows, D, SPLIT)
    own = tl.zeros([BM, 1], real)
    if POPULAR:
        offsets += run * n
        own = tl.load(offsets + rows, mask=rows < n, other=0.0).to(real)[:, None]
    if PRODUCTS:
        pulls, pulled = tl.zeros([BM, PRODUCTS], real), tl.zeros([BM], real)
    else:
        pulls = ()
        for _ in tl.static_range(D):
            pulls = pulls + (tl.zeros([BM, BN], real),)
    total = tl.zeros([BM, BN], real)
    if not BITMAP:
        at = tl.load(list_starts + block * splits + split)
        stop = tl.load(list_stops + block * splits + split)
    begin = first_tile(split * tiles, block, parts, step, BM, BN)
    for tile in range(begin, min((split + 1) * tiles, tl.cdiv(n, BN)), parts):
        columns = tile * BN + tl.arange(0, BN)
        if PRODUCTS:
            y = matrix(points, n, columns, D, PRODUCTS)
            w = half_chords_of_products(x, y, factors, D, PRODUCTS)
        else:
            w, t = half_chords(x, points, n, columns, factors, D, TIME, SPLIT)
        if BITMAP:
            out = is_edge(bitmap, words, rows, columns) != 0
        else:
            out, at = listed(list_columns, list_rows, at, stop, tile, rows, columns, n, BN, SAMPLED)
        counts = True
        if PRODUCTS:
            bound = shortest(
                w, out, offsets, own, columns, n, r, epsilon, KIND, COEFFICIENTS, FAST, POPULAR
            )
            counts = (bound - nearest) * rate < _NEGLIGIBLE
        if counts:
            value, slope = dissimilarity(w, r, epsilon, KIND, COEFFICIENTS, FAST)
            if POPULAR:
                value = lengthened(
                    value, offsets, own, heights, springs + run, rows, columns, n, DIRECTED
                )
            # At most 1 but for rounding; an edge may be nearer, and is then left out.
            weight = tl.where(out, 0.0, exp2(tl.minimum((nearest - value) * rate, 64.0), FAST))
            if DIRECTED:
                weight *= both_ways(heights, springs + run, rate, rows, columns, n, FAST)
            total += weight
            weight *= slope
            if PRODUCTS:
                pulled += tl.sum(weight, 1)
                pulls = tl.dot(weight, y, pulls, input_precision="tf32x3")
            else:
                added = ()
                for k in tl.static_range(D):
                    added = added + (pulls[k] + weight * t[k],)
                pulls = added
    tl.store(
        sums + (run * tl.num_programs(0) + block) * splits + split,
        tl.sum(tl.sum(total.to(tl.float64), 1), 0),
    )
    gradient += (run * splits + split) * (D + POPULAR) * n
    if PRODUCTS:
        k = tl.arange(0, PRODUCTS)[None, :].to(tl.int64)
        tl.store(
            gradient + k * n + rows[:, None],
            pulled[:, None] * x - pulls,
            mask=(k < D) & (rows < n)[:, None],
        )
    else:
        for k in tl.static_range(D):
            tl.store(gradient + k * n + rows, tl.sum(pulls[k], 1), mask=rows < n)
    if POPULAR:
        tl.store(gradient + D * n + rows, tl.sum(total, 1), mask=rows < n)


@triton.jit
def log_add(a, b):
    """log(exp a + exp b); -∞ where both are."""
    most = tl.maximum(a, b)
    return most + tl.log(
        1.0 + tl.exp(tl.minimum(a, b) - tl.where(most == float("-inf"), 0.0, most))
    )


@triton.jit
def edges_kernel(
    rows,
    factors,
    time,
    radius,
    n,
    edges,
    m,
    silent,
    chunks,
    schedule,
    total_iterations,
    iterations,
    offsets,
    heights,
    springs,
    values,
    slopes,
    running,
    chunk_sums,
    chunk_longest,
    D: tl.constexpr,
    ROW: tl.constexpr,
    SIZE: tl.constexpr,
    KIND: tl.constexpr,
    COEFFICIENTS: tl.constexpr,
    POPULAR: tl.constexpr,
    DIRECTED: tl.constexpr,
):
    """Dissimilarities of the edges, their slopes, and of each chunk the running log-sum-exp of -d/τ
    and the longest of those that are not ``silent``.
    """
    chunk, run = tl.program_id(0), tl.program_id(1)
    rows += run * n * ROW
    factors += run * D
    e = chunk * SIZE + tl.arange(0, SIZE)
    inside = e < m
    i = tl.load(edges + 2 * e, mask=inside, other=0)
    j = tl.load(edges + 2 * e + 1, mask=inside, other=1)
    w = tl.zeros([SIZE], tl.float64)
    along = tl.zeros([SIZE], tl.float64)
    for k in tl.static_range(D):
        x = tl.load(rows + i * ROW + k, mask=inside, other=1.0)
        y = tl.load(rows + j * ROW + k, mask=inside, other=2.0)
        w += tl.where((k == 0) & (time == 1), 0.0, tl.load(factors + k) * (x - y) * (x - y))
        along += tl.where(k == 0, 0.0, (x - y) * (x + y))
    # One time coordinate: its difference from those of the space coordinates, as in the pass.
    along /= tl.load(rows + i * ROW, mask=inside, other=1.0) + tl.load(
        rows + j * ROW, mask=inside, other=1.0
    )
    w += tl.where(time == 1, tl.load(factors) * along * along, 0.0)
    step = tl.load(iterations + run)
    tau = tl.load(schedule + run * 4 * total_iterations + step)
    epsilon = tl.load(schedule + (run * 4 + 1) * total_iterations + step)
    value, slope = dissimilarity(w, tl.load(radius + run), epsilon, KIND, COEFFICIENTS, False)
    if POPULAR:
        offsets += run * n
        value -= tl.load(offsets + i, mask=inside, other=0.0) + tl.load(
            offsets + j, mask=inside, other=0.0
        )
    if DIRECTED:
        beyond = (
            tl.load(heights + i, mask=inside, other=0.0)
            - tl.load(heights + j, mask=inside, other=0.0)
            - 1.0
        )
        value += tl.load(springs + run) * beyond * beyond
    tl.store(values + run * m + e, value, mask=inside)
    tl.store(slopes + run * m + e, slope, mask=inside)
    total = tl.associative_scan(tl.where(inside, -value / tau, float("-inf")), 0, log_add)
    tl.store(running + run * m + e, total, mask=inside)
    tl.store(chunk_sums + run * chunks + chunk, tl.max(total, 0))
    tl.store(
        chunk_longest + run * chunks + chunk,
        tl.max(tl.where(inside & (e >= silent), value, float("-inf")), 0),
    )
