"""Dissimilarities on a CUDA device, with their slopes, and what is added to them: offsets of nodes,
and springs.

Springs are as in ``engines/numba/offsets.py``: a pair of which neither direction is a tie stands
for both.
"""

from __future__ import annotations

import math

import triton
import triton.language as tl

from ...pairs.kinds import CONE, Kind

# The kinds of dissimilarities.
GEODESIC, BROKEN, SMOOTHED, FLAT_SQUARED, FLAT_SMOOTHED, CONE_RULE, EXTRINSIC, FLAT_DISTANCE = (
    tl.constexpr(int(kind)) for kind in Kind
)

_QUARTER = tl.constexpr(math.pi / 2 - 1.0)
_PI = tl.constexpr(math.pi)
LOG2_E = tl.constexpr(math.log2(math.e))
_TWO_LOG_2 = tl.constexpr(2.0 * math.log(2.0))
_CONE = tl.constexpr(CONE)


@triton.jit
def _log2(x, FAST: tl.constexpr):
    if FAST:
        return tl.inline_asm_elementwise(
            "lg2.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    return tl.log2(x)


@triton.jit
def _rsqrt(x, FAST: tl.constexpr):
    if FAST:
        return tl.inline_asm_elementwise(
            "rsqrt.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    return 1.0 / tl.sqrt(x)


@triton.jit
def exp2(x, FAST: tl.constexpr):
    """2ˣ; with FAST in one instruction of float32."""
    if FAST:
        return tl.inline_asm_elementwise(
            "ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    return tl.exp2(x)


@triton.jit
def _unit_arc(w, COEFFICIENTS: tl.constexpr, FAST: tl.constexpr):
    """2·asinh √w for w > 0 and 2·asin √-w for -1/2 <= w < 0, and the slope in w; any number below
    -1/2.
    """
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
def dissimilarity(
    w, radius, epsilon, KIND: tl.constexpr, COEFFICIENTS: tl.constexpr, FAST: tl.constexpr
):
    """The dissimilarity numbered KIND and its slope in w (for flat kinds w is the squared
    distance).
    """
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
    elif KIND == FLAT_DISTANCE:
        inverse = _rsqrt(tl.maximum(w, 1e-37), FAST)
        value = w * inverse
        slope = tl.where(w > 1e-37, 0.5 * inverse, 0.0)
    elif KIND == EXTRINSIC:
        size = tl.abs(w)
        inverse = _rsqrt(tl.maximum(size, 1e-37), FAST)
        value = 2.0 * radius * size * inverse
        slope = tl.where(size > 1e-37, tl.where(w > 0.0, radius, -radius) * inverse, 0.0)
    elif KIND == BROKEN:
        beyond = w < -0.5
        value, slope = _unit_arc(tl.where(beyond, -1.0 - w, w), COEFFICIENTS, FAST)
        # Past a quarter turn the geodesic goes on through the antipode: π - 2 asin √(1+w), then π +
        # 2 asinh √(-1-w).
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
            slope = tl.where(
                cone, tl.where(w > 0.0, 4.0, tl.where(w < 0.0, -4.0, 0.0)) * radius, slope
            )
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
def _steps(heights, rows, columns, n, real: tl.constexpr):
    """|h_i - h_j| of rows with columns."""
    own = tl.load(heights + rows, mask=rows < n, other=0.0).to(real)[:, None]
    return tl.abs(own - tl.load(heights + columns, mask=columns < n, other=0.0).to(real)[None, :])


@triton.jit
def lengthened(value, offsets, own, heights, springs, rows, columns, n, DIRECTED: tl.constexpr):
    """Dissimilarities of rows, whose offsets are ``own``, with columns, less the offsets of both;
    and with springs.
    """
    value -= own + tl.load(offsets + columns, mask=columns < n, other=0.0).to(value.dtype)[None, :]
    if DIRECTED:
        beyond = _steps(heights, rows, columns, n, value.dtype) - 1.0
        value += tl.load(springs).to(value.dtype) * beyond * beyond
    return value


@triton.jit
def both_ways(heights, springs, rate, rows, columns, n, FAST: tl.constexpr):
    """The exponentials of both directions in units of that of the shorter one; ``rate`` is that of
    powers of 2.
    """
    fall = -4.0 * tl.load(springs).to(rate.dtype) * rate
    return 1.0 + exp2(fall * _steps(heights, rows, columns, n, rate.dtype), FAST)
