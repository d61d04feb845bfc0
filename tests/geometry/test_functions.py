"""The scalar functions against mpmath, across the joins of their branches, with their
derivatives.
"""

from __future__ import annotations

import mpmath
import pytest
import torch

from ultrahyperbolic.geometry.functions import angle, asinhc_sqrt, cosh_sinhc_sqrt

RADIUS = 4e-3
Z = [0.0, 1e-300, 1e-30, 1e-12, 1e-6, 0.999 * RADIUS, 1.001 * RADIUS, 0.1, 1.0, 30.0, 400.0]


def cosh(z):
    return mpmath.cosh(mpmath.sqrt(z)).real


def sinhc(z):
    return (mpmath.sinh(mpmath.sqrt(z)) / mpmath.sqrt(z)).real if z else mpmath.mpf(1)


def asinhc(w):
    return (mpmath.asinh(mpmath.sqrt(w)) / mpmath.sqrt(w)).real if w else mpmath.mpf(1)


def truth(function, z, order):
    """The order-th derivative of an analytic function at z, at 60 digits."""
    with mpmath.workdps(60):
        # A small circle in the complex plane: no cancellation at 60 digits, valid on both sides of
        # 0.
        values = mpmath.taylor(
            lambda t: _complex(function)(t), mpmath.mpf(z) if z else mpmath.mpf("1e-40"), order
        )
        return float((values[order] * mpmath.factorial(order)).real)


def _complex(function):
    if function is cosh:
        return lambda t: mpmath.cosh(mpmath.sqrt(t))
    if function is sinhc:
        return lambda t: mpmath.sinh(mpmath.sqrt(t)) / mpmath.sqrt(t)
    return lambda t: mpmath.asinh(mpmath.sqrt(t)) / mpmath.sqrt(t)


OURS = {
    cosh: lambda z: cosh_sinhc_sqrt(z)[0],
    sinhc: lambda z: cosh_sinhc_sqrt(z)[1],
    asinhc: lambda w: asinhc_sqrt(w, 1.0 + w),
}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("function", [cosh, sinhc, asinhc])
def test_values_and_two_derivatives(function, sign):
    zs = [sign * z for z in Z if function is not asinhc or sign * z > -0.95]
    z = torch.tensor(zs, dtype=torch.float64, requires_grad=True)
    value = OURS[function](z)
    (slope,) = torch.autograd.grad(value.sum(), z, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), z)
    for order, result, tolerance in ((0, value, 2e-15), (1, slope, 1e-12), (2, curvature, 1e-9)):
        for at, got in zip(zs, result.tolist(), strict=True):
            expected = truth(function, at, order)
            # Large arguments amplify the rounding of √z itself.
            assert got == pytest.approx(expected, rel=tolerance * (1 + abs(at)), abs=tolerance), (
                order,
                at,
            )


@pytest.mark.parametrize("sign", [1, -1])
def test_a_known_sign_changes_nothing_but_the_work(sign):
    z = sign * torch.tensor(Z, dtype=torch.float64)
    for known, any_sign in zip(cosh_sinhc_sqrt(z, sign=sign), cosh_sinhc_sqrt(z), strict=True):
        assert torch.equal(known, any_sign)
    w = sign * torch.tensor([0.0, 1e-9, 1e-3, 0.3, 0.9], dtype=torch.float64)
    assert torch.equal(asinhc_sqrt(w, 1 + w, sign=sign), asinhc_sqrt(w, 1 + w))
    assert torch.equal(angle(w, 1 + w, sign=sign), angle(w, 1 + w))


def test_gradients_stay_finite_where_the_other_branch_overflows():
    z = torch.tensor([-1e7, 1e5, 0.0], dtype=torch.float64, requires_grad=True)
    cosh_, sinhc_ = cosh_sinhc_sqrt(z)
    (gradient,) = torch.autograd.grad((cosh_ + sinhc_).sum(), z)
    assert gradient.isfinite().all()
