"""The one outer loop: stopping, bad steps taken back, progress, callbacks and Ctrl-C, between chunks of iterations."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .engines.base import BatchState, Engine, Floats

# A chunk lasts at most about this long, so that Ctrl-C, time limits and progress answer at once.
_CHUNK_SECONDS = 0.2
# Runs are looked at after so many iterations, wherever chunks end: what is done then may not depend on the clock.
_LOOK_EVERY = 100
# A loss so much above the best has been thrown off: it goes back there, with half the step.
_THROWN_OFF = 1.5


class Stopped(Enum):
    """Why a training or a minimisation came to its end."""

    ITERATIONS = "reached"
    ORDERED = "every connected pair is closer"
    CONVERGED = "converged"
    TIME_LIMIT = "reached the time limit"
    CALLBACK = "a callback asked to stop"
    INTERRUPTED = "interrupted"

    @property
    def unfinished(self) -> bool:
        """Whether it could go on, given time."""
        return self in (Stopped.TIME_LIMIT, Stopped.INTERRUPTED)


class Ending(NamedTuple):
    """Why something stopped, and the sentence that says so."""

    why: Stopped
    text: str

    @classmethod
    def of_text(cls, text: str) -> Ending:
        """The ending that a sentence tells of, as ``run.json`` keeps it.

        >>> Ending.of_text("reached the time limit of 60 s").why.unfinished
        True
        """
        fitting = [why for why in Stopped if text.startswith(why.value)]
        return cls(max(fitting, key=lambda why: len(why.value), default=Stopped.ITERATIONS), text)


@dataclass(frozen=True)
class SoFar:
    """What a batch needs to go on as if it had never stopped; its starts follow from the seeds of its trainings."""

    state: BatchState
    losses: Floats
    """[B, iterations performed]"""
    seconds: float


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
    chunks: Sequence[Floats]
    """The losses of the chunks so far."""

    def so_far(self) -> SoFar:
        """What the batch needs to go on from here; its arrays are those of the training, which goes on with them."""
        losses = np.concatenate(self.chunks, axis=1)
        return SoFar(self.state, losses, self.seconds)


@dataclass(frozen=True)
class Outcome:
    """How a batch ended."""

    losses: Floats
    """[B, iterations performed], NaN after a run was done."""
    ending: Ending
    seconds: float


Callback = Callable[[Progress], Any]


def run(
    engine: Engine,
    state: BatchState,
    iterations: int,
    *,
    callback: Callback | None = None,
    time_limit: float | None = None,
    step_back: bool = False,
    so_far: SoFar | None = None,
) -> Outcome:
    """Advance a batch to ``iterations``, or until all are done, time is up, a callback returns True, or Ctrl-C.

    With ``step_back`` a run that was thrown off goes back to the best points it has seen and on with half the step; a
    run that is no longer finite always does. ``so_far`` goes on where an earlier call with the same start came to.
    """
    started = time.monotonic()
    chunks: list[Floats] = []
    guard = _Guard(engine, state, compare=step_back)
    if so_far is not None:
        started -= so_far.seconds
        state.copy_from(so_far.state)
        chunks.append(so_far.losses)
    size = 1
    try:
        while not (ending := _ended(state, iterations, time.monotonic() - started if chunks else 0.0, time_limit)):
            before = time.monotonic()
            until_look = _LOOK_EVERY - state.iteration % _LOOK_EVERY
            chunks.append(engine.advance(state, min(size, iterations - state.iteration, until_look)))
            spent = time.monotonic() - before
            if state.iteration % _LOOK_EVERY == 0:
                guard.look(state, chunks[-1][:, -1])
            # The first chunks may hold compilation: grow from what was measured, at most fourfold.
            performed = chunks[-1].shape[1]
            size = max(1, min(4 * performed, int(performed * _CHUNK_SECONDS / max(spent, 1e-6))))
            seconds = time.monotonic() - started
            now = Progress(state.iteration, iterations, _last(chunks[-1]), seconds, state, chunks)
            if callback is not None and callback(now):
                ending = Ending(Stopped.CALLBACK, Stopped.CALLBACK.value)
                break
    except KeyboardInterrupt:
        ending = Ending(Stopped.INTERRUPTED, Stopped.INTERRUPTED.value)
    losses = np.concatenate(chunks, axis=1) if chunks else np.empty((len(state.points), 0))
    return Outcome(losses, ending, time.monotonic() - started)


def _ended(state: BatchState, iterations: int, seconds: float, time_limit: float | None) -> Ending | None:
    """Why there is nothing more to do; None where there is."""
    if state.done.all():
        return Ending(Stopped.ORDERED, f"{Stopped.ORDERED.value} than every unconnected one")
    if state.iteration >= iterations:
        return Ending(Stopped.ITERATIONS, f"{Stopped.ITERATIONS.value} {iterations} iterations")
    if time_limit is not None and seconds >= time_limit:
        return Ending(Stopped.TIME_LIMIT, f"{Stopped.TIME_LIMIT.value} of {time_limit:g} s")
    return None


class _Guard:
    """Takes bad steps back."""

    def __init__(self, engine: Engine, state: BatchState, *, compare: bool) -> None:
        self.settled = np.array([spec.settled for spec in engine.specs])
        self.start, self.compare = state.points.copy(), compare

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


def _last(losses: Floats) -> Floats:
    """The last loss of each run that is not NaN."""
    known = ~np.isnan(losses)
    index = losses.shape[1] - 1 - np.argmax(known[:, ::-1], axis=1)
    last: Floats = losses[np.arange(len(losses)), index]
    return last
