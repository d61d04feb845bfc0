"""The centroid of points on a manifold."""

from collections.abc import Callable

import torch
from torch import Tensor

from ..geometry import Manifold, Product
from ..geometry.arguments import validate
from ..geometry.manifold import require_manifold
from .minimize import minimize


def mean(
    points: Tensor,
    manifold: Manifold,
    *,
    weights: Tensor | None = None,
    epsilon: float = 1e-3,
    max_iterations: int = 200,
) -> Tensor:
    """A point [..., d] that is near to points [..., n, d]: the least Σ w_i D(x, x_i)², found by ``minimize``.

    Where geodesics join all pairs and the metric is definite (hyperbolic space, the sphere, flat space), D is the
    distance and this is the Fréchet mean. On a sphere it is unique for points within a half sphere.

    Where the metric is indefinite there is no Fréchet mean: signed squares have no minimum, and distances vanish on
    light cones. D is then D_γ, smoothed on the cone with ``epsilon``. The result need not be unique, and may lie on
    light cones of the points. The search starts from φ(Σ w_i x_i), the centroid of the ambient space.

    A product has the sum over its factors, also smoothed. Gradients do not pass through the result.

    >>> import ultrahyperbolic as uh
    >>> M = uh.PseudoHyperboloid(2, 1)
    >>> x = M.random_near_pole(20, epsilon=0.1, generator=0)
    >>> M.check_point(mean(x, M)).ok
    True
    """
    require_manifold(manifold)
    validate(manifold.ambient_dim, points=points)
    if points.dim() < 2 or points.shape[-2] == 0:
        raise ValueError(f"points must be [..., n, d] with n >= 1, got shape {tuple(points.shape)}")
    points = points.detach()
    if weights is None:
        weights = torch.ones_like(points[..., 0])
    count = points.shape[-2]
    if weights.shape[-1:] != (count,) or not bool((weights >= 0).all()) or not bool(weights.sum(-1).all()):
        raise ValueError(f"weights must be [..., {count}], not negative and not all 0")
    weights = weights.detach().to(points).expand(points.shape[:-1])
    share = weights / weights.sum(-1, keepdim=True)
    centre = (share.unsqueeze(-1) * points).sum(-2)
    if not manifold.check_phi(centre).ok:  # opposite points: their sum vanishes
        centre = points[..., 0, :]
    length: Callable[[Tensor, Tensor], Tensor] = manifold.dist
    if not manifold.joins_all_pairs or isinstance(manifold, Product):  # whose factors may differ in sign
        length = manifold.pair_function("smoothed", epsilon)

    def spread(x: Tensor) -> Tensor:
        return (share * length(x.unsqueeze(-2), points).square()).sum()

    return minimize(spread, manifold.phi(centre), manifold, max_iterations=max_iterations).point
