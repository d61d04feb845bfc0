"""How long a training takes, and what there is time for."""

from __future__ import annotations

import logging

import pytest

import ultrahyperbolic as uh
from ultrahyperbolic import TrainingConfig
from ultrahyperbolic.engines.base import Machine
from ultrahyperbolic.training import execution
from ultrahyperbolic.training.method import recipe
from ultrahyperbolic.training.pace import Pace
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
    # The paper's recipe has no schedule to fit.
    paper = execution.Execution(Plan.of(preset="paper", time_limit=20.0), KARATE)
    paper.prepare()
    assert paper.configs[0].iterations == 10_000


@pytest.mark.parametrize(("seconds", "said"), [(0.5, True), (1e-4, False)])
def test_a_long_training_says_how_long_it_will_take(monkeypatch, caplog, seconds, said):
    monkeypatch.setattr(Pace, "of", classmethod(lambda cls, *_: cls(descent=seconds, evaluation=seconds)))
    monkeypatch.setattr(execution, "_MANY", 0)
    with caplog.at_level(logging.WARNING, "ultrahyperbolic"):
        uh.embed(KARATE, iterations=40)
    assert ("40 iterations at most, in about 21 s" in caplog.text) == said
