"""The pseudo-hyperboloid Q^{p,q}_β, equation by equation, and the Poincaré ball."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, Unpack, cast

import torch
from torch import Tensor, nn

from ..checks import check_count, check_positive
from . import functions
from .arguments import as_size, check_dtype, validate, validate_scalars
from .manifold import Logarithm, noise
from .primitives import Device, Quadric, Seed, Size, Spot
from .quadric import CurvedQuadric, as_beta
from .separation import Separation, hyperbolic_w, separation, with_antipode


class PseudoHyperboloid(CurvedQuadric):
    """Q^{p,q}_β = {x ∈ R^{p,q+1} : ⟨x, x⟩_q = β}, its q + 1 time coordinates first.

    q = 0 is hyperbolic space (the upper sheet, x_0 > 0), p = 0 the sphere of radius √|β| (with the
    sign of the metric turned), and everything between is ultrahyperbolic. The manifold has
    dimension p + q, its ambient space p + q + 1.

    Parameters
    ----------
    p, q : int
        Non-negative, not both 0.
    beta : float or nn.Parameter
        Negative; the sectional curvature is 1/β. Kept as a float64 buffer: ``state_dict`` holds it,
        ``.to`` moves it to devices, and no change of dtype rounds it.
    learnable : bool
        Learn β, from the value given; a ``nn.Parameter`` given as β means the same. What is
        optimised is the parameter ``log_abs_beta`` of the manifold, so |β| stays positive.
        Gradients pass through every map, and the optimisers of this package take points along when
        β moves: see `follow_curvature`.

    Examples
    --------
    >>> M = PseudoHyperboloid(p=3, q=1)
    >>> x = M.random(100, generator=torch.Generator().manual_seed(0))
    >>> M.check_point(x).ok
    True
    """

    def __init__(
        self, p: int, q: int, beta: float | Tensor = -1.0, *, learnable: bool = False
    ) -> None:
        super().__init__()
        p, q = check_count("p", p, 0), check_count("q", q, 0)
        if p + q == 0:
            raise ValueError("the sum p + q must be at least 1, got p = 0 and q = 0")
        beta, learnable = as_beta(beta, learnable)
        self.p, self.q = p, q
        self.dim, self.ambient_dim = p + q, p + q + 1
        # What is known of the sign of ⟨u, u⟩ on tangent vectors: the metric is definite for q = 0
        # and for p = 0 only.
        self._sign = 1 if q == 0 else -1 if p == 0 else 0
        if learnable:
            self.log_abs_beta = nn.Parameter(torch.tensor(math.log(-beta), dtype=torch.float64))
        else:
            self._buffers["beta"] = torch.tensor(beta, dtype=torch.float64)

    @property
    def beta(self) -> Tensor:
        """The value of ⟨x, x⟩, negative: a buffer, or -exp of the parameter ``log_abs_beta``."""
        learned = self._parameters.get("log_abs_beta")
        return cast("Tensor", self._buffers["beta"]) if learned is None else -learned.exp()

    def curvature_parameters(self) -> list[nn.Parameter]:
        """log |β| where it is learned."""
        return [self.log_abs_beta] if "log_abs_beta" in self._parameters else []

    def follow_curvature(self, x: Tensor, before: Sequence[Tensor]) -> Tensor:
        """x from where log |β| was ``before[0]``, brought onto the manifold as it is."""
        if not self.learnable:
            return x.clone()
        return self.phi((0.5 * (self.log_abs_beta - before[0])).exp().to(x) * x)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """β follows the device and keeps its digits: ``.float()`` is about the points."""
        held = self.log_abs_beta if self.learnable else self.beta
        own = held, held.grad

        def moved(tensor: Tensor) -> Tensor:
            result = fn(tensor)
            kept = not tensor.is_meta and any(tensor is each for each in own)
            return tensor.to(result.device) if kept else result

        return super()._apply(moved, recurse)  # type: ignore[no-untyped-call, no-any-return]

    def _save_to_state_dict(
        self, destination: dict[str, object], prefix: str, keep_vars: bool
    ) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        metadata = getattr(destination, "_metadata", {})
        metadata.setdefault(prefix[:-1], {})["signature"] = self.p, self.q

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        metadata: Mapping[str, Any],
        strict: bool,
        *said: list[str],
    ) -> None:
        """Refuse β >= 0 and another signature; a learned β may become a fixed one, or back."""
        errors = said[-1]  # after the keys that are missing and those that are not expected
        # A state with a fixed β becomes one with a learned one, or the reverse.
        number, logarithm = f"{prefix}beta", f"{prefix}log_abs_beta"
        fixed, learned = state_dict.get(number), state_dict.get(logarithm)
        if self.learnable and learned is None and isinstance(fixed, Tensor) and (fixed < 0).all():
            state_dict[logarithm] = state_dict.pop(number).double().neg().log()
        elif not self.learnable and fixed is None and isinstance(learned, Tensor):
            state_dict[number] = -state_dict.pop(logarithm).double().exp()
        p, q = metadata.get("signature", (self.p, self.q))
        beta = state_dict.get(number, self.beta)
        if (p, q) != (self.p, self.q):
            errors.append(
                f"{prefix}p and q are {self.p} and {self.q} here, and the state is of {p}, {q}"
            )
        elif isinstance(beta, Tensor) and beta.numel() == 1 and not -math.inf < beta.item() < 0:
            errors.append(f"{prefix}beta must be finite and negative, got {beta.item()}")
        else:
            super()._load_from_state_dict(state_dict, prefix, metadata, strict, *said)
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
        """ψ(x) = (t/‖t‖, s/√|β|) ∈ S^q × R^p of x = (t, s) (Theorem 4.1); t/‖t‖ = 1 for q = 0."""
        space = x[..., self.q + 1 :] / self._scale(x).sqrt()
        return torch.cat((self._direction(x), space), dim=-1)

    def _direction(self, z: Tensor) -> Tensor:
        """The time part by its length, ones for q = 0."""
        time = z[..., : self.q + 1]
        return torch.ones_like(time) if self.q == 0 else time / time.norm(dim=-1, keepdim=True)

    def psi_inverse(self, z: Tensor) -> Tensor:
        """ψ⁻¹(u, v) = √|β| (√(1 + ‖v‖²) u, v) for u ∈ S^q and v ∈ R^p (Theorem 4.1)."""
        unit, space = z[..., : self.q + 1], z[..., self.q + 1 :]
        stretch = (1.0 + space.square().sum(-1, keepdim=True)).sqrt()
        return torch.cat((stretch * unit, space), dim=-1) * self._scale(z).sqrt()

    def phi(self, z: Tensor) -> Tensor:
        """φ = ψ⁻¹∘ψ: the space part is kept, the time part rescaled; φ(x) = x on the manifold.

        Not defined where the time part vanishes (q >= 1). For q = 0 every vector goes to the upper
        sheet.
        """
        time, space = z[..., : self.q + 1], z[..., self.q + 1 :]
        radius = (self._scale(z) + space.square().sum(-1, keepdim=True)).sqrt()
        if self.q > 0:
            radius = time * (radius / time.norm(dim=-1, keepdim=True))
        # Unlike cat, this keeps the layout of z in memory.
        return z.slice_scatter(radius, dim=-1, end=self.q + 1)

    def projx(self, z: Tensor) -> Tensor:
        """Radial rescaling z √(β/⟨z, z⟩) onto the manifold (for q = 0 its upper sheet); NaN unless
        ⟨z, z⟩ < 0.

        Most vectors far from it are not time-like: `check_projectable` tells which, and `phi` maps
        them.
        """
        scale = (-self._scale(z) / self._inner(z, z)).sqrt()
        if self.q == 0:
            scale = torch.where(z[..., :1] < 0, -scale, scale)
        return scale * z

    def origin(
        self, *size: Size, dtype: torch.dtype = torch.float64, device: Device = None
    ) -> Tensor:
        """The positive pole (√|β|, 0, …, 0), repeated to [*size, d]."""
        size = as_size(size)
        check_dtype(dtype)
        pole = torch.zeros(*size, self.ambient_dim, dtype=dtype, device=device or self.beta.device)
        pole[..., 0] = self._scale(pole).sqrt()
        return pole

    def random(
        self, *size: Size, scale: float = 1.0, generator: Seed = None, **at: Unpack[Spot]
    ) -> Tensor:
        """ψ⁻¹ of uniform directions on S^q and normal space parts of ``scale`` (times √|β|)."""
        size = as_size(size)
        check_positive("scale", scale, zero=True)
        z = noise(*size, self.ambient_dim, like=self.origin(**at), generator=generator)
        unit, space = self._direction(z), z[..., self.q + 1 :]
        return self.psi_inverse(torch.cat((unit, scale * space), dim=-1))

    @property
    def quadric(self) -> Quadric | None:
        """q + 1 time dimensions and the radius √|β|."""
        known = type(self) is PseudoHyperboloid  # a subclass may measure differently
        return Quadric(self.q + 1, self.beta.item()) if known else None

    def geodesic(self, x: Tensor, u: Tensor, t: Tensor | float) -> Tensor:
        """γ_{x→u}(t) (Eq. 5): cosh, straight or cos as u is space-like, null or time-like."""
        validate_scalars("t", t, x=x, u=u)
        if isinstance(t, Tensor):
            u = t.to(u.dtype).unsqueeze(-1) * u
        elif t != 1.0:
            u = t * u
        cosh, sinhc = functions.cosh_sinhc_sqrt(self._inner(u, u) / self._scale(x), sign=self._sign)
        return cosh * x + sinhc * u

    def logmap(self, x: Tensor, y: Tensor) -> Logarithm:
        """log_x(y) (Eq. 7) where ⟨x, y⟩ < |β|, and whether that is so; NaN elsewhere."""
        if self._sign > 0:
            w = hyperbolic_w(x, y, self._scale(x))
            factor = functions.asinhc_sqrt(w, w, sign=self._sign) * (1.0 + w).rsqrt()
            exists = torch.ones_like(w.squeeze(-1), dtype=torch.bool)
            return Logarithm(factor * (y - x - 2.0 * w * x), exists)
        pair = separation(x, y, self._scale(x), self.q + 1)
        w_bar = pair.w_bar
        exists = w_bar > 0
        w_bar = torch.where(exists, w_bar, 1.0)
        factor = functions.asinhc_sqrt(pair.w, w_bar, sign=self._sign) * w_bar.rsqrt()
        # y - ⟨x, y⟩x/β, close to ±x by way of y ∓ x.
        near = pair.side * pair.close
        along = torch.where(pair.close, pair.side * pair.turn, pair.cosine)
        vector = -factor * ((near * x).sub_(y) + along * x)
        return Logarithm(_nan_unless(exists, vector), exists.squeeze(-1))

    def transp(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from x to y, of any causal type; NaN where no geodesic."""
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
        half_cosh, half_sinhc = functions.cosh_sinhc_sqrt(z / 4.0, sign=self._sign)
        square = half_sinhc.square()
        cosh, sinhc = 1.0 + 0.5 * z * square, half_sinhc * half_cosh
        along = self._inner(v, u) / self._scale(x)
        return cosh * x + sinhc * u, v + along * (sinhc * x + (0.5 * square) * u)

    def _retract(self, x: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
        """``retr(x, u)``, and (1 + cosh θ)/2 of the angle θ between it and x."""
        quarter = self._inner(u, u) / (4.0 * self._scale(x))
        shrink = 1.0 if self._sign > 0 else 1.0 + (-quarter).relu()
        half = (1.0 + quarter.relu()) / shrink
        sinhc = (half / shrink).sqrt()
        return self.phi(torch.addcmul((2.0 * half - 1.0) * x, sinhc, u)), half

    def retr(self, x: Tensor, u: Tensor) -> Tensor:
        """A point of the geodesic that leaves x with velocity u, without transcendental functions.

        Its angle to x is 2 asinh(l/2) or, for time-like u, 2 atan(l/2), with l² = |⟨u, u⟩/β|.
        """
        return self._retract(x, u)[0]

    def retr_transp(self, x: Tensor, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """``retr(x, u)``, and the parallel transport of v to it along the geodesic."""
        y, half = self._retract(x, u)
        return y, torch.addcmul(v, self._inner(y, v) / (2.0 * self._scale(x) * half), x + y)

    def _pair(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Separation | None]:
        """w = (⟨x, y⟩/β - 1)/2, 1 + w and the pair; in hyperbolic space w twice."""
        if self._sign > 0:
            w = hyperbolic_w(x, y, self._scale(x))
            return w, w, None
        pair = separation(x, y, self._scale(x), self.q + 1)
        return pair.w, pair.w_bar, pair

    def sqdist(self, x: Tensor, y: Tensor) -> Tensor:
        """±d_γ²: positive for space-like, negative for time-like pairs; NaN where no geodesic."""
        w, w_bar, pair = self._pair(x, y)
        if pair is not None:
            exists = w_bar > 0
            w, w_bar = torch.where(exists, w, 0.0), torch.where(exists, w_bar, 1.0)
        square = functions.signed_square(w, w_bar, sign=self._sign) * self._scale(x)
        if pair is not None:
            square = with_antipode(x, self.q + 1, pair, square, -(math.pi**2) * self._scale(x))
        return square.squeeze(-1)

    def dist(self, x: Tensor, y: Tensor) -> Tensor:
        """d_γ (Eq. 8) where ⟨x, y⟩ < |β|, π√|β| at the antipode to rounding, NaN elsewhere."""
        w, w_bar, pair = self._pair(x, y)
        length = functions.angle(w, w_bar, sign=self._sign) * self._scale(x).sqrt()
        if pair is not None:
            length = with_antipode(x, self.q + 1, pair, length, math.pi * self._scale(x).sqrt())
        return length.squeeze(-1)

    def dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """D_γ (Eq. 9): d_γ where ⟨x, y⟩ <= 0, √|β|(π/2 + ⟨x, y⟩/|β|) elsewhere. No metric."""
        length = functions.extended_angle(self._pair(x, y)[0], sign=self._sign)
        return length.squeeze(-1) * self._scale(x).sqrt()

    def broken_dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """d_γ where a geodesic exists, else π√|β| + d_γ(-x, y), a broken one through -x."""
        w, w_bar, _ = self._pair(x, y)
        length = functions.angle(w, w_bar, sign=self._sign)
        if self._sign == 0:
            beyond = functions.hyperbolic_angle(-w_bar.clamp_max(0.0))
            length = torch.where(w_bar > 0, length, math.pi + beyond)
        return length.squeeze(-1) * self._scale(x).sqrt()

    def smoothed_dissimilarity(self, x: Tensor, y: Tensor, epsilon: float = 0.1) -> Tensor:
        """(σ² + ε²)^¼ - √ε with σ = ±D_γ²: D_γ without its infinite slope on the light cone."""
        check_positive("epsilon", epsilon)
        w, scale = self._pair(x, y)[0], self._scale(x)
        return functions.extended_smooth(w, scale, epsilon, sign=self._sign).squeeze(-1)

    def extrinsic_dist(self, x: Tensor, y: Tensor) -> Tensor:
        """√|⟨x-y, x-y⟩| (Eq. 4); for q = 0 the Lorentzian distance, for p = 0 the chord."""
        w = self._pair(x, y)[0].squeeze(-1)
        return functions.safe_sqrt(w.abs()) * (2.0 * self._scale(x).sqrt())

    def precondition(self, x: Tensor, z: Tensor) -> Tensor:
        """P_x z = G z - (x·z) x / β."""
        return torch.addcmul(self.raise_index(z), (x * z).sum(-1, keepdim=True) / self._scale(x), x)

    def preconditioner(self, x: Tensor) -> Tensor:
        """P_x = G - x xᵀ/β as matrices [..., d, d]; `precondition` needs none."""
        identity = torch.eye(self.ambient_dim, dtype=x.dtype, device=x.device)
        return self.raise_index(identity) + x.unsqueeze(-1) * x.unsqueeze(-2) / self._scale(x)

    def wick_rotation(self, x: Tensor, u: Tensor) -> Tensor:
        """sgn(P_x) u for tangent u at x = (t, s): -u_t + 2(t·u_t/‖t‖²) t and u_s.

        The identity for q = 0, -u for p = 0.
        """
        x, u = torch.broadcast_tensors(x, u)  # type: ignore[no-untyped-call]
        if self._sign:
            return self._sign * u
        radial = self._time_sum(x * u) / self._time_sum(x.square())
        return self.raise_index(u) + radial * (x - self.raise_index(x))

    def component_sqnorm(self, x: Tensor, u: Tensor) -> Tensor:
        """⟨u, sgn(P_x) u⟩ = ‖u‖² - 2 (t·u_t)²/‖t‖², and despite rounding at least ‖u‖² |β|/‖x‖²."""
        square = u.square().sum(-1, keepdim=True)
        if self.p == 0:
            return square
        scale, time = self._scale(x), self._time_sum(x.square())
        least = square * scale / (2.0 * time - scale)
        return torch.maximum(square - 2.0 * self._time_sum(x * u).square() / time, least)

    def precondition_root(self, x: Tensor, z: Tensor) -> Tensor:
        """|P_x|^½ z, as P_x has the eigenvalue 0 along G x, κ = ‖x‖²/|β| along w = G x + κ x.

        On what is orthogonal to both it is ±1.
        """
        x, z = torch.broadcast_tensors(x, z)  # type: ignore[no-untyped-call]
        product = x * z
        t, s = x[..., : self.q + 1], x[..., self.q + 1 :]
        time, space = t.square().sum(-1, keepdim=True), s.square().sum(-1, keepdim=True)
        along_time = self._time_sum(product)
        along_space = product[..., self.q + 1 :].sum(-1, keepdim=True)
        # w is 2‖t‖²/|β| times (σ t, s) with σ = ‖s‖²/‖t‖², and (√κ - 1)/‖(σ t, s)‖² is what has no
        # 0/0 at s = 0.
        square, sigma = time + space, space / time
        scale = self._scale(x)
        normal = (along_space - along_time) / square
        room = scale * square * ((square / scale).sqrt() + 1.0)
        stretch = 2.0 * time / room * (sigma * along_time + along_space)
        time_part = z[..., : self.q + 1] + (stretch * sigma + normal) * t
        return torch.cat((time_part, z[..., self.q + 1 :] + (stretch - normal) * s), dim=-1)


def _nan_unless(exists: Tensor, vector: Tensor) -> Tensor:
    """The vector, or NaN where no geodesic exists; added, so that no NaN enters the gradient."""
    return vector.add_(torch.where(exists, 0.0, math.nan).to(vector.dtype))


def lorentz_to_poincare(x: Tensor, manifold: PseudoHyperboloid) -> Tensor:
    """Points [..., p + 1] of hyperbolic space in the Poincaré ball, √|β| s/(√|β| + x_0).

    >>> M = PseudoHyperboloid(2, 0, -4.0)
    >>> lorentz_to_poincare(M.origin(), M)
    tensor([0., 0.], dtype=torch.float64)
    """
    _require_hyperbolic(manifold)
    validate(manifold.ambient_dim, x=x)
    radius = manifold.beta.to(x).abs().sqrt()
    return x[..., 1:] * (radius / (radius + x[..., :1]))


def poincare_to_lorentz(ball: Tensor, manifold: PseudoHyperboloid) -> Tensor:
    """Points [..., p] of the open Poincaré ball of radius √|β|, in hyperbolic space."""
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
