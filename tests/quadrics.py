"""The paper's equations, as properties of the quadrics ⟨x, x⟩ = β beside those that any manifold
has.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ultrahyperbolic import Manifold, PseudoHyperboloid, PseudoSphere
from ultrahyperbolic.testing import (
    _DISTANCES,
    _PROPERTIES,
    ManifoldReport,
    _check,
    _demand,
    _derivative,
    _gradients,
    _Sample,
    _Skip,
)

OWN: dict[str, Callable[[Quadric], None]] = {}


class Quadric(_Sample):
    """A sample of a pseudo-hyperboloid, or of a pseudo-sphere, judged as the one that it is
    anti-isometric to.
    """

    def __init__(self, manifold: PseudoHyperboloid | PseudoSphere, *options) -> None:
        super().__init__(manifold, *options)
        negative = int((self.metric < 0).sum())
        positive = manifold.ambient_dim - negative
        self.p, self.q = (positive, negative - 1) if self.beta < 0 else (negative, positive - 1)

    @property
    def signature_sign(self) -> float:
        """+1 where the metric of the ambient space has the paper's sign, -1 for a pseudo-sphere."""
        return -1.0 if self.beta > 0 else 1.0

    @property
    def definite_sign(self) -> float:
        return self.signature_sign if self.q == 0 else -self.signature_sign if self.p == 0 else 0.0

    def places(self, x: Tensor) -> dict[str, Tensor]:
        found = super().places(x) | {"far": self.points(scale=3.0)}
        if self.p > 0:
            found["10√|β| away"] = self.manifold.geodesic(
                x, causal_tangents(self, x)["space-like"], 10.0
            )
        if self.q > 0:
            found["the antipode"] = -x
        if self.p > 0 and self.q > 0:
            found["the cone"] = x + causal_tangents(self, x)["null"]
        return found


def check_quadric(
    manifold, *, dtype=torch.float64, device="cpu", n=64, seed=0, only=None, raises=True
) -> ManifoldReport:
    """What `check_manifold` does, with the properties of this file as well."""
    return _check(
        _PROPERTIES | OWN,
        lambda: Quadric(manifold, dtype, torch.device(device), n, seed),
        only,
        raises,
    )


def quadric_property(function: Callable[[Quadric], None]) -> Callable[[Quadric], None]:
    OWN[function.__name__] = function
    return function


@quadric_property
def phi_and_psi(s: Quadric) -> None:
    """ψ maps to a product of a unit sphere and flat space, and ψ⁻¹ inverts it."""
    M, x = s.manifold, s.points()
    split = M.psi(x)
    unit = split[..., : s.q + 1] if s.beta < 0 else split[..., -(s.q + 1) :]
    s.close(unit.square().sum(-1), 1.0, "the directions of ψ(x) are not on the unit sphere")
    s.close(M.psi_inverse(split), x, "ψ⁻¹ does not invert ψ", s.size(x))
    s.close(M.psi(M.psi_inverse(split)), split, "ψ does not invert ψ⁻¹", s.condition(x))


@quadric_property
def one_sheet(s: Quadric) -> None:
    """For q = 0 samples and maps stay on the upper sheet, and the lower one is not a member."""
    if s.q != 0:
        raise _Skip("the manifold is connected")
    M, x = s.manifold, s.points()
    u, pole = s.tangents(x, 5.0), M.origin(dtype=s.dtype, device=s.device)
    for points in (x, M.expmap(x, u), M.retr(x, u), M.phi(-x), M.projx(-x)):
        _demand((points * pole).sum(-1) > 0, "a map leaves the upper sheet")
    _demand(not M.check_point(-x).ok, "the lower sheet passes for a member")


@quadric_property
def long_geodesics(s: Quadric) -> None:
    """Geodesics stay on the manifold for large t, of every causal type; time-like ones close after
    2π√|β|.
    """
    M, x = s.manifold, s.points()
    for causal, u in causal_tangents(s, x).items():
        for t in (10.0, -30.0, 300.0):
            y = M.geodesic(x, u, t / 10 if causal == "space-like" else t)
            residual = (M.sqnorm(y) - s.beta).abs() / y.square().sum(-1)
            s.close(residual, 0.0, f"a {causal} geodesic leaves the manifold", 1.0 + abs(t))
        if causal == "time-like":
            around = M.geodesic(x, u, 2 * math.pi * s.radius / M.norm(u))
            s.close(around, x, "a time-like geodesic does not close", s.size(x, u), 16)


def causal_tangents(s: Quadric, x: Tensor) -> dict[str, Tensor]:
    """Tangent vectors at x of length √|β|, of each causal type that the geometry has (as its image
    with β < 0 sees it).

    The space-like ones project a direction of the space coordinates; the time-like ones turn the
    time part of x, so the two are orthogonal and their sum is null.
    """
    M, metric = s.manifold, s.metric.to(x) * s.signature_sign
    noise = s.gradients(x)
    made: dict[str, Tensor] = {}
    if s.p > 0:
        spacelike = M.proju(x, torch.where(metric > 0, noise, 0.0))
        made["space-like"] = s.radius * spacelike / M.norm(spacelike, keepdim=True)
    if s.q > 0:
        time, turn = torch.where(metric < 0, x, 0.0), torch.where(metric < 0, noise, 0.0)
        turn = (
            turn - (turn * time).sum(-1, keepdim=True) / time.square().sum(-1, keepdim=True) * time
        )
        made["time-like"] = s.radius * turn / M.norm(turn, keepdim=True)
    if s.p > 0 and s.q > 0:
        made["null"] = made["space-like"] + made["time-like"]
    return made


@quadric_property
def image_of_exp(s: Quadric) -> None:
    """log exists exactly where ⟨x, y⟩/β > -1; elsewhere it says so and is NaN, as is dist, and exp
    never gets there.
    """
    M, beta = s.manifold, s.beta
    x, y = s.points(), s.points(scale=2.0)
    cosine = M.inner(x.double(), y.double()) / beta
    vector, exists = M.logmap(x, y)
    clear = (cosine + 1.0).abs() > 1e-3 * s.condition(x, y).sqrt()
    carried = M.transp(x, y, s.tangents(x))
    _demand((exists == (cosine > -1.0))[clear], "logmap misjudges whether a geodesic exists")
    _demand(vector.isfinite().all(-1)[exists], "logmap is not finite where it exists")
    _demand(vector.isnan().all(-1)[~exists], "logmap gives a vector where there is no geodesic")
    _demand(M.dist(x, y).isnan()[~exists & clear], "dist gives a length where there is none")
    _demand(carried.isnan().all(-1)[~exists], "transp moves where there is no geodesic")
    if s.p > 0 and s.q > 0:
        _demand((~exists).any(), "the sample never left the image of exp")
    lengths = torch.linspace(0.1, 3.0, s.n, dtype=s.dtype, device=s.device)
    for causal, u in causal_tangents(s, x).items():
        reached = M.geodesic(x, u, lengths)
        slack = 4096 * torch.finfo(s.dtype).eps * s.condition(x, reached)
        cosine = M.inner(x, reached) / beta
        _demand(cosine >= -1.0 - slack, f"a {causal} geodesic reaches ⟨x, y⟩ > |β|")


@quadric_property
def dissimilarities(s: Quadric) -> None:
    """D_γ, the broken geodesic and the smoothed form agree with their definitions (Eq. 8 and 9)
    through ⟨x, y⟩.
    """
    M, beta, radius = s.manifold, s.beta, s.radius
    x, y = s.points(), s.points()
    cosine = M.inner(x.double(), y.double()) / beta
    inside, outside = cosine.clamp(-1.0, 1.0).acos(), cosine.clamp_min(1.0).acosh()
    length = torch.where(cosine > 1.0, outside, inside) * radius
    # acosh and acos lose half the digits near their ends, so pairs near the cone and the antipode
    # are left out here.
    clear = ((cosine.abs() - 1.0).abs() > 1e-2) & (s.condition(x, y) < 1e4)
    _demand(clear.any(), "no pair to judge")
    exists, size = (cosine > -1.0) & clear, s.size(x, y) * 16
    s.close(M.dist(x, y)[exists], length[exists], "dist is not Eq. 8", size[exists])
    # The signed square is that of the metric's own sign: space-like pairs positive.
    signed = torch.where(cosine > 1.0, 1.0, -1.0) * length.square() * s.signature_sign
    square = M.sqdist(x, y)
    s.close(square[exists], signed[exists], "sqdist is not ±dist²", size[exists], radius * 4)
    extended = torch.where(cosine >= 0.0, length, radius * (math.pi / 2 - cosine))
    beyond = radius * (math.pi + (-cosine).clamp_min(1.0).acosh())
    definitions = {
        "dissimilarity": extended,
        "broken_dissimilarity": torch.where(cosine > -1.0, length, beyond),
        "extrinsic_dist": (2.0 * beta * (1.0 - cosine)).abs().sqrt(),
    }
    scale = (size * (1.0 + cosine.abs()))[clear]
    for name, expected in definitions.items():
        value = getattr(M, name)(x, y)
        s.close(value[clear], expected[clear], f"{name} is not its definition", scale, radius + 1.0)
    for epsilon in (0.1, 1e-3):
        smoothed = (extended**4 + epsilon**2) ** 0.25 - epsilon**0.5
        value = M.smoothed_dissimilarity(x, y, epsilon)
        s.close(value[clear], smoothed[clear], "it is not (σ² + ε²)^¼ - √ε", scale)


@quadric_property
def antipode(s: Quadric) -> None:
    """d_γ(x, -x) = π√|β| and D_γ(x, -x) = √|β|(π/2 + 1); no logarithm there."""
    M, x = s.manifold, s.points()
    if s.q == 0:
        raise _Skip("-x is on the other sheet")
    extended = (math.pi / 2 + 1) * s.radius
    s.close(M.dist(x, -x), math.pi * s.radius, "dist to the antipode", s.radius)
    s.close(M.dissimilarity(x, -x), extended, "dissimilarity to the antipode", s.size(x))
    _demand(~M.logmap(x, -x).exists, "log claims to exist at the antipode")


@quadric_property
def homothety(s: Quadric) -> None:
    """Scaling a manifold to another β scales its lengths by √(β'/β)."""
    M, beta = s.manifold, 3.0 * s.beta
    x, y = s.points(), s.points()
    other = (PseudoHyperboloid if beta < 0 else PseudoSphere)(M.p, M.q, beta).to(s.device)
    a, b = M.homothety(x, beta), M.homothety(y, beta)
    _demand(other.check_point(a).ok, "the homothety misses its target")
    before, after = M.dissimilarity(x, y).square(), other.dissimilarity(a, b).square()
    scale = s.radius**2 * 16 + before.double()
    s.close(after, 3.0 * before, "lengths do not scale", s.condition(x, y), scale)


@quadric_property
def anti_isometry(s: Quadric) -> None:
    """σ turns the sign of ⟨·,·⟩, carries the manifold onto one whose lengths are the same, and is
    undone by its own.
    """
    M, beta, square = s.manifold, s.beta, s.radius**2
    x, y = s.points(), s.points()
    image = (PseudoSphere, s.q + 1, s.p - 1)
    target = made_of(image if beta < 0 else (PseudoHyperboloid, s.p, s.q), -beta)
    a, b = M.anti_isometry(x), M.anti_isometry(y)
    _demand(target.check_point(a).ok, "σ misses its target")
    condition, length, signed = s.condition(x, y), M.dissimilarity(x, y), M.sqdist(x, y)
    signed, turned = signed.nan_to_num(0.0), target.sqdist(a, b).nan_to_num(0.0)
    product = -M.inner(x, y)
    s.close(target.inner(a, b), product, "σ does not turn the sign of ⟨·,·⟩", condition, square)
    s.close(target.dissimilarity(a, b), length, "σ changes lengths", 1.0 + length, s.radius)
    s.close(turned, -signed, "σ does not turn ±dist²", condition, square + signed.abs())
    s.close(target.anti_isometry(a), x, "σ is not undone by its own", x.abs().clamp_min(s.radius))


@quadric_property
def inclusions(s: Quadric) -> None:
    """H^p and the sphere Q^{0,q} lie in the manifold: their inclusions keep all lengths and the
    geodesics between.
    """
    M, beta = s.manifold, s.beta
    parts: dict[str, Manifold] = {}
    if s.p > 0:
        own, turned = (PseudoHyperboloid, s.p, 0), (PseudoSphere, 1, s.p - 1)
        parts["include_hyperbolic"] = made_of(own if beta < 0 else turned, beta)
    if s.q > 0:
        own, turned = (PseudoHyperboloid, 0, s.q), (PseudoSphere, s.q + 1, -1)
        parts["include_sphere"] = made_of(own if beta < 0 else turned, beta)
    for name, part in parts.items():
        include, options = getattr(M, name), {"dtype": s.dtype, "device": s.device}
        options |= {"scale": 0.7, "generator": s.generator}
        a, b = (part.random(s.n, **options) for _ in range(2))
        x, y = include(a), include(b)
        s.on_manifold(x, name)
        for measure in _DISTANCES:
            # Squares, because d has an infinite slope on the cone.
            length, included = getattr(part, measure)(a, b), getattr(M, measure)(x, y)
            what, square = f"{name} changes {measure}", length.square()
            s.close(included.square(), square, what, 1.0 + square, s.condition(a, b))
        halfway = include(part.geodesic(a, part.logmap(a, b).vector, 0.5))
        there = M.geodesic(x, M.logmap(x, y).vector, 0.5)
        near_antipode = 1.0 / (1.0 + M.inner(x, y) / beta).clamp_min(1e-6)
        s.close(there, halfway, f"{name} does not keep geodesics", s.size(a, b), near_antipode)


def made_of(kind: tuple, beta: float) -> Manifold:
    return kind[0](*kind[1:], beta)


@quadric_property
def definiteness(s: Quadric) -> None:
    """⟨·,·⟩ is definite on tangent spaces for q = 0 or p = 0 only."""
    M, x = s.manifold, s.points()
    made = causal_tangents(s, x)
    for causal, sign in (("space-like", s.signature_sign), ("time-like", -s.signature_sign)):
        if (u := made.get(causal)) is not None:
            _demand(M.sqnorm(u).sign() == sign, f"{causal} ⟨u, u⟩ has the wrong sign")
            _demand(M.causal_character(u) == sign, f"causal_character misses {causal} vectors")
    if "null" in made:
        null = M.causal_character(made["null"], tolerance=1e-4) == 0
        _demand(null, "causal_character misses null vectors")
    else:
        u = M.random_tangent(x, generator=s.generator)
        _demand(M.sqnorm(u).sign() == s.definite_sign, "⟨·,·⟩ is not definite for q = 0 or p = 0")


@quadric_property
def normals(s: Quadric) -> None:
    """z = proju + projn, 𝒩 is a unit normal, S(u) = -D_u 𝒩, and the Gauss equation makes of S the
    curvatures.
    """
    M, beta, x = s.manifold, s.beta, s.points()
    u, v, z, size = s.tangents(x), s.tangents(x), s.gradients(x), s.condition(x) * 16
    normal, sign, part = M.unit_normal(x), math.copysign(1.0, beta), M.projn(x, z)
    turning = _derivative(lambda t: M.unit_normal(M.geodesic(x, u, t)), 0.0 * x[..., 0])
    su, sv = M.shape_operator(x, u), M.shape_operator(x, v)
    s.close(M.proju(x, z) + part, z, "z is not proju + projn", size)
    s.close(M.inner(part, u), 0.0, "projn is not normal", size**1.5 * s.radius)
    s.close(M.inner(normal, u), 0.0, "the unit normal is not normal", s.size(x))
    s.close(M.sqnorm(normal), sign, "the unit normal has not ⟨𝒩, 𝒩⟩ = ±1", s.condition(x))
    s.close(su, -turning, "S(u) is not -D_u 𝒩", size)
    s.close(su, M.mean_curvature.item() * u, "S is not umbilic of the mean curvature")
    bent = M.inner(su, u) * M.inner(sv, v) - M.inner(su, v) * M.inner(sv, u)
    area = M.sqnorm(u) * M.sqnorm(v) - M.inner(u, v).square()
    curved = M.sectional_curvature.item() * area
    s.close(sign * bent, curved, "the Gauss equation fails", s.radius**2, 16.0)


@quadric_property
def order_relations(s: Quadric) -> None:
    """The extrinsic distance orders pairs like d_γ for q = 0 or p = 0, and does not otherwise."""
    M = s.manifold
    x, y = s.points(16 * s.n), s.points(16 * s.n)
    length, chord = M.dist(x, y).double(), M.extrinsic_dist(x, y).double()
    clear = length.isfinite() & (length > 0.05 * s.radius)
    length, chord = length[clear], chord[clear]
    if s.q == 0 or s.p == 0:
        order = length.argsort()
        slack = 4096 * torch.finfo(s.dtype).eps * (1.0 + chord[order][1:])
        _demand(chord[order].diff() >= -slack, "the extrinsic distance breaks an order")
    else:
        # A time-like pair that is farther by d_γ but nearer by the chord than a space-like one.
        spacelike = (M.sqdist(x, y)[clear] * s.signature_sign) > 0
        farther = length[~spacelike][:, None] > length[spacelike][None, :]
        nearer = chord[~spacelike][:, None] < chord[spacelike][None, :]
        _demand((farther & nearer).any(), "the extrinsic distance keeps every order")


@quadric_property
def zero_triangle(s: Quadric) -> None:
    """For p >= 2, q >= 1 there are x, y, z with d(x, y) = d(x, z) = 0 and d(y, z) > 0 (Section
    3).
    """
    if s.p < 2 or s.q < 1:
        raise _Skip("needs p >= 2 and q >= 1")
    x, y, z = torch.zeros(3, s.p + s.q + 1, dtype=s.dtype, device=s.device).unbind()
    # Time coordinates first: (1, 0 | 0, 0), (1, 1 | 1, 0), (1, 1 | 0, 1), with the other
    # coordinates 0.
    x[0] = y[0] = z[0] = y[1] = z[1] = s.radius
    y[s.q + 1] = z[s.q + 2] = s.radius
    if s.signature_sign < 0:
        x, y, z = x.flip(-1), y.flip(-1), z.flip(-1)
    M = s.manifold
    s.close(M.dist(x, y), 0.0, "d(x, y) is not 0", 1e-3)
    s.close(M.dist(x, z), 0.0, "d(x, z) is not 0", 1e-3)
    _demand(M.dist(y, z) > 0.5 * s.radius, "d(y, z) is 0")


@quadric_property
def zero_slope_on_the_cone(s: Quadric) -> None:
    """On the cone exactly (coordinates that make ⟨x-y, x-y⟩ = 0 without rounding) the slope is 0 by
    convention.
    """
    if s.p == 0 or s.q == 0:
        raise _Skip("there is no light cone")
    x = torch.zeros(s.p + s.q + 1, dtype=s.dtype, device=s.device)
    x[0] = s.radius
    y = x.clone()
    y[1] = y[-1] = s.radius
    if s.signature_sign < 0:
        x, y = x.flip(-1), y.flip(-1)
    for name in _DISTANCES:
        for gradient in _gradients(s, name, x, y):
            _demand(gradient == 0, f"the gradient of {name} exactly on the cone is not 0")
