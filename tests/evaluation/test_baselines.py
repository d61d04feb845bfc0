"""PageRank and closeness against networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from ultrahyperbolic.datasets import karate
from ultrahyperbolic.evaluation import baselines, closeness, pagerank
from ultrahyperbolic.graph import Graph


def graphs():
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 300, (2, 280))
    loops = i == j
    return {
        "karate": karate(),
        "in pieces": Graph.from_arrays(i[~loops], j[~loops], rng.random((~loops).sum()) + 0.1, ids=320),
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
    near = nx.closeness_centrality(other)
    found = baselines(graph)
    assert list(found) == ["strength", "pagerank", "closeness"]
    np.testing.assert_allclose(found["pagerank"], [rank[node] for node in graph.ids], rtol=1e-8)
    np.testing.assert_allclose(found["closeness"], [near[node] for node in graph.ids], rtol=1e-12)
    assert found["strength"].tolist() == graph.strength.tolist()
    assert found["pagerank"].sum() == pytest.approx(1.0)


def test_the_damping_matters():
    graph = karate()
    rank = nx.pagerank(graph.to_networkx(), alpha=0.5, tol=1e-13)
    np.testing.assert_allclose(pagerank(graph, damping=0.5), [rank[node] for node in graph.ids], rtol=1e-8)


def test_an_empty_graph():
    empty = Graph.from_arrays([], [], ids=0)
    assert pagerank(empty).tolist() == closeness(empty).tolist() == []
