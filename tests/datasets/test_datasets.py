from __future__ import annotations

import networkx as nx
import pytest

from ultrahyperbolic import datasets
from ultrahyperbolic.graph import Graph, GraphError


@pytest.mark.parametrize(
    ("name", "original"),
    [("lesmis", nx.les_miserables_graph), ("davis", nx.davis_southern_women_graph)],
)
def test_what_networkx_has_is_the_same_under_its_name(name, original):
    graph = datasets.load(name)
    assert graph == Graph.from_networkx(original())
    assert graph.source == name
    assert f"{graph.n_edges} " in datasets.names()[name]


def test_women_and_events_are_told_apart():
    graph, original = datasets.davis(), nx.davis_southern_women_graph()
    kinds = dict(zip(graph.ids, graph.attributes["kind"], strict=True))
    assert [node for node in graph.ids if kinds[node] == "woman"] == original.graph["top"]
    assert [node for node in graph.ids if kinds[node] == "event"] == original.graph["bottom"]


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
