"""What a training is asked to do: what is taken, what is refused, and what earlier records hold."""

from __future__ import annotations

import math
import warnings

import pytest

import ultrahyperbolic as uh
from ultrahyperbolic.training.config import TrainingConfig
from ultrahyperbolic.training.train import embed_many

KARATE = uh.datasets.karate()


def test_flat_space_has_no_signature():
    config = TrainingConfig(flat=4)
    assert (config.p, config.q, config.flat) == (None, None, 4)
    assert (TrainingConfig().p, TrainingConfig().q) == (3, 1)
    with pytest.raises(
        ValueError, match="a geometry has p and q, or is flat, got p=3, q=1 and flat=4"
    ):
        TrainingConfig(p=3, q=1, flat=4)
    with pytest.raises(
        ValueError, match="a geometry has p and q, or is flat, got p=None, q=1 and flat=None"
    ):
        TrainingConfig(q=1)


def test_earlier_records_of_flat_space_load():
    record = {**TrainingConfig(flat=2).to_json(), "p": 3, "q": 1, "beta": -2.0}
    assert TrainingConfig.from_json(record) == TrainingConfig(flat=2)
    assert TrainingConfig.from_json(
        {"p": 2, "q": 1, "hubs": 5.0, "scope": "graph"}
    ) == TrainingConfig(2, 1)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"best_every": 0}, ValueError, "best_every must be at least 1, got 0"),
        ({"best_every": 2.5}, TypeError, "best_every must be an integer, got 2.5"),
        (
            {"drop_factor": -1.0},
            ValueError,
            "drop_factor must be a finite positive number, got -1.0",
        ),
        (
            {"drop_below": math.nan},
            ValueError,
            "drop_below must be a finite number or None, got nan",
        ),
        (
            {"flat": 4, "beta": -2.0},
            ValueError,
            "beta curves a manifold, and flat space has no curvature",
        ),
        ({"flat": 0}, ValueError, "flat must be at least 1, got 0"),
        ({"iterations": True}, TypeError, "iterations must be an integer, got True"),
        ({"iterations": 2.0}, TypeError, "iterations must be an integer, got 2.0"),
        ({"seed": "3"}, TypeError, "seed must be an integer, got '3'"),
    ],
)
def test_settings_that_would_be_ignored_are_refused(settings, error, words):
    with pytest.raises(error) as caught:
        TrainingConfig(**settings)
    assert words in str(caught.value)


@pytest.mark.parametrize("time_limit", [-1.0, 0.0, math.nan, math.inf])
def test_a_limit_that_is_no_time_is_refused(time_limit):
    words = f"time_limit must be a finite positive number, got {time_limit}"
    for call in (
        lambda: uh.embed(KARATE, iterations=5, time_limit=time_limit, quiet=True),
        lambda: uh.embed(KARATE, dim=2, iterations=5, time_limit=time_limit, quiet=True),
        lambda: embed_many(KARATE, [TrainingConfig(iterations=5)], time_limit=time_limit),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_the_words_of_earlier_records_are_read_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for former, name in (
            ("smoothed_dissimilarity", "smoothed"),
            ("dist", "distance"),
            ("cone_rule", "cone-rule"),
        ):
            data = {"p": 2, "q": 0, "temperature": [0.1, 0.01], "dissimilarity": former}
            assert TrainingConfig.from_json(data).dissimilarity == name
    with pytest.raises(ValueError, match="unknown training settings: speed"):
        TrainingConfig.from_json({"speed": 3})
