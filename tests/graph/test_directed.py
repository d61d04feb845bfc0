"""Graphs whose ties have directions."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from ultrahyperbolic import Graph, GraphError, read_graph

TIES = [("a", "b", 2.0), ("b", "a", 1.0), ("c", "b", 3.0), ("a", "b", 4.0), ("c", "c", 9.0)]


def ties_of(graph):
    ends, weights = graph.arcs
    return {
        (graph.ids[i], graph.ids[j]): w
        for (i, j), w in zip(ends.tolist(), weights.tolist(), strict=True)
    }


WANTED = {("a", "b"): 6.0, ("b", "a"): 1.0, ("c", "b"): 3.0}


def test_rows_in_one_direction_become_one_tie():
    graph = Graph.from_edges(TIES, directed=True)
    assert ties_of(graph) == WANTED
    assert graph.weights.tolist() == [7.0, 3.0]
    assert graph.policies == {"repeated_rows_summed": 1, "self_loops_dropped": 1}
    assert ties_of(Graph.from_edges(TIES, directed=True, repeated="max"))["a", "b"] == 4.0
    with pytest.raises(GraphError, match="this tie was given before"):
        Graph.from_edges(TIES, directed=True, repeated="error")


def test_a_tie_that_is_given_again_is_named_by_its_row():
    with pytest.raises(
        GraphError, match=r"^the ties, row 2 .*'b' - 'a'.*given before \(the ties, row 1"
    ):
        Graph.from_edges([("a", "b"), ("b", "a"), ("b", "a")], directed=True, repeated="error")


def test_every_way_in_keeps_directions(tmp_path):
    network = nx.DiGraph()
    network.add_weighted_edges_from((*pair, weight) for pair, weight in WANTED.items())
    matrix = np.array([[0.0, 6.0, 0.0], [1.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
    table = tmp_path / "ties.tsv"
    table.write_text("".join(f"{i}\t{j}\t{w}\n" for (i, j), w in WANTED.items()), encoding="ascii")
    nx.write_graphml(network, tmp_path / "ties.graphml")
    nx.write_gml(network, tmp_path / "ties.gml")
    nx.write_gexf(network, tmp_path / "ties.gexf")
    found = [
        Graph.from_networkx(network, directed=True),
        Graph.from_numpy(matrix, ids=["a", "b", "c"], directed=True),
        Graph.from_scipy(sp.csr_array(matrix), ids=["a", "b", "c"], directed=True),
        *(
            read_graph(tmp_path / f"ties.{kind}", directed=True)
            for kind in ("tsv", "graphml", "gexf")
        ),
    ]
    for graph in found:
        assert graph.is_directed
        assert ties_of(graph) == WANTED
    assert sorted(read_graph(tmp_path / "ties.gml", directed=True).arcs[1]) == sorted(
        WANTED.values()
    )
    assert dict(found[0].to_networkx().edges) == dict(network.edges)


def test_an_undirected_format_is_refused():
    with pytest.raises(GraphError, match="the graph is undirected"):
        Graph.from_networkx(nx.path_graph(3), directed=True)


def test_other_orders_of_nodes_turn_directions():
    graph = Graph.from_edges(TIES, directed=True)
    assert ties_of(graph.with_nodes(["c", "b", "a", "d"])) == WANTED
    order = np.array([2, 0, 1])
    turned = graph.reordered(order)
    named = {(graph.ids[order[i]], graph.ids[order[j]]): w for (i, j), w in ties_of(turned).items()}
    assert named == WANTED
    assert set(ties_of(graph.unweighted()).values()) == {1.0}


def test_directions_that_do_not_fit_are_refused():
    for directions in (np.ones((2, 2)), np.array([[7.0, 0.0], [4.0, -1.0]]), np.ones(2)):
        with pytest.raises(GraphError, match="directions"):
            Graph(
                ["a", "b", "c"],
                np.array([[0, 1], [1, 2]]),
                np.array([7.0, 3.0]),
                directions=directions,
            )
