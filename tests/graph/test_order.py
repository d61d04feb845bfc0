"""The order of nodes inside a training: a property of the graph, not of the file."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import ultrahyperbolic as uh
from ultrahyperbolic.graph import Graph


def shuffled(rows, seed):
    """The same ties in another order of rows, some turned round."""
    rng = np.random.default_rng(seed)
    found = [rows[k] for k in rng.permutation(len(rows))]
    return [(b, a, w) if rng.random() < 0.5 else (a, b, w) for a, b, w in found]


def rows_of(graph):
    return [(a, b, float(data.get("weight", 1))) for a, b, data in graph.edges(data=True)]


@pytest.mark.parametrize(
    "rows",
    [
        rows_of(nx.les_miserables_graph()),
        rows_of(nx.balanced_tree(3, 3)),
        [("a", 1, 0.1), (1, (2, "b"), 0.2), ((2, "b"), b"c", 0.3), (b"c", 2.5, 1.0)],
    ],
    ids=["les Misérables", "a tree of nodes that are alike", "ids of many types"],
)
def test_the_order_of_nodes_does_not_depend_on_the_order_of_rows(rows):
    first = Graph.from_edges(rows)
    ids = [first.ids[int(k)] for k in first.node_order]
    for seed in range(3):
        again = Graph.from_edges(shuffled(rows, seed))
        assert [again.ids[int(k)] for k in again.node_order] == ids


def test_other_names_give_the_same_order_where_all_nodes_differ():
    graph = nx.gnm_random_graph(60, 150, seed=3)
    graph = graph.subgraph(max(nx.connected_components(graph), key=len))
    given = Graph.from_edges(list(graph.edges))
    named = Graph.from_edges([(f"x{999 - a}", f"x{999 - b}") for a, b in graph.edges])
    order = [f"x{999 - given.ids[int(k)]}" for k in given.node_order]
    other = [named.ids[int(k)] for k in named.node_order]
    # Nodes that are alike, such as two leaves of one node, may change places.
    alike = sum(a != b for a, b in zip(order, other, strict=True))
    assert alike <= 6


def test_a_reordered_graph_is_the_same_graph():
    graph = uh.datasets.load("karate")
    order = graph.node_order
    inner = graph.reordered(order)
    np.testing.assert_array_equal(inner.strength, graph.strength[order])
    assert sorted(order.tolist()) == list(range(34))
    np.testing.assert_array_equal(inner.edges, sorted(inner.edges.tolist()))


def test_sums_of_repeated_rows_do_not_depend_on_their_order():
    rows = [("a", "b", w) for w in (0.1, 0.2, 0.3, 1e16, 0.7, 1.3)] + [("b", "c", 1.0)]
    weights = {
        Graph.from_edges([rows[k] for k in np.random.default_rng(s).permutation(7)]).weights.max()
        for s in range(20)
    }
    assert len(weights) == 1


def test_every_node_gets_the_same_point_from_rows_in_any_order():
    rows = rows_of(nx.les_miserables_graph())
    first = uh.embed(rows, iterations=60, quiet=True)
    for seed in range(2):
        again = uh.embed(shuffled(rows, seed), iterations=60, quiet=True)
        assert list(again.ids) != list(first.ids)
        for node in first.ids:
            np.testing.assert_array_equal(again[node], first[node])


def test_callbacks_see_nodes_in_the_order_of_the_graph():
    graph, seen = uh.datasets.load("karate"), []
    embedding = uh.embed(
        graph,
        iterations=20,
        stop="iterations",
        preset="paper",
        quiet=True,
        callback=lambda progress: seen.append(progress.state.best[0].copy()),
    )
    np.testing.assert_array_equal(seen[-1][:, : embedding.points.shape[1]], embedding.points)
