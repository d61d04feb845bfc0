"""The term that holds the sums of distances to closeness: every engine computes the definition."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.stats import rankdata

import ultrahyperbolic as uh
from ultrahyperbolic.engines.base import BatchState, RunSpec, Schedule
from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.engines.reference import ReferenceEngine, pair_function
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.graph.flow import centrality_of
from ultrahyperbolic.objective import Closeness, RankedPairs
from ultrahyperbolic.pairs.kinds import kernel_space
from ultrahyperbolic.training.start import SpectralStart

SMALL = nx.disjoint_union(nx.lollipop_graph(5, 4), nx.star_graph(30))
LARGE = nx.disjoint_union(nx.barabasi_albert_graph(104, 2, seed=0), nx.cycle_graph(7))
GEOMETRIES = [Geometry(2, 2, None, -2.0), Geometry(3, 0, None, -1.0), Geometry(0, 3, None, -1.0)]


def problem(drawn, geometry, *, popularity, centrality=0.7):
    graph = uh.as_graph(drawn)
    schedule = Schedule.constant(6, temperature=0.05, step=1e-6, epsilon=0.01)
    spec = RunSpec(
        geometry.manifold, schedule, "smoothed", popularity=popularity, centrality=centrality
    )
    state = BatchState.start([SpectralStart(graph)(geometry, 1)])
    if popularity:
        state.offsets[:] = np.random.default_rng(3).normal(0.0, 0.02, state.offsets.shape)
    return RankedPairs.of(graph), spec, Closeness.of(graph), state


@pytest.mark.parametrize("drawn", [SMALL, LARGE], ids=["all pairs", "landmarks"])
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
@pytest.mark.parametrize("popularity", [False, True])
def test_compiled_loops_compute_the_definition(drawn, geometry, popularity):
    pairs, spec, closeness, state = problem(drawn, geometry, popularity=popularity)
    found = NumbaEngine(pairs, [spec], closeness=closeness).evaluate(state)
    expected = ReferenceEngine(pairs, [spec], closeness=closeness).evaluate(state)
    without = ReferenceEngine(pairs, [replace(spec, centrality=0.0)]).evaluate(state)
    assert expected.loss[0] > without.loss[0] + 1.0
    np.testing.assert_allclose(found.loss, expected.loss, rtol=1e-10)
    points = torch.from_numpy(state.points[0])
    ours, theirs = (
        spec.manifold.egrad2rgrad(points, torch.from_numpy(evaluation.gradient[0]))
        for evaluation in (found, expected)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-8 * float(theirs.abs().max()))
    np.testing.assert_allclose(found.offsets, expected.offsets, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(
    "drawn",
    [SMALL, pytest.param(LARGE, marks=pytest.mark.slow)],
    ids=["all pairs", "landmarks"],
)
def test_iterations_look_at_the_same_landmarks(drawn):
    pairs, spec, closeness, state = problem(drawn, GEOMETRIES[0], popularity=True)
    other = problem(drawn, GEOMETRIES[0], popularity=True)[-1]
    found = NumbaEngine(pairs, [spec], closeness=closeness).advance(state, 5)
    expected = ReferenceEngine(pairs, [spec], closeness=closeness).advance(other, 5)
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    np.testing.assert_allclose(state.points, other.points, rtol=1e-7, atol=1e-9)


def test_the_gradient_is_that_of_the_loss():
    pairs, spec, closeness, state = problem(LARGE, GEOMETRIES[0], popularity=True)
    engine = NumbaEngine(pairs, [spec], closeness=closeness)
    found = engine.evaluate(state)
    rng = np.random.default_rng(0)
    points, offsets = rng.normal(size=state.points.shape), rng.normal(size=state.offsets.shape)
    ends = []
    for sign in (1.0, -1.0):
        there = BatchState.start([state.points[0] + sign * 1e-6 * points[0]])
        there.offsets[:] = state.offsets + sign * 1e-6 * offsets
        ends.append(engine.evaluate(there).loss[0])
    slope = float((found.gradient * points).sum() + (found.offsets * offsets).sum())
    assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(slope, rel=1e-5)


def test_it_is_least_where_sums_of_distances_are_as_the_centrality_asks():
    """On a line, the ends of a path are far from all others and its middle is near; elsewhere the
    term is larger.
    """
    closeness = Closeness.of(uh.as_graph(nx.path_graph(7)))
    M = uh.PseudoHyperboloid(1, 0)

    def term(angles):
        points = torch.from_numpy(np.stack((np.cosh(angles), np.sinh(angles)), 1))
        measure = M.pair_function("geodesic", None)
        return float(
            uh.objective.closeness_loss(
                closeness, points, None, measure, 0.01, 1.0, closeness.rows()
            )
        )

    places = np.arange(7.0)
    terms = {scale: term(scale * places) for scale in np.linspace(0.0, 0.3, 61)}
    best = min(terms, key=terms.get)
    assert 0.0 < best < 0.3
    assert terms[best] < 0.1 * terms[0.0]
    assert term(best * places[[1, 0, 2, 3, 4, 5, 6]]) > 2.0 * terms[best]


def test_it_asks_for_the_order_of_the_centrality_and_its_spread():
    graph = uh.as_graph(
        nx.disjoint_union(nx.barabasi_albert_graph(60, 2, seed=0), nx.path_graph(9))
    )
    closeness, central = Closeness.of(graph), centrality_of(graph).values
    assert np.sqrt(np.square(closeness.target).mean()) == pytest.approx(0.06, rel=1e-6)
    for number in range(2):
        mine = graph.component == number
        assert abs(closeness.target[mine].mean()) < 1e-6
        np.testing.assert_array_equal(
            rankdata(closeness.target[mine].round(9)), rankdata(-central[mine].round(4))
        )


def test_where_all_nodes_are_alike_it_asks_for_nothing():
    assert not Closeness.of(uh.as_graph(nx.cycle_graph(9))).target.any()
    assert not Closeness.of(uh.as_graph(nx.complete_graph(9))).target.any()


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
@pytest.mark.parametrize("iteration", [None, 3])
def test_the_term_of_a_gpu_is_the_definition(geometry, iteration):
    ClosenessTerm = pytest.importorskip("ultrahyperbolic.engines.triton.passes").ClosenessTerm
    _, spec, closeness, state = problem(LARGE, geometry, popularity=True)
    x, a = (
        torch.from_numpy(state.points[0]).requires_grad_(),
        torch.from_numpy(state.offsets[0]).requires_grad_(),
    )
    radius, measure = float(spec.manifold.quadric.radius), pair_function(spec, 0)
    expected = 0.7 * uh.objective.closeness_loss(
        closeness, x, a, measure, 0.05, radius, closeness.rows(iteration)
    )
    expected.backward()
    gradient, slopes = torch.zeros_like(x).T.contiguous(), torch.zeros_like(a)
    found = ClosenessTerm(closeness, torch.device("cpu")).add(
        x.detach().T,
        a.detach(),
        kernel_space(spec.manifold, "smoothed"),
        (torch.tensor(0.05, dtype=torch.float64), torch.tensor(0.01, dtype=torch.float64)),
        0.7,
        None if iteration is None else torch.tensor(iteration),
        gradient,
        slopes,
    )
    torch.testing.assert_close(found, expected.detach())
    torch.testing.assert_close(slopes, a.grad)
    ours, theirs = (spec.manifold.egrad2rgrad(x.detach(), each) for each in (gradient.T, x.grad))
    torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-8 * float(theirs.abs().max()))


def test_means_over_components_longer_than_a_block():
    ClosenessTerm = pytest.importorskip("ultrahyperbolic.engines.triton.passes").ClosenessTerm
    rng, sizes = np.random.default_rng(0), (1000, 256, 1, 700)
    component = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    n = len(component)
    closeness = Closeness(np.arange(4), component, np.zeros(n), 2, 4)
    values, counts = (
        torch.randn(n, dtype=torch.float64),
        torch.from_numpy(rng.integers(0, 2, n).astype(float)),
    )
    found = ClosenessTerm(closeness, torch.device("cpu"))._mean(values, counts)
    for number in range(len(sizes)):
        mine = torch.from_numpy(component == number)
        mean = (values[mine] * counts[mine]).sum() / counts[mine].sum().clamp_min(1.0)
        torch.testing.assert_close(found[mine], mean.expand(sizes[number]))
