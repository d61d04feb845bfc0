"""The defaults of the optimisers train wherever Riemannian Adam does, and in the spaces it does not
know.
"""

from __future__ import annotations

import math

import pytest
import torch
from steps import train as steps_of

from ultrahyperbolic import (
    Euclidean,
    Manifold,
    ManifoldParameter,
    Product,
    PseudoHyperboloid,
    PseudoSphere,
)
from ultrahyperbolic.optim import (
    DescentSettings,
    DescentState,
    PseudoRiemannianAdam,
    descent_step,
)

SPACES = [(2, 0), (5, 0), (2, 1), (3, 3), (0, 2), (0, 5)]
NODES = 31
PAIRS = torch.triu_indices(NODES, NODES, 1)


def hops(a: int, b: int) -> int:
    """Between two nodes of the binary tree whose node k hangs at (k - 1) // 2."""
    steps = 0
    while a != b:
        a, b, steps = (max(a, b) - 1) // 2, min(a, b), steps + 1
    return steps


HOPS = torch.tensor([hops(i, j) for i, j in PAIRS.T.tolist()], dtype=torch.float64)


def stress(M, x, generator):
    i, j = PAIRS
    return (M.dissimilarity(x[i], x[j]) / HOPS.to(x) - 1.0).square().mean()


def contrastive(M, x, generator):
    """The parents of 16 random nodes among random ones."""
    child = torch.randint(1, NODES, (16, 1), generator=generator)
    candidates = torch.cat(
        ((child - 1) // 2, torch.randint(NODES, (16, 5), generator=generator)), dim=1
    )
    return -(-M.dissimilarity(x[child], x[candidates])).log_softmax(1)[:, 0].mean()


def outwards(M, x, generator):
    """Falls for ever as points leave in all directions."""
    return -M.dissimilarity(x, M.origin(dtype=x.dtype)).mean()


def train(M, loss, make, steps, dtype=torch.float64, kind=ManifoldParameter):
    """The points after some steps, and all losses."""
    x = kind(M.random_near_pole(NODES, epsilon=0.1, generator=0).to(dtype), M)
    generator = torch.Generator().manual_seed(0)
    values = steps_of(make([x]), lambda: loss(M, x, generator), steps)
    return x.detach().as_subclass(torch.Tensor), values


@pytest.mark.parametrize("loss", [stress, contrastive])
@pytest.mark.parametrize("lr", [0.03, 0.1, 0.3])
@pytest.mark.parametrize(("p", "q"), SPACES)
def test_adam_trains_at_every_rate_in_every_signature(p, q, lr, loss, dtype):
    M = PseudoHyperboloid(p, q)
    x, values = train(M, loss, lambda params: PseudoRiemannianAdam(params, lr=lr), 80, dtype)
    assert sum(values[-10:]) < 0.95 * sum(values[:10])
    assert M.check_point(x).ok


@pytest.mark.parametrize("loss", [stress, contrastive])
@pytest.mark.parametrize("lr", [1e-3, 0.1, 0.3])
@pytest.mark.parametrize("p", [2, 5])
def test_in_hyperbolic_space_adam_is_geoopt_s(p, lr, loss):
    geoopt = pytest.importorskip("geoopt")
    M = PseudoHyperboloid(p, 0)
    x, _ = train(M, loss, lambda params: PseudoRiemannianAdam(params, lr=lr), 40)
    y, _ = train(
        M,
        loss,
        lambda params: geoopt.optim.RiemannianAdam(params, lr=lr),
        40,
        kind=lambda points, _: geoopt.ManifoldParameter(points, geoopt.Lorentz()),
    )
    # geoopt's map is exp, ours ends a little earlier.
    torch.testing.assert_close(x, y, rtol=0.1 * lr, atol=0.1 * lr)


@pytest.mark.parametrize(("p", "q"), [(2, 0), (2, 1), (3, 3)])
def test_points_stay_where_they_are_representable(p, q, dtype):
    M = PseudoHyperboloid(p, q)
    x, values = train(M, outwards, lambda params: PseudoRiemannianAdam(params, lr=0.3), 200, dtype)
    assert M.check_point(x).ok
    assert -values[-1] > 5.0, "but they go far"
    # From there they come back.
    points = torch.nn.Parameter(x)
    steps_of(PseudoRiemannianAdam([points], M, lr=0.3), lambda: -outwards(M, points, None), 100)
    assert M.dissimilarity(points, M.origin(dtype=dtype)).mean() < -0.7 * values[-1]


def test_one_step_of_adam_has_the_length_of_the_rate(manifold, generator):
    x = manifold.random(20, scale=3.0, generator=generator)
    gradient = 1e3 * torch.randn(x.shape, dtype=torch.float64, generator=generator)
    for direction in ("surrogate", "descent", "gram-schmidt", "signed-gradient"):
        settings = DescentSettings(
            manifold, lr=1e-4, momentum=0.9, second_moment=0.999, direction=direction
        )
        moved, state = descent_step(x, gradient, DescentState(), settings)
        length = manifold.component_sqnorm(x, manifold.proju(x, moved - x)).sqrt()
        torch.testing.assert_close(length, torch.full_like(length, 1e-4), rtol=1e-3, atol=0.0)
        assert state.second_moment.shape == (20, 1)


def test_the_retraction_follows_the_geodesic(manifold, generator):
    x = manifold.random(40, generator=generator)
    u, v = (manifold.random_tangent(x, generator=generator) for _ in range(2))
    u = u * 1.4 * manifold.beta.abs().sqrt() / u.norm(dim=-1, keepdim=True)
    y, carried = manifold.retr_transp(x, u, v)
    torch.testing.assert_close(y, manifold.retr(x, u))
    square = manifold.sqnorm(u) / manifold.beta.abs()
    root = 0.5 * square.abs().sqrt()
    angle = 2.0 * torch.where(square > 0, root.asinh(), root.atan())
    torch.testing.assert_close(
        y, manifold.geodesic(x, u, angle / (2.0 * root)), rtol=1e-9, atol=1e-9
    )
    torch.testing.assert_close(carried, manifold.transp(x, y, v), rtol=1e-8, atol=1e-8)
    far = manifold.retr(x, 1e8 * u)
    assert far.isfinite().all(), "where exp overflows"
    if manifold.q == 0:
        assert manifold.expmap(x, 1e8 * u).isinf().any()


@pytest.mark.parametrize(
    "M", [PseudoHyperboloid(3, 1, -4.0), PseudoSphere(2, 1, 4.0), PseudoHyperboloid(3, 0)], ids=str
)
def test_the_squared_length_is_positive_and_that_of_the_surrogate(M, generator):
    x = M.random(30, scale=2.0, generator=generator)
    u = M.random_tangent(x, generator=generator)
    length = M.component_sqnorm(x, u)
    torch.testing.assert_close(length, Manifold.component_sqnorm(M, x, u), rtol=1e-9, atol=1e-9)
    gradient = torch.randn(x.shape, dtype=x.dtype, generator=generator)
    slope = M.inner(M.egrad2rgrad(x, gradient), M.surrogate_direction(x, gradient), keepdim=True)
    torch.testing.assert_close(
        M.component_sqnorm(x, M.surrogate_direction(x, gradient)), slope, rtol=1e-9, atol=1e-9
    )
    # Where rounding leaves nothing of it, it is still positive.
    x = M.random(200, scale=1e3, generator=generator, dtype=torch.float32)
    u = M.random_tangent(x, generator=generator)
    assert (M.component_sqnorm(x, u) > 0).all()


def test_components_of_products_are_their_factors_and_flat_coordinates(generator):
    H, E = PseudoHyperboloid(2, 0), Euclidean(2)
    M = Product(H, E)
    x = M.random(5, generator=generator)
    u = M.random_tangent(x, generator=generator)
    found = M.component_sqnorm(x, u)
    torch.testing.assert_close(found[:, :3], H.component_sqnorm(x[:, :3], u[:, :3]).expand(5, 3))
    torch.testing.assert_close(found[:, 3:], u[:, 3:].square())
    # So a product trains as its factors would alone.
    whole, *parts = (torch.nn.Parameter(part.clone()) for part in (x, *M.split(x)))
    spaces = zip((whole, *parts), (M, H, E), strict=True)
    optimizers = [PseudoRiemannianAdam([points], space, lr=0.1) for points, space in spaces]
    for _ in range(5):
        for points in (whole, torch.cat(parts, dim=-1)):
            (points.sin() + points.square()).sum().backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
    torch.testing.assert_close(whole, torch.cat(parts, dim=-1), rtol=1e-12, atol=1e-12)


def test_a_point_at_the_edge_stops_and_others_go_on():
    M = PseudoHyperboloid(1, 0)
    edge = math.asinh(math.sqrt(4.0 / torch.finfo(torch.float64).eps)) - 0.01
    x = M.expmap(M.origin(2), torch.tensor([[0.0, edge], [0.0, 1.0]], dtype=torch.float64))
    gradient = M.raise_index(M.proju(x, -torch.tensor([[0.0, 1.0]], dtype=torch.float64)))
    settings = DescentSettings(M, lr=0.3, momentum=0.9, second_moment=0.999)
    moved, state = descent_step(x, gradient, DescentState(), settings)
    assert torch.equal(moved[0], x[0])
    assert moved[1, 1] > 1.1 * x[1, 1]
    assert state.finite.all()
    assert (state.momentum[0] == 0).all()
