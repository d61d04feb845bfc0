"""What may be given for a graph and for a geometry."""

from __future__ import annotations

import networkx as nx
import pytest
import scipy.sparse

import ultrahyperbolic as uh
from ultrahyperbolic.graph import GraphError
from ultrahyperbolic.training.inputs import find_graph

FEW = {"p": 2, "q": 1, "iterations": 3, "quiet": True}


def test_names_of_data_sets_and_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert list(uh.embed("karate", **FEW).ids) == list(uh.datasets.karate().ids)
    (tmp_path / "karate").write_text("a b 1\nb c 2\n")
    assert list(uh.embed("karate", **FEW).ids) == ["a", "b", "c"]  # a file goes first
    with pytest.raises(
        uh.GraphError,
        match=r"karat: no such file, and no data set of that name; did you mean karate",
    ):
        uh.embed("karat", **FEW)
    with pytest.raises(uh.GraphError, match=r"nowhere.ties.csv: no such file"):
        uh.embed("nowhere/ties.csv", **FEW)


def test_lists_of_pairs_and_triples():
    pairs = [("a", "b"), ("b", "c")]
    assert uh.embed(pairs, **FEW).graph.weights.tolist() == [1.0, 1.0]
    triples = [("a", "b", 3), ("b", "c", 1)]
    assert uh.embed(triples, **FEW).graph.weights.tolist() == [3.0, 1.0]
    assert uh.embed(iter(triples), weight=False, **FEW).graph.weights.tolist() == [1.0, 1.0]
    with pytest.raises(uh.GraphError, match="an edge list has no columns"):
        uh.embed(triples, weight="calls", **FEW)


def test_weights_are_named(tmp_path):
    pd, networkx = pytest.importorskip("pandas"), pytest.importorskip("networkx")
    frame = pd.DataFrame(
        {"source": ["a", "b"], "target": ["b", "c"], "calls": [5, 7], "mails": [1, 2]}
    )
    assert uh.embed(frame, weight="mails", **FEW).graph.weights.tolist() == [1.0, 2.0]
    frame.to_csv(tmp_path / "ties.csv", index=False)
    assert uh.embed(tmp_path / "ties.csv", weight="calls", **FEW).graph.weights.tolist() == [
        5.0,
        7.0,
    ]
    graph = networkx.Graph()
    graph.add_edge("a", "b", calls=4)
    graph.add_edge("b", "c", calls=6)
    assert uh.embed(graph, weight="calls", **FEW).graph.weights.tolist() == [4.0, 6.0]
    assert uh.embed("karate", weight=False, **FEW).graph.capacities.tolist() == [1.0]
    with pytest.raises(uh.GraphError, match="this is a graph already"):
        uh.embed(uh.datasets.karate(), weight="calls", **FEW)
    found = uh.select(frame, weight="mails", dim=1, iterations=12, quiet=True)
    assert found.best.dim == 1


def test_dropped_directions_are_told_in_a_line_and_in_the_record(tmp_path, caplog):
    loud, graph = FEW | {"quiet": False}, nx.DiGraph([("a", "b"), ("b", "c")])
    matrix, file = nx.to_numpy_array(graph), str(tmp_path / "g.graphml")
    nx.write_graphml(graph, file)
    for data in (graph, matrix, scipy.sparse.csr_array(matrix), file):
        caplog.clear()
        found = uh.embed(data, **loud)
        name = data if isinstance(data, str) else "the graph"
        dropped = f"{name}: directions dropped, asymmetric pairs summed: 2"
        assert caplog.messages == [f"{dropped}; directed=True (--directed) keeps them"]
        assert found.record.graph.policies == {"asymmetric_pairs_summed": 2}
    caplog.clear()
    uh.embed(graph, **FEW)
    both_ways = [("a", "b"), ("b", "c"), ("b", "a"), ("c", "b")]
    for plain in (nx.Graph(both_ways), nx.DiGraph(both_ways), both_ways):
        uh.embed(plain, **loud)
    assert caplog.messages == []


def test_a_folder_of_the_name_does_not_hide_a_data_set(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "karate").mkdir()
    assert find_graph("karate").n_nodes == 34
    (tmp_path / "mine").mkdir()
    with pytest.raises(GraphError, match="folder"):
        find_graph("mine")
