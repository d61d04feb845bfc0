"""Evaluations that look at near pairs alone, against those that look at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ultrahyperbolic import PseudoHyperboloid
from ultrahyperbolic.engines.base import BatchState, RunSpec, Schedule
from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.engines.numba.near import NearPairs

N = 203


def engine_of(pairs, manifold, tau, *, popularity=False):
    schedule = Schedule.constant(1, temperature=tau, step=0.1, epsilon=1e-5)
    spec = RunSpec(manifold, schedule, "smoothed", popularity=popularity)
    return NumbaEngine(pairs, [spec], threads=1)


def walk(manifold, length):
    """States of which each is near the one before, but for a jump in the middle."""
    generator = torch.Generator().manual_seed(1)
    z = manifold.random_near_pole(N, epsilon=0.3, generator=generator)
    for step in range(24):
        far = 0.3 if step == 12 else length
        z = manifold.phi(z + far * torch.randn(z.shape, generator=generator, dtype=z.dtype))
        yield BatchState.start([z.numpy()])


@pytest.mark.parametrize(("p", "q"), [(2, 2), (4, 0), (3, 1), (0, 3)])
@pytest.mark.parametrize("tau", [7e-4, 0.01, 0.5])
def test_what_is_remembered_changes_nothing(pairs, p, q, tau):
    manifold = PseudoHyperboloid(p, q)
    engine = engine_of(pairs, manifold, tau)
    nearby = engine.nearby()
    for state in walk(manifold, 1e-4):
        found, truth = nearby(state), engine.evaluate(state)
        np.testing.assert_allclose(found.loss, truth.loss, rtol=1e-11)
        scale = np.abs(truth.gradient).max()
        np.testing.assert_allclose(found.gradient, truth.gradient, rtol=1e-8, atol=1e-10 * scale)


def test_a_part_of_the_pairs_stays_a_part(pairs, monkeypatch):
    monkeypatch.setattr("ultrahyperbolic.engines.numba.engine.EXACT_NODES", N - 1)
    manifold = PseudoHyperboloid(2, 2)
    whole = engine_of(pairs, manifold, 7e-4)
    engine = NumbaEngine(
        pairs, [replace(spec, schedule=replace(spec.schedule, parts=5)) for spec in whole.specs]
    )
    nearby = engine.nearby()
    for state in walk(manifold, 1e-6):
        found, truth = nearby(state), engine.evaluate(state)
        np.testing.assert_array_equal(found.loss, truth.loss)
        np.testing.assert_array_equal(found.gradient, truth.gradient)


@pytest.mark.parametrize("shift", [0.1, 1e-3, 1e-5])
@pytest.mark.parametrize("tau", [7e-4, 0.01])
def test_pairs_that_offsets_bring_near_are_not_forgotten(pairs, tau, shift):
    manifold, rng = PseudoHyperboloid(2, 2), np.random.default_rng(2)
    engine = engine_of(pairs, manifold, tau, popularity=True)
    nearby, offsets = engine.nearby(), 0.1 * rng.normal(size=N)
    for state in walk(manifold, 1e-5):
        offsets += shift * rng.normal(size=N)
        state.offsets[:] = offsets
        found, truth = nearby(state), engine.evaluate(state)
        np.testing.assert_allclose(found.loss, truth.loss, rtol=1e-11)
        for name in ("gradient", "offsets"):
            wanted = getattr(truth, name)
            np.testing.assert_allclose(
                getattr(found, name), wanted, rtol=1e-8, atol=1e-10 * np.abs(wanted).max()
            )


@pytest.mark.parametrize("popularity", [False, True])
def test_lists_serve_while_points_hardly_move_and_not_after_a_jump(pairs, popularity, monkeypatch):
    manifold, served, look = PseudoHyperboloid(2, 2), [], NearPairs.look

    def counting(self, *arguments):
        served.append(look(self, *arguments))
        return served[-1]

    monkeypatch.setattr(NearPairs, "look", counting)
    nearby = engine_of(pairs, manifold, 7e-4, popularity=popularity).nearby()
    for state in walk(manifold, 1e-6):
        state.offsets[:] = 0.01 * np.arange(N) / N
        nearby(state)
    assert [number for number, listed in enumerate(served) if not listed] == [0, 12]
    served.clear()
    nearby = engine_of(pairs, manifold, 7e-4).nearby()
    for state in walk(manifold, 0.3):
        nearby(state)
    assert not any(served)


def test_a_list_that_would_hold_most_pairs_is_given_up(pairs):
    manifold = PseudoHyperboloid(2, 2)
    nearby = engine_of(pairs, manifold, 0.2).nearby()
    for state in walk(manifold, 1e-6):
        nearby(state)
    (near,) = nearby.keywords["lists"]
    assert near.count == -1, "it is given up"
