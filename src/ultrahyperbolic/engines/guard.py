"""Bad steps taken back: a callback of the loop that alters the batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..loop import Every, Progress
from .base import BatchState, RunSpec

# Iterations from one look at the runs to the next, wherever chunks end: results may not depend on the clock.
_LOOK_EVERY = 100
# A loss so much above the best has been thrown off: it goes back there, with half the step.
_THROWN_OFF = 1.5


def guard(specs: Sequence[RunSpec], start: BatchState, *, compare: bool) -> Every[BatchState]:
    """A callback that takes runs back to the best points they have seen, and halves their steps.

    A run that is no longer finite always goes back, to its start where it has seen no good points; with ``compare`` so
    does one whose loss was thrown far above its best. ``start`` is the batch before its first iteration. Put the
    callback before those that write or show where the batch stands.
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

    return Every(_LOOK_EVERY, look)


def _finite(points: Floats) -> NDArray[np.bool_]:
    """[B] whether all coordinates of a run are finite."""
    return np.array([np.isfinite(run).all() for run in points])
