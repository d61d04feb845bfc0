"""The kernels of an iteration after the pass over the pairs: sums over the capacity classes, and
the descent step.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .. import base
from .pair_kernels import log_add

_DESCENT, _PHI, _SIGNED_GRADIENT = map(tl.constexpr, (base.DESCENT, base.PHI, base.SIGNED_GRADIENT))
# Columns of a run's record; the last two are of the device alone: whether these points are kept,
# and whether they move.
(
    _BEST_LOSS,
    _BEST_ITERATION,
    _DROPPED,
    _DONE_AT,
    _LONGEST,
    _SHORTEST,
    _STEP_SCALE,
    _REACH,
    _,
    _KEEP,
    _MOVES,
) = map(tl.constexpr, range(len(base.FIELDS) + 2))
RECORD_WIDTH = tl.constexpr(len(base.FIELDS) + 2)
_FADING, _FASTEST_FADING = map(tl.constexpr, (base.FADING, base.FASTEST_FADING))


@triton.jit
def forward_kernel(
    sums,
    count,
    parts,
    least,
    chunk_sums,
    chunks,
    schedule,
    total_iterations,
    iterations,
    below,
    SIZE: tl.constexpr,
):
    """Running log-sum-exp over the chunks, the non-edges first: below [B, chunks + 1]."""
    run = tl.program_id(0)
    at = tl.arange(0, SIZE)
    total = tl.zeros([SIZE], tl.float64)
    for start in range(0, count, SIZE):
        total += tl.load(sums + run * count + start + at, mask=start + at < count, other=0.0)
    tau = tl.load(schedule + run * 4 * total_iterations + tl.load(iterations + run))
    # The pass meets every pair twice, and one of all parts.
    nonedges = tl.sum(total, 0) / 2.0 * parts
    some = nonedges > 0.0
    carry = tl.where(
        some, tl.log(tl.where(some, nonedges, 1.0)) - tl.load(least + run) / tau, float("-inf")
    )
    below += run * (chunks + 1)
    tl.store(below, carry)
    for start in range(0, chunks, SIZE):
        sums_here = tl.load(
            chunk_sums + run * chunks + start + at, mask=start + at < chunks, other=float("-inf")
        )
        running = log_add(tl.associative_scan(sums_here, 0, log_add), carry)
        tl.store(below + 1 + start + at, running, mask=start + at < chunks)
        carry = tl.max(running, 0)


@triton.jit
def _prefix(running, carry, count, inside, SIZE: tl.constexpr):
    """Log-sum-exp of the first ``count`` entries: ``carry`` of the chunks before, and ``running``
    within the chunk.
    """
    last = tl.maximum(count - 1, 0)
    within = tl.load(running + last, mask=inside & (count > 0), other=float("-inf"))
    return log_add(tl.load(carry + last // SIZE, mask=inside, other=float("-inf")), within)


@triton.jit
def denominators_kernel(
    values,
    m,
    silent,
    running,
    below,
    weaker,
    chunks,
    schedule,
    total_iterations,
    iterations,
    log_z,
    running_inverse,
    chunk_inverse,
    chunk_loss,
    SIZE: tl.constexpr,
):
    """log Z of the edges [B, m]; of each chunk its part of the loss and the running log-sum-exp of
    1/Z from its end.

    The first edges, which are ``silent``, have no part in these.
    """
    chunk, run = tl.program_id(0), tl.program_id(1)
    e = chunk * SIZE + tl.arange(0, SIZE)
    inside = e < m
    tau = tl.load(schedule + run * 4 * total_iterations + tl.load(iterations + run))
    count = tl.load(weaker + e, mask=inside, other=0)
    less = _prefix(running + run * m, below + run * (chunks + 1), count, inside, SIZE)
    score = -tl.load(values + run * m + e, mask=inside, other=0.0) / tau
    excess = tl.where(inside, less - score, 0.0)
    # log(1 + e^excess), with its digits where it is small.
    rest = tl.exp(-tl.abs(excess))
    term = tl.maximum(excess, 0.0) + tl.where(
        rest < 1e-4, rest * (1.0 - rest * (0.5 - rest / 3.0)), tl.log(1.0 + rest)
    )
    z = score + term
    counts = inside & (e >= silent)
    tl.store(log_z + run * m + e, z, mask=inside)
    tl.store(chunk_loss + run * chunks + chunk, tl.sum(tl.where(counts, term, 0.0), 0))
    total = tl.associative_scan(tl.where(counts, -z, float("-inf")), 0, log_add, reverse=True)
    tl.store(running_inverse + run * m + e, total, mask=inside)
    tl.store(chunk_inverse + run * chunks + chunk, tl.max(total, 0))


@triton.jit
def backward_kernel(
    least,
    parts,
    chunk_inverse,
    chunk_loss,
    chunk_longest,
    chunks,
    schedule,
    total_iterations,
    iterations,
    above,
    rest,
    loss,
    longest,
    record,
    losses,
    rules,
    best_every,
    SIZE: tl.constexpr,
    STOP_WHEN_ORDERED: tl.constexpr,
    RECORD: tl.constexpr,
):
    """Running log-sum-exp of 1/Z from the last chunk down: above [B, chunks + 1]; the loss; with
    RECORD, the record.
    """
    run = tl.program_id(0)
    at = tl.arange(0, SIZE)
    step = tl.load(iterations + run)
    tau = tl.load(schedule + run * 4 * total_iterations + step)
    near = tl.load(least + run)
    above += run * (chunks + 1)
    tl.store(above + chunks, float("-inf"))
    carry = tl.full([], float("-inf"), tl.float64)
    total = tl.zeros([SIZE], tl.float64)
    most = tl.full([SIZE], float("-inf"), tl.float64)
    for start in range(0, chunks, SIZE):
        there = start + at < chunks
        where = run * chunks + chunks - 1 - start - at
        running = log_add(
            tl.associative_scan(
                tl.load(chunk_inverse + where, mask=there, other=float("-inf")), 0, log_add
            ),
            carry,
        )
        tl.store(above + chunks - 1 - start - at, running, mask=there)
        carry = tl.max(running, 0)
        total += tl.load(chunk_loss + where, mask=there, other=0.0)
        most = tl.maximum(most, tl.load(chunk_longest + where, mask=there, other=float("-inf")))
    value, far = tl.sum(total, 0), tl.max(most, 0)
    tl.store(rest + run, tl.exp(carry - near / tau) * parts)
    tl.store(loss + run, value)
    tl.store(longest + run, far)
    if RECORD:
        record += run * RECORD_WIDTH
        active = tl.load(record + _DONE_AT) < 0.0
        settled = tl.load(rules + run * 3 + 2).to(tl.int64)
        ordered = active & (far < near) if STOP_WHEN_ORDERED else active & (step < 0)
        moves = active & (ordered == 0)
        better = (
            (step % best_every == 0)
            & (value < tl.load(record + _BEST_LOSS))
            & (step >= settled)
            & active
        )
        keep = ordered | better | ((step < settled) & active)
        tl.store(record + _BEST_LOSS, value, mask=ordered | better)
        tl.store(record + _BEST_ITERATION, step.to(tl.float64), mask=keep)
        tl.store(record + _DONE_AT, step.to(tl.float64), mask=ordered)
        tl.store(record + _LONGEST, far, mask=active)
        tl.store(record + _SHORTEST, near, mask=active)
        dropped = (tl.load(record + _DROPPED) > 0.0) | (moves & (value < tl.load(rules + run * 3)))
        tl.store(record + _DROPPED, dropped.to(tl.float64))
        tl.store(record + _KEEP, keep.to(tl.float64))
        tl.store(record + _MOVES, moves.to(tl.float64))
        tl.store(losses + run * total_iterations + step, tl.where(active, value, float("nan")))


@triton.jit
def pulls_kernel(
    values,
    slopes,
    log_z,
    m,
    silent,
    running,
    below,
    running_inverse,
    above,
    weaker,
    stops,
    chunks,
    schedule,
    total_iterations,
    iterations,
    pulls,
    SIZE: tl.constexpr,
):
    """What the loss changes by with w and with d of each edge, times τ: [B, m, 2]."""
    chunk, run = tl.program_id(0), tl.program_id(1)
    e = chunk * SIZE + tl.arange(0, SIZE)
    inside = e < m
    tau = tl.load(schedule + run * 4 * total_iterations + tl.load(iterations + run))
    count = tl.load(weaker + e, mask=inside, other=0)
    less = _prefix(running + run * m, below + run * (chunks + 1), count, inside, SIZE)
    # The stronger edges begin at ``stop``: those of its chunk, and the chunks after it.
    stop = tl.load(stops + e, mask=inside, other=m)
    there = inside & (stop < m)
    within = tl.load(running_inverse + run * m + stop, mask=there, other=float("-inf"))
    after = tl.load(above + run * (chunks + 1) + stop // SIZE + 1, mask=there, other=float("-inf"))
    score = tl.where(
        inside, -tl.load(values + run * m + e, mask=inside, other=0.0) / tau, float("-inf")
    )
    z = tl.load(log_z + run * m + e, mask=inside, other=0.0)
    own = tl.where(e >= silent, tl.exp(tl.where(inside, less - z, 0.0)), 0.0)
    pull = own - tl.exp(score + log_add(within, after))
    pulls += 2 * (run * m + e)
    tl.store(pulls, pull * tl.load(slopes + run * m + e, mask=inside, other=0.0), mask=inside)
    tl.store(pulls + 1, pull, mask=inside)


@triton.jit
def _onto(x, time, radius, D: tl.constexpr):
    """φ: the time part rescaled."""
    time_square = tl.zeros_like(x[0])
    space_square = tl.zeros_like(x[0])
    for k in tl.static_range(D):
        time_square += tl.where(k < time, x[k] * x[k], 0.0)
        space_square += tl.where(k < time, 0.0, x[k] * x[k])
    stretch = tl.sqrt((radius * radius + space_square) / time_square)
    moved = ()
    for k in tl.static_range(D):
        moved = moved + (tl.where(k < time, x[k] * stretch, x[k]),)
    return moved


@triton.jit
def _is_somewhere(x, time, radius, farthest, D: tl.constexpr):
    """Whether points are finite, have a time part if they should, and are so near that float64 can
    tell where.
    """
    square = tl.zeros_like(x[0])
    time_square = tl.zeros_like(x[0])
    for k in tl.static_range(D):
        square += x[k] * x[k]
        time_square += tl.where(k < time, x[k] * x[k], 0.0)
    return (square < farthest * radius * radius) & (tl.where(time == 0, 1.0, time_square) > 0.0)


@triton.jit
def _bounded(g, step, max_step, D: tl.constexpr):
    """What to multiply a direction by: -step, or less where the move would be longer than
    ``max_step``.
    """
    square = tl.zeros_like(g[0])
    for k in tl.static_range(D):
        square += g[k] * g[k]
    length = tl.sqrt(square) * step
    return tl.where(
        length <= max_step, -step, -step * max_step / tl.where(length > 0.0, length, 1.0)
    )


@triton.jit
def _exponential(x, g, time, radius, D: tl.constexpr):
    """exp_x(g), back onto the manifold."""
    square = tl.zeros_like(g[0])
    for k in tl.static_range(D):
        square += tl.where(k < time, -g[k] * g[k], g[k] * g[k])
    z = square / (radius * radius)
    size = tl.abs(z)
    small = size < 1e-3
    cosh_small = 1.0 + z / 2.0 * (1.0 + z / 12.0 * (1.0 + z / 30.0 * (1.0 + z / 56.0)))
    sinhc_small = 1.0 + z / 6.0 * (1.0 + z / 20.0 * (1.0 + z / 42.0 * (1.0 + z / 72.0)))
    angle = tl.sqrt(tl.where(small, 1.0, size))
    up = tl.exp(tl.where(z > 0.0, angle, 0.0))
    cosh = tl.where(z > 0.0, 0.5 * (up + 1.0 / up), tl.cos(angle))
    sinhc = tl.where(z > 0.0, 0.5 * (up - 1.0 / up), tl.sin(angle)) / angle
    cosh = tl.where(small, cosh_small, cosh)
    sinhc = tl.where(small, sinhc_small, sinhc)
    moved = ()
    for k in tl.static_range(D):
        moved = moved + (cosh * x[k] + sinhc * g[k],)
    return _onto(moved, time, radius, D)


@triton.jit
def gradient_kernel(
    points,
    rows,
    gradient,
    partial,
    splits,
    rest,
    pulls,
    slopes,
    offsets,
    incident,
    others,
    factors,
    schedule,
    total_iterations,
    iterations,
    n,
    m,
    D: tl.constexpr,
    ROW: tl.constexpr,
    NODES: tl.constexpr,
    ENTRIES: tl.constexpr,
    POPULAR: tl.constexpr,
):
    """The Euclidean gradient [B, D, n] of a program's nodes from the pass and the edges; of offsets
    into slopes.
    """
    run = tl.program_id(1)
    nodes = tl.program_id(0) * NODES + tl.arange(0, NODES)
    inside = nodes < n
    base = run * D * n
    at = tl.load(iterations + run)
    tau = tl.load(schedule + run * 4 * total_iterations + at)
    push = -tl.load(rest + run) / tau
    x, g = (), ()
    entries = tl.arange(0, ENTRIES)
    for k in tl.static_range(D + POPULAR):
        total = tl.zeros([NODES], tl.float64)
        for split in range(0, splits, ENTRIES):
            where = (split + entries)[None, :]
            some = tl.load(
                partial + ((run * splits + where) * (D + POPULAR) + k) * n + nodes[:, None],
                mask=inside[:, None] & (where < splits),
                other=0.0,
            )
            total += tl.sum(some.to(tl.float64), 1)
        if k < D:
            x = x + (tl.load(points + base + k * n + nodes, mask=inside, other=1.0),)
            g = g + (push * total,)
        else:
            slope = -push * total
    first = tl.load(offsets + nodes, mask=inside, other=0)
    last = tl.load(offsets + nodes + 1, mask=inside, other=0)
    for start in range(0, tl.max(last - first, 0), ENTRIES):
        where = first[:, None] + start + entries[None, :]
        there = where < last[:, None]
        other = tl.load(others + where, mask=there, other=0)
        edge = pulls + 2 * (run * m + tl.load(incident + where, mask=there, other=0))
        pull = tl.load(edge, mask=there, other=0.0) / tau
        if POPULAR:
            slope -= tl.sum(tl.load(edge + 1, mask=there, other=0.0), 1) / tau
        added = ()
        for k in tl.static_range(D):
            difference = x[k][:, None] - tl.load(
                rows + (run * n + other) * ROW + k, mask=there, other=0.0
            )
            added = added + (g[k] + tl.sum(tl.where(there, pull * difference, 0.0), 1),)
        g = added
    for k in tl.static_range(D):
        tl.store(
            gradient + base + k * n + nodes,
            2.0 * tl.load(factors + run * D + k) * g[k],
            mask=inside,
        )
    if POPULAR:
        tl.store(slopes + run * n + nodes, slope, mask=inside)


@triton.jit
def move_kernel(
    points,
    pair_points,
    spacing,
    free,
    best,
    gradient,
    offsets,
    best_offsets,
    slopes,
    slope_lengths,
    time,
    radius,
    rules,
    record,
    schedule,
    total_iterations,
    iterations,
    n,
    farthest,
    D: tl.constexpr,
    NODES: tl.constexpr,
    FLAT: tl.constexpr,
    OPTIMIZER: tl.constexpr,
    SPLIT: tl.constexpr,
    POPULAR: tl.constexpr,
):
    """The next points of a program's nodes. Not before all gradients are known: those of edges look
    at other nodes.
    """
    run = tl.program_id(1)
    nodes = tl.program_id(0) * NODES + tl.arange(0, NODES)
    inside = nodes < n
    base = run * D * n
    at = tl.load(iterations + run)
    record += run * RECORD_WIDTH
    x, g = (), ()
    for k in tl.static_range(D):
        x = x + (tl.load(points + base + k * n + nodes, mask=inside, other=1.0),)
        g = g + (tl.load(gradient + base + k * n + nodes, mask=inside, other=0.0),)
    every = tl.zeros([NODES], tl.float64)
    keep = inside & (every + tl.load(record + _KEEP) > 0.0)
    moves = inside & (every + tl.load(record + _MOVES) > 0.0)
    for k in tl.static_range(D):
        tl.store(best + base + k * n + nodes, x[k], mask=keep)
    if POPULAR:
        offset = tl.load(offsets + run * n + nodes, mask=inside, other=0.0)
        slope = tl.load(slopes + run * n + nodes, mask=inside, other=0.0)
        tl.store(best_offsets + run * n + nodes, offset, mask=keep)
    drop = tl.where(tl.load(record + _DROPPED) > 0.0, tl.load(rules + run * 3 + 1), 1.0)
    step = (
        tl.load(schedule + (run * 4 + 2) * total_iterations + at)
        * drop
        * tl.load(record + _STEP_SCALE)
    )
    max_step = tl.load(schedule + (run * 4 + 3) * total_iterations + at) * tl.load(record + _REACH)
    r = tl.load(radius + run)
    moved = x
    if FLAT:
        factor = _bounded(g, step, max_step, D)
        moved = ()
        for k in tl.static_range(D):
            moved = moved + (x[k] + factor * g[k],)
    elif OPTIMIZER == _PHI:
        # The gradient in z of f(φ(z)).
        z = ()
        time_square = tl.zeros([NODES], tl.float64)
        space_square = tl.zeros([NODES], tl.float64)
        along = tl.zeros([NODES], tl.float64)
        for k in tl.static_range(D):
            z = z + (tl.load(free + base + k * n + nodes, mask=inside, other=1.0),)
            time_square += tl.where(k < time, z[k] * z[k], 0.0)
            along += tl.where(k < time, g[k] * z[k], 0.0)
            space_square += tl.where(k < time, 0.0, z[k] * z[k])
        length, stretch = tl.sqrt(time_square), tl.sqrt(r * r + space_square)
        along = along / length
        back = ()
        for k in tl.static_range(D):
            back = back + (
                tl.where(
                    k < time,
                    stretch / length * (g[k] - along * z[k] / length),
                    g[k] + along * z[k] / stretch,
                ),
            )
        factor = _bounded(back, step, max_step, D)
        moved = ()
        for k in tl.static_range(D):
            moved = moved + (z[k] + factor * back[k],)
        moves = moves & _is_somewhere(moved, time, r, farthest, D)
        for k in tl.static_range(D):
            tl.store(free + base + k * n + nodes, moved[k], mask=moves)
        moved = _onto(moved, time, r, D)
    else:
        # Π_x(G g) = G g + (g · x / |β|) x, twice for χ.
        for _ in tl.static_range(2 if OPTIMIZER == _DESCENT else 1):
            along = tl.zeros([NODES], tl.float64)
            for k in tl.static_range(D):
                along += g[k] * x[k]
            along = along / (r * r)
            turned = ()
            for k in tl.static_range(D):
                turned = turned + (tl.where(k < time, -g[k], g[k]) + along * x[k],)
            g = turned
        factor = _bounded(g, step, max_step, D)
        if OPTIMIZER == _SIGNED_GRADIENT:
            # The slope of f along -Df is -⟨Df, Df⟩: where that is negative Df itself descends,
            # where it is 0 neither.
            square = tl.zeros([NODES], tl.float64)
            for k in tl.static_range(D):
                square += tl.where(k < time, -g[k] * g[k], g[k] * g[k])
            factor = tl.where(square > 0.0, factor, tl.where(square < 0.0, -factor, 0.0))
        tangent = ()
        for k in tl.static_range(D):
            tangent = tangent + (factor * g[k],)
        moved = _exponential(x, tangent, time, r, D)
    # Where a point would be nowhere, it stays.
    moves = moves & _is_somewhere(moved, time, r, farthest, D)
    if POPULAR:
        # One factor for all offsets, so that their mean stays what it was.
        length = tl.load(slope_lengths + run) * step
        fading = tl.where(
            max_step < float("inf"), tl.minimum(_FADING * max_step / r, _FASTEST_FADING), 0.0
        )
        shifted = (1.0 - fading) * offset + tl.where(
            length <= max_step, -step, -step * max_step / length
        ) * slope
        tl.store(offsets + run * n + nodes, shifted, mask=moves & (tl.abs(shifted) < float("inf")))
    for k in tl.static_range(D):
        tl.store(points + base + k * n + nodes, moved[k], mask=moves)
        if SPLIT:
            # The nearest multiple of the spacing, and the rest.
            coarse = tl.floor(moved[k] / tl.load(spacing + run) + 0.5) * tl.load(spacing + run)
            at_pair = pair_points + 2 * base + k * n + nodes
            tl.store(at_pair, coarse.to(tl.float32), mask=moves)
            tl.store(at_pair + D * n, (moved[k] - coarse).to(tl.float32), mask=moves)
        else:
            tl.store(
                pair_points + base + k * n + nodes,
                moved[k].to(pair_points.dtype.element_ty),
                mask=moves,
            )
