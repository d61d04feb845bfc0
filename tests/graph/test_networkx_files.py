"""GML, GEXF and JSON node-link files are the graphs that networkx reads, or one line."""

from __future__ import annotations

import gzip
import io
import json
import sys

import networkx as nx
import pytest

from ultrahyperbolic.graph import Graph, GraphError, read_graph

GEXF = (
    '<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2"><graph '
    'defaultedgetype="{}">{}</graph></gexf>'
)
GEXF_NODES = '<nodes><node id="a" label="Ann"/><node id="b"/><node id="007"/></nodes>'


def gml(graph):
    return "\n".join(nx.generate_gml(graph)).encode()


def gexf(graph):
    out = io.BytesIO()
    nx.write_gexf(graph, out)
    return out.getvalue()


def node_link(graph, edges="links"):
    data = nx.node_link_data(graph, edges=edges)
    return json.dumps(data).encode()


WRITERS = {
    "GML": gml,
    "GEXF": gexf,
    "JSON with links": node_link,
    "JSON with edges": lambda graph: node_link(graph, "edges"),
    "JSON in lines": lambda graph: json.dumps(json.loads(node_link(graph)), indent=1).encode(),
}


@pytest.fixture
def read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def read(content, name="g", **options):
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return read_graph(name, **options)

    return read


def named(graph):
    """The same edges over labels, where nodes have them, as text."""
    names = [str((graph.labels or {}).get(node, node)) for node in graph.ids]
    return {
        frozenset((names[i], names[j])): w
        for (i, j), w in zip(graph.edges.tolist(), graph.weights.tolist(), strict=True)
    }


@pytest.mark.parametrize("format", WRITERS)
def test_what_networkx_writes_comes_back(read, format):
    original = nx.les_miserables_graph()
    graph = read(gzip.compress(WRITERS[format](original)))
    assert (graph.n_nodes, graph.n_edges) == (77, 254)
    assert named(graph) == named(Graph.from_networkx(original))
    assert graph.source == "g"
    assert graph.columns is None


@pytest.mark.parametrize("format", WRITERS)
def test_directions_are_summed_or_refused_as_those_of_graphml(read, format):
    original = nx.DiGraph()
    original.add_weighted_edges_from([("a", "b", 1.0), ("b", "a", 2.0), ("b", "c", 4.0)])
    content = WRITERS[format](original)
    graph = read(content)
    assert (graph.weights.tolist(), graph.policies) == ([3, 4], {"asymmetric_pairs_summed": 2})
    with pytest.raises(GraphError, match=r"^g .*asymmetric='error'"):
        read(content, asymmetric="error")


@pytest.mark.parametrize("format", WRITERS)
def test_parallel_edges_are_repeated_rows(read, format):
    original = nx.MultiGraph(
        [("a", "b", {"weight": 1.0}), ("b", "a", {"weight": 2.0}), ("b", "c", {"weight": 4.0})]
    )
    content = WRITERS[format](original)
    assert read(content).weights.tolist() == [3, 4]
    assert read(content).policies == {"repeated_rows_summed": 1}
    assert read(content, repeated="max").weights.tolist() == [2, 4]


def test_a_link_that_comes_again_is_not_lost(read):
    links = [{"source": "a", "target": "b", "weight": 2, "key": 0}] * 3
    graph = read(
        json.dumps({"multigraph": False, "nodes": [{"id": "a"}, {"id": "b"}], "links": links})
    )
    assert (graph.weights.tolist(), graph.policies) == ([6], {"repeated_rows_summed": 2})


def test_ids_and_labels_of_gml(read):
    text = (
        'Creator "by hand"\nVersion 1\n# a comment\ngraph\n[\n  node\n  [ id 7 label "é &amp; B" '
        "]\n  node [ id 3 ]\n"
        "  edge [ source 7 target 3 Weight 2.5 ]\n]\n"
    )
    for content in (text, "\ufeff" + text, text.replace("\n", "\r\n")):
        graph = read(content)
        assert graph.ids == [7, 3]
        assert graph.labels == {7: "é & B"}
        assert graph.weights.tolist() == [2.5]


def test_ids_and_labels_of_gexf(read):
    edges = '<edges><edge id="0" source="a" target="007" weight="2.5"/></edges>'
    for prolog in ("", '<?xml version="1.0" encoding="UTF-8"?>\n<!-- <graphml> -->\n'):
        graph = read(prolog + GEXF.format("undirected", GEXF_NODES + edges))
        assert graph.ids == ["a", "b", "007"]
        assert graph.labels == {"a": "Ann"}
        assert graph.weights.tolist() == [2.5]
        assert graph.policies == {"isolated_nodes": 1}


def test_ids_and_labels_of_node_link(read):
    nodes = [{"id": "a", "name": "Ann"}, {"id": 7}, {"id": ["x", 1]}]
    links = [{"source": "a", "target": 7, "weight": 2.5}, {"source": 7, "target": ["x", 1]}]
    graph = read(json.dumps({"nodes": nodes, "links": links}))
    assert graph.ids == ["a", 7, ("x", 1)]
    assert graph.labels == {"a": "Ann"}
    assert graph.weights.tolist() == [2.5, 1]
    assert graph.policies == {"missing_weights_set_to_1": 1}
    # Without ids, nodes are counted, as D3 does.
    graph = read(
        json.dumps(
            {"links": [{"source": 0, "target": 1}], "nodes": [{"name": "Ann"}, {"name": "Bob"}]}
        )
    )
    assert graph.ids == [0, 1]
    assert graph.labels == {0: "Ann", 1: "Bob"}


@pytest.mark.parametrize("format", ["GML", "GEXF", "JSON with links"])
def test_the_weight_may_be_another_attribute_or_none(read, format):
    content = WRITERS[format](nx.Graph([("a", "b", {"calls": 5.0}), ("b", "c", {"calls": 6.0})]))
    with pytest.warns(UserWarning, match=r"^g: the weight is taken to be 'calls'"):
        assert read(content).weights.tolist() == [5, 6]
    assert read(content, weight="calls").weights.tolist() == [5, 6]
    assert read(content, weight=False).weights.tolist() == [1, 1]
    for options, message in (
        ({"weight": "colour"}, r"edges have no attribute 'colour'; they have .*'calls'"),
        ({"weight": 2}, r"weight is the name of an attribute, not a position"),
        ({"delimiter": ","}, "delimiter does not apply to"),
    ):
        with pytest.raises(GraphError, match=message):
            read(content, **options)
    content = WRITERS[format](nx.Graph([("a", "b", {"calls": 5.0, "mails": 1})]))
    with pytest.raises(GraphError, match=r"^g: the weight may be 'calls' or 'mails'"):
        read(content)
    content = WRITERS[format](nx.Graph([("a", "b", {"year": 2001, "kind": "road"})]))
    assert read(content).weights.tolist() == [1]
    with pytest.raises(GraphError, match=r"^g: there are no weights to be distances"):
        read(content, weights_are_distances=True)


def test_bad_weights_are_refused_with_the_nodes(read):
    with pytest.raises(GraphError, match=r"^g \(1 - 2\): the weight is -1;"):
        read("graph [ node [ id 1 ] node [ id 2 ] edge [ source 1 target 2 weight -1 ] ]")
    nodes = [{"id": "a"}, {"id": "b"}]
    for weight in ("much", [1], 10**400):
        with pytest.raises(GraphError, match=r"^g: the weights must be numbers"):
            read(
                json.dumps(
                    {"nodes": nodes, "links": [{"source": "a", "target": "b", "weight": weight}]}
                )
            )
    with pytest.raises(GraphError, match=r"^g \('a' - 'b'\): the distance is 0;"):
        read(
            json.dumps({"nodes": nodes, "links": [{"source": "a", "target": "b", "weight": 0}]}),
            weights_are_distances=True,
        )


@pytest.mark.parametrize("format", ["GML", "GEXF", "JSON with links"])
def test_without_networkx_they_are_refused_by_name(read, format, monkeypatch):
    content = WRITERS[format](nx.path_graph(3))
    monkeypatch.setitem(sys.modules, "networkx", None)
    name = format.split()[0]
    with pytest.raises(
        ImportError, match=f"^g: reading {name} needs networkx, .*: pip install networkx$"
    ):
        read(content)


def test_gml_of_another_encoding_is_read(tmp_path):
    text = 'graph [ node [ id 1 label "Zoë" ] node [ id 2 ] edge [ source 1 target 2 ] ]'
    (tmp_path / "g.gml").write_text(text, encoding="latin-1")
    assert read_graph(tmp_path / "g.gml", encoding="latin-1").labels == {1: "Zoë"}


EDGE = '<edges><edge source="a" target="z"/></edges>'
BAD = [
    ("graph [ node [ id 1 ]", "g: the GML file is damaged: "),
    ("graph [ node [ id 1 ] node [ id 1 ] ]", "g: the GML file is damaged: "),
    ("graph [ node [ id 1 ] edge [ source 1 target 9 ] ]", "g: the GML file is damaged: "),
    ("graph [ " + "a [ " * 2000, "g: the GML file is damaged: it is nested too deeply"),
    (b'graph [\n  node [ id 1 label "\xff" ] ]', "g, line 2: not UTF-8"),
    (f'graph [ node [ id "{"x" * 70_000}" ] ]', "g: an id is longer than 64 KiB"),
    ("<gexf/>", "g: the GEXF file is damaged: No <graph> element"),
    (GEXF.format("undirected", "<nodes>"), "g, line 1: this is not well-formed XML"),
    (GEXF.format("undirected", GEXF_NODES + EDGE), "g, line 1: the edge ends in 'z'"),
    (GEXF.format("undirected", "<a>" * 200), "g, line 1: more than 100 elements"),
    ('<!DOCTYPE gexf [<!ENTITY a "b">]><gexf>&a;</gexf>', "g, line 1: a document type"),
    ('{"nodes": [', "g: the JSON file is damaged: "),
    ('{"nodes": ' + "[" * 200_000, "g: the JSON file is damaged: it is nested too deeply"),
    ('{"nodes": {}, "links": []}', "g: no node-link graph: an object with lists"),
    ('{"nodes": [7], "links": []}', "g: node 0 (from 0) must be an object"),
    ('{"nodes": [], "links": [{"source": 1}]}', "g: link 0 (from 0) must be an object"),
    ('{"nodes": [{"id": 1}, {"id": 1}], "links": []}', "g: 1 nodes have the id of another"),
    ('{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}', "g: an edge ends in 2"),
    ('{"nodes": [{"id": NaN}], "links": []}', "g: an id is missing (None or NaN)"),
    ('{"nodes": [{"id": {}}], "links": []}', "g: the JSON file is damaged: "),
    ('{"nodes": [{"id": null}], "links": []}', "g: the JSON file is damaged: "),
]


@pytest.mark.parametrize(("content", "message"), BAD, ids=range(len(BAD)))
def test_bad_files_are_refused_in_one_line(read, content, message):
    with pytest.raises(GraphError) as refused:
        read(content)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


def test_json_that_is_no_graph_is_named_by_its_suffix(read):
    for content in ("[1, 2]", '{"a": 1}'):
        with pytest.raises(GraphError, match=r"^g.json: no node-link graph"):
            read(content, "g.json")


def test_a_compressed_file_may_hold_a_part_of_what_text_may(read):
    """Objects take many times the memory of the text that makes them."""
    content = b'{"nodes": [' + b'{"id": 1, "name": "x"},' * 300_000 + b'{"id": 2}], "links": []}'
    with pytest.raises(
        GraphError,
        match=r"^g: \d+ compressed bytes hold more than 4 MiB: decompress the file first",
    ):
        read(gzip.compress(content))


@pytest.mark.parametrize(
    "text", ["graph network 2\nnetwork edge 1\n", "{a} {b} 2\n{b} {c} 1\n", "[ ] 2\n] a 1\n"]
)
def test_tables_that_begin_like_them_are_tables(read, text):
    assert read(text).columns == (0, 1, 2)


def test_the_first_bytes_are_looked_at_in_time(read):
    """A long line of words is no GML, and that is known at once."""
    assert read("a b\n" * 50_000).n_nodes == 2
    assert read('a "' + "b" * 3000 + '"\n').n_nodes == 2
