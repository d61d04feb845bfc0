from __future__ import annotations

import json
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from ultrahyperbolic.graph import Graph, GraphError, NodeIds, as_graph, read_graph


def test_what_is_not_there_is_not_found():
    ids = NodeIds(["a", "b"])
    for absent in ("c", 0, None, ["a"]):
        assert absent not in ids
        with pytest.raises(ValueError, match="no node"):
            ids.index(absent)
    assert ids.index("b") == 1
    assert 1.0 in NodeIds(range(3))


def test_scalars_of_numpy_become_plain_numbers():
    assert [type(node) for node in NodeIds(np.array([3, 5]))] == [int, int]


def test_index_keeps_the_contract_of_sequences():
    ids = NodeIds("abc")
    assert ids.index("b", 1) == 1
    with pytest.raises(ValueError, match="no node 'a'"):
        ids.index("a", 1)
    with pytest.raises(ValueError, match="no node 'c'"):
        ids.index("c", 0, 2)


def test_ids_equal_any_list_of_the_same():
    assert NodeIds("ab") == NodeIds(["a", "b"]) == ("a", "b")
    assert NodeIds("ab") == ["a", "b"]
    assert NodeIds("ab") != ["b", "a"]
    assert NodeIds("ab") != "ab"


def test_ids_survive_pickling():
    ids = NodeIds(("a", 1))
    assert 1 in ids
    again = pickle.loads(pickle.dumps(ids))
    assert (again, type(again)) == (ids, NodeIds)


HALF = "a\ud800"
WORDS = r"holds half a character \(a lone surrogate\), which no file can keep: correct it"
FRAME = {"source": [HALF, "b"], "target": ["b", "c"]}


@pytest.mark.parametrize(
    "make",
    [
        lambda: Graph.from_edges([(HALF, "b"), ("b", "c")]),
        lambda: Graph((HALF, "b"), np.array([[0, 1]]), np.ones(1)),
        lambda: Graph.from_arrays([0, 1], [1, 2], ids=["c", "b", HALF]),
        lambda: as_graph([("b", HALF), ("b", "c")]),
        lambda: as_graph(nx.Graph([(HALF, "b"), ("b", "c")])),
        lambda: Graph.from_numpy(np.ones((2, 2)), ids=[HALF, "b"]),
        lambda: as_graph(pd.DataFrame(FRAME, dtype=object)),
        lambda: as_graph([("b", "c")]).with_nodes(["b", "c", HALF]),
    ],
)
def test_half_a_character_in_an_id_is_refused_before_it_is_trained(make):
    with pytest.raises(GraphError, match=rf"^[\w ]+: the id 'a\\ud800' {WORDS}$"):
        make()


def test_half_a_character_in_json_is_refused_with_the_file(tmp_path):
    nodes = [{"id": "b", "label": "x"}, {"id": "c", "label": "y", "city": "Rome"}]
    for place, what in (("id", "id"), ("label", "label"), ("city", "city")):
        content = {"nodes": [nodes[0], nodes[1] | {place: HALF}], "links": []}
        (tmp_path / "g.json").write_text(json.dumps(content))
        with pytest.raises(GraphError, match=rf"g\.json: the {what} 'a\\ud800' {WORDS}$"):
            read_graph(tmp_path / "g.json")


def test_half_a_character_in_labels_and_attributes_is_refused():
    graph = as_graph([("b", "c")])
    with pytest.raises(GraphError, match=r"the label 'a\\ud800' holds half a character"):
        graph.with_nodes({"b": HALF, "c": "C"})
    with pytest.raises(GraphError, match=r"the city 'a\\ud800' holds half a character"):
        graph.with_nodes(["b", "c"], {"city": ["Rome", HALF]})
    with pytest.raises(
        GraphError, match=r"the name of an attribute 'a\\ud800' holds half a character"
    ):
        graph.with_nodes(["b", "c"], {HALF: ["Rome", "Oslo"]})


def test_a_file_whose_name_is_no_text_is_refused():
    with pytest.raises(
        GraphError, match=r"the graph: the file name 't\\udcff.csv' holds half a character"
    ):
        read_graph("t\udcff.csv")


def test_whole_characters_of_every_length_are_kept():
    ids = ["é", "中", "\U0001f600", "\ue000", ("a", HALF)]
    assert list(Graph.from_arrays([0, 1, 2, 3], [1, 2, 3, 4], ids=ids).ids) == ids
