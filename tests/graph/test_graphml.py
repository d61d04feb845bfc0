from __future__ import annotations

import gzip

import networkx as nx
import pytest

from ultrahyperbolic.graph import Graph, GraphError, read_graph

HEAD = '<?xml version="1.0"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
KEYS = (
    '<key id="d0" for="edge" attr.name="weight" attr.type="double"/>\n'
    '<key id="d1" for="node" attr.name="label" attr.type="string"/>\n'
    '<key id="d2" for="node" attr.name="name" attr.type="string"/>\n'
    '<key id="d3" for="edge" attr.name="cost" attr.type="double"><default>7</default></key>\n'
)
BODY = (
    '<graph edgedefault="{direction}">\n'
    '<node id="007"><data key="d2">James</data><data key="d1">Bond &amp; Co</data></node>\n'
    '<node id="b"><data key="d2">Bee</data></node>\n'
    '<node id="c"/>\n<node id="alone"/>\n'
    '<edge source="007" target="b"><data key="d0"> 2.5 </data></edge>\n'
    '<edge source="b" target="007"><data key="d0">1</data><data key="d3">4</data></edge>\n'
    '<edge source="b" target="c"><desc>odd</desc></edge>\n'
    "</graph>\n</graphml>\n"
)


@pytest.fixture
def read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def read(content, **options):
        (tmp_path / "g.graphml").write_bytes(
            content.encode() if isinstance(content, str) else content
        )
        return read_graph("g.graphml", **options)

    return read


def test_nodes_edges_weights_and_labels(read):
    graph = read(HEAD + KEYS + BODY.format(direction="undirected"))
    assert graph.ids == ["007", "b", "c", "alone"]
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.weights.tolist() == [3.5, 1]
    assert graph.labels == {"007": "Bond & Co"}
    assert graph.attributes["name"].tolist() == ["James", "Bee", "", ""]
    assert graph.policies == {
        "missing_weights_set_to_1": 1,
        "repeated_rows_summed": 1,
        "isolated_nodes": 1,
    }
    assert graph.source == "g.graphml"


def test_the_weight_may_be_another_attribute_or_none(read):
    content = HEAD + KEYS + BODY.format(direction="undirected")
    with pytest.warns(UserWarning, match="the weights are called 'cost'"):
        assert read(content, weight="cost").weights.tolist() == [11, 7]
    assert read(content, weight="cost", weights_are_distances=True).weights.tolist() == [
        1 / 7 + 1 / 4,
        1 / 7,
    ]
    assert read(content, weight=False, repeated="max").weights.tolist() == [1, 1]
    with pytest.raises(GraphError, match=r"no attribute 'colour'; they have 'weight', 'cost'"):
        read(content, weight="colour")


KEY = '<key id="{0}" for="edge" attr.name="{0}" attr.type="{1}"><default>3</default></key>\n'
EDGES = (
    '<graph edgedefault="undirected"><node id="a"/><node id="b"/><node id="c"/>'
    '<edge source="a" target="b"><data key="value">2.5</data></edge><edge source="b" '
    'target="c"/></graph></graphml>'
)


def test_the_only_attribute_of_numbers_is_the_weight(read):
    others = KEY.format("year", "int") + KEY.format("kind", "string")
    with pytest.warns(
        UserWarning, match=r"^g.graphml: the weight is taken to be 'value': .*weight='value'"
    ):
        assert read(HEAD + KEY.format("value", "double") + others + EDGES).weights.tolist() == [
            2.5,
            3,
        ]
    without = EDGES.replace('<data key="value">2.5</data>', "")
    with pytest.warns(UserWarning, match="'kind' of the edges holds numbers as text"):
        assert read(HEAD + others + without).weights.tolist() == [1, 1]
    with pytest.raises(
        GraphError, match=r"^g.graphml: the weight may be 'value' or 'calls': name it"
    ):
        read(HEAD + KEY.format("value", "double") + KEY.format("calls", "long") + EDGES)


def test_directions_are_summed_or_refused(read):
    content = HEAD + KEYS + BODY.format(direction="directed")
    graph = read(content)
    assert graph.weights.tolist() == [3.5, 1]
    assert graph.policies["asymmetric_pairs_summed"] == 2
    with pytest.raises(GraphError, match=r"g.graphml \('007' - 'b'\): the weight differs"):
        read(content, asymmetric="error")


def test_the_first_graph_alone_is_read(read):
    content = HEAD + KEYS + BODY.format(direction="undirected")
    second = '<graph edgedefault="directed"><node id="z"/></graph>\n</graphml>'
    assert read(content.replace("</graphml>", second)) == read(content)


@pytest.mark.parametrize("compress", [gzip.compress, bytes])
def test_what_networkx_writes_comes_back(read, compress, tmp_path):
    original = nx.les_miserables_graph()
    nx.write_graphml(original, tmp_path / "lesmis.graphml")
    assert read(compress((tmp_path / "lesmis.graphml").read_bytes())) == Graph.from_networkx(
        original
    )


def test_what_igraph_writes_comes_back(tmp_path):
    igraph = pytest.importorskip("igraph", reason="igraph is not installed")
    original = igraph.Graph(
        [(0, 1), (1, 2)], vertex_attrs={"name": ["x", "y", "z"]}, edge_attrs={"weight": [2, 3]}
    )
    original.write_graphml(str(tmp_path / "g.graphml"))
    graph = read_graph(tmp_path / "g.graphml")
    assert graph.labels == {"n0": "x", "n1": "y", "n2": "z"}
    assert graph.weights.tolist() == [2, 3]


EDGE = '<edge source="a" target="b"><data key="d0">{}</data></edge>'
NODES = '<graph edgedefault="undirected"><node id="a"/>\n<node id="b"/>\n'
BAD = [
    (HEAD + "<graph>", r"line 3: this is not well-formed XML: no element found"),
    (HEAD + "<graph></graphml>", r"line 3: this is not well-formed XML: mismatched tag"),
    (
        HEAD + NODES + '<edge source="a" target="z"/></graph></graphml>',
        r"line 5: the edge ends in 'z'",
    ),
    (HEAD + NODES + '<edge source="a"/></graph></graphml>', r"line 5: <edge> has no target"),
    (HEAD + NODES + '<node id="a"/></graph></graphml>', r"line 5: node 'a' is declared twice"),
    (HEAD + NODES + "<node/></graph></graphml>", r"line 5: <node> has no id"),
]


@pytest.mark.parametrize(("content", "message"), BAD)
def test_bad_graphml_is_refused_with_its_line(read, content, message):
    with pytest.raises(GraphError, match=f"^g.graphml, {message}") as refused:
        read(content)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<svg/>", "damaged: file not successfully read as graphml"),
        (HEAD + NODES + "<hyperedge/></graph></graphml>", "hyperedge"),
        (HEAD + KEYS + NODES + EDGE.format("x") + "</graph></graphml>", "'x'"),
        (HEAD + KEYS + NODES + EDGE.format("nan") + "</graph></graphml>", "'a' - 'b'.* is nan"),
        (HEAD + KEYS + NODES + EDGE.format("0") + "</graph></graphml>", "'a' - 'b'.* is 0"),
    ],
)
def test_what_networkx_refuses_is_refused_with_the_file(read, content, message):
    with pytest.raises(GraphError, match=f"^g.graphml.*{message}"):
        read(content)


@pytest.mark.parametrize(
    "doctype",
    [
        "<!DOCTYPE graphml>",
        '<!DOCTYPE graphml [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>',
        '<!DOCTYPE graphml [<!ENTITY x SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE graphml SYSTEM "http://127.0.0.1:9/graphml.dtd">',
    ],
)
def test_document_types_and_so_entities_are_refused(read, doctype):
    with pytest.raises(GraphError, match="a document type is declared"):
        read(
            f'<?xml version="1.0"?>\n{doctype}\n<graphml><graph><node id="&b;"/></graph></graphml>'
        )
