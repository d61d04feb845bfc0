"""Offsets of nodes, compiled: pairs are compared by d_ij - a_i - a_j, and the gradient has one row more.

Loops that are the same with offsets and without call the functions here with ``None`` for no offsets, of which nothing
is compiled then.
"""

from __future__ import annotations

import math

import numpy as np

from ...pairs.numba.portable import inner, vectorized


@vectorized
def take_off_row(values, at, count, own, columns):
    """Take the offsets of a node and of others from the dissimilarities of a row."""
    for j in range(count):
        values[at + j] -= own + columns[j]


@inner
def take_off_tile(offsets, values, i, rows, start, count):
    """Take the offsets of both nodes from the dissimilarities of a tile."""
    if offsets is not None:
        for r in range(rows):
            take_off_row(values, r * count, count, offsets[i + r], offsets[start:])


@inner
def take_off_pairs(offsets, values):
    """Take them from those of all pairs of a small graph, row after row."""
    if offsets is not None:
        n, row = len(offsets), 0
        for i in range(n - 1):
            take_off_row(values, row, n - i - 1, offsets[i], offsets[i + 1 :])
            row += n - i - 1


@inner
def take_off_edges(offsets, ends, values):
    """Take them from those of the edges."""
    if offsets is not None:
        for e in range(len(ends)):
            values[e] -= offsets[ends[e, 0]] + offsets[ends[e, 1]]


@inner
def add_offset(offsets, gradient, i, amount):
    """Add to the gradient in the offset of a node."""
    if offsets is not None:
        gradient[len(gradient) - 1, i] += amount


@inner
def add_edge_offsets(offsets, gradient, ends, pulls, factor):
    """Add the pulls of the edges, times a factor."""
    if offsets is not None:
        last = len(gradient) - 1
        for e in range(len(ends)):
            gradient[last, ends[e, 0]] += factor * pulls[e]
            gradient[last, ends[e, 1]] += factor * pulls[e]


@inner
def add_offsets(offsets, gradient, weights, factor):
    """Add the weights of all pairs of a small graph, row after row, times a factor."""
    if offsets is not None:
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
    if offsets is not None:
        last = len(gradient) - 1
        for i in range(len(offsets)):
            gradient[last, i] *= factor


@inner
def bound_offset_moves(offsets, gradient, step, max_step):
    """Make moves of the gradient in the offsets, whose root mean square is ``max_step`` at most.

    One factor for all of them: each cut for itself, offsets would rise with every tie and fall but little with others.
    """
    if offsets is not None:
        slopes, square = gradient[len(gradient) - 1], 0.0
        for i in range(len(slopes)):
            square += slopes[i] * slopes[i]
        length = math.sqrt(square / len(slopes)) * step
        factor = -step if length <= max_step else -step * max_step / length
        for i in range(len(slopes)):
            slopes[i] *= factor


@inner
def shift_offset(offsets, gradient, i):
    """Move the offset of node i by what the last row of the gradient has become; not to what is no number."""
    if offsets is not None:
        moved = offsets[i] + gradient[len(gradient) - 1, i]
        if abs(moved) < np.inf:
            offsets[i] = moved
