"""δ, ranks and Spearman's ρ."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

from ultrahyperbolic import Euclidean, PseudoHyperboloid
from ultrahyperbolic.datasets import karate
from ultrahyperbolic.evaluation import delta, leader_ranks, norm_proxy, strength_spearman
from ultrahyperbolic.graph import Graph


def test_delta_sums_the_dissimilarity(make_graph, embed, table_of):
    points, space = embed(make_graph())
    truth = [
        sum(value for j, value in enumerate(row) if j != i)
        for i, row in enumerate(table_of(points, space))
    ]
    np.testing.assert_allclose(delta(points, space), truth, rtol=1e-9)


def test_delta_of_flat_space_sums_squares():
    points = torch.tensor([[0.0], [1.0], [3.0]])
    assert delta(points, Euclidean(1)).tolist() == [10.0, 5.0, 13.0]
    assert delta(points, Euclidean(1), dissimilarity="distance").tolist() == [4.0, 3.0, 5.0]


def test_the_norm_proxy_is_euclidean():
    assert norm_proxy(torch.tensor([[3.0, -4.0], [0.0, 0.5]])).tolist() == [5.0, 0.5]
    x = PseudoHyperboloid(3, 1).random(5, dtype=torch.float32).requires_grad_()
    np.testing.assert_allclose(
        norm_proxy(x), np.linalg.norm(x.detach().double().numpy(), axis=1), rtol=1e-12
    )


def test_leader_ranks_are_best_first():
    scores = [0.4, 0.1, 0.3, 0.2]
    assert leader_ranks(scores, [0, 3]).tolist() == [2, 4]
    assert leader_ranks(scores, [3, 0]).tolist() == [2, 4]
    assert leader_ranks(torch.tensor(scores), [1]).tolist() == [1]


def test_equal_delta_shares_a_rank():
    assert (
        leader_ranks([1.0, 0.0, 1.0, 1.0], [2]).tolist()
        == leader_ranks([1.0, 0.0, 1.0, 1.0], [0]).tolist()
        == [2]
    )
    assert leader_ranks([math.nan, 2.0, 3.0], [0, 2]).tolist() == [2, 3], "NaN comes last"


@pytest.mark.parametrize("leaders", [[4], [-1], [1, 1], [0.5], [[0, 1]], []])
def test_leaders_are_positions(leaders):
    with pytest.raises(ValueError, match="leaders must be"):
        leader_ranks([1.0, 2.0, 3.0, 4.0], leaders)


def test_spearman_is_scipy_s():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 40))
        i = rng.permutation(n)
        graph = Graph.from_arrays(i[:-1], i[1:], rng.integers(1, 5, n - 1).astype(float), ids=n)
        scores = rng.integers(0, 6, n).astype(float)
        truth = spearmanr(graph.strength, -scores).statistic
        assert strength_spearman(graph, scores) == pytest.approx(truth, abs=1e-14)
        chosen = graph.strength >= 4
        if len(set(graph.strength[chosen])) > 1 and len(set(scores[chosen])) > 1:
            truth = spearmanr(graph.strength[chosen], -scores[chosen]).statistic
            assert strength_spearman(graph, scores, at_least=4) == pytest.approx(truth, abs=1e-14)


def test_the_ten_strongest_of_the_club_are_the_paper_s():
    graph = karate()
    listed = [34, 1, 33, 3, 2, 32, 24, 4, 9, 14]
    # Weak nodes get wild scores: with any other choice or order of the ten, ρ is not this.
    scores = np.where(np.arange(34) % 2, 100.0, -100.0)
    scores[[node - 1 for node in listed]] = [3, 1, 2, 5, 4, 9, 6, 8, 7, 10]
    strengths = [92, 85, 77, 67, 58, 42, 41, 36, 34, 34]
    truth = spearmanr(strengths, [-3, -1, -2, -5, -4, -9, -6, -8, -7, -10]).statistic
    assert strength_spearman(graph, scores, top=10) == pytest.approx(truth, abs=1e-14)
    assert strength_spearman(graph, scores, at_least=34) == pytest.approx(truth, abs=1e-14)
    assert strength_spearman(graph, scores, top=5) == pytest.approx(0.6, abs=1e-14)


def test_of_equal_strengths_at_the_cut_all_are_taken():
    graph = Graph.from_edges([(0, 1, 5), (2, 3, 4), (4, 5, 4), (6, 7, 3)])
    scores = [0.0, 1.0, 2.0, 0.5, 6.0, 7.0, math.nan, math.nan]
    truth = spearmanr([5, 5, 4, 4, 4, 4], [0, -1, -2, -0.5, -6, -7]).statistic
    assert strength_spearman(graph, scores, top=3) == pytest.approx(truth)


def test_spearman_is_nan_where_it_means_nothing():
    graph = Graph.from_edges([(0, 1, 2), (1, 2, 1)])
    assert math.isnan(strength_spearman(graph, [1.0, 1.0, 1.0]))
    assert math.isnan(strength_spearman(graph, [1.0, math.nan, 2.0]))
    assert math.isnan(strength_spearman(graph, [1.0, 2.0, 3.0], top=1))
    assert math.isnan(strength_spearman(graph, [1.0, 2.0, 3.0], at_least=99))
    assert math.isnan(strength_spearman(Graph.from_edges([(0, 1)]), [1.0, 2.0]))
    assert strength_spearman(graph, [math.inf, 1.0, math.inf]) == pytest.approx(3**0.5 / 2)


def test_spearman_refuses_what_cannot_be():
    graph = Graph.from_edges([(0, 1, 2), (1, 2, 1)])
    with pytest.raises(ValueError, match="not both"):
        strength_spearman(graph, [1.0, 2.0, 3.0], top=2, at_least=1)
    for top in (0, 4):
        with pytest.raises(ValueError, match="top must be between 1 and the number of nodes, 3"):
            strength_spearman(graph, [1.0, 2.0, 3.0], top=top)
    with pytest.raises(
        ValueError, match=r"delta must be \[3\], one score per node, got shape \(2,\)"
    ):
        strength_spearman(graph, [1.0, 2.0])
