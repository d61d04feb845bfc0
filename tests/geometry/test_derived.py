"""What follows from the seven methods of a manifold is what the closed forms say."""

from __future__ import annotations

import pytest
import torch

from ultrahyperbolic import Euclidean, Manifold, PseudoHyperboloid, PseudoSphere

GEOMETRIES = [
    *(
        PseudoHyperboloid(p, q, beta)
        for p, q in ((3, 0), (0, 3), (1, 2), (2, 1))
        for beta in (-0.25, -4.0)
    ),
    PseudoSphere(2, 1, 4.0),
    PseudoSphere(3, -1, 0.25),
    Euclidean(3),
]


@pytest.fixture(params=GEOMETRIES, ids=lambda m: m._label())
def geometry(request):
    return request.param


@pytest.fixture
def sample(geometry, generator):
    """Points x and y, y within reach of geodesics from x, vectors u and v at x, and ambient vectors
    z.
    """
    x = geometry.random(40, scale=0.7, generator=generator)
    u, v = (geometry.random_tangent(x, scale=0.3, generator=generator) for _ in range(2))
    return x, geometry.expmap(x, u), u, v, torch.randn(x.shape, dtype=x.dtype, generator=generator)


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-7, atol=1e-9)


def test_there_are_seven_methods_to_write():
    seven = {"inner", "proju", "geodesic", "logmap", "transp_follow_expmap", "phi", "origin"}
    assert Manifold.__abstractmethods__ == seven
    with pytest.raises(TypeError, match="abstract"):
        Manifold()


def test_distances_and_transport(geometry, sample):
    x, y, _, v, _ = sample
    for name in ("sqdist", "dist", "extrinsic_dist"):
        close(getattr(Manifold, name)(geometry, x, y), getattr(geometry, name)(x, y))
    close(Manifold.transp(geometry, x, y, v), geometry.transp(x, y, v))


def test_a_missing_geodesic_is_nan(generator):
    M = PseudoHyperboloid(2, 1, -4.0)
    x, y = (
        M.random(100, scale=2.0, generator=generator),
        M.random(100, scale=2.0, generator=generator),
    )
    exists = M.logmap(x, y).exists
    assert 0 < exists.sum() < 100
    assert torch.equal(Manifold.sqdist(M, x, y).isnan(), ~exists)
    assert torch.equal(Manifold.dist(M, x, y).isnan(), ~exists)
    assert torch.equal(Manifold.transp(M, x, y, M.random_tangent(x)).isnan().all(-1), ~exists)
    assert not M.joins_all_pairs
    assert Euclidean(2).joins_all_pairs


def test_the_smoothed_distance(geometry, sample):
    x, y, *_ = sample
    near = geometry.dist(x, y) < 0.5
    assert near.any()
    found = Manifold.smoothed_dissimilarity(geometry, x[near], y[near], 0.3)
    close(found, geometry.smoothed_dissimilarity(x[near], y[near], 0.3))


@pytest.mark.parametrize(
    "name", ["egrad2rgrad", "precondition", "wick_rotation", "precondition_root"]
)
def test_gradients(geometry, sample, name):
    x, *_, z = sample
    z = geometry.proju(x, z) if name == "wick_rotation" else z
    close(getattr(Manifold, name)(geometry, x, z), getattr(geometry, name)(x, z))
    close(Manifold.preconditioner(geometry, x), geometry.preconditioner(x))


def test_raised_indices_turn_the_scalar_product_into_the_dot_product(geometry, sample):
    *_, v, z = sample
    close(geometry.inner(geometry.raise_index(z), v), (z * v).sum(-1))
    close(Manifold.raise_index(geometry, z), geometry.raise_index(z))


def test_membership(geometry, sample):
    x, y, u, _, z = sample
    for point in (x, y, x + 0.1 * z, x * torch.nan):
        assert Manifold.check_point(geometry, point).ok == geometry.check_point(point).ok
    for vector in (u, 0 * u, u + 0.1 * z, x + u):
        assert (
            Manifold.check_tangent(geometry, x, vector).ok == geometry.check_tangent(x, vector).ok
        )
    for vector in (x, z, 0 * x):
        assert Manifold.check_phi(geometry, vector).ok == geometry.check_phi(vector).ok
    torch.testing.assert_close(Manifold.projx(geometry, x), x)


def test_points(geometry, generator):
    x = Manifold.random(geometry, 5, 4, scale=0.5, generator=generator)
    assert x.shape == (5, 4, geometry.ambient_dim)
    assert geometry.check_point(x).ok
    start = Manifold.random_near_pole(geometry, 100, epsilon=0.1, generator=generator)
    assert geometry.check_point(start).ok
    reach = geometry.origin().norm().item() or 1.0
    assert 0.05 < (start - geometry.origin()).abs().max() / reach < 0.3
