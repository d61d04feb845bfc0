"""Weights and sums of them that differ by rounding alone are equal, in whatever order they are
given.
"""

import random

import numpy as np
import pytest

from ultrahyperbolic import Graph, datasets, embed
from ultrahyperbolic.evaluation import baselines, evaluate, strength_spearman
from ultrahyperbolic.graph.centrality import other_ranks
from ultrahyperbolic.graph.rows import without_rounding
from ultrahyperbolic.objective.ranking import RankedPairs

ROWS = [("a", "b", 0.1), ("a", "b", 0.2), ("b", "c", 0.3), ("a", "c", 0.3), ("c", "d", 0.3)]


def test_repeated_rows_that_add_up_to_a_weight_are_of_its_class():
    graph = Graph.from_edges(ROWS)
    assert graph.capacities.tolist() == [0.3]
    assert not RankedPairs.of(graph).weaker.any()
    embedding = embed(graph, p=2, q=0, seeds=1, quiet=True)
    assert "tie_order" not in evaluate(graph, embedding.points, embedding.manifold)


def hash_of(name):
    """A number that follows from the name alone."""
    return int.from_bytes(name.encode()) % 1009 / 1009


def test_a_graph_made_of_arrays_has_the_same_classes():
    graph = Graph(["a", "b", "c"], np.array([[0, 1], [1, 2]]), np.array([0.3, 0.1 + 0.2]))
    assert graph.weights.tolist() == [0.3, 0.3]


def test_directed_ties_are_compared_alike():
    graph = Graph.from_edges([*ROWS, ("d", "a", 0.3), ("a", "d", 0.1)], directed=True)
    assert sorted(set(graph.arcs[1].tolist())) == [0.1, 0.3]
    assert len(graph.capacities) == 2
    np.testing.assert_allclose(graph.directions.sum(1), graph.weights, rtol=1e-15)


def test_a_complete_graph_of_weights_that_are_equal_but_for_rounding_has_nothing_to_order():
    with pytest.raises(ValueError, match="nothing to order"):
        Graph.from_edges(ROWS[:4]).require_trainable()


def test_only_rounding_makes_numbers_equal():
    weights = np.array(
        [1.0, 1.0 + 1e-11, 5e-324, 1e-323, 2.0**53 - 1, 2.0**52, -1.0, -1.0 - 1e-15, 0.0, np.inf]
    )
    expected = weights.copy()
    expected[6] = weights[7]
    assert without_rounding(weights).tolist() == expected.tolist()
    assert without_rounding(np.empty(0)).tolist() == []


def test_equal_strengths_are_equal():
    graph = Graph.from_edges([("a", "b", 0.1), ("a", "c", 0.2), ("d", "e", 0.3)])
    ranks = dict(zip(graph.ids, other_ranks(graph)["strength_rank"].tolist(), strict=True))
    assert ranks["a"] == ranks["d"] == 1
    assert baselines(graph)["strength"].max() == 0.3


@pytest.mark.parametrize("factor", [0.01, 1 / 3, 0.7])
def test_strengths_rank_alike_in_every_unit_and_order_of_rows(factor):
    lesmis = datasets.lesmis()
    rows = [
        (lesmis.ids[i], lesmis.ids[j], w)
        for (i, j), w in zip(lesmis.edges.tolist(), lesmis.weights, strict=True)
    ]
    rank = dict(zip(lesmis.ids, other_ranks(lesmis)["strength_rank"].tolist(), strict=True))
    random.Random(1).shuffle(rows)
    graph = Graph.from_edges([(a, b, factor * w) for a, b, w in rows])
    assert dict(zip(graph.ids, other_ranks(graph)["strength_rank"].tolist(), strict=True)) == rank
    assert np.array_equal(
        np.sort(graph.strength), np.sort(graph.reordered(np.arange(77)[::-1]).strength)
    )
    delta = {node: hash_of(node) for node in lesmis.ids}
    for top in (None, 5, 10):
        found = [
            strength_spearman(of, [delta[node] for node in of.ids], top=top)
            for of in (lesmis, graph)
        ]
        assert found[0] == pytest.approx(found[1], abs=1e-12)


def test_scores_that_are_equal_but_for_rounding_share_their_rank():
    graph = Graph.from_edges([("a", "b", 1), ("c", "d", 2), ("e", "f", 3)])
    even, noisy = [3.0, 3.0, 0.3, 0.3, 1.0, 1.0], [3.0, 3.0, 0.3, 0.1 + 0.2, 1.0, 1.0]
    assert strength_spearman(graph, even) == strength_spearman(graph, noisy)
    assert strength_spearman(graph, [1, 2, 3, 4, 5, 6], at_least=2.0 + 1e-15) == strength_spearman(
        graph, [1, 2, 3, 4, 5, 6], at_least=2.0
    )
