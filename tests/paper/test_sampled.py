"""The sampled loss against its definition, and against the exact one in expectation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from ultrahyperbolic import Graph, PseudoHyperboloid
from ultrahyperbolic.engines.base import BatchState, RunSpec, Schedule
from ultrahyperbolic.engines.reference import ReferenceEngine
from ultrahyperbolic.objective import ExactLoss, RankedPairs
from ultrahyperbolic.paper.sampled import ResampledEngine, sampled_loss

EDGES = [
    ("a", "b", 3),
    ("b", "c", 1),
    ("c", "d", 2),
    ("d", "e", 2),
    ("e", "a", 5),
    ("f", "a", 1),
    ("g", "c", 1),
]


@pytest.fixture
def graph():
    return Graph.from_edges(EDGES)


@pytest.fixture(params=[-1.0, -4.0])
def problem(request, graph, generator):
    """A manifold, points, and a loss that measures them."""
    manifold = PseudoHyperboloid(2, 1, request.param)
    points = manifold.random_near_pole(
        graph.n_nodes, epsilon=0.5, generator=generator
    ).requires_grad_()
    return ExactLoss(graph, manifold.dissimilarity, 0.3), points


def test_it_is_the_definition(problem):
    """Each edge among itself, its weaker edges and its draws, spelt out."""
    exact, points = problem
    pairs, tau, count = exact.pairs, exact.temperature, 11
    edges, nonedges = (-distances / tau for distances in exact.distances(points))
    loss = sampled_loss(pairs, edges, nonedges, count, torch.Generator().manual_seed(5))
    drawn = torch.randint(
        len(nonedges), (len(edges), count), generator=torch.Generator().manual_seed(5)
    )
    expected = sum(
        torch.logsumexp(
            torch.cat((edges[k : k + 1], edges[: pairs.weaker[k]], nonedges[drawn[k]])), dim=0
        )
        - edges[k]
        for k in range(len(edges))
    )
    assert loss.item() == pytest.approx(expected.item(), rel=1e-12)
    slopes = [
        torch.autograd.grad(value, points, retain_graph=True)[0] for value in (loss, expected)
    ]
    torch.testing.assert_close(*slopes, rtol=1e-10, atol=1e-10)


def test_many_samples_approach_the_exact_loss(problem):
    """N non-edges drawn S times weigh S/N of what they do in the exact loss: their distances are τ
    log(N/S) longer.
    """
    exact, points = problem
    tau, count = exact.temperature, 200_000
    edges, nonedges = exact.distances(points)
    loss = sampled_loss(
        exact.pairs, -edges / tau, -nonedges / tau, count, torch.Generator().manual_seed(1)
    )
    longer = nonedges + tau * math.log(len(nonedges) / count)
    expected = exact.of_distances(edges, longer)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-3)
    slopes = [
        torch.autograd.grad(value, points, retain_graph=True)[0] for value in (loss, expected)
    ]
    torch.testing.assert_close(*slopes, rtol=0.05, atol=0.01 * float(slopes[1].abs().max()))


def engine(graph, seed, iterations=30):
    schedule = Schedule.constant(iterations, temperature=0.3, step=1e-2, max_step=0.1)
    spec = RunSpec(PseudoHyperboloid(2, 1, -0.25), schedule)
    return ResampledEngine(RankedPairs.of(graph), [spec], samples=50, seeds=[seed])


def test_it_trains_and_draws_anew(graph, generator):
    start = (
        PseudoHyperboloid(2, 1, -0.25)
        .random_near_pole(graph.n_nodes, epsilon=0.1, generator=generator)
        .numpy()
    )
    states = [BatchState.start([start]) for _ in range(3)]
    losses = [
        engine(graph, seed).advance(state, 30)[0]
        for seed, state in zip((0, 0, 1), states, strict=True)
    ]
    assert losses[0][-5:].mean() < losses[0][:5].mean()
    np.testing.assert_array_equal(losses[0], losses[1])
    assert losses[0][0] != losses[2][0]
    still = engine(graph, 0)
    values = []
    for iteration in range(3):
        state = BatchState.start([start])
        state.iteration = iteration
        values.append(float(still.evaluate(state).loss[0]))
    assert len(set(values)) == 3
    assert isinstance(still, ReferenceEngine)
