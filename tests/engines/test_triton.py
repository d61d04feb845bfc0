"""The CUDA engine against the reference: on a GPU where there is one, else under Triton's
interpreter.
"""

from __future__ import annotations

import contextlib
import functools
from dataclasses import replace

import numpy as np
import pytest
import torch
from backends import MANIFOLDS, compare, conditioning, random_pairs, spec_of, spread_points
from machines import ON_TWO_CUDA

from ultrahyperbolic import Euclidean, PseudoHyperboloid, datasets
from ultrahyperbolic.engines import reference
from ultrahyperbolic.engines.base import BatchState, RunSpec, Schedule
from ultrahyperbolic.engines.reference import ReferenceEngine
from ultrahyperbolic.objective import RankedPairs

pytest.importorskip(
    "triton", reason="the CUDA engine needs triton, which torch brings along on CUDA machines"
)

from ultrahyperbolic.engines.triton import engine as cuda
from ultrahyperbolic.engines.triton import passes as passes
from ultrahyperbolic.engines.triton.engine import TritonEngine

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
DOUBLE = functools.partial(TritonEngine, device=DEVICE, precision="float64")
SINGLE = functools.partial(TritonEngine, device=DEVICE, precision="float32")
KARATE = RankedPairs.of(datasets.karate())


def slow(*cases):
    """Cases that `make test-all` looks at: the interpreter takes seconds for each."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for case in cases
    ]


def one_a_branch(manifolds):
    """Hyperbolic, both kinds of time, sphere and flat: one of each at once, the rest with `make
    test-all`.
    """
    quick = (
        PseudoHyperboloid(4, 0),
        PseudoHyperboloid(2, 2, -4.0),
        PseudoHyperboloid(0, 4),
        Euclidean(4),
    )
    known = {repr(manifold) for manifold in quick}
    return [manifold if repr(manifold) in known else slow(manifold)[0] for manifold in manifolds]


@pytest.mark.parametrize(
    ("capacities", "tau"),
    [("tied", 0.01), *slow(("distinct", 1.0), ("one", 0.1))],
    ids=lambda value: str(value),
)
@pytest.mark.parametrize("manifold", one_a_branch(MANIFOLDS), ids=str)
@pytest.mark.parametrize(
    ("engine", "bound"), [(DOUBLE, 1e-10), *slow((SINGLE, 1e-4))], ids=["double", "single"]
)
def test_smoothed_value_and_gradient(manifold, capacities, tau, engine, bound):
    pairs, points = random_pairs(70, capacities), spread_points(manifold, 70)
    assert max(compare(engine, pairs, manifold, "smoothed", tau, points)) <= bound


@pytest.mark.parametrize("scale", [1.5, *slow(0.3)])
@pytest.mark.parametrize(
    "manifold", [PseudoHyperboloid(2, 2, -4.0), *slow(PseudoHyperboloid(3, 1, -4.0))], ids=str
)
def test_single_precision_keeps_its_digits_near_the_light_cone(manifold, scale):
    pairs, points = random_pairs(150, "tied"), spread_points(manifold, 150, scale=scale)
    assert max(compare(SINGLE, pairs, manifold, "smoothed", 0.01, points)) <= 1e-5


@pytest.mark.parametrize("tau", [1e-3, *slow(0.1, 1e-5)])
@pytest.mark.parametrize(
    "manifold", one_a_branch([m for m in MANIFOLDS if isinstance(m, PseudoHyperboloid)]), ids=str
)
def test_the_papers_dissimilarity_to_its_conditioning(manifold, tau):
    pairs, points = random_pairs(60, "tied"), spread_points(manifold, 60, seed=1)
    bound = 64 * conditioning(pairs, manifold, "geodesic", tau, points)
    assert max(compare(DOUBLE, pairs, manifold, "geodesic", tau, points)) <= bound


OTHERS = [
    (PseudoHyperboloid(2, 2), "cone-rule"),
    (PseudoHyperboloid(2, 2, -4.0), "extrinsic"),
    *slow(
        (PseudoHyperboloid(2, 2), "broken"),
        (PseudoHyperboloid(4, 0, -0.25), "distance"),
        (PseudoHyperboloid(4, 0), "extrinsic"),
        (PseudoHyperboloid(0, 4), "extrinsic"),
        (PseudoHyperboloid(0, 4), "distance"),
        (Euclidean(4), "distance"),
    ),
]


@pytest.mark.parametrize(("manifold", "measure"), OTHERS, ids=str)
def test_the_other_dissimilarities(manifold, measure):
    pairs, points = random_pairs(60, "tied"), spread_points(manifold, 60)
    assert max(compare(DOUBLE, pairs, manifold, measure, 0.1, points)) <= 1e-9
    assert max(compare(SINGLE, pairs, manifold, measure, 0.1, points)) <= 1e-3


@pytest.mark.parametrize(
    ("manifold", "measure"), [(PseudoHyperboloid(2, 2), "extrinsic"), (Euclidean(4), "distance")]
)
def test_points_that_coincide_have_no_slope(manifold, measure):
    pairs, points = random_pairs(20, "tied"), spread_points(manifold, 20)
    points[1:5] = points[0]
    found = DOUBLE(pairs, [spec_of(manifold, measure, 0.1)]).evaluate(
        BatchState.start([points.numpy()])
    )
    assert np.isfinite(found.gradient).all()


@pytest.mark.slow
def test_edges_are_left_out_by_lists_as_by_a_bitmap(monkeypatch):
    manifold = PseudoHyperboloid(3, 1)
    pairs, points = random_pairs(130, "tied", degree=20), spread_points(manifold, 130)
    specs = [spec_of(manifold, "smoothed", 0.1)]
    state = BatchState.start([points.numpy()])
    by_bitmap = DOUBLE(pairs, specs).evaluate(state)
    monkeypatch.setattr(passes, "BITMAP_NODES", 0)
    by_lists = DOUBLE(pairs, specs).evaluate(state)
    # Compilers may order the same sums differently; a pair too many or too few would change the
    # third digit.
    assert by_bitmap.loss == pytest.approx(by_lists.loss, rel=1e-13)
    largest = np.abs(by_lists.gradient).max()
    np.testing.assert_allclose(
        by_bitmap.gradient, by_lists.gradient, rtol=0.0, atol=1e-13 * largest
    )


@pytest.mark.parametrize(("pairs", "why"), [(40, "complete"), (12, "a single edge")])
def test_graphs_without_non_edges_or_with_one_edge(pairs, why):
    n = pairs
    i, j = np.triu_indices(n, 1)
    edges = np.stack((i, j), 1) if why == "complete" else np.array([[3, 7]])
    weaker = np.repeat(np.arange(0, len(edges), 10), 10)[: len(edges)]
    ranked = RankedPairs(n, edges, weaker)
    manifold = PseudoHyperboloid(3, 1)
    assert (
        max(compare(DOUBLE, ranked, manifold, "smoothed", 0.1, spread_points(manifold, n))) <= 1e-10
    )


@pytest.mark.parametrize("optimizer", ["descent", *slow("phi", "gradient", "signed-gradient")])
def test_iterations_equal_the_reference(optimizer):
    manifold = PseudoHyperboloid(3, 1, -4.0)
    schedule = Schedule.constant(10, temperature=0.05, step=1e-2, max_step=0.01, epsilon=0.1)
    specs = [RunSpec(manifold, schedule, "smoothed", optimizer)]
    start = manifold.random_near_pole(
        34, epsilon=0.1, generator=torch.Generator().manual_seed(0)
    ).numpy()
    states = [BatchState.start([start]) for _ in range(2)]
    losses = [
        e(KARATE, specs, best_every=2).advance(s, 4)
        for e, s in zip((DOUBLE, ReferenceEngine), states, strict=True)
    ]
    np.testing.assert_allclose(*losses, rtol=1e-10)
    for field in ("points", "free", "best", "rows"):
        np.testing.assert_allclose(
            *(getattr(state, field) for state in states), rtol=1e-8, atol=1e-9, err_msg=field
        )


@pytest.mark.slow
def test_the_lowest_loss_is_kept_though_epsilon_changes_that_nothing_reads():
    manifold = PseudoHyperboloid(3, 1)
    schedule = Schedule(
        np.full(6, 0.01), np.geomspace(0.1, 1e-3, 6), np.full(6, 1e-3), np.full(6, 0.05)
    )
    specs = [
        RunSpec(manifold, schedule, "geodesic"),
        RunSpec(manifold, schedule, "geodesic", keep="last"),
    ]
    start = manifold.random_near_pole(
        34, epsilon=0.05, generator=torch.Generator().manual_seed(0)
    ).numpy()
    state = BatchState.start([start, start])
    losses = DOUBLE(KARATE, specs).advance(state, 6)
    assert np.argmin(losses[0]) < 5, "the lowest loss is not the last"
    assert state.record["best_loss"][0] == losses[0].min()
    assert state.record["best_iteration"].tolist() == [np.argmin(losses[0]), 5]


def test_no_point_moves_before_all_gradients_are_known():
    # More nodes than one program takes: a moved neighbour would show in the gradient of an edge.
    manifold = PseudoHyperboloid(3, 1)
    pairs, points = random_pairs(150, "tied"), spread_points(manifold, 150)
    schedule = Schedule.constant(3, temperature=0.1, step=0.1, max_step=0.05, epsilon=0.1)
    specs = [RunSpec(manifold, schedule, "smoothed")]
    states = [BatchState.start([points.numpy()]) for _ in range(2)]
    for engine, state in zip((DOUBLE, ReferenceEngine), states, strict=True):
        engine(pairs, specs).advance(state, 1)
    np.testing.assert_allclose(states[0].points, states[1].points, rtol=1e-8, atol=1e-10)


def test_run_k_of_a_batch_is_that_run_alone():
    manifolds = [PseudoHyperboloid(3, 1, -4.0), Euclidean(4)]
    specs = [spec_of(m, "smoothed", 0.02 * (k + 1)) for k, m in enumerate(manifolds)]
    starts = [
        m.random_near_pole(34, epsilon=0.1, generator=torch.Generator().manual_seed(0)).numpy()
        for m in manifolds
    ]
    together = BatchState.start(starts)
    losses = DOUBLE(KARATE, specs).advance(together, 1)
    for k, manifold in enumerate(manifolds):
        alone = BatchState.start([starts[k]])
        assert np.array_equal(DOUBLE(KARATE, [specs[k]]).advance(alone, 1)[0], losses[k])
        assert np.array_equal(alone.points[0], together.points[k][:, : manifold.ambient_dim])


def test_a_run_stops_once_every_edge_is_shorter():
    manifold = Euclidean(2)
    pairs = RankedPairs(4, np.array([[0, 1], [2, 3]]), np.zeros(2, dtype=np.int64))
    points = np.array([[0.0, 0.0], [0.1, 0.0], [5.0, 0.0], [5.1, 0.0]])
    state = BatchState.start([points])
    losses = DOUBLE(pairs, [spec_of(manifold, "geodesic", 0.1)], stop_when_ordered=True).advance(
        state, 3
    )
    assert state.record["done_at"][0] == 0
    assert np.isnan(losses[0, 1:]).all()
    assert np.array_equal(state.points[0], points)


def of_offsets(pairs, manifold, tau, points, engine_of, size=0.3):
    """The largest relative error of loss, gradient and gradient in the offsets, with offsets."""
    spec = replace(spec_of(manifold, "smoothed", tau), popularity=True)
    state = BatchState.start([points.numpy()])
    state.offsets[:] = size * np.random.default_rng(5).standard_normal(len(points))
    expected, found = (
        engine(pairs, [spec]).evaluate(state) for engine in (ReferenceEngine, engine_of)
    )
    tangent = [
        manifold.egrad2rgrad(points, torch.from_numpy(each.gradient[0]))
        for each in (expected, found)
    ]
    return max(
        abs(found.loss[0] - expected.loss[0]) / expected.loss[0],
        float((tangent[1] - tangent[0]).abs().max() / tangent[0].abs().max()),
        np.abs(found.offsets - expected.offsets).max() / np.abs(expected.offsets).max(),
    )


@pytest.mark.parametrize("tau", [0.05, *slow(1.0, 7e-4)])
@pytest.mark.parametrize(
    "manifold",
    [PseudoHyperboloid(2, 2, -4.0), *slow(PseudoHyperboloid(3, 0), Euclidean(3))],
    ids=str,
)
def test_offsets_of_nodes(manifold, tau):
    pairs, points = random_pairs(70, "tied"), spread_points(manifold, 70)
    assert of_offsets(pairs, manifold, tau, points, DOUBLE) <= 1e-10
    assert of_offsets(pairs, manifold, tau, points, SINGLE) <= 1e-4


@pytest.mark.parametrize("optimizer", ["descent", *slow("phi", "signed-gradient")])
@pytest.mark.parametrize("manifold", [PseudoHyperboloid(2, 2, -4.0), *slow(Euclidean(3))], ids=str)
def test_points_move_with_their_offsets(manifold, optimizer):
    if isinstance(manifold, Euclidean) and optimizer != "descent":
        pytest.skip("flat space has no φ")
    points = spread_points(manifold, 34).numpy()
    schedule = Schedule.constant(5, temperature=0.05, step=0.01, max_step=2e-3)
    spec = RunSpec(manifold, schedule, "smoothed", optimizer, popularity=True)
    specs = [spec, replace(spec, popularity=False)]
    states = [BatchState.start([points] * 2) for _ in range(2)]
    for engine_of, state in zip((ReferenceEngine, DOUBLE), states, strict=True):
        engine_of(KARATE, specs).advance(state, 2)
    for name in ("points", "best", "offsets", "best_offsets"):
        np.testing.assert_allclose(
            getattr(states[1], name), getattr(states[0], name), rtol=1e-8, atol=1e-9
        )
    assert states[1].offsets[0].any()
    assert not states[1].offsets[1].any()


def test_the_nearest_pair_with_offsets():
    manifold, pairs = PseudoHyperboloid(2, 2), random_pairs(70, "tied")
    state = BatchState.start([spread_points(manifold, 70).numpy()])
    state.offsets[:] = 0.3 * np.random.default_rng(5).standard_normal(70)
    specs = [replace(spec_of(manifold, "smoothed", 0.1), popularity=True)]
    found = [
        engine(pairs, specs, stop_when_ordered=True).evaluate(state)
        for engine in (ReferenceEngine, DOUBLE)
    ]
    np.testing.assert_allclose(found[1].shortest, found[0].shortest, rtol=1e-9)
    np.testing.assert_allclose(found[1].longest, found[0].longest, rtol=1e-9)


def test_kernels_are_launched_on_the_device_of_the_engine(monkeypatch):
    entered, launched = [], []

    @contextlib.contextmanager
    def enter(device, real=passes.on_device):
        with real(device):
            entered.append(device)
            yield
            entered.pop()

    class Watched:
        def __init__(self, name, kernel):
            self.name, self.kernel = name, kernel

        def __getitem__(self, grid):
            assert entered, f"{self.name} is launched on whatever device is the current one"
            launched.append((self.name, entered[-1]))
            return self.kernel[grid]

    names = []
    for module in (passes, cuda):
        monkeypatch.setattr(module, "on_device", enter)
        for name in [name for name in vars(module) if name.endswith("_kernel")]:
            monkeypatch.setattr(module, name, Watched(name, getattr(module, name)))
            names.append(name)
    assert len(names) == 10
    manifold = PseudoHyperboloid(2, 1)
    spec = spec_of(manifold, "smoothed", 0.1)
    engine = DOUBLE(random_pairs(20, "tied"), [spec, replace(spec, popularity=True)])
    state = BatchState.start([spread_points(manifold, 20).numpy()] * 2)
    engine.evaluate(state)
    engine.advance(state, 1)
    assert set(launched) == {(name, DEVICE) for name in names}
    assert entered == []


def test_a_device_becomes_the_current_one(monkeypatch):
    seen = []

    @contextlib.contextmanager
    def device(place):
        seen.append(place)
        yield

    monkeypatch.setattr(torch.cuda, "device", device)
    with passes.on_device(torch.device("cuda:1")):
        assert seen == [torch.device("cuda:1")]
    with passes.on_device(torch.device("cpu")):
        assert len(seen) == 1


@ON_TWO_CUDA
def test_the_second_device_trains_like_the_first():
    manifold = PseudoHyperboloid(3, 1)
    points = spread_points(manifold, 34).numpy()
    specs = [spec_of(manifold, "smoothed", 0.1)]
    states = [BatchState.start([points]) for _ in range(2)]
    losses = [
        TritonEngine(
            KARATE, specs, device=torch.device("cuda", number), precision="float64"
        ).advance(state, 3)
        for number, state in enumerate(states)
    ]
    np.testing.assert_allclose(*losses, rtol=1e-12)
    assert torch.cuda.current_device() == 0


@pytest.mark.parametrize(
    ("popular", "bitmap"), slow((False, False), (True, True), (True, False), (False, True))
)
def test_a_part_of_the_pairs_is_that_of_the_definition(monkeypatch, popular, bitmap):
    """Cells are as large as the interpreter's tiles: a part in three is some of them."""
    monkeypatch.setattr(passes, "BITMAP_NODES", 1 << 20 if bitmap else 0)
    edge = passes.Shape.of(5, torch.float64).columns if DEVICE.type == "cuda" else 64
    monkeypatch.setattr(reference, "CELL", (edge, edge))
    manifold, n, iterations = PseudoHyperboloid(2, 2), 140, 2
    pairs, points = random_pairs(n, "tied"), spread_points(manifold, n, scale=0.3)
    ones = np.ones(iterations)
    losses, ends = [], []
    for parts in (3, 1):
        schedule = Schedule(0.05 * ones, 0.01 * ones, 1e-3 * ones, 0.01 * ones, parts=parts)
        spec = RunSpec(manifold, schedule, "smoothed", keep="last", popularity=popular)
        for make in (DOUBLE, ReferenceEngine):
            state = BatchState.start([points])
            losses.append(make(pairs, [spec]).advance(state, iterations))
            ends.append(state.points)
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-9)
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(losses[2], losses[3], rtol=1e-9)
    assert not np.allclose(losses[0], losses[2], rtol=1e-6), "another sum is another loss"


@pytest.mark.parametrize("popular", [True, *slow(False)])
@pytest.mark.parametrize(
    "manifold", [PseudoHyperboloid(12, 2), *slow(PseudoHyperboloid(3, 0), Euclidean(4))], ids=str
)
def test_products_of_matrices_give_what_differences_of_coordinates_do(
    monkeypatch, manifold, popular
):
    """Of a graph that is trained on parts alone, whose cells are as large as the tiles of these."""
    monkeypatch.setattr(passes, "EXACT_NODES_ON_CUDA", 0)
    monkeypatch.setattr(passes, "BITMAP_NODES", 0)
    monkeypatch.setattr(reference, "CELL", (64, 64))
    n, ones = 150, np.ones(2)
    pairs, points = random_pairs(n, "tied", degree=20), spread_points(manifold, n, scale=0.3)
    schedule = Schedule(0.05 * ones, 1e-4 * ones, 1e-3 * ones, 0.01 * ones, parts=2)
    spec = RunSpec(manifold, schedule, "smoothed", keep="last", popularity=popular)
    found = []
    for make in (SINGLE, ReferenceEngine):
        state = BatchState.start([points])
        found.append((make(pairs, [spec]).advance(state, 2), state.points, state.offsets))
    (losses, ends, offsets), (wanted, true_ends, true_offsets) = found
    np.testing.assert_allclose(losses, wanted, rtol=1e-5)
    # Of moves of 0.01, in float32.
    np.testing.assert_allclose(ends, true_ends, atol=1e-5)
    np.testing.assert_allclose(offsets, true_offsets, atol=1e-5)
