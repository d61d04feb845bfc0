"""The pseudo-sphere Q^{p,q}_β with β > 0, through its anti-isometry with a pseudo-hyperboloid."""

from __future__ import annotations

from torch import Tensor

from ..checks import check_count
from .arguments import by_parts
from .manifold import Logarithm
from .pseudo_hyperboloid import PseudoHyperboloid
from .quadric import CurvedQuadric, as_beta


def _turned(_: PseudoSphere, vector: Tensor) -> Tensor:
    """σ, which is its own inverse."""
    return vector.flip(-1)


class PseudoSphere(CurvedQuadric):
    """{x ∈ R^{p,q+1} : ⟨x, x⟩_q = β} with β > 0 and p >= 1.

    With q = -1 there is no time dimension, and it is the round sphere of radius √β in R^p, with its
    positive metric.

    σ(x) = (x_{p+q}, …, x_0) carries it onto the pseudo-hyperboloid Q^{q+1,p-1}_{-β} and turns the
    sign of ⟨·,·⟩: geodesics, maps and lengths are those of the image, scalar products and signed
    squares their negatives. For p = 1 it is the sheet whose last coordinate is positive.
    """

    _positive = True

    def __init__(
        self, p: int, q: int, beta: float | Tensor = 1.0, *, learnable: bool = False
    ) -> None:
        super().__init__()
        p, q = check_count("p", p, 1), check_count("q", q, -1)  # ⟨x, x⟩ > 0 needs a space dimension
        if p + q == 0:
            raise ValueError("p + q must be at least 1, got p = 1 and q = -1: isolated points")
        beta, learnable = as_beta(beta, learnable, positive=True)
        self.p, self.q = p, q
        self.image = PseudoHyperboloid(q + 1, p - 1, -beta, learnable=learnable)
        self.dim, self.ambient_dim = self.image.dim, self.image.ambient_dim

    @property
    def beta(self) -> Tensor:
        """The value of ⟨x, x⟩, positive."""
        return -self.image.beta

    def _factors(self) -> tuple[PseudoHyperboloid]:
        return (self.image,)

    def _split(self, x: Tensor) -> tuple[Tensor]:
        return (x.flip(-1),)

    curvature_parameters = by_parts(
        PseudoHyperboloid.curvature_parameters, None, "log β where it is learned."
    )
    follow_curvature = by_parts(PseudoHyperboloid.follow_curvature, _turned)
    proju = by_parts(PseudoHyperboloid.proju, _turned)
    geodesic = by_parts(PseudoHyperboloid.geodesic, _turned)
    logmap = by_parts(
        PseudoHyperboloid.logmap,
        lambda _, log: Logarithm(log.vector.flip(-1), log.exists),
        "The velocity of the geodesic from x to y, which exists where ⟨x, y⟩ > -β.",
    )
    transp = by_parts(PseudoHyperboloid.transp, _turned)
    transp_follow_expmap = by_parts(PseudoHyperboloid.transp_follow_expmap, _turned)
    inner = by_parts(
        PseudoHyperboloid.inner,
        lambda _, product: -product,
        "⟨u, v⟩_q (Eq. 1), with no base point.",
    )
    sqdist = by_parts(
        PseudoHyperboloid.sqdist,
        lambda _, product: -product,
        "±d_γ², positive for space-like pairs.",
    )
    dist = by_parts(PseudoHyperboloid.dist)
    dissimilarity = by_parts(PseudoHyperboloid.dissimilarity)
    broken_dissimilarity = by_parts(PseudoHyperboloid.broken_dissimilarity)
    smoothed_dissimilarity = by_parts(PseudoHyperboloid.smoothed_dissimilarity)
    extrinsic_dist = by_parts(PseudoHyperboloid.extrinsic_dist)
    psi = by_parts(PseudoHyperboloid.psi, _turned)
    psi_inverse = by_parts(PseudoHyperboloid.psi_inverse, _turned)
    phi = by_parts(
        PseudoHyperboloid.phi, _turned, "The time part is kept, the space part rescaled."
    )
    projx = by_parts(
        PseudoHyperboloid.projx,
        _turned,
        "Radial rescaling onto the manifold; NaN unless ⟨z, z⟩ > 0.",
    )
    wick_rotation = by_parts(
        PseudoHyperboloid.wick_rotation, lambda _, u: -u.flip(-1), "sgn(P_x) u for tangent u at x."
    )
    precondition_root = by_parts(PseudoHyperboloid.precondition_root, _turned)
    component_sqnorm = by_parts(PseudoHyperboloid.component_sqnorm)
    retr = by_parts(PseudoHyperboloid.retr, _turned)
    retr_transp = by_parts(
        PseudoHyperboloid.retr_transp, lambda _, found: tuple(part.flip(-1) for part in found)
    )
    origin = by_parts(
        PseudoHyperboloid.origin,
        _turned,
        "The positive pole (0, …, 0, √β), repeated to [*size, d].",
    )
    random = by_parts(PseudoHyperboloid.random, _turned)
    random_near_pole = by_parts(PseudoHyperboloid.random_near_pole, _turned)
