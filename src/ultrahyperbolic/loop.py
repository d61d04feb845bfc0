"""The one outer loop of trainings and `minimize`: stopping, callbacks, time limits, Ctrl-C between iterations."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from .arrays import Floats

# A chunk lasts at most about this long, so that Ctrl-C, time limits and progress answer at once; or where each costs
# something for itself, this many times that.
_CHUNK_SECONDS, _OVERHEADS = 0.2, 5.0


class Stopped(Enum):
    """Why a training or a minimisation came to its end."""

    ITERATIONS = "reached"
    ORDERED = "every connected pair is closer"
    CONVERGED = "converged"
    STUCK = "no step"
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
    def of_text(cls, text: str) -> Self:
        """The ending that a sentence tells of, as ``run.json`` keeps it.

        >>> Ending.of_text("reached the time limit of 60 s").why.unfinished
        True
        """
        fitting = [why for why in Stopped if text.startswith(why.value)]
        return cls(max(fitting, key=lambda why: len(why.value), default=Stopped.ITERATIONS), text)


class State(Protocol):
    """What an engine advances, as the loop sees it."""

    iteration: int

    @property
    def runs(self) -> int:
        """How many runs advance together."""

    @property
    def ending(self) -> Ending | None:
        """Why there is nothing more to do, where the engine has found that."""


S = TypeVar("S", bound=State)
S_contra = TypeVar("S_contra", bound=State, contravariant=True)


class Advances(Protocol[S_contra]):
    """An engine, as the loop sees it."""

    def advance(self, state: S_contra, iterations: int) -> Floats:
        """Change the state by ``iterations``, fewer only at its ending; the losses [runs, iterations performed]."""

    @property
    def overhead(self) -> float:
        """Seconds that a chunk takes beside its iterations, such as for moving its state to a device and back."""


@dataclass(frozen=True)
class Checkpoint(Generic[S]):
    """What a batch needs to go on as if it had never stopped; its starts follow from the seeds of its trainings."""

    state: S
    losses: Floats
    """[runs, iterations performed]"""
    seconds: float


@dataclass(frozen=True)
class Progress(Generic[S]):
    """What callbacks are told after each chunk."""

    iteration: int
    total: int
    loss: Floats
    """[runs] the last loss of each run."""
    seconds: float
    now: S
    """Where the batch stands, as the engine has it."""
    chunks: Sequence[Floats]
    """The losses of the chunks so far."""
    shown: Callable[[S], S] | None = None
    """What makes of that the state that callbacks see; None for the same."""

    @cached_property
    def state(self) -> S:
        """Where the batch stands; not to be modified by those who only watch."""
        return self.now if self.shown is None else self.shown(self.now)

    def checkpoint(self) -> Checkpoint[S]:
        """What the batch needs to go on from here; its arrays are those of the training, which goes on with them."""
        return Checkpoint(self.state, np.concatenate(self.chunks, axis=1), self.seconds)


Callback = Callable[[Progress[S]], object]
"""Called after each chunk; returning True stops."""


Decision = tuple[Ending | None, int]
"""Why it is over, or None to go on for this many iterations."""


@dataclass(frozen=True)
class Every(Generic[S]):
    """A callback that is called at the multiples of ``iterations``, at which chunks then end, whatever the clock."""

    iterations: int
    callback: Callback[S]

    def __call__(self, progress: Progress[S]) -> object:
        """Call it where it is time."""
        return self.callback(progress) if progress.iteration % self.iterations == 0 else None


@dataclass(frozen=True)
class Outcome:
    """How a batch ended."""

    losses: Floats
    """[runs, iterations performed], NaN after a run was done."""
    ending: Ending
    seconds: float


def run(
    engine: Advances[S],
    state: S,
    iterations: int,
    *,
    callbacks: Sequence[Callback[S]] = (),
    time_limit: float | None = None,
    spent: float = 0.0,
    losses_so_far: Floats | None = None,
    seconds_so_far: float = 0.0,
    share: Callable[[Decision], Decision] = lambda decision: decision,
) -> Outcome:
    """Advance a batch to ``iterations``, or until it is done, time is up, a callback returns True, or Ctrl-C.

    Callbacks are called in their order. ``losses_so_far`` and ``seconds_so_far`` are those of a `Checkpoint`,
    whose state ``state`` then is; the time limit counts them, and the seconds that are ``spent`` beside.
    Of several processes that run the same loop, ``share`` gives what the first has decided.
    """
    started = time.monotonic() - seconds_so_far
    chunks: list[Floats] = [] if losses_so_far is None else [losses_so_far]
    stops = [callback.iterations for callback in callbacks if isinstance(callback, Every)]
    size, ending = 1, None
    try:
        while True:
            # The first chunk is computed whatever time there is: something should come of a training.
            seconds = time.monotonic() - started + spent if chunks else 0.0
            ending = ending or state.ending or _limit(state, iterations, seconds, time_limit)
            until = [stop - state.iteration % stop for stop in stops]
            ending, count = share((ending, min(size, iterations - state.iteration, *until)))
            if ending is not None:
                break
            before = time.monotonic()
            chunk = engine.advance(state, count)
            now = time.monotonic()
            performed = chunk.shape[1]
            if performed == 0:
                continue
            chunks.append(chunk)
            # The first chunks may hold compilation: grow from what was measured, at most fourfold.
            room = max(_CHUNK_SECONDS, _OVERHEADS * engine.overhead)
            room = room if time_limit is None else min(room, started + time_limit - spent - now - engine.overhead)
            each = max(now - before - engine.overhead, 1e-6) / performed
            size = max(1, min(4 * max(size, performed), int(room / each)))
            known = ~np.isnan(chunk)
            last = chunk[np.arange(len(chunk)), performed - 1 - np.argmax(known[:, ::-1], axis=1)]
            progress = Progress(state.iteration, iterations, last, now - started, state, chunks)
            answers = [callback(progress) for callback in callbacks]  # all are called, whatever the first says
            if any(answers):
                ending = Ending(Stopped.CALLBACK, Stopped.CALLBACK.value)
    except KeyboardInterrupt:
        ending, _ = share((Ending(Stopped.INTERRUPTED, Stopped.INTERRUPTED.value), 0))
    assert ending is not None
    losses = np.concatenate(chunks, axis=1) if chunks else np.empty((state.runs, 0))
    return Outcome(losses, ending, time.monotonic() - started)


def _limit(state: State, iterations: int, seconds: float, time_limit: float | None) -> Ending | None:
    """What was asked for and is reached; None where there is more to do."""
    if state.iteration >= iterations:
        return Ending(Stopped.ITERATIONS, f"{Stopped.ITERATIONS.value} {iterations} iterations")
    if time_limit is not None and seconds >= time_limit:
        return Ending(Stopped.TIME_LIMIT, f"{Stopped.TIME_LIMIT.value} of {time_limit:g} s")
    return None
