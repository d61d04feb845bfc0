"""A public battery for manifolds: every property a geometry of this package must have, to run on
your own as well.

>>> from ultrahyperbolic import PseudoHyperboloid
>>> from ultrahyperbolic.testing import check_manifold
>>> check_manifold(PseudoHyperboloid(2, 1, beta=-4.0)).failed
{}

Tolerances are scaled by the dtype's unit roundoff and by the size of the terms that cancel. A
property that does not apply (tangency in flat space, say) is skipped, with the reason. An attribute
``beta`` marks a quadric ⟨x, x⟩ = β.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import torch
from torch import Tensor

from .checks import check_callable, check_count, check_positive
from .geometry import Logarithm, Manifold
from .geometry.arguments import VECTORS, as_number, check_dtype, validate
from .geometry.manifold import require_manifold
from .geometry.primitives import Spot
from .spaces.dissimilarities import DISSIMILARITIES, METHODS

__all__ = ["ManifoldReport", "check_gradient", "check_manifold", "properties", "random_isometry"]

# The methods that say how far apart two points are; the authors' rule jumps near the cone.
_DISTANCES = tuple(name for name in METHODS.values() if name != "cone_rule")
# Smooth methods.
_SMOOTH = (
    *("expmap", "retr", "logmap", "transp", "transp_follow_expmap", "proju", "phi", "projx"),
    *("egrad2rgrad", "precondition", "descent_direction", "surrogate_direction"),
    *("precondition_root", "sqdist", *_DISTANCES),
)
# What is given for arguments other than points x and y and a tangent vector u at x.
_GIVEN = {"v": "u", "z": "y", "gradient": "y"}

Property = Callable[["_Sample"], None]


class _Skip(Exception):  # noqa: N818 - not an error
    """Raised by a property that does not apply."""


@dataclass(frozen=True)
class ManifoldReport:
    """What `check_manifold` found: properties that passed, failed and do not apply, and why."""

    passed: list[str]
    failed: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


def properties() -> dict[str, str]:
    """The names of all properties, with what each demands."""
    return {name: (function.__doc__ or "").strip() for name, function in _PROPERTIES.items()}


def check_manifold(
    manifold: Manifold,
    *,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str | None = None,
    n: int = 64,
    seed: int = 0,
    only: list[str] | None = None,
    raises: bool = True,
) -> ManifoldReport:
    """Run the battery on a manifold of the package, or on a class of your own with the same
    interface.

    Each property is judged on ``n`` random points, drawn with a ``seed`` on a ``device`` (default:
    the CPU), in float64 or float32, though ``gradcheck`` runs in float64 alone. ``only`` names the
    properties to run; see `properties`. With ``raises``, an ``AssertionError`` lists the failures;
    without, they are only reported.
    """
    require_manifold(manifold)
    check_dtype(dtype)
    n = check_count("n", n, 1)
    place = torch.device(device or "cpu")
    return _check(_PROPERTIES, lambda: _Sample(manifold, dtype, place, n, seed), only, raises)


def _check(
    properties: dict[str, Property],
    sample: Callable[[], _Sample],
    only: list[str] | None,
    raises: bool,
) -> ManifoldReport:
    """Run properties, each on a sample of its own."""
    unknown = set(only or ()) - set(properties)
    if unknown:
        names = ", ".join(properties)
        raise ValueError(f"no property called {', '.join(sorted(unknown))}; there are {names}")
    report = ManifoldReport([])
    for name in properties if only is None else filter(set(only).__contains__, properties):
        try:
            properties[name](sample())
        except _Skip as reason:
            report.skipped[name] = str(reason)
        except Exception as error:  # a broken manifold may fail in any way
            kind = f"{type(error).__name__}: ".removeprefix("AssertionError: ")
            report.failed[name] = f"{kind}{error}"
        else:
            report.passed.append(name)
    if raises and report.failed:
        lines = "\n".join(f"  {name}: {problem}" for name, problem in report.failed.items())
        raise AssertionError(f"{sample().manifold} fails {len(report.failed)} properties:\n{lines}")
    return report


def check_gradient(
    function: Callable[[Tensor], Tensor], x: Tensor, manifold: Manifold, *, seed: int = 0
) -> tuple[bool, float]:
    """Whether f(exp_x(t u)) = f(x) + t⟨Df, u⟩ + O(t²), and the remainder's log-log slope (2).

    For a random tangent direction u at x [..., d] in float64, and autograd's gradient of
    ``function``. One that is linear along geodesics passes with slope infinity.
    """
    check_callable("function", function)
    require_manifold(manifold)
    validate(manifold.ambient_dim, x=x)
    generator = torch.Generator(device=x.device).manual_seed(seed)
    u = manifold.random_tangent(x.detach(), generator=generator)
    variable = x.detach().clone().requires_grad_()
    value = function(variable)
    (gradient,) = torch.autograd.grad(value, variable)
    slope = manifold.inner(manifold.egrad2rgrad(x.detach(), gradient), u).sum()
    times = torch.logspace(-5, -2, 16, dtype=torch.float64, device=x.device)
    with torch.no_grad():
        along = [manifold.geodesic(x.detach(), u, float(t)) for t in times]
        reached = torch.stack([function(points).double() for points in along])
    remainder = (reached - value.detach() - times * slope).abs()
    noise = 64 * torch.finfo(x.dtype).eps * (value.detach().abs() + reached.abs())
    usable = remainder > noise
    if usable.sum() < 4:
        return True, math.inf
    fitted = float(np.polyfit(times[usable].log().cpu(), remainder[usable].log().cpu(), 1)[0])
    return fitted > 1.9, fitted


def random_isometry(
    manifold: Manifold, *, generator: torch.Generator | None = None, boost: float = 0.5
) -> Tensor:
    """A random matrix [d, d] that preserves ⟨·,·⟩ and the manifold, its sheet where there are two.

    For flat space and quadrics ⟨x, x⟩ = β.
    """
    require_manifold(manifold)
    check_positive("boost", boost, zero=True)
    metric = _metric(manifold)
    d, negative = manifold.ambient_dim, metric < 0
    noise = torch.randn(d, d, dtype=torch.float64, generator=generator)
    skew = noise - noise.T
    # exp of a matrix A with A^T G + G A = 0 is an isometry; mixed entries, boosts, are kept small.
    mixed = negative[:, None] != negative[None, :]
    sizes = torch.where(mixed, boost / math.sqrt(d), 1.0)
    matrix = torch.linalg.matrix_exp(sizes * (metric[:, None] * skew))
    flips = torch.where(torch.rand(d, dtype=torch.float64, generator=generator) < 0.5, -1.0, 1.0)
    if getattr(manifold, "beta", None) is not None:
        for axes in (negative.nonzero(), (~negative).nonzero()):
            if len(axes) == 1 and manifold.origin()[axes[0]] > 0:
                flips[axes[0]] = 1.0
    isometry: Tensor = flips[:, None] * matrix
    return isometry


def _metric(manifold: Manifold) -> Tensor:
    """The diagonal [d] of the metric, ±1."""
    return manifold.raise_index(torch.ones(manifold.ambient_dim, dtype=torch.float64))


class _Sample:
    """A manifold with random points and vectors on it, and the tolerances that belong to them."""

    def __init__(
        self, manifold: Manifold, dtype: torch.dtype, device: torch.device, n: int, seed: int
    ) -> None:
        self.manifold, self.dtype, self.device, self.n = manifold, dtype, device, n
        self.generator = torch.Generator().manual_seed(seed)
        beta = getattr(manifold, "beta", None)
        self.beta = None if beta is None else as_number("beta", beta)
        self.flat = beta is None and manifold.dim == manifold.ambient_dim
        self.metric = _metric(manifold)
        length = manifold.origin().norm().item() or 1.0
        self.radius = length if self.beta is None else math.sqrt(abs(self.beta))

    @property
    def definite_sign(self) -> float:
        """The sign of ⟨u, u⟩ on tangent vectors, 0 where it has both or is not known."""
        return 1.0 if (self.metric > 0).all() else -1.0 if (self.metric < 0).all() else 0.0

    def room(self, x: Tensor, y: Tensor) -> Tensor:
        """1 + ⟨x, y⟩/β, which vanishes at the antipode of x on a quadric; 1 where there is no β."""
        if self.beta is None:
            return torch.ones_like(x[..., 0])
        return 1.0 + self.manifold.inner(x, y) / self.beta

    def places(self, x: Tensor) -> dict[str, Tensor]:
        """Points beside x at which distances are not smooth."""
        return {"x = y": x.clone()}

    def normals(self, x: Tensor) -> Tensor:
        """Vectors normal to the manifold at x [..., d], as long as x."""
        if self.beta is not None:
            return x
        z = self.gradients(x)
        normal = z - self.manifold.proju(x, z)
        normal *= x.norm(dim=-1, keepdim=True) / normal.norm(dim=-1, keepdim=True)
        return normal

    def points(self, n: int | None = None, scale: float = 0.7) -> Tensor:
        at = Spot(dtype=self.dtype, device=self.device)
        return self.manifold.random(n or self.n, scale=scale, generator=self.generator, **at)

    def tangents(self, x: Tensor, length: float = 0.5) -> Tensor:
        """Tangent vectors of Euclidean length about ``length`` times the radius."""
        u = self.manifold.random_tangent(x, generator=self.generator)
        # Projected again: little may be left of a normal vector, and scaling enlarges its rounding.
        return self.manifold.proju(x, u * (length * self.radius / u.norm(dim=-1, keepdim=True)))

    def gradients(self, x: Tensor) -> Tensor:
        return torch.randn(x.shape, dtype=torch.float64, generator=self.generator).to(x)

    def close(
        self, a: Tensor | float, b: Tensor | float, what: str, *scales: Tensor | float
    ) -> None:
        """Fail unless |a - b| is within rounding of the product of the scales, or of 1."""
        a_, b_, *factors = (
            torch.as_tensor(value, dtype=torch.float64).cpu() for value in (a, b, *scales)
        )
        scale = torch.tensor(1.0, dtype=torch.float64)
        for factor in factors:
            scale = scale * (factor.unsqueeze(-1) if 0 < factor.dim() < a_.dim() else factor)
        error = (a_ - b_).abs() / (4096 * torch.finfo(self.dtype).eps * scale.clamp_min(1e-300))
        if not bool((error <= 1.0).all()):  # NaN must fail
            worst = float(error.nan_to_num(math.inf).max())
            raise AssertionError(f"{what}: off by {worst:.3g} times the tolerance")

    def same(self, a: Tensor, b: Tensor, what: str) -> None:
        """Fail unless both are NaN in the same places and close elsewhere."""
        _demand(a.isnan() == b.isnan(), what)
        self.close(a.nan_to_num(0.0), b.nan_to_num(0.0), what, 1.0 + b.nan_to_num(0.0).abs())

    def on_manifold(self, points: Tensor, made_by: str) -> None:
        ok, reason = self.manifold.check_point(points)
        _demand(ok, f"{made_by} leaves the manifold: {reason}")

    def change(self, x: Tensor, gradient: Tensor, direction: Tensor) -> Tensor:
        """How much the function with this constant gradient changes by a short step."""
        step = 1e-3 * self.radius / direction.norm(dim=-1, keepdim=True)
        moved = self.manifold.expmap(x, step * direction)
        return (gradient * moved).sum(-1) - (gradient * x).sum(-1)

    def condition(self, *points: Tensor) -> Tensor:
        """∏ max(1, ‖x‖²/|β|) [...]: how much larger the cancelling terms are than the result."""
        factors = ((x.double().square().sum(-1) / self.radius**2).clamp_min(1.0) for x in points)
        return reduce(torch.mul, factors)

    def size(self, *points: Tensor) -> Tensor:
        """The condition times the radius: the size of terms of the length of points."""
        return self.condition(*points) * self.radius


def _demand(condition: Tensor | bool, what: str) -> None:
    if not bool(torch.as_tensor(condition).all()):
        raise AssertionError(what)


def _derivative(function: Callable[[Tensor], Tensor], t: Tensor) -> Tensor:
    slope: Tensor = torch.func.jvp(function, (t,), (torch.ones_like(t),))[1]
    return slope


def membership(s: _Sample) -> None:
    """All maps that return points stay on the manifold; the checks notice what does not."""
    M, x = s.manifold, s.points()
    u, place = s.tangents(x), Spot(dtype=s.dtype, device=s.device)
    made = {
        "random": x,
        "origin": M.origin(3, **place),
        "random_near_pole": M.random_near_pole(s.n, epsilon=0.1, generator=s.generator, **place),
        "expmap": M.expmap(x, u),
        "retr": M.retr(x, u),
        "phi": M.phi(x + 0.1 * s.radius * s.gradients(x).tanh()),
        "projx": M.projx(x * 1.5),
    }
    for name, points in made.items():
        s.on_manifold(points, name)
        _demand(points.dtype == s.dtype, f"{name} changes the dtype to {points.dtype}")
    off, broken = x + 0.01 * s.normals(x), x.clone()
    broken[-1, 0] = math.nan
    _demand(s.flat or not M.check_point(off).ok, "check_point accepts points off the manifold")
    _demand(not M.check_point(broken).ok, "check_point accepts NaN")


def tangency(s: _Sample) -> None:
    """proju is an idempotent projection; logarithms, transport and gradients are tangent."""
    if s.flat:
        raise _Skip("the manifold is flat: every vector is tangent")
    M, x, y = s.manifold, s.points(), s.points()
    z, v, log = s.gradients(x), s.tangents(x), M.logmap(x, y)
    projected = M.proju(x, z)
    s.close(M.proju(x, projected), projected, "proju is not idempotent", s.condition(x) ** 2)
    made = {
        "logmap": (x[log.exists], log.vector[log.exists]),
        "transp": (y[log.exists], M.transp(x, y, v)[log.exists]),
        "transp_follow_expmap": (M.expmap(x, v), M.transp_follow_expmap(x, v, v)),
        "random_tangent": (x, M.random_tangent(x, generator=s.generator)),
        "proju": (x, projected),
    }
    directions = ("egrad2rgrad", "descent_direction", "surrogate_direction", "precondition_root")
    for name in directions:
        made[name] = x, getattr(M, name)(x, z)
    usual = z.double().norm(dim=-1).mean()
    for name, (base, vector) in made.items():
        sizes = base.double().norm(dim=-1) * (vector.double().norm(dim=-1) + usual)
        product = M.inner(s.normals(base), vector)
        s.close(product, 0.0, f"{name} is not tangent", sizes, s.condition(base))
    _demand(not M.check_tangent(x, s.normals(x)).ok, "check_tangent accepts the normal")


def geodesic_equation(s: _Sample) -> None:
    """γ'(0) = u, γ'' is normal (-⟨u, u⟩γ/β on a quadric), γ continues itself, exp is γ(1)."""
    M, x = s.manifold, s.points()
    u, t = s.tangents(x), torch.linspace(-1.5, 1.5, s.n, dtype=s.dtype, device=s.device)
    s.close(M.geodesic(x, u, 0.0), x, "γ(0) is not x", x.abs().clamp_min(s.radius))
    s.close(M.geodesic(x, u, 1.0), M.expmap(x, u), "γ(1) is not exp", s.size(x))

    def velocity(t: Tensor) -> Tensor:
        return _derivative(lambda t: M.geodesic(x, u, t), t)

    scale = s.size(x) * 32.0
    s.close(velocity(0 * t), u, "γ'(0) is not u", scale)
    acceleration, reached = _derivative(velocity, t), M.geodesic(x, u, t)
    if s.beta is None:
        s.close(M.proju(reached, acceleration), 0.0, "γ'' is not normal", scale, s.condition(x))
    else:
        curving = -M.sqnorm(u, keepdim=True) / s.beta
        s.close(acceleration, curving * reached, "γ'' is not -⟨u, u⟩γ/β", scale, s.condition(x))
    halfway = M.geodesic(x, u, 0.5)
    onward = M.geodesic(halfway, M.transp_follow_expmap(x, 0.5 * u, u), t)
    whole = M.geodesic(x, u, t + 0.5)
    s.close(onward, whole, "γ does not continue itself", scale, s.condition(x) ** 2)


def exp_log(s: _Sample) -> None:
    """log inverts exp within the injectivity radius and exp inverts log wherever it exists."""
    M, x, z = s.manifold, s.points(), s.points()
    u = s.tangents(x)
    y = M.expmap(x, u)
    vector, exists = M.logmap(x, y)
    _demand(exists, "log does not exist near x")
    scale = s.condition(x) ** 1.5 * s.radius
    s.close(vector, u, "log does not invert exp", scale)
    s.close(M.dist(x, y), M.norm(u), "dist is not the length of the geodesic", scale, 64.0)
    vector, exists = M.logmap(x, z)
    reached = M.expmap(x[exists], vector[exists])
    near_antipode = s.room(x, z)[exists].clamp_min(1e-6).rsqrt()
    s.close(reached, z[exists], "exp does not invert log", s.size(x, z)[exists] * near_antipode)
    s.close(M.logmap(x, x).vector, 0.0, "log_x(x) is not 0", s.radius)


def transport(s: _Sample) -> None:
    """Transport preserves ⟨·,·⟩, carries velocities, agrees along both routes, and reverses."""
    M, x = s.manifold, s.points()
    u, v, w = s.tangents(x), s.tangents(x), s.tangents(x)
    y, carried = M.expmap_transp(x, u, v)
    scale, condition = s.size(x, y), s.condition(x)
    s.close(y, M.expmap(x, u), "expmap_transp differs from expmap", s.size(x))
    s.close(carried, M.transp_follow_expmap(x, u, v), "the two transports along exp differ", scale)
    s.close(M.transp(x, y, v), carried, "transport along log and exp differ", scale, condition)
    product = M.inner(carried, M.transp_follow_expmap(x, u, w))
    s.close(product, M.inner(v, w), "transport changes ⟨v, w⟩", scale, s.size(x))
    back = M.transp(y, x, carried)
    s.close(back, v, "transport does not reverse", scale, s.condition(x, y))
    ahead = M.geodesic(y, M.transp_follow_expmap(x, u, u), 0.5)
    s.close(ahead, M.geodesic(x, u, 1.5), "transport does not carry the velocity", scale, 16.0)


def symmetry(s: _Sample) -> None:
    """All dissimilarities are symmetric, non-negative and 0 at x = y."""
    M, x, y = s.manifold, s.points(), s.points()
    for name in _DISTANCES:
        measure = getattr(M, name)
        there, back = measure(x, y), measure(y, x)
        _demand(there.isnan() == back.isnan(), f"{name} exists in one direction only")
        there, back = there.nan_to_num(0.0), back.nan_to_num(0.0)
        _demand(there >= 0, f"{name} is negative")
        s.close(there, back, f"{name} is not symmetric", 1.0 + there.abs(), s.condition(x, y))
        s.close(measure(x, x), 0.0, f"{name}(x, x) is not 0", 1e-3)


def isometry_invariance(s: _Sample) -> None:
    """Isometries of the ambient space keep dissimilarities and commute with exp and log."""
    M, x, y = s.manifold, s.points(), s.points()
    matrix = random_isometry(M, generator=s.generator).to(x)
    turned_x, turned_y = x @ matrix.T, y @ matrix.T
    ok, reason = M.check_point(turned_x, tolerance=1e-3 if s.dtype == torch.float32 else 1e-8)
    if s.beta is None and not ok:
        raise _Skip("isometries of the ambient space do not preserve the manifold")
    _demand(ok, f"the isometry leaves the manifold: {reason}")
    growth = s.condition(x, y, turned_x, turned_y)
    for name in _DISTANCES:
        before, after = getattr(M, name)(x, y), getattr(M, name)(turned_x, turned_y)
        both = before.isfinite() & after.isfinite()
        _demand(both.any(), f"{name} is never defined")
        # d has an infinite slope on the cone: what is compared is the square, which has not.
        square = (1.0 + before[both].square()) * growth[both]
        s.close(after[both].square(), before[both].square(), f"{name} is not invariant", square)
    u = s.tangents(x)
    moved, expected = M.expmap(turned_x, u @ matrix.T), M.expmap(x, u) @ matrix.T
    s.close(moved, expected, "exp does not commute with isometries", growth, s.radius)
    (vector, exists), (turned, still) = M.logmap(x, y), M.logmap(turned_x, turned_y)
    room, both = s.room(x, y), exists & still
    scale, expected = growth / room.clamp_min(1e-6) * s.radius, vector @ matrix.T
    s.close(turned[both], expected[both], "log does not commute with isometries", scale[both])
    clear = room.abs() > 1e-3 * growth.sqrt()
    _demand((exists == still)[clear], "log exists on one side of an isometry only")


def phi_and_projx(s: _Sample) -> None:
    """φ and projx leave points of the manifold alone and map onto it what their checks allow."""
    M, x = s.manifold, s.points()
    s.close(M.phi(x), x, "φ(x) is not x", s.size(x))
    s.close(M.projx(x), x, "projx(x) is not x", s.condition(x) ** 1.5, s.radius)
    z = 3.0 * s.gradients(x)
    rescaled = M.projx(z)
    mapped = rescaled.isfinite().all(-1)
    s.on_manifold(M.phi(z), "φ")
    s.on_manifold(rescaled[mapped], "projx")
    allowed = M.check_projectable(z).ok
    _demand(allowed == bool(mapped.all()), "check_projectable allows what projx does not map")
    _demand(M.check_projectable(z[mapped]).ok, "check_projectable refuses what projx maps")


def retraction(s: _Sample) -> None:
    """retr(x, 0) = x and retr agrees with exp to first order."""
    M, x = s.manifold, s.points()
    u, zero = s.tangents(x), torch.zeros((), dtype=s.dtype, device=s.device)
    s.close(M.retr(x, 0.0 * u), x, "retr(x, 0) is not x", s.size(x))
    slope, scale = _derivative(lambda t: M.retr(x, t * u), zero), s.condition(x) ** 1.5
    s.close(slope, u, "the derivative of retr is not the identity", scale, s.radius)


def descent(s: _Sample) -> None:
    """⟨Df, χ⟩ = ‖Df‖² with Df = Π_x(G∇f), Df is the differential, and -χ decreases functions."""
    M, x = s.manifold, s.points()
    gradient, u, condition = s.gradients(x), s.tangents(x), s.condition(x)
    rgrad, chi = M.egrad2rgrad(x, gradient), M.descent_direction(x, gradient)
    slope, square = (gradient * u).sum(-1), rgrad.double().square().sum(-1)
    size = square.clamp_min(1.0)
    s.close(M.inner(rgrad, u), slope, "⟨Df, u⟩ is not df(u)", condition**1.5, s.radius * 16)
    s.close(M.inner(rgrad, chi), square, "⟨Df, χ⟩ is not ‖Df‖²", size, condition**2)
    s.close(chi, M.precondition(x, rgrad), "χ is not P_x Df", size, condition)
    s.close(M.descent_direction(x, 0 * gradient), 0.0, "χ is not 0 for a vanishing gradient", 1e-6)
    _demand((s.change(x, gradient, -chi) < 0)[square > 1e-2], "-χ is not a descent direction")


def surrogate(s: _Sample) -> None:
    """The surrogate is |P_x|∇f: it ascends, and is ±Df where the metric is definite."""
    M, x = s.manifold, s.points()
    gradient = s.gradients(x)
    rgrad, direction = M.egrad2rgrad(x, gradient), M.surrogate_direction(x, gradient)
    values, vectors = torch.linalg.eigh(M.preconditioner(x).double().cpu())
    absolute = (vectors * values.abs().unsqueeze(-2)) @ vectors.mT
    expected = (absolute @ gradient.double().cpu().unsqueeze(-1)).squeeze(-1)
    root = M.precondition_root(x, M.precondition_root(x, gradient))
    condition = s.condition(x)
    equal = {
        "it is not |P_x|∇f": (direction, expected),
        "|P_x|^½ twice is not |P_x|": (root, direction),
        "it is not sgn(P_x) Df": (M.wick_rotation(x, rgrad), direction),
        "sgn(P_x) twice is not the identity": (M.wick_rotation(x, direction), rgrad),
    }
    if s.definite_sign:
        equal["it is not the Riemannian gradient"] = direction, s.definite_sign * rgrad
    for what, (a, b) in equal.items():
        s.close(a, b, what, gradient.double().norm(dim=-1), condition)
    steep = rgrad.double().square().sum(-1) > 1e-2 * condition**2
    slope = (gradient.double() * direction.double()).sum(-1)
    _demand((slope > 0)[steep], "it does not ascend")
    change = s.change(x, gradient, -direction)
    _demand((change < 0)[steep], "its negative does not decrease functions")


def finite_gradients(s: _Sample) -> None:
    """Gradients are finite; 0 by convention at x = y and, for d_γ, at the antipode."""
    x = s.points()
    names = (*_DISTANCES, "sqdist", "expmap", "logmap", "norm", "transp_follow_expmap")
    kinked = set(_DISTANCES) - {"smoothed_dissimilarity"}
    for place, y in s.places(x).items():
        for name in names:
            zero = name in kinked if place == "x = y" else (place, name) == ("the antipode", "dist")
            for gradient in _gradients(s, name, x, y):
                _demand(gradient.isfinite(), f"the gradient of {name} at {place} is not finite")
                if zero:
                    _demand(gradient == 0, f"the gradient of {name} at {place} is not 0")


def _called(manifold: Manifold, name: str, **given: Tensor) -> Tensor:
    """What a method gives of those of x, y and u that it takes; of a logarithm the vector."""
    result = getattr(manifold, name)(*(given[letter] for letter in _takes(name)))
    vector: Tensor = result.vector if isinstance(result, Logarithm) else result
    return vector


def _takes(name: str) -> list[str]:
    """Which of x, y and u are given for a method's arguments."""
    parameters = inspect.signature(getattr(Manifold, name)).parameters
    return [_GIVEN.get(key, key) for key in parameters if key in VECTORS]


def _gradients(s: _Sample, name: str, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
    u = s.manifold.proju(a, b - a)
    # No longer than 8√|β|: cosh of what joins far points, projected, is beyond every float.
    u = u * (8.0 * s.radius / u.detach().norm(dim=-1, keepdim=True).clamp_min(8.0 * s.radius))
    result = s.manifold.norm(a - b) if name == "norm" else _called(s.manifold, name, x=a, y=b, u=u)
    return torch.autograd.grad(result.nan_to_num(0.0).sum(), (a, b), materialize_grads=True)


# What a manifold without closed forms gets from eigenvectors, which are constants for autograd.
_BY_EIGENVECTORS = {
    "surrogate_direction": "wick_rotation",
    "precondition_root": "precondition_root",
}


def gradcheck(s: _Sample) -> None:
    """Autograd agrees with finite differences in float64, away from the cone and the antipode."""
    if s.dtype != torch.float64:
        raise _Skip("needs float64")
    M, x, y = s.manifold, s.points(), s.points()
    clear = (M.sqdist(x, y).abs() > 0.1 * s.radius**2) & (s.room(x, y) > 0.1)
    x, y = (points[clear][:4] for points in (x, y))
    given = {"x": x, "y": y, "u": s.tangents(x)}
    for name in _SMOOTH:
        default = _BY_EIGENVECTORS.get(name)
        if default and getattr(type(M), default) is getattr(Manifold, default):
            continue
        # Each point has a result of its own, so all are moved at once.
        letters = sorted(set(_takes(name)))
        moves = tuple(torch.zeros_like(x[0], requires_grad=True) for _ in letters)

        def moved(*by: Tensor, name: str = name, letters: list[str] = letters) -> Tensor:
            sums = {key: given[key] + move for key, move in zip(letters, by, strict=True)}
            return _called(M, name, **sums)

        ok = torch.autograd.gradcheck(moved, moves, raise_exception=False, atol=1e-5, rtol=1e-4)
        _demand(ok, f"autograd and finite differences disagree on {name}")


def arguments_untouched(s: _Sample) -> None:
    """No method modifies its arguments."""
    x, y = s.points(), s.points()
    given = {"x": x, "y": y, "u": s.tangents(x)}
    kept = {letter: tensor.clone() for letter, tensor in given.items()}
    for name in _SMOOTH:
        _called(s.manifold, name, **given)
        for letter, before in kept.items():
            _demand(before == given[letter], f"{name} modifies an argument")


def broadcasting(s: _Sample) -> None:
    """Methods broadcast, cdist equals the pairwise loop, and vmap equals the batch."""
    M, x, y = s.manifold, s.points(6), s.points(5)
    for name in DISSIMILARITIES:
        function = M.pair_function(name)
        whole = function(x[:, None], y[None])
        _demand(whole.shape == (6, 5), f"broadcasting gives shape {tuple(whole.shape)}")
        blocks = M.cdist(x, y, dissimilarity=name, block_rows=4)
        single = torch.stack([torch.stack([function(a, b) for b in y]) for a in x])
        _demand(single.dtype == s.dtype, f"{name} of single points has dtype {single.dtype}")
        s.same(blocks, whole, f"cdist differs from dissimilarity {name!r}")
        s.same(single, whole, f"dissimilarity {name!r} of single points differs")
    u, mapped = s.tangents(x), torch.func.vmap
    s.close(mapped(M.expmap)(x, u), M.expmap(x, u), "vmap of expmap differs", s.size(x))
    logs, expected = mapped(M.logmap)(x[:5], y), M.logmap(x[:5], y)
    _demand(logs.exists == expected.exists, "vmap of logmap differs")
    s.same(logs.vector, expected.vector, "vmap of logmap differs")


_ALL: tuple[Property, ...] = (
    *(membership, tangency, geodesic_equation, exp_log, transport, symmetry, isometry_invariance),
    *(phi_and_projx, retraction, descent, surrogate, finite_gradients, gradcheck),
    *(arguments_untouched, broadcasting),
)
_PROPERTIES = {function.__name__: function for function in _ALL}
