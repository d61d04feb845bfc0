"""χ, one step, and why the gradient alone is not enough."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from ultrahyperbolic import Euclidean, PseudoHyperboloid, PseudoSphere, minimize
from ultrahyperbolic.optim import (
    DescentSettings,
    DescentState,
    armijo,
    descent_step,
    gram_schmidt_direction,
    orthonormal_basis,
)


def random_function(generator, d=5):
    a, b, c = (torch.randn(d, dtype=torch.float64, generator=generator) for _ in range(3))

    def function(x):
        return ((x @ a).sin() + 0.3 * (x @ b) ** 2 + (0.2 * (x @ c)).exp()).sum()

    return function


def euclidean_gradient(function, x):
    x = x.detach().requires_grad_()
    return torch.autograd.grad(function(x), x)[0]


def test_the_descent_identity_on_random_functions(manifold):
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        x = manifold.random(16, generator=generator)
        gradient = euclidean_gradient(random_function(generator), x)
        rgrad, chi = manifold.egrad2rgrad(x, gradient), manifold.descent_direction(x, gradient)
        torch.testing.assert_close(
            manifold.inner(rgrad, chi), rgrad.square().sum(-1), rtol=1e-9, atol=1e-9
        )
        # The expanded form of Eq. 14, term by term.
        G = torch.tensor([-1.0] * (manifold.q + 1) + [1.0] * manifold.p, dtype=torch.float64)
        dot, inner = (gradient * x).sum(-1, keepdim=True), manifold.inner(gradient, x, keepdim=True)
        beta, square = manifold.beta, x.square().sum(-1, keepdim=True)
        expanded = gradient - dot / beta * G * x - inner / beta * x + square * dot / beta**2 * x
        torch.testing.assert_close(chi, expanded, rtol=1e-9, atol=1e-9)


def test_a_null_gradient_stops_df_but_not_chi():
    # f(x) = x_1 + x_2 on Q^{2,1} at the pole: Df = (0, -1, 1, 0) is null and not zero. Along ±Df f
    # does not change at all; along -χ it falls.
    M = PseudoHyperboloid(2, 1, -4.0)
    x = M.origin()
    gradient = torch.tensor([0.0, 1.0, 1.0, 0.0], dtype=torch.float64)
    rgrad = M.egrad2rgrad(x, gradient)
    assert rgrad.abs().sum() > 1
    assert M.sqnorm(rgrad).item() == 0.0

    def f(x):
        return x[..., 1] + x[..., 2]

    for t in (-1.0, 1e-3, 0.1, 10.0):
        assert f(M.expmap(x, t * rgrad)).item() == pytest.approx(0.0, abs=1e-12)
    chi = M.descent_direction(x, gradient)
    for t in (1e-3, 0.1, 1.0):
        assert f(M.expmap(x, -t * chi)).item() < -t
    signed = DescentSettings(M, lr=0.1, direction="signed-gradient")
    assert torch.equal(descent_step(x, gradient, DescentState(), signed)[0], x)


@pytest.mark.parametrize("direction", ["descent", "surrogate", "gram-schmidt"])
@pytest.mark.parametrize("scale", [0.0, 1.0, 10.0])
def test_directions_descend(manifold, direction, scale, generator):
    x = manifold.random(32, scale=scale, generator=generator)
    f = random_function(generator)
    gradient = euclidean_gradient(f, x)
    length = 1e-4 * manifold.beta.abs().sqrt().item() / (1.0 + scale)
    moved, _ = descent_step(
        x,
        gradient,
        DescentState(),
        DescentSettings(manifold, lr=1e9, direction=direction, max_step=length),
    )
    slopes = (gradient * (moved - x)).sum(-1)
    steep = manifold.egrad2rgrad(x, gradient).norm(dim=-1) > 1e-3
    assert steep.sum() > 16
    assert (slopes < 0)[steep].all()


def test_one_step_along_each_direction_is_its_definition(manifold, generator):
    x = manifold.random(6, generator=generator)
    gradient = torch.randn(x.shape, dtype=torch.float64, generator=generator)
    rgrad = manifold.egrad2rgrad(x, gradient)
    values, vectors = torch.linalg.eigh(manifold.preconditioner(x))
    absolute = (vectors * values.abs().unsqueeze(-2)) @ vectors.mT
    definitions = {
        "descent": manifold.descent_direction(x, gradient),
        "surrogate": (absolute @ gradient.unsqueeze(-1)).squeeze(-1),
        "gradient": rgrad,
        "signed-gradient": torch.where(manifold.sqnorm(rgrad, keepdim=True) > 0, rgrad, -rgrad),
    }
    for direction, expected in definitions.items():
        settings = DescentSettings(manifold, lr=1e-3, direction=direction)
        moved, state = descent_step(x, gradient, DescentState(), settings)
        torch.testing.assert_close(
            moved, manifold.expmap(x, -1e-3 * expected), rtol=1e-9, atol=1e-9
        )
        assert state._replace(finite=None) == DescentState(1)


@pytest.mark.parametrize("scale", [0.0, 3.0])
def test_the_gram_schmidt_direction_is_its_definition(manifold, scale, generator):
    x = manifold.random(12, scale=scale, generator=generator)
    gradient = torch.randn(x.shape, dtype=torch.float64, generator=generator)
    rgrad = manifold.egrad2rgrad(x, gradient)
    random = torch.randn(manifold.dim, 5, dtype=torch.float64, generator=generator)
    for start in (None, random):
        basis = orthonormal_basis(manifold, x, start)
        assert basis.shape == (12, manifold.dim, 5)
        assert manifold.check_tangent(x.unsqueeze(-2).expand_as(basis), basis, tolerance=1e-8).ok
        products = manifold.inner(basis.unsqueeze(-2), basis.unsqueeze(-3))
        signs = products.diagonal(dim1=-2, dim2=-1).sign()
        # A random start may come near a null vector, and loses digits there.
        close = {"rtol": 0.0, "atol": 1e-11 if start is None else 1e-4}
        torch.testing.assert_close(products, torch.diag_embed(signs), **close)
        assert (signs < 0).sum(-1).eq(manifold.q).all(), (
            "as many time-like vectors as the metric has"
        )
        zeta = gram_schmidt_direction(manifold, x, rgrad, start)
        coefficients = manifold.inner(rgrad.unsqueeze(-2), basis)
        torch.testing.assert_close(zeta, torch.einsum("nk,nkd->nd", coefficients, basis))
        torch.testing.assert_close(
            manifold.inner(rgrad, zeta), coefficients.square().sum(-1), rtol=1e-6, atol=1e-9
        )
    # From the axes in the safe order the basis splits the tangent space as the surrogate does.
    surrogate = manifold.surrogate_direction(x, gradient)
    torch.testing.assert_close(
        gram_schmidt_direction(manifold, x, rgrad), surrogate, rtol=1e-9, atol=1e-9
    )


def test_gram_schmidt_on_other_manifolds(generator):
    for M in (PseudoSphere(2, 2, 4.0), PseudoSphere(1, 2), Euclidean(4)):
        x = M.random(7, generator=generator)
        gradient = torch.randn(x.shape, dtype=torch.float64, generator=generator)
        zeta = gram_schmidt_direction(M, x, M.egrad2rgrad(x, gradient))
        torch.testing.assert_close(zeta, M.surrogate_direction(x, gradient), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("direction", ["descent", "surrogate", "gram-schmidt"])
def test_adam_descends_whatever_the_second_moment(manifold, direction, generator):
    x = manifold.random(64, scale=2.0, generator=generator)
    gradient = torch.randn(x.shape, dtype=torch.float64, generator=generator)
    squares = torch.randn(64, 1, dtype=torch.float64, generator=generator).mul(4.0).exp()
    settings = DescentSettings(
        manifold, lr=1e9, direction=direction, second_moment=0.999, max_step=1e-5
    )
    moved, _ = descent_step(x, gradient, DescentState(100, None, squares), settings)
    assert ((gradient * (moved - x)).sum(-1) < 0).all()
    assert manifold.check_point(moved).ok


def test_chi_converges_and_the_gradient_does_not():
    """Ten points of Q^{3,1} are to be brought to ten targets."""
    M = PseudoHyperboloid(3, 1)
    generator = torch.Generator().manual_seed(3)
    target = M.random(10, scale=0.5, generator=generator)
    start = M.expmap(target, 0.5 * M.random_tangent(target, generator=generator))

    def f(x):
        return (x - target).square().sum()

    def run(direction):
        x, state, losses = start, DescentState(), []
        settings = DescentSettings(M, lr=0.02, direction=direction, max_step=0.1)
        for _ in range(400):
            losses.append(f(x).item())
            x, state = descent_step(x, euclidean_gradient(f, x), state, settings)
        return losses

    along_chi, along_gradient = run("descent"), run("gradient")
    assert along_chi[-1] < 1e-3 * along_chi[0]
    assert along_gradient[-1] > 0.5 * along_gradient[0]
    assert min(along_gradient) > 10 * along_chi[-1]


@pytest.mark.parametrize("signature", [(4, 0), (0, 4), (2, 2)], ids=str)
@pytest.mark.parametrize(
    "options",
    [{}, {"method": "line_search"}, {"method": "line_search", "direction": "descent"}],
    ids=str,
)
def test_searches_decrease_every_step(manifold, options):
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        f = random_function(generator)
        start = manifold.random(8, generator=generator)
        history = minimize(f, start, manifold, max_iterations=40, **options).history
        assert all(later < earlier for earlier, later in pairwise(history))


def test_armijo_reports_failure_at_a_minimum_and_survives_infinities():
    M = PseudoHyperboloid(2, 1)
    x = M.origin(1)
    found = armijo(lambda x: x[..., 2].square().sum(), x, 0.0, torch.zeros_like(x), M)
    assert found.step == 0.0
    assert torch.equal(found.points, x)
    u = torch.tensor([[0.0, 0.0, 1.0, 0.0]], dtype=torch.float64)
    y = M.expmap(x, u)

    def cliff(x):
        value = x[..., 2].square().sum()
        return (
            torch.where(value > 2.0, torch.nan, value)
            if (x[..., 2] >= 0).all()
            else torch.tensor(torch.inf)
        )

    value = cliff(y).item()
    found = armijo(cliff, y, value, 2 * y * torch.tensor([0.0, 0, 1, 0]), M, first_step=100.0)
    assert 0 < found.step < 100
    assert found.value < value


def test_armijo_demands_a_sufficient_decrease():
    # f = x_2² with a first step that overshoots to just below the start: strictly lower, but not by
    # enough.
    M = Euclidean(1)
    x = torch.tensor([[1.0]], dtype=torch.float64)
    calls = []

    def f(x):
        calls.append(x.item())
        return x.square().sum()

    overshooting = 0.99999  # lands at 1 - 2·0.99999, where f is 0.99996
    found = armijo(f, x, 1.0, 2 * x, M, first_step=overshooting, sufficient=1e-3)
    assert len(calls) == 2
    assert found.step == pytest.approx(overshooting / 2)
    assert found.value <= 1.0 - 1e-3 * found.step * 4.0
    # A function that rises along -χ whatever the step gets no step at all.
    up = armijo(lambda x: -x.sum(), x, -1.0, 2 * x, M)
    assert up.step == 0.0
    assert up.value == -1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("direction", "second_moment"),
    [("descent", 0.99), ("surrogate", None), ("gram-schmidt", None), ("signed-gradient", None)],
)
def test_descent_step_compiles_without_graph_breaks(direction, second_moment, generator):
    M = PseudoHyperboloid(2, 1)
    x = M.random(6, generator=generator)
    gradient = torch.randn(x.shape, dtype=torch.float64, generator=generator)
    settings = DescentSettings(
        M, lr=1e-2, momentum=0.9, second_moment=second_moment, max_step=0.1, direction=direction
    )

    def two_steps(x, gradient):
        x, state = descent_step(x, gradient, DescentState(), settings)
        return descent_step(x, gradient, state, settings)[0]

    compiled = torch.compile(two_steps, backend="eager", fullgraph=True)
    # Gram–Schmidt's sums are not rounded alike.
    rounding = 1e-13 if direction == "gram-schmidt" else 0.0
    torch.testing.assert_close(
        compiled(x, gradient), two_steps(x, gradient), rtol=rounding, atol=rounding
    )


def test_momentum_is_carried_by_parallel_transport(manifold, generator):
    x = manifold.random(6, scale=0.7, generator=generator)
    gradient = torch.randn(x.shape, dtype=torch.float64, generator=generator)
    settings = DescentSettings(manifold, lr=0.2, momentum=0.9, max_step=0.5)
    moved, state = descent_step(x, gradient, DescentState(), settings)
    rgrad, chi = manifold.egrad2rgrad(x, gradient), manifold.descent_direction(x, gradient)
    move = -0.2 * chi
    move = move * (0.5 / move.norm(dim=-1, keepdim=True)).clamp_max(1.0)
    expected = manifold.transp_follow_expmap(x, move, rgrad)
    torch.testing.assert_close(state.momentum, expected, rtol=1e-9, atol=1e-9)
    assert (expected - manifold.proju(moved, rgrad)).abs().max() > 1e-3, (
        "projecting is not transporting"
    )
    # The next step adds the new gradient to what was carried, and moves along P of the sum.
    fresh = torch.randn(x.shape, dtype=torch.float64, generator=generator)
    total = 0.9 * state.momentum + manifold.egrad2rgrad(moved, fresh)
    move = -0.2 * manifold.precondition(moved, total)
    move = move * (0.5 / move.norm(dim=-1, keepdim=True)).clamp_max(1.0)
    again, _ = descent_step(moved, fresh, state, settings)
    torch.testing.assert_close(again, manifold.expmap(moved, move), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("signature", [(2, 2), (3, 1)], ids=str)
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_points_do_not_drift_off_the_manifold(manifold, momentum, generator):
    x, state = manifold.random(20, generator=generator), DescentState()
    settings = DescentSettings(manifold, lr=1e-2, momentum=momentum, max_step=0.02)
    for _ in range(1000):
        gradient = torch.randn(x.shape, dtype=torch.float64, generator=generator)
        x, state = descent_step(x, gradient, state, settings)
    drift = (manifold.sqnorm(x) - manifold.beta).abs() / x.square().sum(-1)
    assert drift.max() < 2e-15
    if momentum:
        residual = manifold.inner(x, state.momentum).abs()
        assert (
            residual <= 1e-13 * x.norm(dim=-1) * state.momentum.norm(dim=-1) * x.square().sum(-1)
        ).all()


@pytest.mark.parametrize(
    ("dtype", "size"), [(torch.float64, 1e200), (torch.float32, 1e30), (torch.float64, 1e308)]
)
def test_moves_whose_square_overflows_are_shortened_not_dropped(dtype, size):
    gradient = torch.tensor([[size, -size], [1.0, 0.0], [0.0, 0.0]], dtype=dtype)
    settings = DescentSettings(Euclidean(2), lr=1.0, max_step=0.5)
    moved, _ = descent_step(torch.zeros_like(gradient), gradient, DescentState(), settings)
    expected = torch.tensor([[-(0.125**0.5), 0.125**0.5], [-0.5, 0.0], [0.0, 0.0]], dtype=dtype)
    torch.testing.assert_close(moved, expected)


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
@pytest.mark.parametrize(
    "options", [{}, {"momentum": 0.9}, {"momentum": 0.9, "second_moment": 0.99}], ids=str
)
@pytest.mark.parametrize("max_step", [None, 0.1])
def test_a_point_without_a_finite_gradient_stays_and_the_others_move(
    manifold, bad, options, max_step, generator
):
    x = manifold.random(4, generator=generator)
    gradient = torch.randn(x.shape, dtype=torch.float64, generator=generator)
    settings = DescentSettings(manifold, lr=1e-3, max_step=max_step, **options)
    before, state = descent_step(x, gradient, DescentState(), settings)
    spoilt = gradient.clone()
    spoilt[1, 2] = bad
    after, later = descent_step(before, spoilt, state, settings)
    expected, reference = descent_step(before, gradient, state, settings)
    rest = [0, 2, 3]
    torch.testing.assert_close(after[1], before[1], rtol=1e-14, atol=1e-14)
    torch.testing.assert_close(after[rest], expected[rest], rtol=0, atol=0)
    assert (after[rest] != before[rest]).any(-1).all()
    for name in ("momentum", "second_moment"):
        moments = [getattr(s, name) for s in (state, later, reference)]
        if moments[0] is not None:
            starts_anew = name == "momentum" and "second_moment" in options
            kept = torch.zeros_like(moments[0][1]) if starts_anew else moments[0][1]
            torch.testing.assert_close(moments[1][1], kept, rtol=1e-12, atol=1e-12)
            torch.testing.assert_close(moments[1][rest], moments[2][rest], rtol=0, atol=0)
    first, fresh = descent_step(x, spoilt, DescentState(), settings)
    assert first.isfinite().all()
    assert all(moment is None or moment.isfinite().all() for moment in fresh[1:])


def test_a_second_moment_that_overflows_is_not_kept():
    settings = DescentSettings(Euclidean(1), lr=0.1, second_moment=0.9)
    x = torch.zeros(1, 1, dtype=torch.float64)
    held, state = descent_step(x, torch.full_like(x, 1e200), DescentState(), settings)
    assert held.item() == 0.0
    moved, _ = descent_step(held, torch.ones_like(x), state, settings)
    assert moved.item() < 0
