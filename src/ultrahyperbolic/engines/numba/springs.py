"""Springs of a directed graph, compiled: a pair from i to j is longer by κ (h_i - h_j - 1)², h the heights of nodes.

A pair of which neither direction is a tie stands for both. The shorter direction is longer by κ (|h_i - h_j| - 1)², and
the other by 4κ |h_i - h_j| more: so the sum of the two exponentials is the first times 1 + exp(-4κ |h_i - h_j| / τ).
Without ``heights`` nothing is compiled here.
"""

from __future__ import annotations

from ...pairs.numba.portable import exp, inner
from ..base import SPRING


@inner
def spring_of(heights, record):
    """κ; 0 for no springs."""
    return 0.0 if heights is None else record[SPRING]


@inner
def stretched(heights, spring, i, j):
    """What the shorter direction of a pair adds to its dissimilarity."""
    if heights is None:
        return 0.0
    beyond = abs(heights[i] - heights[j]) - 1.0
    return spring * beyond * beyond


@inner
def both_ways(heights, spring, tau, i, j):
    """The exponentials of both directions in units of that of the shorter one."""
    return 1.0 if heights is None else 1.0 + exp(-4.0 * spring / tau * abs(heights[i] - heights[j]))


@inner
def stretch_tile(heights, spring, values, i, rows, start, count):
    """Add what springs add to the dissimilarities of a tile."""
    if heights is not None:
        for r in range(rows):
            for j in range(count):
                values[r * count + j] += stretched(heights, spring, i + r, start + j)


@inner
def count_both_ways(heights, spring, tau, weights, i, rows, start, count):
    """Let the exponentials of a tile stand for both directions."""
    if heights is not None:
        for r in range(rows):
            for j in range(count):
                weights[r * count + j] *= both_ways(heights, spring, tau, i + r, start + j)


@inner
def stretch_edges(heights, spring, ends, values):
    """Add what springs add to the dissimilarities of edges, each in its own direction."""
    if heights is not None:
        for e in range(len(ends)):
            beyond = heights[ends[e, 0]] - heights[ends[e, 1]] - 1.0
            values[e] += spring * beyond * beyond
