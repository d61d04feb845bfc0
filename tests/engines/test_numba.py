"""The compiled pass against the reference: value, gradient, threads, every way through its loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from backends import MANIFOLDS, compare, conditioning, random_pairs, spec_of, spread_points

from ultrahyperbolic import Euclidean, PseudoHyperboloid
from ultrahyperbolic.engines.base import BatchState
from ultrahyperbolic.engines.numba import streaming
from ultrahyperbolic.engines.numba.engine import NumbaEngine

CURVED = [manifold for manifold in MANIFOLDS if isinstance(manifold, PseudoHyperboloid)]


@pytest.mark.parametrize(
    ("n", "capacities"),
    [
        (9, "tied"),
        (50, "distinct"),
        (400, "one"),
        pytest.param(1000, "tied", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("manifold", MANIFOLDS, ids=str)
def test_smoothed_value_and_gradient(manifold, n, capacities):
    pairs, points = random_pairs(n, capacities, seed=n), spread_points(manifold, n)
    for tau in (1.0, 0.1, 0.01):
        assert max(compare(NumbaEngine, pairs, manifold, "smoothed", tau, points)) <= 1e-10, tau


@pytest.mark.parametrize("measure", ["geodesic", "cone-rule"])
@pytest.mark.parametrize("manifold", CURVED, ids=str)
def test_the_papers_dissimilarity_to_its_conditioning(manifold, measure):
    for tau, n, scale in ((1.0, 60, 0.7), (1e-2, 800, 0.7), (1e-5, 60, 0.7), (1e-3, 60, 1e-3)):
        pairs, points = random_pairs(n, "tied"), spread_points(manifold, n, seed=n, scale=scale)
        bound = max(64 * conditioning(pairs, manifold, measure, tau, points), 1e-11)
        assert max(compare(NumbaEngine, pairs, manifold, measure, tau, points)) <= bound, (tau, n)


@pytest.mark.parametrize("manifold", [PseudoHyperboloid(2, 2), Euclidean(3)], ids=str)
def test_points_that_coincide_have_no_slope(manifold):
    for n, tau in ((20, 1.0), (900, 1e-3)):
        pairs, points = random_pairs(n, "tied"), spread_points(manifold, n)
        points[1:5] = points[0]
        engine = NumbaEngine(pairs, [spec_of(manifold, "geodesic", tau)])
        assert np.isfinite(engine.evaluate(BatchState.start([points.numpy()])).gradient).all()


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


def test_the_nearest_pair_is_known_where_it_is_asked_for():
    manifold = PseudoHyperboloid(2, 2)
    pairs, points = random_pairs(900, "one"), spread_points(manifold, 900)
    state, specs = BatchState.start([points.numpy()]), [spec_of(manifold, "geodesic", 1.0)]
    distances = manifold.dissimilarity(points[:, None], points[None]).numpy()
    i, j = pairs.nonedges.T
    shortest = [
        NumbaEngine(pairs, specs, stop_when_ordered=asked).evaluate(state).shortest[0]
        for asked in (True, False)
    ]
    assert shortest[0] == pytest.approx(distances[i, j].min(), rel=1e-9)
    assert np.isnan(shortest[1])


@pytest.mark.parametrize(
    ("change", "word"),
    [({"measure": "broken"}, "broken"), ({"measure": "extrinsic"}, "extrinsic")],
)
def test_what_only_the_reference_trains_with_is_refused(change, word):
    with pytest.raises(ValueError, match=f"do not train with dissimilarity '{word}'"):
        NumbaEngine(random_pairs(9, "one"), [spec_of(PseudoHyperboloid(2, 2), tau=0.1, **change)])
