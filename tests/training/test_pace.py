"""How long a training takes, and what there is time for."""

from __future__ import annotations

import logging
import time

import numpy as np
import pytest

import ultrahyperbolic as uh
from ultrahyperbolic import TrainingConfig
from ultrahyperbolic.engines.base import Machine
from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.training import execution
from ultrahyperbolic.training.execution import Pace
from ultrahyperbolic.training.method import recipe
from ultrahyperbolic.training.plan import Plan

KARATE = uh.datasets.karate()


def test_how_long_a_training_takes_is_expected():
    config = recipe(TrainingConfig(2, 2, iterations=1000), KARATE)
    assert Pace(descent=0.01, evaluation=0.1).expected(config) == pytest.approx(
        850 * 0.01 + 150 * 0.125
    )


def test_it_is_measured():
    pace = Pace.of(KARATE, [recipe(TrainingConfig(2, 2), KARATE)], Machine())
    assert 0.0 < pace.descent < 1.0
    assert 0.0 < pace.evaluation < 1.0


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


@pytest.mark.parametrize(("seconds", "said"), [(0.5, True), (1e-4, False)])
def test_a_long_training_says_how_long_it_will_take(monkeypatch, caplog, seconds, said):
    monkeypatch.setattr(
        Pace, "of", classmethod(lambda cls, *_: cls(descent=seconds, evaluation=seconds))
    )
    monkeypatch.setattr(execution, "_MANY", 0)
    with caplog.at_level(logging.WARNING, "ultrahyperbolic"):
        uh.embed(KARATE, iterations=40)
    assert ("40 iterations at most, in about 21 s" in caplog.text) == said
