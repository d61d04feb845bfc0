"""The ranking loss as a module: the objective of the package, exact or from samples."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest
import torch
from machines import ON_CUDA
from torch.func import vmap

import ultrahyperbolic as uh
from ultrahyperbolic import objective
from ultrahyperbolic.nn import RankingLoss, SampleSizes
from ultrahyperbolic.objective import ExactLoss, RankedPairs, SampledLoss

GRAPH = uh.datasets.karate()
EVERYTHING = SampleSizes(10**6, 10**6, 10**6)
SOME = SampleSizes(20, 10, 4)
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


@pytest.mark.parametrize("scope", ["graph", "node"])
@pytest.mark.parametrize("M", MANIFOLDS, ids=lambda M: M._label())
def test_it_is_the_objective(M, scope):
    x = M.random(34, generator=0)
    for dissimilarity, epsilon in (("smoothed", 0.03), ("geodesic", None)):
        loss = RankingLoss(
            GRAPH, M, temperature=0.3, dissimilarity=dissimilarity, epsilon=epsilon, scope=scope
        )
        reference = objective.ExactLoss(
            GRAPH, M.pair_function(dissimilarity, epsilon), 0.3, scope=scope
        )
        for a, b in zip(value_and_gradient(loss, x), value_and_gradient(reference, x), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)
    assert loss.state_dict().keys() == M.state_dict(prefix="manifold.").keys()


@pytest.mark.parametrize("scope", ["graph", "node"])
@pytest.mark.parametrize("M", MANIFOLDS[:3], ids=lambda M: M._label())
def test_a_sample_of_everything_is_the_objective(M, scope):
    x = M.random(34, generator=0)
    exact = RankingLoss(GRAPH, M, temperature=0.3, scope=scope)
    sampled = RankingLoss(GRAPH, M, temperature=0.3, scope=scope, sample=EVERYTHING)
    (a, one), (b, two) = value_and_gradient(exact, x), value_and_gradient(sampled, x)
    torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)
    # Along the manifold: off it the two are extended differently.
    torch.testing.assert_close(M.egrad2rgrad(x, one), M.egrad2rgrad(x, two), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("scope", ["graph", pytest.param("node", marks=pytest.mark.slow)])
@pytest.mark.parametrize("sample", [None, EVERYTHING])
def test_its_gradient_is_that_of_finite_differences(scope, sample):
    M = uh.PseudoHyperboloid(2, 1, -4.0)
    loss = RankingLoss.from_ties(*TINY, 5, M, temperature=0.5, scope=scope, sample=sample)
    z = M.random(5, generator=0).requires_grad_()
    assert torch.autograd.gradcheck(lambda z: loss(M.phi(z)), z)
    if sample is None:
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
    sampled = RankingLoss(graph, M, temperature=0.3, sample=EVERYTHING, spring=0.2)
    torch.testing.assert_close(sampled(x), loss(x), rtol=1e-10, atol=1e-10)
    loss.spring = 0.0
    torch.testing.assert_close(loss(x), exact(x))
    with pytest.raises(ValueError, match="a directed graph is compared with scope 'graph'"):
        RankingLoss(graph, M, scope="node")


def test_samples_follow_from_the_seed_and_advance_in_training_alone():
    M = uh.PseudoHyperboloid(3, 1)
    x = M.random(34, generator=0)

    def losses(seed, evaluations):
        loss, found = RankingLoss(GRAPH, M, sample=SOME, seed=seed), []
        for _ in range(3):
            loss.eval()
            seen = {loss(x).item() for _ in range(evaluations)}
            assert len(seen) <= 1
            loss.train()
            found.append(loss(x).item())
        return found, loss

    first, loss = losses(0, 0)
    assert len(set(first)) == 3
    assert losses(0, 2)[0] == first
    assert losses(1, 0)[0] != first
    resumed = RankingLoss(GRAPH, M, sample=SOME)
    resumed.load_state_dict(loss.state_dict())
    twins = [resumed, copy.deepcopy(loss), pickle.loads(pickle.dumps(loss)), loss]
    assert len({twin(x).item() for twin in twins}) == 1
    assert loss(x).item() not in first


@pytest.mark.parametrize("sample", [None, SOME])
def test_it_trains_points_of_a_manifold(sample):
    M = uh.PseudoHyperboloid(3, 1)
    points = uh.ManifoldParameter(M.random_near_pole(34, generator=0), M)
    loss = RankingLoss(GRAPH, M, temperature=0.1, sample=sample)
    exact = RankingLoss(GRAPH, M, temperature=0.1)
    before = exact(points).item()
    optimizer = uh.optim.PseudoRiemannianAdam([points], lr=1e-2, max_step=0.05)
    for _ in range(60):
        optimizer.zero_grad()
        loss(points).backward()
        optimizer.step()
    assert exact(points).item() < 0.85 * before
    M.assert_point(points.detach())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sample", "scope"),
    [
        (None, "graph"),
        (SOME, "node"),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in ((SOME, "graph"), (None, "node"))
        ),
    ],
)
def test_it_compiles_in_one_graph_and_maps_over_ensembles(sample, scope):
    M = uh.PseudoHyperboloid(2, 1, -4.0)
    loss = RankingLoss(GRAPH, M, sample=sample, scope=scope).eval()
    x = M.random(3, 34, generator=0)
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for a, b in zip(
        value_and_gradient(compiled, x[0]), value_and_gradient(loss, x[0]), strict=True
    ):
        torch.testing.assert_close(a, b)
    torch.testing.assert_close(vmap(loss)(x), torch.stack([loss(each) for each in x]))
    gradients = vmap(torch.func.grad(loss))(x)
    torch.testing.assert_close(gradients[2], value_and_gradient(loss, x[2])[1])
    if sample is not None:
        loss.train()
        assert [compiled(x[0]).item() != compiled(x[0]).item(), loss.iteration.item()] == [True, 2]


@pytest.mark.parametrize("scope", ["graph", "node"])
@pytest.mark.parametrize("sample", [None, EVERYTHING])
def test_gradients_are_finite_on_the_cone(sample, scope):
    """Points that are equal, joined by light rays, and antipodes."""
    M = uh.PseudoHyperboloid(2, 1)
    x = torch.tensor(
        [[1.0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 1, 0], [-1, 0, 0, 0], [0, 1, 0, 0]]
    ).double()
    M.assert_point(x)
    for dissimilarity in ("smoothed", "geodesic"):
        loss = RankingLoss.from_ties(
            *TINY, 5, M, scope=scope, sample=sample, dissimilarity=dissimilarity
        )
        value, gradient = value_and_gradient(loss, x)
        assert value.isfinite()
        assert gradient.isfinite().all()


def test_what_is_wrong_is_told():
    M = uh.PseudoHyperboloid(2, 1)
    with pytest.raises(ValueError, match=r"points must be \[34, d\], got shape \(3, 4\)"):
        RankingLoss(GRAPH, M)(M.random(3))
    with pytest.raises(ValueError, match="temperature must be a finite positive number, got 0"):
        RankingLoss(GRAPH, M, temperature=0.0)
    with pytest.raises(ValueError, match="scope must be one of graph, node, got 'ends'"):
        RankingLoss(GRAPH, M, scope="ends")
    with pytest.raises(ValueError, match="epsilon belongs to dissimilarity='smoothed'"):
        RankingLoss(GRAPH, M, dissimilarity="geodesic", epsilon=0.1)
    with pytest.raises(
        ValueError, match="samples give no gradient for a learned beta: leave sample out"
    ):
        RankingLoss(GRAPH, uh.PseudoHyperboloid(2, 1, learnable=True), sample=SOME)
    with pytest.raises(ValueError, match="no compiled loop knows Product"):
        RankingLoss(GRAPH, MANIFOLDS[3], sample=SOME)


def test_a_learned_curvature_has_a_gradient():
    M = uh.PseudoHyperboloid(2, 1, -4.0, learnable=True)
    loss = RankingLoss(GRAPH, M)
    loss(M.random(34, generator=0).detach()).backward()
    assert M.log_abs_beta.grad.abs() > 0


def test_samples_are_computed_by_the_caller_s_thread(monkeypatch):
    """A thread has its own current stream on a GPU: another one would not compute on the
    caller's.
    """
    M, threads, estimate = uh.PseudoHyperboloid(2, 1), [], SampledLoss.__call__
    monkeypatch.setattr(
        SampledLoss,
        "__call__",
        lambda *args: (threads.append(threading.get_ident()), estimate(*args))[1],
    )
    loss = RankingLoss(GRAPH, M, sample=SOME)
    loss(M.random(34, generator=0))
    torch.compile(loss, fullgraph=True, backend="aot_eager")(M.random(34, generator=0))
    assert threads == [threading.get_ident()] * 2


@pytest.mark.parametrize("scope", ["graph", "node"])
def test_samples_are_computed_alike_without_autograd_and_under_autocast(scope):
    M = uh.PseudoHyperboloid(2, 1)
    loss, x = RankingLoss(GRAPH, M, sample=SOME, scope=scope).eval(), M.random(34, generator=0)
    expected = loss(x)
    for context in (
        torch.no_grad(),
        torch.inference_mode(),
        torch.autocast("cpu", dtype=torch.bfloat16),
    ):
        with context:
            assert loss(x).item() == expected.item()


@ON_CUDA
def test_samples_are_computed_on_the_caller_s_stream():
    M = uh.PseudoHyperboloid(2, 1)
    loss, x = RankingLoss(GRAPH, M, sample=SOME).eval().cuda(), M.random(34, generator=0).cuda()
    expected = loss(x).item()
    torch.cuda._sleep(1 << 32)  # keeps the default stream busy for seconds
    with torch.cuda.stream(torch.cuda.Stream()):
        assert loss(x).item() == pytest.approx(expected, rel=1e-12)
    assert not torch.cuda.default_stream().query(), (
        "what waits for the default stream was computed there"
    )
