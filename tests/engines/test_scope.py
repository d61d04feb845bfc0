"""Edges compared with the weaker pairs of their two ends: torch computes that, and compiled engines
say they do not.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from backends import literal, random_pairs, spec_of, spread_points

from ultrahyperbolic import Euclidean, PseudoHyperboloid, datasets
from ultrahyperbolic.engines import registry
from ultrahyperbolic.engines.base import BatchState, Machine, Problem, RunSpec, Schedule
from ultrahyperbolic.engines.communicator import Communicator
from ultrahyperbolic.engines.memory import estimate
from ultrahyperbolic.engines.reference import ReferenceEngine
from ultrahyperbolic.engines.registry import SlowEngine, engine_of, exact_machine, resolve, unfit
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.objective import RankedPairs

TEMPERATURES = [1.0, 0.05, 7e-4]


def node_spec(manifold, tau, measure="smoothed", **options):
    return replace(spec_of(manifold, measure, tau, **options), scope="node")


def error(pairs, manifold, tau, points, expected):
    """The relative error of value and gradient, whichever is larger, in the tangent spaces."""
    found = ReferenceEngine(pairs, [node_spec(manifold, tau)]).evaluate(
        BatchState.start([points.numpy()])
    )
    value, slope, _offsets = expected
    tangent = [
        manifold.egrad2rgrad(points, g) for g in (slope, torch.from_numpy(found.gradient[0]))
    ]
    largest = max(tangent[0].abs().max().item(), 1e-300)
    change = (tangent[1] - tangent[0]).abs().max().item() / largest
    return max(abs(found.loss[0] - value) / max(value, 1e-300), change)


def graph_of(edges, weights, n):
    ends = np.array(edges)
    return RankedPairs.of(
        Graph.from_arrays(ends[:, 0], ends[:, 1], np.array(weights, dtype=float), ids=n)
    )


CLIQUE = [(i, j) for i in range(12) for j in range(i + 1, 12)]
GRAPHS = {
    "three capacities": random_pairs(40, "tied"),
    "distinct capacities": random_pairs(30, "distinct"),
    "one capacity": random_pairs(40, "one"),
    "several components": graph_of(
        [(0, 1), (1, 2), (3, 4), (4, 5), (3, 5), (7, 8)], [1, 2, 3, 3, 1, 2], 10
    ),
    "a complete graph": graph_of(CLIQUE, [1 + (i * j) % 3 for i, j in CLIQUE], 12),
    "a complete graph of one capacity": graph_of(CLIQUE, [1] * len(CLIQUE), 12),
    "a star": graph_of([(0, k) for k in range(1, 15)], [k % 4 + 1 for k in range(1, 15)], 15),
    "a single tie": graph_of([(3, 7)], [1], 12),
}


@pytest.mark.parametrize("tau", TEMPERATURES)
@pytest.mark.parametrize("pairs", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("manifold", [PseudoHyperboloid(2, 2, -4.0), Euclidean(3)], ids=str)
def test_loss_and_gradient_are_the_literal_ones(manifold, pairs, tau):
    points = spread_points(manifold, pairs.n_nodes)
    expected = literal(pairs, points, manifold, tau, "node")
    assert error(pairs, manifold, tau, points, expected) <= 1e-10


def test_the_gradient_is_the_slope_of_the_loss():
    manifold, n, tau = Euclidean(2), 110, 0.3
    pairs, points = random_pairs(n, "tied", degree=4), spread_points(manifold, n).numpy()
    engine = ReferenceEngine(pairs, [node_spec(manifold, tau)])
    gradient = engine.evaluate(BatchState.start([points])).gradient[0]
    for seed in range(3):
        way = np.random.default_rng(seed).standard_normal(points.shape)
        ends = [
            engine.evaluate(BatchState.start([points + h * way])).loss[0] for h in (1e-5, -1e-5)
        ]
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx((gradient * way).sum(), rel=1e-6)


def test_a_run_stops_once_every_edge_is_shorter():
    n = 100
    places = np.repeat(np.arange(n // 2) * 3.0, 2) + np.tile([0.0, 0.1], n // 2)
    pairs = graph_of([(i, i + 1) for i in range(0, n, 2)], [1] * (n // 2), n)
    for shift, done in ((0.0, 0), (2.85, -1)):
        points = places.copy()
        points[1] += shift  # beside the next pair
        state = BatchState.start([points[:, None]])
        made = ReferenceEngine(
            pairs, [node_spec(Euclidean(1), 0.5, "distance")], stop_when_ordered=True
        )
        found = made.evaluate(state)
        assert found.shortest[0] == pytest.approx(2.9 if done == 0 else 0.05, rel=1e-9)
        made.advance(state, 1)
        assert state.record["done_at"][0] == done


def test_a_training_lowers_the_loss():
    manifold = PseudoHyperboloid(2, 2)
    karate = RankedPairs.of(datasets.karate())
    schedule = Schedule.constant(200, temperature=0.05, step=0.1, max_step=0.01, epsilon=0.01)
    specs = [RunSpec(manifold, schedule, "smoothed", scope="node")]
    start = manifold.random_near_pole(
        34, epsilon=0.1, generator=torch.Generator().manual_seed(0)
    ).numpy()
    state = BatchState.start([start])
    losses = ReferenceEngine(karate, specs).advance(state, 200)
    assert losses[0, -1] < 0.6 * losses[0, 0]
    assert state.record["best_loss"][0] == losses[0].min()


def problem_of(pairs):
    schedule = Schedule.constant(1, temperature=1.0, step=1.0)
    return Problem(pairs, [RunSpec(Euclidean(3), schedule, scope="node")])


def test_sums_by_node_take_more_memory():
    problem = problem_of(random_pairs(500, "tied"))
    plain = problem._replace(specs=[replace(problem.specs[0], scope="graph")])
    needed = [sum(estimate(each, Machine(None, "reference"))) for each in (plain, problem)]
    assert needed[0] < needed[1] < 2 * needed[0]


@pytest.mark.parametrize("backend", ["numba", "triton"])
def test_compiled_engines_say_that_they_do_not_know_it(backend, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(registry, "installed", lambda name: True)
    place = Machine("cuda" if backend == "triton" else "cpu", backend)
    problem = problem_of(random_pairs(30, "tied"))
    assert unfit(backend, problem, place) == (
        f"backend '{backend}' does not know scope 'node', only torch does (backend 'reference' or "
        "'sampled')"
    )
    assert (
        unfit(backend, problem._replace(specs=[replace(problem.specs[0], scope="graph")]), place)
        is None
    )
    with pytest.raises(ValueError, match="does not know scope 'node'"):
        engine_of(problem, place, Communicator())


def test_the_reference_is_taken_where_nobody_has_named_an_engine(monkeypatch):
    monkeypatch.setattr(registry, "_told", set())
    problem = problem_of(random_pairs(30, "tied"))
    with pytest.warns(
        SlowEngine, match="does not know scope 'node'.*: training with torch, which is slower"
    ):
        assert resolve(Machine("cpu"), 30, problem).backend == "reference"
    with pytest.raises(ValueError, match="backend 'numba' does not know scope 'node'"):
        resolve(Machine("cpu", "numba"), 30, problem)


def test_samples_of_too_many_pairs_for_torch_end_without_all_of_them(monkeypatch):
    problem = problem_of(random_pairs(30, "tied"))
    place = Machine("cpu", "sampled", precision="float32")
    assert exact_machine(place, problem) == Machine("cpu", "reference")
    monkeypatch.setattr(registry, "MAX_NODES", 29)
    assert exact_machine(place, problem) is None
    plain = problem._replace(specs=[replace(problem.specs[0], scope="graph")])
    assert exact_machine(place, plain) == Machine("cpu", "numba", precision="float32")
