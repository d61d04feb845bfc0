"""The interface every manifold of this package has, and what follows from it without knowing the geometry."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..checks import check_count
from ..checks import check_positive as check_positive
from .arguments import Check, check_dtype, check_size, validate, validate_scalars
from .arguments import check_finite as check_finite  # what other rooms read here
from .functions import safe_sqrt
from .words import Dissimilarity, check_dissimilarity

# Residuals are judged relative to ‖x‖² (points) or ‖x‖‖u‖ (tangents), the size of the terms that cancel in them.
_TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-10}
_CDIST_ELEMENTS = 1 << 22


class Logarithm(NamedTuple):
    """What :meth:`Manifold.logmap` returns."""

    vector: Tensor
    """Tangent vectors [..., d]; NaN where no geodesic joins the points."""
    exists: Tensor
    """Booleans [...]: whether a geodesic joins the points."""


class Quadric(NamedTuple):
    """{x : ‖s‖² - ‖t‖² = β}, time coordinates t first, or flat space: what compiled loops need to know."""

    time: int
    """How many coordinates are time; 0 in flat space."""
    beta: float
    """Negative; -1 in flat space, where it means nothing."""

    @property
    def radius(self) -> float:
        """√|β|."""
        return math.sqrt(-self.beta)


class Manifold(nn.Module, ABC):
    """A manifold in R^d with closed-form geodesics.

    Points, tangent and ambient vectors are tensors [..., d] of float32 or float64 and broadcast over ``...``; scalar
    results have shape [...]. Argument names tell what is expected: ``x`` and ``y`` are points, ``u`` and ``v`` tangent
    vectors at ``x``, ``z`` any ambient vector. No argument is ever modified.

    Shapes and dtypes are always checked, values only where a method says so: see :func:`checked` for a wrapper that
    checks the values at every call.
    """

    ambient_dim: int
    dim: int

    @property
    def quadric(self) -> Quadric | None:
        """The quadric for loops compiled for it; None where only the methods of this class say what it is."""
        return None

    # --- the metric ---------------------------------------------------------------------------------------------

    @abstractmethod
    def inner(self, u: Tensor, v: Tensor, *, keepdim: bool = False) -> Tensor:
        """Scalar product ⟨u, v⟩ of two ambient vectors, signed."""

    def sqnorm(self, u: Tensor, *, keepdim: bool = False) -> Tensor:
        """Squared norm ⟨u, u⟩, signed."""
        return self.inner(u, u, keepdim=keepdim)

    def norm(self, u: Tensor, *, keepdim: bool = False) -> Tensor:
        """√|⟨u, u⟩|; its gradient is 0 by convention where it vanishes."""
        return safe_sqrt(self.sqnorm(u, keepdim=keepdim).abs())

    def causal_character(self, u: Tensor, *, tolerance: float | None = None) -> Tensor:
        """+1 where u is space-like, 0 where null, -1 where time-like (int8 [...]).

        Null means |⟨u, u⟩| <= tolerance · ‖u‖²; the default tolerance is 8 times the unit roundoff times d.
        """
        square = self.sqnorm(u)
        if tolerance is not None:
            check_positive("tolerance", tolerance, zero=True)
        else:
            tolerance = 8 * self.ambient_dim * torch.finfo(u.dtype).eps / 2
        null = square.abs() <= tolerance * u.square().sum(-1)
        return torch.where(null, torch.zeros_like(square), square.sign()).to(torch.int8)

    # --- membership ---------------------------------------------------------------------------------------------

    @abstractmethod
    def check_point(self, x: Tensor, *, tolerance: float | Tensor | None = None) -> Check:
        """Whether every row of x is finite and on the manifold, and the first row that is not.

        ``tolerance`` is a number, or a tensor [...] with one for each row.
        """

    @abstractmethod
    def check_tangent(self, x: Tensor, u: Tensor, *, tolerance: float | Tensor | None = None) -> Check:
        """Whether every row of u is finite and tangent at x, and the first row that is not."""

    def check_phi(self, z: Tensor) -> Check:
        """Whether :meth:`phi` is defined at every row of z, and the first row at which it is not."""
        validate(self.ambient_dim, z=z)
        return check_finite("z", z)

    def check_projectable(self, z: Tensor) -> Check:
        """Whether :meth:`projx` maps every row of z onto the manifold, and the first row that it does not."""
        return self.check_phi(z)

    def assert_point(self, x: Tensor, *, name: str = "x", tolerance: float | Tensor | None = None) -> None:
        """Raise ``ValueError`` naming the first row of x that is not on the manifold, and its residual."""
        validate(self.ambient_dim, **{name: x})
        self._assert(self.check_point(x, tolerance=tolerance), "x", name)

    def assert_tangent(self, x: Tensor, u: Tensor, *, name: str = "u", tolerance: float | Tensor | None = None) -> None:
        """Raise ``ValueError`` naming the first row of u that is not tangent at x, and its residual."""
        validate(self.ambient_dim, **{"x": x, name: u})
        self._assert(self.check_tangent(x, u, tolerance=tolerance), "u", name)

    def assert_phi(self, z: Tensor, *, name: str = "z") -> None:
        """Raise ``ValueError`` naming the first row of z at which :meth:`phi` is not defined."""
        validate(self.ambient_dim, **{name: z})
        self._assert(self.check_phi(z), "z", name)

    def assert_projectable(self, z: Tensor, *, name: str = "z") -> None:
        """Raise ``ValueError`` naming the first row of z that :meth:`projx` does not map onto the manifold."""
        validate(self.ambient_dim, **{name: z})
        self._assert(self.check_projectable(z), "z", name)

    def _assert(self, check: Check, letter: str, name: str) -> None:
        if not check.ok:
            reason = name + check.reason.removeprefix(letter)
            raise ValueError(f"{self._label()}: {reason}")

    def _label(self) -> str:
        return f"{type(self).__name__}({self.extra_repr()})"

    # --- geodesics ----------------------------------------------------------------------------------------------

    @abstractmethod
    def proju(self, x: Tensor, z: Tensor) -> Tensor:
        """Orthogonal projection of the ambient vector z onto the tangent space at x."""

    @abstractmethod
    def geodesic(self, x: Tensor, u: Tensor, t: Tensor | float) -> Tensor:
        """The point at time t [...] on the geodesic that leaves x with velocity u."""

    def expmap(self, x: Tensor, u: Tensor) -> Tensor:
        """Exponential map: where the geodesic that leaves x with velocity u is at time 1."""
        return self.geodesic(x, u, 1.0)

    @abstractmethod
    def logmap(self, x: Tensor, y: Tensor) -> Logarithm:
        """Logarithm map: the velocity of the geodesic from x to y, and whether there is one."""

    @abstractmethod
    def transp(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from x to y along the geodesic that joins them; NaN where there is none."""

    @abstractmethod
    def transp_follow_expmap(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from x to ``expmap(x, u)`` along that geodesic, however long it is."""

    def expmap_transp(self, x: Tensor, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """``expmap(x, u)`` and v carried along."""
        return self.expmap(x, u), self.transp_follow_expmap(x, u, v)

    def retr(self, x: Tensor, u: Tensor) -> Tensor:
        """A retraction: agrees with the exponential map to first order, without transcendental functions."""
        validate(self.ambient_dim, x=x, u=u)
        return self.phi(x + u)

    # --- distances ----------------------------------------------------------------------------------------------

    @abstractmethod
    def sqdist(self, x: Tensor, y: Tensor) -> Tensor:
        """Signed square of :meth:`dist`, ⟨log_x y, log_x y⟩: smooth across the light cone; NaN where no geodesic."""

    @abstractmethod
    def dist(self, x: Tensor, y: Tensor) -> Tensor:
        """Length of the geodesic between x and y; NaN where there is none."""

    @abstractmethod
    def dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """The dissimilarity that training uses, defined for all pairs."""

    @abstractmethod
    def broken_dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """Length of the geodesic, or of a once-broken one where there is none."""

    @abstractmethod
    def smoothed_dissimilarity(self, x: Tensor, y: Tensor, epsilon: float = 0.1) -> Tensor:
        """A dissimilarity with a finite slope on the light cone; it tends to :meth:`dissimilarity` as ε → 0."""

    @abstractmethod
    def extrinsic_dist(self, x: Tensor, y: Tensor) -> Tensor:
        """√|⟨x-y, x-y⟩|, the distance in the ambient space."""

    def in_ball(self, x: Tensor, y: Tensor, radius: float | Tensor) -> Tensor:
        """Whether y lies in the ball {y : dist(x, y) < radius} around x (booleans [...]; False where no geodesic)."""
        length = self.dist(x, y)
        validate_scalars("radius", radius, x=x, y=y)
        if not isinstance(radius, Tensor) and radius != radius:
            raise ValueError(f"radius must not be NaN, got {radius}")
        return length < radius

    @property
    def joins_all_pairs(self) -> bool:
        """Whether a geodesic joins every pair of points, so that :meth:`dist` is never NaN."""
        return True

    def cone_rule(self, x: Tensor, y: Tensor) -> Tensor:
        """The dissimilarity as the authors' scripts have it near a light cone; without a cone the dissimilarity."""
        return self.dissimilarity(x, y)

    def pair_function(
        self, dissimilarity: Dissimilarity, epsilon: float | None = None
    ) -> Callable[[Tensor, Tensor], Tensor]:
        """The dissimilarity of a name as a function of points x and y; ``epsilon`` is of the smoothed one."""
        name = check_dissimilarity(dissimilarity)
        if name == "smoothed":
            return lambda x, y: self.smoothed_dissimilarity(x, y, *(() if epsilon is None else (epsilon,)))
        if epsilon is not None:
            raise ValueError(f"epsilon belongs to dissimilarity='smoothed', got dissimilarity={name!r}")
        functions: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
            "geodesic": self.dissimilarity,
            "broken": self.broken_dissimilarity,
            "cone-rule": self.cone_rule,
            "extrinsic": self.extrinsic_dist,
            "distance": self.dist,
        }
        return functions[name]

    def cdist(
        self,
        x: Tensor,
        y: Tensor | None = None,
        *,
        dissimilarity: Dissimilarity = "distance",
        block_rows: int | None = None,
        epsilon: float | None = None,
        measure: str | None = None,
    ) -> Tensor:
        """All pairs: x [n, d] and y [m, d] (x itself when omitted) to [n, m].

        ``dissimilarity`` names what to evaluate and ``epsilon`` is passed to the smoothed one. Rows of x are taken
        ``block_rows`` at a time (by default as many as keep temporaries near 32 MiB in float64). ``measure`` is a
        former name of ``dissimilarity``.
        """
        y = x if y is None else y
        validate(self.ambient_dim, x=x)
        validate(self.ambient_dim, y=y)
        if x.dim() != 2 or y.dim() != 2:
            raise ValueError(f"cdist takes x [n, d] and y [m, d], got shapes {tuple(x.shape)} and {tuple(y.shape)}")
        if block_rows is not None:
            block_rows = check_count("block_rows", block_rows, 1)
        function = self.pair_function(check_dissimilarity(measure, "measure") if measure else dissimilarity, epsilon)
        rows = block_rows or max(1, _CDIST_ELEMENTS // max(1, y.numel()))
        blocks = [function(block[:, None, :], y[None, :, :]) for block in torch.split(x, rows)]
        return blocks[0] if len(blocks) == 1 else torch.cat(blocks)

    # --- onto the manifold --------------------------------------------------------------------------------------

    @abstractmethod
    def phi(self, z: Tensor) -> Tensor:
        """A differentiable map of ambient vectors onto the manifold that leaves its points where they are."""

    @abstractmethod
    def projx(self, z: Tensor) -> Tensor:
        """Projection of ambient vectors near the manifold onto it by rescaling; :meth:`check_projectable` says which.

        :meth:`phi` maps almost all ambient vectors.
        """

    # --- gradients ----------------------------------------------------------------------------------------------

    @abstractmethod
    def egrad2rgrad(self, x: Tensor, gradient: Tensor) -> Tensor:
        """The gradient with respect to the manifold's metric, from the Euclidean gradient [..., d].

        Where the metric is indefinite its negative is **not** a descent direction: see :meth:`descent_direction`.
        """

    @abstractmethod
    def precondition(self, x: Tensor, z: Tensor) -> Tensor:
        """P_x z, the preconditioner that turns gradients into ascent directions."""

    def preconditioner(self, x: Tensor) -> Tensor:
        """P_x as symmetric matrices [..., d, d]; :meth:`precondition` applies it without forming it."""
        validate(self.ambient_dim, x=x)
        identity = torch.eye(self.ambient_dim, dtype=x.dtype, device=x.device)
        return self.precondition(x.unsqueeze(-2), identity)

    def descent_direction(self, x: Tensor, gradient: Tensor) -> Tensor:
        """χ: the tangent vector whose negative is a descent direction, from the Euclidean gradient [..., d]."""
        return self.precondition(x, self.egrad2rgrad(x, gradient))

    def wick_rotation(self, x: Tensor, u: Tensor) -> Tensor:
        """sgn(P_x) u: the part of a tangent vector on which P_x is negative, with its sign turned.

        From the eigenvectors of P_x; manifolds that know them have a closed form.
        """
        validate(self.ambient_dim, x=x, u=u)
        return self._spectral(x, u, torch.sign)

    def precondition_root(self, x: Tensor, z: Tensor) -> Tensor:
        """|P_x|^½ z, a tangent vector; applied twice to a Euclidean gradient it is the surrogate direction."""
        validate(self.ambient_dim, x=x, z=z)
        return self._spectral(x, z, lambda values: values.abs().sqrt())

    def surrogate_direction(self, x: Tensor, gradient: Tensor) -> Tensor:
        """|P_x| ∇f = sgn(P_x) Df, whose negative descends like -χ: the absolute value of P_x in place of its square."""
        return self.wick_rotation(x, self.egrad2rgrad(x, gradient))

    def _spectral(self, x: Tensor, z: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
        """A function of the symmetric matrix P_x, applied to z."""
        values, vectors = torch.linalg.eigh(self.preconditioner(x))
        # Rounding leaves of the normal's eigenvalue 0 something whose root is no longer small.
        noise = 8 * self.ambient_dim * torch.finfo(x.dtype).eps * values.abs().amax(-1, keepdim=True)
        values = torch.where(values.abs() > noise, values, 0.0)
        applied: Tensor = vectors @ (function(values).unsqueeze(-1) * (vectors.mT @ z.unsqueeze(-1)))
        return applied.squeeze(-1)

    # --- points -------------------------------------------------------------------------------------------------

    @abstractmethod
    def origin(self, *size: int, dtype: torch.dtype = torch.float64, device: torch.device | None = None) -> Tensor:
        """The distinguished point, repeated to [*size, d]."""

    @abstractmethod
    def random(
        self,
        *size: int,
        scale: float = 1.0,
        generator: torch.Generator | None = None,
        dtype: torch.dtype = torch.float64,
        device: torch.device | None = None,
    ) -> Tensor:
        """Random points [*size, d] spread over the manifold; ``scale`` is the spread of the unbounded coordinates."""

    @abstractmethod
    def random_near_pole(
        self,
        *size: int,
        epsilon: float = 0.1,
        generator: torch.Generator | None = None,
        dtype: torch.dtype = torch.float64,
        device: torch.device | None = None,
        perturb_first: bool = True,
    ) -> Tensor:
        """The paper's start: the origin with coordinates perturbed uniformly in ±ε√|β|, rescaled onto the manifold.

        ε is relative to the radius √|β|, or to 1 in flat space. ``perturb_first=False`` leaves the origin's own
        coordinate alone before rescaling.
        """

    def random_tangent(self, x: Tensor, *, scale: float = 1.0, generator: torch.Generator | None = None) -> Tensor:
        """Random tangent vectors at x: standard normal ambient vectors times ``scale``, projected."""
        validate(self.ambient_dim, x=x)
        check_positive("scale", scale, zero=True)
        z = noise(*x.shape, generator=generator, dtype=x.dtype, device=x.device)
        return self.proju(x, z * scale)


def default_tolerance(dtype: torch.dtype, tolerance: float | Tensor | None) -> float | Tensor:
    """The given tolerance, a number or one for each row [...], or the one that suits the dtype."""
    if tolerance is None:
        return _TOLERANCE[dtype]
    if not isinstance(tolerance, Tensor):
        check_positive("tolerance", tolerance, zero=True)
    return tolerance


def require_manifold(value: object, name: str = "manifold") -> None:
    """Raise unless value is a manifold."""
    if not isinstance(value, Manifold):
        raise TypeError(f"{name} must be a Manifold, got {type(value).__name__}")


def noise(
    *size: int,
    uniform: bool = False,
    generator: torch.Generator | None = None,
    dtype: torch.dtype = torch.float64,
    device: torch.device | None = None,
) -> Tensor:
    """Standard normal numbers, or uniform ones in [-1, 1], drawn where the generator lives and moved to the device."""
    check_size(size)
    check_dtype(dtype)
    if generator is not None and not isinstance(generator, torch.Generator):
        raise TypeError(f"generator must be a torch.Generator, got {generator!r}")
    source = device if generator is None else generator.device
    draw = torch.rand if uniform else torch.randn
    drawn = draw(*size, dtype=dtype, device=source, generator=generator).to(device or source)
    return 2.0 * drawn - 1.0 if uniform else drawn
