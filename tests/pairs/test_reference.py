"""The pass over all pairs against loops over a matrix that is filled pair by pair."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from ultrahyperbolic import Euclidean, PseudoHyperboloid
from ultrahyperbolic.pairs import (
    nearest,
    neighbor_counts,
    nonedge_counts,
    pair_distances,
    row_statistics,
    row_sums,
)

MANIFOLDS = [
    PseudoHyperboloid(4, 0),
    PseudoHyperboloid(3, 1, -0.25),
    PseudoHyperboloid(2, 2, -4.0),
    PseudoHyperboloid(0, 3),
    Euclidean(3),
]
BLOCKS = [None, 1, 7, 1000]


def lattice(n, seed=0, dtype=torch.float64):
    """Points of a small grid: squared distances are exact in any order of summation, and many are
    equal.
    """
    return torch.randint(0, 3, (n, 3), generator=torch.Generator().manual_seed(seed)).to(dtype)


def random_edges(n, share=0.2, seed=0):
    pairs = torch.combinations(torch.arange(n))
    return pairs[torch.rand(len(pairs), generator=torch.Generator().manual_seed(seed)) < share]


def lattice_matrix(points):
    return [
        [float(sum((a - b) ** 2 for a, b in zip(x, y, strict=True))) for y in points]
        for x in points
    ]


def matrix(points, manifold, dissimilarity="geodesic", **options):
    function = manifold.pair_function(dissimilarity, **options)
    rows = [[function(x, y).item() for y in points] for x in points]
    return [[math.inf if math.isnan(value) else value for value in row] for row in rows]


def adjacency(edges, n):
    joined = [[False] * n for _ in range(n)]
    for i, j in edges.tolist():
        joined[i][j] = joined[j][i] = True
    return joined


def closest(row, i, k):
    return sorted((j for j in range(len(row)) if j != i), key=lambda j: (row[j], j))[:k]


@pytest.fixture(params=MANIFOLDS, ids=lambda m: m._label())
def space(request):
    return request.param


def test_row_sums(space, dtype):
    points = space.random(13, generator=torch.Generator().manual_seed(0), dtype=dtype)
    sums = row_sums(points, space)
    assert sums.dtype == torch.float64
    truth = [
        sum(value for j, value in enumerate(row) if j != i)
        for i, row in enumerate(matrix(points, space))
    ]
    tolerance = 1e-12 if dtype == torch.float64 else 1e-4
    torch.testing.assert_close(
        sums, torch.tensor(truth, dtype=torch.float64), rtol=tolerance, atol=tolerance
    )


def test_row_sums_accumulate_in_double():
    # In float32, adding 0.1 many times is off by far more than the 1e-8 that rounding 0.1 costs.
    points = torch.zeros(3001, 1, dtype=torch.float32)
    points[0] = 0.1
    squared = points[0].square().double()
    torch.testing.assert_close(
        row_sums(points, Euclidean(1))[0], 3000 * squared.squeeze(), rtol=1e-13, atol=0
    )


@pytest.mark.parametrize("measure", ["distance", "broken", "smoothed", "extrinsic"])
def test_every_measure(space, measure):
    points = space.random(9, scale=0.1, generator=torch.Generator().manual_seed(1))
    options = {"epsilon": 0.5} if measure == "smoothed" else {}
    table = torch.tensor(matrix(points, space, measure, **options), dtype=torch.float64)
    table.fill_diagonal_(0.0)
    sums = row_sums(points, space, dissimilarity=measure, **options)
    torch.testing.assert_close(sums, table.sum(1), rtol=1e-9, atol=1e-7)
    pairs = torch.tensor([[0, 1], [8, 2], [3, 3]])
    found = pair_distances(points, space, pairs, dissimilarity=measure, **options)
    torch.testing.assert_close(found, table[pairs[:, 0], pairs[:, 1]], rtol=1e-7, atol=1e-7)


def test_nearest(space):
    points = space.random(17, generator=torch.Generator().manual_seed(2))
    table = matrix(points, space)
    for k in (1, 4, 16):
        found = nearest(points, space, k)
        assert found.indices.tolist() == [closest(row, i, k) for i, row in enumerate(table)]
        truth = [[table[i][j] for j in row] for i, row in enumerate(found.indices.tolist())]
        torch.testing.assert_close(found.distances, torch.tensor(truth, dtype=torch.float64))


@pytest.mark.parametrize("backend", ["reference", "numba"])
@pytest.mark.parametrize("block_rows", [1, 3, None])
def test_nearest_of_the_first_points_alone(space, block_rows, backend):
    points = space.random(17, generator=torch.Generator().manual_seed(2))
    every, first = (
        nearest(points, space, 4, count=count, block_rows=block_rows, backend=backend)
        for count in (None, 5)
    )
    assert torch.equal(first.indices, every.indices[:5])
    torch.testing.assert_close(first.distances, every.distances[:5])


@pytest.mark.parametrize("block_rows", BLOCKS)
@pytest.mark.parametrize("k", [1, 2, 7, 39])
def test_nearest_takes_the_lower_index_of_equals(k, block_rows, dtype):
    points = lattice(40, dtype=dtype)
    table = lattice_matrix(points.tolist())
    found = nearest(points, Euclidean(3), k, block_rows=block_rows)
    assert found.indices.tolist() == [closest(row, i, k) for i, row in enumerate(table)]
    assert found.distances.tolist() == [
        [table[i][j] for j in closest(table[i], i, k)] for i in range(40)
    ]


@pytest.mark.parametrize("block_rows", BLOCKS)
def test_nonedge_counts(block_rows, dtype):
    points, edges = lattice(31, dtype=dtype), random_edges(31)
    table, joined = lattice_matrix(points.tolist()), adjacency(edges, 31)
    apart = [table[i][j] for i in range(31) for j in range(i + 1, 31) if not joined[i][j]]
    thresholds = torch.tensor([3.0, math.inf, 0.0, -1.0, 3.0, 1.5, math.nan, 12.0], dtype=dtype)
    truth = [
        sum(value <= t for value in apart)
        for t in (3.0, math.inf, 0.0, -1.0, 3.0, 1.5, math.inf, 12.0)
    ]
    before = thresholds.clone()
    counts = nonedge_counts(points, Euclidean(3), edges, thresholds, block_rows=block_rows)
    assert counts.tolist() == truth
    torch.testing.assert_close(thresholds, before, equal_nan=True)


def test_nonedge_counts_on_curved_manifolds(space):
    points, edges = space.random(17, generator=torch.Generator().manual_seed(3)), random_edges(17)
    table, joined = matrix(points, space), adjacency(edges, 17)
    thresholds = pair_distances(points, space, edges)
    truth = [
        sum(table[i][j] <= t for i in range(17) for j in range(i + 1, 17) if not joined[i][j])
        for t in thresholds.tolist()
    ]
    for block_rows in BLOCKS:
        assert (
            nonedge_counts(points, space, edges, thresholds, block_rows=block_rows).tolist()
            == truth
        )


def counts_by_loop(table, joined):
    found = []
    for u, row in enumerate(table):
        neighbors = [v for v in range(len(row)) if joined[u][v]]
        others = [v for v in range(len(row)) if v != u and not joined[u][v]]
        for reach in sorted(row[v] for v in neighbors):
            found.append(
                (u, sum(row[v] <= reach for v in neighbors), sum(row[v] <= reach for v in others))
            )
    return found


@pytest.mark.parametrize("block_rows", BLOCKS)
@pytest.mark.parametrize("share", [0.0, 0.03, 0.3, 1.0])
def test_neighbor_counts(share, block_rows, dtype):
    points, edges = lattice(31, dtype=dtype), random_edges(31, share)
    truth = counts_by_loop(lattice_matrix(points.tolist()), adjacency(edges, 31))
    found = neighbor_counts(points, Euclidean(3), edges, block_rows=block_rows)
    assert torch.stack(found).T.tolist() == [list(entry) for entry in truth]


def test_neighbor_counts_on_curved_manifolds(space):
    points, edges = (
        space.random(17, generator=torch.Generator().manual_seed(4)),
        random_edges(17, 0.3),
    )
    truth = counts_by_loop(matrix(points, space), adjacency(edges, 17))
    for block_rows in BLOCKS:
        found = neighbor_counts(points, space, edges, block_rows=block_rows)
        assert torch.stack(found).T.tolist() == [list(entry) for entry in truth]


def test_pairs_without_a_geodesic_are_farthest():
    space = PseudoHyperboloid(2, 2)
    points, edges = (
        space.random(25, generator=torch.Generator().manual_seed(5)),
        random_edges(25, 0.4),
    )
    table = matrix(points, space, "distance")
    missing = [math.isinf(value) for row in table for value in row]
    assert any(missing)
    assert not all(missing)
    statistics = row_statistics(points, space, edges, 24, dissimilarity="distance")
    assert statistics.nearest.indices.tolist() == [
        closest(row, i, 24) for i, row in enumerate(table)
    ]
    truth = counts_by_loop(table, adjacency(edges, 25))
    assert torch.stack(statistics.counts).T.tolist() == [list(entry) for entry in truth]
    assert statistics.sums.isinf().tolist() == [any(map(math.isinf, row)) for row in table]


def test_one_pass_gives_what_four_give(space, passes):
    points, edges = space.random(50, generator=torch.Generator().manual_seed(6)), random_edges(50)
    thresholds = pair_distances(points, space, edges)
    statistics = row_statistics(points, space, edges, 3, thresholds, block_rows=8)
    assert len(passes) == 1
    counts = nonedge_counts(points, space, edges, thresholds, block_rows=8)
    assert torch.equal(statistics.nonedges, counts)
    assert row_statistics(points, space, edges, 3).nonedges.shape == (0,)
    torch.testing.assert_close(
        statistics.sums, row_sums(points, space, block_rows=8), rtol=0, atol=0
    )
    for one, other in zip(statistics.nearest, nearest(points, space, 3, block_rows=8), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
    for one, other in zip(
        statistics.counts, neighbor_counts(points, space, edges, block_rows=8), strict=True
    ):
        assert torch.equal(one, other)


def test_blocks_change_rounding_at_most(space, dtype):
    points = space.random(67, generator=torch.Generator().manual_seed(7), dtype=dtype)
    whole = row_sums(points, space)
    for block_rows in (1, 5, 66, 67, 500):
        tolerance = 1e-13 if dtype == torch.float64 else 1e-5
        torch.testing.assert_close(
            row_sums(points, space, block_rows=block_rows), whole, rtol=tolerance, atol=tolerance
        )


class Recorded(Euclidean):
    def cdist(self, x, y=None, **options):
        distances = super().cdist(x, y, **options)
        self.largest = max(getattr(self, "largest", 0), distances.numel())
        return distances


def test_two_thousand_points_in_blocks():
    n, space = 2000, Recorded(4)
    points = torch.randn(n, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(8))
    edges = random_edges(n, 0.002)
    table = torch.cdist(points, points).square()
    statistics = row_statistics(points, space, edges, 2)
    thresholds = pair_distances(points, space, edges)
    counts = nonedge_counts(points, space, edges, thresholds)
    assert space.largest <= 1 << 18 < n * n / 8
    torch.testing.assert_close(statistics.sums, table.sum(1), rtol=1e-9, atol=0)
    torch.testing.assert_close(
        statistics.nearest.distances, table.topk(3, largest=False).values[:, 1:]
    )
    table[edges[:, 0], edges[:, 1]] = math.inf
    apart = table[torch.ones_like(table).triu(1).bool()].sort().values
    assert torch.equal(counts, torch.searchsorted(apart, thresholds, right=True))


def test_arguments_are_left_alone():
    points = PseudoHyperboloid(3, 1).random(12).requires_grad_()
    before, edges = points.detach().clone(), random_edges(12)
    kept = edges.clone()
    statistics = row_statistics(points, PseudoHyperboloid(3, 1), edges, 2)
    assert not statistics.sums.requires_grad
    assert not statistics.nearest.distances.requires_grad
    assert torch.equal(points.detach(), before)
    assert torch.equal(edges, kept)


@pytest.mark.parametrize("backend", ["reference", "numba"])
@pytest.mark.parametrize("manifold", MANIFOLDS, ids=str)
def test_popularity_is_part_of_every_distance(manifold, backend):
    points = manifold.random(12, scale=0.5, generator=torch.Generator().manual_seed(0))
    popularity = torch.linspace(-2.0, 2.0, 12, dtype=torch.float64)
    options = {"backend": backend, "popularity": popularity}
    pairs = torch.combinations(torch.arange(12))
    plain = pair_distances(points, manifold, pairs, backend=backend)
    found = pair_distances(points, manifold, pairs, **options)
    torch.testing.assert_close(found, plain - popularity[pairs].sum(1))
    table = torch.zeros(12, 12, dtype=torch.float64)
    table[pairs[:, 0], pairs[:, 1]] = table[pairs[:, 1], pairs[:, 0]] = found
    torch.testing.assert_close(row_sums(points, manifold, **options), table.sum(1))
    apart = table + torch.diag(torch.full((12,), torch.inf))
    close = nearest(points, manifold, 3, **options)
    assert close.indices.tolist() == apart.argsort(1)[:, :3].tolist()
    torch.testing.assert_close(close.distances, apart.gather(1, close.indices))
    edges = pairs[::5]
    whole = row_statistics(points, manifold, edges, 3, found[::5], **options)
    torch.testing.assert_close(whole.sums, table.sum(1))
    assert torch.equal(whole.nearest.indices, close.indices)
    free = torch.ones(len(pairs), dtype=torch.bool)
    free[::5] = False
    counts = [int((found[free] <= threshold).sum()) for threshold in found[::5]]
    assert nonedge_counts(points, manifold, edges, found[::5], **options).tolist() == counts
    assert whole.nonedges.tolist() == counts
    joined = adjacency(edges, 12)
    expected = []
    for u in range(12):
        near = sorted(float(table[u, v]) for v in range(12) if joined[u][v])
        others = [float(table[u, v]) for v in range(12) if v != u and not joined[u][v]]
        expected += [
            (u, sum(d <= far for d in near), sum(d <= far for d in others)) for far in near
        ]
    assert list(zip(*(part.tolist() for part in whole.counts), strict=True)) == expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sums_with_popularity_leave_the_node_itself_out_and_are_float64(dtype):
    points = torch.tensor([[0.0], [1.0], [3.0]], dtype=dtype)
    popularity = torch.tensor([10.0, 20.0, 40.0], dtype=torch.float64)
    sums = row_sums(points, Euclidean(1), popularity=popularity)
    assert sums.dtype == torch.float64
    assert sums.tolist() == [1 - 30 + 9 - 50, 1 - 30 + 4 - 60, 9 - 50 + 4 - 60]
    assert popularity.tolist() == [10.0, 20.0, 40.0], "what was given is left alone"


@pytest.mark.parametrize(
    "popularity", [torch.zeros(2), torch.tensor([0.0, math.nan, 1.0]), np.ones((1, 3))]
)
def test_popularity_must_be_a_finite_number_for_each_point(popularity):
    for call in (row_sums, lambda *a, **o: pair_distances(*a, torch.tensor([[0, 1]]), **o)):
        with pytest.raises(ValueError, match=r"popularity must be \[3\] finite numbers"):
            call(torch.ones(3, 2, dtype=torch.float64), Euclidean(2), popularity=popularity)


def test_few_points():
    space, none = Euclidean(2), torch.empty(0, 2, dtype=torch.int64)
    assert row_sums(torch.empty(0, 2), space).tolist() == []
    assert row_sums(torch.ones(1, 2), space).tolist() == [0.0]
    assert pair_distances(torch.ones(1, 2), space, none).tolist() == []
    assert nonedge_counts(torch.ones(1, 2), space, none, torch.tensor([1.0])).tolist() == [0]
    assert nonedge_counts(torch.ones(3, 2), space, none, torch.empty(0)).tolist() == []
    found = nearest(torch.tensor([[0.0, 0.0], [3.0, 4.0]]), space, 1)
    assert found.indices.tolist() == [[1], [0]]
    assert found.distances.tolist() == [[25.0], [25.0]]


def test_what_cannot_be_is_refused():
    points, space = lattice(5), Euclidean(3)
    for k in (0, 5):
        with pytest.raises(
            ValueError, match="k must be at least 1 and below the number of points, 5"
        ):
            nearest(points, space, k)
    with pytest.raises(ValueError, match="block_rows must be at least 1, got 0"):
        row_sums(points, space, block_rows=0)
    for call in (row_sums, lambda *a, **o: pair_distances(*a, torch.tensor([[0, 1]]), **o)):
        with pytest.raises(ValueError, match="dissimilarity must be one of"):
            call(points, space, dissimilarity="hops")
        with pytest.raises(ValueError, match="epsilon belongs to"):
            call(points, space, epsilon=0.1)
