"""Iterations compiled for the CPU: loss, direction, exponential map, bookkeeping.

Points are [d, n] here, coordinate after coordinate, which is what the pass over the pairs streams
through. Everything a run needs is an argument, so one compilation serves every dimension,
signature and dissimilarity.
"""

from __future__ import annotations

import math

from ...pairs.numba.portable import cosh_sinhc, inner, jit
from .. import base
from .arguments import Moment
from .biases import bound_bias_moves, move_bias
from .loss import closeness_term, loss_and_gradient
from .streaming import copy, prepare, slab


@inner
def finish(run, space, rules, now, iteration, evaluated):
    """What follows the loss, the longest edge and the nearest other pair (``evaluated``): the
    record, and every move.
    """
    points, record, gradient, biases = run.points, run.record, run.gradient, run.biases
    time, radius, max_step = space.time, space.radius, now.max_step * run.record[base.REACH]
    loss, longest, least = evaluated
    record[base.LONGEST], record[base.SHORTEST] = longest, least
    ordered = rules.stop_when_ordered and longest < least
    settled = iteration >= rules.settled
    better = settled and iteration % rules.best_every == 0 and loss < record[base.BEST_LOSS]
    if better or ordered:
        record[base.BEST_LOSS] = loss
    if better or ordered or not settled:
        record[base.BEST_ITERATION] = iteration
        copy(points, run.best)
        for i in range(len(biases)):
            run.best_biases[i] = biases[i]
    if ordered:
        record[base.DONE_AT] = iteration
        return
    if loss < rules.drop_below:
        record[base.DROPPED] = 1.0
    step = now.step
    if record[base.DROPPED] > 0.0:
        step *= rules.drop_factor
    step *= record[base.STEP_SCALE]
    d = len(points)
    bound_bias_moves(biases, gradient, step, max_step, radius)
    for i in range(points.shape[1]):
        # The gradient of a point becomes its next place; where that would be nowhere, the point
        # stays.
        if time == 0:
            factor = _step(gradient, d, i, step, max_step)
            for k in range(d):
                gradient[k, i] = points[k, i] + factor * gradient[k, i]
        else:
            _move(points, gradient, i, time, radius, step, max_step, rules.projections)
        if _is_somewhere(gradient, d, i, time, radius):
            for k in range(d):
                points[k, i] = gradient[k, i]
            if len(biases) > 0:
                move_bias(biases, gradient, i)


# What `perform` does: all of some iterations, or one step of one, which an engine calls by itself
# where threads or processes share the slabs, and to evaluate without moving.
ADVANCE, PREPARE, SLAB, OBJECTIVE, FINISH = range(5)


@inner
def _objective(run, space, rules, now, prepared, edges, work, iteration):
    """The objective of a finished pass, the longest edge and the nearest other pair. Iteration -1
    is an evaluation.
    """
    ranked, longest, least = loss_and_gradient(run, space, now, prepared, edges, work)
    weight = rules.centrality
    held = closeness_term(run, space, now, prepared, edges.closeness, weight, work, iteration)
    return ranked + held, longest, least


@jit
def perform(
    what, run, space, rules, edges, work, iteration, now, prepared, s, evaluated, schedule, losses
):
    """One step of an iteration, or ``len(losses)`` iterations from ``iteration`` on, where
    ``schedule`` [4, …] begins; losses are NaN once the run is done.

    One function, so that every loop is compiled once.
    """
    if what == PREPARE:
        prepared = prepare(run, space, now, rules.stop_when_ordered, work)
    elif what == SLAB:
        slab(run, space, now, prepared, edges, work, s)
    elif what == OBJECTIVE:
        evaluated = _objective(run, space, rules, now, prepared, edges, work, iteration)
    elif what == FINISH:
        finish(run, space, rules, now, iteration, evaluated)
    else:
        for index in range(len(losses)):
            if run.record[base.DONE_AT] >= 0.0:
                losses[index] = math.nan
                continue
            number = iteration + index
            moment = Moment(
                schedule[0, index],
                schedule[1, index],
                schedule[2, index],
                schedule[3, index],
                rules.parts,
                number % rules.parts,
            )
            made = prepare(run, space, moment, rules.stop_when_ordered, work)
            for number_of_slab in range(len(work.sums)):
                slab(run, space, moment, made, edges, work, number_of_slab)
            reached = _objective(run, space, rules, moment, made, edges, work, number)
            losses[index] = reached[0]
            finish(run, space, rules, moment, number, reached)
    return prepared, evaluated


@inner
def _onto(points, d, i, time, radius):
    """φ in place: the time part of point i, of d coordinates, rescaled."""
    time_square, space_square = 0.0, 0.0
    for k in range(d):
        if k < time:
            time_square += points[k, i] * points[k, i]
        else:
            space_square += points[k, i] * points[k, i]
    stretch = math.sqrt((radius * radius + space_square) / time_square)
    for k in range(time):
        points[k, i] *= stretch


@inner
def _move(points, g, i, time, radius, step, max_step, projections):
    """Point i along -χ (two projections) or -Df (one) by the exponential map, into g [d, n], which
    held the Euclidean gradient.
    """
    d = len(points)
    curvature = 1.0 / (radius * radius)
    for _ in range(projections):
        # Π_x(G g) = G g + (g · x / |β|) x.
        along = 0.0
        for k in range(d):
            along += g[k, i] * points[k, i]
        along *= curvature
        for k in range(d):
            g[k, i] = (-g[k, i] if k < time else g[k, i]) + along * points[k, i]
    factor = _step(g, d, i, step, max_step)
    square = 0.0
    for k in range(d):
        g[k, i] *= factor
        square += (-g[k, i] if k < time else g[k, i]) * g[k, i]
    cosh, sinhc = cosh_sinhc(square * curvature)
    for k in range(d):
        g[k, i] = cosh * points[k, i] + sinhc * g[k, i]
    _onto(g, d, i, time, radius)


@inner
def _is_somewhere(points, d, i, time, radius):
    """Whether point i, of d coordinates, is finite, has a time part if it should, and is not too
    far for float64.
    """
    time_square, square = 0.0, 0.0
    for k in range(d):
        square += points[k, i] * points[k, i]
        if k < time:
            time_square += points[k, i] * points[k, i]
    return square < base.FARTHEST * radius * radius and (time == 0 or time_square > 0.0)


@inner
def _step(g, d, i, step, max_step):
    """The factor of the gradient of point i: -step, or what makes the move ``max_step`` long if
    that is less.
    """
    length = 0.0
    for k in range(d):
        length += g[k, i] * g[k, i]
    length = math.sqrt(length) * step
    return -step if length <= max_step else -step * max_step / length
