"""The one outer loop: stopping, progress, callbacks, time limits and Ctrl-C, between chunks of iterations.

It knows of an engine only that it advances a state by iterations, so that trainings of graphs run in it, and
minimisations of any function do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# A chunk lasts at most about this long, so that Ctrl-C, time limits and progress answer at once.
_CHUNK_SECONDS = 0.2
# Chunks end at multiples of this, wherever else they do: what callbacks do there does not depend on the clock.
LOOK_EVERY = 100


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


class State(Protocol):
    """Where an engine stands."""

    iteration: int

    @property
    def ending(self) -> Ending | None:
        """Why there is nothing more to do; None where there is."""
        ...


S = TypeVar("S", bound=State)
S_contra = TypeVar("S_contra", bound=State, contravariant=True)


class Advances(Protocol[S_contra]):
    """An engine as the loop knows it."""

    def advance(self, state: S_contra, iterations: int) -> Floats:
        """Perform iterations, or as many as there are to do; the losses [B, performed]."""
        ...

    def agree(self, word: str) -> str:
        """The word that all of several processes go by: the identity, except where several must decide as one."""
        ...


@dataclass(frozen=True)
class Checkpoint(Generic[S]):
    """What is needed to go on as if nothing had stopped."""

    state: S
    losses: Floats
    """[B, iterations performed]"""
    seconds: float


@dataclass(frozen=True)
class Progress(Generic[S]):
    """What callbacks are told after each chunk."""

    iteration: int
    total: int
    loss: Floats
    """[B] the last loss of each run."""
    seconds: float
    state: S
    """Where the engine stands; not to be modified, but by what takes bad steps back."""
    chunks: Sequence[Floats] = field(repr=False)
    """The losses of the chunks so far."""

    def checkpoint(self) -> Checkpoint[S]:
        """What is needed to go on from here; its arrays are those of the training, which goes on with them."""
        return Checkpoint(self.state, np.concatenate(self.chunks, axis=1), self.seconds)


@dataclass(frozen=True)
class Outcome:
    """How it ended."""

    losses: Floats
    """[B, iterations performed], NaN after a run was done."""
    ending: Ending
    seconds: float


Callback = Callable[[Progress[S]], object]
"""Returning True stops."""


def run(
    engine: Advances[S],
    state: S,
    iterations: int,
    *,
    callbacks: Sequence[Callback[S]] = (),
    time_limit: float | None = None,
    longest_chunk: int | None = None,
    before: Checkpoint[S] | None = None,
) -> Outcome:
    """Advance a state to ``iterations``, or until it is done, time is up, a callback returns True, or Ctrl-C.

    ``longest_chunk`` bounds the iterations between two calls of the callbacks. ``before`` says what was performed
    before, from which the state goes on.
    """
    started = time.monotonic() - (0.0 if before is None else before.seconds)
    chunks: list[Floats] = [] if before is None else [before.losses]
    size = 1
    ending: Ending | None = None
    try:
        while ending is None:
            spent = time.monotonic() - started if chunks else 0.0
            ending = state.ending or _ended(engine, state.iteration, iterations, spent, time_limit)
            if ending is not None:
                break
            began = time.monotonic()
            until_look = LOOK_EVERY - state.iteration % LOOK_EVERY
            chunks.append(engine.advance(state, min(size, iterations - state.iteration, until_look)))
            performed = chunks[-1].shape[1]
            # The first chunks may hold compilation: grow from what was measured, at most fourfold.
            lasted = max(time.monotonic() - began, 1e-6)
            size = max(1, min(4 * performed, int(performed * _CHUNK_SECONDS / lasted), longest_chunk or 1 << 30))
            if performed:
                loss, seconds = _last(chunks[-1]), time.monotonic() - started
                now = Progress(state.iteration, iterations, loss, seconds, state, chunks)
                said = [callback(now) for callback in callbacks]  # each is told, whatever another says
                if any(said):
                    ending = Ending(Stopped.CALLBACK, Stopped.CALLBACK.value)
    except KeyboardInterrupt:
        ending = Ending(Stopped.INTERRUPTED, Stopped.INTERRUPTED.value)
    losses = np.concatenate(chunks, axis=1) if chunks else np.empty((0, 0))
    return Outcome(losses, ending, time.monotonic() - started)


def _ended(
    engine: Advances[S], iteration: int, iterations: int, seconds: float, time_limit: float | None
) -> Ending | None:
    """Why there is nothing more to do; None where there is."""
    if iteration >= iterations:
        return Ending(Stopped.ITERATIONS, f"{Stopped.ITERATIONS.value} {iterations} iterations")
    # Clocks differ between processes: they agree on one word.
    if time_limit is not None and engine.agree("stop" if seconds >= time_limit else "go") == "stop":
        return Ending(Stopped.TIME_LIMIT, f"{Stopped.TIME_LIMIT.value} of {time_limit:g} s")
    return None


def _last(losses: Floats) -> Floats:
    """The last loss of each run that is not NaN."""
    known = ~np.isnan(losses)
    index = losses.shape[1] - 1 - np.argmax(known[:, ::-1], axis=1)
    last: Floats = losses[np.arange(len(losses)), index]
    return last
