"""Violated orders against a loop over all pairs of pairs."""

from __future__ import annotations

import math
import time
from itertools import combinations

import numpy as np
import pytest
import torch

from ultrahyperbolic import Euclidean, PseudoHyperboloid
from ultrahyperbolic.evaluation import evaluate, retrieval, violated_orders
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
    for block_rows in (None, 1, 5):
        assert violated_orders(graph, points, space, block_rows=block_rows) == pytest.approx(
            truth, abs=1e-12, nan_ok=True
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


def test_perfect_and_worst():
    graph = Graph.from_edges([(0, 1, 2), (1, 2, 1)])
    good = torch.tensor([[0.0], [1.0], [3.0]], dtype=torch.float64)
    assert violated_orders(graph, good, Euclidean(1)) == (0.0, 0.0, 0.0)
    bad = torch.tensor([[0.0], [9.0], [1.0]], dtype=torch.float64)
    assert violated_orders(graph, bad, Euclidean(1)) == (1.0, 1.0, 1.0)


def tie_order_by_count(graph, lengths):
    """How many of all pairs of ties with different weights have the stronger strictly nearer, by
    whole matrices.
    """
    stronger = graph.weights[:, None] > graph.weights
    return (stronger & (lengths[:, None] < lengths)).sum() / stronger.sum()


def lengths_of(graph, points, space):
    return np.array(space.cdist(points, dissimilarity="geodesic").double().tolist())[
        tuple(graph.edges.T)
    ]


def lattice(n):
    """The corners of a cube, many times: ties have few lengths, and often the same."""
    return torch.randint(0, 2, (n, 3), generator=torch.Generator().manual_seed(1)).double()


@pytest.mark.parametrize("seed", range(4))
def test_tie_order_is_the_share_of_pairs_of_ties(make_graph, embed, seed):
    graph = make_graph(n=18, weights=3 + seed, seed=seed)
    points, space = embed(graph, seed)
    truth = tie_order_by_count(graph, lengths_of(graph, points, space))
    assert evaluate(graph, points, space)["tie_order"] == pytest.approx(truth, abs=1e-12)


def test_tie_order_counts_equal_distances_as_wrong(make_graph):
    graph = make_graph(n=18, weights=4)
    truth = tie_order_by_count(graph, lengths_of(graph, lattice(18), Euclidean(3)))
    assert evaluate(graph, lattice(18), Euclidean(3))["tie_order"] == pytest.approx(
        truth, abs=1e-12
    )
    assert evaluate(graph, torch.zeros(18, 3), Euclidean(3))["tie_order"] == 0.0


def test_tie_order_of_random_points_is_a_half(make_graph):
    graph, generator = make_graph(n=60, weights=5), torch.Generator().manual_seed(0)
    found = [
        evaluate(graph, torch.randn(60, 3, generator=generator), Euclidean(3))["tie_order"]
        for _ in range(20)
    ]
    assert np.mean(found) == pytest.approx(0.5, abs=0.03)


def test_a_tie_order_that_takes_equal_distances_for_right_is_noticed(make_graph, monkeypatch):
    graph = make_graph(n=18, weights=4)
    points, space = lattice(18), Euclidean(3)
    truth = tie_order_by_count(graph, lengths_of(graph, points, space))

    def lenient(classes, distances):
        return _ascents(classes[np.lexsort((-classes, distances))]), counted(classes, distances)[1]

    counted = retrieval._among_edges
    monkeypatch.setattr(retrieval, "_among_edges", lenient)
    assert evaluate(graph, points, space)["tie_order"] > truth + 0.05


def test_tie_order_is_left_out_where_all_ties_are_alike(make_graph):
    assert "tie_order" not in evaluate(make_graph(weights=1), torch.randn(20, 2), Euclidean(2))


def test_ascents():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        values = rng.integers(0, rng.integers(1, 20), rng.integers(0, 40))
        assert _ascents(values) == sum(a < b for a, b in combinations(values.tolist(), 2))
    assert _ascents(np.arange(1000)) == 499500
    assert _ascents(np.arange(1000)[::-1]) == 0


def test_a_hundred_thousand_distinct_weights():
    values = np.random.default_rng(0).permutation(100_000)
    started = time.perf_counter()
    total = _ascents(values)
    assert time.perf_counter() - started < 10
    # A random permutation has half of its pairs in order, give or take √(m³/36).
    assert total == pytest.approx(100_000**2 / 4, rel=0.01)
    assert total + _ascents(values[::-1]) == 100_000 * 99_999 // 2


@pytest.mark.slow
def test_two_thousand_nodes():
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 2000, (2, 6000))
    graph = Graph.from_arrays(i[i != j], j[i != j], rng.random((i != j).sum()))
    points = torch.tensor(rng.normal(size=(2000, 4)))
    found = violated_orders(graph, points, Euclidean(4))
    assert found == pytest.approx((0.5, 0.5, 0.5), abs=0.03)
    # The weakest class dominates: m² / 2 orders among edges stand against m n² / 2 with non-edges.
    assert found.edges_vs_nonedges != found.all_classes
