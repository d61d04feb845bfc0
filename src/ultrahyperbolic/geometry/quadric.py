"""Quadrics ⟨x, x⟩ = β of either sign: checks, normals, and what needs nothing else."""

import math
from abc import abstractmethod

import torch
from torch import Tensor, nn

from ..checks import format_number
from .arguments import Check, as_number, check_finite, check_rows, format_row, validate
from .manifold import Manifold, default_tolerance

# ‖x‖² in units of |β| and of the dtype's roundoff, beyond which ⟨x, x⟩ = β and ⟨x, x⟩ = 0 cannot be
# told apart.
_HIDING = 8.0


class CurvedQuadric(Manifold):
    """{x ∈ R^{p,q+1} : ⟨x, x⟩_q = β}; of two sheets the upper one."""

    p: int
    q: int
    _positive = False
    """Whether β > 0."""

    @property
    @abstractmethod
    def beta(self) -> Tensor:
        """The value of ⟨x, x⟩."""

    @property
    def _axes(self) -> list[int]:
        """The coordinates of β's sign, the pole's first; where it is alone: two sheets."""
        space = range(self.ambient_dim - 1, self.q, -1)
        return list(space if self._positive else range(self.q + 1))

    @property
    def joins_all_pairs(self) -> bool:
        """Whether geodesics join all pairs: in hyperbolic and spherical space alone."""
        return len(self._axes) in (1, self.ambient_dim)

    def _scale(self, like: Tensor) -> Tensor:
        """|β| like a tensor: a 0-dimensional float64 would promote single points."""
        return self.beta.to(like.device, like.dtype).abs()

    def extra_repr(self) -> str:
        """The parameters, for ``repr``."""
        learnable = ", learnable=True" if self.learnable else ""
        return f"p={self.p}, q={self.q}, beta={format_number(self.beta.item())}{learnable}"

    def _label(self) -> str:
        """With β unless it is learned: then it is not what tells manifolds apart."""
        if not self.learnable:
            return super()._label()
        return f"{type(self).__name__}(p={self.p}, q={self.q}, learnable=True)"

    @property
    def sectional_curvature(self) -> Tensor:
        """1/β."""
        return 1.0 / self.beta

    @property
    def mean_curvature(self) -> Tensor:
        """|β|^(-1/2), with respect to the unit normal field -x/√|β|."""
        return self.beta.abs().rsqrt()

    def check_point(self, x: Tensor, *, tolerance: float | Tensor | None = None) -> Check:
        """|⟨x, x⟩ - β| <= tolerance · ‖x‖² in every row (default 1e-10, float32 2e-5).

        Points on the lower sheet of two fail, and those where rounding hides β, unless
        ``tolerance`` is a tensor with one for each row.
        """
        tolerance = default_tolerance(x.dtype, tolerance)
        square, beta, size = self.inner(x, x), self.beta.item(), x.square().sum(-1)
        residual, number = (square - beta).abs(), format_number(beta)
        far = ~self.representable(x) & (not isinstance(tolerance, Tensor))
        check = check_finite("x", x) and check_rows(
            far,
            lambda row: (
                f"x{row} is too far out: ‖x‖ = {x[row.at].norm().item():.3g}, where rounding in "
                f"{x.dtype} hides whether ⟨x, x⟩ is beta = {number}"
            ),
        )
        check = check and check_rows(
            residual > tolerance * size.clamp_min(abs(beta)),
            lambda row: (
                f"x{row} is off the manifold: ⟨x, x⟩ = {row.of(square):.9g} instead of beta = "
                f"{number} (residual {row.of(residual):.3g}, tolerance "
                f"{row.of(tolerance, residual):.3g}·‖x‖²); phi maps it back"
            ),
        )
        pole, case = self._axes[0], "p = 1" if self._positive else "q = 0"
        return check and check_rows(
            (x[..., pole] <= 0) & (len(self._axes) == 1),
            lambda row: (
                f"x{row} is on the lower sheet: x_{pole} = {row.of(x[..., pole]):.6g}, and for "
                f"{case} the manifold is the upper sheet x_{pole} > 0"
            ),
        )

    def check_tangent(
        self, x: Tensor, u: Tensor, *, tolerance: float | Tensor | None = None
    ) -> Check:
        """|⟨x, u⟩| <= tolerance · ‖x‖ ‖u‖ in every row (default 1e-10, float32 2e-5).

        What projecting a vector of the size of x leaves by rounding, 8 u ‖x‖², passes, too.
        """
        tolerance = default_tolerance(x.dtype, tolerance)
        residual, size = self.inner(x, u).abs(), x.norm(dim=-1)
        rounding = 4.0 * torch.finfo(x.dtype).eps * size.square()
        finite = check_finite("x", x) and check_finite("u", u)
        return finite and check_rows(
            residual > tolerance * size * u.norm(dim=-1) + rounding,
            lambda row: (
                f"u{row} is not tangent: |⟨x, u⟩| = {row.of(residual):.3g} instead of 0 "
                f"(tolerance {row.of(tolerance, residual):.3g}·‖x‖‖u‖); proju projects it"
            ),
        )

    def check_phi(self, z: Tensor) -> Check:
        """Whether the part that `phi` rescales is nonzero in every row; on one sheet."""
        count, part = len(self._axes), ("space", "last") if self._positive else ("time", "first")
        return check_finite("z", z) and check_rows(
            (z[..., self._axes] == 0).all(-1) & (count > 1),
            lambda row: (
                f"z{row} has a zero {part[0]} part (its {part[1]} {count} coordinates), where phi "
                f"is not defined: {format_row(z[row.at])}"
            ),
        )

    def check_projectable(self, z: Tensor) -> Check:
        """Whether ⟨z, z⟩ has the sign of β in every row, as `projx` needs."""
        square, beta = self.inner(z, z), self.beta.to(z)
        factor = (beta / square).sqrt()  # NaN where the signs differ
        return self.check_phi(z) and check_rows(
            ~((factor > 0) & factor.isfinite()),
            lambda row: (
                f"z{row} cannot be rescaled onto the manifold: ⟨z, z⟩ = {row.of(square):.9g}, and "
                f"projx needs it {'above' if self._positive else 'below'} 0, where beta = "
                f"{format_number(beta.item())} is; phi maps it"
            ),
        )

    def homothety_slopes(self, x: Tensor, gradient: Tensor) -> list[Tensor]:
        """½ Σ x · ∇f, for x grows like √|β|."""
        return [0.5 * (x.double() * gradient.double()).sum()] if self.learnable else []

    def raise_index(self, z: Tensor) -> Tensor:
        """G z: the time coordinates with their sign turned."""
        raised = z.clone()
        raised[..., : self.q + 1].neg_()
        return raised

    def representable(self, x: Tensor) -> Tensor:
        """Whether ‖x‖² is at most 8 |β| over the roundoff: else rounding hides β. NaN is not."""
        return x.square().sum(-1) <= self._scale(x) * (_HIDING / torch.finfo(x.dtype).eps)

    def cone_rule(self, x: Tensor, y: Tensor) -> Tensor:
        """D_γ, but 2|⟨x, y⟩/β - 1|√|β| where |⟨x, y⟩/β - 1| < 1e-5, as the authors' scripts."""
        excess = (self.inner(x, y) / self.beta.to(x.dtype) - 1.0).abs()
        return torch.where(
            excess < 1e-5, 2.0 * excess * self._scale(x).sqrt(), self.dissimilarity(x, y)
        )

    def homothety(self, x: Tensor, beta: float | Tensor) -> Tensor:
        """√(beta/β) x, on the quadric of the same signature with ``beta``; lengths scale alike."""
        require_sign(as_number("beta", beta), self._positive)
        return ((beta.to(x) if isinstance(beta, Tensor) else beta) / self.beta.to(x)).sqrt() * x

    def anti_isometry(self, x: Tensor) -> Tensor:
        """σ(x) = (x_{p+q}, …, x_0), onto Q^{q+1,p-1}_{-β}: the sign of ⟨·,·⟩ turns.

        That is a `PseudoSphere`, and of one a `PseudoHyperboloid`, its ``image``. For p = 0 it is
        the round sphere of radius √|β| in R^{q+1}, with its positive metric.
        """
        return x.flip(-1)

    def unit_normal(self, x: Tensor) -> Tensor:
        """𝒩(x) = -x/√|β|, which spans the normal space at x; ⟨𝒩, 𝒩⟩ = ±1, the sign of β."""
        return -x / self._scale(x).sqrt()

    def projn(self, x: Tensor, z: Tensor) -> Tensor:
        """⟨z, x⟩ x / β, the part of z in the normal space {λx}; `proju` gives the rest."""
        return self.inner(z, x, keepdim=True) / self.beta.to(x) * x

    def shape_operator(self, x: Tensor, u: Tensor) -> Tensor:
        """S(u) = -D_u 𝒩 = u/√|β|, how the unit normal turns along u: every point is umbilic.

        The Gauss equation makes of it the sectional curvature ⟨𝒩, 𝒩⟩ |β|^-1 = 1/β of every plane.
        """
        shape = torch.broadcast_shapes(x.shape, u.shape)  # type: ignore[no-untyped-call]
        return u.expand(shape) / self._scale(x).sqrt()

    def include_hyperbolic(self, point: Tensor) -> Tensor:
        """Points [..., p + 1] of hyperbolic space Q^{p,0}_β, with time coordinates x_1, …, x_q = 0.

        All distances are kept. For β > 0 points [..., q + 2] of ``PseudoSphere(1, q, beta)``,
        hyperbolic space with the sign of its metric turned.
        """
        if len(self._axes) == self.ambient_dim:
            raise ValueError(f"a sphere contains no hyperbolic space, got {self._label()}")
        return self._included(point, sorted({*range(self.ambient_dim)} - {*self._axes[1:]}))

    def include_sphere(self, point: Tensor) -> Tensor:
        """Points [..., q + 1] of the sphere Q^{0,q}_β of radius √|β|, with all space coordinates 0.

        An isometry as well. For β > 0 points [..., p] of the round sphere ``PseudoSphere(p, -1,
        beta)``.
        """
        if len(self._axes) == 1:
            raise ValueError(f"hyperbolic space contains no sphere, got {self._label()}")
        return self._included(point, sorted(self._axes))

    def _included(self, point: Tensor, axes: list[int]) -> Tensor:
        """Points [..., d] with these coordinates, and 0 for the others."""
        validate(len(axes), point=point)
        x = point.new_zeros(*point.shape[:-1], self.ambient_dim)
        return x.index_copy(-1, torch.tensor(axes, device=point.device), point)


def require_sign(beta: float, positive: bool) -> None:
    """Raise unless β is finite and of the sign."""
    if not 0 < (beta if positive else -beta) < math.inf:
        sign, other = (
            ("positive", "PseudoHyperboloid") if positive else ("negative", "PseudoSphere")
        )
        raise ValueError(f"beta must be finite and {sign}, got {beta}; {other} has the other sign")


def as_beta(beta: float | Tensor, learnable: bool, *, positive: bool = False) -> tuple[float, bool]:
    """β as a number of the sign, and whether it is learned: an ``nn.Parameter`` says so too."""
    if isinstance(beta, nn.Parameter):
        learnable = learnable or beta.requires_grad
    elif isinstance(beta, Tensor) and beta.requires_grad:
        raise TypeError(
            "beta is a tensor whose gradient would be lost: pass beta.item(), "
            "with learnable=True if beta is to be learned"
        )
    number = as_number("beta", beta)
    require_sign(number, positive)
    return number, learnable
