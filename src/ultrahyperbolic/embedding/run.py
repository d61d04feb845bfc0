"""The one outer loop: stopping, bad steps taken back, progress, callbacks and Ctrl-C, between chunks of iterations."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .engine import BatchState, Engine, Floats

# A chunk lasts at most about this long, so that Ctrl-C, time limits and progress answer at once.
_CHUNK_SECONDS = 0.2
# Runs are looked at after so many iterations, wherever chunks end: what is done then may not depend on the clock.
_LOOK_EVERY = 100
# A loss so much above the best has been thrown off: it goes back there, with half the step.
_THROWN_OFF = 1.5


@dataclass(frozen=True)
class Progress:
    """What callbacks are told after each chunk."""

    iteration: int
    total: int
    loss: Floats
    """[B] the last loss of each run."""
    seconds: float
    state: BatchState
    """Where the batch stands; not to be modified."""


@dataclass(frozen=True)
class Outcome:
    """How a batch ended."""

    losses: Floats
    """[B, iterations performed], NaN after a run was done."""
    reason: str
    seconds: float
    steps_back: NDArray[np.int64]
    """[B] how often a run was taken back to its best points and its step halved."""


Callback = Callable[[Progress], Any]


def run(
    engine: Engine,
    state: BatchState,
    iterations: int,
    *,
    callback: Callback | None = None,
    time_limit: float | None = None,
    step_back: bool = False,
) -> Outcome:
    """Advance a batch to ``iterations``, or until all are done, time is up, a callback returns True, or Ctrl-C.

    With ``step_back`` a run that was thrown off goes back to the best points it has seen and on with half the step.
    """
    started = time.monotonic()
    chunks: list[Floats] = []
    guard = _Guard(engine, state) if step_back else None
    size, reason = 1, f"reached {iterations} iterations"
    try:
        while state.iteration < iterations:
            before = time.monotonic()
            until_look = _LOOK_EVERY - state.iteration % _LOOK_EVERY
            chunks.append(engine.advance(state, min(size, iterations - state.iteration, until_look)))
            spent = time.monotonic() - before
            if guard is not None and state.iteration % _LOOK_EVERY == 0:
                guard.look(state, chunks[-1][:, -1])
            # The first chunks may hold compilation: grow from what was measured, at most fourfold.
            size = max(1, min(4 * size, int(size * _CHUNK_SECONDS / max(spent, 1e-6))))
            seconds = time.monotonic() - started
            last = _last(chunks[-1])
            if callback is not None and callback(Progress(state.iteration, iterations, last, seconds, state)):
                reason = "a callback asked to stop"
                break
            if state.done.all():
                reason = "every connected pair is closer than every unconnected one"
                break
            if time_limit is not None and seconds >= time_limit:
                reason = f"reached the time limit of {time_limit:g} s"
                break
    except KeyboardInterrupt:
        reason = "interrupted"
    losses = np.concatenate(chunks, axis=1) if chunks else np.empty((len(state.points), 0))
    steps_back = np.zeros(len(state.points), dtype=np.int64) if guard is None else guard.steps_back
    return Outcome(losses, reason, time.monotonic() - started, steps_back)


class _Guard:
    """Takes bad steps back."""

    def __init__(self, engine: Engine, state: BatchState) -> None:
        self.settled = np.array([spec.schedule.settled for spec in engine.specs])
        self.steps_back = np.zeros(len(state.points), dtype=np.int64)

    def look(self, state: BatchState, loss: Floats) -> None:
        """Compare the last loss of each run with its best, once its schedule has settled and losses can be compared."""
        best = state.record[:, 0]
        comparable = (state.iteration > self.settled) & np.isfinite(best) & ~state.done
        for run in np.flatnonzero(comparable & ~(loss <= _THROWN_OFF * best)):
            state.points[run] = state.free[run] = state.best[run]
            state.record[run, 6] *= 0.5
            self.steps_back[run] += 1


def _last(losses: Floats) -> Floats:
    """The last loss of each run that is not NaN."""
    known = ~np.isnan(losses)
    index = losses.shape[1] - 1 - np.argmax(known[:, ::-1], axis=1)
    last: Floats = losses[np.arange(len(losses)), index]
    return last
