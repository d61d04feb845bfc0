"""The engine that draws samples: against the reference, and what its draws follow from."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from backends import random_pairs, spec_of, spread_points

from ultrahyperbolic import Euclidean, PseudoHyperboloid, datasets
from ultrahyperbolic.engines import registry
from ultrahyperbolic.engines.base import BatchState, Machine, Problem, RunSpec, Schedule
from ultrahyperbolic.engines.memory import estimate
from ultrahyperbolic.engines.reference import ReferenceEngine
from ultrahyperbolic.engines.registry import make_engine, resolve
from ultrahyperbolic.engines.sampled import SampledEngine
from ultrahyperbolic.objective import RankedPairs, SampleSizes

KARATE = RankedPairs.of(datasets.karate())
EVERYTHING = SampleSizes(10**6, 10**6, 10**6)
FEW = SampleSizes(30, 8)
Q22 = PseudoHyperboloid(2, 2, -4.0)
CPU = torch.device("cpu")


def spec(manifold=Q22, optimizer="descent", sample=FEW, iterations=200, seed=0, **options):
    schedule = Schedule.constant(iterations, temperature=0.05, step=1e-3, max_step=0.01)
    return RunSpec(manifold, schedule, "smoothed", optimizer, seed=seed, sample=sample, **options)


def start(manifold, n=34, seed=0):
    return manifold.random_near_pole(
        n, epsilon=0.05, generator=torch.Generator().manual_seed(seed)
    ).numpy()


@pytest.mark.parametrize("optimizer", ["descent", "phi", "gradient", "signed-gradient"])
@pytest.mark.parametrize("scope", ["graph", "node"])
@pytest.mark.parametrize("popularity", [False, True])
def test_samples_of_everything_train_as_the_reference(optimizer, scope, popularity):
    specs = [
        spec(
            optimizer=optimizer, sample=EVERYTHING, scope=scope, popularity=popularity, keep="last"
        )
    ]
    states = [BatchState.start([start(Q22)]) for _ in range(2)]
    losses = [
        engine(KARATE, specs).advance(state, 10)
        for engine, state in zip((SampledEngine, ReferenceEngine), states, strict=True)
    ]
    np.testing.assert_allclose(*losses, rtol=1e-9)
    np.testing.assert_array_equal(states[0].best, states[0].points)
    for name in ("points", "offsets"):
        np.testing.assert_allclose(
            *(getattr(state, name) for state in states), rtol=1e-7, atol=1e-9, err_msg=name
        )


def test_iterations_follow_from_the_seed_and_their_number_alone():
    def trained(cuts, threads=1, seed=0, at_once=None):
        engine = SampledEngine(KARATE, [spec(seed=seed)], threads=threads)
        state = BatchState.start([start(Q22)])
        for cut in cuts:
            engine.advance(state, cut)
        return state.points.copy()

    whole = trained([40])
    np.testing.assert_array_equal(trained([1, 7, 32]), whole)
    assert not np.array_equal(trained([40], seed=1), whole)


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr("ultrahyperbolic.objective.tables._AT_ONCE", 50)
    found = []
    for threads in (1, 2):
        state = BatchState.start([start(Q22)])
        SampledEngine(KARATE, [spec()], threads=threads).advance(state, 5)
        found.append(state.points)
    np.testing.assert_array_equal(*found)


def test_a_run_of_a_batch_is_that_run_alone():
    specs = [spec(), spec(Euclidean(3), seed=4, sample=SampleSizes(10, 5))]
    starts = [start(s.manifold) for s in specs]
    both = BatchState.start(starts)
    losses = SampledEngine(KARATE, specs).advance(both, 20)
    for k, alone in enumerate(specs):
        state = BatchState.start([starts[k]])
        np.testing.assert_array_equal(
            SampledEngine(KARATE, [alone]).advance(state, 20)[0], losses[k]
        )
        np.testing.assert_array_equal(state.points[0], both.points[k, :, : state.points.shape[2]])


def test_what_is_not_looked_at_does_not_move():
    pairs = random_pairs(500, "tied")
    state = BatchState.start([start(Q22, 500)])
    before = state.points.copy()
    engine = SampledEngine(pairs, [spec(sample=SampleSizes(5, 4))])
    engine.advance(state, 1)
    moved = np.flatnonzero((state.points != before).any(2)[0])
    draw = engine._runs[0].loss.draw(engine.specs[0].seed, 0, 0)  # of the descent, at iteration 0
    ends = pairs.edges[np.concatenate((draw.ties, draw.weaker))].reshape(-1)
    assert 0 < len(moved) <= 24
    assert set(moved) <= {*ends.tolist(), *draw.columns.tolist()}


def test_the_best_points_are_told_by_a_sample_that_stays():
    engine = SampledEngine(KARATE, [spec()])
    state = BatchState.start([start(Q22)])
    engine.advance(state, 101)
    assert state.record["best_iteration"][0] in (0, 50, 100)
    at_best = BatchState.start([state.best[0]])
    assert engine.evaluate(at_best).loss[0] == pytest.approx(
        state.record["best_loss"][0], rel=1e-12
    )
    assert engine.evaluate(at_best).loss[0] == engine.nearby()(at_best).loss[0]


def test_evaluations_of_everything_are_those_of_the_reference():
    pairs, points = random_pairs(60, "tied"), spread_points(Q22, 60)
    specs = [RunSpec(Q22, spec_of(Q22, "smoothed", 0.3).schedule, "smoothed", sample=EVERYTHING)]
    state = BatchState.start([points.numpy()])
    found, expected = (
        engine(pairs, specs).evaluate(state) for engine in (SampledEngine, ReferenceEngine)
    )
    np.testing.assert_allclose(found.loss, expected.loss, rtol=1e-10)
    tangents = [Q22.egrad2rgrad(points, torch.from_numpy(e.gradient[0])) for e in (found, expected)]
    torch.testing.assert_close(*tangents, rtol=1e-8, atol=1e-8)
    assert np.isnan(found.longest).all()


def test_what_samples_cannot_tell_is_refused():
    problem = Problem(KARATE, [spec()], stop_when_ordered=True)
    with pytest.raises(
        ValueError, match="'sampled' does not look at all pairs, as stop='ordered' needs"
    ):
        make_engine(problem, Machine(backend="sampled"))
    with pytest.raises(ValueError, match="needs all pairs"):
        SampledEngine(*problem)


@pytest.mark.filterwarnings("ignore::ultrahyperbolic.engines.registry.SlowEngine")
def test_all_pairs_end_a_training_by_samples_where_they_can(monkeypatch):
    problem, place = Problem(KARATE, [spec(sample=EVERYTHING)]), Machine(backend="sampled")
    assert make_engine(problem, place).evaluate_with is None
    both = make_engine(problem, place, exact_end=True)
    assert (both.name, both.specs) == ("sampled, then numba", problem.specs)
    state = BatchState.start([start(Q22)])
    np.testing.assert_allclose(
        both.evaluate(state).loss, ReferenceEngine(*problem).evaluate(state).loss, rtol=1e-9
    )
    assert both.advance(state, 2).shape == (1, 2)
    assert both.nearby()(state).loss.shape == (1,)
    both.close()
    monkeypatch.setattr(registry, "EXACT_NODES", 33)
    assert make_engine(problem, place, exact_end=True).evaluate_with is None
    assert resolve(Machine(), 34) == Machine(CPU, "numba"), (
        "compiled loops look at parts of the pairs"
    )
    monkeypatch.setattr("ultrahyperbolic.engines.registry.installed", lambda name: name == "torch")
    assert resolve(Machine(), 34) == Machine(CPU, "sampled")
    assert resolve(Machine(), 34, problem._replace(stop_when_ordered=True)).backend == "reference"


def test_memory_is_linear_in_ties_and_does_not_grow_with_pairs():
    def host(n, m):
        edges = np.zeros((m, 2), dtype=np.int64)
        pairs = RankedPairs(n, edges, np.zeros(m, dtype=np.int64))
        return estimate(Problem(pairs, [spec(sample=None)]), Machine("cpu", "sampled", 2)).host

    few, many = host(10**5, 10**6), host(10**5, 3 * 10**6)
    assert many - few == 2 * 10**6 * (96 + 64)
    assert host(10**6, 10**6) < 2.5 * 2**30
