"""The Riemannian limits against geoopt: its Lorentz model and, through the homothety, its
sphere.
"""

from __future__ import annotations

import warnings

import pytest
import torch

from ultrahyperbolic import PseudoHyperboloid

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    geoopt = pytest.importorskip(
        "geoopt", reason="the limits are compared with geoopt, which is not installed"
    )

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-4}


def far_enough(M, x, y):
    """Pairs at separations of 1e-2 or more (and, on the sphere, not at the antipode), relative to
    √|β|.
    """
    length = M.dist(x, y) / M.beta.abs().sqrt().to(x.dtype)
    good = (length >= 1e-2) & (length < 3.0)
    return x[good], y[good]


@pytest.mark.parametrize("beta", [-0.25, -1.0, -4.0])
def test_lorentz(beta, dtype, generator):
    ours, theirs = PseudoHyperboloid(4, 0, beta), geoopt.Lorentz(k=-beta)
    x = ours.random(500, scale=0.5, generator=generator, dtype=dtype)
    u = ours.random_tangent(x, scale=0.5, generator=generator)
    tolerance = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    y = ours.expmap(x, u)
    torch.testing.assert_close(y, theirs.expmap(x, u, norm_tan=False, project=False), **tolerance)
    x, y = far_enough(ours, x, y)
    torch.testing.assert_close(ours.dist(x, y), theirs.dist(x, y), **tolerance)
    torch.testing.assert_close(ours.dissimilarity(x, y), theirs.dist(x, y), **tolerance)
    torch.testing.assert_close(ours.logmap(x, y).vector, theirs.logmap(x, y), **tolerance)
    v = ours.random_tangent(x, generator=generator)
    torch.testing.assert_close(ours.proju(x, v), theirs.proju(x, v), **tolerance)
    gradient = torch.randn(x.shape, generator=generator, dtype=torch.float64).to(dtype)
    torch.testing.assert_close(
        ours.egrad2rgrad(x, gradient), theirs.egrad2rgrad(x, gradient.clone()), **tolerance
    )
    # geoopt's transport is written for k = 1, where the homothety takes the points; it is linear in
    # v.
    a, b, unit = ours.homothety(x, -1.0), ours.homothety(y, -1.0), geoopt.Lorentz()
    torch.testing.assert_close(ours.transp(x, y, v), unit.transp(a, b, v), **tolerance)


@pytest.mark.parametrize("beta", [-0.25, -1.0, -4.0])
def test_sphere(beta, dtype, generator):
    ours, theirs, unit = (
        PseudoHyperboloid(0, 4, beta),
        geoopt.SphereExact(),
        PseudoHyperboloid(0, 4, -1.0),
    )
    radius = (-beta) ** 0.5
    x = ours.random(500, generator=generator, dtype=dtype)
    u = ours.random_tangent(x, scale=0.5 * radius, generator=generator)
    y = ours.expmap(x, u)
    tolerance = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    on_unit = ours.homothety(x, -1.0)
    torch.testing.assert_close(y, radius * theirs.expmap(on_unit, u / radius), **tolerance)
    x, y = far_enough(ours, x, y)
    a, b = ours.homothety(x, -1.0), ours.homothety(y, -1.0)
    assert unit.check_point(a).ok
    torch.testing.assert_close(ours.dist(x, y), radius * theirs.dist(a, b), **tolerance)
    torch.testing.assert_close(ours.logmap(x, y).vector, radius * theirs.logmap(a, b), **tolerance)
    v = ours.random_tangent(x, generator=generator)
    torch.testing.assert_close(ours.proju(x, v), theirs.proju(a, v), **tolerance)
