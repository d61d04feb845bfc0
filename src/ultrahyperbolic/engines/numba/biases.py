"""Biases of nodes, and springs of a directed graph, compiled.

``biases`` are [n], or an array of length 0 where nodes have none: pairs are compared by
d_ij - a_i - a_j, and the gradient has one row more. In a directed graph a pair from i to j is
longer by κ (h_i - h_j - 1)², h the heights of nodes, which are ``None`` elsewhere. A pair of which
neither direction is a tie stands for both: the shorter one is longer by κ (|h_i - h_j| - 1)², the
other by 4κ |h_i - h_j| more, so that the sum of their exponentials is that of the first times 1 +
exp(-4κ |h_i - h_j| / τ).
"""

from __future__ import annotations

import math

import numpy as np

from ...pairs.numba.portable import exp, inner, vectorized
from ..base import FADING, FASTEST_FADING, SPRING


@vectorized
def _subtract_from_row(values, at, count, bias, biases):
    for j in range(count):
        values[at + j] -= bias + biases[j]


@inner
def subtract_from_tile(biases, values, i, rows, start, count):
    """Subtract the biases of both nodes from the dissimilarities of a tile."""
    if len(biases) > 0:
        for r in range(rows):
            _subtract_from_row(values, r * count, count, biases[i + r], biases[start:])


@inner
def subtract_from_edges(biases, ends, values):
    """Subtract them from those of the edges."""
    if len(biases) > 0:
        for e in range(len(ends)):
            values[e] -= biases[ends[e, 0]] + biases[ends[e, 1]]


@inner
def add_to_bias(biases, gradient, i, amount):
    """Add to the gradient in the bias of a node."""
    if len(biases) > 0:
        gradient[len(gradient) - 1, i] += amount


@inner
def add_edges_to_biases(biases, gradient, ends, pulls, factor):
    """Add the pulls of the edges, times a factor."""
    if len(biases) > 0:
        slopes = gradient[len(gradient) - 1]
        for e in range(len(ends)):
            slopes[ends[e, 0]] += factor * pulls[e]
            slopes[ends[e, 1]] += factor * pulls[e]


@inner
def scale_bias_slopes(biases, gradient, factor):
    """Multiply the gradient in the biases."""
    if len(biases) > 0:
        slopes = gradient[len(gradient) - 1]
        for i in range(len(biases)):
            slopes[i] *= factor


@inner
def bound_bias_moves(biases, gradient, step, max_step, radius):
    """Turn the gradient in the biases into moves of root mean square ``max_step`` at most, with
    weight decay.

    One factor for all of them: each cut for itself, biases would rise with every tie and fall but
    little with other pairs.
    """
    if len(biases) > 0:
        slopes, square = gradient[len(gradient) - 1], 0.0
        for i in range(len(slopes)):
            square += slopes[i] * slopes[i]
        length = math.sqrt(square / len(slopes)) * step
        factor = -step if length <= max_step else -step * max_step / length
        decay = 0.0 if max_step == np.inf else min(FASTEST_FADING, FADING * max_step / radius)
        for i in range(len(slopes)):
            slopes[i] = factor * slopes[i] - decay * biases[i]


@inner
def move_bias(biases, gradient, i):
    """Move the bias of node i by what the last row of the gradient has become, unless that is not
    finite.
    """
    moved = biases[i] + gradient[len(gradient) - 1, i]
    if abs(moved) < np.inf:
        biases[i] = moved


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
