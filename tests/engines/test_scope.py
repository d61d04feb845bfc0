"""Edges compared with the weaker pairs of their two ends: every engine against a literal transcription."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest
import torch
from backends import MANIFOLDS, compare, literal, random_pairs, spec_of, spread_points

from ultrahyperbolic import Euclidean, PseudoHyperboloid, datasets
from ultrahyperbolic.engines.base import BatchState, Place, Problem, RunSpec, Schedule
from ultrahyperbolic.engines.memory import estimate
from ultrahyperbolic.engines.numba import rows
from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.engines.reference import ReferenceEngine
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.objective import RankedPairs

SINGLE = functools.partial(NumbaEngine, precision="float32")
TEMPERATURES = [1.0, 0.05, 7e-4]


def node_spec(manifold, tau, measure="smoothed", **options):
    return replace(spec_of(manifold, measure, tau, **options), scope="node")


def error(engine_of, pairs, manifold, tau, points, expected):
    """The relative error of value and gradient, whichever is larger, in the tangent spaces."""
    found = engine_of(pairs, [node_spec(manifold, tau)]).evaluate(BatchState.start([points.numpy()]))
    value, slope, _offsets = expected
    tangent = [manifold.egrad2rgrad(points, g) for g in (slope, torch.from_numpy(found.gradient[0]))]
    largest = max(tangent[0].abs().max().item(), 1e-300)
    change = (tangent[1] - tangent[0]).abs().max().item() / largest
    return max(abs(found.loss[0] - value) / max(value, 1e-300), change)


def graph_of(edges, weights, n):
    ends = np.array(edges)
    return RankedPairs.of(Graph.from_arrays(ends[:, 0], ends[:, 1], np.array(weights, dtype=float), ids=n))


CLIQUE = [(i, j) for i in range(12) for j in range(i + 1, 12)]
GRAPHS = {
    "three capacities": random_pairs(40, "tied"),
    "distinct capacities": random_pairs(30, "distinct"),
    "one capacity": random_pairs(40, "one"),
    "several components": graph_of([(0, 1), (1, 2), (3, 4), (4, 5), (3, 5), (7, 8)], [1, 2, 3, 3, 1, 2], 10),
    "a complete graph": graph_of(CLIQUE, [1 + (i * j) % 3 for i, j in CLIQUE], 12),
    "a complete graph of one capacity": graph_of(CLIQUE, [1] * len(CLIQUE), 12),
    "a star": graph_of([(0, k) for k in range(1, 15)], [k % 4 + 1 for k in range(1, 15)], 15),
    "a single tie": graph_of([(3, 7)], [1], 12),
    "more than are kept pair by pair": random_pairs(110, "tied", degree=4),
    "a hub among many": graph_of([(0, k) for k in range(1, 101)], [k % 3 + 1 for k in range(1, 101)], 110),
}


@pytest.mark.parametrize("tau", TEMPERATURES)
@pytest.mark.parametrize("pairs", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("manifold", [PseudoHyperboloid(2, 2, -4.0), Euclidean(3)], ids=str)
def test_loss_and_gradient_are_the_literal_ones(manifold, pairs, tau):
    points = spread_points(manifold, pairs.n_nodes)
    expected = literal(pairs, points, manifold, tau, "node")
    for engine, bound in ((ReferenceEngine, 1e-10), (NumbaEngine, 1e-10), (SINGLE, 1e-4)):
        assert error(engine, pairs, manifold, tau, points, expected) <= bound, engine


def test_distances_of_ten_at_a_small_temperature():
    manifold, pairs = Euclidean(2), random_pairs(120, "tied", degree=4)
    rng = np.random.default_rng(0)
    points = torch.from_numpy(rng.uniform(0.0, 7.0, (120, 2)))
    for measure in ("smoothed", "distance"):
        value, gradient = compare(NumbaEngine, pairs, manifold, measure, 7e-4, points, scope="node")
        assert max(value, gradient) <= 1e-10


@pytest.mark.parametrize(
    ("manifold", "n"),
    [(m, 130) for m in MANIFOLDS] + [pytest.param(MANIFOLDS[2], 900, marks=pytest.mark.slow)],
    ids=str,
)
def test_large_graphs_equal_the_reference(manifold, n):
    pairs, points = random_pairs(n, "tied"), spread_points(manifold, n)
    for tau in TEMPERATURES:
        assert max(compare(NumbaEngine, pairs, manifold, "smoothed", tau, points, scope="node")) <= 1e-10, tau
        assert max(compare(SINGLE, pairs, manifold, "smoothed", tau, points, scope="node")) <= 1e-4, tau


def test_what_is_not_kept_is_computed_again(monkeypatch):
    manifold, n = PseudoHyperboloid(2, 2), 900
    pairs, points = random_pairs(n, "tied"), spread_points(manifold, n)
    for tau in TEMPERATURES:
        specs, state = [node_spec(manifold, tau)], BatchState.start([points.numpy()])
        kept = NumbaEngine(pairs, specs).evaluate(state)
        with monkeypatch.context() as patched:
            patched.setattr(rows, "KEPT_PAIRS", 0)
            engine = NumbaEngine(pairs, specs)
            again = engine.evaluate(state)
            assert (engine._runs[0].work.rows.ends[:, 1] < engine._runs[0].work.slabs[1:]).any()
        assert again.loss == kept.loss
        np.testing.assert_allclose(again.gradient, kept.gradient, rtol=1e-12, atol=1e-12 * np.abs(kept.gradient).max())


def test_a_loss_of_almost_nothing_keeps_its_digits():
    # Pairs of ties, far from one another: what an edge is compared with is 50τ and more beyond it.
    manifold, n = Euclidean(1), 120
    pairs = graph_of([(i, i + 1) for i in range(0, n, 2)], [1] * (n // 2), n)
    places = np.repeat(np.arange(n // 2), 2) + 0.01 * np.arange(n)
    points = torch.from_numpy(places[:, None])
    for tau in (0.02, 1e-3):
        value, gradient = compare(NumbaEngine, pairs, manifold, "distance", tau, points, scope="node")
        assert max(value, gradient) <= 1e-9


def test_the_gradient_is_the_slope_of_the_loss():
    manifold, n, tau = Euclidean(2), 110, 0.3
    pairs, points = random_pairs(n, "tied", degree=4), spread_points(manifold, n).numpy()
    engine = NumbaEngine(pairs, [node_spec(manifold, tau)])
    gradient = engine.evaluate(BatchState.start([points])).gradient[0]
    for seed in range(3):
        way = np.random.default_rng(seed).standard_normal(points.shape)
        ends = [engine.evaluate(BatchState.start([points + h * way])).loss[0] for h in (1e-5, -1e-5)]
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx((gradient * way).sum(), rel=1e-6)


@pytest.mark.parametrize("n", [60, 1000])
@pytest.mark.parametrize("engine", [NumbaEngine, SINGLE])
def test_run_k_of_a_batch_is_that_run_alone(engine, n):
    manifolds = [PseudoHyperboloid(3, 1), Euclidean(4), PseudoHyperboloid(2, 2, -4.0)]
    specs = [node_spec(m, 0.02 * (k + 1)) for k, m in enumerate(manifolds)]
    specs[1] = replace(specs[1], scope="graph")
    starts = [spread_points(m, n).numpy() for m in manifolds]
    together = BatchState.start(starts)
    pairs = random_pairs(n, "tied")
    losses = engine(pairs, specs, threads=2).advance(together, 3)
    for k, manifold in enumerate(manifolds):
        alone = BatchState.start([starts[k]])
        assert np.array_equal(engine(pairs, [specs[k]], threads=1).advance(alone, 3)[0], losses[k])
        assert np.array_equal(alone.points[0], together.points[k][:, : manifold.ambient_dim])


@pytest.mark.parametrize("tau", [1.0, 0.05, 1e-4])
def test_the_same_bits_for_any_number_of_threads(tau):
    manifold, n = PseudoHyperboloid(3, 1), 1000
    pairs, points = random_pairs(n, "tied"), spread_points(manifold, n)
    results = []
    for threads in (1, 2, 5):
        state = BatchState.start([points.numpy()])
        engine = NumbaEngine(pairs, [node_spec(manifold, tau)], threads=threads)
        results.append((engine.advance(state, 3), state.points, state.rows, engine.evaluate(state).gradient))
    for other in results[1:]:
        for mine, theirs in zip(results[0], other, strict=True):
            assert np.array_equal(mine, theirs, equal_nan=True)


@pytest.mark.parametrize("tau", TEMPERATURES)
@pytest.mark.parametrize("parts", [2, 5])
def test_a_part_of_the_pairs_is_that_of_the_definition(parts, tau):
    manifold, n = PseudoHyperboloid(2, 2), 203
    full = np.full(8, 1.0)
    schedule = Schedule(tau * full, 0.01 * full, 1e-3 * full, 0.01 * full, parts=parts)
    specs = [RunSpec(manifold, schedule, "smoothed", keep="last", scope="node")]
    pairs, points = random_pairs(n, "tied"), spread_points(manifold, n).numpy()
    states = [BatchState.start([points]) for _ in range(2)]
    losses = [e(pairs, specs).advance(s, 6) for e, s in zip((NumbaEngine, ReferenceEngine), states, strict=True)]
    np.testing.assert_allclose(*losses, rtol=1e-9)
    np.testing.assert_allclose(states[0].points, states[1].points, rtol=1e-7, atol=1e-9)


def test_the_sums_of_nodes_over_all_parts_are_right_in_the_mean():
    manifold, n, parts = PseudoHyperboloid(2, 2), 203, 5
    pairs, points = random_pairs(n, "tied"), spread_points(manifold, n).numpy()
    engine = NumbaEngine(pairs, [node_spec(manifold, 0.1, iterations=parts)])
    run = engine._runs[0]
    run.read_from(BatchState.start([points]), 0)
    sums = []
    for iteration in range(parts):
        engine._loss(run, run.moment(iteration, parts), None)
        sums.append(run.work.rows.nodes[1].copy())
    engine._loss(run, run.moment(0), None)
    np.testing.assert_allclose(np.mean(sums, 0), run.work.rows.nodes[1], rtol=1e-12)


@pytest.mark.parametrize("engine", [NumbaEngine, ReferenceEngine])
def test_a_run_stops_once_every_edge_is_shorter(engine):
    n = 100
    places = np.repeat(np.arange(n // 2) * 3.0, 2) + np.tile([0.0, 0.1], n // 2)
    pairs = graph_of([(i, i + 1) for i in range(0, n, 2)], [1] * (n // 2), n)
    for shift, done in ((0.0, 0), (2.85, -1)):
        points = places.copy()
        points[1] += shift  # beside the next pair
        state = BatchState.start([points[:, None]])
        made = engine(pairs, [node_spec(Euclidean(1), 0.5, "distance")], stop_when_ordered=True)
        found = made.evaluate(state)
        assert found.shortest[0] == pytest.approx(2.9 if done == 0 else 0.05, rel=1e-9)
        made.advance(state, 1)
        assert state.record["done_at"][0] == done


def test_a_training_lowers_the_loss():
    manifold = PseudoHyperboloid(2, 2)
    karate = RankedPairs.of(datasets.karate())
    schedule = Schedule.constant(200, temperature=0.05, step=0.1, max_step=0.01, epsilon=0.01)
    specs = [RunSpec(manifold, schedule, "smoothed", scope="node")]
    start = manifold.random_near_pole(34, epsilon=0.1, generator=torch.Generator().manual_seed(0)).numpy()
    state = BatchState.start([start])
    losses = NumbaEngine(karate, specs).advance(state, 200)
    assert losses[0, -1] < 0.6 * losses[0, 0]
    assert state.record["best_loss"][0] == losses[0].min()


@pytest.mark.parametrize("backend", ["reference", "numba", "triton"])
def test_sums_by_node_take_more_memory(backend):
    pairs = random_pairs(500, "tied")
    schedule = Schedule.constant(1, temperature=1.0, step=1.0)
    needed = [
        sum(estimate(Problem(pairs, [RunSpec(Euclidean(3), schedule, scope=scope)]), Place(None, backend)))
        for scope in ("graph", "node")
    ]
    assert needed[0] < needed[1] < 2 * needed[0]
