"""Directed graphs: the compiled loops against the definition, and the definition against loops over
ordered pairs.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from ultrahyperbolic import Graph, PseudoHyperboloid
from ultrahyperbolic.engines import callbacks
from ultrahyperbolic.engines.base import BatchState, Engine, RunSpec, Schedule
from ultrahyperbolic.engines.callbacks import follow_springs
from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.engines.reference import ReferenceEngine
from ultrahyperbolic.engines.triton.engine import TritonEngine
from ultrahyperbolic.loop import Progress
from ultrahyperbolic.objective import ExactLoss, RankedPairs

SPRING = 0.02
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def graph_of(n: int) -> Graph:
    rng = np.random.default_rng(0)
    ends = rng.integers(0, n, (5 * n, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    return Graph.from_arrays(
        *ends.T, rng.integers(1, 6, len(ends)).astype(float), ids=n, directed=True
    )


def started(manifold: PseudoHyperboloid, n: int) -> BatchState:
    points = manifold.random(n, scale=0.3, generator=torch.Generator().manual_seed(1)).numpy()
    state = BatchState.start([points])
    state.offsets[:] = 0.05 * np.random.default_rng(3).normal(size=n)
    state.record["spring"] = SPRING
    return state


def spec_of(manifold: PseudoHyperboloid, tau: float, parts: int = 1) -> RunSpec:
    ones = np.ones(3)
    schedule = Schedule(tau * ones, 0.01 * ones, 1e-3 * ones, 0.01 * ones, parts=parts)
    return RunSpec(manifold, schedule, "smoothed", popularity=True, keep="last")


def check_against_reference(
    engine: Engine, spec: RunSpec, pairs: RankedPairs, rtol: float = 1e-11
) -> None:
    """An evaluation and a few iterations are those of the reference."""
    reference, n = ReferenceEngine(pairs, [spec]), pairs.n_nodes
    states = [started(spec.manifold, n) for _ in range(2)]
    wanted, found = (
        each.evaluate(state) for each, state in zip((reference, engine), states, strict=True)
    )
    np.testing.assert_allclose(found.loss, wanted.loss, rtol=rtol)
    scale = np.abs(wanted.offsets).max()
    np.testing.assert_allclose(found.offsets, wanted.offsets, rtol=100 * rtol, atol=rtol * scale)
    if not np.isnan(found.longest).any():
        np.testing.assert_allclose(found.longest, wanted.longest, rtol=rtol)
    losses = [
        each.advance(state, 3) for each, state in zip((reference, engine), states, strict=True)
    ]
    np.testing.assert_allclose(losses[1], losses[0], rtol=10 * rtol)
    for name in ("points", "offsets"):
        there, here = (getattr(state, name) for state in states)
        np.testing.assert_allclose(here, there, rtol=1000 * rtol, atol=100 * rtol, err_msg=name)


def test_the_definition_is_eq_17_over_ordered_pairs():
    graph, manifold, tau = graph_of(12), PseudoHyperboloid(2, 2), 0.05
    points, offsets = manifold.random(12, scale=0.3), torch.randn(12, dtype=torch.float64) * 0.05
    pairs = RankedPairs.of(graph)
    found = ExactLoss(pairs, manifold.dissimilarity, tau)(points, offsets, SPRING)
    weight = {(int(i), int(j)): w for (i, j), w in zip(*graph.arcs, strict=True)}
    score = {
        (i, j): float(manifold.dissimilarity(points[i], points[j]) - offsets[i] - offsets[j])
        + SPRING * (pairs.heights[i] - pairs.heights[j] - 1.0) ** 2
        for i in range(12)
        for j in range(12)
        if i != j
    }
    loss = 0.0
    for tie, w in weight.items():
        weaker = [
            math.exp((score[tie] - s) / tau)
            for pair, s in score.items()
            if weight.get(pair, 0.0) < w
        ]
        loss += math.log1p(sum(weaker))
    assert float(found) == pytest.approx(loss, rel=1e-12)


@pytest.mark.parametrize(
    ("n", "tau", "parts"),
    [
        (40, 0.05, 1),
        (40, 1e-3, 1),
        *(
            pytest.param(130, tau, parts, marks=pytest.mark.slow)
            for tau, parts in ((0.05, 1), (1e-3, 1), (0.02, 3))
        ),
    ],
)
@pytest.mark.parametrize(("p", "q"), [(2, 2), (4, 0)])
def test_compiled_loops_are_the_definition(n, tau, parts, p, q):
    manifold, pairs = PseudoHyperboloid(p, q), RankedPairs.of(graph_of(n))
    spec = spec_of(manifold, tau, parts)
    compiled = NumbaEngine(pairs, [spec], threads=1)
    state = started(manifold, n)
    found, nearby = compiled.evaluate(state), compiled.nearby()
    for _ in range(2):  # the second time from a list, where the graph is large
        again = nearby(state)
        np.testing.assert_allclose(again.loss, found.loss, rtol=1e-12)
        np.testing.assert_allclose(
            again.gradient, found.gradient, atol=1e-10 * np.abs(found.gradient).max()
        )
    check_against_reference(compiled, spec, pairs)


@pytest.mark.parametrize("precision", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
def test_kernels_are_the_definition(precision):
    manifold, pairs = PseudoHyperboloid(2, 2), RankedPairs.of(graph_of(20))
    spec = spec_of(manifold, 0.05)
    engine = TritonEngine(pairs, [spec], device=DEVICE, precision=precision)
    check_against_reference(engine, spec, pairs, rtol=1e-11 if precision == "float64" else 1e-4)


def test_springs_take_the_stiffness_of_the_least_loss():
    graph, manifold = graph_of(40), PseudoHyperboloid(2, 2)
    pairs, spec = RankedPairs.of(graph), spec_of(manifold, 0.05)
    engine, state = ReferenceEngine(pairs, [spec]), started(manifold, 40)

    def loss(spring: float) -> float:
        state.record["spring"] = spring
        return float(engine.evaluate(state).loss[0])

    losses = {
        spring: loss(spring)
        for spring in (SPRING, SPRING / math.sqrt(2.0), SPRING * math.sqrt(2.0))
    }
    state.record["spring"] = SPRING
    follow_springs(pairs, [spec], descents=10).callback(
        Progress(0, 10, np.zeros(1), 0.0, state, [])
    )
    assert state.record["spring"][0] == min(losses, key=losses.__getitem__)


def test_stiffness_is_estimated_from_some_ties_where_there_are_many(monkeypatch):
    manifold, graph = PseudoHyperboloid(2, 2), graph_of(130)
    pairs, spec, found = RankedPairs.of(graph), spec_of(manifold, 0.05), []
    for most in (10**6, pairs.n_edges // 2):
        monkeypatch.setattr(callbacks, "_TIES", most)
        state = started(manifold, 130)
        state.record["spring"] = 1.0  # much too stiff
        for _ in range(8):
            follow_springs(pairs, [spec], descents=10).callback(
                Progress(0, 10, np.zeros(1), 0.0, state, [])
            )
        found.append(math.log2(state.record["spring"][0]))
    assert abs(found[1] - found[0]) <= 0.5  # at most one step of half an octave apart
