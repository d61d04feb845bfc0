"""Points as plain vectors for linear layers, and vectors as points of the manifold by φ; and the quotient by ±1."""

from collections.abc import Callable

import torch
from torch import Tensor

from ..geometry import Euclidean, Manifold, Product, PseudoHyperboloid, PseudoSphere
from ..geometry.arguments import validate


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


def out_width(manifold: Manifold) -> int:
    """How many numbers `from_coordinates` needs for a point: d, or p in hyperbolic space, whose S^0 is one point."""
    require_layers(manifold)
    if isinstance(manifold, PseudoSphere | Product):
        return sum(map(out_width, manifold._factors()))
    return manifold.p if isinstance(manifold, PseudoHyperboloid) and manifold.q == 0 else manifold.ambient_dim


def require_layers(manifold: Manifold) -> None:
    """Raise unless layers are defined on the manifold."""
    if not isinstance(manifold, PseudoHyperboloid | PseudoSphere | Euclidean | Product):
        kinds = "PseudoHyperboloid, PseudoSphere, Euclidean and Product"
        raise TypeError(f"layers are defined on {kinds}, got {type(manifold).__name__}")


def coordinates(manifold: Manifold, x: Tensor) -> Tensor:
    """x/√|β|, and x itself in flat space: [..., d] to [..., d]. Those of a `PseudoSphere` come in reverse order."""
    return _by_factors(manifold, x, lambda quadric, part: part / quadric._scale(part).sqrt())


def psi(manifold: Manifold, x: Tensor) -> Tensor:
    """ψ(x) = (t/‖t‖, s/√|β|), in hyperbolic space s/√|β| alone: [..., d] to [..., out_width], invertible."""
    return _by_factors(manifold, x, lambda quadric, part: quadric.psi(part)[..., int(quadric.q == 0) :])


def _by_factors(manifold: Manifold, x: Tensor, of: Callable[[PseudoHyperboloid, Tensor], Tensor]) -> Tensor:
    """Apply ``of`` to the points of every curved factor, with pseudo-spheres as their images; flat points stay."""
    validate(manifold.ambient_dim, x=x)
    if isinstance(manifold, PseudoSphere | Product):
        parts = zip(manifold._factors(), manifold._split(x), strict=True)
        return torch.cat([_by_factors(factor, part, of) for factor, part in parts], dim=-1)
    return of(manifold, x) if isinstance(manifold, PseudoHyperboloid) else x


def from_coordinates(manifold: Manifold, z: Tensor) -> Tensor:
    """φ(√|β| z) = ψ⁻¹(a/‖a‖, v) of any vectors z = (a, v) [..., out_width]: onto the manifold.

    Where a vanishes, the point has the direction of the pole, and no gradient with respect to a. In hyperbolic space
    there is no a: its direction is always that of the pole.
    """
    if isinstance(manifold, Euclidean):
        validate(manifold.ambient_dim, z=z)
        return z
    if isinstance(manifold, PseudoSphere):
        return manifold.image.anti_isometry(from_coordinates(manifold.image, z))
    if isinstance(manifold, Product):
        factors = list(manifold._factors())
        parts = zip(factors, torch.split(z, [out_width(factor) for factor in factors], dim=-1), strict=True)
        return torch.cat([from_coordinates(factor, part) for factor, part in parts], dim=-1)
    assert isinstance(manifold, PseudoHyperboloid)
    time = 0 if manifold.q == 0 else manifold.q + 1
    unit = _unit(z[..., :time]) if time else torch.ones_like(z[..., :1])
    return manifold.psi_inverse(torch.cat((unit, z[..., time:]), dim=-1))


def _unit(a: Tensor) -> Tensor:
    """a/‖a‖, or the first axis where a vanishes."""
    square = a.square().sum(-1, keepdim=True)
    vanishes = square <= torch.finfo(a.dtype).tiny  # not so for NaN, which must stay NaN
    pole = torch.cat((torch.ones_like(a[..., :1]), torch.zeros_like(a[..., 1:])), dim=-1)
    return torch.where(vanishes, pole, a * torch.where(vanishes, 1.0, square).rsqrt())
