"""The interface of all manifolds, and what follows from it without knowing the geometry."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Unpack

import torch
from torch import Tensor, nn

from ..checks import check_count, check_positive
from ..spaces.dissimilarities import METHODS, SMOOTHING, Dissimilarity, check_dissimilarity
from .arguments import (
    Check,
    as_generator,
    as_size,
    check_finite,
    check_rows,
    format_row,
    validate,
    validate_scalars,
)
from .functions import safe_sqrt, smooth
from .primitives import Logarithm as Logarithm
from .primitives import Primitives, Quadric, Seed, Size, Spot

_CDIST_ELEMENTS, _REDRAWS = 1 << 22, 100
# Residuals are judged relative to ‖x‖² (points) or ‖x‖‖u‖ (tangents), the size of the terms that
# cancel in them.
_TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-10}


class Manifold(Primitives):
    """A manifold in R^d with closed-form geodesics.

    Points, tangent and ambient vectors are tensors [..., d] of float32 or float64 and broadcast
    over ``...``; scalar results have shape [...]. Argument names tell what is expected: ``x`` and
    ``y`` are points, ``u`` and ``v`` tangent vectors at ``x``, ``z`` any ambient vector. No
    argument is ever modified.

    Shapes and dtypes are always checked, values by the methods ``check_*`` and ``assert_*``.

    A manifold of your own sets ``dim`` and ``ambient_dim`` and defines `inner`, `proju`,
    `geodesic`, `logmap`, `transp_follow_expmap`, `phi` and `origin`. Its metric is that of the
    ambient space, so ``inner`` has no base point. Everything else follows from these; override what
    has a closed form.
    """

    @property
    def quadric(self) -> Quadric | None:
        """The quadric for loops compiled for it; None where this class is all that is known."""
        return None

    def sqnorm(self, u: Tensor, *, keepdim: bool = False) -> Tensor:
        """Squared norm ⟨u, u⟩, signed."""
        return self.inner(u, u, keepdim=keepdim)

    def norm(self, u: Tensor, *, keepdim: bool = False) -> Tensor:
        """√|⟨u, u⟩|; its gradient is 0 by convention where it vanishes."""
        return safe_sqrt(self.sqnorm(u, keepdim=keepdim).abs())

    def causal_character(self, u: Tensor, *, tolerance: float | None = None) -> Tensor:
        """+1 where u is space-like, 0 where null, -1 where time-like (int8 [...]).

        Null means |⟨u, u⟩| <= tolerance · ‖u‖²; the default tolerance is 8 times the unit roundoff
        times d.
        """
        square = self.sqnorm(u)
        if tolerance is None:
            tolerance = 8 * self.ambient_dim * torch.finfo(u.dtype).eps / 2
        check_positive("tolerance", tolerance, zero=True)
        null = square.abs() <= tolerance * u.square().sum(-1)
        return torch.where(null, torch.zeros_like(square), square.sign()).to(torch.int8)

    def check_point(self, x: Tensor, *, tolerance: float | Tensor | None = None) -> Check:
        """Whether every row of x is finite and on the manifold, where φ leaves it; and the first
        row that is not.

        ``tolerance`` is a number, or a tensor [...] with one for each row.
        """
        tolerance = default_tolerance(x.dtype, tolerance)
        residual = (self.phi(x) - x).norm(dim=-1)
        return check_finite("x", x) and check_rows(
            ~(residual <= tolerance * x.norm(dim=-1)),  # NaN is off
            lambda row: (
                f"x{row} is off the manifold: phi moves it by {row.of(residual):.3g} instead of 0 "
                f"(tolerance {row.of(tolerance, residual):.3g}·‖x‖); phi maps it back"
            ),
        )

    def check_tangent(
        self, x: Tensor, u: Tensor, *, tolerance: float | Tensor | None = None
    ) -> Check:
        """Whether every row of u is finite and its own projection; and the first that is not."""
        tolerance = default_tolerance(x.dtype, tolerance)
        residual = (self.proju(x, u) - u).norm(dim=-1)
        rounding = 4.0 * torch.finfo(x.dtype).eps * x.norm(dim=-1)
        finite = check_finite("x", x) and check_finite("u", u)
        return finite and check_rows(
            ~(residual <= tolerance * u.norm(dim=-1) + rounding),
            lambda row: (
                f"u{row} is not tangent: proju moves it by {row.of(residual):.3g} instead of 0 "
                f"(tolerance {row.of(tolerance, residual):.3g}·‖u‖); proju projects it"
            ),
        )

    def check_phi(self, z: Tensor) -> Check:
        """Whether `phi` is defined at every row of z, and the first row at which it is not."""
        return check_finite("z", z) and check_rows(
            ~self.phi(z).isfinite().all(-1),
            lambda row: f"z{row} is where phi is not defined: {format_row(z[row.at])}",
        )

    def check_projectable(self, z: Tensor) -> Check:
        """Whether `projx` maps every row of z onto the manifold, and the first that it does not."""
        return self.check_phi(z)

    def assert_point(
        self, x: Tensor, *, name: str = "x", tolerance: float | Tensor | None = None
    ) -> None:
        """Raise ``ValueError`` with the reason of `check_point`."""
        self._assert(self.check_point, "x", name, x, tolerance=tolerance)

    def assert_tangent(
        self, x: Tensor, u: Tensor, *, name: str = "u", tolerance: float | Tensor | None = None
    ) -> None:
        """Raise ``ValueError`` with the reason of `check_tangent`."""
        validate(self.ambient_dim, **{"x": x, name: u})
        self._assert(partial(self.check_tangent, x), "u", name, u, tolerance=tolerance)

    def assert_phi(self, z: Tensor, *, name: str = "z") -> None:
        """Raise ``ValueError`` naming the first row of z at which `phi` is not defined."""
        self._assert(self.check_phi, "z", name, z)

    def assert_projectable(self, z: Tensor, *, name: str = "z") -> None:
        """Raise ``ValueError`` with the reason of `check_projectable`."""
        self._assert(self.check_projectable, "z", name, z)

    def _assert(
        self, check: Callable[..., Check], own: str, name: str, vector: Tensor, **options: object
    ) -> None:
        validate(self.ambient_dim, **{name: vector})
        ok, reason = check(vector, **options)
        if not ok:
            raise ValueError(f"{self._label()}: {name}{reason.removeprefix(own)}")

    def _label(self) -> str:
        return f"{type(self).__name__}({self.extra_repr()})"

    def expmap(self, x: Tensor, u: Tensor) -> Tensor:
        """Exponential map: where the geodesic that leaves x with velocity u is at time 1."""
        return self.geodesic(x, u, 1.0)

    def interpolate(self, x: Tensor, y: Tensor, t: Tensor | float) -> Tensor:
        """The point at the fraction t [...] of the geodesic from x to y; NaN where none."""
        vector, exists = self.logmap(x, y)
        velocity = torch.where(exists.unsqueeze(-1), vector, 0.0)
        # Added, so that no NaN enters the gradient.
        missing = torch.where(exists.unsqueeze(-1), 0.0, math.nan).to(x.dtype)
        return self.geodesic(x, velocity, t) + missing

    def transp(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from x to y along their geodesic; NaN where there is none."""
        return self.transp_follow_expmap(x, self.logmap(x, y).vector, v)

    def expmap_transp(self, x: Tensor, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """``expmap(x, u)`` and v carried along."""
        return self.expmap(x, u), self.transp_follow_expmap(x, u, v)

    def retr(self, x: Tensor, u: Tensor) -> Tensor:
        """A retraction: the exponential map to first order, without transcendental functions."""
        return self.phi(x + u)

    def retr_transp(self, x: Tensor, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """``retr(x, u)`` and v carried along; by default projected onto the tangent space there."""
        y = self.retr(x, u)
        return y, self.proju(y, v)

    def sqdist(self, x: Tensor, y: Tensor) -> Tensor:
        """Signed square of `dist`, ⟨log_x y, log_x y⟩; NaN where there is no geodesic."""
        return self.sqnorm(self.logmap(x, y).vector)

    def dist(self, x: Tensor, y: Tensor) -> Tensor:
        """Length of the geodesic between x and y; NaN where there is none."""
        return safe_sqrt(self.sqdist(x, y).abs())

    def dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """The dissimilarity of training, for all pairs; the distance where geodesics join them."""
        return self.dist(x, y)

    def broken_dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """Length of the geodesic, or of a once-broken one where there is none."""
        return self.dist(x, y)

    def smoothed_dissimilarity(self, x: Tensor, y: Tensor, epsilon: float = SMOOTHING) -> Tensor:
        """(σ² + ε²)^¼ - √ε with σ = ±d²: a dissimilarity with a finite slope on the light cone."""
        check_positive("epsilon", epsilon)
        return smooth(self.sqdist(x, y), epsilon)

    def extrinsic_dist(self, x: Tensor, y: Tensor) -> Tensor:
        """√|⟨x-y, x-y⟩|, the distance in the ambient space."""
        return safe_sqrt(self.inner(x - y, x - y).abs())

    @property
    def joins_all_pairs(self) -> bool:
        """Whether a geodesic joins every pair; where not, `dissimilarity` must be defined anew."""
        return True

    def cone_rule(self, x: Tensor, y: Tensor) -> Tensor:
        """The dissimilarity as the authors' scripts have it near a light cone."""
        return self.dissimilarity(x, y)

    def in_ball(self, x: Tensor, y: Tensor, radius: float | Tensor) -> Tensor:
        """Whether dist(x, y) < radius, booleans [...]; False where there is no geodesic."""
        length = self.dist(x, y)
        validate_scalars("radius", radius, x=x, y=y)
        if not isinstance(radius, Tensor) and radius != radius:
            raise ValueError(f"radius must not be NaN, got {radius}")
        return length < radius

    def pair_function(
        self, dissimilarity: Dissimilarity, epsilon: float | None = None
    ) -> Callable[[Tensor, Tensor], Tensor]:
        """The dissimilarity of a name as a function; ``epsilon`` is of the smoothed one."""
        name = check_dissimilarity(dissimilarity)
        function: Callable[..., Tensor] = getattr(self, METHODS[name])
        if epsilon is None:
            return function
        if name != "smoothed":
            raise ValueError(f"epsilon belongs to dissimilarity='smoothed', got {name!r}")
        return lambda x, y: function(x, y, epsilon)

    def cdist(
        self,
        x: Tensor,
        y: Tensor | None = None,
        *,
        dissimilarity: Dissimilarity = "distance",
        block_rows: int | None = None,
        epsilon: float | None = None,
    ) -> Tensor:
        """All pairs: x [n, d] and y [m, d] (x itself when omitted) to [n, m].

        Rows of x are taken ``block_rows`` at a time (default: temporaries near 32 MiB in float64).
        """
        y = x if y is None else y
        validate(self.ambient_dim, x=x)
        validate(self.ambient_dim, y=y)
        if x.dim() != 2 or y.dim() != 2:
            shapes = f"{tuple(x.shape)} and {tuple(y.shape)}"
            raise ValueError(f"cdist takes x [n, d] and y [m, d], got shapes {shapes}")
        if block_rows is not None:
            block_rows = check_count("block_rows", block_rows, 1)
        function = self.pair_function(dissimilarity, epsilon)
        rows = block_rows or max(1, _CDIST_ELEMENTS // max(1, y.numel()))
        blocks = [function(block[:, None, :], y[None, :, :]) for block in torch.split(x, rows)]
        return blocks[0] if len(blocks) == 1 else torch.cat(blocks)

    def projx(self, z: Tensor) -> Tensor:
        """Projection of ambient vectors near the manifold, as `check_projectable` says."""
        return self.phi(z)

    def raise_index(self, z: Tensor) -> Tensor:
        """G⁻¹ z, G the matrix of the scalar product: ⟨G⁻¹ z, u⟩ is the dot product z · u."""
        axes = torch.eye(self.ambient_dim, dtype=z.dtype, device=z.device)
        return _apply(torch.linalg.inv(self.inner(axes.unsqueeze(1), axes)), z)

    def egrad2rgrad(self, x: Tensor, gradient: Tensor) -> Tensor:
        """Df(x) = Π_x(G⁻¹ ∇f) (Eq. 11), the gradient in the manifold's metric.

        Where that is indefinite, -Df is **not** a descent direction: see `descent_direction`.
        """
        return self.precondition(x, gradient)

    def precondition(self, x: Tensor, z: Tensor) -> Tensor:
        """P_x z = Π_x(G⁻¹ z), which turns Df into χ; on a pseudo-hyperboloid ⟨u, P_x u⟩ = ‖u‖²."""
        return self.proju(x, self.raise_index(z))

    def preconditioner(self, x: Tensor) -> Tensor:
        """P_x as symmetric matrices [..., d, d]; `precondition` applies it without forming it."""
        axes = torch.eye(self.ambient_dim, dtype=x.dtype, device=x.device)
        return self.precondition(x.unsqueeze(-2), axes)

    def descent_direction(self, x: Tensor, gradient: Tensor) -> Tensor:
        """χ = P_x Df (Eq. 14), from the Euclidean gradient: -χ descends, as ⟨Df, χ⟩ = ‖Df‖²."""
        return self.precondition(x, self.egrad2rgrad(x, gradient))

    def wick_rotation(self, x: Tensor, u: Tensor) -> Tensor:
        """sgn(P_x) u: the part on which P_x is negative with its sign turned."""
        values, vectors = self._spectrum(x)
        return _apply(vectors, values.sign() * _apply(vectors.mT, u))

    def component_sqnorm(self, x: Tensor, u: Tensor) -> Tensor:
        """⟨u, sgn(P_x) u⟩, the squared length of u in a positive definite metric.

        One number for each component, in a shape that broadcasts against u: [..., 1] by default,
        as the manifold is one. Coordinates of flat space and factors of products are components.
        """
        return self.inner(u, self.wick_rotation(x, u), keepdim=True).clamp_min(0.0)

    def representable(self, x: Tensor) -> Tensor:
        """Whether points are finite, and rounding does not hide their manifold: bool [...]."""
        return (0.0 * x).sum(-1) == 0.0  # 0 times what is infinite or NaN is NaN

    def precondition_root(self, x: Tensor, z: Tensor) -> Tensor:
        """|P_x|^½ z, tangent; twice it makes a Euclidean gradient the surrogate direction."""
        values, vectors = self._spectrum(x)
        return _apply(vectors, values.abs().sqrt() * _apply(vectors.mT, z))

    def _spectrum(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Eigenvalues [..., d] and eigenvectors of P_x, 0 for those of the normal space.

        They are constants for autograd: where eigenvalues coincide they have no derivatives.
        """
        values, vectors = torch.linalg.eigh(self.preconditioner(x).detach())
        normal = values.abs().argsort(-1)[..., : self.ambient_dim - self.dim]
        return values.scatter(-1, normal, 0.0), vectors

    def surrogate_direction(self, x: Tensor, gradient: Tensor) -> Tensor:
        """|P_x| ∇f = sgn(P_x) Df, the gradient in the positive definite metric ⟨u, sgn(P_x) v⟩.

        Its negative descends like -χ = -P_x² ∇f, and is stretched less far from the pole. Where the
        metric is definite it is the Riemannian gradient.
        """
        return self.wick_rotation(x, self.egrad2rgrad(x, gradient))

    @property
    def learnable(self) -> bool:
        """Whether the manifold itself depends on learned parameters."""
        return bool(self.curvature_parameters())

    def curvature_parameters(self) -> list[nn.Parameter]:
        """The learned parameters on which the manifold itself depends; none by default."""
        return []

    def homothety_slopes(self, x: Tensor, gradient: Tensor) -> list[Tensor]:
        """For each of these, how f changes because points follow it."""
        return []

    def follow_curvature(self, x: Tensor, before: Sequence[Tensor]) -> Tensor:
        """Points from where the parameters were ``before``, brought here by a homothety."""
        return x.clone()

    def random(
        self, *size: Size, scale: float = 1.0, generator: Seed = None, **at: Unpack[Spot]
    ) -> Tensor:
        """Random points [*size, d]; ``scale`` is the spread of the unbounded coordinates.

        ``size`` is given as integers or as one tuple, ``generator`` as a generator or as a seed.
        By default the exponential map of normal tangent vectors of that deviation at the origin.
        """
        origin = self.origin(*size, **at)
        return self.expmap(origin, self.random_tangent(origin, scale=scale, generator=generator))

    def random_near_pole(
        self,
        *size: Size,
        epsilon: float = 0.1,
        generator: Seed = None,
        perturb_first: bool = True,
        **at: Unpack[Spot],
    ) -> Tensor:
        """The paper's start: the origin with coordinates perturbed uniformly in ±ε√|β|, projected.

        ε is relative to the norm of the origin, √|β|, or to 1 where that is 0.
        ``perturb_first=False`` keeps the origin's largest coordinate before `projx` maps them, as
        the authors' scripts do. What `projx` does not map is drawn again.
        """
        size = as_size(size)
        check_positive("epsilon", epsilon)
        pole, generator = self.origin(**at), as_generator(generator)
        radius, first = pole.norm(), int(pole.abs().argmax())
        reach = epsilon * torch.where(radius > 0, radius, 1.0)

        def draw(*shape: int) -> Tensor:
            z = noise(*shape, self.ambient_dim, like=pole, uniform=True, generator=generator)
            if not perturb_first:
                z[..., first] = 0.0
            return self.projx(pole + reach * z)

        x = draw(*size)
        for _ in range(_REDRAWS):
            lost = ~x.isfinite().all(-1)
            if not lost.any():
                return x
            x[lost] = draw(int(lost.sum()))
        raise ValueError(f"epsilon must be so small that projx maps most draws, got {epsilon}")

    def random_tangent(self, x: Tensor, *, scale: float = 1.0, generator: Seed = None) -> Tensor:
        """Random tangent vectors at x: normal ambient vectors times ``scale``, projected."""
        check_positive("scale", scale, zero=True)
        return self.proju(x, scale * noise(*x.shape, like=x, generator=generator))


def _apply(matrix: Tensor, z: Tensor) -> Tensor:
    """matrix · z, elementwise: autocast would round a product of matrices to half precision."""
    return (matrix * z.unsqueeze(-2)).sum(-1)


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


def noise(*size: int, like: Tensor, uniform: bool = False, generator: Seed = None) -> Tensor:
    """Standard normal numbers, or uniform ones in [-1, 1], drawn where the generator lives."""
    generator = as_generator(generator)
    source = like.device if generator is None else generator.device
    draw = torch.rand if uniform else torch.randn
    drawn = draw(*size, dtype=like.dtype, device=source, generator=generator).to(like.device)
    return 2.0 * drawn - 1.0 if uniform else drawn
