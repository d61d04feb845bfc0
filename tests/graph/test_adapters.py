from __future__ import annotations

import datetime
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

import ultrahyperbolic as uh
from ultrahyperbolic.graph import Graph, GraphError, as_graph
from ultrahyperbolic.graph.errors import need

EDGES = [("ann", "bob", 2.0), ("bob", "cid", 1.5), ("ann", "dot", 3.0)]
GRAPH = Graph.from_edges(EDGES)
MATRIX = np.array([[0, 2, 0, 3], [2, 0, 1.5, 0], [0, 1.5, 0, 0], [3, 0, 0, 0]])


def club():
    graph = nx.Graph(name="club")
    graph.add_weighted_edges_from(EDGES)
    return graph


# networkx


def test_networkx_there_and_back():
    graph = as_graph(club())
    assert graph == GRAPH
    assert graph.source == "club"
    assert graph.to_networkx().adj == club().adj
    assert as_graph(graph.to_networkx()) == graph


def test_networkx_with_odd_ids_isolated_nodes_and_labels():
    original = nx.Graph()
    original.add_node((0, "x"), side="left")
    original.add_node(frozenset("ab"))
    original.add_edge((0, "x"), 7)
    graph = as_graph(original, label="side")
    assert graph.ids == [(0, "x"), frozenset("ab"), 7]
    assert graph.labels == {(0, "x"): "left"}
    assert graph.policies == {"isolated_nodes": 1}
    assert graph.to_networkx().nodes[0, "x"] == {"label": "left"}


def test_networkx_weights():
    original = nx.Graph([("a", "b", {"weight": 2, "n": 5}), ("b", "c", {"n": 6})])
    assert as_graph(original).weights.tolist() == [2, 1]
    assert as_graph(original).policies == {"missing_weights_set_to_1": 1}
    assert as_graph(original, weight="n").weights.tolist() == [5, 6]
    assert as_graph(original, weight=False).policies == {}
    assert as_graph(nx.path_graph(3)).policies == {}
    with pytest.raises(GraphError, match="weights must be numbers"):
        as_graph(nx.Graph([("a", "b", {"weight": "much"})]))
    with pytest.raises(GraphError, match=r"^networkx graph \('a' - 'b'\): the weight is 0;"):
        as_graph(nx.Graph([("a", "b", {"weight": 0})]))


def test_networkx_directions_and_parallel_edges():
    directed = nx.DiGraph()
    directed.add_weighted_edges_from([("a", "b", 1), ("b", "a", 2), ("b", "c", 4)])
    graph = as_graph(directed)
    assert (graph.weights.tolist(), graph.policies) == ([3, 4], {"asymmetric_pairs_summed": 2})
    with pytest.raises(GraphError, match="asymmetric='error'"):
        as_graph(directed, asymmetric="error")
    symmetric = club().to_directed()
    assert as_graph(symmetric, asymmetric="error") == GRAPH
    several = nx.MultiGraph([("a", "b", {"weight": 1}), ("b", "a", {"weight": 1}), ("a", "a")])
    graph = as_graph(several)
    assert graph.weights.tolist() == [2]
    assert graph.policies == {
        "missing_weights_set_to_1": 1,
        "self_loops_dropped": 1,
        "repeated_rows_summed": 1,
    }
    assert as_graph(several, repeated="max").weights.tolist() == [1]


# igraph


def test_igraph():
    igraph = pytest.importorskip("igraph", reason="igraph is not installed")
    original = igraph.Graph.TupleList(EDGES, weights=True)
    assert as_graph(original) == GRAPH
    assert as_graph(igraph.Graph([(0, 1), (1, 2)])).ids == [0, 1, 2]
    assert as_graph(igraph.Graph(3)).policies == {"isolated_nodes": 3}
    original.vs["side"] = ["l", "r", None, "l"]
    assert as_graph(original, label="side").labels == {"ann": "l", "bob": "r", "dot": "l"}
    assert as_graph(original, weight=False) == GRAPH.unweighted()
    directed = igraph.Graph(
        [(0, 1), (1, 0), (1, 2)], directed=True, edge_attrs={"weight": [1, 2, 4]}
    )
    assert as_graph(directed).weights.tolist() == [3, 4]
    with pytest.raises(GraphError, match="given more than once"):
        as_graph(igraph.Graph([(0, 1)], vertex_attrs={"name": ["x", "x"]}))


# PyTorch Geometric


def test_pyg():
    pytest.importorskip("torch_geometric", reason="torch_geometric is not installed")
    from torch_geometric.data import Data
    from torch_geometric.utils import from_networkx

    data = from_networkx(nx.convert_node_labels_to_integers(club()))
    assert data.edge_index.shape == (2, 6)
    graph = as_graph(data, weight="weight", ids=["ann", "bob", "cid", "dot"])
    assert graph == GRAPH
    one_way = Data(
        edge_index=torch.tensor([[0, 1], [1, 2]]), edge_weight=torch.tensor([2.0, 3.0]), num_nodes=4
    )
    graph = as_graph(one_way)
    assert graph.weights.tolist() == [2, 3]
    assert graph.ids == [0, 1, 2, 3]
    assert graph.policies == {"asymmetric_pairs_summed": 2, "isolated_nodes": 1}
    assert as_graph(one_way, weight=False).weights.tolist() == [1, 1]
    attributes = Data(
        edge_index=one_way.edge_index, edge_attr=torch.tensor([[4], [5]]), num_nodes=3
    )
    assert as_graph(attributes).weights.tolist() == [4, 5]
    wide = Data(edge_index=one_way.edge_index, edge_attr=torch.ones(2, 3), num_nodes=3)
    assert as_graph(wide).weights.tolist() == [1, 1]
    with pytest.raises(GraphError, match="'edge_attr' must hold one number per tie"):
        as_graph(wide, weight="edge_attr")
    with pytest.raises(GraphError, match=r"PyG data, tie 1 \(from 0\) \(1 - 2\): the weight is -3"):
        as_graph(
            Data(edge_index=one_way.edge_index, edge_weight=torch.tensor([2.0, -3.0]), num_nodes=3)
        )
    with pytest.raises(GraphError, match="no edge_index"):
        as_graph(Data(x=torch.ones(2, 2)))


# Matrices


@pytest.mark.parametrize(
    "make", [sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_array, np.array]
)
def test_matrices(make):
    ids = ["ann", "bob", "cid", "dot"]
    assert as_graph(make(MATRIX), ids=ids) == GRAPH
    assert as_graph(make(MATRIX)).ids == [0, 1, 2, 3]
    assert as_graph(make(np.triu(MATRIX)), ids=ids) == GRAPH
    assert as_graph(make(np.triu(MATRIX))).policies == {"asymmetric_pairs_summed": 3}
    assert as_graph(make(MATRIX > 0), ids=ids) == GRAPH.unweighted()
    with pytest.raises(GraphError, match="3 ids for 4 rows"):
        as_graph(make(MATRIX), ids="abc")
    with pytest.raises(GraphError, match="given more than once"):
        as_graph(make(MATRIX), ids="abca")
    with pytest.raises(GraphError, match="must be a square matrix"):
        as_graph(make(MATRIX[:3]))
    with pytest.raises(GraphError, match="real numbers"):
        as_graph(make(MATRIX * 1j))
    with pytest.raises(GraphError, match=r"\(([01]) - (?!\1)[01]\): the weight is -2;"):
        as_graph(make(-MATRIX))


def test_stored_zeros_are_refused_and_repeated_entries_added():
    stored = sp.csr_array(([0.0, 0.0], ([0, 1], [1, 0])), shape=(2, 2))
    with pytest.raises(GraphError, match=r"^matrix \(0 - 1\): the weight is 0;"):
        as_graph(stored)
    stored.eliminate_zeros()
    assert as_graph(stored).policies == {"isolated_nodes": 2}
    repeated = sp.coo_array(([1.0, 2.0, 3.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    graph = as_graph(repeated)
    assert (graph.weights.tolist(), graph.policies) == ([3], {"repeated_rows_summed": 1})


# Tables


def frame_of(edges=EDGES, names=("source", "target", "weight")):
    return pd.DataFrame(edges, columns=list(names))


@pytest.mark.parametrize("make", [lambda frame: frame, pa.Table.from_pandas])
def test_tables(make):
    table = make(frame_of())
    assert as_graph(table) == GRAPH
    assert as_graph(table, weight=False) == GRAPH.unweighted()
    assert as_graph(make(frame_of(names=("a", "b", "c")))) == GRAPH
    odd = make(frame_of([(w, "x", b, a) for a, b, w in EDGES], ("much", "kind", "two", "one")))
    assert as_graph(odd, source="one", target="two", weight="much") == GRAPH
    assert as_graph(odd, source=3, target=2, weight=0) == GRAPH
    assert (
        as_graph(table, nodes={"zoe": "Z", "ann": "A", "bob": "B", "cid": "C", "dot": "D"}).labels[
            "zoe"
        ]
        == "Z"
    )
    assert as_graph(
        make(frame_of([("a", "b", 1), ("b", "a", 2)])), repeated="max"
    ).weights.tolist() == [2]
    with pytest.raises(GraphError, match="no column 'x'; it has 'source', 'target', 'weight'"):
        as_graph(table, source="x")
    with pytest.raises(GraphError, match=r"row 1 \(from 0\) \('b' - 'c'\): the weight is nan"):
        as_graph(make(frame_of([("a", "b", 1), ("b", "c", np.nan)])))
    with pytest.raises(GraphError, match=r"row 1 \(from 0\): .*missing"):
        as_graph(make(frame_of([("a", "b", 1), ("b", None, 1)])))
    with pytest.raises(GraphError, match="no numbers"):
        as_graph(make(frame_of([("a", "b", "x")])), weight="weight")


@pytest.mark.parametrize("make", [lambda frame: frame, pa.Table.from_pandas])
@pytest.mark.parametrize(
    "ids",
    [
        [7, 3, 9],
        ["007", "3", "é"],
        [1.5, -2.0, 3.25],
        [True, False],
        [datetime.date(2020, 1, day) for day in (3, 1, 2)],
    ],
)
def test_ids_of_tables_come_out_as_they_went_in(make, ids):
    graph = as_graph(make(pd.DataFrame({"source": ids[:-1], "target": ids[1:]})))
    assert graph.ids == ids
    assert [type(node) for node in graph.ids] == [type(node) for node in ids]


def test_frames_may_mix_types_of_ids():
    graph = as_graph(pd.DataFrame({"source": [1, 2], "target": ["a", "b"]}))
    assert graph.ids == [1, "a", 2, "b"]
    assert as_graph(pd.DataFrame({"source": ["1", 1, (2, 3)], "target": [1, "x", "1"]})).ids == [
        "1",
        1,
        "x",
        (2, 3),
    ]
    categories = pd.DataFrame({"source": ["b", "a"], "target": ["a", "c"]}, dtype="category")
    assert as_graph(categories).ids == ["b", "a", "c"]
    with pytest.raises(GraphError, match="source ids are int64, target ids string"):
        as_graph(pa.table({"source": [1], "target": ["a"]}))


@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(1, 5)),
        min_size=1,
        max_size=20,
    )
)
def test_every_way_in_gives_one_graph(rows):
    expected = Graph.from_edges(rows)
    frame = frame_of(rows)
    assert as_graph(frame) == expected
    assert as_graph(pa.Table.from_pandas(frame)) == expected
    assert as_graph(expected.to_networkx()) == expected
    assert as_graph(expected.adjacency(), ids=list(expected.ids)) == expected
    assert as_graph(expected.adjacency().toarray(), ids=list(expected.ids)) == expected


# Distances, and ids that are missing


def roads(weight="weight"):
    graph = nx.Graph()
    graph.add_edge("a", "b", **{weight: 4})
    graph.add_edge("b", "c", **{weight: 0.5})
    return graph


FRAME = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "length": [4, 0.5]})
DISTANCES = {
    "networkx": roads(),
    "scipy": sp.coo_array(([4, 0.5], ([0, 1], [1, 2])), shape=(3, 3)),
    "numpy": np.array([[0, 4, 0], [0, 0, 0.5], [0, 0, 0]]),
    "pandas": FRAME,
    "arrow": pa.Table.from_pandas(FRAME),
}


@pytest.mark.parametrize("kind", DISTANCES)
def test_distances_become_strengths(kind):
    graph = as_graph(DISTANCES[kind], weights_are_distances=True)
    assert graph.weights.tolist() == [0.25, 2.0]
    assert graph.policies["distances_inverted"] == 2


@pytest.mark.parametrize("library", ["networkx", "igraph"])
def test_the_only_attribute_of_numbers_is_the_weight(library):
    ties = [
        ("a", "b", {"value": 2, "year": 2001, "kind": "x"}),
        ("b", "c", {"value": 2.5, "year": 2002, "kind": "y"}),
    ]
    made = nx.Graph(ties)
    if library == "igraph":
        made = pytest.importorskip("igraph", reason="igraph is not installed").Graph.from_networkx(
            made
        )
    with pytest.warns(UserWarning, match=f"^{library} graph: the weight is taken to be 'value': "):
        assert as_graph(made).weights.tolist() == [2, 2.5]
    assert as_graph(made, weight=False).weights.tolist() == [1, 1]
    with pytest.raises(
        GraphError, match=f"^{library} graph: edges have no attribute 'calls'; they have .*'value'"
    ):
        as_graph(made, weight="calls")


def test_weights_called_distances_are_warned_of():
    for table in (FRAME, pa.Table.from_pandas(FRAME)):
        with pytest.warns(
            UserWarning,
            match="the weights are called 'length', but a weight is the strength of a tie",
        ):
            as_graph(table)
        as_graph(table, weight=False)
    with pytest.warns(UserWarning, match="^the graph: the weights are called 'travel_time'"):
        as_graph(roads("travel_time"), weight="travel_time")
    with pytest.raises(
        GraphError, match="edges have no attribute 'travel_time'; they have 'weight'"
    ):
        as_graph(roads(), weight="travel_time")


@pytest.mark.parametrize("missing", [float("nan"), None])
def test_ids_that_are_missing_are_refused(missing):
    ids = [1.5, missing]
    with pytest.raises(GraphError, match="an id is missing"):
        as_graph(np.ones((2, 2)) - np.eye(2), ids=ids)
    with pytest.raises(
        GraphError, match=r"row 1 \(from 0\): (the|an) id (in column 'target' )?is missing"
    ):
        as_graph(pd.DataFrame({"source": [1.5, 2.5], "target": [2.5, missing]}))
    with pytest.raises(GraphError, match=r"row 1 \(from 0\): an id is missing"):
        as_graph(pa.table({"source": [1.5, 2.5], "target": [2.5, missing]}))


# The one door


def test_as_graph_takes_graphs_paths_and_says_what_it_does_not_take(tmp_path):
    assert as_graph(GRAPH) is GRAPH
    with pytest.raises(GraphError, match="a Graph takes no options, got weight"):
        as_graph(GRAPH, weight=False)
    (tmp_path / "g.txt").write_text("ann bob 2\nbob cid 1.5\nann dot 3\n")
    assert as_graph(tmp_path / "g.txt") == as_graph(str(tmp_path / "g.txt")) == GRAPH
    with pytest.raises(GraphError, match="cannot make a graph of dict"):
        as_graph({})


def test_a_library_that_breaks_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        need("broken_library", "this test")


def test_an_id_that_is_missing_in_a_dictionary_is_refused():
    ids = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array(["a", None]))
    with pytest.raises(GraphError, match=r"^table, row 1 \(from 0\): an id is missing \(null\)$"):
        Graph.from_arrow(pa.table({"source": ids, "target": ["x", "y", "z"]}))


class Stream:
    """A table of which only Arrow's capsule is known, as of polars and DuckDB."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view"])
def test_tables_come_through_arrow_s_capsule(kind):
    text = getattr(pa, kind)()
    ends = [pa.array(["a", "b", "c"], text), pa.array(["b", "c", "a"], text)]
    table = pa.table([*ends, pa.array([1.0, 2.0, 3.0])], names=["source", "target", "weight"])
    graph = as_graph(Stream(table))
    assert graph == Graph.from_edges([("a", "b", 1), ("b", "c", 2), ("c", "a", 3)])
    assert as_graph(Stream(table), weight=False).capacities.tolist() == [1.0]


def cells():
    """The parts of an AnnData that are used, with a zero that is stored, as scanpy may leave
    one.
    """
    matrix = sp.csr_matrix(
        np.array([[0, 2.0, 0, 9], [2.0, 0, 1, 0], [0, 1.0, 0, 3.0], [9, 0, 3.0, 0]])
    )
    matrix.data[matrix.data == 9] = 0.0
    return SimpleNamespace(
        obsp={"connectivities": matrix, "other": matrix + matrix},
        obs_names=["w", "x", "y", "z"],
        obs={},
        obsm={},
    )


def test_the_graph_of_cells_of_an_anndata():
    data = cells()
    assert as_graph(data) == Graph.from_edges([("w", "x", 2), ("x", "y", 1), ("y", "z", 3)])
    assert as_graph(data, weight="other").weights.tolist() == [4.0, 2.0, 6.0]
    assert as_graph(data, weight=False).capacities.tolist() == [1.0]
    assert data.obsp["connectivities"].nnz == 8
    with pytest.raises(GraphError, match=r"obsp has no 'distances': make it with scanpy"):
        as_graph(data, weight="distances")


def test_embed_writes_points_and_ranks_into_an_anndata():
    data = cells()
    embedding = uh.embed(data, iterations=10, quiet=True)
    assert list(embedding.ids) == ["w", "x", "y", "z"]
    assert np.array_equal(data.obsm["X_uh"], embedding.points)
    assert np.array_equal(data.obs["uh_rank"], embedding.rank)
