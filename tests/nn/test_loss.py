"""The ranking loss as a module: the objective of the package."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.func import vmap

import ultrahyperbolic as uh
from ultrahyperbolic import objective
from ultrahyperbolic.nn import RankingLoss
from ultrahyperbolic.objective import ExactLoss, RankedPairs

GRAPH = uh.datasets.karate()
MANIFOLDS = [
    uh.PseudoHyperboloid(3, 1),
    uh.PseudoHyperboloid(2, 0, -4.0),
    uh.Euclidean(3),
    uh.Product(uh.PseudoHyperboloid(2, 1), uh.Euclidean(1)),
]
TINY = ([(0, 1), (1, 2), (2, 3)], [1.0, 2.0, 2.0])


def value_and_gradient(loss, points):
    points = points.clone().requires_grad_()
    value = loss(points)
    return value.detach(), *torch.autograd.grad(value, points)


@pytest.mark.parametrize("M", MANIFOLDS, ids=lambda M: M._label())
def test_it_is_the_objective(M):
    x = M.random(34, generator=0)
    for dissimilarity, epsilon in (("smoothed", 0.03), ("geodesic", None)):
        loss = RankingLoss(GRAPH, M, temperature=0.3, dissimilarity=dissimilarity, epsilon=epsilon)
        reference = objective.ExactLoss(GRAPH, M.pair_function(dissimilarity, epsilon), 0.3)
        for a, b in zip(value_and_gradient(loss, x), value_and_gradient(reference, x), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)
    assert loss.state_dict().keys() == M.state_dict(prefix="manifold.").keys()


def test_its_gradient_is_that_of_finite_differences():
    M = uh.PseudoHyperboloid(2, 1, -4.0)
    loss = RankingLoss.from_ties(*TINY, 5, M, temperature=0.5)
    z = M.random(5, generator=0).requires_grad_()
    assert torch.autograd.gradcheck(lambda z: loss(M.phi(z)), z)
    assert torch.autograd.gradgradcheck(lambda z: loss(M.phi(z)), z)


def test_ties_and_weights_make_the_same_loss():
    M = uh.PseudoHyperboloid(2, 1)
    x = M.random(34, generator=0)
    ties, weights = torch.tensor(GRAPH.edges), torch.tensor(GRAPH.weights)
    expected = RankingLoss(GRAPH, M)(x)
    torch.testing.assert_close(RankingLoss.from_ties(ties, weights, 34, M)(x), expected)
    torch.testing.assert_close(RankingLoss(RankedPairs.of(GRAPH), M)(x), expected)
    assert not torch.isclose(RankingLoss.from_ties(ties, None, 34, M)(x), expected)
    complete = RankingLoss.from_ties([(0, 1), (1, 2), (0, 2)], [1.0, 2.0, 3.0], 3, M)
    assert complete(x[:3]) > 0.0
    assert RankingLoss.from_ties([(0, 1), (1, 2), (0, 2)], None, 3, M)(x[:3]) == 0.0


def test_the_loss_of_a_directed_graph_is_the_objective_over_ordered_pairs():
    M = uh.PseudoHyperboloid(2, 1)
    x, rng = M.random(34, generator=0), np.random.default_rng(0)
    ends, weights = torch.tensor(GRAPH.edges), torch.tensor(rng.integers(1, 4, len(GRAPH.edges)))
    loss = RankingLoss.from_ties(ends, weights, 34, M, temperature=0.3, directed=True, spring=0.2)
    graph = uh.Graph.from_arrays(*GRAPH.edges.T, weights.double().numpy(), ids=34, directed=True)
    exact = ExactLoss(graph, M.pair_function("smoothed", 0.1), 0.3)
    torch.testing.assert_close(loss(x), exact(x, spring=0.2))
    torch.testing.assert_close(loss.heights, torch.from_numpy(exact.pairs.heights))
    loss.spring = 0.0
    torch.testing.assert_close(loss(x), exact(x))


@pytest.mark.slow
def test_it_compiles_in_one_graph_and_maps_over_ensembles():
    M = uh.PseudoHyperboloid(2, 1, -4.0)
    loss = RankingLoss(GRAPH, M).eval()
    x = M.random(3, 34, generator=0)
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for a, b in zip(
        value_and_gradient(compiled, x[0]), value_and_gradient(loss, x[0]), strict=True
    ):
        torch.testing.assert_close(a, b)
    torch.testing.assert_close(vmap(loss)(x), torch.stack([loss(each) for each in x]))
    gradients = vmap(torch.func.grad(loss))(x)
    torch.testing.assert_close(gradients[2], value_and_gradient(loss, x[2])[1])


def test_gradients_are_finite_on_the_cone():
    """Points that are equal, joined by light rays, and antipodes."""
    M = uh.PseudoHyperboloid(2, 1)
    x = torch.tensor(
        [[1.0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 1, 0], [-1, 0, 0, 0], [0, 1, 0, 0]]
    ).double()
    M.assert_point(x)
    for dissimilarity in ("smoothed", "geodesic"):
        loss = RankingLoss.from_ties(*TINY, 5, M, dissimilarity=dissimilarity)
        value, gradient = value_and_gradient(loss, x)
        assert value.isfinite()
        assert gradient.isfinite().all()
