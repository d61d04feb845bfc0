"""Both passes against loops over given distances, and their distances against the manifolds."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from backends import MANIFOLDS, spread_points

from ultrahyperbolic import Euclidean, PseudoHyperboloid, PseudoSphere
from ultrahyperbolic.pairs import lengths_of, measured_from, rows_of

pytest.importorskip("numba")

NUMBA = {"backend": "numba"}
BACKENDS = ("numba", "reference")
NO_EDGES = np.empty((0, 2), np.int64)


@pytest.fixture(params=MANIFOLDS, ids=lambda m: m._label())
def space(request):
    return request.param


def lattice(n, seed=0):
    """Points of a small grid: squared distances are whole numbers, and many are equal."""
    return np.random.default_rng(seed).integers(0, 3, (n, 3)).astype(float)


def all_pairs(n):
    return np.column_stack(np.triu_indices(n, 1))


def random_edges(n, share=0.1, seed=0):
    pairs = all_pairs(n)
    return pairs[np.random.default_rng(seed).random(len(pairs)) < share]


def matrix(points, manifold, **options):
    """The distances of all pairs as a pass sees them, [n, n]."""
    n = len(points)
    both = np.stack(np.meshgrid(np.arange(n), np.arange(n), indexing="ij"), 2).reshape(-1, 2)
    return lengths_of(points, manifold, both, **options).reshape(n, n)


def expected(table, edges, k, thresholds):
    """What a pass finds, by its definition."""
    n = len(table)
    tied = np.zeros((n, n), bool)
    tied[edges[:, 0], edges[:, 1]] = tied[edges[:, 1], edges[:, 0]] = True
    counts, indices = [], []
    for u in range(n):
        others = [v for v in range(n) if v != u]
        indices.append(sorted(others, key=lambda v: (table[u, v], v))[:k])
        for reach in sorted(table[u, tied[u]]):
            near = [v for v in others if table[u, v] <= reach]
            counts.append((u, int(tied[u, near].sum()), int((~tied[u, near]).sum())))
    free = [table[i, j] for i, j in all_pairs(n) if not tied[i, j]]
    nonedges = [sum(length <= limit for length in free) for limit in thresholds]
    return indices, counts, nonedges


def assert_expected(rows, table, edges, k, thresholds):
    indices, counts, nonedges = expected(table, edges, k, thresholds)
    assert rows.indices.tolist() == indices
    assert list(zip(*(each.tolist() for each in rows[3:6]), strict=True)) == counts
    assert rows.nonedges.tolist() == nonedges
    lengths = [[table[u][v] for v in row] for u, row in enumerate(indices)]
    assert rows.distances.tolist() == lengths
    alone = table.copy()
    np.fill_diagonal(alone, 0.0)
    np.testing.assert_allclose(rows.sums, alone.sum(1), rtol=1e-13)
    np.fill_diagonal(alone, -math.inf)
    assert rows.farthest.tolist() == alone.max(1).tolist()


@pytest.mark.parametrize("n", [2, 3, 257])
@pytest.mark.parametrize("measure", ["geodesic", "smoothed"])
def test_all_that_a_pass_finds(space, n, measure):
    points, edges = spread_points(space, n, seed=n).numpy(), random_edges(n, 0.02 + 1 / n)
    options = {"dissimilarity": measure, **NUMBA}
    lengths = lengths_of(points, space, edges, **options)
    thresholds = np.concatenate((lengths, [0.0, math.inf]))[:30]
    table = matrix(points, space, **options)
    assert (table == table.T).all()
    k = min(5, n - 1)
    assert_expected(
        rows_of(points, space, edges, k, thresholds, **options), table, edges, k, thresholds
    )
    np.testing.assert_array_equal(
        measured_from(points, space, **options)(np.array([n - 1]))[0, :-1], table[-1, :-1]
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_equal_distances(share, backend):
    points, edges = lattice(40), random_edges(40, share)
    table = np.square(points[:, None] - points).sum(2)
    thresholds = [3.0, math.inf, 0.0, -1.0, 3.0, 1.5, math.nan, 12.0]
    before = np.array(thresholds)
    for k in (1, 9, 39):
        rows = rows_of(points, Euclidean(3), edges, k, before, backend=backend)
        # What is not a number is farthest.
        limits = [math.inf if math.isnan(limit) else limit for limit in thresholds]
        assert_expected(rows, table, edges, k, limits)
    np.testing.assert_array_equal(before, thresholds)
    first = rows_of(points, Euclidean(3), k=9, count=7, backend=backend)
    assert first.indices.tolist() == expected(table, NO_EDGES, 9, [])[0][:7]


def test_both_passes_find_the_same(space):
    points, edges = spread_points(space, 300, seed=3).numpy(), random_edges(300)
    thresholds = lengths_of(points, space, edges, **NUMBA)
    compiled = rows_of(points, space, edges, 6, thresholds, **NUMBA)
    torch_rows = rows_of(points, space, edges, 6, thresholds, backend="reference")
    np.testing.assert_allclose(compiled.sums, torch_rows.sums, rtol=1e-12)
    np.testing.assert_allclose(compiled.distances, torch_rows.distances, rtol=1e-9, atol=1e-12)
    # Rounding may turn the order of two distances that are equal but for it.
    assert abs(compiled.others - torch_rows.others).max() <= 1
    assert abs(compiled.nonedges - torch_rows.nonedges).max() <= 2


@pytest.mark.parametrize("measure", ["geodesic", "smoothed"])
def test_distances_are_those_of_the_manifold(space, measure):
    points = torch.cat(
        (spread_points(space, 60), spread_points(space, 40, scale=20.0), spread_points(space, 40))
    )
    points[100:] = space.expmap(points[:40], space.random_tangent(points[:40], scale=1e-5))
    if isinstance(space, PseudoHyperboloid) and space.q > 0:
        points = torch.cat((points, -points[100:], -points[:3]))
    options = {"epsilon": 0.3} if measure == "smoothed" else {}
    compiled = torch.from_numpy(matrix(points, space, dissimilarity=measure, **options, **NUMBA))
    truth = space.cdist(points, points, dissimilarity=measure, epsilon=options.get("epsilon"))
    # What rounding leaves of a squared chord: terms as large as ‖x‖‖y‖, or ‖x ∓ y‖² where that is
    # less.
    norms = points.norm(dim=1)
    terms = torch.minimum(norms[:, None] * norms, torch.cdist(points, points).square())
    if isinstance(space, PseudoHyperboloid):
        terms = torch.minimum(terms, torch.cdist(points, -points).square())
    assert ((compiled - truth).abs() <= 1e-12 * truth + (1e-14 * terms).sqrt()).all()
    ordinary = (truth - truth.median()).abs() < 0.2 * truth.median()
    torch.testing.assert_close(compiled[ordinary], truth[ordinary], rtol=3e-12, atol=0)


@pytest.mark.parametrize("height", [1.0, 1e2, 1e4, 1e6])
def test_distances_far_out_keep_their_digits(height):
    # Along the radius rounding the coordinates costs nothing.
    start = math.asinh(height)
    angles = np.array([start, start + 0.3])
    cosh, sinh = np.cosh(angles), np.sinh(angles)
    points = np.stack((1.2 * cosh, 1.6 * cosh, 0 * cosh, 0 * cosh, 2.0 * sinh), 1)
    table = matrix(points, PseudoHyperboloid(2, 2, -4.0), **NUMBA)
    assert table[0, 1] == pytest.approx(0.6, rel=2e-13)


@pytest.mark.parametrize("measure", ["broken", "extrinsic", "cone-rule", "distance"])
def test_torch_serves_other_dissimilarities(measure):
    space = PseudoHyperboloid(2, 2)
    points, edges = space.random(25, generator=torch.Generator().manual_seed(5)), random_edges(25)
    table = matrix(points, space, dissimilarity=measure)
    truth = space.pair_function(measure)(points[:, None], points)
    truth = truth.masked_fill(truth.isnan(), math.inf).numpy()
    np.testing.assert_allclose(table, truth, rtol=1e-9, atol=1e-7)
    np.fill_diagonal(table, 0.0)
    rows = rows_of(points, space, edges, 24, dissimilarity=measure)
    assert_expected(rows, table, edges, 24, [])
    with pytest.raises(ValueError, match="backend 'numba': no compiled"):
        rows_of(points, space, dissimilarity=measure, **NUMBA)


class Warped(PseudoHyperboloid):
    def dissimilarity(self, x, y):
        return 2.0 * super().dissimilarity(x, y)


@pytest.mark.parametrize("manifold", [Warped(2, 1), PseudoSphere(2, 1)])
def test_torch_serves_other_manifolds(manifold):
    points, pairs = manifold.random(30), np.array([[0, 1], [3, 20]])
    truth = manifold.dissimilarity(points[pairs[:, 0]], points[pairs[:, 1]])
    np.testing.assert_array_equal(lengths_of(points, manifold, pairs), truth.numpy())
    with pytest.raises(ValueError, match=f"no compiled loop knows {type(manifold).__name__}"):
        lengths_of(points, manifold, pairs, **NUMBA)


def test_single_precision_is_summed_in_double():
    # In float32, adding 0.1 many times is off by far more than the 1e-8 that rounding 0.1 costs.
    points = torch.zeros(3001, 1, dtype=torch.float32)
    points[0] = 0.1
    rows = rows_of(points, Euclidean(1))
    assert rows.sums[0] == pytest.approx(3000 * float(points[0].square().double()), rel=1e-13)
    with pytest.raises(ValueError, match="points must be float64 on the CPU"):
        rows_of(points, Euclidean(1), **NUMBA)


@pytest.mark.parametrize("backend", BACKENDS)
def test_popularity_is_part_of_every_distance(space, backend):
    points = spread_points(space, 12).requires_grad_()
    popularity, pairs = np.linspace(-2.0, 2.0, 12), all_pairs(12)
    options = {"backend": backend, "popularity": torch.from_numpy(popularity)}
    plain = lengths_of(points, space, pairs, backend=backend)
    lengths = lengths_of(points, space, pairs, **options)
    np.testing.assert_allclose(lengths, plain - popularity[pairs].sum(1))
    table = np.zeros((12, 12))
    table[pairs[:, 0], pairs[:, 1]] = table[pairs[:, 1], pairs[:, 0]] = lengths
    edges, limits = pairs[::5], lengths[::5]
    rows = rows_of(points, space, edges, 3, limits, **options)
    np.testing.assert_allclose(rows.sums, table.sum(1))
    indices, counts, nonedges = expected(table, edges, 3, limits)
    assert rows.indices.tolist() == indices
    assert list(zip(*(each.tolist() for each in rows[3:6]), strict=True)) == counts
    assert rows.nonedges.tolist() == nonedges
    measured = measured_from(points, space, **options)(np.arange(12))
    np.testing.assert_allclose(measured, table)


@pytest.mark.parametrize("backend", BACKENDS)
def test_points_that_coincide_and_that_are_no_numbers(backend):
    points = np.zeros((40, 3))
    rows = rows_of(points, Euclidean(3), random_edges(40), 3, backend=backend)
    assert rows.sums.tolist() == [0.0] * 40
    assert rows.indices[:4].tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]
    points[7], points[9] = math.nan, math.inf
    rows = rows_of(points, Euclidean(3), np.array([[0, 7], [1, 2]]), 39, backend=backend)
    assert rows.indices[0, -2:].tolist() == [7, 9]
    assert rows.sums.tolist() == [math.inf] * 40
    assert rows.others[0] == 38, "all others are at most as far as a neighbour at infinity"


def test_threads_change_nothing(space):
    points, edges = spread_points(space, 1500).numpy(), random_edges(1500, 0.002)
    thresholds = lengths_of(points, space, edges, **NUMBA)
    alone, together = (
        rows_of(points, space, edges, 4, thresholds, threads=threads, **NUMBA) for threads in (1, 5)
    )
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [0, 1])
def test_few_points(n, backend):
    rows = rows_of(np.ones((n, 2)), Euclidean(2), thresholds=np.ones(1), backend=backend)
    assert rows.sums.tolist() == [0.0] * n
    assert rows.nonedges.tolist() == [0]
    assert len(lengths_of(np.ones((n, 2)), Euclidean(2), NO_EDGES, backend=backend)) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0, "count": 1}, None),
        ({"k": 5}, "k must be at least 1 and below the number of points, 5"),
        ({"threads": 0}, "threads must be at least 1, got 0"),
        ({"backend": "fortran"}, "backend must be one of"),
        ({"dissimilarity": "hops"}, "dissimilarity must be one of"),
        ({"epsilon": 0.1}, "epsilon belongs to"),
        ({"dissimilarity": "smoothed", "epsilon": -1.0}, "epsilon must be"),
        ({"edges": np.array([[0, 5]])}, "positions from 0 to 4, got 0 to 5"),
        ({"popularity": np.ones((1, 5))}, r"popularity must be \[5\] finite numbers"),
        ({"popularity": np.full(5, np.nan)}, r"popularity must be \[5\] finite numbers"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    if message is None:
        assert len(rows_of(lattice(5), Euclidean(3), **options).sums) == 1
        return
    with pytest.raises(ValueError, match=message):
        rows_of(lattice(5), Euclidean(3), **options)


def test_torch_works_in_blocks():
    class Recorded(Euclidean):
        largest = 0

        def cdist(self, x, y=None, **options):
            distances = super().cdist(x, y, **options)
            self.largest = max(self.largest, distances.numel())
            return distances

    n, space = 2000, Recorded(4)
    points = np.random.default_rng(8).standard_normal((n, 4))
    rows = rows_of(points, space, random_edges(n, 0.002), 2, backend="reference")
    assert 0 < space.largest <= 1 << 18 < n * n / 8
    table = np.square(points[:, None] - points).sum(2)
    np.testing.assert_allclose(rows.sums, table.sum(1), rtol=1e-9)
    np.testing.assert_allclose(rows.distances, np.sort(table, 1)[:, 1:3], rtol=1e-9)
