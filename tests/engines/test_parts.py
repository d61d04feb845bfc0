"""Iterations that look at a part of the pairs, and moves in units of the spread."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ultrahyperbolic import Euclidean, PseudoHyperboloid
from ultrahyperbolic.engines.base import CELL, BatchState, RunSpec, Schedule
from ultrahyperbolic.engines.callbacks import follow_spread, spread_of
from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.engines.reference import ReferenceEngine
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.loop import Progress
from ultrahyperbolic.objective import RankedPairs

N = 203  # no multiple of a cell, and more nodes than are kept pair by pair


def spec(manifold, parts, iterations=12, tau=0.05, max_step=0.01):
    full = np.full(iterations, 1.0)
    schedule = Schedule(tau * full, 0.01 * full, 1e-3 * full, max_step * full, parts=parts)
    return RunSpec(manifold, schedule, "smoothed", keep="last")


def start(manifold, seed=0):
    return manifold.random_near_pole(
        N, epsilon=0.3, generator=torch.Generator().manual_seed(seed)
    ).numpy()


SPACES = [
    PseudoHyperboloid(2, 2),
    PseudoHyperboloid(4, 0),
    PseudoHyperboloid(0, 3, -4.0),
    Euclidean(3),
]


@pytest.mark.parametrize("tau", [1.0, 0.05, 1e-3])
@pytest.mark.parametrize("parts", [2, 3, 7])
@pytest.mark.parametrize("manifold", SPACES, ids=str)
def test_a_part_of_the_pairs_is_that_of_the_definition(pairs, manifold, parts, tau):
    specs = [spec(manifold, parts, tau=tau)]
    states = [BatchState.start([start(manifold)]) for _ in range(2)]
    engines = NumbaEngine(pairs, specs), ReferenceEngine(pairs, specs)
    losses = [engine.advance(state, 9) for engine, state in zip(engines, states, strict=True)]
    np.testing.assert_allclose(*losses, rtol=1e-9)
    np.testing.assert_allclose(states[0].points, states[1].points, rtol=1e-7, atol=1e-9)
    whole = NumbaEngine(pairs, [spec(manifold, 1, tau=tau)]).advance(
        BatchState.start([start(manifold)]), 9
    )
    assert not np.allclose(whole, losses[0], rtol=1e-6), "another sum is another loss"


@pytest.mark.parametrize("tau", [0.05, 0.003])
def test_a_part_of_many_pairs_is_that_of_the_definition_on_any_threads(tau):
    """There are several slabs, and a table of the smoothed dissimilarity; few pairs of a tile
    count, some, or most.
    """
    n, manifold, rng = 803, PseudoHyperboloid(2, 2), np.random.default_rng(1)
    pairs = RankedPairs.of(
        Graph.from_arrays(np.arange(n - 1), np.arange(1, n), rng.integers(1, 4, n - 1), ids=n)
    )
    points = manifold.random_near_pole(
        n, epsilon=0.3, generator=torch.Generator().manual_seed(0)
    ).numpy()
    specs, states = [spec(manifold, 3, tau=tau)], [BatchState.start([points]) for _ in range(3)]
    engines = (
        NumbaEngine(pairs, specs, threads=1),
        NumbaEngine(pairs, specs, threads=2),
        ReferenceEngine(pairs, specs),
    )
    losses = [engine.advance(state, 3) for engine, state in zip(engines, states, strict=True)]
    assert np.array_equal(losses[0], losses[1])
    assert np.array_equal(states[0].points, states[1].points)
    np.testing.assert_allclose(losses[0], losses[2], rtol=1e-9)
    np.testing.assert_allclose(states[0].points, states[2].points, rtol=1e-7, atol=1e-9)


def test_every_pair_is_in_one_part_of_a_round():
    i, j = np.triu_indices(N, 1)
    part = (i // CELL[0] + j // CELL[1]) % 5
    assert np.bincount(part).min() > 0.15 * len(i)
    # Every node meets others in every part.
    met = np.zeros((N, 5), dtype=int)
    np.add.at(met, (i, part), 1)
    np.add.at(met, (j, part), 1)
    assert met.min() >= 10


@pytest.mark.parametrize("engine", [NumbaEngine, ReferenceEngine])
def test_an_evaluation_looks_at_all_pairs(pairs, engine):
    manifold = PseudoHyperboloid(2, 2)
    found = [
        engine(pairs, [spec(manifold, parts)]).evaluate(BatchState.start([start(manifold)]))
        for parts in (1, 4)
    ]
    assert found[0].loss == found[1].loss
    assert np.array_equal(found[0].gradient, found[1].gradient)


def test_threads_and_batches_do_not_change_a_sample(pairs):
    manifold = PseudoHyperboloid(2, 2)
    specs = [spec(manifold, 3), spec(manifold, 1)]
    both = BatchState.start([start(manifold, 0), start(manifold, 1)])
    NumbaEngine(pairs, specs, threads=2).advance(both, 8)
    for number in range(2):
        alone = BatchState.start([start(manifold, number)])
        NumbaEngine(pairs, specs[number : number + 1], threads=1).advance(alone, 8)
        assert np.array_equal(alone.points[0], both.points[number])


def test_the_spread_is_of_directions_in_time_and_places_in_space():
    manifold = PseudoHyperboloid(2, 2)
    points = start(manifold, 3)
    chart = np.concatenate(
        (points[:, :3] / np.linalg.norm(points[:, :3], axis=1)[:, None], points[:, 3:]), axis=1
    )
    distances = [np.sum((x - y) ** 2) for x in chart for y in chart]
    assert spread_of(points, 3) == pytest.approx(np.sqrt(np.mean(distances) / 2))
    flat = np.random.default_rng(0).standard_normal((50, 3))
    assert spread_of(flat, 0) == pytest.approx(np.sqrt(flat.var(0).sum()))


def test_in_hyperbolic_space_the_spread_is_of_geodesics_from_the_pole():
    manifold = PseudoHyperboloid(3, 0)
    directions = np.random.default_rng(0).standard_normal((50, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    tangents = torch.from_numpy(np.concatenate((np.zeros((50, 1)), 10.0 * directions), axis=1))
    pole = torch.tensor([1.0, 0.0, 0.0, 0.0], dtype=torch.float64).expand(50, 4)
    far = manifold.expmap(pole, tangents).numpy()
    assert np.abs(far).max() > 1e4
    assert spread_of(far, 1) == pytest.approx(10.0 * np.sqrt(directions.var(0).sum()))
    assert np.isfinite(spread_of(pole.numpy(), 1))


@pytest.mark.parametrize("manifold", SPACES, ids=str)
@pytest.mark.parametrize("engine", [NumbaEngine, ReferenceEngine])
def test_no_point_moves_farther_than_its_share_of_the_spread(pairs, manifold, engine):
    share, steps = 0.1, np.full(60, 1.0)
    specs = [
        RunSpec(
            manifold, Schedule(steps, steps, 1e6 * steps, share * steps), "smoothed", keep="last"
        )
    ]
    state = BatchState.start(
        [0.3 * start(manifold) if isinstance(manifold, Euclidean) else start(manifold)]
    )
    following = follow_spread(specs, [True], state)
    reach = float(state.record["reach"][0])
    quadric = manifold.quadric
    radius, time = (1.0, 0) if quadric is None else (quadric.radius, quadric.time)
    assert reach == pytest.approx(radius * spread_of(state.points[0] / radius, time))
    before = state.points.copy()
    made = engine(pairs, specs)
    made.advance(state, 1)
    moved = np.linalg.norm(state.points - before, axis=-1)
    assert moved.max() <= 1.1 * share * reach  # the exponential map bends a little
    assert np.median(moved) > 0.5 * share * reach, "so large a step is cut to the bound"
    losses = made.advance(state, 49)
    following(Progress(50, 60, losses[:, -1], 0.0, state, [losses]))
    assert state.record["reach"][0] != reach
