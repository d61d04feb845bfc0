"""The ranking loss and its gradient, compiled: what the edges add to the pass over the other pairs,
and closeness.
"""

from __future__ import annotations

import math

import numpy as np

from ...pairs.numba.portable import allocating, exp, inner, log, log1p
from .biases import (
    add_edges_to_biases,
    add_to_bias,
    scale_bias_slopes,
    spring_of,
    stretch_edges,
    subtract_from_edges,
    subtract_from_tile,
)
from .streaming import combine, evaluate, half_chord, half_chords, push_row, scale_of

_LOG_2 = math.log(2.0)


@allocating
def _pulls(excess, met, radius, closeness, tau, weight):
    """The term; in ``excess`` [n] the sums of distances, of ``met`` [n] each, become its slopes in
    these sums.
    """
    n, value = len(excess), 0.0
    component, target = closeness.component, closeness.target
    sums, sizes, slopes = np.zeros(n), np.zeros(n), np.zeros(n)
    for j in range(n):
        if met[j] > 0.0:
            excess[j] = excess[j] / met[j] - radius * target[j]
            sums[component[j]] += excess[j]
            sizes[component[j]] += 1.0
    for j in range(n):
        sums[j] = sums[j] / sizes[j] if sizes[j] > 0.0 else 0.0
    for j in range(n):
        if met[j] > 0.0:
            ratio = (excess[j] - sums[component[j]]) / tau
            decay = exp(-2.0 * abs(ratio))
            value += abs(ratio) + log1p(decay) - _LOG_2
            slope = (1.0 - decay) / (1.0 + decay)
            excess[j] = slope if ratio > 0.0 else -slope
            slopes[component[j]] += excess[j]
    for j in range(n):
        if met[j] > 0.0:
            mean = slopes[component[j]] / sizes[component[j]]
            excess[j] = (excess[j] - mean) * weight / (tau * met[j])
    return weight * value


@allocating
def closeness_term(run, space, now, prepared, closeness, weight, work, iteration):
    """The term that holds sums of distances to closeness; its gradient is added to the run's.
    Iteration -1 is an evaluation.
    """
    if weight == 0.0:
        return 0.0
    points, gradient, biases, n = run.points, run.gradient, run.biases, run.points.shape[1]
    size, component = len(closeness.landmarks), closeness.component
    first, count = 0, min(size, closeness.many)
    if iteration >= 0:
        first, count = iteration * closeness.few % size, min(size, closeness.few)
    w, values, slopes = np.empty(n), np.empty(n), np.empty((count, n))
    pulls, met = np.zeros(n), np.zeros(n)
    for k in range(count):
        i, slope = closeness.landmarks[(first + k) % size], slopes[k]
        half_chords(points, work.factors, space.time, i, 0, n, w, 0)
        evaluate(w, n, space, now, prepared, work.table, 0, values, slope)
        subtract_from_tile(biases, values, i, 1, 0, n)
        for j in range(n):
            if j != i and component[j] == component[i]:
                pulls[j] += values[j]
                met[j] += 1.0
            else:
                slope[j] = 0.0
    value = _pulls(pulls, met, space.radius, closeness, now.tau, weight)
    added = np.zeros((len(points), n))
    for k in range(count):
        i, slope, sum_of_pulls = closeness.landmarks[(first + k) % size], slopes[k], 0.0
        for j in range(n):
            slope[j] *= pulls[j]
            if j != i and component[j] == component[i]:
                add_to_bias(biases, gradient, j, -pulls[j])
                sum_of_pulls += pulls[j]
        add_to_bias(biases, gradient, i, -sum_of_pulls)
        push_row(points, i, slope, added)
    for k in range(len(points)):
        factor = 2.0 * scale_of(space) * (-1.0 if k < space.time else 1.0)
        for j in range(n):
            gradient[k, j] += factor * added[k, j]
    return value


@inner
def loss_and_gradient(run, space, now, prepared, edges, work):
    """The loss of a finished pass, the longest edge and the nearest other pair (NaN unless asked
    for); the gradient.
    """
    points, gradient, biases, ends = run.points, run.gradient, run.biases, edges.ends
    time, tau, scale, longest = space.time, now.tau, scale_of(space), -np.inf
    least, total = combine(tau, work, gradient)
    total *= now.parts
    w, values, slopes, pulls = run.scratch[0], run.scratch[1], run.scratch[2], run.scratch[3]
    for e in range(len(ends)):
        w[e] = half_chord(points, work.factors, time, ends[e, 0], ends[e, 1])
    evaluate(w, len(ends), space, now, prepared, work.table, 0, values, slopes)
    subtract_from_edges(biases, ends, values)
    stretch_edges(edges.heights, spring_of(edges.heights, run.record), ends, values)
    for e in range(edges.silent, len(ends)):
        longest = max(longest, values[e])
    own, inverse, references = w, run.scratch[4], run.scratch[5]
    loss, push = rank(values, edges, tau, least, total, pulls, own, inverse, references)
    scale_bias_slopes(biases, gradient, push * now.parts / tau)
    add_edges_to_biases(biases, gradient, ends, pulls, -1.0 / tau)
    for e in range(len(ends)):
        pulls[e] *= slopes[e]
    for k in range(len(points)):
        factor = 2.0 * scale / tau * (-1.0 if k < time else 1.0)
        for j in range(points.shape[1]):
            gradient[k, j] *= -push * factor * now.parts
        for e in range(len(ends)):
            i, j = ends[e]
            part = factor * pulls[e] * (points[k, i] - points[k, j])
            gradient[k, i] += part
            gradient[k, j] -= part
    return loss, longest, (np.nan if prepared.slack > 0.0 else least)


@inner
def rank(values, edges, tau, least, total, pulls, own, inverse, references):
    """The ranking loss of edges of dissimilarities ``values`` [m], beside other pairs whose sum of
    exponentials is ``total``, relative to ``least``; returned with -τ times its slope in each of
    these other pairs' dissimilarities, over the pair's exponential. Into ``pulls`` [m] goes τ times
    its slope in each of the edges'.

    Denominators Z are a running sum of exponentials over the capacity classes, from the non-edges
    up: ``below``, in units of e^reference, the nearest pair that has entered. An edge adds its
    ``own`` term alone. Going down again, ``above`` is Σ 1/Z over the stronger classes, in units of
    e^-reference: what is returned for the non-edges, in units of the nearest of them. The first
    edges are ``silent``: they have no term. The arrays [m] own, inverse and references are scratch.
    """
    m, weaker, silent = len(edges.weaker), edges.weaker, edges.silent
    rate = -1.0 / tau
    reference, below, loss = (least * rate if total > 0.0 else -np.inf), total, 0.0
    # Σ log is the log of products, taken before they overflow.
    product = 1.0
    start = 0
    while start < m:
        stop, nearest = start, reference
        while stop < m and weaker[stop] == start:
            score = values[stop] * rate
            excess = score - reference
            nearest = max(nearest, score)
            if stop < silent:
                own[stop] = exp(min(excess, 700.0))
                inverse[stop] = pulls[stop] = 0.0
                references[stop] = reference
                stop += 1
                continue
            if excess > 0.0:
                shrunk = exp(-excess)
                others = below * shrunk
                own[stop] = 1.0 / shrunk
                if others < 1e-3:
                    loss += log1p(others)
                else:
                    product *= 1.0 + others
            else:
                own[stop] = exp(excess)
                product *= below + own[stop]
                loss -= excess
            if product > 1e200 or product < 1e-200:
                loss += log(product)
                product = 1.0
            inverse[stop] = 1.0 / (below + own[stop])
            pulls[stop] = below * inverse[stop]
            references[stop] = reference
            stop += 1
        if nearest > reference:
            shrunk = exp(reference - nearest)
            below *= shrunk
            reference = nearest
            for e in range(start, stop):
                # What is too large for a number, or was shrunk to nothing, is taken from its
                # logarithm.
                if own[e] < 1e100 and shrunk > 1e-100:
                    own[e] *= shrunk
                else:
                    own[e] = exp(values[e] * rate - reference)
        for e in range(start, stop):
            below += own[e]
        start = stop
    loss += log(product)
    above, stop = 0.0, m
    while stop > 0:
        start = weaker[stop - 1]
        for e in range(start, stop):
            pulls[e] -= above * own[e]
        if references[start] < reference:
            above *= exp(references[start] - reference)
            reference = references[start]
        for e in range(start, stop):
            above += inverse[e]
        stop = start
    return loss, above
