from __future__ import annotations

import networkx as nx
import numpy as np

from ultrahyperbolic.datasets import karate, karate_matrix


def test_the_matrix_has_seven_asymmetric_pairs():
    matrix = karate_matrix()
    uneven = {(int(i) + 1, int(j) + 1) for i, j in np.argwhere(matrix != matrix.T) if i < j}
    assert uneven == {(1, 13), (3, 33), (9, 33), (9, 34), (23, 34), (24, 30), (30, 33)}
    assert set(np.unique(matrix)) == set(range(8))
    matrix[:] = 0  # the caller's own
    assert karate_matrix().sum() > 0


def test_the_paper_s_figures():
    graph = karate()
    assert (graph.n_nodes, graph.n_edges) == (34, 78)
    assert graph.capacities.tolist() == [2, 3, 4, 5, 6, 7, 8, 10, 12, 14]
    assert graph.policies == {"asymmetric_pairs_summed": 7}
    assert graph.ids == [str(member) for member in range(1, 35)]
    leaders = sorted(graph.ids, key=lambda node: (-graph.strength[graph.index(node)], int(node)))
    assert leaders[:10] == ["34", "1", "33", "3", "2", "32", "24", "4", "9", "14"]
    strengths = [graph.strength[graph.index(node)] for node in leaders[:10]]
    assert strengths == [92, 85, 77, 67, 58, 42, 41, 36, 34, 34]


def test_sides_and_ties_are_as_networkx_has_them():
    club = nx.karate_club_graph()
    assert karate().attributes["club"].tolist() == [club.nodes[k]["club"] for k in range(34)]
    plain = karate(weighted=False)
    assert plain.capacities.tolist() == [1]
    assert np.array_equal(plain.adjacency().toarray(), nx.to_numpy_array(club, weight=None))
