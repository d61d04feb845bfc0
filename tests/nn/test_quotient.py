"""x and -x as one point: a geodesic joins every two."""

from __future__ import annotations

import math

import pytest
import torch

from ultrahyperbolic import PseudoHyperboloid, PseudoSphere
from ultrahyperbolic.nn import PseudoGraphConv, PseudoLinear, quotient_dist

MANIFOLDS = [
    PseudoHyperboloid(3, 3, -4.0),
    PseudoHyperboloid(1, 3),
    PseudoHyperboloid(3, 1, -0.25),
    PseudoHyperboloid(0, 3),
    PseudoSphere(2, 1, 4.0),
    PseudoSphere(3, -1),
]


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=str)
def test_a_geodesic_joins_every_two(manifold):
    x, y = manifold.random(500, generator=0), manifold.random(500, generator=1)
    if not manifold.joins_all_pairs:
        assert manifold.dist(x, y).isnan().any()  # without the quotient
    length = quotient_dist(manifold, x, y)
    assert length.isfinite().all()
    for a, b in ((-x, y), (x, -y), (y, x)):
        torch.testing.assert_close(quotient_dist(manifold, a, b), length)
    torch.testing.assert_close(quotient_dist(manifold, x, -x), 0 * length, rtol=0.0, atol=1e-6)
    exists = manifold.dist(x, y).isfinite() & manifold.dist(-x, y).isfinite()
    shorter = torch.minimum(manifold.dist(x, y), manifold.dist(-x, y))
    torch.testing.assert_close(length[exists], shorter[exists])


def test_on_the_sphere_it_is_the_angle_of_lines():
    S = PseudoHyperboloid(0, 2, -4.0)
    x, y = S.random(50, generator=0), S.random(50, generator=1)
    cosine = (x * y).sum(-1).abs() / 4.0
    torch.testing.assert_close(quotient_dist(S, x, y), 2.0 * cosine.arccos())
    assert quotient_dist(S, x, y).max() <= math.pi


@pytest.mark.parametrize("manifold", MANIFOLDS[:4], ids=str)
@pytest.mark.parametrize("kind", [PseudoLinear, PseudoGraphConv])
def test_layers_take_both_for_one_point(manifold, kind):
    made = kind(manifold, PseudoHyperboloid(2, 1), quotient=True, dtype=torch.float64)
    edges = () if kind is PseudoLinear else (torch.tensor([[0, 1, 2], [1, 2, 0]]),)
    x = manifold.random(9, generator=0)
    signs = torch.tensor([1.0, -1.0, 1.0] * 3, dtype=torch.float64).unsqueeze(-1)
    torch.testing.assert_close(made(signs * x, *edges), made(x, *edges), rtol=0.0, atol=0.0)


def test_smoothed_it_has_a_slope_at_the_same_point():
    M = PseudoHyperboloid(2, 2)
    x = M.random(5, generator=0).requires_grad_()
    length = quotient_dist(M, x, -x.detach(), epsilon=0.1)
    length.sum().backward()
    torch.testing.assert_close(length, torch.zeros(5, dtype=torch.float64))
    assert x.grad.isfinite().all()
