"""Second derivatives on the light cone and near it, where lengths vanish and formulas change."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from ultrahyperbolic import Product, PseudoHyperboloid
from ultrahyperbolic.geometry import Euclidean
from ultrahyperbolic.spaces.dissimilarities import DISSIMILARITIES

CONES = [
    PseudoHyperboloid(1, 3, -0.25),
    PseudoHyperboloid(3, 1, -4.0),
    PseudoHyperboloid(2, 2, -4.0),
]
SMOOTH = {
    "expmap": lambda M, x, y, u: M.expmap(x, u),
    "geodesic": lambda M, x, y, u: M.geodesic(x, u, torch.tensor([0.3, -1.2]).double()),
    "transport": lambda M, x, y, u: M.transp_follow_expmap(x, u, M.proju(x, y)),
    "logmap": lambda M, x, y, u: M.logmap(x, y).vector,
    "interpolate": lambda M, x, y, u: M.interpolate(x, y, 0.4),
    "transp": lambda M, x, y, u: M.transp(x, y, u),
    "sqdist": lambda M, x, y, u: M.sqdist(x, y),
    "smoothed": lambda M, x, y, u: M.smoothed_dissimilarity(x, y, 0.3),
}
KINKED = [name for name in DISSIMILARITIES if name != "smoothed"]


def null_tangents(M, x):
    """One null vector, with unit time part along the sphere, at each point x."""
    t, s = x[..., : M.q + 1], x[..., M.q + 1 :]
    # Directions in which the two parts of the metric turn: tangent to both spheres, or else found
    # by a root.
    z = torch.randn(*x.shape, dtype=x.dtype, generator=torch.Generator().manual_seed(3))
    a, b = (
        M.proju(x, torch.cat((z[..., : M.q + 1], 0 * s), -1)),
        M.proju(x, torch.cat((0 * t, z[..., M.q + 1 :]), -1)),
    )
    # ⟨a + λb, a + λb⟩ = 0
    square, cross, rest = M.inner(b, b), M.inner(a, b), M.inner(a, a)
    root = (-cross + (cross.square() - square * rest).sqrt()) / square
    u = a + root.unsqueeze(-1) * b
    return 0.7 * u / u.norm(dim=-1, keepdim=True)


def pairs_on_the_cone(M, off=0.0):
    """Two points x, null vectors u there, and the points y that they lead to; ``off`` the cone, to
    both sides.
    """
    x = M.random(40, scale=0.5, generator=0)
    u = null_tangents(M, x)
    x, u = x[u.isfinite().all(-1)][:2], u[u.isfinite().all(-1)][:2]
    assert M.sqnorm(u).abs().max() < 1e-14
    other = M.random_tangent(x, generator=1)
    other = other / other.norm(dim=-1, keepdim=True)
    # ⟨u + cv, u + cv⟩ ≈ 2c⟨u, v⟩: one to each side.
    slope = 2.0 * M.inner(u, other)
    u = u + (off * torch.tensor([1.0, -1.0]).double() / slope).unsqueeze(-1) * other
    return x, u, M.expmap(x, u)


def on_the_manifold(M, function):
    """The function of ambient vectors that φ and Π bring there: derivatives are along the
    manifold.
    """

    def call(x, y, u):
        x = M.phi(x)
        return function(M, x, M.phi(y), M.proju(x, u))

    return call


@pytest.mark.parametrize("off", [0.0, 1e-7, 3e-3, 2e-2], ids=lambda off: f"off{off:g}")
@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("M", CONES, ids=lambda M: M._label())
def test_what_is_smooth_across_the_cone_has_its_derivatives(M, name, off):
    x, u, y = (z.requires_grad_() for z in pairs_on_the_cone(M, off * -M.beta.item()))
    function = on_the_manifold(M, SMOOTH[name])
    assert gradcheck(function, (x, y, u), atol=1e-6, rtol=1e-5, fast_mode=True)
    assert gradgradcheck(function, (x, y, u), atol=1e-5, rtol=1e-4, fast_mode=True)


@pytest.mark.parametrize("off", [3e-3, 2e-2])
@pytest.mark.parametrize("name", KINKED)
@pytest.mark.parametrize("M", CONES, ids=lambda M: M._label())
def test_what_has_a_kink_on_the_cone_has_its_derivatives_beside_it(M, name, off):
    beta = M.beta.item()
    x, _, y = (z.requires_grad_() for z in pairs_on_the_cone(M, off * -beta))
    assert (M.sqdist(x, y) / -beta).tolist() == pytest.approx([off, -off], rel=0.3)

    def function(x, y):
        return M.pair_function(name)(M.phi(x), M.phi(y))

    assert gradcheck(function, (x, y), atol=1e-5, rtol=1e-4, fast_mode=True)
    assert gradgradcheck(function, (x, y), atol=1e-3, rtol=1e-3, fast_mode=True)


@pytest.mark.parametrize("name", KINKED)
def test_on_the_cone_a_kink_has_finite_derivatives_of_both_orders(name):
    """0 by convention, and never NaN: exactly on it, at equal points and at the antipode."""
    M = PseudoHyperboloid(2, 1)
    y = torch.tensor([[1.0, 0, 0, 0], [1, 1, 1, 0], [-1, 0, 0, 0]]).double().requires_grad_()
    x = M.origin(3).requires_grad_()
    value = M.pair_function(name)(x, y)
    first = torch.autograd.grad(value.sum(), (x, y), create_graph=True)
    second = torch.autograd.grad(
        sum(g.square().sum() + g.sum() for g in first), (x, y), allow_unused=True
    )
    for gradient in (*first, *(g for g in second if g is not None)):
        assert gradient.isfinite().all()


@pytest.mark.parametrize(
    "name", ["expmap", "geodesic", "logmap", "sqdist", "smoothed", "interpolate"]
)
@pytest.mark.parametrize(
    "M",
    [
        PseudoHyperboloid(3, 0, -4.0),
        PseudoHyperboloid(0, 3, -0.25),
        PseudoHyperboloid(2, 1),
        Product(PseudoHyperboloid(2, 0), Euclidean(1)),
    ],
    ids=lambda M: M._label(),
)
def test_equal_points_have_second_derivatives(M, name):
    x = M.random(2, scale=0.5, generator=0)
    y, u = x.clone(), torch.zeros_like(x)
    function = on_the_manifold(M, SMOOTH[name])
    if isinstance(M, Product) and name == "smoothed":
        return  # a root of a sum of squares has a kink at equal points
    arguments = [z.requires_grad_() for z in (x, y, u)]
    assert gradcheck(function, arguments, atol=1e-6, rtol=1e-5, fast_mode=True)
    assert gradgradcheck(function, arguments, atol=1e-4, rtol=1e-3, fast_mode=True)
