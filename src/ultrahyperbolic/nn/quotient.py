"""The quotient by ±1: x and -x are one point, and a geodesic joins every two (Law 2021)."""

import torch
from torch import Tensor

from ..geometry import Manifold, PseudoHyperboloid, PseudoSphere


def representative(manifold: Manifold, x: Tensor, y: Tensor | None = None) -> Tensor:
    """The one of x and -x [..., d] on the side of y: -x where ⟨x, y⟩/β < 0; y is the pole by default.

    There ⟨x, y⟩/β >= 0, so a geodesic joins it to y. In hyperbolic space it is x itself.

    >>> from ultrahyperbolic import PseudoHyperboloid
    >>> M = PseudoHyperboloid(2, 1)
    >>> bool(M.logmap(M.origin(), representative(M, M.random(100))).exists.all())
    True
    """
    if not isinstance(manifold, PseudoHyperboloid | PseudoSphere):
        raise TypeError(
            f"the quotient by ±1 is defined on PseudoHyperboloid and PseudoSphere, got {type(manifold).__name__}"
        )
    if y is None:
        y = manifold.origin(dtype=x.dtype, device=x.device)
    product = manifold.inner(x, y, keepdim=True)
    wrong = product > 0 if isinstance(manifold, PseudoHyperboloid) else product < 0
    return torch.where(wrong, -x, x)


def quotient_dist(manifold: Manifold, x: Tensor, y: Tensor, epsilon: float | None = None) -> Tensor:
    """The length of the geodesic between {x, -x} and {y, -y} [...], never NaN; smoothed on the cone with ``epsilon``.

    ``dist(±x, y)`` with the sign for which ⟨±x, y⟩/β >= 0, or ``smoothed_dissimilarity`` with that ``epsilon``. For
    p = 0 it is the distance of lines, at most π/2 √|β|; for q = 0 the hyperbolic distance.
    """
    x = representative(manifold, x, y)
    return manifold.dist(x, y) if epsilon is None else manifold.smoothed_dissimilarity(x, y, epsilon)
