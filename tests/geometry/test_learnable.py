"""A learned β: gradients through every map, points that follow, states, and a β that is found."""

from __future__ import annotations

import copy
import io
import math

import pytest
import torch
from quadrics import check_quadric
from steps import train
from torch import nn

from ultrahyperbolic import Euclidean, ManifoldParameter, Product, PseudoHyperboloid, PseudoSphere
from ultrahyperbolic.optim import PseudoRiemannianAdam, PseudoRiemannianSGD
from ultrahyperbolic.spaces.dissimilarities import DISSIMILARITIES

MAPS = {
    "expmap": lambda M, x, y, u: M.expmap(x, M.proju(x, u)),
    "logmap": lambda M, x, y, u: M.logmap(x, y).vector.nan_to_num(0.0),
    "interpolate": lambda M, x, y, u: M.interpolate(x, y, 0.3).nan_to_num(0.0),
    "transp": lambda M, x, y, u: M.transp(x, y, M.proju(x, u)).nan_to_num(0.0),
    "transp_follow_expmap": lambda M, x, y, u: M.transp_follow_expmap(
        x, M.proju(x, u), M.proju(x, y)
    ),
    "retr": lambda M, x, y, u: M.retr(x, M.proju(x, u)),
    "sqdist": lambda M, x, y, u: M.sqdist(x, y).nan_to_num(0.0),
    "dissimilarities": lambda M, x, y, u: sum(
        M.pair_function(name)(x, y).nan_to_num(0.0) for name in DISSIMILARITIES
    ),
    "phi": lambda M, x, y, u: M.phi(u),
    "projx": lambda M, x, y, u: M.projx(1.5 * x),
    "psi": lambda M, x, y, u: M.psi(x),
    "descent_direction": lambda M, x, y, u: M.descent_direction(x, u),
    "surrogate_direction": lambda M, x, y, u: M.surrogate_direction(x, u),
    "precondition_root": lambda M, x, y, u: M.precondition_root(x, u),
    "preconditioner": lambda M, x, y, u: M.preconditioner(x),
    "shape_operator": lambda M, x, y, u: M.shape_operator(x, u) + M.unit_normal(x),
    "curvatures": lambda M, x, y, u: M.sectional_curvature + M.mean_curvature,
    "random": lambda M, x, y, u: M.random(3, generator=5) + M.random_near_pole(3, generator=5),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("beta", [-0.25, -4.0])
def test_gradients_agree_with_finite_differences(name, signature, beta):
    """Of what a map makes of points that follow β by homothety, as a function of log |β|."""
    unit = PseudoHyperboloid(*signature)
    a, b = unit.random(6, generator=0), unit.random(6, generator=1)
    numbers = torch.Generator().manual_seed(2)
    u = torch.randn(6, 5, dtype=torch.float64, generator=numbers)
    weights = torch.randn(6 * 5 * 5, dtype=torch.float64, generator=numbers)

    def value(M):
        made = MAPS[name](M, unit.homothety(a, M.beta), unit.homothety(b, M.beta), u)
        return (made.flatten() * weights[: made.numel()]).sum()

    M = PseudoHyperboloid(*signature, beta, learnable=True)
    (slope,) = torch.autograd.grad(value(M), M.log_abs_beta)
    h, log = 1e-4, math.log(-beta)

    def at(offset):
        return value(PseudoHyperboloid(*signature, -math.exp(log + offset))).item()

    expected = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    assert slope.item() == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_a_parameter_as_beta_is_learned():
    for M in (
        PseudoHyperboloid(2, 1, nn.Parameter(torch.tensor(-4.0))),
        PseudoHyperboloid(2, 1, -4.0, learnable=True),
    ):
        assert [name for name, _ in M.named_parameters()] == ["log_abs_beta"]
        assert M.beta.item() == pytest.approx(-4.0, rel=1e-15)
        assert repr(M) == "PseudoHyperboloid(p=2, q=1, beta=-4, learnable=True)"
    S = PseudoSphere(2, 1, nn.Parameter(torch.tensor(4.0)))
    assert [name for name, _ in S.named_parameters()] == ["image.log_abs_beta"]
    frozen = PseudoHyperboloid(2, 1, nn.Parameter(torch.tensor(-4.0), requires_grad=False))
    assert list(frozen.parameters()) == []
    # Whatever an optimiser does, |β| stays positive.
    M = PseudoHyperboloid(2, 1, -4.0, learnable=True)
    (-M.beta).backward()
    torch.optim.SGD(M.parameters(), lr=100.0).step()
    assert -1e-100 < M.beta.item() < 0.0


@pytest.mark.parametrize(
    "dtype", [torch.float64, pytest.param(torch.float32, marks=pytest.mark.slow)]
)
def test_the_battery_passes(dtype):
    check_quadric(PseudoHyperboloid(2, 1, -4.0, learnable=True), dtype=dtype)
    check_quadric(
        PseudoSphere(2, 1, 4.0, learnable=True),
        dtype=dtype,
        only=["membership", "exp_log", "homothety"],
    )


def test_copies_casts_and_states():
    M = PseudoHyperboloid(2, 1, -4.0, learnable=True)
    M.beta.backward()
    value, slope = M.log_abs_beta.item(), M.log_abs_beta.grad.item()
    M.float()
    learned = M.log_abs_beta
    assert (learned.dtype, learned.item(), learned.grad.item()) == (torch.float64, value, slope)
    assert copy.deepcopy(M).log_abs_beta is not M.log_abs_beta
    other, fixed = PseudoHyperboloid(2, 1, learnable=True), PseudoHyperboloid(2, 1)
    buffer = io.BytesIO()
    torch.save(M.state_dict(), buffer)
    buffer.seek(0)
    state = torch.load(buffer, weights_only=True)
    other.load_state_dict(state)
    assert other.log_abs_beta.item() == value
    fixed.load_state_dict(state)
    assert fixed.beta.item() == pytest.approx(-4.0, rel=1e-15)
    learned = PseudoHyperboloid(2, 1, learnable=True)
    learned.load_state_dict(PseudoHyperboloid(2, 1, -9.0).state_dict())
    assert learned.beta.item() == pytest.approx(-9.0, rel=1e-15)
    with pytest.raises(RuntimeError, match="p and q are 2 and 2 here"):
        PseudoHyperboloid(2, 2, learnable=True).load_state_dict(state)


def cloud(M, generator):
    return ManifoldParameter(M.random(12, scale=0.5, generator=generator).detach(), M)


@pytest.mark.parametrize("kind", [PseudoRiemannianSGD, PseudoRiemannianAdam])
@pytest.mark.parametrize(
    "make",
    [
        lambda: PseudoHyperboloid(2, 1, -2.0, learnable=True),
        lambda: PseudoSphere(2, 1, 2.0, learnable=True),
        lambda: Product(
            PseudoHyperboloid(2, 0, learnable=True),
            Euclidean(1),
            PseudoSphere(2, 0, learnable=True),
        ),
    ],
    ids=["Q21", "sphere", "product"],
)
def test_points_follow(kind, make, generator):
    M = make()
    x = cloud(M, generator)
    optimizer = kind([x, *M.parameters()], lr=1e-2)
    before = [parameter.item() for parameter in M.parameters()]

    def loss():
        M.assert_point(x.detach())
        return (M.smoothed_dissimilarity(x[:, None], x[None]) - 3.0).square().mean()

    losses = train(optimizer, loss, 20)
    assert losses[-1] < losses[0]
    assert all(
        parameter.item() != old for parameter, old in zip(M.parameters(), before, strict=True)
    )


def test_the_step_of_beta_knows_that_points_follow():
    """The slope in log |β| is that of f with its points taken along, whatever formula f is written
    in.
    """
    M = PseudoHyperboloid(2, 1, -2.0, learnable=True)
    x = cloud(M, torch.Generator().manual_seed(0))
    unit = PseudoHyperboloid(2, 1).random(12, scale=0.5, generator=0)

    def f(M, x):
        return M.smoothed_dissimilarity(x[:6], x[6:]).sum() + M.inner(x[:6], x[6:]).sum()

    total = PseudoHyperboloid(2, 1, -2.0, learnable=True)
    f(total, PseudoHyperboloid(2, 1).homothety(unit, total.beta)).backward()
    f(M, x).backward()
    start = M.log_abs_beta.item()
    PseudoRiemannianSGD([x, *M.parameters()], lr=1e-3).step()
    assert start - M.log_abs_beta.item() == pytest.approx(
        1e-3 * total.log_abs_beta.grad.item(), rel=1e-10
    )
    M.log_abs_beta.grad, x.grad = None, None
    M.inner(x[:6], x[6:]).sum().backward()  # does not mention β: its points do
    start = M.log_abs_beta.item()
    PseudoRiemannianSGD([x, *M.parameters()], lr=1e-3).step()
    assert M.log_abs_beta.item() != start
    assert M.log_abs_beta.grad is None


@pytest.mark.parametrize("signature", [(3, 0), (0, 3), (2, 1)], ids=str)
def test_the_beta_of_data_is_found(signature, generator):
    """Points and β together, from β = -1 and points near the pole, or near the truth where minima
    are many.
    """
    truth = PseudoHyperboloid(*signature, -4.0)
    goal = truth.random(20, scale=0.7, generator=generator)
    wanted = truth.smoothed_dissimilarity(goal[:, None], goal[None])
    M = PseudoHyperboloid(*signature, -1.0, learnable=True)
    if signature == (2, 1):
        start = truth.homothety(goal, -1.0) + 0.1 * torch.randn(
            20, 4, dtype=torch.float64, generator=generator
        )
    else:
        start = M.random_near_pole(20, epsilon=0.5, generator=generator).detach()
    z = nn.Parameter(start)
    optimizer = torch.optim.LBFGS(
        [z, *M.parameters()], max_iter=150, history_size=30, line_search_fn="strong_wolfe"
    )

    def closure():
        optimizer.zero_grad()
        x = M.phi((-M.beta).sqrt() * z)
        loss = (M.smoothed_dissimilarity(x[:, None], x[None]) - wanted).square().mean()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert M.beta.item() == pytest.approx(-4.0, rel=0.05)
