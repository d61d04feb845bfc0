"""Held-out edges, and how they are told from non-edges, against scikit-learn."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score, roc_auc_score

from ultrahyperbolic import Euclidean
from ultrahyperbolic.evaluation import hold_out_edges, link_prediction
from ultrahyperbolic.evaluation.links import _draw_nonedges
from ultrahyperbolic.graph import Graph


def as_pairs(edges):
    return {tuple(edge) for edge in edges.tolist()}


def test_holding_out_keeps_nodes_and_weights():
    graph = Graph.from_edges(
        [("c", "a", 3), ("a", "b", 2), ("b", "d", 5), ("d", "c", 1), ("a", "d", 7)]
    )
    training, held = hold_out_edges(graph, 0.4, seed=1)
    assert list(training.ids) == list(graph.ids)
    assert len(held) == 2
    assert as_pairs(training.edges) | as_pairs(held) == as_pairs(graph.edges)
    assert not as_pairs(training.edges) & as_pairs(held)
    weight = dict(zip(map(tuple, graph.edges.tolist()), graph.weights.tolist(), strict=True))
    assert training.weights.tolist() == [weight[tuple(edge)] for edge in training.edges.tolist()]
    assert training.policies["held_out_edges"] == 2
    assert training.policies.get("isolated_nodes", 0) == training.isolated.sum()


def test_holding_out_is_by_seed(make_graph):
    graph = make_graph()
    first, again, other = (hold_out_edges(graph, 0.3, seed).edges.tolist() for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize("share", [0.0, 1.0, 1e-9, -0.5, 2.0])
def test_a_share_that_leaves_nothing(make_graph, share):
    with pytest.raises(ValueError, match="share must leave ties on both sides"):
        hold_out_edges(make_graph(), share)


@pytest.mark.parametrize("seed", range(3))
def test_against_scikit(make_graph, embed, table_of, seed):
    graph = make_graph(seed=seed)
    held = hold_out_edges(graph, 0.3, seed).edges
    points, space = embed(graph, seed)
    table, joined = table_of(points, space), as_pairs(graph.edges)
    positive = [-table[i][j] for i, j in held.tolist()]
    negative = [
        -table[i][j] for i, j in combinations(range(graph.n_nodes), 2) if (i, j) not in joined
    ]
    labels, scores = [1] * len(positive) + [0] * len(negative), positive + negative
    found = link_prediction(graph, points, space, held)
    assert found.negatives == len(negative)
    assert found.auc == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)
    assert found.average_precision == pytest.approx(
        average_precision_score(labels, scores), abs=1e-12
    )
    sampled = link_prediction(graph, points, space, held[:, ::-1], negatives=20_000, seed=seed)
    assert sampled.negatives == 20_000
    assert sampled.auc == pytest.approx(found.auc, abs=0.02)


def test_a_sample_against_scikit(make_graph, table_of):
    graph = make_graph()
    points = torch.randint(0, 3, (graph.n_nodes, 2)).double()
    table, drawn = table_of(points, Euclidean(2)), _draw_nonedges(graph, 30, seed=5)
    scores = [-table[i][j] for i, j in (*graph.edges.tolist(), *drawn.tolist())]
    labels = [1] * graph.n_edges + [0] * 30
    found = link_prediction(graph, points, Euclidean(2), graph.edges, negatives=30, seed=5)
    truth = roc_auc_score(labels, scores), average_precision_score(labels, scores), 30
    assert found == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.9])
def test_nonedges_are_drawn_uniformly(make_graph, share):
    graph = make_graph(n=9, share=share)
    apart = set(combinations(range(9), 2)) - as_pairs(graph.edges)
    drawn, counts = np.unique(
        _draw_nonedges(graph, 200 * len(apart), seed=0), axis=0, return_counts=True
    )
    assert as_pairs(drawn) == apart
    # Each is drawn 200 ± 14 times.
    assert abs(counts - 200).max() < 80


def test_degenerate():
    points = torch.tensor([[0.0], [1.0], [3.0]], dtype=torch.float64)
    complete = Graph.from_arrays([0, 0, 1], [1, 2, 2])
    for negatives in ("all", 10):
        found = link_prediction(
            complete, points, Euclidean(1), complete.edges[:1], negatives=negatives
        )
        assert math.isnan(found.auc)
        assert math.isnan(found.average_precision)
        assert found.negatives == 0
    single = Graph.from_arrays([0], [1], ids=3)
    assert link_prediction(single, points, Euclidean(1), single.edges) == (1.0, 1.0, 2)
    assert link_prediction(single, torch.zeros(3, 1), Euclidean(1), single.edges) == (
        0.5,
        pytest.approx(1 / 3),
        2,
    )


@pytest.mark.parametrize("held", [[[0, 2]], [[0, 5]], [[-1, 4]], [], [[0, 1, 2]], [0, 1]])
def test_what_is_held_out_was_an_edge(held):
    graph, points = Graph.from_arrays([0, 1], [1, 2]), torch.zeros(3, 1)
    with pytest.raises(ValueError, match="held_out must be ties of the graph"):
        link_prediction(graph, points, Euclidean(1), np.array(held, dtype=np.int64))
    with pytest.raises(ValueError, match="negatives must be 'all' or at least 1"):
        link_prediction(graph, points, Euclidean(1), graph.edges, negatives=0)
