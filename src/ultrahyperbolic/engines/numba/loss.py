"""The ranking loss and its gradient, compiled: what the edges add to the pass over the other pairs,
and closeness.
"""

from __future__ import annotations

import math

import numpy as np

from ...pairs.numba.functions import exponentials
from ...pairs.numba.portable import allocating, exp, inner, log, log1p
from .offsets import (
    add_edge_offsets,
    add_offset,
    add_offsets,
    count_both_ways,
    scale_offsets,
    spring_of,
    stretch_edges,
    stretch_tile,
    take_off_edges,
    take_off_pairs,
    take_off_tile,
)
from .streaming import (
    combine,
    evaluate,
    half_chord,
    half_chords,
    push_row,
    scale_of,
    smallest,
    sum_of,
    weigh,
    without_exponentials,
)

_LOG_2 = math.log(2.0)


@inner
def pulls_of(room, n, radius, closeness, tau, rules):
    """The term of n nodes; its slopes in the sums of distances into row 2 of ``room`` [6, n], the
    rest of it scratch.

    Row 0 has the sums of distances, and row 1 how many they are of.
    """
    value, component, target = 0.0, closeness.component, closeness.target
    excess, met, pulls, sums, sizes, slopes = room[0], room[1], room[2], room[3], room[4], room[5]
    for j in range(n):
        sums[j] = sizes[j] = slopes[j] = 0.0
    for j in range(n):
        if met[j] > 0.0:
            excess[j] = excess[j] / met[j] - radius * target[j]
            sums[component[j]] += excess[j]
            sizes[component[j]] += 1.0
    for j in range(n):
        sums[j] = sums[j] / sizes[j] if sizes[j] > 0.0 else 0.0
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
            pulls[j] = (pulls[j] - mean) * rules.centrality / (tau * met[j])
    return rules.centrality * value


@inner
def small_closeness(values, n, radius, closeness, tau, rules, room):
    """The term where all n nodes are landmarks, from the distances of all pairs; ``room`` is as in
    `pulls_of`.
    """
    excess, met, component = room[0], room[1], closeness.component
    for k in range(n):
        excess[k] = met[k] = 0.0
    row = 0
    for i in range(n - 1):
        for j in range(i + 1, n):
            if component[i] == component[j]:
                excess[i] += values[row + j - i - 1]
                excess[j] += values[row + j - i - 1]
                met[i] += 1.0
                met[j] += 1.0
        row += n - i - 1
    return pulls_of(room, n, radius, closeness, tau, rules)


@inner
def add_small_closeness(offsets, points, slopes, closeness, pulls, tau, weights, gradient):
    """Add the slopes of that term: to the weights of all pairs, which are in units of 1/τ, and to
    the offsets'.
    """
    n, row, component = points.shape[1], 0, closeness.component
    for i in range(n - 1):
        for j in range(i + 1, n):
            if component[i] == component[j]:
                both = pulls[i] + pulls[j]
                weights[row + j - i - 1] += tau * both * slopes[row + j - i - 1]
                add_offset(offsets, gradient, i, -both)
                add_offset(offsets, gradient, j, -both)
        row += n - i - 1


@allocating
def closeness_term(run, space, now, prepared, closeness, rules, work, iteration):
    """The term of a larger graph; its gradient is added to the run's. Iteration -1 is an
    evaluation.
    """
    if rules.centrality == 0.0:
        return 0.0
    points, gradient, offsets, n = run.points, run.gradient, run.offsets, run.points.shape[1]
    size, component = len(closeness.landmarks), closeness.component
    first, count = 0, min(size, closeness.many)
    if iteration >= 0:
        first, count = iteration * closeness.few % size, min(size, closeness.few)
    prepared = without_exponentials(space, prepared)
    w, values, slopes = np.empty(n), np.empty(n), np.empty((count, n))
    room = np.zeros((6, n))
    excess, met, pulls = room[0], room[1], room[2]
    for k in range(count):
        at = (first + k) % size
        i, slope = closeness.landmarks[at], slopes[k]
        half_chords(points, work.factors, space.time, i, 0, n, w, 0)
        evaluate(w, n, space, now, prepared, work.table, 0, values, slope)
        take_off_tile(offsets, values, i, 1, 0, n)
        for j in range(n):
            if j != i and component[j] == component[i]:
                excess[j] += values[j]
                met[j] += 1.0
            else:
                slope[j] = 0.0
    value = pulls_of(room, n, space.radius, closeness, now.tau, rules)
    added = np.zeros((len(points), n))
    for k in range(count):
        at = (first + k) % size
        i, slope, sum_of_pulls = closeness.landmarks[at], slopes[k], 0.0
        for j in range(n):
            slope[j] *= pulls[j]
            if j != i and component[j] == component[i]:
                add_offset(offsets, gradient, j, -pulls[j])
                sum_of_pulls += pulls[j]
        add_offset(offsets, gradient, i, -sum_of_pulls)
        push_row(points, i, 0, n, slope, 0, added)
    for k in range(len(points)):
        factor = 2.0 * scale_of(space) * (-1.0 if k < space.time else 1.0)
        for j in range(n):
            gradient[k, j] += factor * added[k, j]
    return value


# Farther than any pair, and a number: the compiler is told that there is no infinity.
_BEYOND = 1e300


@inner
def loss_and_gradient(run, space, now, prepared, edges, work):
    """The loss of a finished pass, the longest edge and the nearest other pair (NaN unless asked
    for); the gradient.
    """
    points, factors, gradient, scratch, ends = (
        run.points,
        work.factors,
        run.gradient,
        run.scratch,
        edges.ends,
    )
    time, tau, scale, m, longest = space.time, now.tau, scale_of(space), len(edges.ends), -np.inf
    least, total = combine(tau, work, gradient)
    total *= now.parts
    values, slopes, pulls, w = scratch[0], scratch[1], scratch[2], scratch[3]
    for e in range(m):
        w[e] = half_chord(points, factors, time, ends[e, 0], ends[e, 1])
    evaluate(w, m, space, now, without_exponentials(space, prepared), work.table, 0, values, slopes)
    take_off_edges(run.offsets, ends, values)
    stretch_edges(edges.heights, spring_of(edges.heights, run.record), ends, values)
    for e in range(edges.silent, m):
        longest = max(longest, values[e])
    loss, rest = rank(
        values, edges.weaker, edges.silent, tau, least, total, w, pulls, scratch[4], scratch[5]
    )
    scale_offsets(run.offsets, gradient, rest * now.parts / tau)
    add_edge_offsets(run.offsets, gradient, ends, pulls, -1.0 / tau)
    for e in range(len(ends)):
        pulls[e] *= slopes[e]
    for k in range(len(points)):
        factor = 2.0 * scale / tau * (-1.0 if k < time else 1.0)
        for j in range(points.shape[1]):
            gradient[k, j] *= -rest * factor * now.parts
        for e in range(len(ends)):
            i, j = ends[e]
            part = factor * pulls[e] * (points[k, i] - points[k, j])
            gradient[k, i] += part
            gradient[k, j] -= part
    return loss, longest, (np.nan if prepared.hot or prepared.slack > 0.0 else least)


@inner
def small_loss_and_gradient(run, space, now, prepared, edges, work, rules):
    """The same for a graph so small that all its pairs are kept, row after row: (0, 1), (0, 2), …,
    (1, 2), ….
    """
    points, gradient, scratch, positions, weaker = (
        run.points,
        run.gradient,
        run.scratch,
        edges.positions,
        edges.weaker,
    )
    time, tau, factors = space.time, now.tau, work.factors
    m, n = len(weaker), points.shape[1]
    count = n * (n - 1) // 2
    w, values, slopes, weights = scratch[0], scratch[1], scratch[2], scratch[3]
    row = 0
    for i in range(n - 1):
        if time == 1:
            for j in range(i + 1, n):
                w[row + j - i - 1] = half_chord(points, factors, time, i, j)
        else:
            half_chords(points, factors, time, i, i + 1, n - i - 1, w, row)
        row += n - i - 1
    evaluate(w, count, space, now, prepared, work.table, 0, values, slopes)
    take_off_pairs(run.offsets, values)
    held, node_pulls = 0.0, work.nodes[2]
    if rules.centrality > 0.0:
        held = small_closeness(values, n, space.radius, edges.closeness, tau, rules, work.nodes)
    edge_values, pulls, longest = scratch[4], scratch[5], -np.inf
    for e in range(m):
        edge_values[e] = values[positions[e]]
    heights, spring, some = (
        edges.heights,
        spring_of(edges.heights, run.record),
        count > len(edges.neighbors),
    )
    stretch_edges(heights, spring, edges.ends, edge_values)
    _stretch_pairs(heights, spring, n, values)
    for e in range(m):
        if e >= edges.silent:
            longest = max(longest, edge_values[e])
        values[positions[e]] = _BEYOND
    least, total = smallest(values, count), 0.0
    if some:
        exponentials(values, count, least, 1.0 / tau, weights)
        for e in range(m):
            weights[positions[e]] = 0.0
        _count_pairs_both_ways(heights, spring, tau, n, weights)
        total = sum_of(weights, count)
    else:
        weights[:count] = 0.0
    loss, rest = rank(edge_values, weaker, edges.silent, tau, least, total, w, pulls, values, w[m:])
    gradient[:] = 0.0
    add_offsets(run.offsets, gradient, weights, rest / tau)
    add_edge_offsets(run.offsets, gradient, edges.ends, pulls, -1.0 / tau)
    weigh(slopes, weights, count, -rest)
    for e in range(m):  # of a directed graph two may stand at one position
        weights[positions[e]] += pulls[e] * slopes[positions[e]]
    if rules.centrality > 0.0:
        add_small_closeness(
            run.offsets, points, slopes, edges.closeness, node_pulls, tau, weights, gradient
        )
    row = 0
    for i in range(n - 1):
        push_row(points, i, i + 1, n - i - 1, weights, row, gradient)
        row += n - i - 1
    scale = scale_of(space)
    for k in range(len(points)):
        factor = 2.0 * scale / tau * (-1.0 if k < time else 1.0)
        for j in range(n):
            gradient[k, j] *= factor
    return loss + held, longest, (least if some else np.inf)


@inner
def _stretch_pairs(heights, spring, n, values):
    """Add what springs add to all pairs of a small graph, row after row."""
    if heights is not None:
        row = 0
        for i in range(n - 1):
            stretch_tile(heights, spring, values[row:], i, 1, i + 1, n - i - 1)
            row += n - i - 1


@inner
def _count_pairs_both_ways(heights, spring, tau, n, weights):
    """Let the exponentials of all pairs of a small graph stand for both directions."""
    if heights is not None:
        row = 0
        for i in range(n - 1):
            count_both_ways(heights, spring, tau, weights[row:], i, 1, i + 1, n - i - 1)
            row += n - i - 1


@inner
def rank(values, weaker, silent, tau, least, total, own, pulls, inverse, references):
    """The loss; what it changes by with each edge's score -d/τ, negated, into pulls [m]; and for
    every non-edge.

    Denominators Z are a running sum of exponentials over the capacity classes, from the non-edges
    up: ``below``, in units of e^reference, the nearest pair that has entered. An edge adds its own
    term alone. Going down again, ``above`` is Σ 1/Z over the stronger classes, in units of
    e^-reference: what is returned for the non-edges, in units of the nearest of them. The first
    edges are ``silent``: they have no term. The arrays [m] own, inverse and references are scratch.
    """
    m = len(weaker)
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
                own[stop], inverse[stop], pulls[stop], references[stop] = (
                    exp(min(excess, 700.0)),
                    0.0,
                    0.0,
                    reference,
                )
                stop += 1
                continue
            if excess > 0.0:
                shrunk = exp(-excess)
                rest = below * shrunk
                own[stop] = 1.0 / shrunk
                if rest < 1e-3:
                    loss += log1p(rest)
                else:
                    product *= 1.0 + rest
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
