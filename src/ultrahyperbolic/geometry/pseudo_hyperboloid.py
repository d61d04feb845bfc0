"""The pseudo-hyperboloid Q^{p,q}_β, equation by equation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from ..checks import check_count, check_positive, format_number
from . import dissimilarity as _dissimilarity
from . import membership
from .arguments import Check, as_constant, check_dtype, check_size, validate, validate_scalars
from .functions import angle, asinhc_sqrt, cosh_sinhc_sqrt, safe_sqrt
from .manifold import Logarithm, Manifold, Quadric, default_tolerance, noise

_REDRAWS = 100
# From ‖t‖‖t′‖ = 4|β| on two points are far from the pole.
_FAR = 4.0


class _Pair(NamedTuple):
    """What the closed forms need of two points; columns [..., 1] and vectors [..., d]."""

    side: Tensor
    """-1 where the time parts of x and y point away from each other, as those of x and -x do, 1 elsewhere."""
    turn: Tensor
    """side · ⟨x, y⟩/β - 1, which vanishes at y = ±x."""
    close: Tensor
    """Whether the time parts are at most 60° from each other, or from opposite."""
    cosine: Tensor
    """⟨x, y⟩/β as it stands; its digits are right where the points are not close."""
    stretch: Tensor | float
    """f > 0, the ratio of the lengths of the time parts unless it does not matter."""
    chord: Tensor
    """side · f · y - x."""
    length: Tensor
    """‖chord‖²."""

    @property
    def w(self) -> Tensor:
        """(⟨x, y⟩/β - 1)/2 = ⟨x-y, x-y⟩/4|β|."""
        half = 0.5 * self.turn
        return torch.where(self.side > 0, half, -1.0 - half)

    @property
    def w_bar(self) -> Tensor:
        """1 + w = -⟨x+y, x+y⟩/4|β|; a geodesic joins the points where it is positive."""
        half = 0.5 * self.turn
        return torch.where(self.side > 0, 1.0 + half, -half)


class PseudoHyperboloid(Manifold):
    """Q^{p,q}_β = {x ∈ R^{p,q+1} : ⟨x, x⟩_q = β}, with p space and q + 1 time dimensions, time coordinates first.

    q = 0 is hyperbolic space (the upper sheet, x_0 > 0), p = 0 the sphere of radius √|β| (with the sign of the metric
    turned), and everything between is ultrahyperbolic. The manifold has dimension p + q, its ambient space p + q + 1.

    Parameters
    ----------
    p, q : int
        Non-negative, not both 0.
    beta : float
        Negative; the sectional curvature is 1/β. Kept as a float64 buffer: ``state_dict`` holds it, ``.to`` moves it to
        devices, and no change of dtype rounds it.

    Examples
    --------
    >>> M = PseudoHyperboloid(p=3, q=1)
    >>> x = M.random(100, generator=torch.Generator().manual_seed(0))
    >>> M.check_point(x).ok
    True
    """

    beta: Tensor

    def __init__(self, p: int, q: int, beta: float = -1.0) -> None:
        super().__init__()
        p, q = check_count("p", p, 0), check_count("q", q, 0)
        if p + q == 0:
            raise ValueError("p + q must be at least 1, got p = 0 and q = 0: the manifold would be isolated points")
        beta = as_constant("beta", beta)
        if not -math.inf < beta < 0:
            raise ValueError(f"beta must be finite and negative, got {beta}; see PseudoSphere for beta > 0")
        self.p, self.q = p, q
        self.dim, self.ambient_dim = p + q, p + q + 1
        # What is known of the sign of ⟨u, u⟩ on tangent vectors: the metric is definite for q = 0 and for p = 0 only.
        self._sign = 1 if q == 0 else -1 if p == 0 else 0
        self.register_buffer("beta", torch.tensor(beta, dtype=torch.float64))

    def extra_repr(self) -> str:
        """The parameters, for ``repr``."""
        return f"p={self.p}, q={self.q}, beta={format_number(self.beta.item())}"

    @property
    def quadric(self) -> Quadric | None:
        """q + 1 times and β."""
        known = type(self) is PseudoHyperboloid  # a subclass may measure differently
        return Quadric(self.q + 1, self.beta.item()) if known else None

    # --- β as a buffer ------------------------------------------------------------------------------------------

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """β follows the device and keeps its digits: ``.float()`` is about the points, whose dtype results have."""
        beta = self.beta
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if not beta.is_meta:
            self.beta = beta.to(self.beta.device)
        return self

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        getattr(destination, "_metadata", {}).setdefault(prefix[:-1], {})["signature"] = (self.p, self.q)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, metadata: Any, *rest: Any) -> None:
        """Refuse β >= 0 and, where the state says which it was of, another signature."""
        *_, errors = rest
        found, beta = metadata.get("signature", (self.p, self.q)), state_dict.get(f"{prefix}beta", self.beta)
        if tuple(found) != (self.p, self.q):
            errors.append(f"{prefix}p and q are {self.p} and {self.q} here, and the state is of {found[0]}, {found[1]}")
        elif isinstance(beta, Tensor) and beta.numel() == 1 and not -math.inf < beta.item() < 0:
            errors.append(f"{prefix}beta must be finite and negative, got {beta.item()}")
        else:
            super()._load_from_state_dict(state_dict, prefix, metadata, *rest)
            self.beta = self.beta.double()

    # --- curvature ----------------------------------------------------------------------------------------------

    @property
    def sectional_curvature(self) -> Tensor:
        """1/β."""
        return 1.0 / self.beta

    @property
    def mean_curvature(self) -> Tensor:
        """|β|^(-1/2), with respect to the unit normal field -x/√|β|."""
        return self.beta.abs().rsqrt()

    def unit_normal(self, x: Tensor) -> Tensor:
        """𝒩(x) = -x/√|β|, which spans the normal space at x; ⟨𝒩, 𝒩⟩ = -1."""
        validate(self.ambient_dim, x=x)
        return -x / self._scale(x).sqrt()

    def projn(self, x: Tensor, z: Tensor) -> Tensor:
        """⟨z, x⟩ x / β, the part of z in the normal space {λx}; :meth:`proju` gives the rest."""
        validate(self.ambient_dim, x=x, z=z)
        return (self._inner(z, x) / -self._scale(x)) * x

    def shape_operator(self, x: Tensor, u: Tensor) -> Tensor:
        """S(u) = -D_u 𝒩 = u/√|β|, how the unit normal turns along u: a multiple of u, so every point is umbilic.

        The Gauss equation makes of it the sectional curvature ⟨𝒩, 𝒩⟩ |β|^-1 = 1/β of every plane.
        """
        validate(self.ambient_dim, x=x, u=u)
        shape = torch.broadcast_shapes(x.shape, u.shape)  # type: ignore[no-untyped-call]
        return u.expand(shape) / self._scale(x).sqrt()

    def _scale(self, like: Tensor) -> Tensor:
        """|β| in the dtype of ``like`` (a 0-dimensional float64 would promote single points), and where it is."""
        return self.beta.to(like).abs()

    # --- the metric ---------------------------------------------------------------------------------------------

    def _inner(self, u: Tensor, v: Tensor) -> Tensor:
        product = u * v
        total = product.sum(-1, keepdim=True)
        return -total if self.p == 0 else torch.sub(total, self._time_sum(product), alpha=2)

    def _time_sum(self, z: Tensor) -> Tensor:
        """The sum over the time coordinates."""
        return z[..., :1] if self.q == 0 else z[..., : self.q + 1].sum(-1, keepdim=True)

    def _flip(self, z: Tensor) -> Tensor:
        """G z: the time coordinates with their sign turned."""
        return torch.cat((-z[..., : self.q + 1], z[..., self.q + 1 :]), dim=-1)

    def inner(self, u: Tensor, v: Tensor, *, keepdim: bool = False) -> Tensor:
        """⟨u, v⟩_q = -Σ_{i<=q} u_i v_i + Σ_{j>q} u_j v_j (Eq. 1), with no base point."""
        validate(self.ambient_dim, u=u, v=v)
        product = self._inner(u, v)
        return product if keepdim else product.squeeze(-1)

    # --- membership ---------------------------------------------------------------------------------------------

    def check_point(self, x: Tensor, *, tolerance: float | Tensor | None = None) -> Check:
        """|⟨x, x⟩ - β| <= tolerance · ‖x‖² in every row, and x_0 > 0 for q = 0 (default 1e-10, float32 2e-5)."""
        validate(self.ambient_dim, x=x)
        tolerance = default_tolerance(x.dtype, tolerance)
        check = membership.all_finite(x=x)
        if check.ok:
            check = membership.on_quadric(x, self._inner(x, x).squeeze(-1), self.beta.item(), tolerance)
        if check.ok and self.q == 0:
            check = membership.on_sheet(x, 0, "for q = 0 the manifold is the upper sheet")
        return check

    def check_tangent(self, x: Tensor, u: Tensor, *, tolerance: float | Tensor | None = None) -> Check:
        """|⟨x, u⟩| <= tolerance · ‖x‖ ‖u‖ in every row (default 1e-10, float32 2e-5); x itself is not checked.

        What projecting a vector of the size of x leaves by rounding, 8 u ‖x‖², passes: it may be all there is of u.
        """
        validate(self.ambient_dim, x=x, u=u)
        tolerance = default_tolerance(x.dtype, tolerance)
        check = membership.all_finite(x=x, u=u)
        return membership.tangent(x, u, self._inner(x, u).squeeze(-1), tolerance) if check.ok else check

    def check_phi(self, z: Tensor) -> Check:
        """Whether the time part of every row is nonzero, as :meth:`phi` needs for q >= 1."""
        validate(self.ambient_dim, z=z)
        check = membership.all_finite(z=z)
        if not check.ok or self.q == 0:
            return check
        which = f"time part (its first {self.q + 1} coordinates)"
        return membership.part_nonzero(z, z[..., : self.q + 1], which)

    def check_projectable(self, z: Tensor) -> Check:
        """Whether every row is time-like, ⟨z, z⟩ < 0, as :meth:`projx` needs."""
        check = self.check_phi(z)
        return membership.rescalable(z, self._inner(z, z).squeeze(-1), self.beta.to(z)) if check.ok else check

    # --- geodesics ----------------------------------------------------------------------------------------------

    def proju(self, x: Tensor, z: Tensor) -> Tensor:
        """Π_x(z) = z - ⟨z, x⟩ x / β (Eq. 3)."""
        validate(self.ambient_dim, x=x, z=z)
        return self._proju(x, z)

    def _proju(self, x: Tensor, z: Tensor) -> Tensor:
        return z + (self._inner(z, x) / self._scale(x)) * x

    def geodesic(self, x: Tensor, u: Tensor, t: Tensor | float) -> Tensor:
        """γ_{x→u}(t) (Eq. 5): cosh, straight or cos as u is space-like, null or time-like; t broadcasts as [...]."""
        validate(self.ambient_dim, x=x, u=u)
        validate_scalars("t", t, x=x, u=u)
        if isinstance(t, Tensor):
            u = t.to(u.dtype).unsqueeze(-1) * u
        elif t != 1.0:
            u = t * u
        cosh, sinhc = cosh_sinhc_sqrt(self._inner(u, u) / self._scale(x), sign=self._sign)
        return cosh * x + sinhc * u

    def logmap(self, x: Tensor, y: Tensor) -> Logarithm:
        """log_x(y) (Eq. 7) where ⟨x, y⟩ < |β|, and whether that is so; NaN elsewhere."""
        validate(self.ambient_dim, x=x, y=y)
        if self._sign > 0:
            w = self._hyperbolic_w(x, y)
            factor = asinhc_sqrt(w, w, sign=self._sign) * (1.0 + w).rsqrt()
            return Logarithm(factor * (y - x - 2.0 * w * x), torch.ones_like(w.squeeze(-1), dtype=torch.bool))
        pair = self._pair(x, y)
        w_bar = pair.w_bar
        exists = w_bar > 0
        w_bar = torch.where(exists, w_bar, 1.0)
        factor = asinhc_sqrt(pair.w, w_bar, sign=self._sign) * w_bar.rsqrt()
        # y - ⟨x, y⟩x/β, close to ±x by way of y ∓ x.
        near = pair.side * pair.close
        along = torch.where(pair.close, pair.side * pair.turn, pair.cosine)
        vector = -factor * (near * x).sub_(y).add_(along * x)
        return Logarithm(_nan_unless(exists, vector), exists.squeeze(-1))

    def transp(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from x to y along their geodesic, of any causal type; NaN where there is none."""
        validate(self.ambient_dim, x=x, y=y, v=v)
        # For tangent v a multiple of x may be taken from y in ⟨y, v⟩: nearby points lose no digits.
        if self._sign > 0:
            w_bar = 1.0 + self._hyperbolic_w(x, y)
            return v + self._inner(y - x, v) / (2.0 * self._scale(x) * w_bar) * (x + y)
        pair = self._pair(x, y)
        w_bar = pair.w_bar
        exists = w_bar > 0
        room = (2.0 * self._scale(x)) * pair.stretch * torch.where(exists, w_bar, 1.0)
        factor = pair.side * self._inner(pair.chord, v) / room
        return _nan_unless(exists, v + factor * (x + y))

    def transp_follow_expmap(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from x to expmap(x, u), also past the antipode."""
        validate(self.ambient_dim, x=x, u=u, v=v)
        return self._carry(x, u, v)[1]

    def expmap_transp(self, x: Tensor, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """expmap(x, u) and v carried along it, at the cost of little more than the former."""
        validate(self.ambient_dim, x=x, u=u, v=v)
        return self._carry(x, u, v)

    def _carry(self, x: Tensor, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        z = self._inner(u, u) / self._scale(x)
        # The half angle gives (cosh √z - 1)/z = ½ (sinh(√z/2)/(√z/2))² without cancellation.
        half_cosh, half_sinhc = cosh_sinhc_sqrt(z / 4.0, sign=self._sign)
        square = half_sinhc.square()
        cosh, sinhc = 1.0 + 0.5 * z * square, half_sinhc * half_cosh
        along = self._inner(v, u) / self._scale(x)
        return cosh * x + sinhc * u, v + along * (sinhc * x + (0.5 * square) * u)

    # --- distances ----------------------------------------------------------------------------------------------

    def _pair(self, x: Tensor, y: Tensor) -> _Pair:
        """Two points measured by a chord that loses few digits, be they near or far, at the pole or far from it.

        ⟨fy - x, fy - x⟩/|β| + (f - 1)² = 2f(⟨x, y⟩/β - 1) for every number f. The f that makes the time parts equally
        long leaves no chord along them, where terms of size ‖x‖² would cancel, and no rounding of their lengths. Near
        the antipode -y takes the place of y. Where the time parts are far apart nothing is gained, and ⟨x, y⟩ as it
        stands has the fewer terms (one, at the pole). As f may be any number, derivatives need not know what it is.
        """
        scale = self._scale(x)
        products = x * y
        total = products.sum(-1, keepdim=True)
        if self.p == 0:
            cosine, stretch = total / scale, 1.0
            side, close = _side(total, scale)
            chord = (side * y).sub_(x)
            length = chord.square().sum(-1, keepdim=True)
            turn = length / (-2.0 * scale)
        else:
            dot = self._time_sum(products)
            cosine = torch.sub(total, dot, alpha=2) / -scale
            height, depth = (z.detach()[..., : self.q + 1].norm(dim=-1, keepdim=True) for z in (x, y))
            room = height * depth
            side, close = _side(dot, room)
            # At the pole nothing is lost with f = 1, and null pairs of round coordinates stay null.
            stretch = (height / depth).masked_fill_(room <= _FAR * scale, 1.0)
            excess = stretch - 1.0
            # f y by way of y unless f is small: near points then do not round what they differ by.
            whole = stretch.round().clamp_max_(1.0)
            chord = (side * whole * y).sub_(x).add_(side * (stretch - whole) * y)
            squares = chord.square()
            length = squares.sum(-1, keepdim=True)
            inner = torch.sub(length, self._time_sum(squares), alpha=2)
            turn = torch.addcmul(inner / scale, excess, excess) / (2.0 * stretch)
            turn = torch.where(close, turn, side * cosine - 1.0)
        return _Pair(side, turn, close, cosine, stretch, chord, length)

    def _hyperbolic_w(self, x: Tensor, y: Tensor) -> Tensor:
        """w for q = 0: the chord of x and (x_0/y_0) y has no time part, so nothing cancels, near or far."""
        scale, ratio = self._scale(x), x[..., :1] / y[..., :1]
        angular = (ratio * y).sub_(x).square().sum(-1, keepdim=True)
        return torch.addcmul(angular, (1.0 - ratio).square(), scale) / (4.0 * scale * ratio)

    def _w(self, x: Tensor, y: Tensor) -> Tensor:
        """w alone."""
        return self._hyperbolic_w(x, y) if self._sign > 0 else self._pair(x, y).w

    def _with_antipode(self, x: Tensor, pair: _Pair, exists: Tensor, value: Tensor, antipodal: float) -> Tensor:
        """value where a geodesic exists, the antipodal value where y = -x, NaN elsewhere."""
        otherwise = torch.full_like(value, antipodal)
        if self.p > 0:
            # Points that light rays from -x reach have no geodesic from x either: only -x itself is its antipode.
            none = pair.length <= (4.0 * torch.finfo(x.dtype).eps) ** 2 * self._time_sum(x.detach().square())
            otherwise = torch.where(none & (pair.side < 0), otherwise, math.nan)
        return torch.where(exists, value, otherwise)

    def sqdist(self, x: Tensor, y: Tensor) -> Tensor:
        """±d_γ²: positive for space-like, negative for time-like pairs, smooth between; NaN where no geodesic."""
        validate(self.ambient_dim, x=x, y=y)
        if self._sign > 0:
            w = self._hyperbolic_w(x, y)
            square = _dissimilarity.signed_square(w, w, sign=self._sign)
        else:
            pair = self._pair(x, y)
            w_bar = pair.w_bar
            exists = w_bar > 0
            w, w_bar = torch.where(exists, pair.w, 0.0), torch.where(exists, w_bar, 1.0)
            square = _dissimilarity.signed_square(w, w_bar, sign=self._sign)
            square = self._with_antipode(x, pair, exists, square, -(math.pi**2))
        return square.squeeze(-1) * self._scale(x)

    def dist(self, x: Tensor, y: Tensor) -> Tensor:
        """d_γ (Eq. 8) where ⟨x, y⟩ < |β|, π√|β| at the antipode (where x + y vanishes to rounding), NaN elsewhere."""
        validate(self.ambient_dim, x=x, y=y)
        if self._sign > 0:
            w = self._hyperbolic_w(x, y)
            length = angle(w, w, sign=self._sign)
        else:
            pair = self._pair(x, y)
            w_bar = pair.w_bar
            length = angle(pair.w, w_bar, sign=self._sign)
            length = self._with_antipode(x, pair, w_bar > 0, length, math.pi)
        return length.squeeze(-1) * self._scale(x).sqrt()

    def dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """D_γ (Eq. 9): d_γ where ⟨x, y⟩ <= 0, √|β|(π/2 + ⟨x, y⟩/|β|) elsewhere. Symmetric, but no metric."""
        validate(self.ambient_dim, x=x, y=y)
        length = _dissimilarity.extended_angle(self._w(x, y), sign=self._sign)
        return length.squeeze(-1) * self._scale(x).sqrt()

    def broken_dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """d_γ where a geodesic exists, π√|β| + d_γ(-x, y) elsewhere: the broken geodesic through -x."""
        validate(self.ambient_dim, x=x, y=y)
        if self._sign > 0:
            w = self._hyperbolic_w(x, y)
            length = angle(w, w, sign=self._sign)
        else:
            pair = self._pair(x, y)
            w_bar = pair.w_bar
            length = angle(pair.w, w_bar, sign=self._sign)
            if self._sign == 0:
                length = torch.where(w_bar > 0, length, _dissimilarity.beyond_antipode(w_bar.clamp_max(0.0)))
        return length.squeeze(-1) * self._scale(x).sqrt()

    @property
    def joins_all_pairs(self) -> bool:
        """Whether a geodesic joins every pair of points: in hyperbolic and spherical space alone."""
        return self.p == 0 or self.q == 0

    def cone_rule(self, x: Tensor, y: Tensor) -> Tensor:
        """D_γ, but 2|⟨x, y⟩/β - 1|√|β| where |⟨x, y⟩/β - 1| < 1e-5: the authors' scripts near the light cone."""
        excess = (self.inner(x, y) / self.beta.to(x.dtype) - 1.0).abs()
        return torch.where(excess < 1e-5, 2.0 * excess * math.sqrt(-self.beta.item()), self.dissimilarity(x, y))

    def smoothed_dissimilarity(self, x: Tensor, y: Tensor, epsilon: float = 0.1) -> Tensor:
        """(σ² + ε²)^¼ - √ε with σ = ±D_γ²: D_γ with its infinite slope on the light cone smoothed away."""
        validate(self.ambient_dim, x=x, y=y)
        check_positive("epsilon", epsilon)
        smoothed = _dissimilarity.extended_smooth(self._w(x, y), self._scale(x), epsilon, sign=self._sign)
        return smoothed.squeeze(-1)

    def extrinsic_dist(self, x: Tensor, y: Tensor) -> Tensor:
        """d_q(x, y) = √|⟨x-y, x-y⟩| (Eq. 4); for q = 0 the Lorentzian distance, for p = 0 the chord."""
        validate(self.ambient_dim, x=x, y=y)
        w = self._w(x, y).squeeze(-1)
        return safe_sqrt(w.abs()) * (2.0 * self._scale(x).sqrt())

    # --- diffeomorphisms and projections ------------------------------------------------------------------------

    def psi(self, x: Tensor) -> Tensor:
        """ψ(x) = (t/‖t‖, s/√|β|) ∈ S^q × R^p of x = (t, s) (Theorem 4.1); for q = 0 the first coordinate is 1."""
        validate(self.ambient_dim, x=x)
        time, space = x[..., : self.q + 1], x[..., self.q + 1 :]
        unit = torch.ones_like(time) if self.q == 0 else time / time.norm(dim=-1, keepdim=True)
        return torch.cat((unit, space / self._scale(x).sqrt()), dim=-1)

    def psi_inverse(self, z: Tensor) -> Tensor:
        """ψ⁻¹(u, v) = √|β| (√(1 + ‖v‖²) u, v) for u ∈ S^q and v ∈ R^p (Theorem 4.1)."""
        validate(self.ambient_dim, z=z)
        unit, space = z[..., : self.q + 1], z[..., self.q + 1 :]
        stretch = (1.0 + space.square().sum(-1, keepdim=True)).sqrt()
        return torch.cat((stretch * unit, space), dim=-1) * self._scale(z).sqrt()

    def phi(self, z: Tensor) -> Tensor:
        """φ = ψ⁻¹∘ψ: the space part is kept, the time part rescaled; φ(x) = x on the manifold.

        Not defined where the time part vanishes (q >= 1). For q = 0 every vector goes to the upper sheet.
        """
        validate(self.ambient_dim, z=z)
        time, space = z[..., : self.q + 1], z[..., self.q + 1 :]
        radius = (self._scale(z) + space.square().sum(-1, keepdim=True)).sqrt()
        if self.q > 0:
            radius = time * (radius / time.norm(dim=-1, keepdim=True))
        return torch.cat((radius, space), dim=-1)

    def projx(self, z: Tensor) -> Tensor:
        """Radial rescaling z √(β/⟨z, z⟩) onto the manifold (for q = 0 its upper sheet); NaN unless ⟨z, z⟩ < 0.

        Most vectors far from it are not time-like: :meth:`check_projectable` tells which, and :meth:`phi` maps them.
        """
        validate(self.ambient_dim, z=z)
        scale = (-self._scale(z) / self._inner(z, z)).sqrt()
        if self.q == 0:
            scale = torch.where(z[..., :1] < 0, -scale, scale)
        return scale * z

    def homothety(self, x: Tensor, beta: float) -> Tensor:
        """√(beta/β) x, on the pseudo-hyperboloid of the same signature with ``beta``; lengths scale alike."""
        validate(self.ambient_dim, x=x)
        beta = as_constant("beta", beta)
        if not -math.inf < beta < 0:
            raise ValueError(f"beta must be finite and negative, got {beta}")
        return (abs(beta) / self._scale(x)).sqrt() * x

    def anti_isometry(self, x: Tensor) -> Tensor:
        """σ(x) = (x_{p+q}, …, x_0), onto Q^{q+1,p-1}_{-β} (a :class:`PseudoSphere`): the sign of ⟨·,·⟩ turns.

        For p = 0 that is the round sphere of radius √|β| in R^{q+1}, with its positive metric.
        """
        validate(self.ambient_dim, x=x)
        return x.flip(-1)

    # --- submanifolds -------------------------------------------------------------------------------------------

    def include_hyperbolic(self, point: Tensor) -> Tensor:
        """Points [..., p + 1] of hyperbolic space H^p_β = Q^{p,0}_β, with time coordinates x_1, …, x_q = 0.

        An isometry onto a submanifold that holds the geodesics between its points: all distances are kept.
        """
        if self.p == 0:
            raise ValueError("a sphere contains no hyperbolic space: include_hyperbolic needs p >= 1, got p = 0")
        validate(self.p + 1, point=point)
        zeros = point.new_zeros(*point.shape[:-1], self.q)
        return torch.cat((point[..., :1], zeros, point[..., 1:]), dim=-1)

    def include_sphere(self, point: Tensor) -> Tensor:
        """Points [..., q + 1] of the sphere Q^{0,q}_β of radius √|β|, with all space coordinates 0.

        An isometry onto a submanifold that holds the geodesics between its points: all distances are kept.
        """
        if self.q == 0:
            raise ValueError("hyperbolic space contains no sphere of its own β: include_sphere needs q >= 1, got q = 0")
        validate(self.q + 1, point=point)
        return torch.cat((point, point.new_zeros(*point.shape[:-1], self.p)), dim=-1)

    # --- gradients ----------------------------------------------------------------------------------------------

    def raise_index(self, z: Tensor) -> Tensor:
        """G z: the time coordinates with their sign turned."""
        validate(self.ambient_dim, z=z)
        return self._flip(z)

    def egrad2rgrad(self, x: Tensor, gradient: Tensor) -> Tensor:
        """Df(x) = Π_x(G ∇f) (Eq. 11), the pseudo-Riemannian gradient; -Df is **not** a descent direction."""
        validate(self.ambient_dim, x=x, gradient=gradient)
        return self._proju(x, self._flip(gradient))

    def precondition(self, x: Tensor, z: Tensor) -> Tensor:
        """P_x z = Π_x(G z): ⟨u, P_x u⟩ = ‖u‖² for tangent u, so P_x turns Df into χ."""
        validate(self.ambient_dim, x=x, z=z)
        return self._proju(x, self._flip(z))

    def preconditioner(self, x: Tensor) -> Tensor:
        """P_x = G - x xᵀ/β as matrices [..., d, d]; :meth:`precondition` applies it without forming it."""
        validate(self.ambient_dim, x=x)
        identity = torch.eye(self.ambient_dim, dtype=x.dtype, device=x.device)
        return self._flip(identity) + x.unsqueeze(-1) * x.unsqueeze(-2) / self._scale(x)

    def descent_direction(self, x: Tensor, gradient: Tensor) -> Tensor:
        """χ = Π_x(G Π_x(G ∇f)) (Eq. 14): ⟨Df, χ⟩ = ‖Df‖², so -χ descends, and χ = 0 only where Df = 0."""
        return super().descent_direction(x, gradient)

    def wick_rotation(self, x: Tensor, u: Tensor) -> Tensor:
        """sgn(P_x) u for tangent u at x = (t, s): the part of u along the sphere of time directions turns its sign.

        Time part -u_t + 2(t·u_t/‖t‖²) t, space part u_s. The identity for q = 0, -u for p = 0.
        """
        validate(self.ambient_dim, x=x, u=u)
        x, u = torch.broadcast_tensors(x, u)  # type: ignore[no-untyped-call]
        if self._sign:
            return self._sign * u
        radial = self._time_sum(x * u) / self._time_sum(x.square())
        return torch.cat((2.0 * radial * x[..., : self.q + 1] - u[..., : self.q + 1], u[..., self.q + 1 :]), dim=-1)

    def precondition_root(self, x: Tensor, z: Tensor) -> Tensor:
        """|P_x|^½ z: z without its part along G x, the part along w = G x + κ x times √κ, κ = ‖x‖²/|β|.

        P_x has the eigenvalue 0 along G x, κ along w, and ±1 on what is orthogonal to both.
        """
        validate(self.ambient_dim, x=x, z=z)
        x, z = torch.broadcast_tensors(x, z)  # type: ignore[no-untyped-call]
        product = x * z
        t, s = x[..., : self.q + 1], x[..., self.q + 1 :]
        time, space = t.square().sum(-1, keepdim=True), s.square().sum(-1, keepdim=True)
        along_time = self._time_sum(product)
        along_space = product[..., self.q + 1 :].sum(-1, keepdim=True)
        # w is 2‖t‖²/|β| times (σ t, s) with σ = ‖s‖²/‖t‖², and (√κ - 1)/‖(σ t, s)‖² is what has no 0/0 at s = 0.
        square, sigma = time + space, space / time
        scale = self._scale(x)
        normal = (along_space - along_time) / square
        stretch = 2.0 * time / (scale * square * ((square / scale).sqrt() + 1.0)) * (sigma * along_time + along_space)
        return torch.cat(
            (z[..., : self.q + 1] + (stretch * sigma + normal) * t, z[..., self.q + 1 :] + (stretch - normal) * s),
            dim=-1,
        )

    def surrogate_direction(self, x: Tensor, gradient: Tensor) -> Tensor:
        """|P_x| ∇f = sgn(P_x) Df: the gradient of f in the positive definite metric ⟨u, sgn(P_x) v⟩.

        Its negative descends like -χ = -P_x² ∇f, and is stretched by ‖x‖²/|β| where χ is by its square. It is the
        Riemannian gradient for q = 0 and, with the metric's sign turned, for p = 0.
        """
        return super().surrogate_direction(x, gradient)

    # --- points -------------------------------------------------------------------------------------------------

    def origin(self, *size: int, dtype: torch.dtype = torch.float64, device: torch.device | None = None) -> Tensor:
        """The positive pole (√|β|, 0, …, 0), repeated to [*size, d]."""
        check_size(size)
        check_dtype(dtype)
        pole = torch.zeros(*size, self.ambient_dim, dtype=dtype, device=device or self.beta.device)
        pole[..., 0] = self._scale(pole).sqrt()
        return pole

    def random(
        self,
        *size: int,
        scale: float = 1.0,
        generator: torch.Generator | None = None,
        dtype: torch.dtype = torch.float64,
        device: torch.device | None = None,
    ) -> Tensor:
        """ψ⁻¹ of uniform directions on S^q and normal space parts of standard deviation ``scale`` (times √|β|)."""
        check_size(size)
        check_positive("scale", scale, zero=True)
        z = noise(*size, self.ambient_dim, generator=generator, dtype=dtype, device=device or self.beta.device)
        time, space = z[..., : self.q + 1], z[..., self.q + 1 :]
        unit = torch.ones_like(time) if self.q == 0 else time / time.norm(dim=-1, keepdim=True)
        return self.psi_inverse(torch.cat((unit, scale * space), dim=-1))

    def random_near_pole(
        self,
        *size: int,
        epsilon: float = 0.1,
        generator: torch.Generator | None = None,
        dtype: torch.dtype = torch.float64,
        device: torch.device | None = None,
        perturb_first: bool = True,
    ) -> Tensor:
        """The paper's start: the pole with every coordinate moved uniformly in ±ε√|β|, rescaled onto the manifold.

        ε is relative to the radius √|β|: points of every β are equally near their pole. ``perturb_first=False`` keeps
        x_0 at √|β| before rescaling, as the authors' scripts do. Draws with ⟨z, z⟩ >= 0, which nothing rescales onto
        the manifold, are drawn again; ε must be small enough that few are.
        """
        check_size(size)
        check_positive("epsilon", epsilon)
        device = device or self.beta.device
        reach = epsilon * math.sqrt(-self.beta.item())

        def draw(*shape: int) -> Tensor:
            z = reach * noise(*shape, self.ambient_dim, uniform=True, generator=generator, dtype=dtype, device=device)
            if not perturb_first:
                z[..., 0] = 0.0
            z[..., 0] += self._scale(z).sqrt()
            return z

        z = draw(*size)
        for _ in range(_REDRAWS):
            bad = self._inner(z, z).squeeze(-1) >= 0
            if not bad.any():
                return self.projx(z)
            z[bad] = draw(int(bad.sum()))
        raise ValueError(f"epsilon must be so small that ⟨z, z⟩ < 0 for most draws, got {epsilon}")


def _nan_unless(exists: Tensor, vector: Tensor) -> Tensor:
    """The vector, or NaN where no geodesic exists; added, so that no NaN enters the gradient."""
    return vector.add_(torch.where(exists, 0.0, math.nan).to(vector.dtype))


def _side(dot: Tensor, room: Tensor) -> tuple[Tensor, Tensor]:
    """The sign of a dot product of vectors (1 for 0), and whether they are within 60° of each other or of opposite."""
    dot = dot.detach()
    return torch.ones_like(dot).copysign(dot), 2.0 * dot.abs() >= room
