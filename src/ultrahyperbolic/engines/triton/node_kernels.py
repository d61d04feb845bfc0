"""The kernels of edges that are compared with the pairs of their two ends: sums by node, before and after the edges."""

from __future__ import annotations

import triton
import triton.language as tl

from .pair_kernels import (
    LOG2_E,
    coordinates,
    dissimilarity,
    exp2,
    first_tile,
    half_chords,
    is_edge,
    less,
    log_add,
    seek,
)

# Farther than any pair, and a number.
_BEYOND = tl.constexpr(1e30)


@triton.jit
def row_sums_kernel(
    points, factors, radius, n, schedule, total_iterations, iterations, offsets, bitmap, words, list_columns,
    list_rows, list_starts, list_stops, nearest, sums, splits, tiles, parts,
    D: tl.constexpr, TIME: tl.constexpr, SPLIT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BITMAP: tl.constexpr, SAMPLED: tl.constexpr, KIND: tl.constexpr, COEFFICIENTS: tl.constexpr, FAST: tl.constexpr,
    POPULAR: tl.constexpr,
):  # fmt: skip
    """Of each of a program's rows the least dissimilarity and Σ exp(-(d - least)/τ) over its columns: [B, splits, n].

    Each thread has a least of its own until the end, as far as it has come: a nearer pair shrinks its sum.
    """
    block, split, run = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    real = points.dtype.element_ty
    rows = block * BM + tl.arange(0, BM)
    points += run * (2 * D if SPLIT else D) * n
    factors += run * D
    step = tl.load(iterations + run)
    rate = (1.0 / tl.load(schedule + run * 4 * total_iterations + step) * LOG2_E).to(real)
    epsilon = tl.load(schedule + (run * 4 + 1) * total_iterations + step).to(real)
    r = tl.load(radius + run).to(real)
    x = coordinates(points, n, rows, D, SPLIT)
    if POPULAR:
        offsets += run * n
        own = tl.load(offsets + rows, mask=rows < n, other=0.0).to(real)[:, None]
    least = tl.full([BM, BN], _BEYOND, real)
    total = tl.zeros([BM, BN], real)
    if not BITMAP:
        at = tl.load(list_starts + block * splits + split)
        stop = tl.load(list_stops + block * splits + split)
    begin = first_tile(split * tiles, block, parts, step, BM, BN)
    for tile in range(begin, min((split + 1) * tiles, tl.cdiv(n, BN)), parts):
        columns = tile * BN + tl.arange(0, BN)
        w, _t = half_chords(x, points, n, columns, factors, D, TIME, SPLIT)
        if BITMAP:
            out = is_edge(bitmap, words, rows, columns) != 0
        else:
            out = (columns >= n)[None, :] | (rows >= n)[:, None]
            if SAMPLED:
                at = seek(list_columns, at, stop, tile * BN)
            while (at < stop) and (tl.load(list_columns + at) < (tile + 1) * BN):
                hit = (columns == tl.load(list_columns + at))[None, :] & (rows == tl.load(list_rows + at))[:, None]
                out = out | hit
                at += 1
        value, _slope = dissimilarity(w, r, epsilon, KIND, COEFFICIENTS, FAST)
        if POPULAR:
            value = less(value, offsets, own, n, columns)
        value = tl.where(out, _BEYOND, value)
        # Of the pair and the least so far one is at 1, and one exponential tells the other.
        other = exp2(-tl.abs(value - least) * rate, FAST)
        total = tl.where(value < least, total * other + 1.0, total + tl.where(out, 0.0, other))
        least = tl.minimum(least, value)
    lowest = tl.min(least, 1)
    total = total * exp2((lowest[:, None] - least) * rate, FAST)
    here = (run * splits + split) * n + rows
    tl.store(nearest + here, lowest.to(tl.float64), mask=rows < n)
    tl.store(sums + here, tl.sum(total.to(tl.float64), 1), mask=rows < n)


@triton.jit
def weaker_kernel(
    nearest, sums, splits, parts, values, offsets, incident, n, m, schedule, total_iterations, iterations, relative,
    log_sums, running, SPLITS: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    """Of a node: what its sum is relative to, log Σ exp(-d/τ) over its other pairs, and from there a running
    log-sum-exp over its edges, weakest first: [B, 2m].
    """
    node, run = tl.program_id(0), tl.program_id(1)
    tau = tl.load(schedule + run * 4 * total_iterations + tl.load(iterations + run))
    at = tl.arange(0, SPLITS)
    here = (run * splits + at) * n + node
    total = tl.load(sums + here, mask=at < splits, other=0.0)
    near = tl.load(nearest + here, mask=at < splits, other=0.0)
    near = tl.where(total > 0.0, near, float("inf"))
    least = tl.min(near, 0)
    some = least < float("inf")
    least = tl.where(some, least, 0.0)
    total = tl.sum(tl.where(total > 0.0, total * tl.exp((least - near) / tau), 0.0), 0) * parts
    carry = tl.where(some, tl.log(tl.where(some, total, 1.0)) - least / tau, float("-inf"))
    tl.store(relative + run * n + node, least.to(relative.dtype.element_ty))
    tl.store(log_sums + run * n + node, carry)
    entries = tl.arange(0, SIZE)
    first, last = tl.load(offsets + node), tl.load(offsets + node + 1)
    for start in range(first, last, SIZE):
        there = start + entries < last
        edge = tl.load(incident + start + entries, mask=there, other=0)
        score = tl.where(there, -tl.load(values + run * m + edge, mask=there, other=0.0) / tau, float("-inf"))
        sofar = log_add(tl.associative_scan(score, 0, log_add), carry)
        tl.store(running + run * 2 * m + start + entries, sofar, mask=there)
        carry = tl.max(sofar, 0)


@triton.jit
def node_denominators_kernel(
    values, m, running, log_sums, edges, before, n, chunks, schedule, total_iterations, iterations, log_z, shares,
    chunk_loss, SIZE: tl.constexpr,
):  # fmt: skip
    """log Z of the edges and what of Z is not their own, [B, m]; of each chunk its part of the loss."""
    chunk, run = tl.program_id(0), tl.program_id(1)
    e = chunk * SIZE + tl.arange(0, SIZE)
    inside = e < m
    tau = tl.load(schedule + run * 4 * total_iterations + tl.load(iterations + run))
    less = tl.full([SIZE], float("-inf"), tl.float64)
    for end in tl.static_range(2):
        node = tl.load(edges + 2 * e + end, mask=inside, other=0)
        # The last weaker edge of this end; where there is none, its other pairs alone.
        last = tl.load(before + 2 * e + end, mask=inside, other=-1)
        edge_sums = tl.load(running + run * 2 * m + last, mask=inside & (last >= 0), other=float("-inf"))
        pair_sums = tl.load(log_sums + run * n + node, mask=inside & (last < 0), other=float("-inf"))
        less = log_add(less, tl.maximum(edge_sums, pair_sums))
    score = -tl.load(values + run * m + e, mask=inside, other=0.0) / tau
    excess = tl.where(inside, less - score, float("-inf"))
    # log(1 + e^excess), with its digits where it is small.
    rest = tl.exp(-tl.abs(excess))
    term = tl.maximum(excess, 0.0) + tl.where(rest < 1e-4, rest * (1.0 - rest * (0.5 - rest / 3.0)), tl.log(1.0 + rest))
    tl.store(log_z + run * m + e, score + term, mask=inside)
    tl.store(shares + run * m + e, tl.where(excess >= 0.0, 1.0, rest) / (1.0 + rest), mask=inside)
    tl.store(chunk_loss + run * chunks + chunk, tl.sum(tl.where(inside, term, 0.0), 0))


@triton.jit
def stronger_kernel(
    log_z, offsets, incident, n, m, parts, schedule, total_iterations, iterations, relative, log_sums, running,
    coefficients, SIZE: tl.constexpr,
):  # fmt: skip
    """Of a node a running log-sum-exp of 1/Z over its edges, strongest first: [B, 2m]; and the coefficient of its
    pairs, Σ 1/Z in units of what its sum is relative to: [B, n].
    """
    node, run = tl.program_id(0), tl.program_id(1)
    tau = tl.load(schedule + run * 4 * total_iterations + tl.load(iterations + run))
    entries = tl.arange(0, SIZE)
    first, last = tl.load(offsets + node), tl.load(offsets + node + 1)
    carry = tl.full([], float("-inf"), tl.float64)
    for start in range(first, last, SIZE):
        there = start + entries < last
        where = last - 1 - (start - first) - entries
        edge = tl.load(incident + where, mask=there, other=0)
        inverse = tl.where(there, -tl.load(log_z + run * m + edge, mask=there, other=0.0), float("-inf"))
        sofar = log_add(tl.associative_scan(inverse, 0, log_add), carry)
        tl.store(running + run * 2 * m + where, sofar, mask=there)
        carry = tl.max(sofar, 0)
    # A node without other pairs has no use for one, and it may be too large for a number.
    some = tl.load(log_sums + run * n + node) > float("-inf")
    least = tl.load(relative + run * n + node).to(tl.float64)
    coefficient = tl.exp(tl.where(some, carry - least / tau, float("-inf"))) * parts
    tl.store(coefficients + run * n + node, coefficient.to(coefficients.dtype.element_ty))


@triton.jit
def node_pulls_kernel(
    values, slopes, shares, m, running, after, schedule, total_iterations, iterations, pulls, bare, SIZE: tl.constexpr,
    POPULAR: tl.constexpr,
):  # fmt: skip
    """What the loss changes by with w of each edge, times τ: [B, m]; where nodes have offsets, with d into bare."""
    chunk, run = tl.program_id(0), tl.program_id(1)
    e = chunk * SIZE + tl.arange(0, SIZE)
    inside = e < m
    tau = tl.load(schedule + run * 4 * total_iterations + tl.load(iterations + run))
    score = -tl.load(values + run * m + e, mask=inside, other=0.0) / tau
    pull = tl.load(shares + run * m + e, mask=inside, other=0.0)
    for end in tl.static_range(2):
        next = tl.load(after + 2 * e + end, mask=inside, other=-1)
        pull -= tl.exp(score + tl.load(running + run * 2 * m + next, mask=next >= 0, other=float("-inf")))
    if POPULAR:
        tl.store(bare + run * m + e, pull, mask=inside)
    tl.store(pulls + run * m + e, pull * tl.load(slopes + run * m + e, mask=inside, other=0.0), mask=inside)


@triton.jit
def node_pass_kernel(
    points, factors, radius, n, schedule, total_iterations, iterations, relative, coefficients, offsets, bitmap, words,
    list_columns, list_rows, list_starts, list_stops, gradient, splits, tiles, parts,
    D: tl.constexpr, TIME: tl.constexpr, SPLIT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BITMAP: tl.constexpr, SAMPLED: tl.constexpr, KIND: tl.constexpr, COEFFICIENTS: tl.constexpr, FAST: tl.constexpr,
    POPULAR: tl.constexpr,
):  # fmt: skip
    """Σ exp(-d/τ) (C_i + C_j) (∂d/∂w) (x_i - x_j) over its columns for each of a program's rows: [B, splits, D, n].

    Where nodes have offsets, Σ exp(-d/τ) (C_i + C_j) is one row more.
    """
    block, split, run = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    real = points.dtype.element_ty
    rows = block * BM + tl.arange(0, BM)
    points += run * (2 * D if SPLIT else D) * n
    factors += run * D
    relative += run * n
    coefficients += run * n
    step = tl.load(iterations + run)
    rate = (1.0 / tl.load(schedule + run * 4 * total_iterations + step) * LOG2_E).to(real)
    epsilon = tl.load(schedule + (run * 4 + 1) * total_iterations + step).to(real)
    r = tl.load(radius + run).to(real)
    x = coordinates(points, n, rows, D, SPLIT)
    row_least = tl.load(relative + rows, mask=rows < n, other=0.0)[:, None]
    row_factor = tl.load(coefficients + rows, mask=rows < n, other=0.0)[:, None]
    if POPULAR:
        offsets += run * n
        own = tl.load(offsets + rows, mask=rows < n, other=0.0).to(real)[:, None]
        total = tl.zeros([BM, BN], real)
    pulls = ()
    for _ in tl.static_range(D):
        pulls = pulls + (tl.zeros([BM, BN], real),)
    if not BITMAP:
        at = tl.load(list_starts + block * splits + split)
        stop = tl.load(list_stops + block * splits + split)
    begin = first_tile(split * tiles, block, parts, step, BM, BN)
    for tile in range(begin, min((split + 1) * tiles, tl.cdiv(n, BN)), parts):
        columns = tile * BN + tl.arange(0, BN)
        w, t = half_chords(x, points, n, columns, factors, D, TIME, SPLIT)
        if BITMAP:
            out = is_edge(bitmap, words, rows, columns) != 0
        else:
            out = (columns >= n)[None, :] | (rows >= n)[:, None]
            if SAMPLED:
                at = seek(list_columns, at, stop, tile * BN)
            while (at < stop) and (tl.load(list_columns + at) < (tile + 1) * BN):
                hit = (columns == tl.load(list_columns + at))[None, :] & (rows == tl.load(list_rows + at))[:, None]
                out = out | hit
                at += 1
        value, slope = dissimilarity(w, r, epsilon, KIND, COEFFICIENTS, FAST)
        if POPULAR:
            value = less(value, offsets, own, n, columns)
        least = tl.load(relative + columns, mask=columns < n, other=0.0)[None, :]
        factor = tl.load(coefficients + columns, mask=columns < n, other=0.0)[None, :]
        # Exponentials are at most 1 but for rounding; an edge may be nearer, and is then left out.
        weight = row_factor * exp2(tl.minimum((row_least - value) * rate, 64.0), FAST)
        weight += factor * exp2(tl.minimum((least - value) * rate, 64.0), FAST)
        weight = tl.where(out, 0.0, weight)
        if POPULAR:
            total += weight
        weight *= slope
        added = ()
        for k in tl.static_range(D):
            added = added + (pulls[k] + weight * t[k],)
        pulls = added
    gradient += (run * splits + split) * (D + POPULAR) * n
    for k in tl.static_range(D):
        tl.store(gradient + k * n + rows, tl.sum(pulls[k], 1), mask=rows < n)
    if POPULAR:
        tl.store(gradient + D * n + rows, tl.sum(total, 1), mask=rows < n)
