"""A manifold that is written from scratch, with the seven methods of the interface alone, works
everywhere.
"""

from __future__ import annotations

import math

import pytest
import torch
from steps import train
from torch import Tensor

from ultrahyperbolic import Logarithm, Manifold
from ultrahyperbolic.datasets import karate
from ultrahyperbolic.engines.base import BatchState, Machine, Problem, RunSpec, Schedule
from ultrahyperbolic.engines.reference import ReferenceEngine
from ultrahyperbolic.engines.registry import unfit
from ultrahyperbolic.evaluation import evaluate
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.objective import RankedPairs
from ultrahyperbolic.optim import (
    PseudoRiemannianAdam,
    PseudoRiemannianSGD,
    gram_schmidt_direction,
    minimize,
)
from ultrahyperbolic.testing import check_gradient, check_manifold

MOST_CASES = 2  # of each a battery or a training


class LinesTimesSphere(Manifold):
    """R^k × S²: the lines' coordinates first, each with its sign in the metric."""

    def __init__(self, *signs: float) -> None:
        super().__init__()
        self.lines, self.dim, self.ambient_dim = len(signs), len(signs) + 2, len(signs) + 3
        self.register_buffer("signs", torch.tensor([*signs, 1.0, 1.0, 1.0], dtype=torch.float64))

    def halves(self, *tensors: Tensor) -> list[Tensor]:
        pieces = [z.split([self.lines, 3], dim=-1) for z in torch.broadcast_tensors(*tensors)]
        return [half for pair in zip(*pieces, strict=True) for half in pair]

    def inner(self, u: Tensor, v: Tensor, *, keepdim: bool = False) -> Tensor:
        return (u * v * self.signs.to(u)).sum(-1, keepdim=keepdim)

    def proju(self, x: Tensor, z: Tensor) -> Tensor:
        _, line, a, b = self.halves(x, z)
        return torch.cat((line, b - (a * b).sum(-1, keepdim=True) * a), dim=-1)

    def geodesic(self, x: Tensor, u: Tensor, t: Tensor | float) -> Tensor:
        line, along, a, b = self.halves(x, u)
        t = t.to(x.dtype).unsqueeze(-1) if isinstance(t, Tensor) else t
        angle = t * b.norm(dim=-1, keepdim=True)
        return torch.cat(
            (line + t * along, angle.cos() * a + t * torch.sinc(angle / math.pi) * b), dim=-1
        )

    def logmap(self, x: Tensor, y: Tensor) -> Logarithm:
        line, other, a, b = self.halves(x, y)
        across = (b - a) - ((b - a) * a).sum(-1, keepdim=True) * a
        angle = torch.atan2(across.norm(dim=-1, keepdim=True), (a * b).sum(-1, keepdim=True))
        exists = angle < math.pi - 1e-6
        vector = torch.cat((other - line, across / torch.sinc(angle / math.pi)), dim=-1)
        return Logarithm(torch.where(exists, vector, math.nan), exists.squeeze(-1))

    def transp_follow_expmap(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        _, _, line, a, b, c = self.halves(x, u, v)
        angle = b.norm(dim=-1, keepdim=True) / math.pi
        turned = 0.5 * torch.sinc(angle / 2).square() * b + torch.sinc(angle) * a
        return torch.cat((line, c - (b * c).sum(-1, keepdim=True) * turned), dim=-1)

    def phi(self, z: Tensor) -> Tensor:
        line, a = self.halves(z)
        return torch.cat((line, a / a.norm(dim=-1, keepdim=True)), dim=-1)

    def origin(
        self, *size: int, dtype: torch.dtype = torch.float64, device: torch.device | None = None
    ) -> Tensor:
        pole = torch.zeros(*size, self.ambient_dim, dtype=dtype, device=device)
        pole[..., -1] = 1.0
        return pole


@pytest.fixture(params=[(), (1.0,), (-1.0,)], ids=["sphere", "cylinder", "static universe"])
def stranger(request: pytest.FixtureRequest) -> LinesTimesSphere:
    return LinesTimesSphere(*request.param)


def test_the_battery_passes(stranger, dtype):
    report = check_manifold(stranger, dtype=dtype)
    assert ("isometry_invariance" in report.passed) == (stranger.lines == 0)
    assert ("gradcheck" in report.passed) == (dtype == torch.float64)
    assert set(report.skipped) <= {"isometry_invariance", "gradcheck"}


def test_faults_of_a_stranger_are_found(stranger):
    class Drifts(LinesTimesSphere):
        def transp_follow_expmap(self, x, u, v):
            return self.proju(self.expmap(x, u), v)

    class Accelerates(LinesTimesSphere):
        def geodesic(self, x, u, t):
            return super().geodesic(x, u, t + 0.1 * t * (t - 1.0) * t)

    class ProjectsTooMuch(LinesTimesSphere):
        def proju(self, x, z):
            return 0.99 * super().proju(x, z)

    signs = stranger.signs[: stranger.lines].tolist()
    faults = {"transport": Drifts, "geodesic_equation": Accelerates, "tangency": ProjectsTooMuch}
    for meant, kind in faults.items():
        assert meant in check_manifold(kind(*signs), raises=False, only=[meant]).failed


def test_checks_name_the_row(stranger, generator):
    x = stranger.random(5, generator=generator)
    off = x.clone()
    off[2] *= 1.5
    with pytest.raises(ValueError, match=r"nodes\[2\] is off the manifold: phi moves it by 0"):
        stranger.assert_point(off, name="nodes")
    with pytest.raises(ValueError, match=r"push\[2\] is not tangent: proju moves it by \d"):
        stranger.assert_tangent(x, stranger.proju(x, x) + (off - x), name="push")
    with pytest.raises(ValueError, match=r"raw\[0\] is where phi is not defined: \("):
        stranger.assert_phi(0.0 * x, name="raw")
    assert stranger.check_point(off, tolerance=torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0]) + 1e-9).ok


@pytest.mark.parametrize("optimizer", [PseudoRiemannianSGD, PseudoRiemannianAdam])
@pytest.mark.parametrize("direction", ["descent", "surrogate"])
def test_optimisers_train(stranger, optimizer, direction, generator):
    goal = stranger.random(20, generator=generator)
    nodes = torch.nn.Parameter(stranger.random_near_pole(20, generator=generator))

    def loss():
        return (nodes - goal).square().sum()

    before = loss().item()
    train(optimizer([nodes], stranger, lr=0.1, direction=direction), loss, 100)
    assert loss().item() < 0.05 * before
    assert stranger.check_point(nodes.detach()).ok


def test_the_gram_schmidt_direction_is_the_surrogate(stranger, generator):
    x = stranger.random(50, generator=generator)
    gradient = torch.randn(x.shape, dtype=x.dtype, generator=generator)
    found = gram_schmidt_direction(stranger, x, stranger.egrad2rgrad(x, gradient))
    torch.testing.assert_close(
        found, stranger.surrogate_direction(x, gradient), rtol=1e-9, atol=1e-9
    )
    stranger.dim -= 1
    with pytest.raises(ValueError, match="for one normal direction alone, got dimension"):
        gram_schmidt_direction(stranger, x, gradient)


def test_minimize_finds_the_nearest_points(stranger, generator):
    goal = stranger.random(20, scale=0.5, generator=generator)
    assert check_gradient(lambda x: (x - goal[:3]).pow(4).sum(), goal[3:6], stranger)[0]
    found = minimize(
        lambda x: (x - goal).square().sum(),
        stranger.random_near_pole(20, generator=generator),
        stranger,
    )
    torch.testing.assert_close(found.point, goal, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("optimizer", ["descent", "phi"])
@pytest.mark.parametrize("dissimilarity", ["geodesic", "smoothed", "extrinsic"])
def test_a_graph_is_embedded(stranger, optimizer, dissimilarity, generator):
    pairs = RankedPairs.of(karate())
    schedule = Schedule.constant(50, temperature=0.1, step=0.02, max_step=0.1)
    problem = Problem(pairs, [RunSpec(stranger, schedule, dissimilarity, optimizer)])
    engine = ReferenceEngine(problem.pairs, problem.specs)
    state = BatchState.start([stranger.random_near_pole(34, generator=generator).numpy()])
    losses = engine.advance(state, 50)[0]
    points = torch.from_numpy(state.points[0])
    assert losses[-1] < 0.9 * losses[0]
    assert stranger.check_point(points).ok
    assert evaluate(karate(), points, stranger, dissimilarity=dissimilarity)["map"] > 0.3


def test_compiled_loops_say_that_they_do_not_know_it(stranger):
    spec = RunSpec(stranger, Schedule.constant(1, temperature=1.0, step=1.0))
    why = unfit("numba", Problem(RankedPairs.of(karate()), [spec]), Machine("cpu"))
    assert why == "no compiled loop knows LinesTimesSphere"
    assert Geometry.of_manifold(stranger) is None
