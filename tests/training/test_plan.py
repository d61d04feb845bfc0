"""What a user asks is a plan; wrong ones are told before anything is computed, and all callers
carry it out alike.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ultrahyperbolic as uh
from ultrahyperbolic.embedding.record import Training
from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.options import Options
from ultrahyperbolic.training.execution import Execution
from ultrahyperbolic.training.inputs import Choice, UsualGeometry, geometry_of
from ultrahyperbolic.training.plan import Plan

KARATE = uh.datasets.karate()


@pytest.fixture
def no_training(monkeypatch):
    monkeypatch.setattr(NumbaEngine, "advance", lambda *_: pytest.fail("a training began"))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"threads": 0}, ValueError, "threads must be at least 1, got 0"),
        ({"threads": 1.5}, TypeError, "threads must be an integer, got 1.5"),
        ({"backend": "gpu"}, ValueError, "backend must be one of"),
        ({"precision": "float16"}, ValueError, "precision must be one of"),
        (
            {"precision": "float32", "backend": "reference"},
            ValueError,
            "precision 'float32' is of",
        ),
        ({"beta": 1.0}, ValueError, "beta must be finite and negative, got 1.0"),
        ({"seed": -1}, ValueError, "seed must be a non-negative integer below 2**63, got -1"),
        ({"iterations": 0}, ValueError, "iterations must be at least 1, got 0"),
        ({"dim": 0}, ValueError, "dim must be at least 1, got 0"),
        ({"dim": 2.5}, TypeError, "dim must be an integer, got 2.5"),
    ],
)
def test_wrong_options_are_told_before_any_training(no_training, options, error, words):
    for call in (uh.select, uh.embed):
        with pytest.raises(error) as caught:
            call(KARATE, **{"dim": 2, "iterations": 8, **options}, quiet=True)
        assert words in str(caught.value)


def test_only_a_geometry_that_nobody_named_grows_with_the_graph():
    large = Graph.from_arrays(np.arange(40_000), (np.arange(40_000) + 1) % 40_000, ids=40_000)
    named: list[tuple[Options, str]] = [
        ({}, "Q^{4,4}"),
        ({"beta": -4.0}, "Q^{4,4}"),
        ({"signature": "3,3"}, "Q^{3,3}"),
        ({"preset": "paper"}, "Q^{3,3}"),
    ]
    for options, name in named:
        config = Execution(Plan.of(**options), large).configs[0]
        assert config.geometry.name.startswith(name)
        assert config.beta == options.get("beta", -1.0)
    assert Execution(Plan.of(), KARATE).configs[0].geometry == Geometry(3, 3)


def test_words_name_a_geometry_or_a_choice():
    assert geometry_of() == UsualGeometry(3, 3)
    assert geometry_of(2, 2, beta=-4.0) == Geometry(2, 2, None, -4.0)
    assert geometry_of(flat=True) == Geometry(flat=4)
    assert geometry_of(dim=3, flat=True) == Geometry(flat=3)
    assert geometry_of(dim=1, beta=-2.0) == Choice(
        (Geometry(flat=1), Geometry(1, 0, None, -2.0), Geometry(0, 1, None, -2.0))
    )
    for signature in ((2, 1), "2,1", [2, 1]):
        assert geometry_of(signature=signature) == Geometry(2, 1)
    assert geometry_of(signature="flat", dim=3) == Geometry(flat=3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"p": 3}, "p and q go together, got p = 3 and q = None"),
        ({"flat": True, "beta": -2.0}, "flat space has no curvature: leave it out, got -2"),
        ({"signature": "3,1", "p": 3, "q": 1}, "leave p, q and flat out"),
        ({"signature": "3,1", "dim": 4}, "gives the dimension, 4: leave dim out"),
        *(({"signature": bad}, "signature must be") for bad in ("3", "x,y", (1, 2, 3), 7)),
    ],
)
def test_words_that_name_no_geometry_or_two_are_refused(words, said):
    with pytest.raises(ValueError, match=said):
        geometry_of(**words)


def test_a_plan_gives_what_the_call_gives():
    called = uh.embed(KARATE, p=2, q=1, seed=3, iterations=30, temperature=(0.1, 0.01), quiet=True)
    planned = Execution(
        Plan.of(p=2, q=1, iterations=30, temperature=(0.1, 0.01), seed=3), KARATE
    ).train()
    assert np.array_equal(called.points, planned.points)
    assert {**called.run, "timing": None} == {**planned.run, "timing": None}


def test_a_training_goes_on_from_its_record():
    plan = Plan.of(p=2, q=1, iterations=30, max_step=0.1, seed=3, threads=1)
    execution = Execution(plan, KARATE)
    record = execution.prepare()
    assert record.training == Training([c.to_json() for c in execution.configs], "numba", "cpu")
    again = Execution.going_on(record, KARATE, threads=1, quiet=True)
    assert again.configs == execution.configs
    assert np.array_equal(
        again.train(measures=False).points, execution.train(measures=False).points
    )
    for wrong in (None, Training([], "numba", "cpu")):
        with pytest.raises(ValueError, match="the record does not say what is trained"):
            Execution.going_on(replace(record, training=wrong), KARATE, threads=None, quiet=True)


def test_callbacks_are_one_or_several():
    seen = []
    for callback in (seen.append, [seen.append, lambda progress: seen.append(progress.iteration)]):
        uh.embed(KARATE, p=2, q=1, iterations=3, max_step=0.1, quiet=True, callback=callback)
    assert seen[-1] == 3
    with pytest.raises(TypeError, match="callback must be callable, got 7"):
        uh.embed(KARATE, callback=[7], quiet=True)


def test_that_a_large_graph_is_trained_in_parts_is_said(caplog, monkeypatch):
    Execution(Plan.of(iterations=2), KARATE, quiet=False).train(measures=False)
    assert not caplog.messages
    monkeypatch.setattr("ultrahyperbolic.training.execution.ends_exactly", lambda *_: False)
    Execution(Plan.of(iterations=2), KARATE, quiet=False).train(measures=False)
    assert "training on parts of them" in caplog.text
