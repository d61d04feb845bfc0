"""The compiled pass against the reference: value, gradient, threads, precision, every way through
its loops.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
import torch
from backends import MANIFOLDS, compare, conditioning, random_pairs, spec_of, spread_points

from ultrahyperbolic import Euclidean, PseudoHyperboloid
from ultrahyperbolic.engines.base import BatchState
from ultrahyperbolic.engines.numba import streaming
from ultrahyperbolic.engines.numba.engine import NumbaEngine

SINGLE = functools.partial(NumbaEngine, precision="float32")


@pytest.fixture
def sixteen_slabs(monkeypatch):
    """Cut the pairs of few nodes as those of 768 and more; 330 nodes have the tables of large
    graphs, too.
    """
    monkeypatch.setattr(streaming, "_ONE_SLAB_NODES", 32)
    assert len(streaming.slabs_of(330)) == 17


@pytest.mark.parametrize("capacities", ["tied", "distinct", "one"])
@pytest.mark.parametrize("n", [9, 50, 400, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("manifold", MANIFOLDS, ids=str)
def test_smoothed_value_and_gradient(manifold, n, capacities):
    pairs, points = random_pairs(n, capacities, seed=n), spread_points(manifold, n)
    for tau in (1.0, 0.1, 0.01):
        value, gradient = compare(NumbaEngine, pairs, manifold, "smoothed", tau, points)
        assert value <= 1e-10, tau
        assert gradient <= 1e-10, tau


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("manifold", MANIFOLDS, ids=str)
def test_single_precision_pairs(manifold, n):
    pairs, points = random_pairs(n, "tied"), spread_points(manifold, n)
    for tau in (1.0, 0.1, 0.01):
        value, gradient = compare(SINGLE, pairs, manifold, "smoothed", tau, points)
        assert value <= 1e-4, tau
        assert gradient <= 1e-4, tau


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.3, 1.5])
@pytest.mark.parametrize(
    "manifold", [PseudoHyperboloid(2, 2, -4.0), PseudoHyperboloid(3, 1, -4.0)], ids=str
)
def test_single_precision_keeps_its_digits_near_the_light_cone(manifold, scale):
    pairs, points = random_pairs(700, "tied"), spread_points(manifold, 700, scale=scale)
    assert max(compare(SINGLE, pairs, manifold, "smoothed", 0.01, points)) <= 1e-5


@pytest.mark.parametrize("tau", [1.0, 1e-2, 1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize(
    "manifold", [m for m in MANIFOLDS if isinstance(m, PseudoHyperboloid)], ids=str
)
def test_the_papers_dissimilarity_to_its_conditioning(manifold, tau, sixteen_slabs):
    for n, capacities, scale in ((60, "distinct", 0.7), (600, "tied", 0.7), (60, "tied", 1e-3)):
        pairs, points = random_pairs(n, capacities), spread_points(manifold, n, seed=n, scale=scale)
        bound = 64 * conditioning(pairs, manifold, "geodesic", tau, points)
        value, gradient = compare(NumbaEngine, pairs, manifold, "geodesic", tau, points)
        assert max(value, gradient) <= bound, (n, capacities, scale)


@pytest.mark.slow
def test_three_thousand_nodes():
    manifold = PseudoHyperboloid(3, 1)
    pairs, points = random_pairs(3000, "tied"), spread_points(manifold, 3000)
    for tau in (0.5, 0.01):
        assert max(compare(NumbaEngine, pairs, manifold, "smoothed", tau, points)) <= 1e-10


@pytest.mark.parametrize("tau", [1.0, 1e-2, 1e-4])
@pytest.mark.parametrize("manifold", MANIFOLDS, ids=str)
def test_the_extrinsic_distance_to_its_conditioning(manifold, tau, sixteen_slabs):
    for n, capacities, scale in ((60, "distinct", 0.7), (330, "tied", 0.7), (60, "tied", 1e-3)):
        pairs, points = random_pairs(n, capacities), spread_points(manifold, n, seed=n, scale=scale)
        bound = max(64 * conditioning(pairs, manifold, "extrinsic", tau, points), 1e-11)
        value, gradient = compare(NumbaEngine, pairs, manifold, "extrinsic", tau, points)
        assert max(value, gradient) <= bound, (n, capacities, scale)


@pytest.mark.parametrize("manifold", [PseudoHyperboloid(2, 2), Euclidean(3)], ids=str)
def test_points_that_coincide_have_no_slope(manifold):
    for n in (20, 900):
        pairs, points = random_pairs(n, "tied"), spread_points(manifold, n)
        points[1:5] = points[0]
        for tau in (1.0, 1e-3):
            engine = NumbaEngine(pairs, [spec_of(manifold, "extrinsic", tau)])
            assert np.isfinite(engine.evaluate(BatchState.start([points.numpy()])).gradient).all()


@pytest.mark.parametrize("measure", ["geodesic", "smoothed", "broken", "extrinsic"])
@pytest.mark.parametrize("tau", [1.0, 0.03, 1e-3])
def test_pruning_changes_nothing(tau, measure):
    manifold = PseudoHyperboloid(2, 2)
    pairs, points = random_pairs(900, "tied"), spread_points(manifold, 900)
    state = BatchState.start([points.numpy()])
    specs = [spec_of(manifold, measure, tau)]
    pruned, full = NumbaEngine(pairs, specs), NumbaEngine(pairs, specs)
    full._runs[0].work.cut[0] = 690.0
    a, b = pruned.evaluate(state), full.evaluate(state)
    assert a.loss[0] == pytest.approx(b.loss[0], rel=1e-13)
    assert np.abs(a.gradient - b.gradient).max() <= 1e-11 * np.abs(b.gradient).max()


@pytest.mark.parametrize("tau", [1.0, 0.05, 1e-4])
def test_the_same_bits_for_any_number_of_threads(tau):
    manifold = PseudoHyperboloid(3, 1)
    pairs, points = random_pairs(1200, "tied"), spread_points(manifold, 1200)
    results = []
    for threads in (1, 2, 5):
        state = BatchState.start([points.numpy()])
        engine = NumbaEngine(pairs, [spec_of(manifold, "smoothed", tau)], threads=threads)
        losses = engine.advance(state, 3)
        results.append((losses, state.points, state.rows))
    for other in results[1:]:
        for mine, theirs in zip(results[0], other, strict=True):
            assert np.array_equal(mine, theirs, equal_nan=True)


def test_slabs_hold_every_row_once_and_about_equally_many_pairs():
    for n in (2, 100, 767, 768, 5000, 50_000):
        slabs = streaming.slabs_of(n)
        assert slabs[0] == 0
        assert slabs[-1] == n
        assert (np.diff(slabs) > 0).all()
        size = [(2 * n - a - b - 1) * (b - a) / 2 for a, b in itertools.pairwise(slabs)]
        assert sum(size) == n * (n - 1) / 2
        assert max(size) <= 1.2 * min(size) + 8 * n


def test_a_cold_pass_says_how_near_the_nearest_pair_is_and_a_hot_one_need_not():
    manifold = Euclidean(3)
    pairs, points = random_pairs(900, "one"), spread_points(manifold, 900)
    state = BatchState.start([points.numpy()])
    nearest = (torch.cdist(points, points).square() + torch.eye(900) * 1e9).double()
    nearest[pairs.edges[:, 0], pairs.edges[:, 1]] = np.inf
    expected = nearest.triu(1)[nearest.triu(1) > 0].min().item()
    for compare_pairs in (True, False):
        engine = NumbaEngine(
            pairs, [spec_of(manifold, "geodesic", 1.0)], stop_when_ordered=compare_pairs
        )
        shortest = engine.evaluate(state).shortest[0]
        assert (
            shortest == pytest.approx(expected, rel=1e-9) if compare_pairs else np.isnan(shortest)
        )
