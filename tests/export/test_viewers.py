"""What other programs open holds what the embedding holds."""

from __future__ import annotations

import json
import math

import networkx as nx
import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from ultrahyperbolic import (
    Embedding,
    Euclidean,
    Graph,
    PseudoHyperboloid,
    datasets,
    embed,
    read_graph,
)
from ultrahyperbolic.export.tables import read_table
from ultrahyperbolic.export.viewers import FORMATS
from ultrahyperbolic.plot import plane

# Ids are data: markup, quotes, spreadsheets' formulas, tabs, line ends, blanks at the ends,
# right-to-left, no letter.
HOSTILE = [
    "<script>alert(1)</script>",
    "&amp;",
    "\"quoted\" 'twice'",
    "=cmd|' /C calc'!A0",
    "a\tb",
    "c\nd",
    "e\r\nf",
    " g ",
    "]]>",
    "שלום",
    "\u2028",
    "𝒜",
    "%s {0}",
    "../up",
    "",
]


def hostile(beta: float = -0.25) -> tuple[Graph, Embedding]:
    manifold = PseudoHyperboloid(2, 1, beta)
    edges = [
        (HOSTILE[k], HOSTILE[(k + step) % len(HOSTILE)], k + step / 2)
        for k in range(15)
        for step in (1, 4)
    ]
    graph = Graph.from_edges(edges, nodes={node: f"the {node}" for node in HOSTILE})
    points = manifold.random(len(HOSTILE), generator=torch.Generator().manual_seed(0)).numpy()
    return graph, Embedding(graph.ids, points, manifold, {}, graph)


def three(*ids):
    """Three nodes of the plane in a chain."""
    graph = Graph.from_edges([(ids[0], ids[1]), (ids[1], ids[2])])
    return Embedding(graph.ids, np.arange(6.0).reshape(3, 2), Euclidean(2), graph=graph)


@pytest.fixture
def club():
    return embed(datasets.karate(), p=2, q=2, beta=-4.0, iterations=60, quiet=True)


@pytest.mark.parametrize("form", ["graphml", "gexf"])
def test_graphs_come_back_whole(tmp_path, form):
    graph, embedding = hostile()
    (path,), notes = embedding.export(tmp_path / "deep" / f"g.{form}", form)
    assert notes == []
    other = (nx.read_graphml if form == "graphml" else nx.read_gexf)(path)
    assert list(other.nodes) == HOSTILE
    for row, node in enumerate(HOSTILE):
        found = other.nodes[node]
        assert found["rank"] == embedding.rank[row]
        assert found["delta"] == embedding.delta[row]
        assert found["strength"] == graph.strength[row]
        assert [found[f"x{k}"] for k in range(4)] == embedding.points[row].tolist()
        assert found["label"].split() == f"the {node}".split()  # XML has one kind of line end
    places = [
        other.nodes[node].get("viz", {}).get("position") or other.nodes[node] for node in HOSTILE
    ]
    check_places([(place["x"], place["y"]) for place in places], embedding)
    assert other.number_of_edges() == graph.n_edges
    for i, j, weight in zip(*graph.edges.T, graph.weights, strict=True):
        assert other.edges[HOSTILE[i], HOSTILE[j]]["weight"] == weight
    assert read_graph(path) == graph


def test_directions_heights_and_centrality_are_exported(tmp_path):
    ties = [("ann", "bob", 12), ("bob", "ann", 2), ("bob", "cid", 3), ("dan", "cid", 1)]
    graph = Graph.from_edges(ties, directed=True)
    embedding = embed(graph, p=2, q=1, iterations=20, quiet=True)
    numbers = {"height": embedding.heights, "centrality": embedding.centrality.values}
    for form, read in (("graphml", nx.read_graphml), ("gexf", nx.read_gexf)):
        embedding.export(tmp_path / f"g.{form}", form)
        network = read(tmp_path / f"g.{form}")
        assert sorted(network.edges(data="weight")) == sorted(ties)
        for name, values in numbers.items():
            assert [network.nodes[node][name] for node in graph.ids] == values.tolist()
        assert read_graph(tmp_path / f"g.{form}", directed=True) == graph
    embedding.export(tmp_path / "t.parquet", "parquet")
    table = pq.read_table(tmp_path / "t.parquet")
    for name, values in numbers.items():
        assert table[name].to_pylist() == values.tolist()
    _, notes = embedding.export(tmp_path / "v.json", "vosviewer")
    assert notes == ["VOSviewer has no directions: opposite ties are added"]


@pytest.mark.parametrize("form", ["gexf", "graphml"])
def test_gephi_finds_communities_without_the_command_cluster(tmp_path, club, form):
    read = nx.read_gexf if form == "gexf" else nx.read_graphml
    club.export(tmp_path / "g", form)
    nodes = read(tmp_path / "g").nodes
    assert [nodes[node]["community"] for node in club.ids] == club.cluster().tolist()
    club.with_attributes(cluster=np.arange(34) % 5).export(tmp_path / "h", form)
    nodes = read(tmp_path / "h").nodes
    assert [nodes[node]["community"] for node in club.ids] == (np.arange(34) % 5).tolist()


def test_vosviewer_gets_items_and_links(tmp_path):
    graph, embedding = hostile()
    (path,), _ = embedding.export(tmp_path / "v.json", "vosviewer")
    network = json.loads(path.read_text())["network"]
    items = network["items"]
    assert [item["id"] for item in items] == list(range(1, 16))
    assert [item["label"] for item in items] == [f"the {node}" for node in HOSTILE]
    assert [item["cluster"] for item in items] == (embedding.cluster() + 1).tolist()
    assert [item["weights"]["Total link strength"] for item in items] == graph.strength.tolist()
    assert [item["scores"]["Rank"] for item in items] == embedding.rank.tolist()
    check_places([(500 * item["x"], 500 * item["y"]) for item in items], embedding)
    ties = [(link["source_id"] - 1, link["target_id"] - 1) for link in network["links"]]
    assert ties == list(map(tuple, graph.edges.tolist()))
    assert [link["strength"] for link in network["links"]] == graph.weights.tolist()


def test_tables_hold_a_row_for_each_node(tmp_path):
    _, embedding = hostile()
    for given in (embedding, Embedding(embedding.ids, embedding.points, embedding.manifold)):
        (path,), _ = given.export(tmp_path / "t.parquet", "parquet", overwrite=True)
        table = pq.read_table(path)
        assert table["node"].to_pylist() == HOSTILE
        assert table["delta"].to_pylist() == given.delta.tolist()
        check_places(np.column_stack((table["x"], table["y"])), given)
        (path,), _ = given.export(tmp_path / "t.csv", "csv", overwrite=True)
        rows = read_table(path)
        assert [row["node"] for row in rows] == HOSTILE
        assert [int(row["rank"]) for row in rows] == given.rank.tolist()
        has_graph = given is embedding
        assert ("strength" in rows[0]) == ("strength" in table.column_names) == has_graph
    assert [float(row["x3"]) for row in rows] == embedding.points[:, 3].tolist()


def check_places(places, embedding):
    """Centred, 1000 wide, and the plane but for that."""
    places, wanted = np.array(places), plane(embedding)
    assert np.ptp(places, axis=0).max() == pytest.approx(1000.0)
    assert np.abs(places.max(0) + places.min(0)).max() < 1e-9
    scale = 1000.0 / np.ptp(wanted, axis=0).max()
    assert np.diff(places, axis=0) == pytest.approx(scale * np.diff(wanted, axis=0))


@pytest.mark.parametrize("node", ["\x00", "a\x07b", "\x1b[31m", "\ufffe"])
def test_what_xml_cannot_write_is_replaced_and_noted(tmp_path, node):
    for form, read in (("graphml", nx.read_graphml), ("gexf", nx.read_gexf)):
        (path,), (note,) = three(node, "b", "c").export(tmp_path / form, form)
        assert len(read(path)) == 3
        assert "\ufffd" in next(iter(read(path)))
        assert note.startswith("1 ids or labels hold characters that XML cannot write")
    with pytest.raises(ValueError, match="two nodes are"):
        three("\x00", "\x01", "c").export(tmp_path / "g", "gexf")
    assert not (tmp_path / "g").exists()


def test_half_characters_are_refused_by_tables(tmp_path):
    broken = Embedding(["\ud800", "b"], np.arange(4.0).reshape(2, 2), Euclidean(2))
    for form in ("csv", "parquet"):
        with pytest.raises(ValueError, match="half a character"):
            broken.export(tmp_path / form, form)


def test_ids_that_are_no_text(tmp_path):
    mixed = three(math.inf, ("a", 2), -math.inf)
    expected = ["Infinity", '["a", 2]', "-Infinity"]
    for form in ("graphml", "gexf"):
        (path,), _ = mixed.export(tmp_path / f"g.{form}", form)
        assert list(read_graph(path).ids) == expected
    (path,), _ = mixed.export(tmp_path / "nodes.csv", "csv")
    assert [row["node"] for row in read_table(path)] == expected
    with pytest.raises(ValueError, match="two nodes are '1'"):
        three(1, "1", "x").export(tmp_path / "h.graphml", "graphml")


def test_what_is_there_is_kept(tmp_path, club):
    for form in FORMATS:
        (path,), _ = club.export(tmp_path / form, form)
        before = path.read_bytes()
        with pytest.raises(FileExistsError, match="is there already"):
            club.export(path, form)
        club.export(path, form, overwrite=True)
        assert path.read_bytes() == before


def test_what_is_refused(tmp_path, club):
    alone = Embedding(club.ids, club.points, club.manifold)
    for form in ("graphml", "gexf", "vosviewer"):
        with pytest.raises(ValueError, match="needs the graph: pass graph="):
            alone.export(tmp_path / "g", form)
    with pytest.raises(ValueError, match="format must be one of graphml, gexf"):
        club.export(tmp_path / "g", "atlas")
    with pytest.raises(ValueError, match="in their order"):
        club.export(tmp_path / "g", "gexf", graph=Graph.from_edges([("a", "b")]))
    with pytest.raises(IsADirectoryError, match="name a file"):
        club.export(tmp_path, "gexf")
