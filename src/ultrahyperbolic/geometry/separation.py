"""Products and chords of two points of Q^{p,q}_β, accurate near and far."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

# From ‖t‖‖t′‖ = 4|β| on two points are far from the pole.
_FAR = 4.0


class Separation(NamedTuple):
    """What the closed forms need of two points; columns [..., 1] and vectors [..., d]."""

    side: Tensor
    """-1 where the time parts of x and y point away from each other, 1 elsewhere."""
    turn: Tensor
    """side · ⟨x, y⟩/β - 1, which vanishes at y = ±x."""
    close: Tensor
    """Whether the time parts are at most 60° from each other, or from opposite."""
    cosine: Tensor
    """⟨x, y⟩/β as it stands; its digits are right where the points are not close."""
    stretch: Tensor | float
    """f > 0, the ratio of the lengths of the time parts unless it does not matter."""
    chord: Tensor
    """side · f · y - x."""
    length: Tensor
    """‖chord‖²."""

    @property
    def w(self) -> Tensor:
        """(⟨x, y⟩/β - 1)/2 = ⟨x-y, x-y⟩/4|β|."""
        half = 0.5 * self.turn
        return torch.where(self.side > 0, half, -1.0 - half)

    @property
    def w_bar(self) -> Tensor:
        """1 + w = -⟨x+y, x+y⟩/4|β|; a geodesic joins the points where it is positive."""
        half = 0.5 * self.turn
        return torch.where(self.side > 0, 1.0 + half, -half)


def separation(x: Tensor, y: Tensor, scale: Tensor, time: int) -> Separation:
    """Measure two points by a chord that loses few digits, for near and far points, at the pole and
    far from it.

    ⟨fy - x, fy - x⟩/|β| + (f - 1)² = 2f(⟨x, y⟩/β - 1) for every number f. The f that makes the time
    parts equally long leaves no chord along them, where terms of size ‖x‖² would cancel, and no
    rounding of their lengths. Near the antipode -y takes the place of y. Where the time parts are
    far apart this gains nothing, and ⟨x, y⟩ itself has fewer terms (one, at the pole). As f may be
    any number, derivatives need not know what it is.

    ``scale`` is |β|, and ``time`` how many coordinates are time, at least two of them.
    """
    products = x * y
    total = products.sum(-1, keepdim=True)
    if x.shape[-1] == time:
        cosine, stretch = total / scale, 1.0
        side, close = _side(total, scale)
        chord = (side * y).sub_(x)
        length = chord.square().sum(-1, keepdim=True)
        turn = length / (-2.0 * scale)
    else:
        dot = products[..., :time].sum(-1, keepdim=True)
        cosine = torch.sub(total, dot, alpha=2) / -scale
        height, depth = (z.detach()[..., :time].norm(dim=-1, keepdim=True) for z in (x, y))
        room = height * depth
        side, close = _side(dot, room)
        # At the pole nothing is lost with f = 1, and null pairs of round coordinates stay null.
        stretch = (height / depth).masked_fill(room <= _FAR * scale, 1.0)
        excess = stretch - 1.0
        # f y by way of y unless f is small: near points then do not round what they differ by.
        whole = stretch.round().clamp_max_(1.0)
        chord = (side * whole * y).sub_(x).add_(side * (stretch - whole) * y)
        squares = chord.square()
        length = squares.sum(-1, keepdim=True)
        inner = torch.sub(length, squares[..., :time].sum(-1, keepdim=True), alpha=2)
        turn = torch.addcmul(inner / scale, excess, excess) / (2.0 * stretch)
        turn = torch.where(close, turn, side * cosine - 1.0)
    return Separation(side, turn, close, cosine, stretch, chord, length)


def hyperbolic_w(x: Tensor, y: Tensor, scale: Tensor) -> Tensor:
    """w for q = 0: the chord of x and (x_0/y_0) y has no time part, so nothing cancels."""
    ratio = x[..., :1] / y[..., :1]
    angular = (ratio * y).sub_(x).square().sum(-1, keepdim=True)
    return torch.addcmul(angular, (1.0 - ratio).square(), scale) / (4.0 * scale * ratio)


def with_antipode(
    x: Tensor, time: int, pair: Separation, value: Tensor, antipodal: Tensor
) -> Tensor:
    """The value where a geodesic exists, the antipodal value where y = -x, NaN elsewhere."""
    otherwise = antipodal.expand_as(value)
    if x.shape[-1] > time:
        # Points that light rays from -x reach have no geodesic from x either: only -x itself is its
        # antipode.
        height = x.detach().square()[..., :time].sum(-1, keepdim=True)
        none = pair.length <= (4.0 * torch.finfo(x.dtype).eps) ** 2 * height
        otherwise = torch.where(none & (pair.side < 0), otherwise, math.nan)
    return torch.where(pair.w_bar > 0, value, otherwise)


def _side(dot: Tensor, room: Tensor) -> tuple[Tensor, Tensor]:
    """The sign of a dot product (1 for 0), and whether vectors are within 60° up to sign."""
    dot = dot.detach()
    return torch.ones_like(dot).copysign(dot), 2.0 * dot.abs() >= room
