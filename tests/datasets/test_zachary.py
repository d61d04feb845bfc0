from __future__ import annotations

import networkx as nx
import numpy as np

from ultrahyperbolic.datasets import karate, karate_matrix

# (i, j): C[j, i], counted from 1, where it is not the weight that networkx gives.
ASYMMETRIC = {(1, 13): 2, (3, 33): 3, (9, 33): 4, (9, 34): 3, (23, 34): 0, (24, 30): 2, (30, 33): 3}


def test_the_matrix_is_networkxs_but_for_seven_entries():
    expected = nx.to_numpy_array(nx.karate_club_graph(), weight="weight", dtype=np.int64)
    for (i, j), strength in ASYMMETRIC.items():
        expected[j - 1, i - 1] = strength
    matrix = karate_matrix()
    assert np.array_equal(matrix, expected)
    assert set(np.unique(matrix)) <= set(range(8))
    uneven = {(int(i) + 1, int(j) + 1) for i, j in np.argwhere(matrix != matrix.T) if i < j}
    assert uneven == set(ASYMMETRIC)


def test_the_matrix_is_the_callers_own():
    karate_matrix()[:] = 0
    assert karate_matrix().sum() > 0


def test_the_paper_s_figures():
    graph = karate()
    assert (graph.n_nodes, graph.n_edges) == (34, 78)
    assert graph.capacities.tolist() == [2, 3, 4, 5, 6, 7, 8, 10, 12, 14]
    assert graph.policies == {"asymmetric_pairs_summed": 7}
    assert graph.ids == [str(member) for member in range(1, 35)]
    matrix = karate_matrix()
    assert np.array_equal(graph.adjacency().toarray(), matrix + matrix.T)
    leaders = sorted(graph.ids, key=lambda node: (-graph.strength[graph.index(node)], int(node)))[
        :10
    ]
    assert leaders == ["34", "1", "33", "3", "2", "32", "24", "4", "9", "14"]
    strengths = [graph.strength[graph.index(node)] for node in leaders]
    assert strengths == [92, 85, 77, 67, 58, 42, 41, 36, 34, 34]


def test_sides_are_as_networkx_has_them():
    expected = nx.get_node_attributes(nx.karate_club_graph(), "club")
    assert karate().attributes["club"].tolist() == [
        expected[int(member) - 1] for member in karate().ids
    ]


def test_unweighted():
    plain = karate(weighted=False)
    assert plain.capacities.tolist() == [1]
    assert np.array_equal(
        plain.adjacency().toarray(), nx.to_numpy_array(nx.karate_club_graph(), weight=None)
    )
