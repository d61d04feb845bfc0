"""The compiled passes against torch's, and against what they must be given the distances they
measure.
"""

from __future__ import annotations

import math

import pytest
import torch
from backends import MANIFOLDS, spread_points

from ultrahyperbolic import Euclidean, PseudoHyperboloid, PseudoSphere
from ultrahyperbolic.pairs import (
    dispatch,
    nearest,
    neighbor_counts,
    nonedge_counts,
    pair_distances,
    reference,
    row_statistics,
    row_sums,
)
from ultrahyperbolic.pairs.kinds import KernelSpace, Kind

pytest.importorskip("numba")

MEASURES = ["geodesic", "broken", "smoothed", "extrinsic"]
# Around the columns of a tile and the rows of a block, and a few.
SIZES = [2, 3, 255, 256, 257]
NUMBA = {"backend": "numba"}


def lattice(n, seed=0):
    """Points of a small grid: squared distances are whole numbers, and many are equal."""
    return torch.randint(0, 3, (n, 3), generator=torch.Generator().manual_seed(seed)).double()


def random_edges(n, share=0.1, seed=0):
    pairs = torch.combinations(torch.arange(n)).view(-1, 2)
    return pairs[torch.rand(len(pairs), generator=torch.Generator().manual_seed(seed)) < share]


def matrix(points, manifold, **options):
    """The distances of all pairs as the compiled passes see them, [n, n]."""
    n = len(points)
    pairs = torch.cartesian_prod(torch.arange(n), torch.arange(n))
    return pair_distances(points, manifold, pairs, **NUMBA, **options).view(n, n)


class Table(Euclidean):
    """Distances that are given: points are their own positions."""

    def __init__(self, distances):
        super().__init__(1)
        self.distances = distances

    def dissimilarity(self, x, y):
        return self.distances[x[..., 0].long(), y[..., 0].long()]


def expect(points, manifold, edges, k, thresholds, **options):
    """What torch makes of the distances that the compiled passes measure."""
    table = Table(matrix(points, manifold, **options))
    positions = torch.arange(len(points)).double()[:, None]
    statistics = reference.row_statistics(positions, table, edges, k, thresholds)
    return statistics, reference.row_statistics(
        positions, table, edges, 0, thresholds, upper=True
    ).nonedges


def assert_same_rows(found, expected):
    torch.testing.assert_close(found.sums, expected.sums, rtol=1e-13, atol=1e-13)
    assert torch.equal(found.nearest.indices, expected.nearest.indices)
    assert torch.equal(found.nearest.distances, expected.nearest.distances)
    for one, other in zip(found.counts, expected.counts, strict=True):
        assert torch.equal(one, other)
    assert torch.equal(found.nonedges, expected.nonedges)


@pytest.fixture(params=MANIFOLDS, ids=lambda m: m._label())
def space(request):
    return request.param


@pytest.mark.parametrize("measure", MEASURES)
def test_distances_are_those_of_the_manifold(space, measure):
    points = torch.cat(
        (spread_points(space, 150), spread_points(space, 50, scale=20.0), spread_points(space, 50))
    )
    points[200:] = space.expmap(points[:50], space.random_tangent(points[:50], scale=1e-5))
    if isinstance(space, PseudoHyperboloid) and space.q > 0:
        points = torch.cat((points, -points[200:], -points[:3]))
    options = {"epsilon": 0.3} if measure == "smoothed" else {}
    n = len(points)
    found = matrix(points, space, dissimilarity=measure, **options)
    pairs = torch.cartesian_prod(torch.arange(n), torch.arange(n))
    expected = reference.pair_distances(
        points, space, pairs, dissimilarity=measure, **options
    ).view(n, n)
    assert torch.equal(found, found.T)
    # What rounding leaves of a squared chord: terms as large as ‖x‖‖y‖, or ‖x ∓ y‖² where that is
    # less.
    norms = points.norm(dim=1)
    terms = torch.minimum(norms[:, None] * norms, torch.cdist(points, points).square())
    if isinstance(space, PseudoHyperboloid):
        terms = torch.minimum(terms, torch.cdist(points, -points).square())
    off = (found - expected).abs()
    if isinstance(space, Euclidean) or space.q == 0:
        assert (off <= 1e-12 * expected + 1e-14 * (norms[:, None] + norms)).all()
    elif measure == "extrinsic":
        assert (
            (found.square() - expected.square()).abs() <= 1e-14 * terms + 1e-13 * expected.square()
        ).all()
    else:
        assert (off <= 1e-12 * expected + (1e-14 * terms).sqrt()).all()
    ordinary = (expected - expected.median()).abs() < 0.2 * expected.median()
    torch.testing.assert_close(found[ordinary], expected[ordinary], rtol=2e-12, atol=0)


@pytest.mark.parametrize("height", [1.0, 1e2, 1e4, 1e6])
def test_distances_far_out_keep_their_digits(height):
    # Along the radius rounding the coordinates costs nothing.
    manifold, start = PseudoHyperboloid(2, 2, -4.0), math.asinh(height)
    angles = torch.tensor([start, start + 0.3], dtype=torch.float64)
    cosh, sinh = angles.cosh(), angles.sinh()
    half = torch.stack((1.2 * cosh, 1.6 * cosh, 0 * cosh, 0 * cosh, 2.0 * sinh), 1)
    points = torch.cat((half, -half))
    found = matrix(points, manifold, dissimilarity="broken")
    assert found[0, 1].item() == pytest.approx(0.6, rel=1e-13)
    assert found[0, 3].item() == pytest.approx(2 * math.pi + 0.6, rel=1e-13)
    assert torch.equal(found, found.T)


@pytest.mark.parametrize("epsilon", [1e-8, 0.1, 10.0])
def test_tables_hold_fourteen_digits(epsilon):
    import numpy as np

    from ultrahyperbolic.pairs.numba import functions, reducers
    from ultrahyperbolic.pairs.numba.portable import entry

    look_up, dissimilarity = entry(reducers._look_up), entry(functions.dissimilarity)

    w = 10.0 ** np.random.default_rng(0).uniform(-4.5, 4.0, 2000)
    for kind in (Kind.GEODESIC, Kind.SMOOTHED, Kind.CONE_RULE, Kind.FLAT_SMOOTHED):
        time = 0 if kind == Kind.FLAT_SMOOTHED else 2
        space = reducers.prepare(np.full((1, 5), 1e5), KernelSpace(time, 0.5, int(kind)), epsilon)
        for chords in (w, -w) if space.time else (w,):
            values = np.empty_like(w)
            assert (
                look_up(space.table, space.first, space.above, space.below, chords, len(w), values)
                == 0
            )
            truth = [dissimilarity(chord, int(kind), 0.5, epsilon)[0] for chord in chords]
            np.testing.assert_allclose(values, truth, rtol=1e-14)


def test_dist_where_geodesics_never_end():
    for space in (PseudoHyperboloid(4, 0, -4.0), PseudoHyperboloid(0, 3, -0.25), Euclidean(3)):
        points = spread_points(space, 40)
        points[0] = -points[1] if space.ambient_dim == 4 else points[0]
        pairs = random_edges(40, 1.0)
        found = pair_distances(points, space, pairs, dissimilarity="distance", **NUMBA)
        torch.testing.assert_close(
            found, space.dist(points[pairs[:, 0]], points[pairs[:, 1]]), rtol=1e-12, atol=0
        )


@pytest.mark.parametrize("n", SIZES)
def test_all_reducers(space, n):
    points, edges = spread_points(space, n, seed=n), random_edges(n)
    thresholds = torch.cat(
        (pair_distances(points, space, edges, **NUMBA), torch.tensor([0.0, math.inf]).double())
    )
    for k in {1, min(5, n - 1), n - 1}:
        statistics, counts = expect(points, space, edges, k, thresholds)
        assert_same_rows(row_statistics(points, space, edges, k, thresholds, **NUMBA), statistics)
        assert torch.equal(nearest(points, space, k, **NUMBA).indices, statistics.nearest.indices)
    assert torch.equal(
        row_sums(points, space, **NUMBA), row_statistics(points, space, edges, 1, **NUMBA).sums
    )
    assert torch.equal(
        neighbor_counts(points, space, edges, **NUMBA).others, statistics.counts.others
    )
    assert torch.equal(nonedge_counts(points, space, edges, thresholds, **NUMBA), counts)


@pytest.mark.parametrize("measure", MEASURES)
def test_all_measures(space, measure):
    points, edges = spread_points(space, 120), random_edges(120)
    thresholds = pair_distances(points, space, edges, dissimilarity=measure, **NUMBA)
    statistics, counts = expect(points, space, edges, 7, thresholds, dissimilarity=measure)
    assert_same_rows(
        row_statistics(points, space, edges, 7, thresholds, dissimilarity=measure, **NUMBA),
        statistics,
    )
    assert torch.equal(statistics.nonedges, counts)
    assert torch.equal(
        nonedge_counts(points, space, edges, thresholds, dissimilarity=measure, **NUMBA), counts
    )


def test_torch_finds_the_same(space):
    points, edges = spread_points(space, 300, seed=3), random_edges(300)
    found = row_statistics(points, space, edges, 6, **NUMBA)
    expected = row_statistics(points, space, edges, 6, backend="reference")
    torch.testing.assert_close(found.sums, expected.sums, rtol=1e-12, atol=0)
    torch.testing.assert_close(
        found.nearest.distances, expected.nearest.distances, rtol=1e-9, atol=1e-12
    )
    thresholds = pair_distances(points, space, edges, backend="reference")
    counts = nonedge_counts(points, space, edges, thresholds, **NUMBA)
    # Rounding may turn the order of two distances that are equal but for it.
    fewest, most = (
        nonedge_counts(points, space, edges, thresholds * (1.0 + change), backend="reference")
        for change in (-1e-11, 1e-11)
    )
    assert ((fewest <= counts) & (counts <= most)).all()


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
@pytest.mark.parametrize("n", [31, 300])
def test_equal_distances(n, share):
    points, edges, flat = lattice(n), random_edges(n, share), Euclidean(3)
    thresholds = torch.tensor(
        [3.0, math.inf, 0.0, -1.0, 3.0, 1.5, math.nan, 12.0], dtype=torch.float64
    )
    before = thresholds.clone()
    for k in (1, 9, n - 1):
        assert_same_rows(
            row_statistics(points, flat, edges, k, **NUMBA),
            reference.row_statistics(points, flat, edges, k),
        )
    for bounds in (thresholds, thresholds[:1], thresholds[:0], torch.full_like(thresholds, 2.0)):
        found = nonedge_counts(points, flat, edges, bounds, **NUMBA)
        assert torch.equal(
            found, reference.row_statistics(points, flat, edges, 0, bounds, upper=True).nonedges
        )
        assert torch.equal(found, row_statistics(points, flat, edges, 1, bounds, **NUMBA).nonedges)
        assert torch.equal(found, reference.row_statistics(points, flat, edges, 1, bounds).nonedges)
    assert row_statistics(points, flat, edges, 1, **NUMBA).nonedges.shape == (0,)
    torch.testing.assert_close(thresholds, before, equal_nan=True)


def test_points_that_coincide(space):
    points = spread_points(space, 1).expand(40, -1)
    found = row_statistics(points, space, random_edges(40), 3, **NUMBA)
    assert found.sums.tolist() == [0.0] * 40
    assert found.nearest.indices.tolist() == [
        [j for j in range(4) if j != i][:3] for i in range(40)
    ]


def test_thresholds_that_differ_by_one_bit():
    points = lattice(200) / 7.0
    edges, flat = random_edges(200), Euclidean(3)
    distances = pair_distances(points, flat, edges, **NUMBA)
    below = distances.nextafter(torch.tensor(-math.inf).double())
    table = matrix(points, flat)
    table[edges[:, 0], edges[:, 1]] = math.inf
    apart = table[torch.ones_like(table).triu(1).bool()].sort().values
    found = nonedge_counts(
        points, flat, edges, torch.cat((below, distances, distances * 1e9)), **NUMBA
    )
    truth = [torch.searchsorted(apart, distances, right=right) for right in (False, True)]
    assert torch.equal(found[: 2 * len(edges)], torch.cat(truth))
    assert not torch.equal(*truth)


def test_what_is_not_a_number_is_farthest():
    points = spread_points(Euclidean(3), 50)
    points[7] = math.nan
    points[9] = math.inf
    found = row_statistics(points, Euclidean(3), random_edges(50), 49, **NUMBA)
    rest = [i for i in range(50) if i not in (7, 9)]
    assert found.nearest.indices[rest, -2:].tolist() == [[7, 9]] * 48
    assert found.sums.isinf().all()


@pytest.mark.parametrize("block_rows", [1, 100, 1000])
def test_threads_and_blocks_change_nothing(space, block_rows):
    points, edges = spread_points(space, 300), random_edges(300, 0.02)
    thresholds = pair_distances(points, space, edges, **NUMBA)
    whole = row_statistics(points, space, edges, 4, thresholds, threads=1, **NUMBA)
    counts = nonedge_counts(points, space, edges, thresholds, threads=1, **NUMBA)
    for threads in (1, 2, 5):
        options = {"threads": threads, "block_rows": block_rows, **NUMBA}
        found = row_statistics(points, space, edges, 4, thresholds, **options)
        assert torch.equal(found.sums, whole.sums)
        assert_same_rows(found, whole)
        assert torch.equal(nonedge_counts(points, space, edges, thresholds, **options), counts)


def test_few_points():
    none = torch.empty(0, 2, dtype=torch.int64)
    for n in (0, 1):
        points = torch.ones(n, 2, dtype=torch.float64)
        assert row_sums(points, Euclidean(2), **NUMBA).tolist() == [0.0] * n
        assert nonedge_counts(points, Euclidean(2), none, points.new_ones(1), **NUMBA).tolist() == [
            0
        ]
        assert pair_distances(points, Euclidean(2), none, **NUMBA).tolist() == []


def test_arguments_are_left_alone():
    points, edges = spread_points(MANIFOLDS[1], 30).requires_grad_(), random_edges(30)
    before, kept = points.detach().clone(), edges.clone()
    found = row_statistics(points, MANIFOLDS[1], edges, 2, **NUMBA)
    assert not found.sums.requires_grad
    assert torch.equal(points.detach(), before)
    assert torch.equal(edges, kept)


def suited(points, manifold, **options):
    return dispatch._prepared(points, manifold, options, None) is not None


def test_what_is_compiled():
    n, space = dispatch._COMPILED_NODES, PseudoHyperboloid(3, 1, -0.25)
    points = spread_points(space, n)
    assert suited(points, space)
    assert suited(points, Euclidean(5))
    assert not suited(points, space, backend="reference")
    assert not suited(points[:-1], space)
    assert suited(points[:-1], space, backend="numba")
    assert not suited(points.float(), space)
    assert not suited(points, space, dissimilarity="distance")
    assert not suited(points, PseudoSphere(2, 2))


def test_without_numba_torch_does_it(monkeypatch):
    monkeypatch.setattr(dispatch, "installed", lambda name: False)
    points = lattice(dispatch._COMPILED_NODES)
    assert not suited(points, Euclidean(3))
    assert row_sums(points, Euclidean(3)).shape == (len(points),)


def test_what_cannot_be_is_refused():
    points, space = lattice(1100), Euclidean(3)
    for k in (0, 1100):
        with pytest.raises(
            ValueError, match="k must be at least 1 and below the number of points, 1100"
        ):
            nearest(points, space, k)
    with pytest.raises(ValueError, match="block_rows must be at least 1, got 0"):
        row_sums(points, space, block_rows=0)
    with pytest.raises(ValueError, match="threads must be at least 1, got 0"):
        row_sums(points, space, threads=0)
    with pytest.raises(
        ValueError, match="backend must be one of auto, numba, reference, got 'fortran'"
    ):
        row_sums(points, space, backend="fortran")
    with pytest.raises(ValueError, match="dissimilarity must be one of"):
        row_sums(points, space, dissimilarity="hops")
    with pytest.raises(ValueError, match="epsilon must be"):
        row_sums(points, space, dissimilarity="smoothed", epsilon=-1.0)
    with pytest.raises(
        ValueError, match=r"backend 'numba': points must be float64 on the CPU, got torch\.float32"
    ):
        row_sums(points.float(), space, backend="numba")
    with pytest.raises(
        ValueError, match="positions from 0 to 1099, got 0 to 1100; use 'reference'"
    ):
        neighbor_counts(points, space, torch.tensor([[0, 1100]]), backend="numba")
    with pytest.raises((IndexError, RuntimeError)):
        neighbor_counts(points, space, torch.tensor([[0, 1100]]))
