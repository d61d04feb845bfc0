"""The pass over all pairs on a CUDA device.

Tiled like attention: a program holds a block of rows and streams the columns through, and each of its threads keeps
sums of its own pairs to the end, so that nothing is exchanged inside the loop and the result has the same bits every
time. A first sweep finds the nearest pair without an edge, by comparing w alone; the sums of the second are relative to
it, so that no exponential can overflow.

Edges, and each node with itself, are left out by a bitmap of all pairs while that is small, beyond by each row block's
sorted list of columns. Pairs are float32 or float64; points, edges and what is summed over programs are float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from ..objective.ranking import RankedPairs

# Dissimilarities, by number, as for the CPU.
GEODESIC = tl.constexpr(0)
BROKEN = tl.constexpr(1)
SMOOTHED = tl.constexpr(2)
FLAT_SQUARED = tl.constexpr(3)
FLAT_SMOOTHED = tl.constexpr(4)
CONE_RULE = tl.constexpr(5)

_QUARTER = tl.constexpr(math.pi / 2 - 1.0)
_PI = tl.constexpr(math.pi)
_LOG2_E = tl.constexpr(math.log2(math.e))
_TWO_LOG_2 = tl.constexpr(2.0 * math.log(2.0))
# |1 + ⟨x, y⟩| < 1e-5 is where the authors' scripts replace the distance by 4|w|.
_CONE = tl.constexpr(5e-6)

# Up to this many nodes a bitmap of all pairs tells edges: 128 MiB.
BITMAP_NODES = 32_768


@cache
def arc_coefficients(terms: int) -> tuple[float, ...]:
    """The series of asinh(√v)/√v in v. Half the angle of any w of [-1/2, 1/2] has v in [-0.1465, 0.1124]."""
    return tuple((-1) ** k * math.comb(2 * k, k) / 4**k / (2 * k + 1) for k in range(terms))


def exact_coefficients() -> tuple[float, ...]:
    """As many as float64 can tell."""
    return arc_coefficients(_DOUBLE)


# Terms that leave less than the rounding of float32 and of float64.
_SINGLE, _DOUBLE = 8, 19


@triton.jit
def _log2(x, FAST: tl.constexpr):
    if FAST:
        return tl.inline_asm_elementwise(
            "lg2.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        return tl.log2(x)


@triton.jit
def _rsqrt(x, FAST: tl.constexpr):
    if FAST:
        return tl.inline_asm_elementwise(
            "rsqrt.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        return 1.0 / tl.sqrt(x)


@triton.jit
def _exp2(x, FAST: tl.constexpr):
    if FAST:
        return tl.inline_asm_elementwise("ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)
    else:
        return tl.exp2(x)


@triton.jit
def _unit_arc(w, COEFFICIENTS: tl.constexpr, FAST: tl.constexpr):
    """2·asinh √w for w > 0 and 2·asin √-w for -1/2 <= w < 0, and the slope in w; any number below -1/2."""
    size = tl.abs(w)
    inverse = _rsqrt(tl.maximum(size, 1e-37), FAST)
    root = size * inverse
    one = tl.maximum(1.0 + w, 0.25)
    inverse_stretch = _rsqrt(one, FAST)
    stretch = one * inverse_stretch
    # Half the angle: sinh²(θ/2) = w / 2(1 + √(1 + w)), of either sign.
    half = _rsqrt(2.0 + 2.0 * stretch, FAST)
    v = w * half * half
    series = tl.zeros_like(w) + COEFFICIENTS[len(COEFFICIENTS) - 1]
    for k in tl.static_range(len(COEFFICIENTS) - 1):
        series = series * v + COEFFICIENTS[len(COEFFICIENTS) - 2 - k]
    near = 4.0 * root * half * series
    far = _log2(root + stretch, FAST) * _TWO_LOG_2
    slope = inverse * inverse_stretch
    slope = tl.where(w > 0.0, slope, -slope)
    # At the cone the slope is 0 by convention.
    return tl.where(w > 0.5, far, near), tl.where(size > 1e-37, slope, 0.0)


@triton.jit
def dissimilarity(w, radius, epsilon, KIND: tl.constexpr, COEFFICIENTS: tl.constexpr, FAST: tl.constexpr):
    """The dissimilarity numbered KIND and its slope in w (for flat kinds w is the squared distance)."""
    if KIND == FLAT_SQUARED:
        value = w
        slope = tl.zeros_like(w) + 1.0
    elif KIND == FLAT_SMOOTHED:
        square = w * w + epsilon * epsilon
        inverse = _rsqrt(square, FAST)
        h = square * inverse
        inverse_root = _rsqrt(h, FAST)
        value = w * w / ((h + epsilon) * (h * inverse_root + tl.sqrt(epsilon)))
        slope = 0.5 * w * inverse * inverse_root
    elif KIND == BROKEN:
        beyond = w < -0.5
        value, slope = _unit_arc(tl.where(beyond, -1.0 - w, w), COEFFICIENTS, FAST)
        # Past a quarter turn the geodesic goes on through the antipode: π - 2 asin √(1+w), then π + 2 asinh √(-1-w).
        value = tl.where(beyond, tl.where(w > -1.0, -value, value) + _PI, value)
        slope = tl.where(beyond, tl.where(w > -1.0, slope, -slope), slope)
        value = radius * value
        slope = radius * slope
    else:
        value, slope = _unit_arc(w, COEFFICIENTS, FAST)
        linear = w < -0.5
        value = radius * tl.where(linear, -2.0 * w + _QUARTER, value)
        slope = radius * tl.where(linear, -2.0, slope)
        if KIND == CONE_RULE:
            cone = tl.abs(w) < _CONE
            value = tl.where(cone, 4.0 * radius * tl.abs(w), value)
            slope = tl.where(cone, tl.where(w > 0.0, 4.0, tl.where(w < 0.0, -4.0, 0.0)) * radius, slope)
        if KIND == SMOOTHED:
            square = value * value
            sum_square = square * square + epsilon * epsilon
            inverse = _rsqrt(sum_square, FAST)
            h = sum_square * inverse
            inverse_root = _rsqrt(h, FAST)
            slope = slope * value * square * inverse * inverse_root
            value = square * square / ((h + epsilon) * (h * inverse_root + tl.sqrt(epsilon)))
    return value, slope


@triton.jit
def _is_edge(bitmap, words, rows, columns):
    word = tl.load(bitmap + rows[:, None] * words + (columns // 32)[None, :])
    return (word >> (columns % 32)[None, :]) & 1


@triton.jit
def _nearest_kernel(
    points, factors, n, bitmap, words, list_columns, list_rows, list_starts, list_stops, found, splits, tiles,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BITMAP: tl.constexpr,
):  # fmt: skip
    """The least w >= 0 and the greatest w < 0 among a program's pairs, into found [B, blocks, splits, 2]."""
    block, split, run = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    rows = block * BM + tl.arange(0, BM)
    points += run * D * n
    factors += run * D
    x = ()
    for k in tl.static_range(D):
        x = x + (tl.load(points + k * n + rows, mask=rows < n, other=0.0)[:, None],)
    above = tl.full([BM, BN], float("inf"), points.dtype.element_ty)
    below = tl.full([BM, BN], float("-inf"), points.dtype.element_ty)
    if not BITMAP:
        at = tl.load(list_starts + block * splits + split)
        stop = tl.load(list_stops + block * splits + split)
    # A pair is met once, or twice near the diagonal: tiles left of it are skipped.
    begin = tl.maximum(split * tiles, block * BM // BN)
    for tile in range(begin, min((split + 1) * tiles, tl.cdiv(n, BN))):
        columns = tile * BN + tl.arange(0, BN)
        w = tl.zeros([BM, BN], points.dtype.element_ty)
        for k in tl.static_range(D):
            y = tl.load(points + k * n + columns, mask=columns < n, other=0.0)[None, :]
            t = x[k] - y
            w += tl.load(factors + k) * t * t
        if BITMAP:
            out = _is_edge(bitmap, words, rows, columns) != 0
        else:
            out = (columns >= n)[None, :] | (rows >= n)[:, None]
            while (at < stop) and (tl.load(list_columns + at) < (tile + 1) * BN):
                hit = (columns == tl.load(list_columns + at))[None, :] & (rows == tl.load(list_rows + at))[:, None]
                out = out | hit
                at += 1
        above = tl.minimum(above, tl.where(out | (w < 0.0), float("inf"), w))
        below = tl.maximum(below, tl.where(out | (w >= 0.0), float("-inf"), w))
    at_found = found + ((run * tl.num_programs(0) + block) * splits + split) * 2
    tl.store(at_found, tl.min(tl.min(above, 1), 0).to(tl.float64))
    tl.store(at_found + 1, tl.max(tl.max(below, 1), 0).to(tl.float64))


@triton.jit
def _least_kernel(
    found, count, schedule, total_iterations, iterations, radius, least,
    KIND: tl.constexpr, COEFFICIENTS: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    """The dissimilarity of the nearest pair from what the programs found: least [B]."""
    run = tl.program_id(0)
    above = tl.full([SIZE], float("inf"), tl.float64)
    below = tl.full([SIZE], float("-inf"), tl.float64)
    for start in range(0, count, SIZE):
        at = start + tl.arange(0, SIZE)
        above = tl.minimum(above, tl.load(found + (run * count + at) * 2, mask=at < count, other=float("inf")))
        below = tl.maximum(below, tl.load(found + (run * count + at) * 2 + 1, mask=at < count, other=float("-inf")))
    nearest_above, nearest_below = tl.min(above, 0), tl.max(below, 0)
    epsilon = tl.load(schedule + (run * 4 + 1) * total_iterations + tl.load(iterations + run))
    r = tl.load(radius + run)
    # Both as one vector: the functions take blocks.
    side = tl.arange(0, 2)
    w = tl.where(side == 0, nearest_above, nearest_below)
    exists = tl.abs(w) < float("inf")
    value, slope = dissimilarity(tl.where(exists, w, 1.0), r, epsilon, KIND, COEFFICIENTS, False)
    tl.store(least + run, tl.min(tl.where(exists, value, float("inf")), 0))


@triton.jit
def _pass_kernel(
    points, factors, radius, n, schedule, total_iterations, iterations, least, bitmap, words, list_columns, list_rows,
    list_starts, list_stops, sums, gradient, splits, tiles,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BITMAP: tl.constexpr, KIND: tl.constexpr,
    COEFFICIENTS: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    """Σ exp(-(d - least)/τ) over a program's pairs, into sums [B, blocks, splits], and Σ exp(…) (∂d/∂w) (x_i - x_j)
    over its columns for each of its rows, into gradient [B, splits, D, n]."""
    block, split, run = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    real = points.dtype.element_ty
    rows = block * BM + tl.arange(0, BM)
    points += run * D * n
    factors += run * D
    step = tl.load(iterations + run)
    rate = (1.0 / tl.load(schedule + run * 4 * total_iterations + step) * _LOG2_E).to(real)
    epsilon = tl.load(schedule + (run * 4 + 1) * total_iterations + step).to(real)
    nearest = tl.load(least + run).to(real)
    r = tl.load(radius + run).to(real)
    x, pulls = (), ()
    for k in tl.static_range(D):
        x = x + (tl.load(points + k * n + rows, mask=rows < n, other=0.0)[:, None],)
        pulls = pulls + (tl.zeros([BM, BN], real),)
    total = tl.zeros([BM, BN], real)
    if not BITMAP:
        at = tl.load(list_starts + block * splits + split)
        stop = tl.load(list_stops + block * splits + split)
    for tile in range(split * tiles, min((split + 1) * tiles, tl.cdiv(n, BN))):
        columns = tile * BN + tl.arange(0, BN)
        w = tl.zeros([BM, BN], real)
        t = ()
        for k in tl.static_range(D):
            difference = x[k] - tl.load(points + k * n + columns, mask=columns < n, other=0.0)[None, :]
            w += (tl.load(factors + k) * difference) * difference
            t = t + (difference,)
        if BITMAP:
            out = _is_edge(bitmap, words, rows, columns) != 0
        else:
            out = (columns >= n)[None, :] | (rows >= n)[:, None]
            while (at < stop) and (tl.load(list_columns + at) < (tile + 1) * BN):
                hit = (columns == tl.load(list_columns + at))[None, :] & (rows == tl.load(list_rows + at))[:, None]
                out = out | hit
                at += 1
        value, slope = dissimilarity(w, r, epsilon, KIND, COEFFICIENTS, FAST)
        weight = tl.where(out, 0.0, _exp2((nearest - value) * rate, FAST))
        total += weight
        weight *= slope
        added = ()
        for k in tl.static_range(D):
            added = added + (pulls[k] + weight * t[k],)
        pulls = added
    tl.store(sums + (run * tl.num_programs(0) + block) * splits + split, tl.sum(tl.sum(total.to(tl.float64), 1), 0))
    gradient += (run * splits + split) * D * n
    for k in tl.static_range(D):
        tl.store(gradient + k * n + rows, tl.sum(pulls[k], 1), mask=rows < n)


@triton.jit
def edges_kernel(
    points, factors, radius, n, edges, m, chunk_starts, chunk_stops, chunks, schedule, total_iterations, iterations,
    values, slopes, chunk_sums, chunk_longest,
    D: tl.constexpr, SIZE: tl.constexpr, KIND: tl.constexpr, COEFFICIENTS: tl.constexpr,
):  # fmt: skip
    """Dissimilarities of the edges and their slopes in w, float64 [B, m]; of each chunk log Σ exp(-d/τ), and max d."""
    chunk, run = tl.program_id(0), tl.program_id(1)
    points += run * D * n
    factors += run * D
    e = tl.load(chunk_starts + chunk) + tl.arange(0, SIZE)
    inside = e < tl.load(chunk_stops + chunk)
    i = tl.load(edges + 2 * e, mask=inside, other=0)
    j = tl.load(edges + 2 * e + 1, mask=inside, other=1)
    w = tl.zeros([SIZE], tl.float64)
    for k in tl.static_range(D):
        t = tl.load(points + k * n + i, mask=inside, other=0.0) - tl.load(points + k * n + j, mask=inside, other=1.0)
        w += tl.load(factors + k) * t * t
    step = tl.load(iterations + run)
    tau = tl.load(schedule + run * 4 * total_iterations + step)
    epsilon = tl.load(schedule + (run * 4 + 1) * total_iterations + step)
    value, slope = dissimilarity(w, tl.load(radius + run), epsilon, KIND, COEFFICIENTS, False)
    tl.store(values + run * m + e, value, mask=inside)
    tl.store(slopes + run * m + e, slope, mask=inside)
    tl.store(chunk_longest + run * chunks + chunk, tl.max(tl.where(inside, value, float("-inf")), 0))
    tl.store(chunk_sums + run * chunks + chunk, log_sum_exp(tl.where(inside, -value / tau, float("-inf"))))


@triton.jit
def log_sum_exp(x):
    """log Σ exp x over a block; -∞ where all are."""
    most = tl.max(x, 0)
    shift = tl.where(most == float("-inf"), 0.0, most)
    return shift + tl.log(tl.sum(tl.exp(x - shift), 0))


@dataclass(frozen=True)
class Shape:
    """How the pass is cut: rows and columns of a tile, and warps of a program."""

    rows: int
    columns: int
    warps: int

    @classmethod
    def of(cls, d: int, dtype: torch.dtype) -> Shape:
        """What suits d coordinates: each thread keeps d + 1 sums of a few pairs in registers."""
        if dtype == torch.float64:
            return cls(32, 32, 4) if d <= 6 else cls(16, 32, 4) if d <= 12 else cls(16, 32, 8)
        return cls(32, 64, 4) if d <= 6 else cls(32, 32, 4) if d <= 16 else cls(16, 32, 4)


class Passes:
    """The pass over all pairs for a batch of runs of one graph on one device; what it reads and writes stays there.

    Parameters
    ----------
    pairs : RankedPairs
        The graph.
    runs, d : int
        The batch's points are float64 [runs, d, n].
    kind : int
        The number of the dissimilarity.
    dtype : torch.dtype
        Precision of pairs.
    """

    def __init__(
        self, pairs: RankedPairs, runs: int, d: int, kind: int, dtype: torch.dtype, device: torch.device,
        *, shape: Shape | None = None, bitmap: bool | None = None,
    ) -> None:  # fmt: skip
        n = pairs.n_nodes
        self.n, self.runs, self.d, self.kind, self.dtype, self.device = n, runs, d, kind, dtype, device
        self.shape = shape or Shape.of(d, dtype)
        self.interpreted = not hasattr(_pass_kernel, "warmup") or triton.knobs.runtime.interpret
        self.blocks = triton.cdiv(n, self.shape.rows)
        column_tiles = triton.cdiv(n, self.shape.columns)
        # Enough programs to fill the device a few times over, and no more: each adds a gradient to be summed.
        wanted = 1 if self.interpreted else triton.cdiv(8 * _multiprocessors(device), self.blocks * runs)
        self.tiles = triton.cdiv(column_tiles, min(max(wanted, 1), column_tiles))
        self.splits = triton.cdiv(column_tiles, self.tiles)
        self.use_bitmap = n <= BITMAP_NODES if bitmap is None else bitmap
        self.sums = torch.zeros(runs, self.blocks, self.splits, dtype=torch.float64, device=device)
        self.gradient = torch.zeros(runs, self.splits, d, n, dtype=dtype, device=device)
        self.found = torch.zeros(runs, self.blocks, self.splits, 2, dtype=torch.float64, device=device)
        self.least = torch.zeros(runs, dtype=torch.float64, device=device)
        self._exclude(pairs)

    def _exclude(self, pairs: RankedPairs) -> None:
        n, device = self.n, self.device
        both = np.concatenate((pairs.edges, pairs.edges[:, ::-1], np.repeat(np.arange(n)[:, None], 2, 1)))
        nothing = torch.zeros(1, dtype=torch.int32, device=device)
        self.words = 0
        self.bitmap = self.list_columns = self.list_rows = self.list_starts = self.list_stops = nothing
        if self.use_bitmap:
            # Rows and columns beyond the last node are left out by the same bits.
            height = self.blocks * self.shape.rows
            self.words = triton.cdiv(triton.cdiv(n, self.shape.columns) * self.shape.columns, 32)
            bits = np.zeros((height, self.words), dtype=np.uint32)
            np.bitwise_or.at(bits, (both[:, 0], both[:, 1] // 32), np.uint32(1) << (both[:, 1] % 32).astype(np.uint32))
            beyond = np.arange(n, self.words * 32)
            for j in beyond:
                bits[:, j // 32] |= np.uint32(1 << (j % 32))
            bits[n:] = 0xFFFFFFFF
            self.bitmap = torch.from_numpy(bits.view(np.int32)).to(device)
            return
        block = both[:, 0] // self.shape.rows
        order = np.lexsort((both[:, 1], block))
        block, columns = block[order], both[order, 1]
        # Where the columns of each split begin and end in the list of each block.
        key = block * (n + 1) + columns
        edges_of = np.arange(self.splits + 1) * self.tiles * self.shape.columns
        limits = np.searchsorted(key, np.arange(self.blocks)[:, None] * (n + 1) + np.minimum(edges_of, n)[None, :])
        self.list_columns = torch.from_numpy(columns.astype(np.int32)).to(device)
        self.list_rows = torch.from_numpy(both[order, 0].astype(np.int32)).to(device)
        self.list_starts = torch.from_numpy(np.ascontiguousarray(limits[:, :-1])).to(device)
        self.list_stops = torch.from_numpy(np.ascontiguousarray(limits[:, 1:])).to(device)

    def launch(
        self, points: torch.Tensor, factors: torch.Tensor, radius: torch.Tensor, schedule: torch.Tensor,
        iterations: torch.Tensor,
    ) -> None:  # fmt: skip
        """Put the pass on the current stream: ``least``, ``sums`` and ``gradient`` will hold what it found.

        Points [runs, d, n] and factors [runs, d], the metric's signs over 4|β|, are in the precision of pairs; radius
        is [runs], and τ and ε of schedule [runs, 4, T] are read at iterations [runs].
        """
        excluded = (self.bitmap, self.words, self.list_columns, self.list_rows, self.list_starts, self.list_stops)
        grid = (self.blocks, self.splits, self.runs)
        total = schedule.shape[-1]
        cut: dict[str, Any] = {"D": self.d, "BM": self.shape.rows, "BN": self.shape.columns, "BITMAP": self.use_bitmap}
        exact = exact_coefficients()
        fast = self.dtype == torch.float32 and not self.interpreted
        _nearest_kernel[grid](
            points, factors, self.n, *excluded, self.found, self.splits, self.tiles, **cut,
            num_warps=self.shape.warps,
        )  # fmt: skip
        _least_kernel[(self.runs,)](
            self.found, self.blocks * self.splits, schedule, total, iterations, radius, self.least, KIND=self.kind,
            COEFFICIENTS=exact, SIZE=1024,
        )  # fmt: skip
        _pass_kernel[grid](
            points, factors, radius, self.n, schedule, total, iterations, self.least, *excluded, self.sums,
            self.gradient, self.splits, self.tiles, **cut, KIND=self.kind,
            COEFFICIENTS=arc_coefficients(_SINGLE) if self.dtype == torch.float32 else exact, FAST=fast,
            num_warps=self.shape.warps,
        )  # fmt: skip


def _multiprocessors(device: torch.device) -> int:
    return torch.cuda.get_device_properties(device).multi_processor_count
