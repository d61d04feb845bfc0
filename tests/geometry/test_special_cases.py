"""The named special cases of q = 0: the Poincaré distance and the Lorentzian distance."""

from __future__ import annotations

import pytest
import torch

from ultrahyperbolic import PseudoHyperboloid


@pytest.fixture(params=[-0.25, -1.0, -4.0])
def pairs(request, generator):
    M = PseudoHyperboloid(4, 0, request.param)
    x, y = M.random(500, generator=generator), M.random(500, generator=generator)
    apart = M.dist(x, y) > 1e-2
    return M, x[apart], y[apart]


def test_the_poincare_distance(pairs):
    M, x, y = pairs
    radius = M.beta.abs().sqrt()
    # Stereographic projection from the negative pole onto the unit ball, and the ball's closed
    # form.
    a, b = (z[:, 1:] / (radius + z[:, :1]) for z in (x, y))
    gap, room = (a - b).square().sum(-1), (1 - a.square().sum(-1)) * (1 - b.square().sum(-1))
    assert (a.norm(dim=-1) < 1).all()
    torch.testing.assert_close(
        M.dist(x, y), radius * (1 + 2 * gap / room).acosh(), rtol=1e-10, atol=1e-10
    )
    assert torch.equal(M.dissimilarity(x, y), M.dist(x, y))


def test_the_lorentz_model_s_distance(pairs):
    M, x, y = pairs
    cosine = (x[:, 0] * y[:, 0] - (x[:, 1:] * y[:, 1:]).sum(-1)) / M.beta.abs()
    torch.testing.assert_close(
        M.dist(x, y), M.beta.abs().sqrt() * cosine.acosh(), rtol=1e-10, atol=1e-10
    )


def test_the_lorentzian_distance(pairs):
    M, x, y = pairs
    square = 2 * M.beta + 2 * (x[:, 0] * y[:, 0] - (x[:, 1:] * y[:, 1:]).sum(-1))
    torch.testing.assert_close(M.extrinsic_dist(x, y).square(), square, rtol=1e-10, atol=1e-10)
