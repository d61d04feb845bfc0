"""Section 4.1 of the paper: optimise in flat space, through φ."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.utils import parametrize

from ..geometry import Manifold


class OntoManifold(nn.Module):
    """A ``torch.nn.utils.parametrize`` parametrisation x = φ(z): any torch optimiser then moves z freely."""

    def __init__(self, manifold: Manifold) -> None:
        super().__init__()
        self.manifold = manifold

    def forward(self, z: Tensor) -> Tensor:
        """φ(z)."""
        return self.manifold.phi(z)

    def right_inverse(self, x: Tensor) -> Tensor:
        """x, for φ(x) = x on the manifold; a value off the manifold becomes φ of it."""
        self.manifold.assert_projectable(x.detach())
        return x


def optimize_through_phi(module: nn.Module, name: str, manifold: Manifold) -> nn.Module:
    """Make ``module.name`` a point set φ(z) on the manifold and z its parameter; returns the module.

    >>> import torch
    >>> from ultrahyperbolic import PseudoHyperboloid
    >>> M = PseudoHyperboloid(3, 1)
    >>> nodes = optimize_through_phi(torch.nn.Embedding(34, 5, dtype=torch.float64), "weight", M)
    >>> M.check_point(nodes.weight).ok
    True
    >>> adam = torch.optim.Adam(nodes.parameters())
    """
    parametrize.register_parametrization(module, name, OntoManifold(manifold))
    return module
