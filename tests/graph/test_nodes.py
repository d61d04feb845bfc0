"""Lists of nodes: labels, and columns beside them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ultrahyperbolic import Graph, GraphError, read_graph
from ultrahyperbolic.graph.attributes import as_attributes, free_names, from_texts

TIES = "a,b,1\nb,c,2\n"


@pytest.fixture
def ties(tmp_path):
    (tmp_path / "ties.csv").write_text(TIES)
    return tmp_path / "ties.csv"


def test_columns_of_a_file_are_kept(ties, tmp_path):
    (tmp_path / "nodes.csv").write_text(
        "id,label,age,height,zip\nc,Cid,30,1.8,00501\na,Ann,41,,10001\nb,Bob,7,1.2,94105\n"
    )
    graph = read_graph(ties, nodes=tmp_path / "nodes.csv")
    assert list(graph.ids) == ["c", "a", "b"]
    assert graph.labels == {"c": "Cid", "a": "Ann", "b": "Bob"}
    assert list(graph.attributes) == ["age", "height", "zip"]
    assert graph.attributes["age"].tolist() == [30, 41, 7]
    assert graph.attributes["height"][0] == 1.8
    assert math.isnan(graph.attributes["height"][1])
    assert graph.attributes["zip"].tolist() == ["00501", "10001", "94105"]  # a code, not a number


def test_the_label_is_found_by_its_name(ties, tmp_path):
    (tmp_path / "nodes.csv").write_text("key,city,Name\na,Rome,Ann\nb,Oslo,Bob\nc,Rome,Cid\n")
    graph = read_graph(ties, nodes=tmp_path / "nodes.csv")
    assert graph.labels == {"a": "Ann", "b": "Bob", "c": "Cid"}
    assert graph.attributes["city"].tolist() == ["Rome", "Oslo", "Rome"]


def test_without_a_header_columns_have_numbers(ties, tmp_path):
    (tmp_path / "nodes.csv").write_text("a,Ann,Rome\nb,Bob,Oslo\nc,Cid,Rome\n")
    graph = read_graph(ties, nodes=tmp_path / "nodes.csv")
    assert graph.labels["a"] == "Ann"
    assert graph.attributes["column 3"].tolist() == ["Rome", "Oslo", "Rome"]


def test_tables_of_pandas_arrow_and_parquet(ties, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {"id": ["a", "b", "c"], "label": ["Ann", None, "Cid"], "age": [1.5, None, 3.0]}
    )
    frame.to_parquet(tmp_path / "nodes.parquet")
    pa = pytest.importorskip("pyarrow")
    for nodes in (frame, pa.Table.from_pandas(frame), tmp_path / "nodes.parquet"):
        graph = read_graph(ties, nodes=nodes)
        assert graph.labels["a"] == "Ann"
        assert graph.labels["b"] is None
        assert np.array_equal(graph.attributes["age"], [1.5, np.nan, 3.0], equal_nan=True)


def test_columns_follow_their_nodes():
    graph = Graph.from_edges([("a", "b"), ("b", "c")]).with_nodes(
        ["a", "b", "c"], {"age": [1, 2, 3], "city": list("xyz")}
    )
    other = graph.with_nodes(["d", "c", "b", "a"])
    assert np.array_equal(other.attributes["age"], [np.nan, 3, 2, 1], equal_nan=True)
    assert other.attributes["city"].tolist() == ["", "z", "y", "x"]
    assert graph.unweighted().attributes["age"].tolist() == [1, 2, 3]
    assert graph == Graph.from_edges(
        [("a", "b"), ("b", "c")]
    )  # what is said of nodes is no part of the graph
    with pytest.raises(ValueError, match="read-only"):
        graph.attributes["age"][0] = 7
    with pytest.raises(GraphError, match="one value per node"):
        graph.with_nodes(["a", "b", "c"], {"age": [1]})
    assert graph.to_networkx().nodes["b"]["city"] == "y"


def test_kinds_of_columns():
    assert as_attributes({"a": [True, False]}, 2)["a"].dtype == np.int64
    assert as_attributes({"a": np.array(["x", "yy"])}, 2)["a"].tolist() == ["x", "yy"]
    assert from_texts(["1e3", "inf"]).tolist() == [1000.0, math.inf]
    assert from_texts(["", ""]).tolist() == ["", ""]
    assert free_names(["rank", "rank_"], ["rank"]) == {"rank": "rank__", "rank_": "rank_"}


def test_a_notebook_shows_a_graph():
    graph = Graph.from_edges([("<b>", "b", 2), ("b", "c", 1)], name="t&t").with_nodes(
        {"<b>": "<script>", "b": "Bob", "c": None}, {"age": [1, 2, 3]}
    )
    shown = graph._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown
    assert "t&amp;t" in shown
    assert "Bob</td><td>3</td><td>2</td>" in shown
    assert "1 to 2 (2 different ones)" in shown
    assert Graph.from_edges([])._repr_html_().count("<table>") == 1


def test_attributes_of_networkx_nodes_are_kept():
    networkx = pytest.importorskip("networkx")
    drawn = networkx.Graph([("a", "b"), ("b", "c")])
    drawn.add_node("a", age=3, place=(0, 1), name="Ann")
    drawn.add_node("c", age=5, city="Rome")
    graph = Graph.from_networkx(drawn, label="name")
    assert graph.labels == {"a": "Ann"}
    assert list(graph.attributes) == ["age", "city"]
    assert np.array_equal(graph.attributes["age"], [3, np.nan, 5], equal_nan=True)
    assert graph.attributes["city"].tolist() == ["", "", "Rome"]
    again = Graph.from_networkx(graph.to_networkx(), label="label")
    assert again.attributes["city"].tolist() == ["", "", "Rome"]
