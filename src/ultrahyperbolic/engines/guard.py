"""Steps that threw a run off are taken back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..loop import LOOK_EVERY, Progress
from .base import BatchState, Floats, RunSpec

# A loss so much above the best has been thrown off: it goes back there, with half the step.
_THROWN_OFF = 1.5


class Guard:
    """A callback that looks at each run after every 100 iterations, wherever chunks end.

    A run that is no longer finite goes back to the best points it has seen and on with half the step. With ``compare``
    so does one whose loss is far above its best, once its schedule has settled.
    """

    def __init__(self, specs: Sequence[RunSpec], state: BatchState, *, compare: bool) -> None:
        self.settled = np.array([spec.settled for spec in specs])
        self.start, self.compare = state.points.copy(), compare

    def __call__(self, progress: Progress[BatchState]) -> None:
        """Look, where it is time to."""
        if progress.iteration % LOOK_EVERY == 0:
            self.look(progress.state, progress.chunks[-1][:, -1])

    def look(self, state: BatchState, loss: Floats) -> None:
        """Look at each run: whether all of it is finite, and how its loss compares once its schedule has settled."""
        sound = np.isfinite(loss) & _finite(state.points) & _finite(state.free) & _finite(state.best)
        best = state.record["best_loss"]
        comparable = self.compare & (state.iteration > self.settled) & np.isfinite(best)
        for run in np.flatnonzero(~state.done & ~(sound & ~(comparable & (loss > _THROWN_OFF * best)))):
            if not np.isfinite(state.best[run]).all():
                state.best[run] = self.start[run]
                state.record["best_loss"][run], state.record["best_iteration"][run] = np.inf, -1.0
            state.points[run] = state.free[run] = state.best[run]
            state.record["step_scale"][run] *= 0.5
            state.steps_back[run] += 1
            state.nonfinite[run] += not sound[run]


def _finite(points: Floats) -> NDArray[np.bool_]:
    """[B] whether all coordinates of a run are finite."""
    return np.array([np.isfinite(run).all() for run in points])
