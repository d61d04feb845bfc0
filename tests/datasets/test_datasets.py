from __future__ import annotations

import networkx as nx
import pytest

from ultrahyperbolic import datasets
from ultrahyperbolic.graph import Graph, GraphError


def test_lesmis_is_networkxs():
    graph = datasets.lesmis()
    assert (graph.n_nodes, graph.n_edges) == (77, 254)
    assert graph == Graph.from_networkx(nx.les_miserables_graph())
    assert graph.weights.max() == 31


def test_davis_is_networkxs():
    graph = datasets.davis()
    original = nx.davis_southern_women_graph()
    assert graph == Graph.from_networkx(original)
    assert (graph.n_nodes, graph.n_edges) == (32, 89)
    assert [
        node
        for node, kind in zip(graph.ids, graph.attributes["kind"], strict=True)
        if kind == "woman"
    ] == original.graph["top"]
    assert [
        node
        for node, kind in zip(graph.ids, graph.attributes["kind"], strict=True)
        if kind == "event"
    ] == original.graph["bottom"]


@pytest.mark.parametrize("name", ["karate", "lesmis", "davis"])
def test_what_is_loaded_is_called_by_its_name_and_as_described(name):
    graph = datasets.load(name)
    line = datasets.names()[name]
    assert graph.source == name
    assert f"{graph.n_edges} " in line
    graph.require_trainable()


def test_names_and_their_lines():
    names = datasets.names()
    assert list(names) == ["karate", "lesmis", "davis", "wordnet-mammals", "nips"]
    assert all(line and "\n" not in line for line in names.values())
    with pytest.raises(GraphError, match="no data set 'club': there are karate, lesmis"):
        datasets.load("club")


def test_what_is_available(monkeypatch, tmp_path):
    for variable in ("WNSEARCHDIR", "WNHOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("ULTRAHYPERBOLIC_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert datasets.available("karate")
    assert datasets.available("lesmis")
    assert not datasets.available("nips")
    (tmp_path / "data").mkdir()
    for name, file in (("nips", "nips_edges.txt"), ("wordnet-mammals", "data.noun")):
        (tmp_path / "data" / file).touch()
        assert datasets.available(name)
    with pytest.raises(GraphError, match="no data set 'club'"):
        datasets.available("club")


def test_load_calls_the_loader(monkeypatch):
    monkeypatch.setitem(datasets._KNOWN, "nips", ("a line", lambda: "the graph"))
    assert datasets.load("nips") == "the graph"
