"""geoopt's optimisers on our manifolds."""

from __future__ import annotations

import pytest
import torch
from steps import train

import ultrahyperbolic as uh
from ultrahyperbolic.datasets import karate
from ultrahyperbolic.objective import ExactLoss, RankedPairs

geoopt = pytest.importorskip("geoopt")
from geoopt.optim import (  # noqa: E402
    RiemannianAdam,
    RiemannianSGD,
    SparseRiemannianAdam,
    SparseRiemannianSGD,
)

from ultrahyperbolic.contrib.geoopt import as_geoopt  # noqa: E402

MANIFOLDS = [
    uh.PseudoHyperboloid(2, 2),
    uh.PseudoHyperboloid(3, 1, -4.0),
    uh.PseudoHyperboloid(4, 0),
    uh.Euclidean(4),
]


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=lambda M: M._label())
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (RiemannianSGD, {"lr": 1e-2}),
        (RiemannianSGD, {"lr": 3e-3, "momentum": 0.9, "nesterov": True}),
        (RiemannianAdam, {"lr": 1e-2}),
        (RiemannianAdam, {"lr": 1e-2, "amsgrad": True, "stabilize": 5}),
        (SparseRiemannianSGD, {"lr": 1e-2}),
        (SparseRiemannianAdam, {"lr": 1e-2}),
    ],
    ids=["sgd", "nesterov", "adam", "amsgrad", "sparse sgd", "sparse adam"],
)
def test_they_lower_the_loss_on_karate(manifold, kind, options):
    M, sparse = as_geoopt(manifold), kind.__name__.startswith("Sparse")
    start = manifold.random_near_pole(34, epsilon=0.1, generator=0)
    table = torch.nn.Embedding(34, manifold.ambient_dim, sparse=sparse, dtype=torch.float64)
    table.weight = geoopt.ManifoldParameter(start, manifold=M)
    loss = ExactLoss(RankedPairs.of(karate()), manifold.smoothed_dissimilarity, 0.5)
    optimizer = kind(table.parameters(), **options)
    values = train(optimizer, lambda: loss(table(torch.arange(34))), 20)
    assert values[-1] < values[0] - 0.005 * abs(values[0])
    manifold.assert_point(table.weight.detach())


def test_what_its_optimisers_ask_for(generator):
    manifold = uh.PseudoHyperboloid(2, 2, -4.0)
    M = as_geoopt(manifold)
    x, y = M.random(5, generator=generator), M.random(5, generator=generator)
    assert isinstance(x, geoopt.ManifoldTensor)
    u = torch.randn(5, 5, dtype=torch.float64, generator=generator)
    assert torch.equal(M.egrad2rgrad(x, u), manifold.descent_direction(x, u))
    v = M.proju(x, u)
    assert (M.component_inner(x, v) > 0).all()
    assert M.component_inner(x, v).shape == (5, 1)
    assert (M.inner(x, v) < 0).any(), "the metric is indefinite"
    assert M.check_vector_on_tangent(x, v)
    assert not M.check_vector_on_tangent(x, v + x)
    assert not M.check_point_on_manifold(2 * x)
    point, carried = M.retr_transp(x, v, v)
    assert M.check_vector_on_tangent(point, carried)
    torch.testing.assert_close(M.transp_follow_retr(x, v, v), carried)
    point, carried = M.expmap_transp(x, v, v)
    torch.testing.assert_close(point, M.expmap(x, v))
    torch.testing.assert_close(M.transp_follow_expmap(x, v, v), carried)
    exists = manifold.logmap(x, y).exists
    torch.testing.assert_close(M.expmap(x, M.logmap(x, y))[exists], y[exists])
    assert M.dist(x, y, keepdim=True).shape == (5, 1)
    torch.testing.assert_close(M.dist(x, y), manifold.dist(x, y), equal_nan=True)
    assert M.transp(x, y, v).shape == (5, 5)
    assert (M.norm(x, v) >= 0).all()
    assert M.dissimilarity(x, y).isfinite().all()
    assert M.projx(u).isfinite().all()
    assert M.origin(3).shape == (3, 5)
    assert "PseudoHyperboloid(p=2, q=2, beta=-4)" in repr(M)
    with pytest.raises(ValueError, match="must have 5 coordinates"):
        geoopt.ManifoldParameter(torch.ones(3), manifold=M)
