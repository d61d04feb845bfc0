"""PageRank against networkx, and what else nodes are compared by."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from ultrahyperbolic.datasets import karate
from ultrahyperbolic.evaluation import baselines, pagerank
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.graph.flow import current_flow


def graphs():
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 300, (2, 280))
    loops = i == j
    return {
        "karate": karate(),
        "in pieces": Graph.from_arrays(
            i[~loops], j[~loops], rng.random((~loops).sum()) + 0.1, ids=320
        ),
        "path": Graph.from_arrays(np.arange(199), np.arange(1, 200)),
        "star": Graph.from_arrays(np.zeros(70, dtype=int), np.arange(1, 71)),
        "pair": Graph.from_arrays([0], [1]),
        "pair of four": Graph.from_arrays([0], [2], ids=4),
        "no edges": Graph.from_arrays([], [], ids=3),
        "one node": Graph.from_arrays([], [], ids=1),
    }


@pytest.fixture(params=graphs(), ids=lambda name: name.replace(" ", "-"))
def graph(request):
    return graphs()[request.param]


def test_against_networkx(graph):
    other = graph.to_networkx()
    rank = nx.pagerank(other, tol=1e-13, max_iter=1000)
    found = baselines(graph)
    assert list(found) == ["strength", "pagerank", "centrality"]
    np.testing.assert_allclose(found["pagerank"], [rank[node] for node in graph.ids], rtol=1e-8)
    assert found["centrality"].tolist() == current_flow(graph).values.tolist()
    assert found["strength"].tolist() == graph.strength.tolist()
    assert found["pagerank"].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("tolerance", [1e-12, 0.0, -1.0])
@pytest.mark.parametrize("damping", [0.0, 0.5, 0.99])
def test_any_tolerance_ends(damping, tolerance):
    graph = karate()
    rank = nx.pagerank(graph.to_networkx(), alpha=damping, tol=1e-13, max_iter=10_000)
    found = pagerank(graph, damping=damping, tolerance=tolerance)
    np.testing.assert_allclose(found, [rank[node] for node in graph.ids], rtol=1e-8)


@pytest.mark.parametrize("damping", [1.0, -0.1, float("nan")])
def test_a_damping_that_may_not_converge_is_refused(damping):
    with pytest.raises(ValueError, match="damping must be at least 0 and below 1"):
        pagerank(karate(), damping=damping)
