"""Dissimilarities of a table of pairs and their slopes, in torch."""

import math

import torch
from torch import Tensor

from ..pairs.kinds import CONE, KernelSpace, Kind


def scale_of(space: KernelSpace) -> float:
    """The factor from a squared chord to w."""
    return 1.0 if space.time == 0 else 0.25 / space.radius**2


def signs_of(space: KernelSpace, like: Tensor) -> Tensor:
    """[d] the metric's signs, time coordinates first."""
    signs = torch.ones_like(like[0])
    signs[: space.time] = -1.0
    return signs


def half_chord_table(x: Tensor, y: Tensor, space: KernelSpace) -> Tensor:
    """w [r, c] of points x [r, d] with y [c, d], relative to their middle as terms cancel, by one
    matrix product.
    """
    signed, scale = signs_of(space, x), scale_of(space)
    left, right = (z.square() @ (scale * signed) for z in (x, y))
    one = torch.ones_like(left[:, None])
    rows = torch.cat((x * (-2.0 * scale * signed), left[:, None], one), 1)
    columns = torch.cat((y, torch.ones_like(right[:, None]), right[:, None]), 1)
    w = rows @ columns.T
    if space.time in (0, 1):
        return w.clamp_min_(0.0)  # rounding alone makes it negative
    return w.clamp_max_(0.0) if space.time == x.shape[1] else w


def value_and_slope(
    w: Tensor, space: KernelSpace, epsilon: float | Tensor
) -> tuple[Tensor, Tensor]:
    """The dissimilarity of w [...] and its derivative; where that has a pole, 0 or a large
    number.
    """
    kind, radius = space.kind, space.radius
    tiny = torch.finfo(w.dtype).tiny
    if kind == Kind.FLAT_SQUARED:
        return w, torch.ones_like(w)
    if kind == Kind.FLAT_SMOOTHED:
        return _smooth(w, 1.0, epsilon)
    if kind == Kind.FLAT_DISTANCE:
        root = w.clamp_min(tiny).sqrt()
        return root, torch.where(w > tiny, 0.5 / root, 0.0)
    root = w.abs().clamp_min(tiny).sqrt()
    if kind == Kind.EXTRINSIC:
        return 2.0 * radius * root, torch.where(w.abs() > tiny, radius * w.sign() / root, 0.0)
    angle, rate = _arc(w, root, broken=kind == Kind.BROKEN)
    if kind == Kind.SMOOTHED:
        # σ = ±D² and its slope, which is finite on the cone, where D itself has a pole.
        length = radius * angle
        return _smooth(
            length.square() * w.sign(), (2.0 * radius**2) * (angle * rate).abs(), epsilon
        )
    value, slope = radius * angle, torch.where(w.abs() > tiny, radius * rate, 0.0)
    if kind == Kind.CONE_RULE:
        near = w.abs() < CONE
        return torch.where(near, 4.0 * radius * w.abs(), value), torch.where(
            near, 4.0 * radius * w.sign(), slope
        )
    return value, slope


def _smooth(
    square: Tensor, slope: Tensor | float, epsilon: float | Tensor
) -> tuple[Tensor, Tensor]:
    """(σ² + ε²)^¼ - √ε and its derivative, from σ and its derivative; σ is not squared, and may be
    large.
    """
    if isinstance(epsilon, float):
        epsilon = torch.tensor(epsilon, dtype=square.dtype, device=square.device)
    h = torch.hypot(square, epsilon)
    root = h.sqrt()
    value = (square / (h + epsilon)) * (square / (root + epsilon.sqrt()))
    return value, 0.5 * (square / h) / root * slope


def _arc(w: Tensor, root: Tensor, *, broken: bool) -> tuple[Tensor, Tensor]:
    """D_γ (Eq. 9), or the broken geodesic, in units of the radius, and its derivative; ``root`` is
    √|w|.
    """
    size = root.square()
    far = torch.sqrt(1.0 + size)
    angle, rate = 2.0 * torch.asinh(root), 1.0 / (root * far)
    near = root.clamp_max(math.sqrt(0.5))
    back, back_rate = 2.0 * torch.asin(near), -1.0 / (near * torch.sqrt(1.0 - near.square()))
    if broken:
        rest = 1.0 + w
        edge = rest.abs().clamp_min(torch.finfo(w.dtype).tiny).sqrt()
        inside = math.pi - 2.0 * torch.asin(edge.clamp_max(math.sqrt(0.5)))
        beyond, beyond_angle = rest <= 0.0, math.pi + 2.0 * torch.asinh(edge)
        slope = -1.0 / (edge * torch.where(beyond, torch.sqrt(1.0 + edge.square()), root))
        tail, tail_rate = (
            torch.where(beyond, beyond_angle, inside),
            torch.where(rest == 0.0, 0.0, slope),
        )
    else:
        tail, tail_rate = math.pi / 2 - 1.0 - 2.0 * w, torch.full_like(w, -2.0)
    low = w < -0.5
    back, back_rate = torch.where(low, tail, back), torch.where(low, tail_rate, back_rate)
    return torch.where(w > 0.0, angle, back), torch.where(w > 0.0, rate, back_rate)
