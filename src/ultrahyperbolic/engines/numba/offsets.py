"""Offsets of nodes, [0] where they have none, and springs of a directed graph, compiled; heights
may be ``None``.

Pairs are compared by d_ij - a_i - a_j, and the gradient has one row more. In a directed graph a
pair from i to j is longer by κ (h_i - h_j - 1)², h the heights of nodes. A pair of which neither
direction is a tie stands for both: the shorter one is longer by κ (|h_i - h_j| - 1)², the other by
4κ |h_i - h_j| more, so that the sum of their exponentials is that of the first times 1 + exp(-4κ
|h_i - h_j| / τ).
"""

from __future__ import annotations

import math

import numpy as np

from ...pairs.numba.portable import exp, inner, vectorized
from ..base import FADING, FASTEST_FADING, SPRING


@vectorized
def take_off_row(values, at, count, own, columns):
    """Take the offsets of a node and of others from the dissimilarities of a row."""
    for j in range(count):
        values[at + j] -= own + columns[j]


@inner
def take_off_tile(offsets, values, i, rows, start, count):
    """Take the offsets of both nodes from the dissimilarities of a tile."""
    if len(offsets) > 0:
        for r in range(rows):
            take_off_row(values, r * count, count, offsets[i + r], offsets[start:])


@inner
def take_off_pairs(offsets, values):
    """Take them from those of all pairs of a small graph, row after row."""
    if len(offsets) > 0:
        n, row = len(offsets), 0
        for i in range(n - 1):
            take_off_row(values, row, n - i - 1, offsets[i], offsets[i + 1 :])
            row += n - i - 1


@inner
def take_off_edges(offsets, ends, values):
    """Take them from those of the edges."""
    if len(offsets) > 0:
        for e in range(len(ends)):
            values[e] -= offsets[ends[e, 0]] + offsets[ends[e, 1]]


@inner
def add_offset(offsets, gradient, i, amount):
    """Add to the gradient in the offset of a node."""
    if len(offsets) > 0:
        gradient[len(gradient) - 1, i] += amount


@inner
def add_edge_offsets(offsets, gradient, ends, pulls, factor):
    """Add the pulls of the edges, times a factor."""
    if len(offsets) > 0:
        last = len(gradient) - 1
        for e in range(len(ends)):
            gradient[last, ends[e, 0]] += factor * pulls[e]
            gradient[last, ends[e, 1]] += factor * pulls[e]


@inner
def add_offsets(offsets, gradient, weights, factor):
    """Add the weights of all pairs of a small graph, row after row, times a factor."""
    if len(offsets) > 0:
        n, row, slopes = len(offsets), 0, gradient[len(gradient) - 1]
        for i in range(n - 1):
            for j in range(i + 1, n):
                part = factor * weights[row + j - i - 1]
                slopes[i] += part
                slopes[j] += part
            row += n - i - 1


@inner
def scale_offsets(offsets, gradient, factor):
    """Multiply the gradient in the offsets."""
    if len(offsets) > 0:
        last = len(gradient) - 1
        for i in range(len(offsets)):
            gradient[last, i] *= factor


@inner
def bound_offset_moves(offsets, gradient, step, max_step, radius):
    """Make moves of the gradient in the offsets, whose root mean square is ``max_step`` at most,
    and let offsets fade.

    One factor for all of them: each cut for itself, offsets would rise with every tie and fall but
    little with others.
    """
    if len(offsets) > 0:
        slopes, square = gradient[len(gradient) - 1], 0.0
        for i in range(len(slopes)):
            square += slopes[i] * slopes[i]
        length = math.sqrt(square / len(slopes)) * step
        factor = -step if length <= max_step else -step * max_step / length
        fading = 0.0 if max_step == np.inf else min(FASTEST_FADING, FADING * max_step / radius)
        for i in range(len(slopes)):
            slopes[i] = factor * slopes[i] - fading * offsets[i]


@inner
def shift_offset(offsets, gradient, i):
    """Move the offset of node i by what the last row of the gradient has become; not to what is no
    number.
    """
    moved = offsets[i] + gradient[len(gradient) - 1, i]
    if abs(moved) < np.inf:
        offsets[i] = moved


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
