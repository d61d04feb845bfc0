"""The outer loop with an engine that only counts: when it stops, whom it tells, and where chunks
end.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from importlib import import_module

import numpy as np
import pytest

from ultrahyperbolic.loop import Checkpoint, Ending, Every, Stopped, run


@dataclass
class Count:
    iteration: int = 0
    runs: int = 2
    ending: Ending | None = None


class Counter:
    """Its losses are 100 less the iteration; it is done after ``last`` iterations."""

    def __init__(self, last=math.inf, *, seconds=0.0):
        self.last, self.seconds, self.asked = last, seconds, []

    def advance(self, state, iterations):
        self.asked.append(iterations)
        time.sleep(self.seconds)
        performed = int(min(iterations, self.last - state.iteration))
        if performed < iterations:
            state.ending = Ending(Stopped.STUCK, "no step left to take")
        losses = 100.0 - np.arange(state.iteration, state.iteration + performed)
        state.iteration += performed
        return np.stack((losses, losses + 1.0))

    overhead = 0.0


def test_it_performs_all_iterations_and_tells_every_callback_of_each_chunk():
    engine, state, seen = Counter(), Count(), []
    outcome = run(engine, state, 50, callbacks=[seen.append, lambda now: seen.append(now)])
    assert outcome.ending == (Stopped.ITERATIONS, "reached 50 iterations")
    assert np.array_equal(outcome.losses, np.stack((100.0 - np.arange(50), 101.0 - np.arange(50))))
    assert sum(engine.asked) == 50
    assert len(seen) == 2 * len(engine.asked)
    assert [now.iteration for now in seen[::2]] == np.cumsum(engine.asked).tolist()
    assert seen[-1].loss.tolist() == [51.0, 52.0]


def test_chunks_end_where_a_callback_wants_to_be_called():
    engine, called = Counter(), []
    seven = Every(7, lambda now: called.append(now.iteration))
    ten = Every(10, lambda now: called.append(now.iteration))
    run(engine, Count(iteration=3), 45, callbacks=[seven, ten])
    assert called == [7, 10, 14, 20, 21, 28, 30, 35, 40, 42]


def test_a_chunk_that_a_callback_cuts_short_does_not_shorten_those_that_follow():
    engine = Counter()
    engine.overhead = 10.0
    run(engine, Count(), 300, callbacks=[Every(100, lambda now: None)])
    assert engine.asked == [1, 4, 16, 64, 15, 100, 100]


def test_a_callback_stops_it_and_the_others_are_called_first():
    seen = []
    outcome = run(
        Counter(), Count(), 50, callbacks=[Every(4, lambda now: now.iteration == 12), seen.append]
    )
    assert outcome.ending == (Stopped.CALLBACK, "a callback asked to stop")
    assert seen[-1].iteration == outcome.losses.shape[1] == 12


def test_an_engine_that_is_done_early_says_why():
    state = Count()
    outcome = run(Counter(last=9), state, 50)
    assert outcome.ending == (Stopped.STUCK, "no step left to take")
    assert (state.iteration, outcome.losses.shape) == (9, (2, 9))
    at_once = run(
        Counter(last=0), Count(), 50, callbacks=[lambda now: pytest.fail("nothing was performed")]
    )
    assert (at_once.ending.why, at_once.losses.shape) == (Stopped.STUCK, (2, 0))
    assert run(Counter(), Count(), 0).losses.shape == (2, 0)


def test_time_is_limited_but_for_the_first_chunk():
    outcome = run(Counter(), Count(), 10**9, time_limit=1e-9)
    assert outcome.ending == (Stopped.TIME_LIMIT, "reached the time limit of 1e-09 s")
    assert outcome.losses.shape == (2, 1)
    assert outcome.ending.why.unfinished
    spent = run(Counter(), Count(), 10**9, time_limit=60.0, spent=60.0)
    assert spent.ending == (Stopped.TIME_LIMIT, "reached the time limit of 60 s")
    assert spent.seconds < 60.0, "what was spent elsewhere is not the loop's"


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still but for what a `Timed` engine adds."""
    now = [0.0]
    monkeypatch.setattr(import_module("ultrahyperbolic.loop").time, "monotonic", lambda: now[0])
    return now


class Timed(Counter):
    """An engine whose iterations take a tenth of a second each, and the first ``compiling`` seconds
    more.
    """

    def __init__(self, clock, compiling=0.0):
        super().__init__()
        self.clock, self.compiling, self.performed = clock, compiling, []

    def advance(self, state, iterations):
        self.performed += range(state.iteration, state.iteration + iterations)
        self.clock[0] += 0.1 * iterations + self.compiling
        self.compiling = 0.0
        return super().advance(state, iterations)


def test_one_slow_chunk_is_not_the_pace(clock):
    engine, waits = Timed(clock), [10.0]
    advance = engine.advance

    def advance_slowly(state, iterations):
        clock[0] += waits.pop() if waits and state.iteration >= 60 else 0.0
        return advance(state, iterations)

    engine.advance = advance_slowly
    assert (
        run(engine, Count(), 1000, time_limit=120.0, scheduled=850).ending.why is Stopped.ITERATIONS
    )
    assert engine.performed == list(range(1000))


@pytest.mark.parametrize("compiling", [0.0, 30.0])
def test_a_schedule_that_there_is_time_for_is_followed_whole(clock, compiling):
    engine, limit = Timed(clock, compiling), 10.1 + compiling
    outcome = run(engine, Count(), 100, time_limit=limit, scheduled=85)
    assert outcome.ending.why is Stopped.ITERATIONS
    assert engine.performed == list(range(100))


def test_a_schedule_has_a_tenth_of_the_limit_whatever_came_before(clock):
    engine = Timed(clock, compiling=30.0)
    outcome = run(engine, Count(), 1000, time_limit=20.0, spent=5.0, scheduled=850)
    assert outcome.ending.why is Stopped.TIME_LIMIT
    assert clock[0] == pytest.approx(32.1, abs=0.2)
    assert 849 in engine.performed
    whole = Timed(clock, compiling=30.0)
    assert run(whole, Count(), 15, time_limit=20.0, scheduled=12).ending.why is Stopped.ITERATIONS


def test_what_follows_a_schedule_does_not_shorten_it(clock):
    """A training may converge long before its last iteration."""
    engine = Timed(clock)
    outcome = run(engine, Count(), 1000, time_limit=10.0, scheduled=85)
    assert outcome.ending.why is Stopped.TIME_LIMIT
    assert engine.performed == list(range(len(engine.performed)))
    assert len(engine.performed) == pytest.approx(100, abs=2)


def test_a_schedule_that_there_is_no_time_for_is_led_to_its_end_evenly(clock):
    engine, seen, turns = Timed(clock), [], []

    def look(now):
        seen.append(
            (now.hurried, now.stride > 1.0, now.iteration, now.checkpoint().losses.shape[1])
        )

    fifty = Every(50, lambda now: turns.append(now.iteration // 50))
    outcome = run(engine, Count(), 1000, time_limit=10.0, scheduled=850, callbacks=[look, fifty])
    assert outcome.ending == (Stopped.TIME_LIMIT, "reached the time limit of 10 s")
    assert outcome.losses.shape == (2, len(engine.performed))
    assert clock[0] == pytest.approx(10.0, abs=0.2)
    assert 849 in engine.performed, "its last iteration"
    assert np.diff(engine.performed).max() < 60
    times = np.linspace(0.0, 10.0, len(engine.performed))
    spread = np.interp([2.0, 4.0, 6.0], times, engine.performed)
    assert spread == pytest.approx([200.0, 400.0, 600.0], rel=0.25)
    hurried = [found for hurried, *found in seen if hurried]
    assert sum(strides for strides, *_ in hurried) > 10
    assert hurried[0][1] == hurried[0][2] < 100, "told before the first is left out"
    # A callback is called when its turn has passed.
    assert 15 <= len(turns) <= 20
    assert turns == sorted(set(turns))


def test_it_goes_on_from_a_checkpoint_and_counts_its_time():
    kept = []
    run(
        Counter(),
        Count(),
        50,
        callbacks=[Every(20, lambda now: kept.append(now.checkpoint()) or True)],
    )
    (checkpoint,) = kept
    assert isinstance(checkpoint, Checkpoint)
    so_far = {"losses_so_far": checkpoint.losses, "seconds_so_far": 60.0}
    whole = run(Counter(), checkpoint.state, 50, **so_far)
    assert np.array_equal(whole.losses, run(Counter(), Count(), 50).losses)
    assert whole.seconds > 60.0
    spent = run(Counter(), Count(iteration=20), 50, **so_far, time_limit=60.0)
    assert (spent.ending.why, spent.losses.shape) == (Stopped.TIME_LIMIT, (2, 20))


def test_ctrl_c_ends_it_with_what_was_performed():
    def press(now):
        raise KeyboardInterrupt

    outcome = run(Counter(), Count(), 50, callbacks=[Every(3, press)])
    assert outcome.ending == (Stopped.INTERRUPTED, "interrupted")
    assert outcome.losses.shape == (2, 3)


def test_slow_iterations_come_in_small_chunks():
    engine = Counter(seconds=0.06)
    run(engine, Count(), 5)
    assert max(engine.asked) <= 3
