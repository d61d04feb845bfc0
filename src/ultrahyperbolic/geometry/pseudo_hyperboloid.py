"""The pseudo-hyperboloid Q^{p,q}_β, equation by equation, and hyperbolic space in the Poincaré ball."""

import math

import torch
from torch import Tensor

from ..checks import check_positive
from .arguments import validate, validate_scalars
from .functions import (
    angle,
    asinhc_sqrt,
    cosh_sinhc_sqrt,
    extended_angle,
    extended_smooth,
    hyperbolic_angle,
    safe_sqrt,
    signed_square,
)
from .level_set import LevelSet
from .manifold import Logarithm
from .primitives import Quadric
from .separation import Separation, hyperbolic_w, separation, with_antipode


class PseudoHyperboloid(LevelSet):
    """Q^{p,q}_β = {x ∈ R^{p,q+1} : ⟨x, x⟩_q = β}, with p space and q + 1 time dimensions, time coordinates first.

    q = 0 is hyperbolic space (the upper sheet, x_0 > 0), p = 0 the sphere of radius √|β| (with the sign of the metric
    turned), and everything between is ultrahyperbolic. The manifold has dimension p + q, its ambient space p + q + 1.

    Parameters
    ----------
    p, q : int
        Non-negative, not both 0.
    beta : float or nn.Parameter
        Negative; the sectional curvature is 1/β. Kept as a float64 buffer: ``state_dict`` holds it, ``.to`` moves it to
        devices, and no change of dtype rounds it.
    learnable : bool
        Learn β, from the value given; a ``nn.Parameter`` given as β means the same. What is optimised is the
        parameter ``log_abs_beta`` of the manifold, so |β| stays positive. Gradients pass through every map, and the
        optimisers of this package take points along when β moves: see `follow_curvature`.

    Examples
    --------
    >>> M = PseudoHyperboloid(p=3, q=1)
    >>> x = M.random(100, generator=torch.Generator().manual_seed(0))
    >>> M.check_point(x).ok
    True
    """

    @property
    def quadric(self) -> Quadric | None:
        """q + 1 time dimensions and the radius √|β|."""
        known = type(self) is PseudoHyperboloid  # a subclass may measure differently
        return Quadric(self.q + 1, self.beta.item()) if known else None

    def geodesic(self, x: Tensor, u: Tensor, t: Tensor | float) -> Tensor:
        """γ_{x→u}(t) (Eq. 5): cosh, straight or cos as u is space-like, null or time-like; t broadcasts as [...]."""
        validate_scalars("t", t, x=x, u=u)
        if isinstance(t, Tensor):
            u = t.to(u.dtype).unsqueeze(-1) * u
        elif t != 1.0:
            u = t * u
        cosh, sinhc = cosh_sinhc_sqrt(self._inner(u, u) / self._scale(x), sign=self._sign)
        return cosh * x + sinhc * u

    def logmap(self, x: Tensor, y: Tensor) -> Logarithm:
        """log_x(y) (Eq. 7) where ⟨x, y⟩ < |β|, and whether that is so; NaN elsewhere."""
        if self._sign > 0:
            w = hyperbolic_w(x, y, self._scale(x))
            factor = asinhc_sqrt(w, w, sign=self._sign) * (1.0 + w).rsqrt()
            return Logarithm(factor * (y - x - 2.0 * w * x), torch.ones_like(w.squeeze(-1), dtype=torch.bool))
        pair = separation(x, y, self._scale(x), self.q + 1)
        w_bar = pair.w_bar
        exists = w_bar > 0
        w_bar = torch.where(exists, w_bar, 1.0)
        factor = asinhc_sqrt(pair.w, w_bar, sign=self._sign) * w_bar.rsqrt()
        # y - ⟨x, y⟩x/β, close to ±x by way of y ∓ x.
        near = pair.side * pair.close
        along = torch.where(pair.close, pair.side * pair.turn, pair.cosine)
        vector = -factor * ((near * x).sub_(y) + along * x)
        return Logarithm(_nan_unless(exists, vector), exists.squeeze(-1))

    def transp(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from x to y along their geodesic, of any causal type; NaN where there is none."""
        # For tangent v a multiple of x may be taken from y in ⟨y, v⟩: nearby points lose no digits.
        if self._sign > 0:
            w_bar = 1.0 + hyperbolic_w(x, y, self._scale(x))
            return v + self._inner(y - x, v) / (2.0 * self._scale(x) * w_bar) * (x + y)
        pair = separation(x, y, self._scale(x), self.q + 1)
        w_bar = pair.w_bar
        exists = w_bar > 0
        room = (2.0 * self._scale(x)) * pair.stretch * torch.where(exists, w_bar, 1.0)
        factor = pair.side * self._inner(pair.chord, v) / room
        return _nan_unless(exists, v + factor * (x + y))

    def transp_follow_expmap(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from x to expmap(x, u), also past the antipode."""
        return self.expmap_transp(x, u, v)[1]

    def expmap_transp(self, x: Tensor, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """expmap(x, u) and v carried along it, at the cost of little more than the former."""
        z = self._inner(u, u) / self._scale(x)
        # The half angle gives (cosh √z - 1)/z = ½ (sinh(√z/2)/(√z/2))² without cancellation.
        half_cosh, half_sinhc = cosh_sinhc_sqrt(z / 4.0, sign=self._sign)
        square = half_sinhc.square()
        cosh, sinhc = 1.0 + 0.5 * z * square, half_sinhc * half_cosh
        along = self._inner(v, u) / self._scale(x)
        return cosh * x + sinhc * u, v + along * (sinhc * x + (0.5 * square) * u)

    def _pair(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Separation | None]:
        """w = (⟨x, y⟩/β - 1)/2, 1 + w and what they were found from; in hyperbolic space, where w is all, w twice."""
        if self._sign > 0:
            w = hyperbolic_w(x, y, self._scale(x))
            return w, w, None
        pair = separation(x, y, self._scale(x), self.q + 1)
        return pair.w, pair.w_bar, pair

    def sqdist(self, x: Tensor, y: Tensor) -> Tensor:
        """±d_γ²: positive for space-like, negative for time-like pairs, smooth between; NaN where no geodesic."""
        w, w_bar, pair = self._pair(x, y)
        if pair is not None:
            exists = w_bar > 0
            w, w_bar = torch.where(exists, w, 0.0), torch.where(exists, w_bar, 1.0)
        square = signed_square(w, w_bar, sign=self._sign) * self._scale(x)
        if pair is not None:
            square = with_antipode(x, self.q + 1, pair, square, -(math.pi**2) * self._scale(x))
        return square.squeeze(-1)

    def dist(self, x: Tensor, y: Tensor) -> Tensor:
        """d_γ (Eq. 8) where ⟨x, y⟩ < |β|, π√|β| at the antipode (where x + y vanishes to rounding), NaN elsewhere."""
        w, w_bar, pair = self._pair(x, y)
        length = angle(w, w_bar, sign=self._sign) * self._scale(x).sqrt()
        if pair is not None:
            length = with_antipode(x, self.q + 1, pair, length, math.pi * self._scale(x).sqrt())
        return length.squeeze(-1)

    def dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """D_γ (Eq. 9): d_γ where ⟨x, y⟩ <= 0, √|β|(π/2 + ⟨x, y⟩/|β|) elsewhere. Symmetric, but no metric."""
        length = extended_angle(self._pair(x, y)[0], sign=self._sign)
        return length.squeeze(-1) * self._scale(x).sqrt()

    def broken_dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """d_γ where a geodesic exists, π√|β| + d_γ(-x, y) elsewhere: the broken geodesic through -x."""
        w, w_bar, _ = self._pair(x, y)
        length = angle(w, w_bar, sign=self._sign)
        if self._sign == 0:
            length = torch.where(w_bar > 0, length, math.pi + hyperbolic_angle(-w_bar.clamp_max(0.0)))
        return length.squeeze(-1) * self._scale(x).sqrt()

    def smoothed_dissimilarity(self, x: Tensor, y: Tensor, epsilon: float = 0.1) -> Tensor:
        """(σ² + ε²)^¼ - √ε with σ = ±D_γ²: D_γ with its infinite slope on the light cone smoothed away."""
        check_positive("epsilon", epsilon)
        smoothed = extended_smooth(self._pair(x, y)[0], self._scale(x), epsilon, sign=self._sign)
        return smoothed.squeeze(-1)

    def extrinsic_dist(self, x: Tensor, y: Tensor) -> Tensor:
        """d_q(x, y) = √|⟨x-y, x-y⟩| (Eq. 4); for q = 0 the Lorentzian distance, for p = 0 the chord."""
        w = self._pair(x, y)[0].squeeze(-1)
        return safe_sqrt(w.abs()) * (2.0 * self._scale(x).sqrt())

    def preconditioner(self, x: Tensor) -> Tensor:
        """P_x = G - x xᵀ/β as matrices [..., d, d]; `precondition` applies it without forming it."""
        identity = torch.eye(self.ambient_dim, dtype=x.dtype, device=x.device)
        return self.raise_index(identity) + x.unsqueeze(-1) * x.unsqueeze(-2) / self._scale(x)

    def wick_rotation(self, x: Tensor, u: Tensor) -> Tensor:
        """sgn(P_x) u for tangent u at x = (t, s): the part of u along the sphere of time directions turns its sign.

        Time part -u_t + 2(t·u_t/‖t‖²) t, space part u_s. The identity for q = 0, -u for p = 0.
        """
        x, u = torch.broadcast_tensors(x, u)  # type: ignore[no-untyped-call]
        if self._sign:
            return self._sign * u
        radial = self._time_sum(x * u) / self._time_sum(x.square())
        return torch.cat((2.0 * radial * x[..., : self.q + 1] - u[..., : self.q + 1], u[..., self.q + 1 :]), dim=-1)

    def precondition_root(self, x: Tensor, z: Tensor) -> Tensor:
        """|P_x|^½ z: z without its part along G x, the part along w = G x + κ x times √κ, κ = ‖x‖²/|β|.

        P_x has the eigenvalue 0 along G x, κ along w, and ±1 on what is orthogonal to both.
        """
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


def _nan_unless(exists: Tensor, vector: Tensor) -> Tensor:
    """The vector, or NaN where no geodesic exists; added, so that no NaN enters the gradient."""
    return vector.add_(torch.where(exists, 0.0, math.nan).to(vector.dtype))


def lorentz_to_poincare(x: Tensor, manifold: PseudoHyperboloid) -> Tensor:
    """Points x [..., p + 1] of hyperbolic space (q = 0) in the Poincaré ball of radius √|β|: √|β| s/(√|β| + x_0).

    >>> M = PseudoHyperboloid(2, 0, -4.0)
    >>> lorentz_to_poincare(M.origin(), M)
    tensor([0., 0.], dtype=torch.float64)
    """
    _require_hyperbolic(manifold)
    validate(manifold.ambient_dim, x=x)
    radius = manifold.beta.to(x).abs().sqrt()
    return x[..., 1:] * (radius / (radius + x[..., :1]))


def poincare_to_lorentz(ball: Tensor, manifold: PseudoHyperboloid) -> Tensor:
    """Points [..., p] of the open Poincaré ball of radius √|β| as points of hyperbolic space; undoes the above."""
    _require_hyperbolic(manifold)
    validate(manifold.p, ball=ball)
    scale = manifold.beta.to(ball).abs()
    square = ball.square().sum(-1, keepdim=True)
    room = scale - square
    return torch.cat((scale.sqrt() * (scale + square) / room, ball * (2.0 * scale / room)), dim=-1)


def _require_hyperbolic(manifold: PseudoHyperboloid) -> None:
    if not isinstance(manifold, PseudoHyperboloid) or manifold.q != 0:
        found = manifold._label() if hasattr(manifold, "_label") else repr(manifold)
        raise ValueError(f"manifold must be hyperbolic, PseudoHyperboloid(p, 0), got {found}")
