"""The pseudo-sphere Q^{p,q}_β with β > 0, through its anti-isometry with a pseudo-hyperboloid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Unpack

import torch
from torch import Tensor, nn

from ..checks import check_count
from . import membership
from .arguments import Check, as_number, validate
from .manifold import Logarithm
from .primitives import Device, Seed, Size, Spot
from .pseudo_hyperboloid import PseudoHyperboloid
from .quadric import CurvedQuadric, as_beta


class PseudoSphere(CurvedQuadric):
    """{x ∈ R^{p,q+1} : ⟨x, x⟩_q = β} with β > 0 and p >= 1.

    With q = -1 there is no time dimension, and it is the round sphere of radius √β in R^p, with its positive metric.

    σ(x) = (x_{p+q}, …, x_0) carries it onto the pseudo-hyperboloid Q^{q+1,p-1}_{-β} and turns the sign of ⟨·,·⟩:
    geodesics, maps and lengths are those of the image, scalar products and signed squares their negatives. For p = 1
    it is the sheet whose last coordinate is positive.
    """

    def __init__(self, p: int, q: int, beta: float | Tensor = 1.0, *, learnable: bool = False) -> None:
        super().__init__()
        p, q = check_count("p", p, 1), check_count("q", q, -1)  # ⟨x, x⟩ > 0 needs a space dimension
        if p + q == 0:
            raise ValueError("p + q must be at least 1, got p = 1 and q = -1: the manifold would be isolated points")
        beta, learnable = as_beta(beta, learnable)
        if not 0 < beta < math.inf:
            raise ValueError(f"beta must be finite and positive, got {beta}; see PseudoHyperboloid for beta < 0")
        self.p, self.q = p, q
        self.image = PseudoHyperboloid(q + 1, p - 1, -beta, learnable=learnable)
        self.dim, self.ambient_dim = self.image.dim, self.image.ambient_dim

    @property
    def beta(self) -> Tensor:
        """The value of ⟨x, x⟩, positive."""
        return -self.image.beta

    @property
    def _sheet(self) -> tuple[int, str] | None:
        return (self.ambient_dim - 1, "p = 1") if self.p == 1 else None

    def curvature_parameters(self) -> list[nn.Parameter]:
        """log β where it is learned."""
        return self.image.curvature_parameters()

    def homothety_slopes(self, x: Tensor, gradient: Tensor) -> list[Tensor]:
        """½ Σ x · ∇f, for x grows like √β."""
        return self.image.homothety_slopes(*self._image_of(x, gradient))

    def follow_curvature(self, x: Tensor, before: Sequence[Tensor]) -> Tensor:
        """x from where log β was ``before[0]``, brought onto the manifold as it is."""
        return self.image.follow_curvature(self._image_of(x)[0], before).flip(-1)

    def unit_normal(self, x: Tensor) -> Tensor:
        """𝒩(x) = -x/√β, which spans the normal space at x; ⟨𝒩, 𝒩⟩ = 1."""
        return self.image.unit_normal(*self._image_of(x)).flip(-1)

    def projn(self, x: Tensor, z: Tensor) -> Tensor:
        """⟨z, x⟩ x / β, the part of z in the normal space {λx}."""
        return self.image.projn(*self._image_of(x, z)).flip(-1)

    def shape_operator(self, x: Tensor, u: Tensor) -> Tensor:
        """S(u) = -D_u 𝒩 = u/√β."""
        return self.image.shape_operator(*self._image_of(x, u)).flip(-1)

    def anti_isometry(self, x: Tensor) -> Tensor:
        """σ(x), on the pseudo-hyperboloid ``self.image``."""
        return self._image_of(x)[0]

    def _image_of(self, *tensors: Tensor) -> list[Tensor]:
        """σ of every tensor."""
        return [tensor.flip(-1) for tensor in tensors]

    def inner(self, u: Tensor, v: Tensor, *, keepdim: bool = False) -> Tensor:
        """⟨u, v⟩_q (Eq. 1), with no base point."""
        return -self.image.inner(*self._image_of(u, v), keepdim=keepdim)

    def check_phi(self, z: Tensor) -> Check:
        """Whether the space part of every row is nonzero, as `phi` needs for p >= 2."""
        check = membership.all_finite(z=z)
        if not check.ok or self.p == 1:
            return check
        return membership.part_nonzero(z, z[..., self.q + 1 :], f"space part (its last {self.p} coordinates)")

    def proju(self, x: Tensor, z: Tensor) -> Tensor:
        """z - ⟨z, x⟩ x / β (Eq. 3)."""
        return self.image.proju(*self._image_of(x, z)).flip(-1)

    def geodesic(self, x: Tensor, u: Tensor, t: Tensor | float) -> Tensor:
        """cos, straight or cosh as u is space-like, null or time-like."""
        x, u = self._image_of(x, u)
        return self.image.geodesic(x, u, t).flip(-1)

    def logmap(self, x: Tensor, y: Tensor) -> Logarithm:
        """The velocity of the geodesic from x to y, which exists where ⟨x, y⟩ > -β."""
        vector, exists = self.image.logmap(*self._image_of(x, y))
        return Logarithm(vector.flip(-1), exists)

    def transp(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from x to y along their geodesic; NaN where there is none."""
        return self.image.transp(*self._image_of(x, y, v)).flip(-1)

    def transp_follow_expmap(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from x to expmap(x, u)."""
        return self.image.transp_follow_expmap(*self._image_of(x, u, v)).flip(-1)

    def sqdist(self, x: Tensor, y: Tensor) -> Tensor:
        """±d_γ², positive for space-like pairs."""
        return -self.image.sqdist(*self._image_of(x, y))

    def dist(self, x: Tensor, y: Tensor) -> Tensor:
        """Length of the geodesic, π√β at the antipode, NaN where there is none."""
        return self.image.dist(*self._image_of(x, y))

    def dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """D_γ of the images (Eq. 9)."""
        return self.image.dissimilarity(*self._image_of(x, y))

    def broken_dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """d_γ, or the length of the geodesic broken at -x."""
        return self.image.broken_dissimilarity(*self._image_of(x, y))

    def smoothed_dissimilarity(self, x: Tensor, y: Tensor, epsilon: float = 0.1) -> Tensor:
        """D_γ of the images, smoothed on the light cone."""
        x, y = self._image_of(x, y)
        return self.image.smoothed_dissimilarity(x, y, epsilon)

    def extrinsic_dist(self, x: Tensor, y: Tensor) -> Tensor:
        """√|⟨x-y, x-y⟩| (Eq. 4)."""
        return self.image.extrinsic_dist(*self._image_of(x, y))

    @property
    def joins_all_pairs(self) -> bool:
        """Whether a geodesic joins every pair of points, as in the image."""
        return self.image.joins_all_pairs

    def cone_rule(self, x: Tensor, y: Tensor) -> Tensor:
        """The rule of the authors' scripts for the images."""
        return self.image.cone_rule(*self._image_of(x, y))

    def psi(self, x: Tensor) -> Tensor:
        """σ ψ(σ(x)) = (t/√β, s/‖s‖) ∈ R^{q+1} × S^{p-1} of x = (t, s); for p = 1 the last coordinate is 1."""
        return self.image.psi(*self._image_of(x)).flip(-1)

    def psi_inverse(self, z: Tensor) -> Tensor:
        """The inverse of `psi`, √β (v, √(1 + ‖v‖²) u) for v ∈ R^{q+1} and u ∈ S^{p-1}."""
        return self.image.psi_inverse(*self._image_of(z)).flip(-1)

    def phi(self, z: Tensor) -> Tensor:
        """The time part is kept, the space part rescaled."""
        return self.image.phi(*self._image_of(z)).flip(-1)

    def projx(self, z: Tensor) -> Tensor:
        """Radial rescaling; NaN unless ⟨z, z⟩ > 0, as `check_projectable` tells."""
        return self.image.projx(*self._image_of(z)).flip(-1)

    def homothety(self, x: Tensor, beta: float | Tensor) -> Tensor:
        """√(beta/β) x, on the pseudo-sphere of the same signature with ``beta``; lengths scale alike."""
        if not 0 < as_number("beta", beta) < math.inf:
            raise ValueError(f"beta must be finite and positive, got {as_number('beta', beta)}")
        return self.image.homothety(x, -beta)

    def include_hyperbolic(self, point: Tensor) -> Tensor:
        """Points [..., q + 2] of ``PseudoSphere(1, q, beta)``, hyperbolic space with the sign of its metric turned."""
        if self.q == -1:
            raise ValueError("a sphere contains no hyperbolic space: include_hyperbolic needs q >= 0, got q = -1")
        validate(self.q + 2, point=point)
        return self.image.include_hyperbolic(point.flip(-1)).flip(-1)

    def include_sphere(self, point: Tensor) -> Tensor:
        """Points [..., p] of the round sphere ``PseudoSphere(p, -1, beta)``, with all time coordinates 0."""
        if self.p == 1:
            raise ValueError("hyperbolic space contains no sphere of its own β: include_sphere needs p >= 2, got p = 1")
        validate(self.p, point=point)
        return self.image.include_sphere(point.flip(-1)).flip(-1)

    def raise_index(self, z: Tensor) -> Tensor:
        """G z: the time coordinates with their sign turned."""
        return -self.image.raise_index(*self._image_of(z)).flip(-1)

    def wick_rotation(self, x: Tensor, u: Tensor) -> Tensor:
        """sgn(P_x) u for tangent u at x = (t, s): -u but for its part along the sphere of space directions."""
        return -self.image.wick_rotation(*self._image_of(x, u)).flip(-1)

    def precondition_root(self, x: Tensor, z: Tensor) -> Tensor:
        """|P_x|^½ z."""
        return self.image.precondition_root(*self._image_of(x, z)).flip(-1)

    def origin(self, *size: Size, dtype: torch.dtype = torch.float64, device: Device = None) -> Tensor:
        """The positive pole (0, …, 0, √β), repeated to [*size, d]."""
        return self.image.origin(*size, dtype=dtype, device=device).flip(-1)

    def random(self, *size: Size, scale: float = 1.0, generator: Seed = None, **at: Unpack[Spot]) -> Tensor:
        """σ of random points of the image."""
        return self.image.random(*size, scale=scale, generator=generator, **at).flip(-1)

    def random_near_pole(
        self, *size: Size, epsilon: float = 0.1, generator: Seed = None, perturb_first: bool = True, **at: Unpack[Spot]
    ) -> Tensor:
        """σ of points near the pole of the image, ε relative to √β; ``perturb_first`` is about the last coordinate."""
        near = self.image.random_near_pole(
            *size, epsilon=epsilon, generator=generator, perturb_first=perturb_first, **at
        )
        return near.flip(-1)
