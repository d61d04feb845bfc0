"""What there is time for."""

from __future__ import annotations

import time

import numpy as np
import pytest

import ultrahyperbolic as uh
from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.training import execution
from ultrahyperbolic.training.plan import Plan

KARATE = uh.datasets.karate()


class Slow:
    """A clock that an engine's iterations move on by some seconds each."""

    def __init__(self, monkeypatch, seconds):
        self.now, self.iterations, advance = 0.0, 0, NumbaEngine.advance

        def slow(engine, state, iterations):
            self.now += seconds * iterations
            self.iterations += iterations
            return advance(engine, state, iterations)

        monkeypatch.setattr(NumbaEngine, "advance", slow)
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


def test_a_training_that_fits_into_its_time_limit_is_the_one_without(monkeypatch):
    Slow(monkeypatch, 0.01)
    free = uh.embed(KARATE, p=2, q=2, quiet=True)
    limited = uh.embed(KARATE, p=2, q=2, time_limit=20.0, quiet=True)
    assert np.array_equal(free.points, limited.points)
    assert free.record.stopped == limited.record.stopped
    assert free.record.call == limited.record.call


def test_a_time_limit_leads_the_schedule_to_its_end(monkeypatch):
    clock = Slow(monkeypatch, 0.1)
    embedding = uh.embed(KARATE, p=2, q=2, time_limit=20.0, quiet=True)
    result, descents = embedding.record.result, clock.iterations
    assert embedding.record.stopped.text == "reached the time limit of 20 s"
    assert embedding.record.unfinished
    assert 100 < descents < 200
    assert clock.now < 20.0, "measures and the report have a share"
    assert embedding.record.measures["map"] > 0.95
    free = uh.embed(KARATE, p=2, q=2, quiet=True).record.result
    assert result.final_loss < free.final_loss + 0.1 * (free.start_loss - free.final_loss)
    # The paper's schedule is not led anywhere.
    paper = uh.embed(KARATE, preset="paper", time_limit=20.0, quiet=True).record
    assert paper.stopped.text == "reached the time limit of 20 s"
    assert paper.result.iterations == pytest.approx(180, abs=1)


def test_a_time_limit_includes_what_comes_before_the_training(monkeypatch):
    clock = Slow(monkeypatch, 0.1)

    def iterations(began):
        clock.now, clock.iterations = 0.0, 0
        found = execution.Execution(Plan.of(p=2, q=2, time_limit=20.0), KARATE, began=began)
        found.train()
        return clock.iterations

    assert 10 <= iterations(-100.0) <= 21, "a tenth of the limit in any case"
    assert iterations(-12.0) < 0.6 * iterations(0.0)


@pytest.mark.parametrize(("evaluation", "sampled"), [(1e-6, False), (10.0, True)])
def test_measures_come_from_a_sample_where_they_would_take_much_of_the_time(
    monkeypatch, evaluation, sampled
):
    clock, evaluate = Slow(monkeypatch, 1e-6), NumbaEngine.evaluate

    def slow(engine, state):
        clock.now += evaluation
        return evaluate(engine, state)

    monkeypatch.setattr(NumbaEngine, "evaluate", slow)
    embedding = uh.embed(KARATE, p=2, q=2, iterations=40, time_limit=60.0, quiet=True)
    assert embedding.record.timing.evaluation == pytest.approx(evaluation)
    assert ("map_error" in embedding.record.measures) == sampled
