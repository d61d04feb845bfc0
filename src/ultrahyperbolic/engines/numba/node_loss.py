"""The ranking loss of edges that are compared with the pairs of their two ends, and its gradient, compiled."""

from __future__ import annotations

import math

import numpy as np

from ...pairs.numba.functions import dissimilarity, exponentials, smooth
from ...pairs.numba.portable import jit, vectorized
from ..base import DONE_AT
from .arguments import Moment
from .iterate import finish
from .loss import edge_terms
from .offsets import (
    add_edge_offsets,
    add_offset_pair,
    add_offsets_by_node,
    largest_offset,
    nearest_with_offsets,
    scale_offsets,
    take_off_pairs,
)
from .rows import begin, gather, is_cold, longest_edges, sweep
from .streaming import evaluate, half_chord, half_chords, kind_of_table, prepare, push_row, scale_of

# Farther than any pair, and a number: the compiler is told that there is no infinity.
_BEYOND = 1e300
# exp(-d/τ) is a number of full precision while the nearest pairs of all nodes differ by no more than this times τ.
_MOST = 600.0
# What pairs that do not count add to a loss is less than this for each edge and node, or else they are counted.
_LEFT_OUT = 1e-10


@jit
def _log_add(a, b):
    """log(exp a + exp b); -∞ where both are."""
    most, least = max(a, b), min(a, b)
    return most if least == -np.inf else most + math.log1p(math.exp(least - most))


@jit
def _log_sum(start, scores, sign, numbers, first, last):
    """The log-sum-exp of a number and of sign·scores of some edges."""
    most = start
    for k in range(first, last):
        most = max(most, sign * scores[numbers[k]])
    if most == -np.inf:
        return most
    total = math.exp(start - most)
    for k in range(first, last):
        total += math.exp(sign * scores[numbers[k]] - most)
    return most + math.log(total)


@jit
def rank_by_node(values, tau, nodes, incidence, room, pulls, log_z, scores):
    """The loss; what it changes by with each edge's score -d/τ, negated, into pulls [m]; coefficients into nodes[2].

    ``nodes`` hold what the sum over the other pairs of each node is relative to, and the sum. All is done with
    logarithms: up the classes of each node for what is weaker, over the edges, and down for Σ 1/Z of what is stronger.
    The coefficient of a node is Σ 1/Z over its edges, in units of what its sum is relative to.
    """
    offsets, numbers, starts, stops, places = incidence
    weaker, stronger = room[0], room[1]
    m, n, loss = len(values), nodes.shape[1], 0.0
    for e in range(m):
        scores[e] = -values[e] / tau
    for i in range(n):
        k, last = offsets[i], offsets[i + 1]
        below = math.log(nodes[1, i]) - nodes[0, i] / tau if nodes[1, i] > 0.0 else -np.inf
        while k < last:
            stop = stops[k]
            for at in range(k, stop):
                weaker[at] = below
            if stop < last:
                below = _log_sum(below, scores, 1.0, numbers, k, stop)
            k = stop
    for e in range(m):
        less = _log_add(weaker[places[e, 0]], weaker[places[e, 1]])
        log_z[e], pulls[e] = scores[e], 0.0
        if less > -np.inf:
            excess = less - scores[e]
            rest = math.exp(-abs(excess))
            term = max(excess, 0.0) + math.log1p(rest)
            loss += term
            log_z[e] += term
            pulls[e] = (1.0 if excess >= 0.0 else rest) / (1.0 + rest)
    for i in range(n):
        k, first, above = offsets[i + 1], offsets[i], -np.inf
        while k > first:
            start = starts[k - 1]
            for at in range(start, k):
                stronger[at] = above
            above = _log_sum(above, log_z, -1.0, numbers, start, k)
            k = start
        # A node without another pair that counts has no use for one, and it may be too large for a number.
        some = above > -np.inf and nodes[1, i] > 0.0
        nodes[2, i] = math.exp(above - nodes[0, i] / tau) if some else 0.0
    for e in range(m):
        for end in range(2):
            more = stronger[places[e, end]]
            if more > -np.inf:
                pulls[e] -= math.exp(scores[e] + more)
    return loss


@jit
def edges_by_node(run, space, now, prepared, edges, work):
    """Dissimilarities of the edges and their slopes, and the longest of each node; the longest of all."""
    scratch, rows = run.scratch, work.rows
    longest = edge_terms(run, space, now, prepared, edges.ends, work, scratch[3], scratch[0], scratch[1])
    longest_edges(edges.ends, scratch[0], rows.nodes[3])
    largest = largest_offset(run.offsets)
    # No pair is less than its offsets.
    rows.shift[0], rows.shift[1] = largest, -2.0 * largest
    return longest


@jit
def rank_slabs(run, now, edges, work):
    """The loss from a finished first sweep, the coefficients of the second, and the pulls of the edges."""
    scratch, rows = run.scratch, work.rows
    gather(now.tau, now.parts, rows)
    return rank_by_node(
        scratch[0], now.tau, rows.nodes, edges.incidence, rows.edges, scratch[2], scratch[3], scratch[4]
    )


@jit
def leaves_out(loss, edges, n):
    """Whether pairs that do not count could be told from nothing in so small a loss."""
    return loss < _LEFT_OUT * n * len(edges.ends)


@jit
def gradient_of_slabs(run, space, now, edges, work):
    """The gradient from a finished second sweep and the edges."""
    points, gradient, scratch, ends = run.points, run.gradient, run.scratch, edges.ends
    slabs, gradients, slopes, pulls = work.slabs, work.gradients, scratch[1], scratch[2]
    scale = scale_of(space)
    for k in range(len(gradient)):
        for j in range(gradient.shape[1]):
            gradient[k, j] = 0.0
        for s in range(len(gradients)):
            for j in range(slabs[s], gradient.shape[1]):
                gradient[k, j] += gradients[s, k, j]
    scale_offsets(run.offsets, gradient, now.parts / now.tau)
    add_edge_offsets(run.offsets, gradient, ends, pulls, -1.0 / now.tau)
    for e in range(len(ends)):
        pulls[e] *= slopes[e]
    for k in range(len(points)):
        factor = 2.0 * scale / now.tau * (-1.0 if k < space.time else 1.0)
        for j in range(gradient.shape[1]):
            gradient[k, j] *= -factor * now.parts
        for e in range(len(ends)):
            i, j = ends[e]
            part = factor * pulls[e] * (points[k, i] - points[k, j])
            gradient[k, i] += part
            gradient[k, j] -= part


@jit
def nearest_of_slabs(run, space, now, prepared, edges, work):
    """The dissimilarity of the nearest pair without an edge; NaN where the sweep did not look for it."""
    if prepared.slack > 0.0:
        return np.nan
    least = nearest_with_offsets(run.offsets, run.points, work.factors, space, now, edges)
    for s in range(len(work.sums)):
        for side in range(2):
            w = work.rows.nearest[s, side]
            if abs(w) < 0.5 * _BEYOND:
                least = min(least, dissimilarity(w, space.kind, space.radius, now.epsilon)[0])
    return least


@jit
def node_loss_and_gradient(run, space, now, prepared, edges, work):
    """The loss, the longest edge and the nearest other pair, on one thread; the gradient is written to the run's."""
    longest = edges_by_node(run, space, now, prepared, edges, work)
    cold = is_cold(work, now.tau)
    loss, everything = 0.0, False
    while True:
        begin(run.offsets, space, now, work, cold, everything)
        for s in range(len(work.sums)):
            sweep(run, space, now, prepared, edges, work, cold, False, s)
        loss = rank_slabs(run, now, edges, work)
        if everything or not leaves_out(loss, edges, run.points.shape[1]):
            break
        cold = everything = True
    for s in range(len(work.sums)):
        sweep(run, space, now, prepared, edges, work, cold, True, s)
    gradient_of_slabs(run, space, now, edges, work)
    return loss, longest, nearest_of_slabs(run, space, now, prepared, edges, work)


@vectorized
def _least_of(values, count, columns):
    """The least of values, which columns are lowered to."""
    least = values[0]
    for j in range(count):
        least = values[j] if values[j] < least else least
        columns[j] = values[j] if values[j] < columns[j] else columns[j]
    return least


@vectorized
def _add_row(weights, count, columns):
    """Σ weights; columns take theirs."""
    total = 0.0
    for j in range(count):
        total += weights[j]
        columns[j] += weights[j]
    return total


@vectorized
def _weigh_row(weights, slopes, count, row, columns):
    for j in range(count):
        weights[j] *= -(row + columns[j]) * slopes[j]


@jit
def _sum_kept(weights, values, tau, nodes, places, n):
    """The sums of nodes over all pairs of a small graph, which are at ``values``; the nearest pair.

    Whether the weights are relative to it, and not to vanish; else those of pairs are added one by one.
    """
    relative, sums = nodes[0], nodes[1]
    for i in range(n):
        relative[i], sums[i] = _BEYOND, 0.0
    row = 0
    for i in range(n - 1):
        count = n - i - 1
        relative[i] = min(relative[i], _least_of(values[row:], count, relative[i + 1 :]))
        row += count
    least, most = _BEYOND, -_BEYOND
    for i in range(n):
        if relative[i] < _BEYOND:
            least, most = min(least, relative[i]), max(most, relative[i])
        else:
            relative[i] = 0.0
    together = most - least < _MOST * tau
    if least == _BEYOND:
        return least, together
    row = 0
    if together:
        exponentials(values, len(values), least, 1.0 / tau, weights)
        for e in range(len(places)):
            weights[places[e]] = 0.0
    for i in range(n - 1):
        count = n - i - 1
        if together:
            sums[i] += _add_row(weights[row:], count, sums[i + 1 :])
        else:
            for j in range(count):
                value = values[row + j]
                if value < _BEYOND:
                    sums[i] += math.exp((relative[i] - value) / tau)
                    sums[i + 1 + j] += math.exp((relative[i + 1 + j] - value) / tau)
        row += count
    if together:
        for i in range(n):
            relative[i] = least
    return least, together


@jit
def small_node_loss_and_gradient(run, space, now, prepared, edges, work):
    """The same for a graph so small that all its pairs are kept, row after row: (0, 1), (0, 2), …, (1, 2), …."""
    points, gradient, scratch, places, rows = run.points, run.gradient, run.scratch, edges.places, work.rows
    time, kind, tau, factors, nodes = space.time, space.kind, now.tau, work.factors, rows.nodes
    m, n = len(edges.weaker), points.shape[1]
    size = n * (n - 1) // 2
    w, values, slopes, weights = scratch[0][:size], scratch[1], scratch[2], scratch[3][:size]
    row = 0
    for i in range(n - 1):
        if time == 1:
            for j in range(i + 1, n):
                w[row + j - i - 1] = half_chord(points, factors, time, i, j)
        else:
            half_chords(points, factors, time, i, i + 1, n - i - 1, w, row)
        row += n - i - 1
    tabled = kind_of_table(kind, n)
    evaluate(w, size, tabled, space.radius, now, prepared, work.table, 0, values, slopes)
    if tabled != kind:
        smooth(values, slopes, size, now.epsilon, time == 0)
    take_off_pairs(run.offsets, values)
    edge_values, pulls, longest = scratch[4], scratch[5], -np.inf
    # w is done with: its place is that of the dissimilarities of pairs without an edge.
    for pair in range(size):
        w[pair] = values[pair]
    for e in range(m):
        edge_values[e] = values[places[e]]
        longest = max(longest, edge_values[e])
        w[places[e]] = _BEYOND
    least, together = _sum_kept(weights, w, tau, nodes, places, n)
    loss = rank_by_node(edge_values[:m], tau, nodes, edges.incidence, rows.edges, pulls, values, rows.edges[2])
    for k in range(len(gradient)):
        for j in range(n):
            gradient[k, j] = 0.0
    add_edge_offsets(run.offsets, gradient, edges.ends, pulls, -1.0 / tau)
    row = 0
    for i in range(n - 1):
        count = n - i - 1
        if together:
            add_offsets_by_node(run.offsets, gradient, weights, row, i, nodes[2], 1.0 / tau)
            _weigh_row(weights[row:], slopes[row:], count, nodes[2, i], nodes[2, i + 1 :])
        else:
            for j in range(count):
                weight = 0.0
                for node in (i, i + 1 + j):
                    if nodes[2, node] > 0.0 and w[row + j] < _BEYOND:
                        weight += nodes[2, node] * math.exp((nodes[0, node] - w[row + j]) / tau)
                add_offset_pair(run.offsets, gradient, i, i + 1 + j, weight / tau)
                weights[row + j] = -weight * slopes[row + j]
        row += count
    for e in range(m):
        weights[places[e]] = pulls[e] * slopes[places[e]]
    row = 0
    for i in range(n - 1):
        push_row(points, i, n - i - 1, weights, row, gradient)
        row += n - i - 1
    scale = scale_of(space)
    for k in range(len(points)):
        factor = 2.0 * scale / tau * (-1.0 if k < time else 1.0)
        for j in range(n):
            gradient[k, j] *= factor
    return loss, longest, (least if size > m else np.inf)


@jit
def advance_by_node(run, space, rules, schedule, first, losses, edges, work):
    """``len(losses)`` iterations of one run on one thread, as ``iterate.advance`` for the graph-wide loss."""
    for index in range(len(losses)):
        if run.record[DONE_AT] >= 0.0:
            losses[index] = np.nan
            continue
        tau, epsilon, step, max_step = schedule[:, index]
        now = Moment(tau, epsilon, step, max_step, rules.parts, (first + index) % rules.parts)
        prepared = prepare(run, space, now, rules.stop_when_ordered, edges, work)
        if len(edges.places) > 0:
            found = small_node_loss_and_gradient(run, space, now, prepared, edges, work)
        else:
            found = node_loss_and_gradient(run, space, now, prepared, edges, work)
        losses[index] = found[0]
        finish(run, space, rules, now, first + index, found)
