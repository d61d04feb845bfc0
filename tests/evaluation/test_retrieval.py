"""Recall, precision, mean rank and mean average precision against loops and scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score

from ultrahyperbolic import Euclidean
from ultrahyperbolic.evaluation import (
    mean_average_precision,
    mean_rank,
    precision_at_k,
    recall_at_1,
    reconstruction,
)
from ultrahyperbolic.graph import Graph


def neighbors_of(graph):
    found = [set() for _ in range(graph.n_nodes)]
    for i, j in graph.edges.tolist():
        found[i].add(j)
        found[j].add(i)
    return found


def precision_by_loop(graph, table, k):
    shares = []
    for u, neighbors in enumerate(neighbors_of(graph)):
        if neighbors:
            order = sorted(
                (v for v in range(graph.n_nodes) if v != u), key=lambda v: (table[u][v], v)
            )
            shares.append(sum(v in neighbors for v in order[:k]) / k)
    return sum(shares) / len(shares)


def ranks_by_loop(graph, table):
    ranks = []
    for u, neighbors in enumerate(neighbors_of(graph)):
        for v in neighbors:
            others = [w for w in range(graph.n_nodes) if w != u and w not in neighbors]
            ranks.append(1 + sum(table[u][w] <= table[u][v] for w in others))
    return sum(ranks) / len(ranks)


def map_by_scikit(graph, table):
    found = []
    for u, neighbors in enumerate(neighbors_of(graph)):
        if neighbors:
            others = [v for v in range(graph.n_nodes) if v != u]
            labels, scores = [v in neighbors for v in others], [-table[u][v] for v in others]
            found.append(average_precision_score(labels, scores))
    return sum(found) / len(found)


@pytest.mark.parametrize("seed", range(3))
def test_against_loops(make_graph, embed, table_of, seed):
    graph = make_graph(seed=seed)
    points, space = embed(graph, seed)
    table = table_of(points, space)
    assert recall_at_1(graph, points, space) == pytest.approx(
        precision_by_loop(graph, table, 1), abs=1e-12
    )
    for k in (1, 5, graph.n_nodes - 1):
        truth = precision_by_loop(graph, table, k)
        assert precision_at_k(graph, points, space, k) == pytest.approx(truth, abs=1e-12)
    assert mean_rank(graph, points, space) == pytest.approx(ranks_by_loop(graph, table), abs=1e-12)
    assert mean_average_precision(graph, points, space) == pytest.approx(
        map_by_scikit(graph, table), abs=1e-12
    )


def test_a_line_by_hand():
    # 0 and 1 are joined, and 2 and 3; node 1 is nearer to 2 than to 0.
    points = torch.tensor([[0.0], [3.0], [5.0], [6.0]], dtype=torch.float64)
    graph = Graph.from_arrays([0, 2], [1, 3])
    assert recall_at_1(graph, points, Euclidean(1)) == 3 / 4
    assert precision_at_k(graph, points, Euclidean(1), 2) == 1 / 2
    # Node 1 finds 0 third or, 3 and 6 - 3 being equal, tied with 3: two others are at most as far.
    assert reconstruction(graph, points, Euclidean(1)) == (
        (1 + 3 + 1 + 1) / 4,
        (1 + 1 / 3 + 1 + 1) / 4,
    )


def test_points_that_coincide_are_no_better_than_chance():
    graph = Graph.from_arrays([0, 0, 1], [1, 2, 2], ids=6)
    points = torch.zeros(6, 2, dtype=torch.float64)
    assert reconstruction(graph, points, Euclidean(2)) == (1 + 3, pytest.approx(2 / 5))


def test_isolated_nodes_are_left_out():
    points = torch.tensor([[0.0], [1.0], [1.4], [9.0]], dtype=torch.float64)
    pair = Graph.from_arrays([0], [1], ids=4)
    # Node 2 lies nearest to node 1, and node 3 nearest to node 2; neither is asked.
    assert recall_at_1(pair, points, Euclidean(1)) == 1 / 2
    assert reconstruction(pair, points, Euclidean(1)) == (1 + 1 / 2, (1 + 1 / 2) / 2)


def test_degenerate_graphs(degenerate):
    points = torch.randn(
        degenerate.n_nodes, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
    )
    found = reconstruction(degenerate, points, Euclidean(2))
    recall = recall_at_1(degenerate, points, Euclidean(2))
    if degenerate.n_edges == 0:
        assert all(map(math.isnan, (*found, recall)))
    elif degenerate.n_edges == degenerate.n_nodes * (degenerate.n_nodes - 1) // 2:
        assert (*found, recall) == (1.0, 1.0, 1.0)
    else:
        assert found.mean_rank >= 1
        assert 0 < found.mean_average_precision <= 1
        assert 0 <= recall <= 1


@pytest.mark.slow
def test_two_thousand_nodes():
    n = 2000
    rng = np.random.default_rng(0)
    points = torch.tensor(np.sort(rng.random(n))[:, None])
    graph = Graph.from_arrays(np.arange(n - 1), np.arange(1, n))
    # On a line whose consecutive points are joined, the nearest point is always joined.
    assert recall_at_1(graph, points, Euclidean(1)) == 1.0
    found = reconstruction(graph, points, Euclidean(1))
    assert 1 < found.mean_rank < 3
    assert 0.8 < found.mean_average_precision < 1


def test_points_must_be_those_of_the_graph():
    graph = Graph.from_arrays([0, 1], [1, 2])
    with pytest.raises(ValueError, match=r"a row for each of the 3 nodes, got shape \(2, 2\)"):
        recall_at_1(graph, torch.zeros(2, 2), Euclidean(2))
    points = torch.zeros(3, 2)
    points[1, 0] = math.nan
    with pytest.raises(ValueError, match=r"points\[1\] is not finite"):
        reconstruction(graph, points, Euclidean(2))
