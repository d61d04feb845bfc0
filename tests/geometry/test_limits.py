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
@pytest.mark.parametrize("signature", [(4, 0), (0, 4)], ids=["lorentz", "sphere"])
def test_maps_are_geoopt_s(signature, beta, dtype, generator):
    """By way of the homothety to β = -1; geoopt's transport is written for that alone."""
    ours, radius = PseudoHyperboloid(*signature, beta), (-beta) ** 0.5
    theirs = geoopt.Lorentz() if ours.p else geoopt.SphereExact()

    def unit(x):
        return ours.homothety(x, -1.0)

    def close(a, b):
        torch.testing.assert_close(a, b, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])

    x = ours.random(500, scale=0.5, generator=generator, dtype=dtype)
    u = ours.random_tangent(x, scale=0.5 * radius, generator=generator)
    y = ours.expmap(x, u)
    exact = {"norm_tan": False, "project": False} if ours.p else {}
    close(y, radius * theirs.expmap(unit(x), u / radius, **exact))
    x, y = far_enough(ours, x, y)
    a, b, v = unit(x), unit(y), ours.random_tangent(x, generator=generator)
    close(ours.dist(x, y), radius * theirs.dist(a, b))
    close(ours.logmap(x, y).vector, radius * theirs.logmap(a, b))
    close(ours.proju(x, v), theirs.proju(a, v))
    if ours.p:  # on the sphere geoopt projects instead
        close(ours.transp(x, y, v), theirs.transp(a, b, v))
        gradient = torch.randn(x.shape, generator=generator, dtype=torch.float64).to(dtype)
        close(ours.egrad2rgrad(x, gradient), theirs.egrad2rgrad(a, gradient.clone()))
