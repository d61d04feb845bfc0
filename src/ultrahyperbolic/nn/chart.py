"""ψ as the layers use it: points as plain vectors, which matrices can multiply, and back."""

from __future__ import annotations

import torch
from torch import Tensor

from ..geometry import Euclidean, Manifold, Product, PseudoHyperboloid, PseudoSphere
from ..geometry.arguments import validate


def width(manifold: Manifold) -> int:
    """How many numbers `coordinates` gives a point: d, or p in hyperbolic space, whose S^0 is a single point."""
    if isinstance(manifold, Euclidean):
        return manifold.ambient_dim
    if isinstance(manifold, PseudoHyperboloid):
        return manifold.p if manifold.q == 0 else manifold.ambient_dim
    if isinstance(manifold, PseudoSphere):
        return width(manifold.image)
    if isinstance(manifold, Product):
        return sum(map(width, manifold._factors()))
    raise TypeError(
        "layers are defined on PseudoHyperboloid, PseudoSphere, Euclidean and Product, "
        f"got {type(manifold).__name__}"
    )


def coordinates(manifold: Manifold, x: Tensor) -> Tensor:
    """ψ(x) = (t/‖t‖, s/√|β|) ∈ S^q × R^p of points x = (t, s), without what is constant; x itself in flat space.

    Shapes: [..., d] to [..., width(manifold)].
    """
    if isinstance(manifold, Euclidean):
        validate(manifold.ambient_dim, x=x)
        return x
    if isinstance(manifold, PseudoSphere):
        return coordinates(manifold.image, manifold.anti_isometry(x))
    if isinstance(manifold, Product):
        parts = zip(manifold._factors(), manifold.split(x), strict=True)
        return torch.cat([coordinates(factor, part) for factor, part in parts], dim=-1)
    assert isinstance(manifold, PseudoHyperboloid)
    z = manifold.psi(x)
    return z[..., 1:] if manifold.q == 0 else z


def from_coordinates(manifold: Manifold, z: Tensor) -> Tensor:
    """ψ⁻¹(a/‖a‖, v) of any vectors z = (a, v): the inverse of `coordinates`, extended to all of R^width.

    Where a vanishes, the point has the direction of the pole, and no gradient with respect to a.
    """
    if isinstance(manifold, Euclidean):
        validate(manifold.ambient_dim, z=z)
        return z
    if isinstance(manifold, PseudoSphere):
        return manifold.image.anti_isometry(from_coordinates(manifold.image, z))
    if isinstance(manifold, Product):
        factors = list(manifold._factors())
        parts = zip(factors, torch.split(z, [width(factor) for factor in factors], dim=-1), strict=True)
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
