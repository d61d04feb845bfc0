"""Offsets of nodes: pairs compared by d_ij - a_i - a_j, every engine against a literal
transcription.
"""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest
import torch
from backends import MANIFOLDS, literal, random_pairs, spec_of, spread_points

from ultrahyperbolic import Euclidean, PseudoHyperboloid
from ultrahyperbolic.engines.base import FADING, OPTIMIZERS, BatchState, RunSpec, Schedule
from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.engines.reference import ReferenceEngine
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.objective import RankedPairs

SINGLE = functools.partial(NumbaEngine, precision="float32")
TEMPERATURES = [1.0, 0.05, 7e-4]
ENGINES = (ReferenceEngine, NumbaEngine)


def popular_spec(manifold, tau, **options):
    return replace(spec_of(manifold, "smoothed", tau, **options), popularity=True)


def some_offsets(n, size=0.3, seed=5):
    return size * np.random.default_rng(seed).standard_normal(n)


def state_of(points, offsets):
    state = BatchState.start([np.asarray(points)])
    state.offsets[:] = offsets
    return state


def error(found, expected, manifold, points):
    """The largest relative error of the loss, of its gradient in the tangent spaces, and of that in
    the offsets.
    """
    value, slope, offsets = expected
    tangent = [
        manifold.egrad2rgrad(points, g) for g in (slope, torch.from_numpy(found.gradient[0]))
    ]
    largest = [max(float(array.abs().max()), 1e-300) for array in (tangent[0], offsets)]
    return max(
        abs(found.loss[0] - value) / max(value, 1e-300),
        float((tangent[1] - tangent[0]).abs().max()) / largest[0],
        float((torch.from_numpy(found.offsets[0]) - offsets).abs().max()) / largest[1],
    )


def graph_of(edges, weights, n):
    ends = np.array(edges)
    return RankedPairs.of(
        Graph.from_arrays(ends[:, 0], ends[:, 1], np.array(weights, dtype=float), ids=n)
    )


CLIQUE = [(i, j) for i in range(9) for j in range(i)]
GRAPHS = {
    "three capacities": random_pairs(30, "tied"),
    "a star": graph_of([(0, k) for k in range(1, 15)], [k % 4 + 1 for k in range(1, 15)], 15),
    "a complete graph": graph_of(CLIQUE, [1 + (i * j) % 3 for i, j in CLIQUE], 9),
    "more than are kept pair by pair": random_pairs(105, "tied", degree=2),
}


CASES = [
    pytest.param(
        manifold,
        pairs,
        id=f"{manifold}-{name}",
        marks=[pytest.mark.slow] * name.startswith("more than"),
    )
    for manifold in (PseudoHyperboloid(2, 2, -4.0), Euclidean(3))
    for name, pairs in GRAPHS.items()
]


@pytest.mark.parametrize(("manifold", "pairs"), CASES)
def test_loss_and_gradients_are_the_literal_ones(manifold, pairs):
    points, offsets = spread_points(manifold, pairs.n_nodes), some_offsets(pairs.n_nodes)
    for tau in TEMPERATURES:
        expected = literal(pairs, points, manifold, tau, offsets)
        for engine, bound in ((ReferenceEngine, 1e-10), (NumbaEngine, 1e-10), (SINGLE, 1e-4)):
            found = engine(pairs, [popular_spec(manifold, tau)]).evaluate(state_of(points, offsets))
            assert error(found, expected, manifold, points) <= bound, (engine, tau)


@pytest.mark.parametrize(
    ("manifold", "n"),
    [(MANIFOLDS[k], 130) for k in (0, 1, 4)]
    + [pytest.param(MANIFOLDS[2], 900, marks=pytest.mark.slow)],
    ids=str,
)
@pytest.mark.parametrize(
    ("engine", "bound"),
    [(NumbaEngine, 1e-10), pytest.param(SINGLE, 1e-4, marks=pytest.mark.slow)],
    ids=["double", "single"],
)
def test_large_graphs_equal_the_reference(manifold, n, engine, bound):
    pairs, points = random_pairs(n, "tied"), spread_points(manifold, n)
    for tau, size in ((1.0, 0.3), (0.05, 2.0), (7e-4, 0.1), (7e-4, 2.0)):
        specs, state = [popular_spec(manifold, tau)], state_of(points, some_offsets(n, size))
        found = ReferenceEngine(pairs, specs).evaluate(state)
        expected = (
            float(found.loss[0]),
            torch.from_numpy(found.gradient[0]),
            torch.from_numpy(found.offsets[0]),
        )
        assert error(engine(pairs, specs).evaluate(state), expected, manifold, points) <= bound, tau


@pytest.mark.parametrize("engine_of", ENGINES)
def test_gradients_are_those_of_finite_differences(engine_of):
    manifold, pairs = Euclidean(3), random_pairs(120, "tied")
    points, offsets = spread_points(manifold, 120).numpy(), some_offsets(120)
    engine = engine_of(pairs, [popular_spec(manifold, 0.3)])
    found = engine.evaluate(state_of(points, offsets))
    rng = np.random.default_rng(3)
    for in_points, in_offsets in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0)):
        way, shift = (
            in_points * rng.standard_normal(points.shape),
            in_offsets * rng.standard_normal(120),
        )
        ends = [
            engine.evaluate(state_of(points + h * way, offsets + h * shift)).loss[0]
            for h in (1e-5, -1e-5)
        ]
        slope = (found.gradient[0] * way).sum() + found.offsets[0] @ shift
        assert abs((ends[0] - ends[1]) / 2e-5 - slope) <= 1e-6 * abs(slope)


def test_offsets_of_zero_change_nothing():
    manifold = PseudoHyperboloid(2, 2)
    for n in (40, 300):
        pairs, state = random_pairs(n, "tied"), state_of(spread_points(manifold, n), 0.0)
        spec = popular_spec(manifold, 0.05)
        for engine_of in ENGINES:
            one, other = (
                engine_of(pairs, [s]).evaluate(state)
                for s in (spec, replace(spec, popularity=False))
            )
            np.testing.assert_allclose(one.loss, other.loss, rtol=1e-12)
            np.testing.assert_allclose(
                one.gradient, other.gradient, rtol=1e-12, atol=1e-12 * np.abs(other.gradient).max()
            )
            assert not other.offsets.any()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_offsets_move_by_one_factor(optimizer):
    """The compiled moves are the reference's: bounded together, without a mean, after offsets have
    faded.
    """
    manifold, n = PseudoHyperboloid(2, 2, -4.0), 110
    pairs, points = random_pairs(n, "tied"), spread_points(manifold, n).numpy()
    schedule = Schedule.constant(6, temperature=0.05, step=0.01, max_step=2e-3)
    spec = RunSpec(manifold, schedule, "smoothed", optimizer, popularity=True)
    states = [state_of(points, some_offsets(n)) for _ in ENGINES]
    for engine_of, state in zip(ENGINES, states, strict=True):
        engine = engine_of(pairs, [spec])
        before, found = state.offsets.copy(), engine.evaluate(state)
        engine.advance(state, 1)
        moves = state.offsets - (1.0 - FADING * 2e-3 / 2.0) * before
        assert np.sqrt(np.square(moves).mean()) == pytest.approx(2e-3)
        assert moves.mean() == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_allclose(
            moves / np.abs(moves).max(), -found.offsets / np.abs(found.offsets).max(), atol=1e-9
        )
        engine.advance(state, 5)
    for name in ("points", "offsets", "best", "best_offsets"):
        np.testing.assert_allclose(
            getattr(states[-1], name), getattr(states[0], name), rtol=1e-8, atol=1e-8
        )


@pytest.mark.parametrize("parts", [1, 3])
def test_a_sample_of_the_pairs_is_the_references(parts):
    manifold, n = PseudoHyperboloid(2, 2), 300
    pairs, points = random_pairs(n, "tied"), spread_points(manifold, n).numpy()
    schedule = replace(
        Schedule.constant(4, temperature=0.05, step=1e-3, max_step=2e-3), parts=parts
    )
    states = [state_of(points, some_offsets(n)) for _ in range(2)]
    spec = RunSpec(manifold, schedule, "smoothed", popularity=True)
    losses = [
        engine_of(pairs, [spec]).advance(state, 4)
        for engine_of, state in zip((ReferenceEngine, NumbaEngine), states, strict=True)
    ]
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-9)
    np.testing.assert_allclose(states[1].offsets, states[0].offsets, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("n", [40, pytest.param(900, marks=pytest.mark.slow)])
def test_a_run_of_a_batch_is_that_run_alone_on_any_number_of_threads(n):
    manifold, pairs = PseudoHyperboloid(2, 2), random_pairs(n, "tied")
    schedule = Schedule.constant(4, temperature=0.05, step=1e-3, max_step=2e-3)
    spec = RunSpec(manifold, schedule, "smoothed", popularity=True)
    specs = [spec, replace(spec, popularity=False)]
    starts = [spread_points(manifold, n, seed=k).numpy() for k in range(2)]
    together = BatchState.start(starts)
    NumbaEngine(pairs, specs, threads=2).advance(together, 4)
    for k, one in enumerate(specs):
        for threads in (1, 3):
            alone = BatchState.start([starts[k]])
            NumbaEngine(pairs, [one], threads=threads).advance(alone, 4)
            assert np.array_equal(alone.points[0], together.points[k])
            assert np.array_equal(alone.offsets[0], together.offsets[k])
            assert alone.offsets.any() == one.popularity


@pytest.mark.parametrize("n", [40, 130])
def test_the_nearest_pair_is_that_of_what_is_compared(n):
    manifold, pairs = PseudoHyperboloid(2, 2), random_pairs(n, "tied")
    state = state_of(spread_points(manifold, n), some_offsets(n))
    specs = [popular_spec(manifold, 0.05)]
    found = [
        engine(pairs, specs, stop_when_ordered=True).evaluate(state)
        for engine in (ReferenceEngine, NumbaEngine)
    ]
    for name in ("longest", "shortest"):
        np.testing.assert_allclose(getattr(found[1], name), getattr(found[0], name), rtol=1e-9)
