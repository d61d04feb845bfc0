"""An embedding is asked by id or by label, as a mapping and for tables; what it is told of nodes it
keeps.
"""

from __future__ import annotations

import numpy as np
import pytest

import ultrahyperbolic as uh

LABELS = {"v": "Valjean", "j": "Javert", "c": "Cosette", "m": "Cosette"}
COLUMNS = {
    "age": [46, 52, 8, 20],
    "height": [1.8, np.nan, 1.1, 1.6],
    "city": ["Digne", "Paris", "", "Paris"],
}


@pytest.fixture(scope="module")
def graph():
    edges = [("v", "j", 3), ("v", "c", 9), ("j", "m", 1), ("c", "m", 4)]
    return uh.Graph.from_edges(edges).with_nodes(LABELS, COLUMNS)


@pytest.fixture(scope="module")
def cast(graph):
    return uh.embed(graph, p=2, q=1, beta=-0.25, iterations=10, quiet=True)


def test_it_is_a_mapping_of_points(cast):
    assert list(cast) == ["v", "j", "c", "m"]
    assert len(cast) == 4
    assert np.array_equal(cast["j"], cast.points[1])
    assert np.array_equal(cast["Javert"], cast.points[1])
    assert np.array_equal(cast[["m", "Valjean"]], cast.points[[3, 0]])
    assert "v" in cast
    assert "Valjean" in cast
    assert "Cosette" not in cast  # two nodes have that label
    assert "nobody" not in cast
    assert [1] not in cast
    with pytest.raises(
        KeyError, match=r"label 'Cosette' is ambiguous: 2 nodes have it \('c', 'm'\); use an id"
    ):
        cast["Cosette"]
    with pytest.raises(KeyError, match="no node 'nobody' in this embedding"):
        cast["nobody"]


def test_an_id_goes_before_a_label():
    graph = uh.Graph.from_edges([("a", "b"), ("b", "c")], nodes={"a": "b", "b": "x", "c": "y"})
    embedding = uh.embed(graph, p=2, q=1, iterations=3, quiet=True)
    assert embedding.index("b") == 1
    assert embedding.index("x") == 1


def test_neighbors_of_several_nodes(cast):
    table = cast.neighbors(["v", "Javert"], k=2)
    assert list(table) == [
        "of",
        "node",
        "label",
        "distance",
        "weight",
        "connected",
        "age",
        "height",
        "city",
    ]
    assert table["of"].tolist() == ["v", "v", "j", "j"]
    for node in ("v", "j"):
        alone = cast.neighbors(node, k=2)
        assert table[table["of"] == node].drop(columns="of").reset_index(drop=True).equals(alone)
    with pytest.raises(ValueError, match="at least one node"):
        cast.neighbors([])


def test_tuples_are_ids_and_lists_are_several():
    graph = uh.Graph.from_edges([((0, 0), (0, 1)), ((0, 1), (1, 1))])
    embedding = uh.embed(graph, p=2, q=1, iterations=3, quiet=True)
    assert embedding[(0, 1)].shape == (4,)
    assert embedding.neighbors([(0, 1)], k=1)["of"].tolist() == [(0, 1)]


def same(a, b):
    return a.dtype == b.dtype and (
        np.array_equal(a, b, equal_nan=True) if a.dtype == float else a.tolist() == b.tolist()
    )


def test_what_is_known_of_nodes_survives_the_disk(cast, tmp_path):
    folder = cast.save(tmp_path / "cast")
    loaded = uh.load(folder)
    assert loaded.labels == LABELS
    assert list(loaded.attributes) == ["age", "height", "city"]
    assert all(same(loaded.attributes[name], cast.attributes[name]) for name in COLUMNS)
    assert loaded.neighbors("v").equals(cast.neighbors("v"))
    assert loaded.hierarchy().equals(cast.hierarchy())
    again = loaded.save(tmp_path / "again")
    assert (again / "embedding.parquet").read_bytes() == (folder / "embedding.parquet").read_bytes()
    assert loaded.ties_of(0).nodes.tolist() == [1, 2]


def test_columns_of_any_name_are_kept_beside_our_own(cast, tmp_path):
    names = {
        "rank": [1.5, 2.5, 3.5, 4.5],
        "x0": list("abcd"),
        "label": [1, 2, 3, 4],
        "ties": list("efgh"),
    }
    embedding = cast.with_attributes(**names)
    assert embedding.hierarchy()["rank_"].tolist() == [
        names["rank"][cast.index(n)] for n in embedding.hierarchy()["node"]
    ]
    loaded = uh.load(embedding.save(tmp_path / "e"))
    assert {name: loaded.attributes[name].tolist() for name in names} == names
    assert np.array_equal(loaded.points, cast.points)


def test_columns_must_fit(cast):
    with pytest.raises(
        uh.GraphError,
        match=r"attribute 'age' must hold one value per node, \[4\], got shape \(2,\)",
    ):
        cast.with_attributes(age=[1, 2])


def test_it_measures_draws_and_reports(cast, graph, tmp_path):
    assert cast.evaluate() == cast.run["measures"]
    loaded = uh.load(cast.save(tmp_path / "e"))
    assert loaded.evaluate() == loaded.evaluate(graph) == cast.run["measures"]
    bare = uh.Embedding(cast.ids, cast.points, cast.manifold)
    with pytest.raises(ValueError, match="needs the graph: pass graph="):
        bare.evaluate()
    with pytest.raises(
        uh.GraphError, match="1 nodes of the graph are not in the embedding, such as 'z'"
    ):
        loaded.evaluate([("v", "z")])
    assert cast.report(tmp_path / "cast.html").read_text(encoding="utf-8").startswith("<!")
    assert {"Valjean", "Javert"} <= {text.get_text() for text in cast.plot().axes[0].texts}


def test_other_forms_have_what_is_known_of_nodes(cast):
    table = cast.to_pandas()
    assert table["label"].tolist() == list(LABELS.values())
    assert table["age"].tolist() == COLUMNS["age"]
    nodes = cast.to_networkx().nodes
    assert nodes["v"]["label"] == "Valjean"
    assert nodes["j"]["city"] == "Paris"
