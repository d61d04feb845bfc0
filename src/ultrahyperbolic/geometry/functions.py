"""Pure functions of a signed square: the scalar part of every closed form.

A space-like length is a real angle, a time-like one an imaginary angle, and a null one is zero.
Written in terms of the *square* of the angle, z = θ², hyperbolic and circular functions are one
analytic function each:

    cosh √z = 1 + z/2 + …          (= cos √-z for z < 0)
    sinh √z / √z = 1 + z/6 + …     (= sin √-z / √-z for z < 0)
    asinh √w / √w = 1 - w/6 + …    (= asin √-w / √-w for w < 0)

so space-like, null and time-like cases join smoothly. Arguments of each branch are made safe
beforehand, which keeps gradients finite, and a short series covers a neighbourhood of zero. There
is no data-dependent control flow. ``sign`` says what is known of the argument: +1 never negative (q
= 0), -1 never positive (p = 0), 0 anything.

Dissimilarities are functions of w = (⟨x, y⟩/β - 1)/2, the squared half chord ⟨x-y, x-y⟩/4|β|, in
units of √|β|. w > 0 is space-like, w = 0 null, -1 < w < 0 time-like; ⟨x, y⟩ = 0 at w = -1/2, and
the logarithm ends at w = -1, where w̄ = 1 + w changes sign. Functions of symmetric matrices through
their eigenvalues come last.
"""

import math

import torch
from torch import Tensor

# |z| below which the series is used; their first omitted terms are below 1e-18 there.
_SERIES_RADIUS = 4e-3
_COSH = (1.0, 1 / 2, 1 / 24, 1 / 720, 1 / 40320)
_SINHC = (1.0, 1 / 6, 1 / 120, 1 / 5040, 1 / 362880)
_ASINHC = (1.0, -1 / 6, 3 / 40, -5 / 112, 35 / 1152, -63 / 2816, 231 / 13312)


def _horner(z: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    total = z * coefficients[-1] + coefficients[-2]
    for coefficient in reversed(coefficients[:-2]):
        total = total * z + coefficient
    return total


def cosh_sinhc_sqrt(z: Tensor, *, sign: int = 0) -> tuple[Tensor, Tensor]:
    """cosh √z and sinh √z / √z for any real z of shape [...]."""
    if sign > 0:
        z = z.clamp_min(0.0)  # far from the pole rounding may turn the sign of ⟨u, u⟩
    near = z.clamp(-_SERIES_RADIUS, _SERIES_RADIUS)  # the unused branch must not overflow
    cosh, sinhc = _horner(near, _COSH), _horner(near, _SINHC)
    if sign >= 0:
        far = z > _SERIES_RADIUS
        angle = torch.where(far, z, 1.0).sqrt()
        cosh = torch.where(far, angle.cosh(), cosh)
        sinhc = torch.where(far, angle.sinh() / angle, sinhc)
    if sign <= 0:
        far = z < -_SERIES_RADIUS
        angle = torch.where(far, -z, 1.0).sqrt()
        cosh = torch.where(far, angle.cos(), cosh)
        sinhc = torch.where(far, angle.sin() / angle, sinhc)
    return cosh, sinhc


def safe_sqrt(square: Tensor) -> Tensor:
    """√ of a tensor with value and derivative 0, not NaN or infinite, where it is not positive.

    Exactly √ elsewhere: the constant taken off is the root of the smallest normal number, a power
    of two.
    """
    tiny = torch.finfo(square.dtype).tiny
    return square.clamp_min(tiny).sqrt() - math.sqrt(tiny)


def hyperbolic_angle(w: Tensor) -> Tensor:
    """2 asinh √w for w >= 0, without cancellation (and without overflow while w² is finite)."""
    return torch.log1p(2.0 * (w + safe_sqrt(torch.addcmul(w, w, w))))


def angle(w: Tensor, w_bar: Tensor, *, sign: int = 0) -> Tensor:
    """The angle between two points: 2 asinh √w where w > 0, twice the angle of (√w̄, √-w) in the
    plane where w < 0.

    w = (⟨x, y⟩/β - 1)/2 and w̄ = 1 + w, both with all their digits (w̄ is not read for ``sign`` 1).
    Not smooth at w = 0, where the derivative is 0 by convention. Where w̄ <= 0 there is no angle:
    the result is π.
    """
    if sign > 0:
        return hyperbolic_angle(w)
    circular = 2.0 * torch.atan2(safe_sqrt(-w), safe_sqrt(w_bar))
    # One of the two is 0, with derivative 0 (relu has slope 0 at 0, clamp_min has not).
    return circular if sign < 0 else circular + hyperbolic_angle(torch.relu(w))


def asinhc_sqrt(w: Tensor, w_bar: Tensor, *, sign: int = 0) -> Tensor:
    """asinh √w / √w for w > -1, half the angle over its sine, with w and w̄ as in `angle`."""
    ratio = _horner(w.clamp(-_SERIES_RADIUS, _SERIES_RADIUS), _ASINHC)
    if sign >= 0:
        far = w > _SERIES_RADIUS
        square = torch.where(far, w, 1.0)
        ratio = torch.where(far, 0.5 * hyperbolic_angle(square) * square.rsqrt(), ratio)
    if sign <= 0:
        far = (w < -_SERIES_RADIUS) & (w_bar > 0)
        sine, cosine = torch.where(far, -w, 0.5).sqrt(), torch.where(far, w_bar, 0.5).sqrt()
        ratio = torch.where(far, torch.atan2(sine, cosine) / sine, ratio)
    return ratio


def signed_square(w: Tensor, w_bar: Tensor, *, sign: int = 0) -> Tensor:
    """±d_γ² for w̄ > 0: positive for space-like pairs, negative for time-like ones; analytic."""
    return 4.0 * w * asinhc_sqrt(w, w_bar, sign=sign).square()


def extended_angle(w: Tensor, *, sign: int = 0) -> Tensor:
    """D_γ (Eq. 9): d_γ where ⟨x, y⟩ <= 0, linear in ⟨x, y⟩ beyond."""
    if sign > 0:
        return angle(w, w, sign=sign)
    # Up to ⟨x, y⟩ = 0 the arc sine is as good as the angle in the plane, and cheaper.
    length = 2.0 * torch.asin(safe_sqrt(-w.clamp_min(-0.5)))
    if sign == 0:
        length = length + hyperbolic_angle(torch.relu(w))
    return torch.where(w >= -0.5, length, _linear(w))


def _linear(w: Tensor) -> Tensor:
    """π/2 + ⟨x, y⟩/|β|."""
    return math.pi / 2 - 1.0 - 2.0 * w


def smooth(square: Tensor, epsilon: float) -> Tensor:
    """(σ² + ε²)^¼ - √ε of a signed square σ, without cancellation and without squaring σ."""
    radius = torch.hypot(square, torch.full_like(square, epsilon))
    return (square / (radius + epsilon)) * (square / (radius.sqrt() + math.sqrt(epsilon)))


def extended_smooth(w: Tensor, scale: Tensor, epsilon: float, *, sign: int = 0) -> Tensor:
    """(σ² + ε²)^¼ - √ε of σ = ±|β| D_γ², with scale = |β|."""
    if sign > 0:
        return smooth(signed_square(w, w, sign=sign) * scale, epsilon)
    near = w >= -0.5
    kept = w.clamp_min(-0.5)
    square = signed_square(kept, 1.0 + kept, sign=sign)
    # Beyond, D_γ grows like ⟨x, y⟩ and its square overflows: with a = √ε/D_γ and g = (1 + a⁴)^¼ the
    # value is D_γ (g - a) = D_γ/((g + a)(g² + a²)).
    length = _linear(torch.where(near, -0.5, w)) * scale.sqrt()
    a = math.sqrt(epsilon) / length
    g = (1.0 + a.square().square()).sqrt().sqrt()
    return torch.where(
        near, smooth(square * scale, epsilon), length / ((g + a) * (g.square() + a.square()))
    )
