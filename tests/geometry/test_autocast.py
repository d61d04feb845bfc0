"""Mixed precision: the geometry is computed in float32 at least, whatever the layers around it
do.
"""

from __future__ import annotations

import pytest
import torch
from torch import nn

import ultrahyperbolic as uh
from ultrahyperbolic.optim import PseudoRiemannianAdam, PseudoRiemannianSGD

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
HALVES = [torch.bfloat16, torch.float16]
MANIFOLDS = [
    uh.PseudoHyperboloid(2, 1, -4.0),
    uh.PseudoHyperboloid(3, 0, -0.25),
    uh.PseudoSphere(2, 1, 4.0),
    uh.Euclidean(4),
    uh.Product(uh.PseudoHyperboloid(2, 1), uh.Euclidean(2)),
]


def maps(M, x, y, u):
    found = [
        M.dist(x, y),
        M.dissimilarity(x, y),
        M.smoothed_dissimilarity(x, y),
        M.expmap(x, u),
        M.logmap(x, y).vector,
        M.geodesic(x, u, 0.3),
        M.transp_follow_expmap(x, u, u),
        M.phi(y),
        M.descent_direction(x, y),
        M.surrogate_direction(x, y),
        M.cdist(x, y, dissimilarity="geodesic"),
    ]
    return [*found, M.psi(x), M.psi_inverse(M.psi(x))] if hasattr(M, "psi") else found


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("M", MANIFOLDS, ids=lambda M: M._label())
def test_single_precision_points_keep_it(M, device, half):
    M = M.to(device)
    x, y = (M.random(50, scale=0.5, generator=k).to(device) for k in (0, 1))
    u = 0.1 * M.proju(x, y)
    exact = maps(M, x, y, u)
    plain = maps(M, x.float(), y.float(), u.float())
    with torch.autocast(device, dtype=half):
        mixed = maps(M, x.float(), y.float(), u.float())
    for truth, a, b in zip(exact, plain, mixed, strict=True):
        assert b.dtype == torch.float32
        assert torch.equal(a.nan_to_num(), b.nan_to_num())  # as without autocast
        there = truth.isfinite() & a.isfinite()
        error = (b.double() - truth)[there].abs().max()
        # Far better than half precision, whose steps are 2^-8 or 2^-11; distances near the cone
        # lose half the digits.
        assert error <= 2e-3 * truth[there].abs().max()
        assert (b.double() - truth)[there].abs().median() <= 1e-6 * truth[there].abs().max()


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("kind", [PseudoRiemannianSGD, PseudoRiemannianAdam])
def test_a_step_of_an_optimiser_is_the_same_under_autocast(kind, half):
    M, found = uh.PseudoHyperboloid(2, 1, -4.0), []
    for enabled in (False, True):
        points = uh.ManifoldParameter(M.random(20, generator=0, dtype=torch.float32), M)
        optimizer = kind([points], lr=1e-2)
        with torch.autocast("cpu", dtype=half, enabled=enabled):
            for _ in range(3):
                optimizer.zero_grad()
                M.smoothed_dissimilarity(points[:10], points[10:]).sum().backward()
                optimizer.step()
        assert points.dtype == torch.float32
        assert M.check_point(points.detach()).ok
        found.append(points.detach())
    assert torch.equal(*found)


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("M", MANIFOLDS, ids=lambda M: M._label())
def test_activations_in_half_precision_are_widened(M, device, half):
    M, d = M.to(device), M.ambient_dim
    torch.manual_seed(0)
    layer = nn.Linear(d, d, device=device)
    x = M.random(30, generator=0).to(device)
    pole = M.origin(dtype=torch.float32, device=device)
    with torch.autocast(device, dtype=half):
        out = layer(x.float())
        assert out.dtype == half
        point = M.phi(out)
        moved = M.expmap(pole, M.proju(pole, 0.1 * out))
        beside_double = M.expmap(x, M.proju(x, 0.1 * out))
        loss = M.dissimilarity(point, moved).sum()
    for made, dtype in ((point, "float32"), (moved, "float32"), (beside_double, "float64")):
        assert made.dtype == getattr(torch, dtype)
        assert M.check_point(made.detach()).ok
    assert torch.equal(point, M.phi(out.float()))
    loss.backward()
    assert layer.weight.grad.isfinite().all()
    assert layer.weight.grad.abs().max() > 0


@pytest.mark.parametrize("half", HALVES)
def test_without_autocast_half_precision_is_refused(half):
    M = uh.PseudoHyperboloid(2, 1)
    for options in ({"enabled": False}, {"enabled": False, "dtype": half}):
        with (
            torch.autocast("cpu", **options),
            pytest.raises(TypeError, match=r"z must be float32 or float64, got torch\.b?float16"),
        ):
            M.phi(M.origin().to(half))


@pytest.mark.slow
def test_the_widening_compiles_and_is_of_every_manifold():
    class Mine(uh.PseudoHyperboloid):
        def twice(self, x):
            """A method that the package does not know."""
            assert x.dtype == torch.float32
            return 2.0 * x

    M, layer = Mine(2, 1), nn.Linear(4, 4)
    z = torch.randn(5, 4)

    def work(z):
        return M.twice(M.phi(layer(z))) + M.twice(layer(z))

    with torch.autocast("cpu", dtype=torch.bfloat16):
        compiled = torch.compile(work, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(z), work(z))
