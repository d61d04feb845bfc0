"""Sizes and seeds, the Poincaré ball, interpolation, the mean and ensembles."""

from __future__ import annotations

import pytest
import torch

from ultrahyperbolic import (
    Euclidean,
    Product,
    PseudoHyperboloid,
    PseudoSphere,
    lorentz_to_poincare,
    poincare_to_lorentz,
)
from ultrahyperbolic.optim import mean

geoopt = pytest.importorskip("geoopt")
KINDS = [
    PseudoHyperboloid(2, 1),
    PseudoSphere(2, 1, 4.0),
    Euclidean(3),
    Product(PseudoHyperboloid(2, 0), Euclidean(2)),
]


@pytest.mark.parametrize("M", KINDS, ids=lambda M: M._label())
def test_sizes_may_be_tuples_and_generators_seeds(M):
    for draw in (M.random, M.random_near_pole):
        assert torch.equal(
            draw((2, 3), generator=5), draw(2, 3, generator=torch.Generator().manual_seed(5))
        )
        assert torch.equal(draw([4], generator=5), draw(4, generator=5))
        assert not torch.equal(draw(4, generator=5), draw(4, generator=6))
        assert draw((), generator=5).shape == (M.ambient_dim,)
    assert M.origin((2, 3)).shape == (2, 3, M.ambient_dim)
    x = M.random(4, generator=0)
    assert torch.equal(M.random_tangent(x, generator=1), M.random_tangent(x, generator=1))


@pytest.mark.parametrize("beta", [-0.25, -1.0, -4.0])
def test_the_poincare_ball_is_geoopt_s(beta):
    M = PseudoHyperboloid(3, 0, beta)
    ball = geoopt.PoincareBall(c=torch.tensor(-1.0 / beta, dtype=torch.float64))
    x, y = M.random(50, generator=0), M.random(50, generator=1)
    a, b = lorentz_to_poincare(x, M), lorentz_to_poincare(y, M)
    torch.testing.assert_close(ball.dist(a, b), M.dist(x, y), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(poincare_to_lorentz(a, M), x, rtol=1e-12, atol=1e-12)
    assert M.check_point(
        poincare_to_lorentz(0.99 * (-beta) ** 0.5 * torch.nn.functional.normalize(a), M)
    ).ok
    with pytest.raises(ValueError, match=r"manifold must be hyperbolic, .* got .*q=1"):
        lorentz_to_poincare(M.origin(), PseudoHyperboloid(2, 1))


def test_interpolation_is_along_the_geodesic(manifold):
    x, y = manifold.random(40, generator=0), manifold.random(40, generator=1)
    exists = manifold.logmap(x, y).exists
    x, y = x[exists], y[exists]
    close = manifold.inner(x, y) / manifold.beta > -0.9
    x, y = x[close], y[close]
    torch.testing.assert_close(manifold.interpolate(x, y, 0.0), x)
    torch.testing.assert_close(manifold.interpolate(x, y, 1.0), y, rtol=1e-6, atol=1e-6)
    t = torch.linspace(0, 1, len(x), dtype=x.dtype)
    halfway = manifold.interpolate(x, y, t)
    assert manifold.check_point(halfway, tolerance=1e-8).ok
    torch.testing.assert_close(
        manifold.sqdist(x, halfway), t**2 * manifold.sqdist(x, y), rtol=1e-5, atol=1e-6
    )


def test_interpolation_says_where_there_is_no_geodesic():
    M = PseudoHyperboloid(2, 1)
    x, y = (
        M.random(40, scale=2.0, generator=0).requires_grad_(),
        M.random(40, scale=2.0, generator=1),
    )
    made, exists = M.interpolate(x, y, 0.5), M.logmap(x, y).exists
    assert made.isnan().all(-1).tolist() == (~exists).tolist()
    made[exists].sum().backward()
    assert x.grad.isfinite().all()


def test_the_mean_is_the_frechet_mean_where_there_is_one():
    flat = Euclidean(3)
    x = flat.random(20, generator=0)
    torch.testing.assert_close(mean(x, flat), x.mean(0), rtol=1e-7, atol=1e-7)
    for M in (PseudoHyperboloid(3, 0, -4.0), PseudoHyperboloid(0, 3, -0.25)):
        x = M.expmap(M.origin(20), M.random_tangent(M.origin(20), scale=0.2, generator=1))
        centre = mean(x, M)
        assert M.check_point(centre).ok
        # At the Fréchet mean the logarithms cancel.
        torch.testing.assert_close(
            M.logmap(centre, x).vector.mean(0), torch.zeros(4).double(), rtol=0, atol=1e-6
        )
    weights = torch.tensor([1.0, 0.0, 3.0])
    points = M.random_near_pole(3, generator=2)
    expected = M.interpolate(points[0], points[2], 0.75)
    torch.testing.assert_close(mean(points, M, weights=weights), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("M", [PseudoHyperboloid(2, 2, -4.0), KINDS[3]], ids=lambda M: M._label())
def test_the_mean_of_near_points_is_among_them(M):
    x = M.random_near_pole(4, 30, epsilon=0.05, generator=0)
    centres = mean(x, M)
    assert centres.shape == (4, M.ambient_dim)
    assert M.check_point(centres).ok
    assert (centres - x.mean(1)).norm(dim=-1).max() < 0.05 * 2.0
    total = M.smoothed_dissimilarity(centres[:, None], x, 1e-3).square().sum(1)
    for other in (x[:, 0], M.phi(x.mean(1))):
        assert (
            total <= M.smoothed_dissimilarity(other[:, None], x, 1e-3).square().sum(1) + 1e-12
        ).all()


@pytest.mark.parametrize("kind", [(2, 1), (3, 0), (0, 3)], ids=str)
def test_an_ensemble_may_differ_in_its_curvatures(kind):
    """β as a batch of buffers, while the points are shared."""
    M, betas = PseudoHyperboloid(*kind), torch.tensor([-0.25, -1.0, -4.0]).double()
    x, y = M.random(6, scale=0.3, generator=0), M.random(6, scale=0.3, generator=1)

    class Maps(torch.nn.Module):
        def __init__(self, M):
            super().__init__()
            self.M = M

        def forward(self, x, y):
            M, u = self.M, 0.1 * self.M.proju(x, y)
            names = ("dist", "sqdist", "dissimilarity", "smoothed_dissimilarity")
            names += ("descent_direction", "surrogate_direction")
            found = [getattr(M, name)(x, y) for name in names]
            moved = M.expmap(x, u), M.transp(x, y, u), M.expmap_transp(x, u, u)[1], M.phi(y)
            return *found, *moved, M.logmap(x, y).vector, M.interpolate(x, y, 0.5)

    together = torch.func.vmap(
        lambda beta: torch.func.functional_call(Maps(M), {"M.beta": beta}, (x, y))
    )(betas)
    for k, beta in enumerate(betas.tolist()):
        for a, b in zip(together, Maps(PseudoHyperboloid(*kind, beta))(x, y), strict=True):
            torch.testing.assert_close(a[k], b, equal_nan=True)
