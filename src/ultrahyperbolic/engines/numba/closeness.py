"""The term that holds the sums of distances to closeness, compiled: see ``objective/closeness.py``."""

from __future__ import annotations

import math

import numpy as np

from ...pairs.numba.portable import exp, inner, log1p
from .offsets import add_offset, take_off_tile
from .streaming import evaluate, half_chords, push_row, scale_of, without_exponentials

_LOG_2 = math.log(2.0)


@inner
def pulls_of(excess, met, component, tau, weight, pulls):
    """The term; its slopes in the sums of distances into pulls [n]. ``excess``: distances less hops, of ``met``."""
    n, value = len(excess), 0.0
    sums, sizes = np.zeros(n + 1), np.zeros(n + 1)
    for j in range(n):
        if met[j] > 0.0:
            excess[j] /= met[j]
            sums[component[j]] += excess[j]
            sizes[component[j]] += 1.0
    for j in range(n):
        sums[j] = sums[j] / sizes[j] if sizes[j] > 0.0 else 0.0
    slopes = np.zeros(n + 1)
    for j in range(n):
        pulls[j] = 0.0
        if met[j] > 0.0:
            ratio = (excess[j] - sums[component[j]]) / tau
            decay = exp(-2.0 * abs(ratio))
            value += abs(ratio) + log1p(decay) - _LOG_2
            slope = (1.0 - decay) / (1.0 + decay)
            pulls[j] = slope if ratio > 0.0 else -slope
            slopes[component[j]] += pulls[j]
    for j in range(n):
        if met[j] > 0.0:
            mean = slopes[component[j]] / sizes[component[j]]
            pulls[j] = (pulls[j] - mean) * weight / (tau * met[j])
    return weight * value


@inner
def small_closeness(values, radius, closeness, tau, weight, pulls):
    """The term where all nodes are landmarks, from the distances of all pairs, row after row; slopes into pulls [n]."""
    n, unit, component = len(pulls), closeness.unit * radius, closeness.component
    excess, met, hops, at = np.zeros(n), np.zeros(n), closeness.hops, np.empty(n, np.int64)
    for k in range(n):
        at[closeness.landmarks[k]] = k
    row = 0
    for i in range(n - 1):
        own = hops[at[i]]
        for j in range(i + 1, n):
            if own[j] > 0:
                more = values[row + j - i - 1] - unit * own[j]
                excess[i] += more
                excess[j] += more
                met[i] += 1.0
                met[j] += 1.0
        row += n - i - 1
    return pulls_of(excess, met, component, tau, weight, pulls)


@inner
def add_small_closeness(offsets, points, slopes, component, pulls, tau, weights, gradient):
    """Add the slopes of that term: to the weights of all pairs, which are in units of 1/τ, and to the offsets'."""
    n, row = points.shape[1], 0
    for i in range(n - 1):
        for j in range(i + 1, n):
            if component[i] == component[j]:
                both = pulls[i] + pulls[j]
                weights[row + j - i - 1] += tau * both * slopes[row + j - i - 1]
                add_offset(offsets, gradient, i, -both)
                add_offset(offsets, gradient, j, -both)
        row += n - i - 1


@inner
def closeness_term(run, space, now, prepared, closeness, weight, work, iteration):
    """The term of a larger graph; its gradient is added to the run's. Iteration -1 is an evaluation."""
    if weight == 0.0:
        return 0.0
    points, gradient, offsets, n = run.points, run.gradient, run.offsets, run.points.shape[1]
    size, unit = len(closeness.landmarks), closeness.unit * space.radius
    first, count = 0, min(size, closeness.many)
    if iteration >= 0:
        first, count = iteration * closeness.few % size, min(size, closeness.few)
    prepared = without_exponentials(space, prepared)
    w, values, slopes = np.empty(n), np.empty(n), np.empty((count, n))
    excess, met, pulls = np.zeros(n), np.zeros(n), np.empty(n)
    for k in range(count):
        at = (first + k) % size
        i, own, slope = closeness.landmarks[at], closeness.hops[at], slopes[k]
        half_chords(points, work.factors, space.time, i, 0, n, w, 0)
        evaluate(w, n, space, now, prepared, work.table, 0, values, slope)
        take_off_tile(offsets, values, i, 1, 0, n)
        for j in range(n):
            if own[j] > 0:
                excess[j] += values[j] - unit * own[j]
                met[j] += 1.0
            else:
                slope[j] = 0.0
    value = pulls_of(excess, met, closeness.component, now.tau, weight, pulls)
    added = np.zeros((len(points), n))
    for k in range(count):
        at = (first + k) % size
        i, own, slope, sum_of_pulls = closeness.landmarks[at], closeness.hops[at], slopes[k], 0.0
        for j in range(n):
            slope[j] *= pulls[j]
            if own[j] > 0:
                add_offset(offsets, gradient, j, -pulls[j])
                sum_of_pulls += pulls[j]
        add_offset(offsets, gradient, i, -sum_of_pulls)
        push_row(points, i, 0, n, slope, 0, added)
    for k in range(len(points)):
        factor = 2.0 * scale_of(space) * (-1.0 if k < space.time else 1.0)
        for j in range(n):
            gradient[k, j] += factor * added[k, j]
    return value
