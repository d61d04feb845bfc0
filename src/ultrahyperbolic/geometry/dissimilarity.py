"""Dissimilarities as functions of w = (⟨x, y⟩/β - 1)/2, the squared half chord ⟨x-y, x-y⟩/4|β|, in units of √|β|.

w > 0 is space-like, w = 0 null, -1 < w < 0 time-like; ⟨x, y⟩ = 0 at w = -1/2, and the logarithm ends at w = -1, where
w̄ = 1 + w changes sign.
"""

import math

import torch
from torch import Tensor

from .functions import angle, asinhc_sqrt, hyperbolic_angle, safe_sqrt


def signed_square(w: Tensor, w_bar: Tensor, *, sign: int = 0) -> Tensor:
    """±d_γ² for w̄ > 0: positive for space-like pairs, negative for time-like ones, analytic across the cone."""
    return 4.0 * w * asinhc_sqrt(w, w_bar, sign=sign).square()


def beyond_antipode(w_bar: Tensor) -> Tensor:
    """π + d_γ(-x, y) where w̄ <= 0: the broken geodesic through the antipode of x."""
    return math.pi + angle(-w_bar, w_bar, sign=1)


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
    """(σ² + ε²)^¼ - √ε of a signed square σ, written without cancellation and without squaring σ."""
    radius = torch.hypot(square, torch.full_like(square, epsilon))
    return (square / (radius + epsilon)) * (square / (radius.sqrt() + math.sqrt(epsilon)))


def extended_smooth(w: Tensor, scale: Tensor, epsilon: float, *, sign: int = 0) -> Tensor:
    """(σ² + ε²)^¼ - √ε of σ = ±|β| D_γ², with scale = |β|."""
    if sign > 0:
        return smooth(signed_square(w, w, sign=sign) * scale, epsilon)
    near = w >= -0.5
    kept = w.clamp_min(-0.5)
    square = signed_square(kept, 1.0 + kept, sign=sign)
    # Beyond, D_γ grows like ⟨x, y⟩ and its square overflows: with a = √ε/D_γ and g = (1 + a⁴)^¼ the value is
    # D_γ (g - a) = D_γ/((g + a)(g² + a²)).
    length = _linear(torch.where(near, -0.5, w)) * scale.sqrt()
    a = math.sqrt(epsilon) / length
    g = (1.0 + a.square().square()).sqrt().sqrt()
    return torch.where(near, smooth(square * scale, epsilon), length / ((g + a) * (g.square() + a.square())))
