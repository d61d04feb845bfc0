"""Products: the interface of their factors, side by side."""

from __future__ import annotations

import pytest
import torch
from steps import train

from ultrahyperbolic import (
    Euclidean,
    ManifoldParameter,
    Product,
    PseudoHyperboloid,
    PseudoSphere,
)
from ultrahyperbolic.datasets import karate
from ultrahyperbolic.engines.base import BatchState, Problem, RunSpec, Schedule
from ultrahyperbolic.engines.reference import ReferenceEngine
from ultrahyperbolic.evaluation import evaluate
from ultrahyperbolic.objective import RankedPairs
from ultrahyperbolic.optim import PseudoRiemannianAdam, PseudoRiemannianSGD
from ultrahyperbolic.testing import check_manifold

PRODUCTS = {
    "mixed": lambda: Product(PseudoHyperboloid(3, 1), Euclidean(2), PseudoHyperboloid(0, 3, -4.0)),
    "definite": lambda: Product(PseudoHyperboloid(2, 0, -0.25), Euclidean(2)),
    "nested": lambda: Product(
        Product(PseudoHyperboloid(2, 1), Euclidean(1)), PseudoSphere(3, -1), weights=(2.0, 0.5)
    ),
    "one": lambda: Product(PseudoHyperboloid(2, 2, -4.0)),
}


@pytest.fixture(
    params=[
        pytest.param(name, marks=[pytest.mark.slow] if name == "nested" else [])
        for name in PRODUCTS
    ],
)
def product(request):
    return PRODUCTS[request.param]()


MOST_CASES = 2  # a battery takes a second or two


@pytest.mark.slow
def test_the_battery_passes(product, dtype):
    report = check_manifold(product, dtype=dtype)
    assert set(report.skipped) <= {"isometry_invariance", "tangency", "gradcheck"}


def test_it_is_its_factors_side_by_side(generator):
    H, E, S = PseudoHyperboloid(2, 1, -4.0), Euclidean(2), PseudoHyperboloid(0, 2)
    M = Product(H, E, S, weights=(1.0, 2.0, 0.5))
    x, y = M.random(50, generator=generator), M.random(50, generator=generator)
    parts = list(zip((H, E, S), M.split(x), M.split(y), strict=True))
    assert torch.equal(M.join(*M.split(x)), x)
    squares = [N.sqdist(a, b) for N, a, b in parts]
    torch.testing.assert_close(M.sqdist(x, y), sum(squares), equal_nan=True)
    weighed = [
        w * N.dist(a, b) ** 2 if N is E else w * N.dissimilarity(a, b) ** 2
        for w, (N, a, b) in zip(M.weights, parts, strict=True)
    ]
    torch.testing.assert_close(M.dissimilarity(x, y), sum(weighed).sqrt())
    gradient = torch.randn(50, M.ambient_dim, dtype=torch.float64, generator=generator)
    chi = [N.descent_direction(a, g) for (N, a, _), g in zip(parts, M.split(gradient), strict=True)]
    torch.testing.assert_close(M.descent_direction(x, gradient), torch.cat(chi, -1))
    log = M.logmap(x, y)
    assert log.exists.tolist() == H.logmap(*parts[0][1:]).exists.tolist()
    assert log.vector.isnan().all(-1).tolist() == (~log.exists).tolist()
    assert not M.joins_all_pairs
    torch.testing.assert_close(M.interpolate(x, y, 1.0)[log.exists], y[log.exists])


def test_errors_name_the_factor(generator):
    M = Product(PseudoHyperboloid(2, 1), Euclidean(2), PseudoHyperboloid(0, 2))
    x = M.random(4, generator=generator)
    x[2, 6] *= 2.0
    with pytest.raises(ValueError, match=r"nodes\[2\] is off .*\(factor 2, .*coordinates 6 to 8\)"):
        M.assert_point(x, name="nodes")
    with pytest.raises(ValueError, match="one for each of 3 factors, got 1"):
        M.join(x)


@pytest.mark.parametrize("kind", [PseudoRiemannianSGD, PseudoRiemannianAdam])
@pytest.mark.parametrize("direction", ["descent", "surrogate"])
def test_optimisers_train(product, kind, direction, generator):
    goal = product.random(20, scale=0.3, generator=generator)
    nodes = ManifoldParameter(product.random(20, scale=0.3, generator=generator), product)
    optimizer = kind([nodes], lr=0.02, direction=direction, max_step=0.1)
    losses = train(optimizer, lambda: (nodes - goal).square().sum(), 60)
    assert losses[-1] < 0.7 * losses[0]
    product.assert_point(nodes.detach())


@pytest.mark.slow
def test_compile_and_vmap(product, generator):
    x, y = product.random(6, generator=generator), product.random(6, generator=generator)
    u = product.random_tangent(x, scale=0.3, generator=generator)

    def work(x, y, u):
        return product.dissimilarity(product.expmap(x, u), y) + product.smoothed_dissimilarity(x, y)

    torch.testing.assert_close(
        torch.compile(work, fullgraph=True, backend="aot_eager")(x, y, u), work(x, y, u)
    )
    torch.testing.assert_close(torch.func.vmap(work)(x, y, u), work(x, y, u))


@pytest.mark.parametrize("dissimilarity", ["geodesic", "smoothed", "broken"])
def test_a_graph_is_embedded_by_the_reference_engine(dissimilarity, generator):
    M = Product(PseudoHyperboloid(2, 1), Euclidean(1))
    pairs = RankedPairs.of(karate())
    schedule = Schedule.constant(40, temperature=0.1, step=0.02, max_step=0.1)
    problem = Problem(pairs, [RunSpec(M, schedule, dissimilarity, "descent")])
    state = BatchState.start([M.random_near_pole(34, generator=generator).numpy()])
    losses = ReferenceEngine(problem.pairs, problem.specs).advance(state, 40)[0]
    points = torch.from_numpy(state.points[0])
    assert losses[-1] < 0.9 * losses[0]
    assert M.check_point(points).ok
    assert evaluate(karate(), points, M, dissimilarity=dissimilarity)["map"] > 0.3
