"""Iterations compiled for the CPU: loss, direction, exponential map, bookkeeping.

Points are [d, n] here, coordinate after coordinate, which is what the pass over the pairs streams
through. Everything a run needs is an argument, so one compilation serves every dimension,
signature, dissimilarity and optimizer.
"""

from __future__ import annotations

import math

import numpy as np

from ...pairs.numba.portable import cosh_sinhc, inner, jit
from .. import base
from .arguments import Moment
from .loss import closeness_term, loss_and_gradient, small_loss_and_gradient
from .offsets import bound_offset_moves, shift_offset
from .streaming import copy, prepare, slab


@inner
def finish(run, space, rules, now, iteration, found):
    """What follows the loss, the longest edge and the nearest other pair (``found``): the record,
    and every move.
    """
    points, free, record, gradient = run.points, run.free, run.record, run.gradient
    time, radius, max_step = space.time, space.radius, now.max_step * run.record[base.REACH]
    loss, longest, least = found
    record[base.LONGEST], record[base.SHORTEST] = longest, least
    if iteration < rules.settled:
        record[base.BEST_ITERATION] = iteration
        _keep(run)
    elif iteration % rules.best_every == 0 and loss < record[base.BEST_LOSS]:
        record[base.BEST_LOSS], record[base.BEST_ITERATION] = loss, iteration
        _keep(run)
    if rules.stop_when_ordered and longest < least:
        record[base.BEST_LOSS], record[base.BEST_ITERATION], record[base.DONE_AT] = (
            loss,
            iteration,
            iteration,
        )
        _keep(run)
        return
    if loss < rules.drop_below:
        record[base.DROPPED] = 1.0
    step = now.step
    if record[base.DROPPED] > 0.0:
        step *= rules.drop_factor
    step *= record[base.STEP_SCALE]
    d = len(points)
    bound_offset_moves(run.offsets, gradient, step, max_step, radius)
    for i in range(points.shape[1]):
        # The gradient of a point becomes its next place; where that would be nowhere, the point
        # stays.
        if time == 0:
            _move_flat(points, gradient, i, step, max_step)
        elif rules.optimizer == base.PHI:
            _pull_back(free, gradient, i, time, radius)
            _move_flat(free, gradient, i, step, max_step)
            if _is_somewhere(gradient, d, i, time, radius):
                for k in range(d):
                    free[k, i] = gradient[k, i]
                _onto(gradient, d, i, time, radius)
        else:
            _move(points, gradient, i, time, radius, step, max_step, rules.optimizer)
        if _is_somewhere(gradient, d, i, time, radius):
            for k in range(d):
                points[k, i] = gradient[k, i]
    for i in range(
        len(run.offsets)
    ):  # in a loop of their own, which costs nothing where there are none
        if _is_somewhere(gradient, d, i, time, radius):
            shift_offset(run.offsets, gradient, i)
    copy(points, run.pair_points)


@inner
def _loss(positions, tiles, run, space, rules, now, prepared, edges, work, iteration):
    """The loss, the longest edge and the nearest other pair.

    A small graph has the ``positions`` of its edges and no ``tiles``, a large one tiles and no
    positions: of what is None nothing is compiled.
    """
    found = (0.0, 0.0, 0.0)
    if positions is not None:
        found = small_loss_and_gradient(run, space, now, prepared, edges, work, rules)
    if tiles is not None:
        for s in range(len(work.sums)):
            slab(run.offsets, edges.heights, run, space, now, prepared, edges, work, s)
        found = loss_and_gradient(run, space, now, prepared, edges, work)
        held = closeness_term(run, space, now, prepared, edges.closeness, rules, work, iteration)
        found = (found[0] + held, found[1], found[2])
    return found


@jit
def advance(run, space, rules, schedule, first, losses, edges, work, moves):
    """``len(losses)`` iterations from ``first`` on, where ``schedule`` [4, …] begins; NaN once the
    run is done.

    Without ``moves`` the objective is evaluated and nothing moves.
    """
    for index in range(len(losses)):
        if moves and run.record[base.DONE_AT] >= 0.0:
            losses[index] = np.nan
            continue
        tau, epsilon, step, max_step = (
            schedule[0, index],
            schedule[1, index],
            schedule[2, index],
            schedule[3, index],
        )
        now = Moment(tau, epsilon, step, max_step, rules.parts, (first + index) % rules.parts)
        prepared = prepare(run, space, now, rules.stop_when_ordered, edges, work)
        found = _loss(
            edges.positions,
            work.tiles,
            run,
            space,
            rules,
            now,
            prepared,
            edges,
            work,
            first + index,
        )
        losses[index] = found[0]
        if moves:
            finish(run, space, rules, now, first + index, found)
        else:
            run.record[base.LONGEST], run.record[base.SHORTEST] = found[1], found[2]


@inner
def _keep(run):
    """Take the points for the best."""
    copy(run.points, run.best)
    for i in range(len(run.offsets)):
        run.best_offsets[i] = run.offsets[i]


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
def _move(points, g, i, time, radius, step, max_step, optimizer):
    """Point i along -χ or ∓Df by the exponential map, into g [d, n], which held the Euclidean
    gradient.
    """
    d = len(points)
    curvature = 1.0 / (radius * radius)
    for _ in range(2 if optimizer == base.DESCENT else 1):
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
    # The slope of f along -Df is -⟨Df, Df⟩: where that is negative Df itself descends, and where it
    # is 0 neither does.
    turn = (
        1.0 if optimizer != base.SIGNED_GRADIENT or square > 0.0 else -1.0 if square < 0.0 else 0.0
    )
    cosh, sinhc = cosh_sinhc(square * curvature)
    for k in range(d):
        g[k, i] = cosh * points[k, i] + turn * sinhc * g[k, i]
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


@inner
def _move_flat(points, g, i, step, max_step):
    factor = _step(g, len(points), i, step, max_step)
    for k in range(len(points)):
        g[k, i] = points[k, i] + factor * g[k, i]


@inner
def _pull_back(z, g, i, time, radius):
    """The gradient in z of f(φ(z)) from the gradient g of f at φ(z), in place."""
    time_square, space_square, along = 0.0, 0.0, 0.0
    for k in range(len(z)):
        if k < time:
            time_square += z[k, i] * z[k, i]
            along += g[k, i] * z[k, i]
        else:
            space_square += z[k, i] * z[k, i]
    length, stretch = math.sqrt(time_square), math.sqrt(radius * radius + space_square)
    along /= length
    for k in range(len(z)):
        if k < time:
            g[k, i] = stretch / length * (g[k, i] - along * z[k, i] / length)
        else:
            g[k, i] += along * z[k, i] / stretch
