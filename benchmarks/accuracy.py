"""How accurate exp, log, d_γ and D_γ are, judged by arithmetic with 100 digits.

    python benchmarks/accuracy.py                # print the tables; exit 1 if the bar is missed
    python benchmarks/accuracy.py --docs docs    # write the tables of docs/accuracy.md and
    docs/accuracy.png

An exact point x*, an exact tangent vector ξ* and y* = exp_{x*}(ξ*) are made in 100-digit arithmetic
and rounded to the dtype: those are the inputs. The truth is the function at the values *before*
rounding, so the unavoidable effect of rounding the inputs, at most u Σ|∂f/∂x_i||x_i| to first
order, counts as error and is the unit of every ratio here. The closed forms and derivatives below
are written from the paper (Eqs. 5, 7, 8, 9) and share no code with the package.
"""

import math
import random
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
import torch
from bench import Figures, Panel, draw, fill, parser, save, table
from torch import Tensor

from ultrahyperbolic import PseudoHyperboloid

BAR = 16
SIGNATURES = ((4, 0), (0, 4), (1, 3), (3, 1), (2, 2), (5, 4))
BETAS = (-0.25, -1.0, -4.0)
DTYPES = {"float64": torch.float64, "float32": torch.float32}
ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24}
FUNCTIONS = ("exp", "log", "d", "D")
REGULAR, ANTIPODE, ALMOST_NULL = "regular", "near the antipode", "almost null"
FAR, NO_GEODESIC, FAR_OUT = "far from the pole", "no geodesic", "near pairs far out"
SUITES = (REGULAR, ANTIPODE, ALMOST_NULL, FAR, NO_GEODESIC, FAR_OUT)
HEIGHTS = (1.0, 1e2, 1e4, 1e6)
NEAR = 0.01

# The smallest angle is about 1e-14: its cosine differs from 1 in the 29th digit, and 100 digits
# leave 50 everywhere. What is closer to 1 than _NULL can only belong to a null pair.
mp = mpmath.mp.clone()
mp.dps = 100
_NULL = mp.mpf(10) ** -60

Number = Any  # an mpmath number; the library has no types
Vector = list[Number]


class Space(NamedTuple):
    """Q^{p,q}_β."""

    p: int
    q: int
    beta: float

    @property
    def signs(self) -> list[int]:
        """The diagonal of the metric G."""
        return [-1] * (self.q + 1) + [1] * self.p

    @property
    def radius(self) -> Number:
        """√|β|."""
        return mp.sqrt(-self.beta)

    @property
    def causal_types(self) -> tuple[str, ...]:
        """Those that nonzero tangent vectors can have."""
        if self.q == 0:
            return ("space-like",)
        return ("time-like",) if self.p == 0 else ("space-like", "null", "time-like")


def dot(u: Vector, v: Vector) -> Number:
    return mp.fsum(a * b for a, b in zip(u, v, strict=True))


def inner(space: Space, u: Vector, v: Vector) -> Number:
    """Eq. 1."""
    return mp.fsum(sign * a * b for sign, a, b in zip(space.signs, u, v, strict=True))


def combine(a: Number, u: Vector, b: Number, v: Vector) -> Vector:
    return [a * s + b * t for s, t in zip(u, v, strict=True)]


def squared_angle(space: Space, xi: Vector) -> Number:
    """⟨ξ, ξ⟩/|β|, exactly 0 for the null vectors made here."""
    z = inner(space, xi, xi) / -space.beta
    return z if abs(z) > _NULL else mp.zero


def cosh_sinhc(z: Number) -> tuple[Number, Number]:
    """cosh √z and sinh √z / √z, or their circular counterparts for z < 0."""
    if z == 0:
        return mp.one, mp.one
    root = mp.sqrt(abs(z))
    return (mp.cosh(root), mp.sinh(root) / root) if z > 0 else (mp.cos(root), mp.sin(root) / root)


def exponential(space: Space, x: Vector, xi: Vector) -> Vector:
    """Eq. 5 at t = 1."""
    cosh, sinhc = cosh_sinhc(squared_angle(space, xi))
    return combine(cosh, x, sinhc, xi)


def angle(a: Number) -> Number:
    """The angle whose cosine a = ⟨x, y⟩/β is: hyperbolic for a > 1, circular for |a| < 1."""
    return mp.acosh(a) if a > 1 else mp.acos(a)


def angle_over_sine(a: Number) -> Number:
    """The factor of Eq. 7: 1 for null pairs."""
    return mp.one if a == 1 else angle(a) / mp.sqrt(abs(a * a - 1))


def closed_form(space: Space, function: str, a: Number, x: Vector, y: Vector) -> Vector:
    """log (Eq. 7), d (Eq. 8), D (Eq. 9) or a signed square, as a function of the cosine a = ⟨x,
    y⟩/β and the points.
    """
    if function == "log":
        factor = angle_over_sine(a)
        return combine(factor, y, -factor * a, x)
    beyond_equator = a < 0 and function.startswith("D")
    length = space.radius * (mp.pi / 2 - a if beyond_equator else angle(a))
    if function in ("d", "D"):
        return [length]
    # The signed square, once for the signed square itself and once for the squared length.
    return [mp.sign(a - 1) * length**2, length**2]


def chord_cosine(space: Space, x: Vector, y: Vector, f: Number = 1) -> Number:
    """1 - ⟨fy - x, fy - x⟩/2fβ + (f - 1)²/2f: the same on the manifold, for every f; f < 0 measures
    from -y.
    """
    chord = combine(f, y, -1, x)
    return 1 - inner(space, chord, chord) / (2 * f * space.beta) + (f - 1) ** 2 / (2 * f)


def stretch(space: Space, x: Vector, y: Vector) -> Number:
    """The f for which x and fy have time parts of one length."""
    time, other = x[: space.q + 1], y[: space.q + 1]
    return mp.sqrt(dot(time, time) / dot(other, other))


class Form(NamedTuple):
    """One way to write the cosine off the manifold, and its derivatives by x and y up to G/β."""

    cosine: Callable[[Space, Vector, Vector], Number]
    gradient: Callable[[Space, Vector, Vector], tuple[Vector, Vector]]


def chord_form(factor: Callable[[Space, Vector, Vector], Number]) -> Form:
    """Through the chord of x and fy; f is a constant to the derivative, which does not depend on
    it.
    """

    def gradient(space: Space, x: Vector, y: Vector) -> tuple[Vector, Vector]:
        f = factor(space, x, y)
        return combine(1, y, -1 / f, x), combine(1, x, -f, y)

    return Form(lambda space, x, y: chord_cosine(space, x, y, factor(space, x, y)), gradient)


TEXTBOOK = Form(lambda space, x, y: inner(space, x, y) / space.beta, lambda space, x, y: (y, x))
HALF_CHORD = chord_form(lambda space, x, y: mp.one)
LEVEL_CHORD = chord_form(stretch)
# They agree on the manifold only. Each is the best conditioned one somewhere, and the smallest sum
# is the unit. D is defined through ⟨x, y⟩ near the antipode, too: its forms are the first three.
ANTIPODAL, LEVEL_ANTIPODAL = (
    chord_form(lambda space, x, y: -mp.one),
    chord_form(lambda *words: -stretch(*words)),
)
LEVEL_FORMS = (LEVEL_CHORD, LEVEL_ANTIPODAL)
_BOTH = (TEXTBOOK, HALF_CHORD, LEVEL_CHORD)
_ALL = (*_BOTH, ANTIPODAL, LEVEL_ANTIPODAL)
FORMS = {"log": _ALL, "d": _ALL, "d²": _ALL, "D": _BOTH, "D²": _BOTH}


def cosine_gradient(
    space: Space, form: Form, x: Vector, y: Vector
) -> tuple[Vector, Vector, Number]:
    """∂a/∂x, ∂a/∂y, and Σ|∂a/∂x_i||x_i| + |∂a/∂y_i||y_i|."""
    by_x, by_y = (
        [sign * part / space.beta for sign, part in zip(space.signs, gradient, strict=True)]
        for gradient in form.gradient(space, x, y)
    )
    total = mp.fsum(abs(g * c) for g, c in zip(by_x + by_y, x + y, strict=True))
    return by_x, by_y, total


def exponential_sensitivity(space: Space, x: Vector, xi: Vector) -> Vector:
    """Σ|∂y_j/∂x_i||x_i| + |∂y_j/∂ξ_i||ξ_i| for each coordinate j of y = exp_x(ξ)."""
    z = squared_angle(space, xi)
    cosh, sinhc = cosh_sinhc(z)
    slope = mp.one / 6 if z == 0 else (cosh - sinhc) / (2 * z)
    by_z = combine(sinhc / 2, x, slope, xi)
    shares = [2 * c * c / -space.beta for c in xi]
    total = mp.fsum(shares)
    return [
        abs(cosh * x[j])
        + abs(sinhc * xi[j] + by_z[j] * sign * shares[j])
        + abs(by_z[j]) * (total - shares[j])
        for j, sign in enumerate(space.signs)
    ]


def logarithm_sensitivity(space: Space, form: Form, x: Vector, y: Vector) -> Vector:
    """Σ|∂v_j/∂x_i||x_i| + |∂v_j/∂y_i||y_i| for each coordinate j of v = log_x(y)."""
    a = cosine(space, x, y)
    factor = angle_over_sine(a)
    slope = -mp.one / 3 if a == 1 else (1 - factor * a) / (a * a - 1)
    by_x, by_y, total = cosine_gradient(space, form, x, y)
    sums = []
    for j in range(len(x)):
        by_a = slope * (y[j] - a * x[j]) - factor * x[j]
        own = abs((by_a * by_x[j] - factor * a) * x[j]) + abs((by_a * by_y[j] + factor) * y[j])
        others = total - abs(by_x[j] * x[j]) - abs(by_y[j] * y[j])
        sums.append(own + abs(by_a) * others)
    return sums


def sensitivity(space: Space, function: str, form: Form, x: Vector, y: Vector) -> Vector:
    """Σ|∂f/∂x_i||x_i| + |∂f/∂y_i||y_i| for log, d, D and the signed squares of null pairs."""
    if function == "log":
        return logarithm_sensitivity(space, form, x, y)
    a = cosine(space, x, y)
    total = cosine_gradient(space, form, x, y)[2]
    if function.endswith("²"):
        return [-2 * space.beta * angle_over_sine(a) * total] * 2
    if function == "D" and a < 0:
        return [space.radius * total]
    return [space.radius * total / mp.sqrt(abs(a * a - 1))]


def cosine(space: Space, x: Vector, y: Vector) -> Number:
    """⟨x, y⟩/β of exact points, exactly 1 for null pairs."""
    a = inner(space, x, y) / space.beta
    return a if abs(a - 1) > _NULL else mp.one


class Target(NamedTuple):
    """What a function should return, and per coordinate the sum that is the unit of its error."""

    truth: Vector
    unit: Vector
    roundoff: float = math.inf
    """Above this unit roundoff the inputs do not tell whether there is a geodesic."""


class Case(NamedTuple):
    """Exact inputs and what should become of them."""

    space: Space
    suite: str
    causal: str
    norm: float
    x: Vector
    xi: Vector
    y: Vector
    targets: dict[str, Target]
    height: float
    """‖space part of x‖/√|β| of near pairs far out; 0 of others."""


def gaussian(rng: random.Random, size: int, scale: float = 1.0) -> Vector:
    return [mp.mpf(scale * rng.gauss(0, 1)) for _ in range(size)]


def scaled(vector: Vector, length: Number) -> Vector:
    """The vector with that Euclidean norm."""
    factor = length / mp.sqrt(dot(vector, vector))
    return [factor * c for c in vector]


def random_point(
    space: Space, rng: random.Random, scale: float, height: float | None = None
) -> Vector:
    """The pole for scale 0, near it for scale < 1, else any time direction; the space part is
    normal, or ``height``.
    """
    pole = [mp.one] + [mp.zero] * space.q
    space_part = gaussian(rng, space.p, scale)
    if height is not None:
        space_part = scaled(space_part, height)
    direction = pole
    if space.q > 0 and scale > 0:
        noise = gaussian(rng, space.q + 1)
        direction = scaled(combine(1, pole, scale, noise) if scale < 1 else noise, 1)
    stretch = mp.sqrt(1 + dot(space_part, space_part))
    return [space.radius * c for c in [stretch * t for t in direction] + space_part]


def random_tangent(
    space: Space, rng: random.Random, x: Vector, causal: str, ratio: float | None = None
) -> Vector:
    """A tangent vector of the wanted type; ``ratio`` asks for ⟨ξ, ξ⟩/‖ξ‖² near it."""
    time, place = x[: space.q + 1], x[space.q + 1 :]
    radius = mp.sqrt(dot(time, time))
    unit = [c / radius for c in time]
    spacelike = timelike = [mp.zero] * len(x)
    if space.p > 0:
        place_part = gaussian(rng, space.p)
        spacelike = [c * dot(place, place_part) / radius for c in unit] + place_part
        spacelike = [c / mp.sqrt(inner(space, spacelike, spacelike)) for c in spacelike]
    if space.q > 0:
        noise = gaussian(rng, space.q + 1)
        timelike = scaled(combine(1, noise, -dot(noise, unit), unit), 1) + [mp.zero] * space.p
    # Both have ⟨·,·⟩ = ±1 and are orthogonal to each other and to x, so that the mixture decides
    # the causal type.
    minor = mp.one if causal == "null" else mp.mpf(rng.uniform(0, 0.95))
    if ratio is not None:
        null = combine(1, spacelike, 1, timelike)
        minor = 1 - abs(ratio) * dot(null, null) / 2
    return (
        combine(1, spacelike, minor, timelike)
        if causal != "time-like"
        else combine(minor, spacelike, 1, timelike)
    )


def make_case(
    space: Space, suite: str, causal: str, x: Vector, xi: Vector, height: float = 0.0
) -> Case:
    y = exponential(space, x, xi)
    targets = {}
    if suite == NO_GEODESIC:
        y = [-c for c in y]
    else:
        targets["exp"] = Target(y, attainable(exponential_sensitivity(space, x, xi), y))
    square = "²" if causal == "null" else ""
    has_logarithm = suite != NO_GEODESIC and squared_angle(space, xi) > -(mp.pi**2)
    for function in ("log", f"d{square}", f"D{square}") if has_logarithm else (f"D{square}",):
        targets[function] = make_target(space, function, x, y)
    norm = float(mp.sqrt(dot(xi, xi)))
    return Case(space, suite, causal, norm, x, xi, y, targets, height)


def attainable(sums: Vector, truth: Vector) -> Vector:
    """Not less than |f|: however well conditioned f is, the nearest float to it may be u|f|
    away.
    """
    return [max(total, abs(value)) for total, value in zip(sums, truth, strict=True)]


def make_target(space: Space, function: str, x: Vector, y: Vector) -> Target:
    a = cosine(space, x, y)
    truth = closed_form(space, function, a, x, y)
    sums = [sensitivity(space, function, form, x, y) for form in FORMS[function]]
    unit = attainable([min(column) for column in zip(*sums, strict=True)], truth)
    if function.startswith("D"):
        return Target(truth, unit)
    spread = min(cosine_gradient(space, form, x, y)[2] for form in FORMS[function])
    return Target(truth, unit, float((1 + a) / (BAR * spread)))


def regular_cases(
    space: Space, rng: random.Random, samples: int, norms: Sequence[Number]
) -> Iterator[Case]:
    """‖ξ‖₂ from 1e-8 to 10 at the pole, near it, and spread out."""
    for causal, norm, scale in product(space.causal_types, norms, (0.0, 0.1, 1.0, 3.0) * samples):
        x = random_point(space, rng, scale)
        yield make_case(
            space, REGULAR, causal, x, scaled(random_tangent(space, rng, x, causal), norm)
        )


def hard_cases(
    space: Space, rng: random.Random, samples: int, norms: Sequence[Number]
) -> Iterator[Case]:
    """Pairs that lose digits in one closed form or another."""
    for causal in space.causal_types:
        for norm, _ in product(norms[::2], range(samples)):
            x = random_point(space, rng, 30.0)
            yield make_case(
                space, FAR, causal, x, scaled(random_tangent(space, rng, x, causal), norm)
            )
        if causal == "time-like":
            for scale in (0.0, 0.1, 1.0, 3.0) * (4 * samples):
                x = random_point(space, rng, scale)
                xi = random_tangent(space, rng, x, causal)
                length = space.radius * (3 + (mp.pi - 3) * mp.mpf(rng.random()))
                length /= mp.sqrt(-inner(space, xi, xi))
                yield make_case(space, ANTIPODE, causal, x, [length * c for c in xi])
        if causal != "null" and len(space.causal_types) > 1:
            for norm, exponent in product(norms[::2], (3, 6, 9, 12) * samples):
                x = random_point(space, rng, rng.choice((0.0, 0.1, 1.0, 3.0)))
                xi = random_tangent(space, rng, x, causal, 10.0**-exponent)
                yield make_case(space, ALMOST_NULL, causal, x, scaled(xi, norm))
        if causal == "space-like" and space.q > 0:
            for norm in [norm for norm in norms if norm > 1e-3] * samples:
                x = random_point(space, rng, rng.choice((0.0, 0.1, 1.0, 3.0)))
                yield make_case(
                    space,
                    NO_GEODESIC,
                    causal,
                    x,
                    scaled(random_tangent(space, rng, x, causal), norm),
                )


def far_out_cases(space: Space, rng: random.Random, samples: int) -> Iterator[Case]:
    """d_γ = √|β|/100 in directions that the metric does not tell apart, at points with ‖s‖ = 1 …
    1e6 times √|β|.
    """
    for height in HEIGHTS if space.p > 0 else ():
        for causal in space.causal_types * (4 * samples):
            if causal != "null":
                x = random_point(space, rng, 1.0, height)
                xi = isotropic_tangent(space, rng, x, causal)
                length = space.radius * NEAR / mp.sqrt(abs(inner(space, xi, xi)))
                yield make_case(space, FAR_OUT, causal, x, [length * c for c in xi], height)


def isotropic_tangent(space: Space, rng: random.Random, x: Vector, causal: str) -> Vector:
    """A tangent vector whose parts along an orthonormal basis are normal numbers, of the wanted
    causal type.

    The basis: space directions across s, turns of t, and the radius (‖s‖ t/‖t‖, ‖t‖ s/‖s‖)/√|β|,
    long far out.
    """
    time, place = x[: space.q + 1], x[space.q + 1 :]
    height, depth = mp.sqrt(dot(time, time)), mp.sqrt(dot(place, place))
    radial = mp.mpf(rng.gauss(0, 1)) / space.radius
    parts = []
    for part, own, other in ((time, height, depth), (place, depth, height)):
        noise = gaussian(rng, len(part))
        across = combine(1, noise, -dot(noise, part) / own**2, part)
        parts.append((across, [radial * other / own * c for c in part]))
    (turn, along_time), (across, along_place) = parts
    spacelike = combine(1, along_time + along_place, 1, [mp.zero] * len(time) + across)
    timelike = turn + [mp.zero] * space.p
    if causal == "space-like" and space.q > 0:
        most = mp.sqrt(inner(space, spacelike, spacelike) / dot(turn, turn))
        return combine(1, spacelike, most * mp.mpf(rng.uniform(0, 0.95)), timelike)
    if causal == "time-like":
        most = mp.sqrt(dot(turn, turn) / inner(space, spacelike, spacelike))
        return combine(most * mp.mpf(rng.uniform(0, 0.95)), spacelike, 1, timelike)
    return spacelike


class Record(NamedTuple):
    """One function on one case in one dtype."""

    function: str
    dtype: str
    suite: str
    causal: str
    space: Space
    norm: float
    ratio: float
    """Worst coordinate's error over u Σ|∂f/∂x_i||x_i|."""
    undecided: bool
    """Set aside: the rounded inputs do not determine the answer to within the bar, whatever is
    computed from them.
    """
    relative: tuple[float, ...]
    """Relative errors of d: the package's, the textbook formula's, that of the half chord as it
    stands, and the unit of the ratio times u, which is what rounding the inputs may cost; empty for
    other functions.
    """
    height: float


def to_tensor(rows: Iterable[Vector], dtype: torch.dtype) -> Tensor:
    return torch.tensor([[float(c) for c in row] for row in rows], dtype=dtype)


def to_numbers(row: Tensor) -> Vector:
    return [mp.mpf(c) for c in row.double().reshape(-1).tolist()]


def computed(space: Space, x: Tensor, xi: Tensor, y: Tensor) -> dict[str, Tensor]:
    """What the package returns, [n, 1 or 2 or d] by function, and d by Eq. 8 as it stands and by
    the half chord.
    """
    manifold = PseudoHyperboloid(space.p, space.q, space.beta)
    distance, dissimilarity = manifold.dist(x, y).double(), manifold.dissimilarity(x, y).double()
    signs, radius = torch.tensor(space.signs, dtype=x.dtype), math.sqrt(-space.beta)
    a = (signs * x * y).sum(-1) / space.beta
    w = (signs * (x - y).square()).sum(-1) / (-4 * space.beta)
    naive = torch.where(a > 1, a.clamp_min(1).acosh(), a.clamp(-1, 1).acos())
    half = torch.where(w > 0, w.clamp_min(0).sqrt().asinh(), (-w).clamp(0, 1).sqrt().asin())
    return {
        "exp": manifold.expmap(x, xi),
        "log": manifold.logmap(x, y).vector,
        "d": distance[:, None],
        "D": dissimilarity[:, None],
        "d²": torch.stack((manifold.sqdist(x, y).double(), distance.square()), -1),
        "D²": torch.stack((dissimilarity.square(), dissimilarity.square()), -1),
        "naive": (naive * radius)[:, None],
        "half chord": (half * (2 * radius))[:, None],
    }


def error_ratio(values: Vector, target: Target, roundoff: float) -> float:
    """The worst coordinate's error in units of u Σ|∂f/∂x_i||x_i|; infinite for NaN."""
    worst = 0.0
    for value, truth, unit in zip(values, target.truth, target.unit, strict=True):
        if not mp.isfinite(value):
            return math.inf
        error = abs(value - truth)
        if error > 0:
            worst = max(worst, float(error / (roundoff * unit)) if unit > 0 else math.inf)
    return worst


def inputs_exceed_bar(case: Case, function: str, x: Tensor, y: Tensor, roundoff: float) -> bool:
    """Whether even exact arithmetic on the rounded inputs misses the bar, in every closed form."""
    if function == "exp":
        return False
    space, target = case.space, case.targets[function]
    rounded = to_numbers(x), to_numbers(y)
    # Forms whose factor depends on the points decide only far out, where the others lose what
    # rounding left.
    forms = [form for form in FORMS[function] if case.height or form not in LEVEL_FORMS]
    for form in forms:
        a = form.cosine(space, *rounded)
        if a > -1 or function.startswith("D"):
            values = closed_form(space, function, a, *rounded)
            if error_ratio(values, target, roundoff) <= BAR:
                return False
    return True


def judge(space: Space, cases: Sequence[Case], dtype: str) -> Iterator[Record]:
    """The package's results on the rounded inputs against the truth at the exact ones."""
    u = ROUNDOFF[dtype]
    # Farther out nothing is left of ⟨ξ, ξ⟩ and ⟨x, y⟩, whose terms have the size of ‖x‖².
    cases = [case for case in cases if u * case.height**2 < 1e-3]
    x, xi, y = (
        to_tensor((getattr(case, name) for case in cases), DTYPES[dtype])
        for name in ("x", "xi", "y")
    )
    results = computed(space, x, xi, y)
    for row, case in enumerate(cases):
        for function, target in case.targets.items():
            ratio = error_ratio(to_numbers(results[function][row]), target, u)
            undecided = u >= target.roundoff or (
                ratio > BAR and inputs_exceed_bar(case, function, x[row], y[row], u)
            )
            relative: tuple[float, ...] = ()
            if function == "d":
                values = (
                    to_numbers(results[name][row])[0] for name in ("d", "naive", "half chord")
                )
                errors = (
                    float(abs(v / target.truth[0] - 1)) if mp.isfinite(v) else math.inf
                    for v in values
                )
                relative = (*errors, float(u * target.unit[0] / target.truth[0]))
            about = (dtype, case.suite, case.causal, space, case.norm)
            yield Record(
                function.removesuffix("²"), *about, ratio, undecided, relative, case.height
            )


def study(
    samples: int,
    seed: int,
    *,
    signatures: Sequence[tuple[int, int]] = SIGNATURES,
    norms: Sequence[Number] | None = None,
) -> list[Record]:
    """Every function on every case in both dtypes; ‖ξ‖₂ in half decades from 1e-8 to 10."""
    grid = [mp.mpf(10) ** (mp.mpf(k) / 2) for k in range(-16, 3)] if norms is None else list(norms)
    records: list[Record] = []
    for space in [Space(p, q, beta) for p, q in signatures for beta in BETAS]:
        rng = random.Random(f"{seed} {space}")
        cases = [*regular_cases(space, rng, samples, grid), *hard_cases(space, rng, samples, grid)]
        cases += far_out_cases(space, rng, samples)
        for dtype in DTYPES:
            records.extend(judge(space, cases, dtype))
    return records


NAMES = {"exp": "exp", "log": "log", "d": "d_γ", "D": "D_γ"}


def grouped(records: Iterable[Record], key: Callable[[Record], Any]) -> dict[Any, list[Record]]:
    groups: dict[Any, list[Record]] = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def worst(records: Iterable[Record]) -> float:
    """The largest ratio among the decided cases."""
    return max((record.ratio for record in records if not record.undecided), default=0.0)


def ratio_text(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio < 1e3 else f"{ratio:.1e}"


def regular_table(records: Sequence[Record]) -> str:
    groups = grouped(
        (r for r in records if r.suite == REGULAR), lambda r: (r.function, r.causal, r.dtype)
    )
    rows = []
    for function, causal in product(FUNCTIONS, ("space-like", "null", "time-like")):
        cells = [groups[function, causal, dtype] for dtype in DTYPES]
        ratios = [
            f"{ratio_text(worst(cell))} ({statistics.median(r.ratio for r in cell):.2f})"
            for cell in cells
        ]
        rows.append((NAMES[function], causal, *ratios))
    return table(("function", "pairs", *(f"{dtype}: worst (median)" for dtype in DTYPES)), rows)


def relative_errors(records: Sequence[Record], dtype: str) -> dict[float, tuple[float, float]]:
    """‖ξ‖₂ to the median relative errors of d: the package's and the textbook formula's."""
    chosen = (r for r in records if r.suite == REGULAR and r.dtype == dtype and r.relative)
    groups = grouped(chosen, lambda r: float(f"{r.norm:.3e}"))
    return {
        norm: (
            statistics.median(r.relative[0] for r in group),
            statistics.median(r.relative[1] for r in group),
        )
        for norm, group in sorted(groups.items())
    }


def textbook_table(records: Sequence[Record]) -> str:
    errors = {dtype: relative_errors(records, dtype) for dtype in DTYPES}
    rows = [
        (f"{norm:.0e}", *(f"{error:.1e}" for dtype in DTYPES for error in errors[dtype][norm]))
        for norm in errors["float64"]
        if math.log10(norm) % 2 == 0  # enough for a page
    ]
    return table(
        ("‖ξ‖₂", *(f"{dtype}, {which}" for dtype in DTYPES for which in ("ours", "textbook"))), rows
    )


def far_out_table(records: Sequence[Record]) -> str:
    """Relative errors of d_γ for near pairs far out, in float64."""
    chosen = [r for r in records if r.suite == FAR_OUT and r.dtype == "float64" and r.relative]
    rows = []
    for (definite, height), group in sorted(
        grouped(chosen, lambda r: (r.space.q == 0, r.height)).items()
    ):
        ours, _, plain, rounding = zip(*(r.relative for r in group), strict=True)
        cells = [
            statistics.median(ours),
            max(ours),
            statistics.median(rounding),
            statistics.median(plain),
        ]
        rows.append(
            ("q = 0" if definite else "q ≥ 1", f"{height:,.0f}", *(f"{cell:.0e}" for cell in cells))
        )
    header = ("spaces", "‖s‖/√\\|β\\|", "ours", "ours, worst", "rounding the inputs", "half chord")
    return table(header, rows)


def summary(records: Sequence[Record]) -> Figures:
    """Flat keys for --json."""
    flat: Figures = {
        "bar": BAR,
        "worst": worst(records),
        "met": worst(records) <= BAR,
        "judged": len(records),
    }
    flat["undecided"] = sum(r.undecided for r in records)
    for (function, dtype, causal), group in grouped(
        records, lambda r: (r.function, r.dtype, r.causal)
    ).items():
        regular = [r for r in group if r.suite == REGULAR]
        flat[f"{function}.{dtype}.{causal}.worst"] = worst(regular)
        flat[f"{function}.{dtype}.{causal}.median"] = statistics.median(r.ratio for r in regular)
    for (suite, function, dtype), group in grouped(
        records, lambda r: (r.suite, r.function, r.dtype)
    ).items():
        flat[f"{suite.replace(' ', '_')}.{function}.{dtype}.worst"] = worst(group)
    for dtype in DTYPES:
        for norm, (ours, textbook) in relative_errors(records, dtype).items():
            flat[f"relative.{dtype}.{norm:.3g}.ours"] = ours
            flat[f"relative.{dtype}.{norm:.3g}.textbook"] = textbook
    return flat


def sections(records: Sequence[Record]) -> dict[str, str]:
    """What is printed, and written between the marks of the page."""
    misses = [r for r in records if r.ratio > BAR and not r.undecided]
    text = (
        f"The bar is met: the largest of {len(records):,} ratios is {ratio_text(worst(records))}."
    )
    if misses:
        text = (
            f"**The bar is missed** {len(misses):,} times, most of all by "
            f"{max(misses, key=lambda r: r.ratio)}."
        )
    set_aside = sum(r.undecided for r in records)
    return {
        "verdict": f"{text} {set_aside:,} results were set aside.",
        "regular": regular_table(records),
        "far out": far_out_table(records),
        "textbook": textbook_table(records),
    }


def plot(records: Sequence[Record], file: Path) -> None:
    left: dict[str, tuple[Sequence[float], Sequence[float]]] = {}
    for dtype in DTYPES:
        errors = relative_errors(records, dtype)
        for column, label in enumerate(("this package", "textbook")):
            left[f"{label}, {dtype}"] = list(errors), [pair[column] for pair in errors.values()]
    regular = (r for r in records if r.suite == REGULAR)
    right: dict[str, tuple[Sequence[float], Sequence[float]]] = {
        f"bar: {BAR}": ([1e-8, 10.0], [BAR, BAR])
    }
    for (function, dtype), group in grouped(regular, lambda r: (r.function, r.dtype)).items():
        by_norm = sorted(grouped(group, lambda r: float(f"{r.norm:.3e}")).items())
        right[f"{NAMES[function]}, {dtype}"] = (
            [norm for norm, _ in by_norm],
            [worst(cell) for _, cell in by_norm],
        )
    draw(
        file,
        Panel(
            "‖ξ‖₂", "median relative error of d_γ", "d_γ: this package and Eq. 8 as it stands", left
        ),
        Panel("‖ξ‖₂", "worst error / (u Σ|∂f/∂x_i||x_i|)", "Worst case of each function", right),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    made = parser(__doc__)
    made.add_argument("--samples", type=int, default=2, help="cases per cell (default: 2)")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument(
        "--docs",
        type=Path,
        metavar="DIR",
        help="write tables to DIR/accuracy.md, and DIR/accuracy.png",
    )
    options = made.parse_args(arguments)
    if options.samples < 1:
        made.error(f"--samples must be at least 1, got {options.samples}")
    records = study(options.samples, options.seed)
    texts = sections(records)
    print("\n\n".join(f"{name}:\n{text}" for name, text in texts.items()))
    save(summary(records) | {"samples": options.samples, "seed": options.seed}, options.json)
    if options.docs:
        fill(options.docs / "accuracy.md", texts)
        plot(records, options.docs / "accuracy.png")
    return 0 if worst(records) <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
