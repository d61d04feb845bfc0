"""The pseudo-sphere Q^{p,q}_β with β > 0, through its anti-isometry with a pseudo-hyperboloid."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import wraps
from itertools import chain, repeat
from typing import Concatenate, ParamSpec, TypeVar

from torch import Tensor, nn

from ..checks import check_count
from .arguments import VECTORS, as_number, validate
from .level_set import CurvedQuadric, as_beta
from .manifold import Logarithm
from .pseudo_hyperboloid import PseudoHyperboloid

P = ParamSpec("P")
R = TypeVar("R")


def _turned(vector: Tensor) -> Tensor:
    """σ, which is its own inverse."""
    return vector.flip(-1)


def _mirrored(
    method: Callable[Concatenate[PseudoHyperboloid, P], R], back: Callable[[R], R] | None = None, formula: str = ""
) -> Callable[Concatenate[PseudoSphere, P], R]:
    """A method of the image for σ of the points and vectors; ``back`` brings its result back, where it is a vector."""
    name, names = method.__name__, list(inspect.signature(method).parameters)[1:]

    def image_of(name: str, value: object) -> object:
        return value.flip(-1) if name in VECTORS and isinstance(value, Tensor) else value

    @wraps(method)
    def call(self: PseudoSphere, /, *args: P.args, **kwargs: P.kwargs) -> R:
        given = (image_of(*pair) for pair in zip(chain(names, repeat("")), args, strict=False))
        found: R = getattr(self.image, name)(*given, **{key: image_of(key, value) for key, value in kwargs.items()})
        return found if back is None else back(found)

    call.__doc__ = formula or f"By σ, of the image: {method.__doc__}"
    return call


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

    homothety_slopes = _mirrored(PseudoHyperboloid.homothety_slopes)
    follow_curvature = _mirrored(PseudoHyperboloid.follow_curvature, _turned)
    unit_normal = _mirrored(PseudoHyperboloid.unit_normal, _turned)
    projn = _mirrored(PseudoHyperboloid.projn, _turned)
    shape_operator = _mirrored(PseudoHyperboloid.shape_operator, _turned)
    proju = _mirrored(PseudoHyperboloid.proju, _turned)
    geodesic = _mirrored(PseudoHyperboloid.geodesic, _turned)
    transp = _mirrored(PseudoHyperboloid.transp, _turned)
    transp_follow_expmap = _mirrored(PseudoHyperboloid.transp_follow_expmap, _turned)
    inner = _mirrored(PseudoHyperboloid.inner, Tensor.neg, "⟨u, v⟩_q (Eq. 1), with no base point.")
    sqdist = _mirrored(PseudoHyperboloid.sqdist, Tensor.neg, "±d_γ², positive for space-like pairs.")
    dist = _mirrored(PseudoHyperboloid.dist)
    dissimilarity = _mirrored(PseudoHyperboloid.dissimilarity)
    broken_dissimilarity = _mirrored(PseudoHyperboloid.broken_dissimilarity)
    smoothed_dissimilarity = _mirrored(PseudoHyperboloid.smoothed_dissimilarity)
    extrinsic_dist = _mirrored(PseudoHyperboloid.extrinsic_dist)
    cone_rule = _mirrored(PseudoHyperboloid.cone_rule)
    psi = _mirrored(PseudoHyperboloid.psi, _turned)
    psi_inverse = _mirrored(PseudoHyperboloid.psi_inverse, _turned)
    phi = _mirrored(PseudoHyperboloid.phi, _turned, "The time part is kept, the space part rescaled.")
    projx = _mirrored(PseudoHyperboloid.projx, _turned, "Radial rescaling onto the manifold; NaN unless ⟨z, z⟩ > 0.")
    raise_index = _mirrored(PseudoHyperboloid.raise_index, lambda z: -z.flip(-1), "G z: time with its sign turned.")
    wick_rotation = _mirrored(PseudoHyperboloid.wick_rotation, lambda u: -u.flip(-1), "sgn(P_x) u for tangent u at x.")
    precondition_root = _mirrored(PseudoHyperboloid.precondition_root, _turned)
    origin = _mirrored(PseudoHyperboloid.origin, _turned, "The positive pole (0, …, 0, √β), repeated to [*size, d].")
    random = _mirrored(PseudoHyperboloid.random, _turned)
    random_near_pole = _mirrored(PseudoHyperboloid.random_near_pole, _turned)

    def anti_isometry(self, x: Tensor) -> Tensor:
        """σ(x), on the pseudo-hyperboloid ``self.image``."""
        return x.flip(-1)

    def logmap(self, x: Tensor, y: Tensor) -> Logarithm:
        """The velocity of the geodesic from x to y, which exists where ⟨x, y⟩ > -β."""
        vector, exists = self.image.logmap(x.flip(-1), y.flip(-1))
        return Logarithm(vector.flip(-1), exists)

    @property
    def _rescaled(self) -> tuple[slice, str]:
        return slice(self.q + 1, None), f"space part (its last {self.p} coordinates)"

    @property
    def joins_all_pairs(self) -> bool:
        """Whether a geodesic joins every pair of points, as in the image."""
        return self.image.joins_all_pairs

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
