"""What other viewers open holds what the embedding holds."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
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
# Of these XML 1.0 can write none.
NOT_XML = ["\x00", "a\x07b", "\x1b[31m", "\ufffe"]


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


@pytest.fixture
def club():
    return embed(datasets.karate(), p=2, q=2, beta=-4.0, iterations=60, quiet=True)


def read_tsv(path):
    pd = pytest.importorskip("pandas")
    options = {"sep": "\t", "quoting": csv.QUOTE_NONE, "keep_default_na": False}
    return pd.read_csv(path, **options)


def test_atlas_reads_as_it_is_documented(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    graph, embedding = hostile()
    files, notes = embedding.export(tmp_path / "deep" / "atlas.parquet", "atlas", neighbors=4)
    assert files == [tmp_path / "deep" / "atlas.parquet"]
    assert notes == []
    table = pq.read_table(files[0])
    assert table.column_names == [
        "node",
        "label",
        "x",
        "y",
        "neighbors",
        "delta",
        "rank",
        "strength",
    ]
    assert table["node"].to_pylist() == HOSTILE
    assert table["label"].to_pylist() == [f"the {node}" for node in HOSTILE]
    assert np.array_equal(np.column_stack((table["x"], table["y"])), plane(embedding))
    assert table["rank"].to_pylist() == embedding.rank.tolist()
    assert table["delta"].to_pylist() == embedding.delta.tolist()
    assert table["strength"].to_pylist() == graph.strength.tolist()
    for row, found in enumerate(table["neighbors"].to_pylist()):
        assert set(found) == {"ids", "distances"}
        near = embedding.neighbors(HOSTILE[row], k=4)
        assert [HOSTILE[index] for index in found["ids"]] == near["node"].tolist()
        assert found["distances"] == pytest.approx(near["distance"].tolist(), rel=1e-12)
    frame = table.to_pandas()  # as Embedding Atlas reads it
    assert list(frame["neighbors"][0]["ids"]) == table["neighbors"][0].as_py()["ids"]


def test_atlas_of_few_nodes(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    for n in (1, 2, 3):
        embedding = Embedding(list(range(n)), np.arange(2.0 * n).reshape(n, 2), Euclidean(2))
        embedding.export(tmp_path / "a.parquet", "atlas", overwrite=True)
        table = pq.read_table(tmp_path / "a.parquet")
        assert [len(row["ids"]) for row in table["neighbors"].to_pylist()] == [n - 1] * n
        assert table["node"].to_pylist() == [str(k) for k in range(n)]
        assert np.isfinite(np.column_stack((table["x"], table["y"]))).all()


def test_projector_reads_line_for_line(tmp_path):
    pytest.importorskip("pandas")
    _, embedding = hostile()
    files, (note,) = embedding.export(tmp_path / "p", "projector")
    assert [path.name for path in files] == [
        "vectors.tsv",
        "metadata.tsv",
        "projector_config.pbtxt",
    ]
    assert note.startswith("8 ids or labels hold tabs, line ends")
    vectors = np.array(
        [line.split("\t") for line in files[0].read_text().splitlines()], dtype=float
    )
    assert np.array_equal(vectors, embedding.points)
    metadata = read_tsv(files[1])
    assert metadata.columns.tolist() == ["node", "label", "rank", "delta", "strength"]
    shown = [node.translate({ord(c): " " for c in "\t\r\n\u2028"}) for node in HOSTILE]
    assert metadata["node"].tolist() == shown
    assert metadata["rank"].tolist() == embedding.rank.tolist()
    assert metadata["delta"].tolist() == pytest.approx(embedding.delta.tolist(), rel=1e-14)


def test_projector_takes_what_no_file_can_hold(tmp_path):
    ids = [*NOT_XML, "\ud800", "plain"]
    embedding = Embedding(ids, np.arange(12.0).reshape(6, 2), Euclidean(2))
    files, notes = embedding.export(tmp_path / "p", "projector")
    assert notes[0].startswith("4 ids")  # U+FFFE is a character like others in a text file
    assert len(read_tsv(files[1])) == 6


def test_the_configuration_of_the_projector_names_the_files(tmp_path):
    _, embedding = hostile()
    files, _ = embedding.export(tmp_path, "projector")
    lines = [line.strip() for line in files[2].read_text().splitlines()]
    shape = ["tensor_shape: 15", "tensor_shape: 4"]
    paths = ['tensor_path: "vectors.tsv"', 'metadata_path: "metadata.tsv"']
    assert lines == ["embeddings {", 'tensor_name: "points"', *shape, *paths, "}"]


def test_graphml_comes_back_whole(tmp_path):
    nx = pytest.importorskip("networkx")
    graph, embedding = hostile()
    (path,), _ = embedding.export(tmp_path / "g.graphml", "graphml")
    read = read_graph(path)
    assert read == graph
    assert list(read.ids) == HOSTILE
    assert dict(read.labels) == dict(graph.labels)
    other = nx.read_graphml(path)
    assert list(other.nodes) == HOSTILE
    for row, node in enumerate(HOSTILE):
        found = other.nodes[node]
        assert found["rank"] == embedding.rank[row]
        assert found["delta"] == embedding.delta[row]
        assert [found[f"x{k}"] for k in range(4)] == embedding.points[row].tolist()
        assert found["label"] == f"the {node}"
    assert Graph.from_networkx(other) == graph
    check_places([(other.nodes[node]["x"], other.nodes[node]["y"]) for node in HOSTILE], embedding)


def test_gexf_comes_back_whole(tmp_path):
    nx = pytest.importorskip("networkx")
    graph, embedding = hostile()
    (path,), _ = embedding.export(tmp_path / "g.gexf", "gexf")
    other = nx.read_gexf(path)
    assert list(other.nodes) == HOSTILE
    for row, node in enumerate(HOSTILE):
        found = other.nodes[node]
        assert found["rank"] == embedding.rank[row]
        assert found["delta"] == embedding.delta[row]
        assert found["label"] == f"the {node}"
        assert [found[f"x{k}"] for k in range(4)] == embedding.points[row].tolist()
    places = [other.nodes[node]["viz"]["position"] for node in HOSTILE]
    check_places([(place["x"], place["y"]) for place in places], embedding)
    for i, j, weight in zip(*graph.edges.T, graph.weights, strict=True):
        assert other.edges[HOSTILE[i], HOSTILE[j]]["weight"] == weight
    assert other.number_of_edges() == graph.n_edges


@pytest.mark.parametrize("form", ["gexf", "graphml"])
def test_gephi_finds_communities_and_strengths_without_the_command_cluster(tmp_path, club, form):
    nx = pytest.importorskip("networkx")
    read = nx.read_gexf if form == "gexf" else nx.read_graphml
    club.export(tmp_path / "g", form)
    nodes = read(tmp_path / "g").nodes
    assert [nodes[node]["community"] for node in club.ids] == club.cluster().tolist()
    assert [nodes[node]["strength"] for node in club.ids] == club.graph.strength.tolist()
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
    found = [
        (link["source_id"] - 1, link["target_id"] - 1, link["strength"])
        for link in network["links"]
    ]
    assert found == [
        (*edge, weight)
        for edge, weight in zip(graph.edges.tolist(), graph.weights.tolist(), strict=True)
    ]


def check_places(places, embedding):
    """Centred, 1000 wide, and the plane but for that."""
    places, wanted = np.array(places), plane(embedding)
    assert np.ptp(places, axis=0).max() == pytest.approx(1000.0)
    assert np.abs(places.max(0) + places.min(0)).max() < 1e-9
    scale = 1000.0 / np.ptp(wanted, axis=0).max()
    assert np.diff(places, axis=0) == pytest.approx(scale * np.diff(wanted, axis=0))


@pytest.mark.parametrize("node", NOT_XML)
def test_what_xml_cannot_write_is_refused(tmp_path, node):
    graph = Graph.from_edges([(node, "b"), ("b", "c")])
    embedding = Embedding(graph.ids, np.arange(6.0).reshape(3, 2), Euclidean(2), graph=graph)
    for form in ("graphml", "gexf"):
        with pytest.raises(ValueError, match=r"holds U\+[0-9A-F]{4}, which XML cannot write"):
            embedding.export(tmp_path / "g", form)
    labelled = Graph.from_edges([("a", "b"), ("b", "c")], nodes={"a": node, "b": None, "c": None})
    embedding = Embedding(labelled.ids, np.arange(6.0).reshape(3, 2), Euclidean(2), graph=labelled)
    with pytest.raises(ValueError, match=r"label .* holds U\+"):
        embedding.export(tmp_path / "g", "gexf")
    assert list(tmp_path.iterdir()) == []


def test_half_characters_are_refused_by_atlas(tmp_path):
    pytest.importorskip("pyarrow")
    embedding = Embedding(["\ud800", "b"], np.arange(4.0).reshape(2, 2), Euclidean(2))
    with pytest.raises(ValueError, match="half a character"):
        embedding.export(tmp_path / "a.parquet", "atlas")


def test_ids_that_are_no_text(tmp_path):
    nx = pytest.importorskip("networkx")
    graph = Graph.from_edges([(1, ("a", 2)), (("a", 2), "x")])
    embedding = Embedding(graph.ids, np.arange(6.0).reshape(3, 2), Euclidean(2), graph=graph)
    (path,), _ = embedding.export(tmp_path / "g.graphml", "graphml")
    assert list(nx.read_graphml(path).nodes) == ["1", '["a", 2]', "x"]
    twins = Graph.from_edges([(1, "1"), ("1", "x")])
    embedding = Embedding(twins.ids, np.arange(6.0).reshape(3, 2), Euclidean(2), graph=twins)
    with pytest.raises(ValueError, match="two nodes are '1'"):
        embedding.export(tmp_path / "h.graphml", "graphml")


def test_infinite_ids_are_written_by_name(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    graph = Graph.from_edges([(math.inf, 2.5), (2.5, -math.inf)])
    embedding = Embedding(graph.ids, np.arange(6.0).reshape(3, 2), Euclidean(2), graph=graph)
    expected = ["Infinity", "2.5", "-Infinity"]
    for form in ("graphml", "gexf"):
        (path,), _ = embedding.export(tmp_path / f"g.{form}", form)
        assert list(read_graph(path).ids) == expected
    (path,), _ = embedding.export(tmp_path / "atlas.parquet", "atlas")
    assert pq.read_table(path)["node"].to_pylist() == expected
    files, _ = embedding.export(tmp_path / "projector", "projector")
    assert [line.partition("\t")[0] for line in files[1].read_text().splitlines()[1:]] == expected


def test_what_is_there_is_kept(tmp_path, club):
    for form in FORMATS:
        path = tmp_path / form
        files, _ = club.export(path, form)
        before = [file.read_bytes() for file in files]
        with pytest.raises(FileExistsError, match="is there already"):
            club.export(path, form)
        club.export(path, form, overwrite=True)
        assert [file.read_bytes() for file in files] == before


def test_what_is_refused(tmp_path, club):
    alone = Embedding(club.ids, club.points, club.manifold)
    for form in ("graphml", "gexf"):
        with pytest.raises(ValueError, match="needs the graph: pass graph="):
            alone.export(tmp_path / "g", form)
    with pytest.raises(ValueError, match="format must be one of atlas, projector, graphml, gexf"):
        club.export(tmp_path / "g", "csv")
    with pytest.raises(ValueError, match="neighbors must be at least 1"):
        club.export(tmp_path / "g", "atlas", neighbors=0)
    with pytest.raises(ValueError, match="in their order"):
        club.export(tmp_path / "g", "gexf", graph=Graph.from_edges([("a", "b")]))
    with pytest.raises(IsADirectoryError, match="name a file"):
        club.export(tmp_path, "gexf")
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError, match="name a folder"):
        club.export(tmp_path / "file", "projector")


# --- the plane ------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "q", "beta"), [(3, 0, -1.0), (0, 3, -0.25), (2, 1, -4.0), (1, 2, -1.0)]
)
def test_the_plane_suits_any_signature(p, q, beta):
    manifold = PseudoHyperboloid(p, q, beta)
    points = manifold.random(40, generator=torch.Generator().manual_seed(1)).numpy()
    embedding = Embedding(list(range(40)), points, manifold)
    places = plane(embedding)
    assert places.shape == (40, 2)
    assert np.isfinite(places).all()
    assert np.abs(places.mean(0)).max() < 1e-9
    assert np.array_equal(places, plane(embedding))
    # Classical scaling: the Gram matrix nearest to the centred dissimilarities among those of rank
    # 2.
    table = embedding.distances()
    centre = np.eye(40) - 1 / 40
    values = np.linalg.eigvalsh(-0.5 * centre @ table @ centre)
    assert np.linalg.eigvalsh(places.T @ places)[::-1] == pytest.approx(
        np.maximum(values[:-3:-1], 0.0), rel=1e-9
    )


def test_points_of_a_plane_are_found_again():
    points = np.random.default_rng(0).normal(size=(300, 2))
    embedding = Embedding(list(range(300)), points, Euclidean(2))
    for landmarks in (300, 20):  # all nodes, or those few that the others are placed by
        places = plane(embedding, landmarks=landmarks)
        between = np.linalg.norm(places[:, None] - places, axis=-1)
        assert between == pytest.approx(np.linalg.norm(points[:, None] - points, axis=-1), abs=1e-9)


def test_nodes_in_one_place_or_on_a_line():
    assert np.array_equal(
        plane(Embedding([1, 2, 3], np.ones((3, 2)), Euclidean(2))), np.zeros((3, 2))
    )
    places = plane(Embedding([1, 2, 3], np.array([[0.0], [1.0], [3.0]]), Euclidean(1)))
    assert np.abs(places[:, 1]).max() < 1e-6
    assert np.abs(np.diff(places[:, 0])) == pytest.approx([1.0, 2.0])
    assert math.isclose(np.ptp(places[:, 0]), 3.0)
