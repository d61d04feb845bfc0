"""Quadrics ⟨x, x⟩ = β; of those with β < 0 parameters, metric, normals, and maps onto them and points of them."""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, Unpack, cast

import torch
from torch import Tensor, nn

from ..checks import check_count, check_positive, format_number
from .arguments import Check, all_finite, as_number, as_size, check_dtype, check_rows, format_row, validate
from .manifold import Manifold, default_tolerance, noise
from .primitives import Device, Seed, Size, Spot


class CurvedQuadric(Manifold):
    """{x ∈ R^{p,q+1} : ⟨x, x⟩_q = β}; of two sheets the upper one."""

    p: int
    q: int
    _positive = False
    """Whether β is."""

    @property
    @abstractmethod
    def beta(self) -> Tensor:
        """The value of ⟨x, x⟩."""

    @property
    def _axes(self) -> list[int]:
        """The coordinates of the sign of β, which `phi` rescales, the pole's first; where it is alone: two sheets."""
        return list(range(self.ambient_dim - 1, self.q, -1) if self._positive else range(self.q + 1))

    @property
    def joins_all_pairs(self) -> bool:
        """Whether a geodesic joins every pair of points: in hyperbolic and spherical space alone."""
        return len(self._axes) in (1, self.ambient_dim)

    def _scale(self, like: Tensor) -> Tensor:
        """|β| in the dtype of ``like`` (a 0-dimensional float64 would promote single points), and where it is."""
        return self.beta.to(like.device, like.dtype).abs()

    def extra_repr(self) -> str:
        """The parameters, for ``repr``."""
        learnable = ", learnable=True" if self.learnable else ""
        return f"p={self.p}, q={self.q}, beta={format_number(self.beta.item())}{learnable}"

    def _label(self) -> str:
        """With β unless it is learned: then it is not what tells manifolds apart."""
        return f"{type(self).__name__}(p={self.p}, q={self.q}, learnable=True)" if self.learnable else super()._label()

    @property
    def sectional_curvature(self) -> Tensor:
        """1/β."""
        return 1.0 / self.beta

    @property
    def mean_curvature(self) -> Tensor:
        """|β|^(-1/2), with respect to the unit normal field -x/√|β|."""
        return self.beta.abs().rsqrt()

    def check_point(self, x: Tensor, *, tolerance: float | Tensor | None = None) -> Check:
        """|⟨x, x⟩ - β| <= tolerance · ‖x‖² in every row, on the upper sheet of two (default 1e-10, float32 2e-5).

        Points so far out that rounding hides β fail too, unless ``tolerance`` is a tensor with one for each row.
        """
        tolerance = default_tolerance(x.dtype, tolerance)
        square, beta, size = self.inner(x, x), self.beta.item(), x.square().sum(-1)
        residual, number = (square - beta).abs(), format_number(beta)
        far = size * torch.finfo(x.dtype).eps > _HIDING * abs(beta)
        if isinstance(tolerance, Tensor):
            far = torch.zeros_like(far)
        check = all_finite(x=x) and check_rows(
            far,
            lambda row: (
                f"x{row} is too far out: ‖x‖ = {x[row.at].norm().item():.3g}, where rounding in {x.dtype} "
                f"hides whether ⟨x, x⟩ is beta = {number}"
            ),
        )
        check = check and check_rows(
            residual > tolerance * size.clamp_min(abs(beta)),
            lambda row: (
                f"x{row} is off the manifold: ⟨x, x⟩ = {row.of(square):.9g} instead of beta = {number} "
                f"(residual {row.of(residual):.3g}, tolerance {row.of(tolerance, residual):.3g}·‖x‖²); phi maps it back"
            ),
        )
        pole, case = self._axes[0], "p = 1" if self._positive else "q = 0"
        return check and check_rows(
            (x[..., pole] <= 0) & (len(self._axes) == 1),
            lambda row: (
                f"x{row} is on the lower sheet: x_{pole} = {row.of(x[..., pole]):.6g}, and for {case} the manifold is "
                f"the upper sheet x_{pole} > 0"
            ),
        )

    def check_tangent(self, x: Tensor, u: Tensor, *, tolerance: float | Tensor | None = None) -> Check:
        """|⟨x, u⟩| <= tolerance · ‖x‖ ‖u‖ in every row (default 1e-10, float32 2e-5); x itself is not checked.

        What projecting a vector of the size of x leaves by rounding, 8 u ‖x‖², passes: it may be all there is of u.
        """
        tolerance = default_tolerance(x.dtype, tolerance)
        residual, size = self.inner(x, u).abs(), x.norm(dim=-1)
        rounding = 4.0 * torch.finfo(x.dtype).eps * size.square()
        return all_finite(x=x, u=u) and check_rows(
            residual > tolerance * size * u.norm(dim=-1) + rounding,
            lambda row: (
                f"u{row} is not tangent: |⟨x, u⟩| = {row.of(residual):.3g} instead of 0 "
                f"(tolerance {row.of(tolerance, residual):.3g}·‖x‖‖u‖); proju projects it"
            ),
        )

    def check_phi(self, z: Tensor) -> Check:
        """Whether the part of every row that `phi` rescales is nonzero, where there is one sheet."""
        count = len(self._axes)
        which = f"space part (its last {count}" if self._positive else f"time part (its first {count}"
        return all_finite(z=z) and check_rows(
            (z[..., self._axes] == 0).all(-1) & (count > 1),
            lambda row: f"z{row} has a zero {which} coordinates), where phi is not defined: {format_row(z[row.at])}",
        )

    def check_projectable(self, z: Tensor) -> Check:
        """Whether ⟨z, z⟩ has the sign of β in every row, as `projx` needs."""
        square, beta = self.inner(z, z), self.beta.to(z)
        factor = (beta / square).sqrt()  # NaN where the signs differ
        return self.check_phi(z) and check_rows(
            ~((factor > 0) & factor.isfinite()),
            lambda row: (
                f"z{row} cannot be rescaled onto the manifold: ⟨z, z⟩ = {row.of(square):.9g}, and projx needs it "
                f"{'above' if self._positive else 'below'} 0, where beta = {format_number(beta.item())} is; phi maps it"
            ),
        )

    def homothety_slopes(self, x: Tensor, gradient: Tensor) -> list[Tensor]:
        """½ Σ x · ∇f, for x grows like √|β|."""
        return [0.5 * (x.double() * gradient.double()).sum()] if self.learnable else []

    def raise_index(self, z: Tensor) -> Tensor:
        """G z: the time coordinates with their sign turned."""
        return torch.cat((-z[..., : self.q + 1], z[..., self.q + 1 :]), dim=-1)

    def cone_rule(self, x: Tensor, y: Tensor) -> Tensor:
        """D_γ, but 2|⟨x, y⟩/β - 1|√|β| where |⟨x, y⟩/β - 1| < 1e-5: the authors' scripts near the light cone."""
        excess = (self.inner(x, y) / self.beta.to(x.dtype) - 1.0).abs()
        return torch.where(excess < 1e-5, 2.0 * excess * self._scale(x).sqrt(), self.dissimilarity(x, y))

    def homothety(self, x: Tensor, beta: float | Tensor) -> Tensor:
        """√(beta/β) x, on the quadric of the same signature with ``beta``; lengths scale alike."""
        number, sign = as_number("beta", beta), 1.0 if self._positive else -1.0
        if not 0 < sign * number < math.inf:
            raise ValueError(f"beta must be finite and {'positive' if self._positive else 'negative'}, got {number}")
        return ((beta.to(x) if isinstance(beta, Tensor) else beta) / self.beta.to(x)).sqrt() * x

    def anti_isometry(self, x: Tensor) -> Tensor:
        """σ(x) = (x_{p+q}, …, x_0), onto Q^{q+1,p-1}_{-β}: the sign of ⟨·,·⟩ turns.

        That is a `PseudoSphere`, and of one a `PseudoHyperboloid`, its ``image``. For p = 0 it is the round sphere of
        radius √|β| in R^{q+1}, with its positive metric.
        """
        return x.flip(-1)

    def unit_normal(self, x: Tensor) -> Tensor:
        """𝒩(x) = -x/√|β|, which spans the normal space at x; ⟨𝒩, 𝒩⟩ = ±1, the sign of β."""
        return -x / self._scale(x).sqrt()

    def projn(self, x: Tensor, z: Tensor) -> Tensor:
        """⟨z, x⟩ x / β, the part of z in the normal space {λx}; `proju` gives the rest."""
        return self.inner(z, x, keepdim=True) / self.beta.to(x) * x

    def shape_operator(self, x: Tensor, u: Tensor) -> Tensor:
        """S(u) = -D_u 𝒩 = u/√|β|, how the unit normal turns along u: a multiple of u, so every point is umbilic.

        The Gauss equation makes of it the sectional curvature ⟨𝒩, 𝒩⟩ |β|^-1 = 1/β of every plane.
        """
        shape = torch.broadcast_shapes(x.shape, u.shape)  # type: ignore[no-untyped-call]
        return u.expand(shape) / self._scale(x).sqrt()

    def include_hyperbolic(self, point: Tensor) -> Tensor:
        """Points [..., p + 1] of hyperbolic space H^p_β = Q^{p,0}_β, with time coordinates x_1, …, x_q = 0.

        An isometry onto a submanifold that holds the geodesics between its points: all distances are kept. For β > 0
        points [..., q + 2] of ``PseudoSphere(1, q, beta)``, hyperbolic space with the sign of its metric turned.
        """
        if len(self._axes) == self.ambient_dim:
            raise ValueError(f"a sphere contains no hyperbolic space, got {self._label()}")
        return self._included(point, [axis for axis in range(self.ambient_dim) if axis not in self._axes[1:]])

    def include_sphere(self, point: Tensor) -> Tensor:
        """Points [..., q + 1] of the sphere Q^{0,q}_β of radius √|β|, with all space coordinates 0.

        An isometry as well. For β > 0 points [..., p] of the round sphere ``PseudoSphere(p, -1, beta)``.
        """
        if len(self._axes) == 1:
            raise ValueError(f"hyperbolic space contains no sphere of its own β, got {self._label()}")
        return self._included(point, sorted(self._axes))

    def _included(self, point: Tensor, axes: list[int]) -> Tensor:
        """Points [..., d] with these coordinates, and 0 for the others."""
        validate(len(axes), point=point)
        x = point.new_zeros(*point.shape[:-1], self.ambient_dim)
        return x.index_copy(-1, torch.tensor(axes, device=point.device), point)


def as_beta(beta: float | Tensor, learnable: bool) -> tuple[float, bool]:
    """β as a number, and whether it is learned: an ``nn.Parameter`` says so too."""
    if isinstance(beta, nn.Parameter):
        learnable = learnable or beta.requires_grad
    elif isinstance(beta, Tensor) and beta.requires_grad:
        raise TypeError(
            "beta is a tensor whose gradient would be lost: pass beta.item(), "
            "with learnable=True if beta is to be learned"
        )
    return as_number("beta", beta), learnable


# ‖x‖² in units of |β| and of the dtype's roundoff, beyond which ⟨x, x⟩ = β and ⟨x, x⟩ = 0 cannot be told apart.
_HIDING = 8.0


class LevelSet(CurvedQuadric):
    """{x ∈ R^{p,q+1} : ⟨x, x⟩_q = β} with β < 0, time coordinates first; of two sheets (q = 0) the upper one."""

    def __init__(self, p: int, q: int, beta: float | Tensor = -1.0, *, learnable: bool = False) -> None:
        super().__init__()
        p, q = check_count("p", p, 0), check_count("q", q, 0)
        if p + q == 0:
            raise ValueError("p + q must be at least 1, got p = 0 and q = 0: the manifold would be isolated points")
        beta, learnable = as_beta(beta, learnable)
        if not -math.inf < beta < 0:
            raise ValueError(f"beta must be finite and negative, got {beta}; see PseudoSphere for beta > 0")
        self.p, self.q = p, q
        self.dim, self.ambient_dim = p + q, p + q + 1
        # What is known of the sign of ⟨u, u⟩ on tangent vectors: the metric is definite for q = 0 and for p = 0 only.
        self._sign = 1 if q == 0 else -1 if p == 0 else 0
        if learnable:
            self.log_abs_beta = nn.Parameter(torch.tensor(math.log(-beta), dtype=torch.float64))
        else:
            self._buffers["beta"] = torch.tensor(beta, dtype=torch.float64)

    @property
    def learnable(self) -> bool:
        """Whether β is a function of the parameter ``log_abs_beta``."""
        return "log_abs_beta" in self._parameters

    @property
    def beta(self) -> Tensor:
        """The value of ⟨x, x⟩, negative: a buffer, or -exp of the parameter ``log_abs_beta``."""
        return -self.log_abs_beta.exp() if self.learnable else cast("Tensor", self._buffers["beta"])

    def curvature_parameters(self) -> list[nn.Parameter]:
        """log |β| where it is learned."""
        return [self.log_abs_beta] if self.learnable else []

    def follow_curvature(self, x: Tensor, before: Sequence[Tensor]) -> Tensor:
        """x from where log |β| was ``before[0]``, brought onto the manifold as it is."""
        if not self.learnable:
            return x.clone()
        return self.phi((0.5 * (self.log_abs_beta - before[0])).exp().to(x) * x)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """β follows the device and keeps its digits: ``.float()`` is about the points, whose dtype results have."""
        held = self.log_abs_beta if self.learnable else self.beta
        own = held, held.grad

        def moved(tensor: Tensor) -> Tensor:
            there = fn(tensor)
            return there if tensor.is_meta or all(tensor is not each for each in own) else tensor.to(there.device)

        return super()._apply(moved, recurse)  # type: ignore[no-untyped-call, no-any-return]

    def _save_to_state_dict(self, destination: dict[str, object], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        getattr(destination, "_metadata", {}).setdefault(prefix[:-1], {})["signature"] = (self.p, self.q)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, object],
        prefix: str,
        metadata: Mapping[str, Any],
        strict: bool,
        missing: list[str],
        unexpected: list[str],
        errors: list[str],
    ) -> None:
        """Refuse β >= 0 and, where the state says which it was of, another signature; β may have been learned."""
        # A state with a fixed β becomes one with a learned one, or the reverse.
        fixed, learned = state_dict.get(f"{prefix}beta"), state_dict.get(f"{prefix}log_abs_beta")
        if self.learnable and learned is None and isinstance(fixed, Tensor) and bool((fixed < 0).all()):
            state_dict[f"{prefix}log_abs_beta"] = state_dict.pop(f"{prefix}beta").double().neg().log()  # type: ignore[attr-defined]
        elif not self.learnable and fixed is None and isinstance(learned, Tensor):
            state_dict[f"{prefix}beta"] = -state_dict.pop(f"{prefix}log_abs_beta").double().exp()  # type: ignore[attr-defined]
        found, beta = metadata.get("signature", (self.p, self.q)), state_dict.get(f"{prefix}beta", self.beta)
        if tuple(found) != (self.p, self.q):
            errors.append(f"{prefix}p and q are {self.p} and {self.q} here, and the state is of {found[0]}, {found[1]}")
        elif isinstance(beta, Tensor) and beta.numel() == 1 and not -math.inf < beta.item() < 0:
            errors.append(f"{prefix}beta must be finite and negative, got {beta.item()}")
        else:
            super()._load_from_state_dict(state_dict, prefix, metadata, strict, missing, unexpected, errors)
            if not self.learnable:
                self._buffers["beta"] = self.beta.double()

    def _inner(self, u: Tensor, v: Tensor) -> Tensor:
        product = u * v
        total = product.sum(-1, keepdim=True)
        return -total if self.p == 0 else torch.sub(total, self._time_sum(product), alpha=2)

    def _time_sum(self, z: Tensor) -> Tensor:
        """The sum over the time coordinates."""
        return z[..., :1] if self.q == 0 else z[..., : self.q + 1].sum(-1, keepdim=True)

    def inner(self, u: Tensor, v: Tensor, *, keepdim: bool = False) -> Tensor:
        """⟨u, v⟩_q = -Σ_{i<=q} u_i v_i + Σ_{j>q} u_j v_j (Eq. 1), with no base point."""
        product = self._inner(u, v)
        return product if keepdim else product.squeeze(-1)

    def proju(self, x: Tensor, z: Tensor) -> Tensor:
        """Π_x(z) = z - ⟨z, x⟩ x / β (Eq. 3)."""
        return z + (self._inner(z, x) / self._scale(x)) * x

    def psi(self, x: Tensor) -> Tensor:
        """ψ(x) = (t/‖t‖, s/√|β|) ∈ S^q × R^p of x = (t, s) (Theorem 4.1); for q = 0 the first coordinate is 1."""
        time, space = x[..., : self.q + 1], x[..., self.q + 1 :]
        unit = torch.ones_like(time) if self.q == 0 else time / time.norm(dim=-1, keepdim=True)
        return torch.cat((unit, space / self._scale(x).sqrt()), dim=-1)

    def psi_inverse(self, z: Tensor) -> Tensor:
        """ψ⁻¹(u, v) = √|β| (√(1 + ‖v‖²) u, v) for u ∈ S^q and v ∈ R^p (Theorem 4.1)."""
        unit, space = z[..., : self.q + 1], z[..., self.q + 1 :]
        stretch = (1.0 + space.square().sum(-1, keepdim=True)).sqrt()
        return torch.cat((stretch * unit, space), dim=-1) * self._scale(z).sqrt()

    def phi(self, z: Tensor) -> Tensor:
        """φ = ψ⁻¹∘ψ: the space part is kept, the time part rescaled; φ(x) = x on the manifold.

        Not defined where the time part vanishes (q >= 1). For q = 0 every vector goes to the upper sheet.
        """
        time, space = z[..., : self.q + 1], z[..., self.q + 1 :]
        radius = (self._scale(z) + space.square().sum(-1, keepdim=True)).sqrt()
        if self.q > 0:
            radius = time * (radius / time.norm(dim=-1, keepdim=True))
        return torch.cat((radius, space), dim=-1)

    def projx(self, z: Tensor) -> Tensor:
        """Radial rescaling z √(β/⟨z, z⟩) onto the manifold (for q = 0 its upper sheet); NaN unless ⟨z, z⟩ < 0.

        Most vectors far from it are not time-like: `check_projectable` tells which, and `phi` maps them.
        """
        scale = (-self._scale(z) / self._inner(z, z)).sqrt()
        if self.q == 0:
            scale = torch.where(z[..., :1] < 0, -scale, scale)
        return scale * z

    def origin(self, *size: Size, dtype: torch.dtype = torch.float64, device: Device = None) -> Tensor:
        """The positive pole (√|β|, 0, …, 0), repeated to [*size, d]."""
        size = as_size(size)
        check_dtype(dtype)
        pole = torch.zeros(*size, self.ambient_dim, dtype=dtype, device=device or self.beta.device)
        pole[..., 0] = self._scale(pole).sqrt()
        return pole

    def random(self, *size: Size, scale: float = 1.0, generator: Seed = None, **at: Unpack[Spot]) -> Tensor:
        """ψ⁻¹ of uniform directions on S^q and normal space parts of standard deviation ``scale`` (times √|β|)."""
        size = as_size(size)
        check_positive("scale", scale, zero=True)
        z = noise(*size, self.ambient_dim, like=self.origin(**at), generator=generator)
        time, space = z[..., : self.q + 1], z[..., self.q + 1 :]
        unit = torch.ones_like(time) if self.q == 0 else time / time.norm(dim=-1, keepdim=True)
        return self.psi_inverse(torch.cat((unit, scale * space), dim=-1))
