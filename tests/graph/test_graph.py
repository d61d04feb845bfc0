from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ultrahyperbolic.datasets import karate
from ultrahyperbolic.graph import Graph, GraphError

ANY_ID = st.one_of(
    st.integers(),
    st.text(max_size=3),
    st.tuples(st.integers(0, 3), st.text(max_size=2)),
    st.booleans(),
)
EDGES = st.lists(st.tuples(ANY_ID, ANY_ID), max_size=20)
TRIANGLE = [("a", "b", 3), ("b", "c", 1), ("c", "a", 1), ("c", "d", 2)]


@given(EDGES)
def test_any_ids_come_out_as_they_went_in_and_in_order(edges):
    graph = Graph.from_edges(edges)
    expected = list(dict.fromkeys(end for edge in edges for end in edge))
    assert graph.ids == expected
    assert [type(node) for node in graph.ids] == [type(node) for node in expected]
    assert all(graph.index(node) == k for k, node in enumerate(expected))
    pairs = {frozenset(edge) for edge in edges if edge[0] != edge[1]}
    assert {frozenset((graph.ids[i], graph.ids[j])) for i, j in graph.edges.tolist()} == pairs


def test_what_a_graph_holds():
    graph = Graph.from_edges(TRIANGLE, nodes=["d", "c", "b", "a", "alone"])
    assert (graph.n_nodes, graph.n_edges) == (5, 4)
    assert graph.edges.tolist() == [[0, 1], [1, 2], [1, 3], [2, 3]]
    assert graph.weights.tolist() == [2, 1, 1, 3]
    assert graph.capacities.tolist() == [1, 2, 3]
    assert graph.classes.tolist() == [1, 0, 0, 2]
    assert graph.degree.tolist() == [1, 3, 2, 2, 0]
    assert graph.strength.tolist() == [2, 4, 4, 4, 0]
    assert graph.isolated.tolist() == [False, False, False, False, True]
    assert graph.policies == {"isolated_nodes": 1}
    assert graph.edges.dtype == graph.classes.dtype == np.int64
    assert graph.weights.dtype == graph.strength.dtype == np.float64
    adjacency = graph.adjacency().toarray()
    assert np.array_equal(adjacency, adjacency.T)
    assert np.array_equal(adjacency.sum(1), graph.strength)
    assert adjacency[graph.index("a"), graph.index("b")] == 3


@given(EDGES)
def test_neighbor_lists_are_those_of_the_adjacency_and_made_once(edges):
    graph = Graph.from_edges(edges)
    offsets, nodes = graph.neighbor_lists
    adjacency = graph.adjacency()
    assert offsets.tolist() == adjacency.indptr.tolist()
    assert nodes.tolist() == adjacency.indices.tolist()
    assert graph.neighbor_lists[1] is nodes


def test_a_graph_cannot_be_changed():
    graph = Graph.from_edges(TRIANGLE)
    held = (
        graph.edges,
        graph.weights,
        graph.capacities,
        graph.classes,
        graph.strength,
        graph.degree,
    )
    for array in (*held, *graph.neighbor_lists):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        graph.weights = np.ones(4)


def test_a_graph_of_the_callers_own_arrays_leaves_them_writable_and_does_not_follow_them():
    edges, weights = np.array([[0, 1], [1, 2]]), np.array([2.0, 1.0])
    graph = Graph(("a", "b", "c"), edges, weights)
    edges[0, 1], weights[:] = 2, 7.0
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.weights.tolist() == [2.0, 1.0]


@pytest.mark.parametrize(
    ("edges", "weights", "reason"),
    [
        ([[0, 3]], [1.0], r"tie 0 \(from 0\) joins the nodes 0 and 3: give positions i < j"),
        ([[-1, 1], [1, 2]], [1.0, 1.0], "tie 0 .* joins the nodes -1 and 1"),
        ([[0, 1], [2, 2]], [1.0, 1.0], "tie 1 .* joins the nodes 2 and 2"),
        ([[1, 0], [1, 2]], [1.0, 1.0], "tie 0 .* joins the nodes 1 and 0"),
        ([0, 1], [1.0, 1.0], r"edges must be \[m, 2\] and weights \[m\]"),
        ([[0, 1], [0, 1]], [1.0, 1.0], "tie 1 .* does not come after the one before"),
        *(([[0, 1]], [w], f"tie 0 .* weighs {w:g}") for w in (0.0, -1.0, np.nan, np.inf)),
    ],
)
def test_edges_that_are_no_edges_of_the_nodes_are_refused(edges, weights, reason):
    with pytest.raises(GraphError, match=reason):
        Graph(("a", "b", "c"), np.array(edges), np.array(weights))


def test_edges_are_checked_across_the_blocks_in_which_they_are_checked(monkeypatch):
    monkeypatch.setattr("ultrahyperbolic.graph.rows._CHECKED", 2)
    edges, weights = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [2, 3]]), np.ones(5)
    assert Graph(range(4), edges, weights).n_edges == 5
    for k in range(1, 5):
        swapped = edges.copy()
        swapped[[k - 1, k]] = edges[[k, k - 1]]
        with pytest.raises(GraphError, match=rf"tie {k} \(from 0\) does not come after"):
            Graph(range(4), swapped, weights)


def test_weights_apart_in_triples_or_none():
    pairs = [edge[:2] for edge in TRIANGLE]
    apart = Graph.from_edges(pairs, [edge[2] for edge in TRIANGLE])
    assert apart == Graph.from_edges(TRIANGLE)
    assert Graph.from_edges(pairs) == apart.unweighted()
    assert Graph.from_edges(iter(pairs), iter([3, 1, 1, 2])) == apart
    assert Graph.from_edges(np.array([[5, 7], [7, 9]])).ids == [5, 7, 9]


@pytest.mark.parametrize(
    ("edges", "weights", "message"),
    [
        ([("a", "b"), ("a", "b", 1)], None, "each tie must be a pair"),
        ([("a",)], None, "each tie must be a pair"),
        (["ab"], None, "each tie must be a pair"),
        ([("a", "b", 1)], [1], r"each tie must be a pair \(id, id\)$"),
        ([("a", "b")], [1, 2], "1 ties and 2 weights"),
        ([("a", "b")], ["x"], "weights must be numbers"),
        ([("a", "b", None)], None, "the weight is nan"),
        ([("a", None)], None, "an id is missing"),
        ([("a", float("nan"))], None, "an id is missing"),
        ([("a", [])], None, "ids must be hashable"),
    ],
)
def test_bad_edges_are_refused_in_one_line(edges, weights, message):
    with pytest.raises(GraphError, match=message) as refused:
        Graph.from_edges(edges, weights)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [1]), "one length"),
        (([0.5], [1]), "whole numbers"),
        (([[0]], [[1]]), "whole numbers"),
        (([-1], [0]), "between 0 and 0"),
        (([0], [1], [1, 2]), "1 ties and 2 weights"),
    ],
)
def test_bad_arrays_are_refused(arguments, message):
    with pytest.raises(GraphError, match=message):
        Graph.from_arrays(*arguments)


def test_ids_of_arrays():
    assert Graph.from_arrays([0], [2]).ids == [0, 1, 2]
    assert Graph.from_arrays([0], [2], ids=5).n_nodes == 5
    assert Graph.from_arrays([0], [1], ids=["x", "y"]).ids == ["x", "y"]
    with pytest.raises(GraphError, match="between 0 and 1"):
        Graph.from_arrays([0], [2], ids=["x", "y"])
    with pytest.raises(GraphError, match="id 'x' is given more than once"):
        Graph.from_arrays([0], [1], ids=["x", "x"])


def test_with_nodes_reorders_labels_and_flags():
    graph = Graph.from_edges(TRIANGLE)
    again = graph.with_nodes(["e", "d", "a", "b", "c"])
    assert again.policies == {"isolated_nodes": 1}
    assert again.to_networkx().adj == Graph.from_edges(TRIANGLE, nodes="abcde").to_networkx().adj
    assert again.with_nodes("abcdef").policies == {"isolated_nodes": 2}
    assert graph.with_nodes(dict.fromkeys("abcd", "x")).labels == dict.fromkeys("abcd", "x")
    with pytest.raises(GraphError, match=r"node 'd' is not in the node list \(1 such\)"):
        graph.with_nodes("abc")
    with pytest.raises(GraphError, match="id 'a' is given more than once"):
        graph.with_nodes("abcda")


def test_unknown_nodes_are_refused_with_a_hint():
    graph = Graph.from_edges([("1", "2")], name="toy")
    with pytest.raises(GraphError, match=r"^toy has no node 1; the ids here are text: '1'$"):
        graph.index(1)
    with pytest.raises(GraphError, match=r"^toy has no node 'x'$"):
        graph.index("x")


def test_the_fingerprint_is_of_ids_edges_and_weights():
    graph = Graph.from_edges(TRIANGLE, name="one")
    same = Graph.from_edges(
        [("a", "b", 3), ("c", "b", 1), ("a", "c", 1), ("d", "c", 2)], name="two"
    )
    assert same.with_nodes("abcd").fingerprint == graph.fingerprint
    others = [
        graph.unweighted(),
        graph.with_nodes("abcde"),
        graph.with_nodes("bacd"),
        Graph.from_edges([("a", "b", 3), ("b", "c", 1), ("b", "d", 1), ("c", "d", 2)]),
        Graph.from_edges([(b"a", "b", 3), ("b", "c", 1), ("c", b"a", 1), ("c", "d", 2)]),
    ]
    assert len({graph, *others}) == 6
    assert (
        len(
            {
                Graph.from_edges([(1, 2)]),
                Graph.from_edges([("1", "2")]),
                Graph.from_edges([(1.5, 2)]),
            }
        )
        == 3
    )
    assert Graph.from_edges([(("a", "b"), 0)]) != Graph.from_edges([(("ab",), 0)])


def test_the_fingerprint_is_the_same_in_every_process():
    program = (
        "from ultrahyperbolic.graph import Graph;"
        "print(Graph.from_edges([('a', (1, 'é')), ('a', frozenset('xyz')), (2.5, "
        "'a')]).fingerprint)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert found == {
        Graph.from_edges([("a", (1, "é")), ("a", frozenset("xyz")), (2.5, "a")]).fingerprint
    }


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (Graph.from_edges([]), "^graph is empty"),
        (Graph.from_edges([], nodes=["x"]), "^graph has one node, 'x'"),
        (Graph.from_edges([("x", "x")], name="loop"), "^loop has one node, 'x'"),
        (Graph.from_edges([], nodes="xy"), "^graph has 2 nodes and no ties"),
        (
            Graph.from_edges([("a", "b", 2), ("b", "c", 2), ("a", "c", 2)]),
            "nothing to order: every pair of its 3",
        ),
        (Graph.from_edges([("a", "b")]), "nothing to order"),
    ],
)
def test_what_cannot_be_trained_is_refused(graph, message):
    with pytest.raises(GraphError, match=message) as refused:
        graph.require_trainable()
    assert "\n" not in str(refused.value)


def test_describe_and_repr():
    graph = Graph.from_edges(
        [("a", "b", 2), ("a", "a", 1), ("b", "c", 3), ("b", "c", 4)], nodes="abcd", name="toy"
    )
    assert repr(graph) == "Graph(n_nodes=4, n_edges=2, source='toy')"
    assert graph.describe() == (
        "toy: 4 nodes, 2 ties, weights from 2 to 7; self loops dropped: 1; repeated rows summed: "
        "1; isolated nodes: 1"
    )
    assert Graph.from_edges([("a", "b")]).describe() == "graph: 2 nodes, 1 tie, every weight 1"
    assert Graph.from_edges([], nodes="a").describe() == "graph: 1 node, 0 ties; isolated nodes: 1"


def test_a_graph_survives_pickling():
    graph = Graph.from_edges(TRIANGLE, nodes={"a": 1, "b": 2, "c": 3, "d": 4}, name="toy")
    again = pickle.loads(pickle.dumps(graph))
    assert (again, again.labels, again.policies, again.source) == (
        graph,
        graph.labels,
        graph.policies,
        "toy",
    )


def test_only_numpy_and_torch_are_needed(tmp_path):
    """On a machine with nothing else the rooms import, and graphs are built from edges, arrays and
    bundled data.
    """
    program = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in {'pyarrow', 'pandas', 'scipy', 'networkx', 'igraph', 'rich', 'torch_geometric'}:
            raise ModuleNotFoundError(f'No module named {name!r}', name=name)
sys.meta_path.insert(0, Refuse())
import numpy as np
from ultrahyperbolic import datasets
from ultrahyperbolic.graph import Graph, as_graph, read_graph
print(datasets.karate().fingerprint)
print(Graph.from_edges([('a', 'b')]), Graph.from_arrays([0], [1]), as_graph(np.eye(2)[::-1]))
print(datasets.nips(sys.argv[1]).describe())
try:
    read_graph(sys.argv[1])
except ImportError as error:
    print(error)
"""
    path = tmp_path / "small.txt"
    path.write_text("1 2 3\n2 3 1\n")
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], check=True, capture_output=True, text=True
    )
    lines = done.stdout.splitlines()
    assert lines[0] == karate().fingerprint
    assert lines[1] == "Graph(n_nodes=2, n_edges=1) " * 2 + "Graph(n_nodes=2, n_edges=1)"
    assert lines[2] == "nips: 3 nodes, 2 ties, weights from 1 to 3"
    assert lines[3] == "reading a file needs pyarrow, which is not installed: pip install pyarrow"
