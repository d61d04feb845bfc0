"""The compiled engine against the reference, and what a batch promises."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ultrahyperbolic import Euclidean, PseudoHyperboloid, datasets
from ultrahyperbolic.engines import base
from ultrahyperbolic.engines.base import RECORD, BatchState, RunSpec, Schedule
from ultrahyperbolic.engines.callbacks import guard
from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.engines.reference import ReferenceEngine
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.loop import run
from ultrahyperbolic.objective import ExactLoss, RankedPairs
from ultrahyperbolic.spaces.dissimilarities import DISSIMILARITIES

KARATE = RankedPairs.of(datasets.karate())


def spec(
    manifold,
    dissimilarity="smoothed",
    optimizer="descent",
    iterations=400,
    tau=0.05,
    step=1e-3,
    **options,
):
    schedule = Schedule.constant(iterations, temperature=tau, step=step, **options)
    return RunSpec(manifold, schedule, dissimilarity, optimizer)


def start(manifold, n, seed):
    return manifold.random_near_pole(
        n, epsilon=0.05, generator=torch.Generator().manual_seed(seed)
    ).numpy()


def best_of(state):
    return state.record["best_loss"][0], state.record["best_iteration"][0]


CURVED = [
    PseudoHyperboloid(p, q, beta)
    for p, q in ((4, 0), (3, 1), (2, 2), (0, 4))
    for beta in (-0.25, -1.0, -4.0)
]
OPTIMIZERS = [
    ("descent", {}),
    ("gradient", {"max_step": 0.01}),
    ("phi", {}),
    ("descent", {"max_step": 0.01, "step": 1.0}),
    ("signed-gradient", {"max_step": 0.01}),
]


@pytest.mark.parametrize(
    ("optimizer", "options"),
    OPTIMIZERS,
    ids=["descent", "gradient", "phi", "clipped", "signed-gradient"],
)
@pytest.mark.parametrize("manifold", CURVED, ids=str)
def test_compiled_iterations_equal_the_reference(manifold, optimizer, options):
    specs = [spec(manifold, optimizer=optimizer, **options)]
    states = [BatchState.start([start(manifold, 34, 0)]) for _ in range(2)]
    losses = [
        engine(KARATE, specs).advance(state, 20)
        for engine, state in zip((NumbaEngine, ReferenceEngine), states, strict=True)
    ]
    np.testing.assert_allclose(*losses, rtol=1e-10)
    for field in ("points", "free", "best", "rows"):
        np.testing.assert_allclose(
            *(getattr(state, field) for state in states), rtol=1e-8, atol=1e-9, err_msg=field
        )


@pytest.mark.parametrize("engine", [NumbaEngine, ReferenceEngine])
@pytest.mark.parametrize(
    "manifold", [PseudoHyperboloid(3, 1), PseudoHyperboloid(0, 4, -4.0)], ids=str
)
def test_whichever_descends_does(manifold, engine):
    beginning = start(manifold, 34, 0)
    down, back = (
        engine(KARATE, [spec(manifold, optimizer=name, step=1e-7)]).advance(
            BatchState.start([beginning]), 50
        )[0]
        for name in ("signed-gradient", "gradient")
    )
    assert (np.diff(down) < 0).all()
    assert back[-1] > down[-1]


@pytest.mark.parametrize("measure", ["geodesic", "smoothed", "distance", "extrinsic", "broken"])
def test_compiled_flat_iterations_equal_the_reference(measure):
    specs = [spec(Euclidean(4), dissimilarity=measure)]
    states = [BatchState.start([start(Euclidean(4), 34, 0)]) for _ in range(2)]
    losses = [
        e(KARATE, specs).advance(s, 20)
        for e, s in zip((NumbaEngine, ReferenceEngine), states, strict=True)
    ]
    np.testing.assert_allclose(*losses, rtol=1e-10)
    np.testing.assert_allclose(states[0].points, states[1].points, rtol=1e-9, atol=1e-12)


def graphs():
    rng = np.random.default_rng(0)
    pairs = np.array([(i, j) for i in range(25) for j in range(i + 1, 25)])
    some = pairs[rng.permutation(len(pairs))[:80]]
    yield (
        "distinct weights",
        Graph.from_arrays(some[:, 0], some[:, 1], rng.permutation(80) + 1.0, ids=25),
    )
    yield "one class", Graph.from_arrays(some[:, 0], some[:, 1], ids=25)
    yield (
        "complete",
        Graph.from_arrays(pairs[:, 0], pairs[:, 1], rng.integers(1, 4, len(pairs)), ids=25),
    )
    yield "a single edge", Graph.from_arrays([3], [7], ids=25)


@pytest.mark.parametrize("measure", [name for name in DISSIMILARITIES if name != "distance"])
@pytest.mark.parametrize("tau", [1.0, 0.01, 1e-4])
@pytest.mark.parametrize("graph", dict(graphs()).values(), ids=dict(graphs()))
def test_compiled_loss_and_gradient_equal_autograd(graph, tau, measure, generator):
    pairs = RankedPairs.of(graph)
    for p, q, beta in ((3, 1, -4.0), (2, 0, -0.25), (0, 3, -1.0), (1, 2, -1.0)):
        M = PseudoHyperboloid(p, q, beta)
        x = M.random(25, scale=0.7, generator=generator).requires_grad_()
        distance = M.pair_function(measure, 0.1 if measure == "smoothed" else None)
        loss = ExactLoss(pairs, distance, tau)(x)
        expected = M.egrad2rgrad(x.detach(), torch.autograd.grad(loss, x)[0])
        engine = NumbaEngine(pairs, [spec(M, dissimilarity=measure, tau=tau, epsilon=0.1)])
        found = engine.evaluate(BatchState.start([x.detach().numpy()]))
        assert found.loss[0] == pytest.approx(loss.item(), rel=1e-9, abs=1e-9)
        # The two differ by a normal component, which the projection removes.
        got = M.egrad2rgrad(x.detach(), torch.from_numpy(found.gradient[0]))
        assert (got - expected).abs().max() <= 1e-7 * max(
            expected.abs().max().item(), 1e-6 / tau
        ), (p, q)
        edges, nonedges = ExactLoss(pairs, distance, tau).distances(x.detach())
        assert found.longest[0] == pytest.approx(edges.max().item(), rel=1e-9)
        if len(nonedges):
            assert found.shortest[0] == pytest.approx(nonedges.min().item(), rel=1e-7, abs=1e-12)


@pytest.mark.parametrize(
    "manifold", [PseudoHyperboloid(3, 0, -4.0), PseudoHyperboloid(0, 3, -0.25)], ids=str
)
def test_the_distance_of_hyperbolic_and_spherical_space(manifold, generator):
    x = manifold.random(34, generator=generator)
    state = BatchState.start([x.numpy()])
    found = NumbaEngine(KARATE, [spec(manifold, "distance")]).evaluate(state)
    expected = ExactLoss(KARATE, manifold.dist, 0.05)(x)
    assert found.loss[0] == pytest.approx(expected.item(), rel=1e-10)
    i, j = KARATE.edges.T
    assert found.longest[0] == pytest.approx(manifold.dist(x[i], x[j]).max().item(), rel=1e-10)
    with pytest.raises(ValueError, match=r"which does not join every pair of .*: use 'geodesic'"):
        spec(PseudoHyperboloid(2, 1), "distance")


@pytest.mark.parametrize("engine", [NumbaEngine, ReferenceEngine])
def test_run_k_of_a_batch_is_that_run_alone(engine):
    manifolds = [
        PseudoHyperboloid(3, 1),
        PseudoHyperboloid(4, 0, -4.0),
        Euclidean(4),
        PseudoHyperboloid(2, 2),
    ]
    specs = [spec(M, tau=0.02 * (k + 1)) for k, M in enumerate(manifolds)]
    starts = [start(M, 34, k) for k, M in enumerate(manifolds)]
    together = BatchState.start(starts)
    losses = engine(KARATE, specs).advance(together, 25)
    for k, M in enumerate(manifolds):
        alone = BatchState.start([starts[k]])
        assert np.array_equal(engine(KARATE, [specs[k]]).advance(alone, 25)[0], losses[k])
        assert np.array_equal(alone.points[0], together.points[k][:, : M.ambient_dim])
        assert np.array_equal(alone.best[0], together.best[k][:, : M.ambient_dim])


@pytest.mark.parametrize("engine", [NumbaEngine, ReferenceEngine])
def test_chunks_do_not_change_the_result(engine):
    M = PseudoHyperboloid(3, 1)
    whole, parts = (BatchState.start([start(M, 34, 0)]) for _ in range(2))
    losses = engine(KARATE, [spec(M)], best_every=7).advance(whole, 30)
    cut = engine(KARATE, [spec(M)], best_every=7)
    pieces = np.concatenate([cut.advance(parts, k) for k in (1, 4, 10, 15)], axis=1)
    assert np.array_equal(losses, pieces)
    assert np.array_equal(whole.points, parts.points)
    assert np.array_equal(whole.rows, parts.rows)
    assert whole.record["best_iteration"][0] % 7 == 0
    assert whole.record["best_loss"][0] == losses[0, ::7].min()


@pytest.mark.parametrize("engine", [NumbaEngine, ReferenceEngine])
def test_steps_drop_once_the_loss_is_low(engine):
    M = PseudoHyperboloid(3, 1)
    free, dropped = (BatchState.start([start(M, 34, 0)]) for _ in range(2))
    losses = engine(KARATE, [spec(M)]).advance(free, 30)
    threshold = float(losses[0, 10])
    changed = engine(KARATE, [spec(M, drop_below=threshold, drop_factor=0.1)]).advance(dropped, 30)
    first = int(np.argmax(losses[0] < threshold))
    assert np.array_equal(losses[0, : first + 1], changed[0, : first + 1])
    assert changed[0, first + 1] > losses[0, first + 1]
    assert dropped.record["dropped"][0] == 1.0


@pytest.mark.parametrize("engine", [NumbaEngine, ReferenceEngine])
def test_a_run_stops_when_every_constraint_holds(engine):
    path = RankedPairs.of(Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d")]))
    M = PseudoHyperboloid(2, 0)
    specs = [spec(M, tau=0.1, max_step=0.02, step=1.0, iterations=500)]
    state = BatchState.start([start(M, 4, 0)])
    outcome = run(engine(path, specs, stop_when_ordered=True), state, 500)
    assert outcome.ending.text == "every connected pair is closer than every unconnected one"
    assert state.done.all()
    at = int(state.record["done_at"][0])
    assert np.isfinite(outcome.losses[0, : at + 1]).all()
    assert np.isnan(outcome.losses[0, at + 1 :]).all()
    x = torch.from_numpy(state.best[0])
    D = M.cdist(x, dissimilarity="smoothed")
    connected = [D[i, i + 1].item() for i in range(3)]
    assert max(connected) < min(D[0, 2].item(), D[0, 3].item(), D[1, 3].item())


def test_the_outer_loop_stops_for_its_reasons():
    M = PseudoHyperboloid(3, 1)
    seen = []

    def fresh():
        return ReferenceEngine(KARATE, [spec(M, iterations=50)]), BatchState.start(
            [start(M, 34, 0)]
        )

    assert run(*fresh(), 5).ending.text == "reached 5 iterations"
    assert run(*fresh(), 50, time_limit=1e-9).ending.text == "reached the time limit of 1e-09 s"
    outcome = run(
        *fresh(), 50, callbacks=[seen.append, lambda progress: progress.iteration >= 3, seen.append]
    )
    assert outcome.ending.text == "a callback asked to stop"
    assert seen[-1].total == 50
    assert seen[-1] is seen[-2], "a callback that stops keeps no other from being called"
    assert seen[-1].loss[0] == outcome.losses[0, -1]

    def interrupt(progress):
        raise KeyboardInterrupt

    engine, state = fresh()
    outcome = run(engine, state, 50, callbacks=[interrupt])
    assert outcome.ending.text == "interrupted"
    assert np.isfinite(state.record["best_loss"][0]), "the best so far is kept"


def test_the_columns_of_kernels_are_the_fields_of_the_record():
    state = BatchState.start([np.zeros((3, 2)), np.zeros((3, 1))])
    for number, name in enumerate(RECORD.names):
        assert getattr(base, name.upper()) == number
        state.rows[1, number] = 10.0 + number
        assert state.record[name][1] == 10.0 + number
    other = BatchState.start([np.ones((3, 2)), np.ones((3, 1))])
    other.steps_back[0], other.iteration = 4, 7
    other.copy_from(state)
    assert np.array_equal(other.rows, state.rows, equal_nan=True)
    assert (other.steps_back.tolist(), other.iteration) == ([0, 0], 0)


def test_specs_and_schedules_are_checked():
    with pytest.raises(ValueError, match="dissimilarity must be one of"):
        spec(PseudoHyperboloid(3, 1), dissimilarity="metric")
    with pytest.raises(ValueError, match="optimizer must be one of"):
        spec(PseudoHyperboloid(3, 1), optimizer="up")
    with pytest.raises(ValueError, match="keep must be one of best, last, got 'first'"):
        RunSpec(
            PseudoHyperboloid(3, 1), Schedule.constant(1, temperature=1.0, step=1.0), keep="first"
        )
    with pytest.raises(ValueError, match="must have one length"):
        Schedule(np.ones(3), np.ones(3), np.ones(2), np.ones(3))


@pytest.mark.parametrize("engine", [NumbaEngine, ReferenceEngine])
def test_losses_at_different_temperatures_are_not_compared(engine):
    M = PseudoHyperboloid(3, 1)
    tau = np.concatenate((np.geomspace(1.0, 0.05, 10), np.full(10, 0.05)))
    schedule = Schedule(tau, np.full(20, 0.1), np.full(20, 1e-3), np.full(20, 0.02))
    spec_of_it = RunSpec(M, schedule, "smoothed")
    assert spec_of_it.settled == 9
    cooling = engine(KARATE, [spec_of_it])
    state = BatchState.start([start(M, 34, 0)])
    cooling.advance(state, 5)
    assert state.record["best_loss"][0] == np.inf
    assert state.record["best_iteration"][0] == 4, (
        "before the schedule settles the latest points are kept"
    )
    losses = cooling.advance(state, 15)
    assert state.record["best_loss"][0] == losses[0, 4:].min()
    assert state.record["best_iteration"][0] == 9 + np.argmin(losses[0, 4:])


@pytest.mark.parametrize("engine", [NumbaEngine, ReferenceEngine])
def test_epsilon_is_part_of_the_loss_only_where_it_is_read(engine):
    M = PseudoHyperboloid(3, 1)
    epsilon = np.concatenate((np.geomspace(0.1, 1e-3, 15), np.full(5, 1e-3)))
    schedule = Schedule(np.full(20, 0.01), epsilon, np.full(20, 1e-4), np.full(20, np.inf))
    assert RunSpec(M, schedule, "smoothed").settled == 14
    specs = [RunSpec(M, schedule, "geodesic"), RunSpec(M, schedule, "geodesic", keep="last")]
    assert [spec.settled for spec in specs] == [0, 20]
    state = BatchState.start([start(M, 34, 0)] * 2)
    losses = engine(KARATE, specs).advance(state, 20)
    assert np.argmin(losses[0]) < 14, "the lowest loss is not one of the last"
    assert best_of(state) == (losses[0].min(), np.argmin(losses[0]))
    assert state.record["best_iteration"][1] == 19
    assert not np.array_equal(state.best[0], state.best[1])


@pytest.mark.parametrize("engine", [NumbaEngine, ReferenceEngine])
def test_a_state_without_a_best_loss_goes_on(engine):
    # What a checkpoint holds that was written while losses were not compared yet.
    M = PseudoHyperboloid(3, 1)
    state = BatchState.start([start(M, 34, 0)])
    going = engine(KARATE, [spec(M, "geodesic", iterations=20)])
    going.advance(state, 5)
    state.best[:], state.record["best_loss"], state.record["best_iteration"] = (
        state.points,
        np.inf,
        4.0,
    )
    losses = going.advance(state, 15)
    assert best_of(state) == (losses[0].min(), 5 + np.argmin(losses[0]))


def test_a_run_that_was_thrown_off_goes_back_and_on_with_half_the_step():
    # Steps far too long for this temperature: without the way back the loss ends high above its
    # best.
    M = PseudoHyperboloid(3, 1)
    specs = [
        spec(M, "geodesic", iterations=1000, tau=0.01, step=2e-5),
        spec(M, iterations=1000, step=1e-5),
    ]
    starts = [start(M, 34, 0), start(M, 34, 0)]
    free, guarded = BatchState.start(starts), BatchState.start(starts)
    wild = run(NumbaEngine(KARATE, specs), free, 1000)
    tamed = run(
        NumbaEngine(KARATE, specs), guarded, 1000, callbacks=[guard(specs, guarded, compare=True)]
    )
    assert guarded.steps_back[0] > 0
    assert guarded.record["step_scale"][0] == 0.5 ** guarded.steps_back[0]
    assert tamed.losses[0, -1] < wild.losses[0, -1]
    assert guarded.steps_back[1] == 0, "a run that behaves is left alone"
    assert np.array_equal(wild.losses[1], tamed.losses[1])


@pytest.mark.parametrize("engine", [NumbaEngine, ReferenceEngine])
@pytest.mark.parametrize("optimizer", ["descent", "phi"])
@pytest.mark.parametrize("step", [1e-3, 1e100, 1e300])
def test_points_that_would_go_nowhere_stay(engine, optimizer, step):
    # Losses of points that are no numbers would be no losses, and could pass for the best.
    M = PseudoHyperboloid(3, 1)
    state = BatchState.start([start(M, 34, 0)])
    engine(KARATE, [spec(M, "geodesic", optimizer, tau=0.01, step=step)]).advance(state, 10)
    assert np.isfinite(state.points).all()
    assert np.isfinite(state.free).all()
    assert M.check_point(
        torch.from_numpy(state.points[0]), tolerance=0.1 * float((state.points**2).sum(-1).max())
    )


@pytest.mark.parametrize("popularity", [False, True])
def test_a_graph_without_untied_pairs_reads_no_memory_that_nothing_wrote(popularity):
    n, rng = 6, np.random.default_rng(0)
    pairs = RankedPairs.of(
        Graph.from_arrays(*np.triu_indices(n, 1), 1.0 + rng.integers(0, 3, 15), ids=n)
    )
    manifold = PseudoHyperboloid(2, 2)
    spec = RunSpec(
        manifold, Schedule.constant(2, temperature=0.1, step=0.1), "smoothed", popularity=popularity
    )
    engine = NumbaEngine(pairs, [spec], threads=1)
    engine._runs[0].arrays.scratch[:] = np.nan
    state = BatchState.start(
        [manifold.random(n, generator=torch.Generator().manual_seed(0)).numpy()]
    )
    found, expected = engine.evaluate(state), ReferenceEngine(pairs, [spec]).evaluate(state)
    assert np.isfinite(found.gradient).all()
    np.testing.assert_allclose(found.loss, expected.loss, rtol=1e-10)
    np.testing.assert_allclose(found.offsets, expected.offsets, rtol=1e-8, atol=1e-12)
