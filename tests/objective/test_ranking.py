"""The reference loss against a literal transcription of Eq. 17."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from ultrahyperbolic import Euclidean, PseudoHyperboloid
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.objective import ExactLoss, RankedPairs


def literal_loss(graph, points, dissimilarity, tau):
    """Eq. 17 as it is written: a sum over edges, and for each a softmax over its weaker set and
    itself.
    """
    capacity = {
        (int(i), int(j)): float(w) for (i, j), w in zip(graph.edges, graph.weights, strict=True)
    }
    n = graph.n_nodes
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    d = {pair: dissimilarity(points[pair[0]], points[pair[1]]) for pair in pairs}
    total = points.new_zeros(())
    for edge, strength in capacity.items():
        weaker = [pair for pair in pairs if pair not in capacity or capacity[pair] < strength]
        # -log(e^a / (Σ e^b + e^a)) = log(1 + Σ e^(b - a)): the same, with digits left where it is almost 0.
        terms = [(d[edge] - d[pair]) / tau for pair in weaker]
        total = total + torch.logsumexp(torch.stack([points.new_zeros(()), *terms]), 0)
    return total


def random_graph(n, m, seed, weights):
    rng = np.random.default_rng(seed)
    pairs = np.array([(i, j) for i in range(n) for j in range(i + 1, n)])
    chosen = pairs[rng.permutation(len(pairs))[:m]]
    return Graph.from_arrays(chosen[:, 0], chosen[:, 1], weights(rng, len(chosen)), ids=n)


GRAPHS = {
    "ties in capacity": random_graph(9, 14, 0, lambda rng, m: rng.integers(1, 4, m).astype(float)),
    "distinct weights": random_graph(8, 12, 1, lambda rng, m: rng.random(m) + 0.1),
    "one class": random_graph(9, 12, 2, lambda rng, m: np.ones(m)),
    "no non-edges": random_graph(6, 15, 3, lambda rng, m: rng.integers(1, 4, m).astype(float)),
    "a single edge": random_graph(5, 1, 4, lambda rng, m: np.ones(m)),
    "isolated nodes": Graph.from_arrays([0, 1], [1, 2], [1.0, 2.0], ids=6),
    "weights over 18 decades": random_graph(7, 9, 5, lambda rng, m: 10.0 ** rng.uniform(-9, 9, m)),
}


def value_and_gradient(function, points):
    variable = points.clone().requires_grad_()
    value = function(variable)
    return value.detach(), torch.autograd.grad(value, variable)[0]


@pytest.mark.parametrize("tau", [1.0, 1e-2])
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_smoothed_loss_equals_the_literal_one(graph, tau, manifold, generator):
    points = manifold.random(graph.n_nodes, scale=0.5, generator=generator)
    measure = manifold.smoothed_dissimilarity
    value, gradient = value_and_gradient(ExactLoss(graph, measure, tau), points)
    expected, slope = value_and_gradient(lambda x: literal_loss(graph, x, measure, tau), points)
    torch.testing.assert_close(value, expected, rtol=1e-10, atol=1e-10)
    assert (gradient - slope).abs().max() <= 1e-10 * slope.abs().max()


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_d_gamma_and_flat_losses_equal_the_literal_one(graph, generator):
    M, E = PseudoHyperboloid(2, 1), Euclidean(3)
    for measure, points in (
        (M.dissimilarity, M.random(graph.n_nodes, scale=0.5, generator=generator)),
        (M.broken_dissimilarity, M.random(graph.n_nodes, scale=0.5, generator=generator)),
        (E.dissimilarity, E.random(graph.n_nodes, generator=generator)),
    ):
        value, gradient = value_and_gradient(ExactLoss(graph, measure, 0.05), points)
        expected, slope = value_and_gradient(
            lambda x, f=measure: literal_loss(graph, x, f, 0.05), points
        )
        torch.testing.assert_close(value, expected, rtol=1e-9, atol=1e-9)
        assert (gradient - slope).abs().max() <= 1e-8 * slope.abs().max()


def test_a_hundred_thousand_distinct_weights_take_no_loop_over_classes(generator):
    graph = random_graph(460, 100_000, 6, lambda rng, m: rng.permutation(m) + 1.0)
    assert len(graph.capacities) == 100_000
    M = PseudoHyperboloid(2, 2, -4.0)
    points = M.random_near_pole(460, generator=generator)
    loss = ExactLoss(graph, M.smoothed_dissimilarity, 0.1)
    value, gradient = value_and_gradient(loss, points)
    # The same with a cumulative sum in extended precision.
    edges, nonedges = (d.numpy().astype(np.longdouble) for d in loss.distances(points))
    below = np.exp(-nonedges / 0.1).sum() + np.concatenate(
        ([0.0], np.cumsum(np.exp(-edges / 0.1))[:-1])
    )
    expected = (np.log(below + np.exp(-edges / 0.1)) + edges / 0.1).sum()
    assert float(value) == pytest.approx(float(expected), rel=1e-10)
    assert gradient.isfinite().all()


def test_tiny_temperatures_do_not_overflow(generator):
    M = PseudoHyperboloid(3, 1)
    graph = GRAPHS["ties in capacity"]
    value, gradient = value_and_gradient(
        ExactLoss(graph, M.dissimilarity, 1e-5), M.random(graph.n_nodes, generator=generator)
    )
    assert value.isfinite()
    assert gradient.isfinite().all()


def test_ranked_pairs():
    graph = Graph.from_arrays([0, 0, 1, 2], [1, 2, 2, 3], [3.0, 1.0, 3.0, 2.0], ids=5)
    pairs = RankedPairs.of(graph)
    assert pairs.edges.tolist() == [[0, 2], [2, 3], [0, 1], [1, 2]]
    assert pairs.weaker.tolist() == [0, 1, 2, 2]
    assert (pairs.n_edges, pairs.n_nonedges) == (4, 6)
    offsets, nodes = pairs.neighbors
    assert [nodes[a:b].tolist() for a, b in pairwise(offsets)] == [[1, 2], [2], [3], [], []]
    assert {tuple(pair) for pair in pairs.nonedges.tolist()} == {
        (0, 3),
        (0, 4),
        (1, 3),
        (1, 4),
        (2, 4),
        (3, 4),
    }


def test_errors():
    graph = GRAPHS["one class"]
    with pytest.raises(ValueError, match="temperature must be a finite positive number, got 0"):
        ExactLoss(graph, Euclidean(2).dissimilarity, 0.0)
    with pytest.raises(ValueError, match=r"points must be \[9, d\], got shape \(8, 2\)"):
        ExactLoss(graph, Euclidean(2).dissimilarity, 1.0)(torch.zeros(8, 2))
    huge = Graph.from_arrays([0], [1], ids=20_000)
    with pytest.raises(MemoryError, match="20000 nodes have too many pairs to list"):
        _ = RankedPairs.of(huge).nonedges
