"""Values that are not finite, wherever they come from: caught, taken back, counted, told, and never
written.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import ultrahyperbolic as uh
from ultrahyperbolic.embedding.record import RunRecord
from ultrahyperbolic.engines.base import BatchState, Machine
from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.engines.reference import ReferenceEngine
from ultrahyperbolic.files import read_sealed_json
from ultrahyperbolic.loop import Checkpoint
from ultrahyperbolic.paper.figures import last_loss
from ultrahyperbolic.training import train as training
from ultrahyperbolic.training.checkpoint import CHECKPOINT, write_checkpoint
from ultrahyperbolic.training.config import TrainingConfig
from ultrahyperbolic.training.train import embed_many

KARATE = uh.datasets.karate()


@pytest.fixture
def poison(monkeypatch):
    """Spoil arrays of a training's first run after some iteration."""

    def at(iteration, *names, value=np.nan, engine=NumbaEngine):
        advance = engine.advance

        def advance_and_spoil(self, state, iterations):
            before = iteration - state.iteration
            if not 0 <= before < iterations:
                return advance(self, state, iterations)
            losses = [advance(self, state, before)] if before else []
            for name in names:
                getattr(state, name)[0, :7] = value
            return np.concatenate([*losses, advance(self, state, iterations - before)], axis=1)

        monkeypatch.setattr(engine, "advance", advance_and_spoil)

    return at


@pytest.mark.parametrize(
    "names", [("points",), ("points", "free"), ("points", "free", "best"), ("best",)]
)
@pytest.mark.parametrize(
    "iteration", [30, 450]
)  # while the schedule cools, and when it has settled
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_they_are_taken_back(poison, names, iteration, value):
    poison(iteration, *names, value=value)
    configs = [TrainingConfig(p=3, q=3, iterations=600, seed=seed) for seed in (0, 1)]
    spoilt, sound = embed_many(KARATE, configs)
    assert np.isfinite(spoilt.points).all()
    assert spoilt.run["measures"]["violated_orders"] < 0.1
    losses = spoilt.run["loss"]
    assert len(losses) == spoilt.run["iterations"] == 600
    assert np.isfinite([loss for loss in losses if loss is not None]).all()
    assert losses[spoilt.run["best_iteration"]] == spoilt.run["best_loss"]
    assert sound.run["steps_back"] == sound.run["nonfinite"] == 0
    if "points" in names:
        assert spoilt.run["steps_back"] >= spoilt.run["nonfinite"] >= 1


def test_without_step_back_and_with_the_reference_too(poison):
    poison(20, "points", engine=ReferenceEngine)
    (found,) = embed_many(
        KARATE,
        [TrainingConfig(iterations=120, step_back=False)],
        machine=Machine(backend="reference"),
    )
    assert np.isfinite(found.points).all()
    assert found.run["nonfinite"] == 1
    losses = found.run["loss"]
    assert len(losses) == found.run["iterations"] == 120
    assert [k for k, loss in enumerate(losses) if loss is None] == list(range(20, 100)), (
        "none is left out"
    )


def train(iterations):
    (found,) = embed_many(
        KARATE,
        [TrainingConfig(iterations=iterations)],
        measures=False,
        machine=Machine(backend="reference"),
    )
    return found.run


@pytest.mark.slow
def test_the_loss_stays_where_it_was(poison, monkeypatch):
    sound = train(240)
    poison(30, "points", engine=ReferenceEngine)
    whole = train(240)
    monkeypatch.setattr(training, "_LOSS_POINTS", 40)
    thinned = train(240)
    losses = whole["loss"]
    assert losses[:30] == sound["loss"][:30]
    assert losses[30:100] == [None] * 70
    assert thinned["loss_every"] == 6
    assert thinned["loss"] == losses[::6]
    for run in (whole, thinned):
        assert run["best_loss"] == losses[run["best_iteration"]] == min(losses[180:])


def test_what_reads_the_loss_of_a_record_finds_gaps(poison, tmp_path):
    poison(60, "points", engine=ReferenceEngine)  # and not taken back before it ends
    (trained,) = embed_many(
        KARATE,
        [TrainingConfig(iterations=90)],
        measures=False,
        machine=Machine(backend="reference"),
    )
    trained.save(tmp_path)
    loaded = uh.load(tmp_path)
    losses = loaded.run["loss"]
    assert losses == trained.run["loss"]
    assert [k for k, loss in enumerate(losses) if loss is None] == list(range(60, 90))
    (line,) = uh.plot.losses({"club": loaded}).axes[0].lines
    assert line.get_xdata().tolist() == list(range(90))
    np.testing.assert_array_equal(line.get_ydata(), [*losses[:60], *[np.nan] * 30])
    assert last_loss(loaded) == losses[59]


def test_the_command_tells_and_writes_what_is_finite(call, poison):
    poison(30, "points")
    result = call("embed karate -o club --iterations 600 --temperature 0.1 --checkpoint-every 0")
    run = read_sealed_json(Path("club/run.json"))
    assert result.exit_code == 0
    assert run["nonfinite"] == 1
    assert (
        "  the training diverged 1 times and went back, each time with half the step\n"
        in result.stdout
    )
    assert np.isfinite(uh.load("club").points).all()


def test_they_are_never_in_a_checkpoint(tmp_path):
    start = TrainingConfig().starting_points(KARATE)
    so_far = Checkpoint(BatchState.start([start]), np.zeros((1, 3)), 1.0)
    write_checkpoint(tmp_path, so_far, RunRecord())
    before = (tmp_path / CHECKPOINT).read_bytes()
    for name in ("points", "free", "best"):
        state = BatchState.start([start])
        getattr(state, name)[0, 3, 1] = np.nan
        state.iteration = 7
        write_checkpoint(tmp_path, dataclasses.replace(so_far, state=state), RunRecord())
        assert (tmp_path / CHECKPOINT).read_bytes() == before
