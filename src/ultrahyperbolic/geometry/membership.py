"""The checks of points and vectors, most of them on {x : ⟨x, x⟩ = β}; each names the first row that fails."""

import torch
from torch import Tensor

from ..checks import format_number
from .arguments import Check, check_finite, check_rows, format_row

# ‖x‖² in units of |β| and of the dtype's roundoff, beyond which ⟨x, x⟩ = β and ⟨x, x⟩ = 0 cannot be told apart.
_HIDING = 8.0


def all_finite(**tensors: Tensor) -> Check:
    """Whether every row of every tensor is finite."""
    checks = (check_finite(name, tensor) for name, tensor in tensors.items())
    return next((check for check in checks if not check.ok), Check(True, ""))


def on_quadric(x: Tensor, square: Tensor, beta: float, tolerance: float | Tensor) -> Check:
    """|⟨x, x⟩ - β| <= tolerance · max(‖x‖², |β|), and ‖x‖² does not hide β unless each row has a tolerance."""
    residual, size, number = (square - beta).abs(), x.square().sum(-1), format_number(beta)
    far = size * torch.finfo(x.dtype).eps > _HIDING * abs(beta)
    if far.any() and not isinstance(tolerance, Tensor):
        return check_rows(
            far,
            lambda row: (
                f"x{row} is too far out: ‖x‖ = {x[row.at].norm().item():.3g}, where rounding in {x.dtype} "
                f"hides whether ⟨x, x⟩ is beta = {number}"
            ),
        )
    return check_rows(
        residual > tolerance * size.clamp_min(abs(beta)),
        lambda row: (
            f"x{row} is off the manifold: ⟨x, x⟩ = {row.of(square):.9g} instead of beta = {number} "
            f"(residual {row.of(residual):.3g}, tolerance {row.of(tolerance, residual):.3g}·‖x‖²); phi maps it back"
        ),
    )


def on_sheet(x: Tensor, axis: int, rule: str) -> Check:
    """x_axis > 0, where that coordinate tells the two sheets apart."""
    height = x[..., axis]
    return check_rows(
        height <= 0,
        lambda row: f"x{row} is on the lower sheet: x_{axis} = {row.of(height):.6g}, and {rule} x_{axis} > 0",
    )


def tangent(x: Tensor, u: Tensor, product: Tensor, tolerance: float | Tensor) -> Check:
    """|⟨x, u⟩| <= tolerance · ‖x‖‖u‖ + 8 u ‖x‖², with product = ⟨x, u⟩ [...]."""
    residual, size = product.abs(), x.norm(dim=-1)
    return check_rows(
        residual > tolerance * size * u.norm(dim=-1) + 4.0 * torch.finfo(x.dtype).eps * size.square(),
        lambda row: (
            f"u{row} is not tangent: |⟨x, u⟩| = {row.of(residual):.3g} instead of 0 "
            f"(tolerance {row.of(tolerance, residual):.3g}·‖x‖‖u‖); proju projects it"
        ),
    )


def mapped(z: Tensor, image: Tensor) -> Check:
    """Whether φ(z) is finite in every row, with image = φ(z)."""
    return check_rows(
        ~image.isfinite().all(-1), lambda row: f"z{row} is where phi is not defined: {format_row(z[row.at])}"
    )


def unmoved(x: Tensor, mapped: Tensor, tolerance: float | Tensor) -> Check:
    """|φ(x) - x| <= tolerance · ‖x‖, with mapped = φ(x): the check for a manifold without a better one."""
    residual = (mapped - x).norm(dim=-1)
    return check_rows(
        ~(residual <= tolerance * x.norm(dim=-1)),  # NaN is off
        lambda row: (
            f"x{row} is off the manifold: phi moves it by {row.of(residual):.3g} instead of 0 "
            f"(tolerance {row.of(tolerance, residual):.3g}·‖x‖); phi maps it back"
        ),
    )


def unprojected(x: Tensor, u: Tensor, projected: Tensor, tolerance: float | Tensor) -> Check:
    """|Π_x(u) - u| <= tolerance · ‖u‖ + 8 u ‖x‖, with projected = Π_x(u)."""
    residual = (projected - u).norm(dim=-1)
    return check_rows(
        ~(residual <= tolerance * u.norm(dim=-1) + 4.0 * torch.finfo(x.dtype).eps * x.norm(dim=-1)),
        lambda row: (
            f"u{row} is not tangent: proju moves it by {row.of(residual):.3g} instead of 0 "
            f"(tolerance {row.of(tolerance, residual):.3g}·‖u‖); proju projects it"
        ),
    )


def part_nonzero(z: Tensor, part: Tensor, which: str) -> Check:
    """Whether no row of ``part``, some coordinates of z, vanishes."""
    return check_rows(
        (part == 0).all(-1),
        lambda row: f"z{row} has a zero {which}, where phi is not defined: {format_row(z[row.at])}",
    )


def rescalable(z: Tensor, square: Tensor, beta: Tensor) -> Check:
    """Whether z √(β/⟨z, z⟩) is a vector other than 0 in every row, with square = ⟨z, z⟩ [...]."""
    factor = (beta / square).sqrt()  # NaN where the signs differ
    return check_rows(
        ~((factor > 0) & factor.isfinite()),
        lambda row: (
            f"z{row} cannot be rescaled onto the manifold: ⟨z, z⟩ = {row.of(square):.9g}, and projx needs it "
            f"{'below' if beta < 0 else 'above'} 0, where beta = {format_number(beta.item())} is; phi maps it"
        ),
    )
