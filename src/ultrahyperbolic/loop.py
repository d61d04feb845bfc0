"""The one outer loop of trainings and `minimize`: stopping, callbacks, time limits, Ctrl-C between
iterations.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from .arrays import Floats

# A chunk lasts at most about this long, so that Ctrl-C, time limits and progress answer at once; or
# where each costs something for itself, this many times that.
_CHUNK_SECONDS, _OVERHEADS = 0.2, 5.0
# Where time is limited, a schedule is followed in at least this many chunks, none of which takes
# more than its share.
_CHUNKS = 20
# A schedule has at least this share of the limit after its first chunk: something should come of a
# training.
_LEAST = 0.1


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


# What a training has come to that was not led there early by a time limit.
_WHOLE = (Stopped.ITERATIONS, Stopped.CONVERGED, Stopped.STUCK)


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
        """Change the state by ``iterations``, fewer only at its ending; the losses [runs,
        iterations performed].
        """

    @property
    def overhead(self) -> float:
        """Seconds that a chunk takes beside its iterations, such as for moving its state to a
        device and back.
        """


@dataclass(frozen=True)
class Checkpoint(Generic[S]):
    """What a batch needs to go on as if it had never stopped; its starts follow from the seeds of
    its trainings.
    """

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
    before: int = 0
    """The iteration at which callbacks were called last."""
    stride: float = 1.0
    """By how much an iteration moves on in the schedule from here."""
    hurried: bool = False
    """Whether from here on, or since an earlier chunk, iterations are left out because time is
    short.
    """

    @cached_property
    def state(self) -> S:
        """Where the batch stands; not to be modified by those who only watch."""
        return self.now if self.shown is None else self.shown(self.now)

    def passes(self, iterations: int) -> bool:
        """Whether a multiple of ``iterations`` was reached since callbacks were called last."""
        return self.iteration // iterations > self.before // iterations

    def checkpoint(self) -> Checkpoint[S]:
        """What the batch needs to go on from here; its arrays are those of the training, which goes
        on with them.
        """
        return Checkpoint(self.state, np.concatenate(self.chunks, axis=1), self.seconds)


Callback = Callable[[Progress[S]], object]
"""Called after each chunk; returning True stops."""


@dataclass(frozen=True)
class Every(Generic[S]):
    """A callback that is called at the multiples of ``iterations``, at which chunks then end,
    whatever the clock.

    Where iterations are left out it is called after each chunk that takes the schedule past one.
    """

    iterations: int
    callback: Callback[S]

    def __call__(self, progress: Progress[S]) -> object:
        """Call it where it is time."""
        return self.callback(progress) if progress.passes(self.iterations) else None


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
    scheduled: int = 0,
) -> Outcome:
    """Advance a batch to ``iterations``, or until it is done, time is up, a callback returns True,
    or Ctrl-C.

    Callbacks are called in their order. ``losses_so_far`` and ``seconds_so_far`` are those of a
    `Checkpoint`, whose state ``state`` then is; the time limit counts them, and the seconds that
    are ``spent`` beside. The first ``scheduled`` iterations follow a schedule, which is led to its
    end in time: where there is no time for all of its iterations some are left out, evenly.
    """
    started = time.monotonic() - seconds_so_far
    clock = _Clock(started, time_limit, spent, scheduled, iterations)
    chunks: list[Floats] = [] if losses_so_far is None else [losses_so_far]
    stops = [callback.iterations for callback in callbacks if isinstance(callback, Every)]
    size, skipped, ending = 1, 0, None
    try:
        while True:
            # The first chunk is computed whatever time there is: something should come of a
            # training.
            ending = ending or state.ending or _reached(state, iterations)
            if ending is None and chunks and clock.left <= 0.0:
                ending = clock.out_of_time
            if ending is not None:
                if clock.hurried and ending.why in _WHOLE:
                    ending = clock.out_of_time
                break
            reached, before = state.iteration, time.monotonic()
            state.iteration += skipped
            until = [stop - state.iteration % stop for stop in stops]
            chunk = engine.advance(state, min(size, iterations - state.iteration, *until))
            seconds, performed, skipped = time.monotonic() - before, chunk.shape[1], 0
            if performed == 0:
                continue
            chunks.append(chunk)
            each = max(seconds - engine.overhead, 1e-6) / performed
            room = max(_CHUNK_SECONDS, _OVERHEADS * engine.overhead)
            if time_limit is not None:
                skipped = clock.look(state.iteration, performed, each, engine.overhead)
                ahead = max(clock.left - engine.overhead, 0.0)
                room = min(room, ahead / _CHUNKS if state.iteration < scheduled else ahead)
            # The first chunks may hold compilation: grow from what was measured, at most fourfold.
            size = max(1, min(4 * max(size, performed), int(room / each)))
            progress = Progress(
                state.iteration,
                iterations,
                _last_finite(chunk),
                time.monotonic() - started,
                state,
                chunks,
                before=reached,
                stride=clock.stride,
                hurried=clock.hurried,
            )
            answers = [callback(progress) for callback in callbacks]  # all are called
            if any(answers):
                ending = Ending(Stopped.CALLBACK, Stopped.CALLBACK.value)
    except KeyboardInterrupt:
        ending = Ending(Stopped.INTERRUPTED, Stopped.INTERRUPTED.value)
    losses = np.concatenate(chunks, axis=1) if chunks else np.empty((state.runs, 0))
    return Outcome(losses, ending, time.monotonic() - started)


class _Clock:
    """A time limit, and how a schedule is led to its end within it: iteration by iteration, or in
    strides where there is no time for all of it.
    """

    def __init__(
        self, started: float, time_limit: float | None, spent: float, scheduled: int, total: int
    ) -> None:
        self.time_limit, self.scheduled, self.total = time_limit, scheduled, total
        self.ends = math.inf if time_limit is None else started + time_limit - spent
        self.stride, self.hurried = 1.0, False
        self._seconds, self._fastest, self._is_compiled = 0.0, math.inf, False

    @property
    def left(self) -> float:
        """Seconds."""
        return self.ends - time.monotonic()

    @property
    def out_of_time(self) -> Ending:
        """That time is up."""
        limit = self.time_limit or 0.0
        return Ending(Stopped.TIME_LIMIT, f"{Stopped.TIME_LIMIT.value} of {limit:g} s")

    def look(self, iteration: int, performed: int, each: float, overhead: float) -> int:
        """How many iterations to leave out, after a chunk of so many that took so long each.

        None until there is no time for the schedule even at the best pace so far: others may have
        slowed some chunks down. From then on what follows the schedule has its share, too.
        """
        left, ahead = self.left - overhead, self.scheduled - iteration
        if not self._is_compiled:  # the first chunk says nothing of the pace
            self._is_compiled = True
            if self.scheduled and self.time_limit is not None:
                self.ends += max(_LEAST * self.time_limit - left, 0.0)
            return 0
        self._seconds += each * performed
        self._fastest = min(self._fastest, each)
        self.stride = 1.0
        if ahead <= 0 or left <= 0.0:
            return 0
        # So little time as next to none of what is left says little of the pace.
        self.hurried |= self._seconds * _CHUNKS >= left and self._fastest * ahead > left
        if self.hurried:
            self.stride = max(1.0, each * (self.total - iteration) / left)
        return min(int(performed * (self.stride - 1.0)), ahead - 1)


def _reached(state: State, iterations: int) -> Ending | None:
    """That all iterations were performed, where they were."""
    if state.iteration < iterations:
        return None
    return Ending(Stopped.ITERATIONS, f"{Stopped.ITERATIONS.value} {iterations} iterations")


def _last_finite(losses: Floats) -> Floats:
    """[runs] the last loss of each run that is a number, of [runs, iterations]."""
    finite = ~np.isnan(losses)
    last = losses.shape[1] - 1 - np.argmax(finite[:, ::-1], axis=1)
    return np.asarray(losses[np.arange(len(losses)), last])
