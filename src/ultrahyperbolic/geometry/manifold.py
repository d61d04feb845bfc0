"""The interface every manifold of this package has, and what follows from it without knowing the
geometry.
"""

import math
from collections.abc import Callable, Sequence
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
        """The quadric for loops compiled for it; None where only the methods of this class say what
        it is.
        """
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
        """Whether every row of u is finite and tangent at x, its own projection; and the first row
        that is not.
        """
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
        """Whether `projx` maps every row of z onto the manifold, and the first row that it does
        not.
        """
        return self.check_phi(z)

    def assert_point(
        self, x: Tensor, *, name: str = "x", tolerance: float | Tensor | None = None
    ) -> None:
        """Raise ``ValueError`` naming the first row of x that is not on the manifold, and its
        residual.
        """
        validate(self.ambient_dim, **{name: x})
        self._assert(self.check_point(x, tolerance=tolerance), "x", name)

    def assert_tangent(
        self, x: Tensor, u: Tensor, *, name: str = "u", tolerance: float | Tensor | None = None
    ) -> None:
        """Raise ``ValueError`` naming the first row of u that is not tangent at x, and its
        residual.
        """
        validate(self.ambient_dim, **{"x": x, name: u})
        self._assert(self.check_tangent(x, u, tolerance=tolerance), "u", name)

    def assert_phi(self, z: Tensor, *, name: str = "z") -> None:
        """Raise ``ValueError`` naming the first row of z at which `phi` is not defined."""
        validate(self.ambient_dim, **{name: z})
        self._assert(self.check_phi(z), "z", name)

    def assert_projectable(self, z: Tensor, *, name: str = "z") -> None:
        """Raise ``ValueError`` naming the first row of z that `projx` does not map onto the
        manifold.
        """
        validate(self.ambient_dim, **{name: z})
        self._assert(self.check_projectable(z), "z", name)

    def _assert(self, check: Check, own: str, name: str) -> None:
        if not check.ok:
            raise ValueError(f"{self._label()}: {name}{check.reason.removeprefix(own)}")

    def _label(self) -> str:
        return f"{type(self).__name__}({self.extra_repr()})"

    def expmap(self, x: Tensor, u: Tensor) -> Tensor:
        """Exponential map: where the geodesic that leaves x with velocity u is at time 1."""
        return self.geodesic(x, u, 1.0)

    def interpolate(self, x: Tensor, y: Tensor, t: Tensor | float) -> Tensor:
        """The point at the fraction t [...] of the geodesic from x to y; NaN where there is
        none.
        """
        vector, exists = self.logmap(x, y)
        there = exists.unsqueeze(-1)
        # Added, so that no NaN enters the gradient.
        return self.geodesic(x, torch.where(there, vector, 0.0), t) + torch.where(
            there, 0.0, math.nan
        ).to(x.dtype)

    def transp(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        """Parallel transport of v from x to y along the geodesic that joins them; NaN where there
        is none.
        """
        return self.transp_follow_expmap(x, self.logmap(x, y).vector, v)

    def expmap_transp(self, x: Tensor, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """``expmap(x, u)`` and v carried along."""
        return self.expmap(x, u), self.transp_follow_expmap(x, u, v)

    def retr(self, x: Tensor, u: Tensor) -> Tensor:
        """A retraction: agrees with the exponential map to first order, without transcendental
        functions.
        """
        return self.phi(x + u)

    def retr_transp(self, x: Tensor, u: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """``retr(x, u)`` and v carried along; by default projected onto the tangent space there."""
        y = self.retr(x, u)
        return y, self.proju(y, v)

    def sqdist(self, x: Tensor, y: Tensor) -> Tensor:
        """Signed square of `dist`, ⟨log_x y, log_x y⟩: smooth across the light cone; NaN where no
        geodesic.
        """
        return self.sqnorm(self.logmap(x, y).vector)

    def dist(self, x: Tensor, y: Tensor) -> Tensor:
        """Length of the geodesic between x and y; NaN where there is none."""
        return safe_sqrt(self.sqdist(x, y).abs())

    def dissimilarity(self, x: Tensor, y: Tensor) -> Tensor:
        """The dissimilarity that training uses, defined for all pairs; the distance where geodesics
        join them all.
        """
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
        """Whether a geodesic joins every pair of points; where not, `dissimilarity` must be defined
        in another way.
        """
        return True

    def cone_rule(self, x: Tensor, y: Tensor) -> Tensor:
        """The dissimilarity as the authors' scripts have it near a light cone; without a cone the
        dissimilarity.
        """
        return self.dissimilarity(x, y)

    def in_ball(self, x: Tensor, y: Tensor, radius: float | Tensor) -> Tensor:
        """Whether y lies in the ball {y : dist(x, y) < radius} around x (booleans [...]; False
        where no geodesic).
        """
        length = self.dist(x, y)
        validate_scalars("radius", radius, x=x, y=y)
        if not isinstance(radius, Tensor) and radius != radius:
            raise ValueError(f"radius must not be NaN, got {radius}")
        return length < radius

    def pair_function(
        self, dissimilarity: Dissimilarity, epsilon: float | None = None
    ) -> Callable[[Tensor, Tensor], Tensor]:
        """The dissimilarity of a name as a function of points x and y; ``epsilon`` is of the
        smoothed one.
        """
        name = check_dissimilarity(dissimilarity)
        function: Callable[..., Tensor] = getattr(self, METHODS[name])
        if epsilon is None:
            return function
        if name != "smoothed":
            raise ValueError(
                f"epsilon belongs to dissimilarity='smoothed', got dissimilarity={name!r}"
            )
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

        ``dissimilarity`` names what to evaluate and ``epsilon`` is passed to the smoothed one. Rows
        of x are taken ``block_rows`` at a time (default: what keeps temporaries near 32 MiB in
        float64).
        """
        y = x if y is None else y
        validate(self.ambient_dim, x=x)
        validate(self.ambient_dim, y=y)
        if x.dim() != 2 or y.dim() != 2:
            raise ValueError(
                f"cdist takes x [n, d] and y [m, d], got shapes {tuple(x.shape)} and "
                f"{tuple(y.shape)}"
            )
        if block_rows is not None:
            block_rows = check_count("block_rows", block_rows, 1)
        function = self.pair_function(dissimilarity, epsilon)
        rows = block_rows or max(1, _CDIST_ELEMENTS // max(1, y.numel()))
        blocks = [function(block[:, None, :], y[None, :, :]) for block in torch.split(x, rows)]
        return blocks[0] if len(blocks) == 1 else torch.cat(blocks)

    def projx(self, z: Tensor) -> Tensor:
        """Projection onto the manifold of ambient vectors near it, as `check_projectable` says; by
        default φ.
        """
        return self.phi(z)

    def raise_index(self, z: Tensor) -> Tensor:
        """G⁻¹ z, G the matrix of the scalar product: ⟨G⁻¹ z, u⟩ is the dot product z · u for every
        u.
        """
        axes = torch.eye(self.ambient_dim, dtype=z.dtype, device=z.device)
        return _apply(torch.linalg.inv(self.inner(axes.unsqueeze(1), axes)), z)

    def egrad2rgrad(self, x: Tensor, gradient: Tensor) -> Tensor:
        """Df(x) = Π_x(G⁻¹ ∇f) (Eq. 11), the gradient in the manifold's metric, from the Euclidean
        gradient [..., d].

        Where the metric is indefinite its negative is **not** a descent direction: see
        `descent_direction`.
        """
        return self.precondition(x, gradient)

    def precondition(self, x: Tensor, z: Tensor) -> Tensor:
        """P_x z = Π_x(G⁻¹ z), which turns Df into χ: ⟨u, P_x u⟩ = ‖u‖² for tangent u on a
        pseudo-hyperboloid.
        """
        return self.proju(x, self.raise_index(z))

    def preconditioner(self, x: Tensor) -> Tensor:
        """P_x as symmetric matrices [..., d, d]; `precondition` applies it without forming it."""
        return self.precondition(
            x.unsqueeze(-2), torch.eye(self.ambient_dim, dtype=x.dtype, device=x.device)
        )

    def descent_direction(self, x: Tensor, gradient: Tensor) -> Tensor:
        """χ = P_x Df (Eq. 14), from the Euclidean gradient [..., d]: ⟨Df, χ⟩ = ‖Df‖², so -χ
        descends unless Df is 0.
        """
        return self.precondition(x, self.egrad2rgrad(x, gradient))

    def wick_rotation(self, x: Tensor, u: Tensor) -> Tensor:
        """sgn(P_x) u: the part of a tangent vector on which P_x is negative, with its sign
        turned.
        """
        values, vectors = self._spectrum(x)
        return _apply(vectors, values.sign() * _apply(vectors.mT, u))

    def component_sqnorm(self, x: Tensor, u: Tensor) -> Tensor:
        """⟨u, sgn(P_x) u⟩, the squared length of u in the positive definite metric of the surrogate
        direction.

        It is a number for each component of the manifold, in a shape that broadcasts against u:
        [..., 1] by default, as the manifold is one component. Coordinates of flat space are
        components, and so are the factors of products.
        """
        return self.inner(u, self.wick_rotation(x, u), keepdim=True).clamp_min(0.0)

    def representable(self, x: Tensor) -> Tensor:
        """Whether points are finite, and not so far out that rounding hides which manifold they are
        on: bool [...].
        """
        return (0.0 * x).sum(-1) == 0.0  # 0 times what is infinite or NaN is NaN

    def precondition_root(self, x: Tensor, z: Tensor) -> Tensor:
        """|P_x|^½ z, a tangent vector; applied twice to a Euclidean gradient it is the surrogate
        direction.
        """
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
        """|P_x| ∇f = sgn(P_x) Df: the gradient of f in the positive definite metric ⟨u, sgn(P_x)
        v⟩.

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
        """For each of these, by how much f changes because points x follow it, from the Euclidean
        gradient.
        """
        return []

    def follow_curvature(self, x: Tensor, before: Sequence[Tensor]) -> Tensor:
        """Points of the manifold as it was when its parameters were ``before``, on it as it is now,
        by a homothety.
        """
        return x.clone()

    def random(
        self, *size: Size, scale: float = 1.0, generator: Seed = None, **at: Unpack[Spot]
    ) -> Tensor:
        """Random points [*size, d] spread over the manifold; ``scale`` is the spread of the
        unbounded coordinates.

        ``size`` is given as integers or as one tuple, ``generator`` as a generator or as a seed.
        By default the exponential map of normal tangent vectors at the origin, ``scale`` their
        standard deviation.
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
        """The paper's start: the origin with coordinates perturbed uniformly in ±ε√|β|, brought
        onto the manifold.

        ε is relative to the radius √|β|, the norm of the origin, or to 1 where the origin is 0:
        points of every β are equally near their pole. ``perturb_first=False`` keeps the origin's
        own coordinate, its largest, before `projx` maps them, as the authors' scripts do. What it
        does not map is drawn again; ε must be so small that little is.
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
        raise ValueError(
            f"epsilon must be so small that projx maps most draws onto the manifold, got {epsilon}"
        )

    def random_tangent(self, x: Tensor, *, scale: float = 1.0, generator: Seed = None) -> Tensor:
        """Random tangent vectors at x: standard normal ambient vectors times ``scale``,
        projected.
        """
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
    """Standard normal numbers, or uniform ones in [-1, 1], drawn where the generator lives and
    moved to ``like``.
    """
    generator = as_generator(generator)
    source = like.device if generator is None else generator.device
    draw = torch.rand if uniform else torch.randn
    drawn = draw(*size, dtype=like.dtype, device=source, generator=generator).to(like.device)
    return 2.0 * drawn - 1.0 if uniform else drawn
