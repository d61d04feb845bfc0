"""Violated orders against a loop over all pairs of pairs."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import torch

from ultrahyperbolic import Euclidean, PseudoHyperboloid
from ultrahyperbolic.evaluation import evaluate, violated_orders
from ultrahyperbolic.evaluation.retrieval import _ascents
from ultrahyperbolic.graph import Graph


def orders_by_loop(graph, table):
    """The three shares, from every pair of pairs of nodes."""
    weight = {
        (i, j): w for (i, j), w in zip(graph.edges.tolist(), graph.weights.tolist(), strict=True)
    }
    counts = {"nonedges": [0, 0], "all": [0, 0], "ties": [0, 0]}
    for one, other in combinations(combinations(range(graph.n_nodes), 2), 2):
        strong, weak = (one, other) if weight.get(one, 0) > weight.get(other, 0) else (other, one)
        if weight.get(strong, 0) == weight.get(weak, 0):
            continue
        violated = not table[strong[0]][strong[1]] < table[weak[0]][weak[1]]
        for name in ["all", "ties"] if weak in weight else ["all", "nonedges"]:
            counts[name][0] += violated
            counts[name][1] += 1
    return [part / whole if whole else math.nan for part, whole in counts.values()]


@pytest.mark.parametrize("weights", [1, 3, 1000])
def test_against_all_pairs_of_pairs(make_graph, embed, table_of, weights):
    graph = make_graph(n=14, weights=weights)
    points, space = embed(graph)
    truth = orders_by_loop(graph, table_of(points, space))
    found = violated_orders(graph, points, space)
    assert found == pytest.approx(truth, abs=1e-12, nan_ok=True)
    assert evaluate(graph, points, space).get("tie_order", math.nan) == pytest.approx(
        1.0 - truth[2], abs=1e-12, nan_ok=True
    )


def test_float32_on_a_curved_manifold(make_graph, table_of):
    graph, space = make_graph(n=14), PseudoHyperboloid(3, 1)
    points = space.random(14, generator=torch.Generator().manual_seed(0))
    truth = orders_by_loop(graph, table_of(points, space))
    # Rounding may turn a few of some thousand orders.
    assert violated_orders(graph, points.float(), space) == pytest.approx(truth, abs=2e-3)


def test_degenerate_graphs(degenerate):
    points = torch.randn(
        degenerate.n_nodes, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    table = Euclidean(2).cdist(points).tolist()
    truth = orders_by_loop(degenerate, table)
    assert violated_orders(degenerate, points, Euclidean(2)) == pytest.approx(
        truth, abs=1e-12, nan_ok=True
    )


def test_equal_distances_are_violations():
    graph = Graph.from_edges([(0, 1, 2), (1, 2, 1)], nodes=range(4))
    assert violated_orders(graph, torch.zeros(4, 2, dtype=torch.float64), Euclidean(2)) == (
        1.0,
        1.0,
        1.0,
    )


def test_tie_order_is_left_out_where_all_ties_are_alike(make_graph):
    assert "tie_order" not in evaluate(make_graph(weights=1), torch.randn(20, 2), Euclidean(2))


def test_ascents():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        values = rng.integers(0, rng.integers(1, 20), rng.integers(0, 40))
        assert _ascents(values) == sum(a < b for a, b in combinations(values.tolist(), 2))
    assert _ascents(np.arange(1000)) == 499500
    assert _ascents(np.arange(1000)[::-1]) == 0
