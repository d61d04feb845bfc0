"""Bad steps are taken back, at iterations that do not depend on the clock."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ultrahyperbolic import PseudoHyperboloid, datasets
from ultrahyperbolic.engines.base import BatchState, RunSpec, Schedule
from ultrahyperbolic.engines.callbacks import guard
from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.loop import Every, run
from ultrahyperbolic.objective import RankedPairs

KARATE = RankedPairs.of(datasets.karate())
M = PseudoHyperboloid(3, 1, -4.0)
START = M.random_near_pole(34, epsilon=0.05, generator=torch.Generator().manual_seed(0)).numpy()


def batch(iterations=300, tau=0.01, step=2e-5, runs=1):
    spec = RunSpec(M, Schedule.constant(iterations, temperature=tau, step=step))
    return [spec] * runs, BatchState.start([START] * runs)


def spoil(name, at, run_number=0):
    def change(progress):
        if progress.iteration == at:
            getattr(progress.state, name)[run_number, 3, 1] = np.nan

    return Every(at, change)


@pytest.mark.parametrize("name", ["points", "best"])
def test_what_is_not_finite_goes_back_with_half_the_step(name):
    specs, state = batch(runs=2)
    callbacks = [spoil(name, 130), guard(specs, state, compare=False)]
    outcome = run(NumbaEngine(KARATE, specs, threads=1), state, 300, callbacks=callbacks)
    assert state.nonfinite.tolist() == state.steps_back.tolist() == [1, 0]
    assert state.record["step_scale"].tolist() == [0.5, 1.0]
    assert np.isfinite(state.points).all()
    assert np.isfinite(state.best).all()
    assert np.isfinite(outcome.losses[1]).all()


@pytest.mark.parametrize("name", ["offsets", "best_offsets"])
def test_offsets_that_are_not_finite_go_back_too(name):
    specs, state = batch()
    specs = [replace(spec, popularity=True) for spec in specs]

    def change(progress):
        if progress.iteration == 130:
            getattr(progress.state, name)[0, 3] = np.nan

    callbacks = [Every(130, change), guard(specs, state, compare=False)]
    run(NumbaEngine(KARATE, specs, threads=1), state, 300, callbacks=callbacks)
    assert state.nonfinite.tolist() == [1]
    assert np.isfinite(state.offsets).all()
    assert np.isfinite(state.best_offsets).all()
    assert state.offsets.any()


def test_a_run_that_has_seen_no_good_points_goes_back_to_its_start():
    specs, state = batch(step=0.0)
    look = guard(specs, state, compare=True)
    state.points[:] = state.best[:] = np.nan
    engine = NumbaEngine(KARATE, specs, threads=1)
    run(engine, state, 100, callbacks=[look])
    assert np.array_equal(state.points[0], START)
    assert state.record["best_loss"][0] == np.inf
    assert state.record["best_iteration"][0] == -1


def test_where_chunks_end_changes_nothing():
    ends = []
    for cut in (100, 7, 1):
        specs, state = batch(tau=0.01, step=1e-3)
        callbacks = [guard(specs, state, compare=True), Every(cut, lambda now: None)]
        losses = run(NumbaEngine(KARATE, specs, threads=1), state, 300, callbacks=callbacks).losses
        ends.append((losses, state))
    assert ends[0][1].steps_back[0] > 0
    for losses, state in ends[1:]:
        assert np.array_equal(losses, ends[0][0])
        assert np.array_equal(state.points, ends[0][1].points)
        assert np.array_equal(state.rows, ends[0][1].rows)
