"""Callbacks that alter a batch: bad steps taken back, moves in units of the spread, and how stiff
springs are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..arrays import Floats, Ints
from ..loop import Every, Progress
from ..objective import RankedPairs
from ..pairs import PassOptions, lengths_of
from ..rounding import asinh
from ..spaces import Space
from .base import OF_NODES, BatchState, RunSpec

# Iterations from one look at the spread or the springs to the next, and at the runs, wherever
# chunks end: results may not depend on the clock.
_LOOK_EVERY, _GUARD_EVERY = 50, 100
# The spread of many nodes is that of at least this many of them.
_SPREAD_NODES = 100_000
# Where κ of a directed graph starts, in units of the first temperature, and what it is multiplied
# or divided by.
START, _HALF_OCTAVE = 0.25, math.sqrt(2.0)
# Pairs without a tie, and at most as many edges, that the loss is estimated from.
_PAIRS, _TIES = 100_000, 1_000_000
# A loss so much above the best has been thrown off: it goes back there, with half the step.
_THROWN_OFF = 1.5


def spread_of(points: Floats, time: int) -> float:
    """The root mean square distance of points [n, d] from their mean, times as directions of length
    1: in S^q × R^p.

    In hyperbolic space the space part is as long as the geodesic from the pole. It would grow
    exponentially otherwise, and a share of that throw the points at the centre to the rim. Where
    there is a light cone, points stay near.
    """
    chart = points.copy()
    if time:
        chart[:, :time] /= np.linalg.norm(points[:, :time], axis=1, keepdims=True)
    if time == 1:
        length = np.linalg.norm(points[:, time:], axis=1, keepdims=True)
        chart[:, time:] *= np.divide(
            asinh(length), length, out=np.ones_like(length), where=length > 0.0
        )
    return float(np.sqrt(np.square(chart - chart.mean(0)).sum(1).mean()))


def follow_spread(
    specs: Sequence[RunSpec], relative: Sequence[bool], state: BatchState
) -> Every[BatchState]:
    """A callback that sets the reach of runs whose moves are relative; at the start it is set now.

    A fixed bound on moves is as large as the whole cloud of points when they leave the pole, and
    throws it into disorder before ties have arranged it. Bounded by a share of the spread, the
    cloud unfolds and keeps its order. Bounded moves wander as far as the root of their number:
    where iterations are left out each is longer, up to all of the spread.
    """

    def look(state: BatchState, stride: float = 1.0) -> None:
        every = max(1, state.points.shape[1] // _SPREAD_NODES)
        for run, spec in enumerate(specs):
            if relative[run]:
                spread = _spread_on(
                    spec.space, state.points[run, ::every, : spec.space.ambient_dim]
                )
                if spread is not None and np.isfinite(spread):
                    longer = min(math.sqrt(stride), 1.0 / float(spec.schedule.max_step[0]))
                    state.record["reach"][run] = spread * max(1.0, longer)

    if state.iteration == 0:
        look(state)
    return Every(_LOOK_EVERY, lambda progress: look(progress.state, progress.stride))


def _spread_on(space: Space, points: Floats) -> float | None:
    """The spread on a manifold; None where it is not known."""
    quadric = space.quadric
    return (
        None
        if quadric is None
        else quadric.radius * spread_of(points / quadric.radius, quadric.time)
    )


def guard(specs: Sequence[RunSpec], start: BatchState, *, compare: bool) -> Every[BatchState]:
    """A callback that takes runs back to the best points they have seen, and halves their steps.

    A run that is not finite goes back, to its start if need be; with ``compare`` so does one far
    above its best loss. Put the callback before those that write or show where the batch stands.
    """
    settled, points = np.array([spec.settled for spec in specs]), start.points.copy()

    def look(progress: Progress[BatchState]) -> None:
        state, loss = progress.state, progress.chunks[-1][:, -1]
        sound = np.isfinite(loss)
        for name in OF_NODES:
            sound &= [np.isfinite(run).all() for run in getattr(state, name)]
        best = state.record["best_loss"]
        comparable = compare & (state.iteration > settled) & np.isfinite(best)
        for run in np.flatnonzero(
            ~state.resting & ~(sound & ~(comparable & (loss > _THROWN_OFF * best)))
        ):
            if not (
                np.isfinite(state.best[run]).all() and np.isfinite(state.best_offsets[run]).all()
            ):
                state.best[run], state.best_offsets[run] = points[run], 0.0
                state.record["best_loss"][run], state.record["best_iteration"][run] = np.inf, -1.0
            state.points[run] = state.free[run] = state.best[run]
            state.offsets[run] = state.best_offsets[run]
            state.record["step_scale"][run] *= 0.5
            state.steps_back[run] += 1
            state.nonfinite[run] += not sound[run]

    return Every(_GUARD_EVERY, look)


def follow_springs(
    pairs: RankedPairs, specs: Sequence[RunSpec], descents: int
) -> Every[BatchState]:
    """A callback that sets κ of every run, until the descent ends.

    Points and popularities descend with κ fixed. It becomes that of three values, half an octave
    apart, at which the loss is least: so the last digits of a processor do not change it.
    """
    drawn = _drawn(pairs)

    def look(progress: Progress[BatchState]) -> None:
        state = progress.state
        if state.iteration >= descents:
            return
        for run, spec in enumerate(specs):
            if not state.resting[run]:
                here = state.record["spring"][run]
                tried = [here, here / _HALF_OCTAVE, here * _HALF_OCTAVE]
                losses = _losses(pairs, drawn, spec, state, run, tried)
                if np.isfinite(losses).all():
                    state.record["spring"][run] = tried[int(np.argmin(losses))]

    return Every(_LOOK_EVERY, look)


def _drawn(pairs: RankedPairs) -> Ints:
    """[k, 2] pairs without a tie: all of them, or of many a sample."""
    n = pairs.n_nodes
    if pairs.n_nonedges <= _PAIRS:
        return pairs.nonedges
    some = np.random.default_rng(0).integers(0, n, (_PAIRS, 2))
    some = np.sort(some[some[:, 0] != some[:, 1]], axis=1)
    keys = np.array([n, 1])
    return some[~np.isin(some @ keys, pairs.joined @ keys)]


def _losses(
    pairs: RankedPairs,
    drawn: Ints,
    spec: RunSpec,
    state: BatchState,
    run: int,
    springs: Sequence[float],
) -> list[float]:
    """The ranking loss, estimated from some pairs, for each κ."""
    heights = pairs.heights
    assert heights is not None
    iteration = min(state.iteration, len(spec.schedule) - 1)
    tau, points = (
        float(spec.schedule.temperature[iteration]),
        state.points[run, :, : spec.space.ambient_dim],
    )
    options = PassOptions(dissimilarity=spec.dissimilarity, popularity=state.offsets[run])
    if spec.dissimilarity == "smoothed":
        options["epsilon"] = float(spec.schedule.epsilon[iteration])

    def lengths(ends: Ints) -> tuple[Floats, Floats]:
        """Without springs, and the difference of heights."""
        return lengths_of(points, spec.space, ends, **options), heights[ends[:, 0]] - heights[
            ends[:, 1]
        ]

    def stretched(steps: Floats, spring: float) -> Floats:
        return np.asarray(spring * np.square(steps - 1.0))

    every = -(-pairs.n_edges // _TIES) or 1
    (ties, steps), (others, gaps) = lengths(pairs.edges[::every]), lengths(drawn)
    weaker, silent = -(-pairs.weaker[::every] // every), -(-pairs.silent // every)
    # Of many edges, and of the pairs without one, each stands for others: here for as many as an
    # edge does.
    scale = math.log(pairs.n_nonedges / max(len(drawn), 1) / every or 1.0)
    found = []
    for spring in springs:
        # A pair without a tie stands for both directions.
        other_way = tau * np.log1p(np.exp(-4.0 * spring / tau * np.abs(gaps)))
        rest = (others + stretched(np.abs(gaps), spring) - other_way) / -tau
        scores = (ties + stretched(steps, spring)) / -tau
        start = np.logaddexp.reduce(rest) + scale
        below = np.logaddexp.accumulate(np.append(start, scores))[weaker]
        found.append(float(np.logaddexp(0.0, below - scores + math.log(every))[silent:].sum()))
    return found
