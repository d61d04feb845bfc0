"""The pseudo-sphere Q^{p,q}_β with β > 0, through its anti-isometry with a pseudo-hyperboloid."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .manifold import Check, Logarithm, Manifold, check_count, validate
from .pseudo_hyperboloid import PseudoHyperboloid


class PseudoSphere(Manifold):
    """{x ∈ R^{p,q+1} : ⟨x, x⟩_q = β} with β > 0 and p >= 1.

    σ(x) = (x_{p+q}, …, x_0) carries it onto the pseudo-hyperboloid Q^{q+1,p-1}_{-β} and turns the sign of ⟨·,·⟩:
    geodesics, maps and lengths are those of the image, scalar products and signed squares their negatives. For p = 1
    it is the sheet whose last coordinate is positive.
    """

    def __init__(self, p: int, q: int, beta: float = 1.0) -> None:
        super().__init__()
        check_count("p", p, 1)  # ⟨x, x⟩ > 0 needs a space dimension
        check_count("q", q, 0)
        beta = float(beta)
        if not (math.isfinite(beta) and beta > 0):
            raise ValueError(f"beta must be finite and positive, got {beta}; see PseudoHyperboloid for beta < 0")
        self.p, self.q = p, q
        self.image = PseudoHyperboloid(q + 1, p - 1, -beta)
        self.dim, self.ambient_dim = self.image.dim, self.image.ambient_dim

    @property
    def beta(self) -> Tensor:
        """The value of ⟨x, x⟩, positive."""
        return -self.image.beta

    @property
    def sectional_curvature(self) -> Tensor:
        """1/β."""
        return 1.0 / self.beta

    def extra_repr(self) -> str:
        """The parameters, for ``repr``."""
        return f"p={self.p}, q={self.q}, beta={self.beta.item():g}"

    def anti_isometry(self, x: Tensor) -> Tensor:
        """σ(x), on the pseudo-hyperboloid ``self.image``."""
        validate(self.ambient_dim, x=x)
        return x.flip(-1)

    def inner(self, u: Tensor, v: Tensor, *, keepdim: bool = False) -> Tensor:
        """⟨u, v⟩_q (Eq. 1), with no base point."""
        return -self.image.inner(u.flip(-1), v.flip(-1), keepdim=keepdim)

    def check_point(self, x: Tensor, *, tolerance: float | None = None) -> Check:
        """As for the image σ(x), whose ⟨·,·⟩ has the other sign."""
        return self._explain(self.image.check_point(x.flip(-1), tolerance=tolerance))

    def check_tangent(self, x: Tensor, u: Tensor, *, tolerance: float | None = None) -> Check:
        """As for the image σ(x)."""
        return self._explain(self.image.check_tangent(x.flip(-1), u.flip(-1), tolerance=tolerance))

    def check_projectable(self, z: Tensor) -> Check:
        """Whether the space part of every row is nonzero, as :meth:`phi` needs for p >= 2."""
        return self._explain(self.image.check_projectable(z.flip(-1)))

    def _explain(self, check: Check) -> Check:
        return check if check.ok else Check(False, f"{check.reason} (said of its image under σ on {self.image})")

    def proju(self, x: Tensor, z: Tensor) -> Tensor:
        """z - ⟨z, x⟩ x / β (Eq. 3)."""
        return self.image.proju(x.flip(-1), z.flip(-1)).flip(-1)

    def geodesic(self, x: Tensor, u: Tensor, t: Tensor | float) -> Tensor:
        """cos, straight or cosh as u is space-like, null or time-like."""
        return self.image.geodesic(x.flip(-1), u.flip(-1), t).flip(-1)

    def logmap(self, x: Tensor, y: Tensor) -> Logarithm:
        """The velocity of the geodesic from x to y, which exists where ⟨x, y⟩ > -β."""
        vector, exists = self.image.logmap(x.flip(-1), y.flip(-1))
        return Logarithm(vector.flip(-1), exists)

    def transp(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from x to y along their geodesic; NaN where there is none."""
        return self.image.transp(x.flip(-1), y.flip(-1), v.flip(-1)).flip(-1)

    def transp_follow_expmap(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from x to expmap(x, u)."""
        return self.image.transp_follow_expmap(x.flip(-1), u.flip(-1), v.flip(-1)).flip(-1)

    def sqdist(self, x: Tensor, y: Tensor) -> Tensor:
        """±d_γ², positive for space-like pairs."""
        return -self.image.sqdist(x.flip(-1), y.flip(-1))

    def dist(self, x: Tensor, y: Tensor) -> Tensor:
        """Length of the geodesic, π√β at the antipode, NaN where there is none."""
        return self.image.dist(x.flip(-1), y.flip(-1))

    def dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """D_γ of the images (Eq. 9)."""
        return self.image.dissimilarity(x.flip(-1), y.flip(-1))

    def broken_dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """d_γ, or the length of the geodesic broken at -x."""
        return self.image.broken_dissimilarity(x.flip(-1), y.flip(-1))

    def smoothed_dissimilarity(self, x: Tensor, y: Tensor, epsilon: float = 0.1) -> Tensor:
        """D_γ of the images, smoothed on the light cone."""
        return self.image.smoothed_dissimilarity(x.flip(-1), y.flip(-1), epsilon)

    def extrinsic_dist(self, x: Tensor, y: Tensor) -> Tensor:
        """√|⟨x-y, x-y⟩| (Eq. 4)."""
        return self.image.extrinsic_dist(x.flip(-1), y.flip(-1))

    def phi(self, z: Tensor) -> Tensor:
        """The time part is kept, the space part rescaled."""
        return self.image.phi(z.flip(-1)).flip(-1)

    def projx(self, z: Tensor) -> Tensor:
        """Radial rescaling; NaN unless ⟨z, z⟩ > 0."""
        return self.image.projx(z.flip(-1)).flip(-1)

    def egrad2rgrad(self, x: Tensor, gradient: Tensor) -> Tensor:
        """Π_x(G ∇f) (Eq. 11); -Df is **not** a descent direction."""
        return -self.image.egrad2rgrad(x.flip(-1), gradient.flip(-1)).flip(-1)

    def precondition(self, x: Tensor, z: Tensor) -> Tensor:
        """Π_x(G z)."""
        return -self.image.precondition(x.flip(-1), z.flip(-1)).flip(-1)

    def origin(self, *size: int, dtype: torch.dtype = torch.float64, device: torch.device | None = None) -> Tensor:
        """The positive pole (0, …, 0, √β), repeated to [*size, d]."""
        return self.image.origin(*size, dtype=dtype, device=device).flip(-1)

    def random(
        self,
        *size: int,
        scale: float = 1.0,
        generator: torch.Generator | None = None,
        dtype: torch.dtype = torch.float64,
        device: torch.device | None = None,
    ) -> Tensor:
        """σ of random points of the image."""
        return self.image.random(*size, scale=scale, generator=generator, dtype=dtype, device=device).flip(-1)

    def random_near_pole(
        self,
        *size: int,
        epsilon: float = 0.1,
        generator: torch.Generator | None = None,
        dtype: torch.dtype = torch.float64,
        device: torch.device | None = None,
    ) -> Tensor:
        """σ of points near the pole of the image."""
        return self.image.random_near_pole(
            *size, epsilon=epsilon, generator=generator, dtype=dtype, device=device
        ).flip(-1)
