"""Hyperbolic space in the Poincaré ball, and back."""

import torch
from torch import Tensor

from .arguments import validate
from .pseudo_hyperboloid import PseudoHyperboloid


def lorentz_to_poincare(x: Tensor, manifold: PseudoHyperboloid) -> Tensor:
    """Points x [..., p + 1] of hyperbolic space (q = 0) in the Poincaré ball of radius √|β|: √|β| s/(√|β| + x_0).

    >>> M = PseudoHyperboloid(2, 0, -4.0)
    >>> lorentz_to_poincare(M.origin(), M)
    tensor([0., 0.], dtype=torch.float64)
    """
    _require_hyperbolic(manifold)
    validate(manifold.ambient_dim, x=x)
    radius = manifold.beta.to(x).abs().sqrt()
    return x[..., 1:] * (radius / (radius + x[..., :1]))


def poincare_to_lorentz(ball: Tensor, manifold: PseudoHyperboloid) -> Tensor:
    """Points [..., p] of the open Poincaré ball of radius √|β| as points of hyperbolic space; undoes the above."""
    _require_hyperbolic(manifold)
    validate(manifold.p, ball=ball)
    scale = manifold.beta.to(ball).abs()
    square = ball.square().sum(-1, keepdim=True)
    room = scale - square
    return torch.cat((scale.sqrt() * (scale + square) / room, ball * (2.0 * scale / room)), dim=-1)


def _require_hyperbolic(manifold: PseudoHyperboloid) -> None:
    if not isinstance(manifold, PseudoHyperboloid) or manifold.q != 0:
        found = manifold._label() if hasattr(manifold, "_label") else repr(manifold)
        raise ValueError(f"manifold must be hyperbolic, PseudoHyperboloid(p, 0), got {found}")
