"""The one outer loop: stopping, progress, callbacks and Ctrl-C, between chunks of iterations."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .engine import BatchState, Engine, Floats

# A chunk lasts at most about this long, so that Ctrl-C, time limits and progress answer at once.
_CHUNK_SECONDS = 0.2


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


Callback = Callable[[Progress], Any]


def run(
    engine: Engine,
    state: BatchState,
    iterations: int,
    *,
    callback: Callback | None = None,
    time_limit: float | None = None,
) -> Outcome:
    """Advance a batch to ``iterations``, or until all are done, time is up, a callback returns True, or Ctrl-C."""
    started = time.monotonic()
    chunks: list[Floats] = []
    size, reason = 1, f"reached {iterations} iterations"
    try:
        while state.iteration < iterations:
            before = time.monotonic()
            chunks.append(engine.advance(state, min(size, iterations - state.iteration)))
            spent = time.monotonic() - before
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
    return Outcome(losses, reason, time.monotonic() - started)


def _last(losses: Floats) -> Floats:
    """The last loss of each run that is not NaN."""
    known = ~np.isnan(losses)
    index = losses.shape[1] - 1 - np.argmax(known[:, ::-1], axis=1)
    last: Floats = losses[np.arange(len(losses)), index]
    return last
