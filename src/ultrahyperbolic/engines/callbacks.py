"""Callbacks that alter a batch: bad steps taken back, and moves in units of how far the points are spread.

A bound on moves that is fixed from the start is as large as the whole cloud of points when they leave the pole, and
throws it into disorder before ties have arranged it; what is left of the hierarchy then is chance. Bounded by a share
of the spread, the cloud unfolds and keeps its order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..geometry import Manifold, Product
from ..loop import Every, Progress
from ..rounding import asinh
from .base import BatchState, RunSpec

# Iterations from one look at the spread to the next, wherever chunks end: moves may not depend on the clock.
_LOOK_EVERY = 50
# Iterations from one look at the runs to the next, wherever chunks end: results may not depend on the clock.
_GUARD_EVERY = 100
# A loss so much above the best has been thrown off: it goes back there, with half the step.
_THROWN_OFF = 1.5


def spread_of(points: Floats, time: int) -> float:
    """The root mean square distance of points [n, d] from their mean, times as directions of length 1: in S^q × R^p.

    In hyperbolic space the space part is as long as the geodesic from the pole. It would grow exponentially otherwise,
    and a share of that throw the points at the centre to the rim. Where there is a light cone, points stay near.
    """
    chart = points.copy()
    if time:
        chart[:, :time] /= np.linalg.norm(points[:, :time], axis=1, keepdims=True)
    if time == 1:
        length = np.linalg.norm(points[:, time:], axis=1, keepdims=True)
        chart[:, time:] *= np.divide(asinh(length), length, out=np.ones_like(length), where=length > 0.0)
    return float(np.sqrt(np.square(chart - chart.mean(0)).sum(1).mean()))


def follow_spread(specs: Sequence[RunSpec], relative: Sequence[bool], state: BatchState) -> Every[BatchState]:
    """A callback that sets the reach of runs whose moves are relative; at the start it is set now."""

    def look(state: BatchState) -> None:
        for run, spec in enumerate(specs):
            if relative[run]:
                spread = _spread_on(spec.manifold, state.points[run, :, : spec.manifold.ambient_dim])
                if spread is not None and np.isfinite(spread):
                    state.record["reach"][run] = spread

    if state.iteration == 0:
        look(state)
    return Every(_LOOK_EVERY, lambda progress: look(progress.state))


def _spread_on(manifold: Manifold, points: Floats) -> float | None:
    """The spread on a manifold, of a product that of its factors together; None where it is not known."""
    if isinstance(manifold, Product):
        pieces = np.split(points, np.cumsum(manifold.sizes)[:-1], axis=1)
        parts = zip(manifold.factors, pieces, strict=True)
        found = [_spread_on(factor, own) for factor, own in parts if isinstance(factor, Manifold)]
        return float(np.sqrt(sum(spread**2 for spread in found if spread is not None)))
    quadric = manifold.quadric
    return None if quadric is None else quadric.radius * spread_of(points / quadric.radius, quadric.time)


def guard(specs: Sequence[RunSpec], start: BatchState, *, compare: bool) -> Every[BatchState]:
    """A callback that takes runs back to the best points they have seen, and halves their steps.

    A run that is not finite goes back, to its start if need be; with ``compare`` so does one far above its best loss.
    Put the callback before those that write or show where the batch stands.
    """
    settled, points = np.array([spec.settled for spec in specs]), start.points.copy()

    def look(progress: Progress[BatchState]) -> None:
        """Look at each run: whether all of it is finite, and how its loss compares once its schedule has settled."""
        state, loss = progress.state, progress.chunks[-1][:, -1]
        sound = np.isfinite(loss) & _finite(state.points) & _finite(state.free) & _finite(state.best)
        sound &= _finite(state.offsets) & _finite(state.best_offsets)
        best = state.record["best_loss"]
        comparable = compare & (state.iteration > settled) & np.isfinite(best)
        for run in np.flatnonzero(~state.resting & ~(sound & ~(comparable & (loss > _THROWN_OFF * best)))):
            if not (np.isfinite(state.best[run]).all() and np.isfinite(state.best_offsets[run]).all()):
                state.best[run], state.best_offsets[run] = points[run], 0.0
                state.record["best_loss"][run], state.record["best_iteration"][run] = np.inf, -1.0
            state.points[run] = state.free[run] = state.best[run]
            state.offsets[run] = state.best_offsets[run]
            state.record["step_scale"][run] *= 0.5
            state.steps_back[run] += 1
            state.nonfinite[run] += not sound[run]

    return Every(_GUARD_EVERY, look)


def _finite(points: Floats) -> NDArray[np.bool_]:
    """[B] whether all coordinates of a run are finite."""
    return np.array([np.isfinite(run).all() for run in points])
