"""Measures from samples: of all nodes they are the measures, of some within their standard
errors.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ultrahyperbolic import Euclidean, PseudoHyperboloid, datasets
from ultrahyperbolic.embedding import Embedding
from ultrahyperbolic.evaluation import from_samples, over_nodes, over_pairs
from ultrahyperbolic.evaluation.closure import sampled_closure, triadic_closure
from ultrahyperbolic.evaluation.summary import delta_from_samples, drawn_nodes
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.training import train

Q22 = PseudoHyperboloid(2, 2, -4.0)
SPACES = [Q22, PseudoHyperboloid(3, 0), PseudoHyperboloid(0, 3, -0.25), Euclidean(3)]


def random_graph(n=200, seed=0, parts=1):
    rng = np.random.default_rng(seed)
    size = n // parts
    i, j = rng.integers(0, size, (2, 3 * n))
    shift = rng.integers(0, parts, 3 * n) * size
    keep = i != j
    return Graph.from_arrays(
        (i + shift)[keep], (j + shift)[keep], rng.integers(1, 4, keep.sum()).astype(float), ids=n
    )


def points_on(manifold, n):
    return manifold.random(n, scale=0.5, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    "manifold",
    [Q22, PseudoHyperboloid(3, 0), PseudoHyperboloid(0, 3, -0.25), Euclidean(3)],
    ids=str,
)
@pytest.mark.parametrize("level", [None, 0.0, 20.0])
@pytest.mark.parametrize("parts", [1, 4])
def test_measures_of_all_nodes_are_the_measures(manifold, level, parts):
    graph = random_graph(parts=parts)
    points = points_on(manifold, 200)
    popularity = np.random.default_rng(2).normal(level, 0.1, 200) if level is not None else None
    found = from_samples(graph, points, manifold, nodes=200, popularity=popularity)
    expected = over_pairs(graph, points, manifold, popularity=popularity)
    np.testing.assert_allclose(found.delta, expected.delta, rtol=1e-7)
    for name in expected.measures.keys() - {"violated_orders_all"}:
        assert found.measures[name] == pytest.approx(expected.measures[name], rel=1e-6), name
    assert found.measures["measured_nodes"] == 200


def test_some_nodes_tell_the_measures_within_their_errors():
    graph, points = random_graph(600), points_on(Q22, 600)
    exact = over_pairs(graph, points, Q22).measures
    off = {
        name: []
        for name in ("map", "recall_at_1", "mean_rank", "violated_orders", "precision_at_5")
    }
    for seed in range(40):
        found = from_samples(graph, points, Q22, nodes=60, seed=seed).measures
        for name, values in off.items():
            values.append((found[name] - exact[name]) / max(found[f"{name}_error"], 1e-12))
    for name, values in off.items():
        if exact[name] > 0.02:  # of rare things so few nodes know no error
            assert abs(np.mean(values)) < 4.0 / np.sqrt(40) * max(1.0, np.std(values)), name
            assert 0.5 < np.std(values) < 2.0, name


@pytest.mark.parametrize("parts", [1, 3])
def test_delta_in_a_moment_is_that_of_a_small_graph_and_near_that_of_a_larger(parts):
    manifold = PseudoHyperboloid(2, 1)
    for n, error in ((60, 1e-9), (600, 0.1)):
        graph = random_graph(n, parts=parts)
        points = points_on(manifold, n)
        exact = over_pairs(graph, points, manifold).delta
        np.testing.assert_allclose(
            np.median(delta_from_samples(graph, points, manifold) / exact), 1.0, rtol=error
        )
        popularity = np.random.default_rng(0).normal(-1.0, 0.1, n)
        exact = over_pairs(graph, points, manifold, popularity=popularity).delta
        found = delta_from_samples(graph, points, manifold, popularity)
        np.testing.assert_allclose(np.median(found / exact), 1.0, rtol=error)


def test_few_nodes_are_drawn_of_many():
    assert [drawn_nodes(n) for n in (10, 10**6, 10**9)] == [10, 268, 64]


def test_large_graphs_are_measured_by_samples_and_it_is_said(monkeypatch, caplog):
    monkeypatch.setattr(train, "SAMPLED_NODES", 33)
    graph, manifold = datasets.karate(), PseudoHyperboloid(2, 2)
    embedding = Embedding(graph.ids, points_on(manifold, 34).numpy(), manifold, graph=graph)
    monkeypatch.setattr(train, "over_pairs", lambda *_, **__: pytest.fail("looked at all pairs"))
    found = train.measured(graph, embedding, quiet=False)
    assert found.record.measures["map_error"] > 0.0
    assert "estimated" not in caplog.text, "all nodes were drawn"
    np.testing.assert_allclose(found.delta, embedding.delta)
    assert found.record.measures.keys() >= over_nodes(graph, points_on(manifold, 34)).keys()
    monkeypatch.setattr("ultrahyperbolic.evaluation.summary._FEWEST", 5)
    monkeypatch.setattr("ultrahyperbolic.evaluation.summary._MOST", 20)
    train.measured(graph, embedding, quiet=False)
    assert caplog.messages == [
        "measures and delta are estimated from 20 of 34 nodes; run.json has standard errors"
    ]


def test_no_more_nodes_are_measured_than_there_is_time_for():
    graph, manifold = random_graph(300), PseudoHyperboloid(2, 2)
    points = points_on(manifold, 300)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "ultrahyperbolic.evaluation.summary._AT_ONCE", 300 * 10
        )  # ten nodes at a time
        few = from_samples(graph, points, manifold, seconds=1e-9).measures
    assert few["measured_nodes"] == 70, "the fewest, in whole blocks"
    assert from_samples(graph, points, manifold, seconds=1e-9).measures["measured_nodes"] == 64
    assert from_samples(graph, points, manifold, seconds=1e9).measures["measured_nodes"] == 300


def test_wedges_that_are_drawn_tell_the_share_that_is_closed():
    graph = datasets.karate()
    exact, found = triadic_closure(graph), sampled_closure(graph, wedges=200_000)
    assert found["transitivity"] + found["open_wedges"] == 1.0
    assert abs(found["transitivity"] - exact.transitivity) < 4 * found["transitivity_error"]
    assert 0 < found["transitivity_error"] < 0.002
    assert sampled_closure(Graph.from_edges([("a", "b")])) == {}
