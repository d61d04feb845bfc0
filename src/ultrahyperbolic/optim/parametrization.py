"""Section 4.1 of the paper: optimise in flat space, through φ."""

import copy

from torch import Tensor, nn
from torch.nn.utils import parametrize

from ..geometry import Manifold
from ..geometry.manifold import require_manifold


class OntoManifold(nn.Module):
    """A ``torch.nn.utils.parametrize`` parametrisation x = φ(z): any torch optimiser then moves z freely.

    It keeps a copy of the manifold: what happens to the module (``.to``, ``load_state_dict``) does not reach yours.
    """

    def __init__(self, manifold: Manifold) -> None:
        super().__init__()
        require_manifold(manifold)
        self.manifold = copy.deepcopy(manifold)

    def forward(self, z: Tensor) -> Tensor:
        """φ(z)."""
        return self.manifold.phi(z)

    def right_inverse(self, x: Tensor) -> Tensor:
        """x, for φ(x) = x on the manifold; a value off the manifold becomes φ of it."""
        self.manifold.assert_phi(x.detach())
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
    if not isinstance(module, nn.Module):
        raise TypeError(f"module must be a torch.nn.Module, got {type(module).__name__}")
    if not isinstance(name, str) or not isinstance(getattr(module, name, None), Tensor):
        raise ValueError(f"name must be that of a parameter of {type(module).__name__}, got {name!r}")
    require_manifold(manifold)
    manifold.assert_phi(getattr(module, name).detach(), name=name)
    parametrize.register_parametrization(module, name, OntoManifold(manifold))
    return module
