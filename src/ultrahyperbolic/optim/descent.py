"""One step of descent: the only place where a gradient becomes a move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from ..geometry import Manifold
from ..geometry.manifold import check_positive

Direction = Literal["descent", "gradient"]


@dataclass(frozen=True)
class DescentSettings:
    """How a gradient becomes a move. Lengths are Euclidean norms of tangent vectors, one for each point."""

    manifold: Manifold
    lr: float | Tensor
    """Step size η; a tensor must broadcast against the points [..., d]."""
    direction: Direction = "descent"
    """``"descent"`` for χ; ``"gradient"`` for the pseudo-Riemannian gradient, which does not descend in general."""
    momentum: float = 0.0
    """Heavy-ball factor, or with a second moment the decay of the gradient's running mean (Adam's first beta)."""
    second_moment: float | None = None
    """Decay of the running mean of squared gradient coordinates (Adam's second beta); ``None`` for plain descent."""
    eps: float = 1e-8
    """Added to the root of the second moment."""
    max_step: float | None = None
    """Longest move of a point; longer ones are shortened to it, in the same direction."""

    def __post_init__(self) -> None:
        if not isinstance(self.lr, Tensor):
            check_positive("lr", self.lr, zero=True)
        if self.direction not in ("descent", "gradient"):
            raise ValueError(f"direction must be 'descent' or 'gradient', got {self.direction!r}")
        for name, decay in (("momentum", self.momentum), ("second_moment", self.second_moment)):
            if decay is not None and not 0.0 <= decay < 1.0:
                raise ValueError(f"{name} must be in [0, 1), got {decay}")
        check_positive("eps", self.eps, zero=True)
        if self.max_step is not None:
            check_positive("max_step", self.max_step)


class DescentState(NamedTuple):
    """What one step hands to the next."""

    iteration: int = 0
    momentum: Tensor | None = None
    """Running gradient [..., d], tangent at the points; ``None`` where nothing is carried."""
    second_moment: Tensor | None = None
    """Running squares [..., d] of the gradient's coordinates, never negative."""


def descent_step(
    points: Tensor, gradient: Tensor, state: DescentState, settings: DescentSettings
) -> tuple[Tensor, DescentState]:
    """Algorithm 1, one iteration: points [..., d] and their Euclidean gradient to new points and state.

    The pseudo-Riemannian gradient Df (Eq. 11) is averaged over time, if asked scaled coordinate by coordinate by a
    positive diagonal D, and turned into the direction Π_x(G D Df), which is χ (Eq. 14) for D = 1 and ascends for every
    positive D: ⟨Df, Π_x(G D Df)⟩ = Dfᵀ D Df. The points follow the exponential map of its negative; what is carried to
    the next step is parallel-transported along. Pure: no argument is modified.
    """
    manifold = settings.manifold
    average, scaled, state = _average(manifold.egrad2rgrad(points, gradient), state, settings)
    if settings.direction == "descent":
        scaled = manifold.precondition(points, scaled)
    move = _shorten(-settings.lr * scaled, settings.max_step)
    if average is None:
        # φ removes the drift that rounding leaves, with a relative change of the order of the roundoff.
        return manifold.phi(manifold.expmap(points, move)), state
    moved, carried = manifold.expmap_transp(points, move, average)
    moved = manifold.phi(moved)
    return moved, state._replace(momentum=manifold.proju(moved, carried))


def _average(
    gradient: Tensor, state: DescentState, settings: DescentSettings
) -> tuple[Tensor | None, Tensor, DescentState]:
    """The running gradient to carry on, the gradient to follow, and the state with its moments brought up to date."""
    iteration = state.iteration + 1
    if settings.second_moment is None:
        if settings.momentum == 0.0:
            return None, gradient, DescentState(iteration)
        average = gradient if state.momentum is None else settings.momentum * state.momentum + gradient
        return average, average, DescentState(iteration, average)
    mean, square = settings.momentum, settings.second_moment
    first = torch.zeros_like(gradient) if state.momentum is None else state.momentum
    second = torch.zeros_like(gradient) if state.second_moment is None else state.second_moment
    first = first + (1.0 - mean) * (gradient - first)
    second = square * second + (1.0 - square) * gradient.square()
    root = second.sqrt() / (1.0 - square**iteration) ** 0.5 + settings.eps
    return first, (first / root) / (1.0 - mean**iteration), DescentState(iteration, first, second)


def _shorten(move: Tensor, longest: float | None) -> Tensor:
    if longest is None:
        return move
    length = move.norm(dim=-1, keepdim=True)
    shortening: Tensor = longest * length.clamp_min(longest).reciprocal()
    return move * shortening
