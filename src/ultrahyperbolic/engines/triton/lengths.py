"""What is added to the dissimilarities of pairs on a CUDA device: offsets of nodes, and springs of directed ties.

Springs are as in ``engines/numba/springs.py``: a pair of which neither direction is a tie stands for both.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .pair_functions import exp2


@triton.jit
def _steps(heights, rows, columns, n, real: tl.constexpr):
    """|h_i - h_j| of rows with columns."""
    own = tl.load(heights + rows, mask=rows < n, other=0.0).to(real)[:, None]
    return tl.abs(own - tl.load(heights + columns, mask=columns < n, other=0.0).to(real)[None, :])


@triton.jit
def lengthened(value, offsets, own, heights, springs, rows, columns, n, DIRECTED: tl.constexpr):
    """Dissimilarities of rows, whose offsets are ``own``, with columns, less the offsets of both; and with springs."""
    value -= own + tl.load(offsets + columns, mask=columns < n, other=0.0).to(value.dtype)[None, :]
    if DIRECTED:
        beyond = _steps(heights, rows, columns, n, value.dtype) - 1.0
        value += tl.load(springs).to(value.dtype) * beyond * beyond
    return value


@triton.jit
def both_ways(heights, springs, rate, rows, columns, n, FAST: tl.constexpr):
    """The exponentials of both directions in units of that of the shorter one; ``rate`` is that of powers of 2."""
    fall = -4.0 * tl.load(springs).to(rate.dtype) * rate
    return 1.0 + exp2(fall * _steps(heights, rows, columns, n, rate.dtype), FAST)
