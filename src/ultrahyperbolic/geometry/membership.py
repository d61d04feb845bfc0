"""The checks of points and vectors, most of them on {x : ⟨x, x⟩ = β}; each names the first row that fails."""

from __future__ import annotations

import torch
from torch import Tensor

from ..checks import format_number
from .arguments import Check, check_finite, first_row, format_row, row_name

_OK = Check(True, "")
# ‖x‖² in units of |β| and of the dtype's roundoff, beyond which ⟨x, x⟩ = β and ⟨x, x⟩ = 0 cannot be told apart.
_HIDING = 8.0


def all_finite(**tensors: Tensor) -> Check:
    """Whether every row of every tensor is finite."""
    for name, tensor in tensors.items():
        finite = check_finite(name, tensor)
        if not finite.ok:
            return finite
    return _OK


def on_quadric(x: Tensor, square: Tensor, beta: float, tolerance: float | Tensor) -> Check:
    """|⟨x, x⟩ - β| <= tolerance · max(‖x‖², |β|), with square = ⟨x, x⟩ [...], and ‖x‖² not so large that it hides β.

    The latter unless each row has a tolerance of its own, which then says how much of β may be hidden.
    """
    residual, size = (square - beta).abs(), x.square().sum(-1)
    far = size * torch.finfo(x.dtype).eps > _HIDING * abs(beta)
    if far.any() and not isinstance(tolerance, Tensor):
        row = first_row(far)
        return Check(
            False,
            f"{row_name('x', row)} is too far out: ‖x‖ = {x[row].norm().item():.3g}, where rounding in {x.dtype} "
            f"hides whether ⟨x, x⟩ is beta = {format_number(beta)}",
        )
    off = residual > tolerance * size.clamp_min(abs(beta))
    if not off.any():
        return _OK
    row = first_row(off)
    return Check(
        False,
        f"{row_name('x', row)} is off the manifold: ⟨x, x⟩ = {square[row].item():.9g} instead of beta = "
        f"{format_number(beta)} (residual {residual[row].item():.3g}, "
        f"tolerance {_tolerance_of(tolerance, residual, row):.3g}·‖x‖²); phi maps it back",
    )


def on_sheet(x: Tensor, axis: int, rule: str) -> Check:
    """x_axis > 0, where that coordinate tells the two sheets apart."""
    lower = x[..., axis] <= 0
    if not lower.any():
        return _OK
    row = first_row(lower)
    return Check(
        False,
        f"{row_name('x', row)} is on the lower sheet: x_{axis} = {x[row][axis].item():.6g}, and {rule} x_{axis} > 0",
    )


def tangent(x: Tensor, u: Tensor, product: Tensor, tolerance: float | Tensor) -> Check:
    """|⟨x, u⟩| <= tolerance · ‖x‖‖u‖ + 8 u ‖x‖², with product = ⟨x, u⟩ [...]."""
    residual, size = product.abs(), x.norm(dim=-1)
    off = residual > tolerance * size * u.norm(dim=-1) + 4.0 * torch.finfo(x.dtype).eps * size.square()
    if not off.any():
        return _OK
    row = first_row(off)
    return Check(
        False,
        f"{row_name('u', row)} is not tangent: |⟨x, u⟩| = {residual[row].item():.3g} instead of 0 "
        f"(tolerance {_tolerance_of(tolerance, residual, row):.3g}·‖x‖‖u‖); proju projects it",
    )


def mapped(z: Tensor, image: Tensor) -> Check:
    """Whether φ(z) is finite in every row, with image = φ(z)."""
    finite = image.isfinite().all(-1)
    if finite.all():
        return _OK
    row = first_row(~finite)
    return Check(False, f"{row_name('z', row)} is where phi is not defined: {format_row(z[row])}")


def unmoved(x: Tensor, mapped: Tensor, tolerance: float | Tensor) -> Check:
    """|φ(x) - x| <= tolerance · ‖x‖, with mapped = φ(x): what a manifold is known by that says nothing more."""
    residual = (mapped - x).norm(dim=-1)
    off = ~(residual <= tolerance * x.norm(dim=-1))  # NaN is off
    if not off.any():
        return _OK
    row = first_row(off)
    return Check(
        False,
        f"{row_name('x', row)} is off the manifold: phi moves it by {residual[row].item():.3g} instead of 0 "
        f"(tolerance {_tolerance_of(tolerance, residual, row):.3g}·‖x‖); phi maps it back",
    )


def unprojected(x: Tensor, u: Tensor, projected: Tensor, tolerance: float | Tensor) -> Check:
    """|Π_x(u) - u| <= tolerance · ‖u‖ + 8 u ‖x‖, with projected = Π_x(u)."""
    residual = (projected - u).norm(dim=-1)
    off = ~(residual <= tolerance * u.norm(dim=-1) + 4.0 * torch.finfo(x.dtype).eps * x.norm(dim=-1))
    if not off.any():
        return _OK
    row = first_row(off)
    return Check(
        False,
        f"{row_name('u', row)} is not tangent: proju moves it by {residual[row].item():.3g} instead of 0 "
        f"(tolerance {_tolerance_of(tolerance, residual, row):.3g}·‖u‖); proju projects it",
    )


def part_nonzero(z: Tensor, part: Tensor, which: str) -> Check:
    """Whether no row of ``part``, some coordinates of z, vanishes."""
    zero = (part == 0).all(-1)
    if not zero.any():
        return _OK
    row = first_row(zero)
    return Check(False, f"{row_name('z', row)} has a zero {which}, where phi is not defined: {format_row(z[row])}")


def rescalable(z: Tensor, square: Tensor, beta: Tensor) -> Check:
    """Whether z √(β/⟨z, z⟩) is a vector other than 0 in every row, with square = ⟨z, z⟩ [...]."""
    factor = (beta / square).sqrt()  # NaN where the signs differ
    good = (factor > 0) & factor.isfinite()
    if good.all():
        return _OK
    row = first_row(~good)
    return Check(
        False,
        f"{row_name('z', row)} cannot be rescaled onto the manifold: ⟨z, z⟩ = {square[row].item():.9g}, and projx "
        f"needs it {'below' if beta < 0 else 'above'} 0, where beta = {format_number(beta.item())} is; phi maps it",
    )


def _tolerance_of(tolerance: float | Tensor, like: Tensor, row: tuple[int, ...]) -> float:
    """The tolerance of a row."""
    return tolerance.expand_as(like)[row].item() if isinstance(tolerance, Tensor) else tolerance
