"""One call for any function, and optimisation through φ."""

from __future__ import annotations

import math

import pytest
import torch

from ultrahyperbolic import Euclidean, Interrupted, PseudoHyperboloid, minimize
from ultrahyperbolic.optim import OntoManifold, optimize_through_phi


@pytest.fixture
def setting():
    M = PseudoHyperboloid(3, 1, -4.0)
    generator = torch.Generator().manual_seed(0)
    target = M.random(6, scale=0.5, generator=generator)
    start = M.expmap(target, 0.5 * M.random_tangent(target, generator=generator))
    return M, start, target


@pytest.mark.parametrize(
    ("method", "direction"),
    [
        ("lbfgs", None),
        *((method, way) for method in ("line_search", "sgd", "adam") for way in (None, "descent")),
    ],
)
def test_it_finds_a_known_minimum(setting, method, direction):
    M, start, target = setting
    searches = method in ("lbfgs", "line_search")
    options = {"direction": direction} | ({} if searches else {"lr": 0.02, "max_step": 0.2})
    options |= {"max_iterations": 3000, "gradient_tolerance": 1e-4}
    result = minimize(lambda x: (x - target).square().sum(), start, M, method=method, **options)
    assert result.value < 1e-6
    assert M.check_point(result.point).ok
    assert result.value == pytest.approx((result.point - target).square().sum().item())
    assert len(result.history) == result.iterations + 1
    assert result.evaluations >= result.iterations + 1
    if searches:
        assert result.converged, result.reason
        assert torch.allclose(result.point, target, atol=1e-4)


@pytest.mark.parametrize("signature", [(4, 0), (3, 1), (2, 2), (1, 3), (0, 4)], ids=str)
@pytest.mark.parametrize("beta", [-0.25, -4.0])
def test_it_does_not_stall_away_from_the_pole(signature, beta):
    # ‖x - a‖² with a on the manifold: the least is 0, and χ is stretched by (‖x‖²/β)² on the way to
    # it.
    M = PseudoHyperboloid(*signature, beta)
    for seed in range(3):
        generator = torch.Generator().manual_seed(seed)
        target, start = (M.random(4, scale=3.0, generator=generator) for _ in range(2))
        result = minimize(lambda x, a=target: (x - a).square().sum(), start, M, max_iterations=100)
        assert result.converged, result.reason
        assert result.value < 1e-14 * result.history[0]


def test_any_direction_that_descends_will_do_and_of_the_others_it_is_said():
    # Where this starts Df is null and not 0: it ascends at the rate ⟨Df, Df⟩ = 0, exactly, as all
    # numbers are whole.
    M = PseudoHyperboloid(2, 1, -4.0)

    def run(direction):
        options = {"method": "line_search", "direction": direction, "gradient_tolerance": 1e-6}
        return minimize(
            lambda x: (x[..., 1] + x[..., 2] + 1.0).square().sum(), M.origin(1), M, **options
        )

    for direction in ("descent", "surrogate", "gram-schmidt"):
        result = run(direction)
        assert result.converged, result.reason
        assert result.value < 1e-10
    for direction in ("gradient", "signed-gradient"):
        result = run(direction)
        assert (result.converged, result.iterations) == (False, 0)
        assert f"direction '{direction}' does not descend here" in result.reason
        assert result.gradient_norm > 1.0


def test_convergence_does_not_depend_on_the_units(setting):
    M, start, target = setting
    for unit in (1e-9, 1.0, 1e9):
        f = lambda x, u=unit: u * (1.0 + (x - target).square().sum())  # noqa: E731
        result = minimize(f, start, M, gradient_tolerance=0.0)
        assert result.converged, result.reason
        assert "rounding" in result.reason
        assert (result.point - target).abs().max() < 1e-6


def test_the_gradient_norm_is_that_of_the_point_returned(setting):
    M, start, target = setting
    options = {"method": "sgd", "lr": 0.3, "max_step": 1.0, "max_iterations": 40}
    result = minimize(lambda x: (x - target).square().sum(), start, M, **options)
    assert result.value < result.history[-1]
    x = result.point.requires_grad_()
    (gradient,) = torch.autograd.grad((x - target).square().sum(), x)
    assert result.gradient_norm == pytest.approx(M.egrad2rgrad(x.detach(), gradient).norm().item())


def test_a_flat_place_that_is_not_the_lowest_seen_is_no_convergence():
    # From -0.6 a step of this size leaps over the well at 0, to a plateau where the gradient is 0.
    def f(x):
        return torch.where(x < 1.0, x.square(), 1.0 + 0.0 * x).sum()

    start = torch.tensor([[-0.6]], dtype=torch.float64)
    result = minimize(f, start, Euclidean(1), method="sgd", lr=2.0, max_iterations=5)
    assert result.history == pytest.approx([0.36, 1.0])
    assert not result.converged
    assert "an earlier one is lower, and is returned" in result.reason
    assert (result.value, result.gradient_norm) == (pytest.approx(0.36), pytest.approx(1.2))


def test_the_search_through_phi_survives_infinities_kinks_and_endless_descents():
    E = Euclidean(1)
    cliff = minimize(lambda x: (x - x.log()).sum(), torch.tensor([[1e-3]], dtype=torch.float64), E)
    assert cliff.converged
    assert cliff.point.item() == pytest.approx(1.0)
    endless = minimize(
        lambda x: x.sum(), torch.tensor([[0.0]], dtype=torch.float64), E, max_iterations=10
    )
    assert not endless.converged
    assert -math.inf < endless.value < -1e6
    kink = minimize(lambda x: x.abs().sum(), torch.tensor([[1.0]], dtype=torch.float64), E)
    assert kink.value < 1e-8


def test_reasons_to_stop(setting):
    M, start, target = setting

    def f(x):
        return (x - target).square().sum()

    assert minimize(f, start, M, max_iterations=3).reason == "reached max_iterations = 3"
    assert minimize(f, start, M, max_iterations=0).iterations == 0
    assert "callback" in minimize(f, start, M, callback=lambda i, x, v: i == 2).reason
    assert "time_limit" in minimize(f, start, M, time_limit=1e-6, gradient_tolerance=0.0).reason
    done = minimize(f, target, M, gradient_tolerance=1e-6)
    assert (done.converged, done.iterations) == (True, 0)
    # The tolerance met at the last iteration is convergence; one less is not.
    free = minimize(f, start, M, gradient_tolerance=1e-3)
    for count, converged in ((free.iterations, True), (free.iterations - 1, False)):
        last = minimize(f, start, M, gradient_tolerance=1e-3, max_iterations=count)
        assert (last.converged, last.reason == free.reason) == (converged, converged)


def test_ctrl_c_is_raised_with_the_best_so_far(setting):
    M, start, target = setting

    def interrupt(iteration, points, value):
        if iteration == 5:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="after 5 iterations") as raised:
        minimize(lambda x: (x - target).square().sum(), start, M, callback=interrupt)
    assert isinstance(raised.value, KeyboardInterrupt)
    result = raised.value.result
    assert (result.reason, result.iterations) == ("interrupted", 5)
    assert result.value == min(result.history) < result.history[0]


def test_a_step_into_nonsense_is_taken_back(setting):
    M, start, _ = setting
    result = minimize(lambda x: x.sum().log(), start.abs(), Euclidean(5), method="sgd", lr=10.0)
    assert math.isfinite(result.value)
    assert result.point.isfinite().all()
    assert "non-finite" in result.reason
    assert M.check_point(start).ok


def test_optimisation_through_phi(setting):
    M, start, target = setting
    table = torch.nn.Embedding(6, 5, dtype=torch.float64)
    table.weight.data = start.clone()
    optimize_through_phi(table, "weight", M)
    torch.testing.assert_close(table.weight, start)
    adam = torch.optim.Adam(table.parameters(), lr=0.02)
    for _ in range(800):
        adam.zero_grad()
        (table.weight - target).square().sum().backward()
        adam.step()
    assert M.check_point(table.weight.detach()).ok
    assert (table.weight - target).square().sum() < 1e-4
    free = table.parametrizations.weight.original
    assert not M.check_point(free.detach()).ok, "the parameter itself moves freely"
    table.weight = target
    torch.testing.assert_close(table.weight, target)
    with pytest.raises(ValueError, match="zero time part"):
        OntoManifold(M).right_inverse(torch.zeros(2, 5, dtype=torch.float64))


def test_a_failed_search_away_from_a_minimum_is_no_convergence(setting):
    M, start, target = setting
    wrong = minimize(
        lambda x: (x.detach() - target).square().sum() - (x - x.detach()).sum(), start, M
    )
    assert not wrong.converged
    assert "wrong gradient" in wrong.reason


def test_what_happens_to_a_module_does_not_reach_the_manifold(setting):
    M, start, _ = setting
    table = torch.nn.Embedding(6, 5, dtype=torch.float64)
    table.weight.data = start.clone()
    optimize_through_phi(table, "weight", M)
    state = table.state_dict()
    (beta,) = (name for name in state if name.endswith("beta"))
    table.load_state_dict(state | {beta: torch.tensor(-9.0)})
    assert PseudoHyperboloid(3, 1, -9.0).check_point(table.weight.detach()).ok
    assert M.beta.item() == -4.0
