"""How long a training takes, and what there is time for."""

from __future__ import annotations

import logging
import time

import pytest

import ultrahyperbolic as uh
from ultrahyperbolic import TrainingConfig
from ultrahyperbolic.engines.base import Machine
from ultrahyperbolic.training import execution
from ultrahyperbolic.training.execution import Pace
from ultrahyperbolic.training.method import recipe
from ultrahyperbolic.training.plan import Plan

KARATE = uh.datasets.karate()


def test_a_schedule_is_fitted_to_the_time():
    config = recipe(TrainingConfig(2, 2, iterations=1000), KARATE)
    pace = Pace(descent=0.01, evaluation=0.1)
    assert pace.expected(config) == pytest.approx(850 * 0.01 + 150 * 0.125)
    assert pace.fitted(config, 60.0) is config
    fewer = pace.fitted(config, 10.0)
    assert 0.8 * 10.0 < pace.expected(fewer) <= 10.0
    assert pace.fitted(config, 1e-3).iterations == 20


def test_it_is_measured():
    pace = Pace.of(KARATE, [recipe(TrainingConfig(2, 2), KARATE)], Machine())
    assert 0.0 < pace.descent < 1.0
    assert 0.0 < pace.evaluation < 1.0


def test_a_time_limit_shortens_the_schedule_instead_of_cutting_it_off(monkeypatch):
    monkeypatch.setattr(Pace, "of", classmethod(lambda cls, *_: cls(descent=0.1, evaluation=0.1)))
    embedding = uh.embed(KARATE, p=2, q=2, time_limit=20.0, quiet=True)
    result = embedding.record.result
    assert 100 < embedding.record.config["iterations"] < 250
    assert not embedding.record.unfinished
    assert result.iterations <= embedding.record.config["iterations"]
    # Of fewer moves each is longer.
    usual = execution.Execution(Plan.of(p=2, q=2), KARATE).configs[0]
    assert embedding.record.config["max_step"][0] > usual.max_step[0]
    # The paper's recipe has no schedule to fit.
    paper = execution.Execution(Plan.of(preset="paper", time_limit=20.0), KARATE)
    paper.prepare()
    assert paper.configs[0].iterations == 10_000


def test_a_time_limit_includes_what_comes_before_and_after_the_training(monkeypatch, caplog):
    monkeypatch.setattr(Pace, "of", classmethod(lambda cls, *_: cls(descent=0.01, evaluation=0.01)))

    def fitted(**options):
        found = execution.Execution(Plan.of(p=2, q=2, time_limit=10.0), KARATE, quiet=False, **options)
        found.prepare()
        return found

    now = time.monotonic()
    at_once, late = fitted(began=now), fitted(began=now - 6.0)
    assert late.configs[0].iterations < 0.6 * at_once.configs[0].iterations
    assert at_once.configs[0].iterations * 0.01 <= 0.8 * 10.0, "measures and the report have a share"
    assert "too short" not in caplog.text
    few = f"a time limit of 10 s leaves time for {late.configs[0].iterations} of 1835 iterations"
    assert [few in line for line in caplog.messages].count(True) == 1
    caplog.clear()
    gone = fitted(began=now - 60.0)
    assert "leaves time" not in caplog.text
    assert "a time limit of 10 s is too short: the shortest training takes about 6" in caplog.text
    embedding = gone.train()
    assert embedding.record.stopped.text == "reached the time limit of 10 s"
    assert embedding.record.result.iterations < gone.configs[0].iterations


@pytest.mark.parametrize(("evaluation", "sampled"), [(0.001, False), (1.0, True)])
def test_measures_come_from_a_sample_where_they_would_take_much_of_the_time(monkeypatch, evaluation, sampled):
    monkeypatch.setattr(Pace, "of", classmethod(lambda cls, *_: cls(descent=0.001, evaluation=evaluation)))
    embedding = uh.embed(KARATE, p=2, q=2, iterations=40, time_limit=60.0, quiet=True)
    assert ("map_error" in embedding.record.measures) == sampled


@pytest.mark.parametrize(("seconds", "said"), [(0.5, True), (1e-4, False)])
def test_a_long_training_says_how_long_it_will_take(monkeypatch, caplog, seconds, said):
    monkeypatch.setattr(Pace, "of", classmethod(lambda cls, *_: cls(descent=seconds, evaluation=seconds)))
    monkeypatch.setattr(execution, "_MANY", 0)
    with caplog.at_level(logging.WARNING, "ultrahyperbolic"):
        uh.embed(KARATE, iterations=40)
    assert ("40 iterations at most, in about 21 s" in caplog.text) == said
