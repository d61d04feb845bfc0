from __future__ import annotations

import json

import numpy as np
import pytest

from ultrahyperbolic import embed
from ultrahyperbolic.files import sealed_json
from ultrahyperbolic.graph import Graph, GraphError, as_graph, read_graph
from ultrahyperbolic.graph.prepared import HEADER, _described, is_prepared


@pytest.fixture
def graph(tmp_path):
    (tmp_path / "ties.csv").write_text("a,b,calls\nann,bob,2\nbob,cid,1\nbob,ann,3\ncid,cid,9\n")
    (tmp_path / "nodes.csv").write_text("id,label,age\ncid,Cid C.,31\nbob,,40\nann,Ann A.,29\nzoe,Zoe,50\n")
    return read_graph(tmp_path / "ties.csv", nodes=tmp_path / "nodes.csv")


def test_a_graph_comes_back_as_it_was(graph, tmp_path):
    graph.save(tmp_path / "ties.graph")
    found = Graph.load(tmp_path / "ties.graph")
    assert found == graph
    assert list(found.ids) == list(graph.ids)
    assert found.edges.tolist() == graph.edges.tolist()
    assert found.weights.tolist() == graph.weights.tolist()
    assert found.labels == graph.labels
    assert found.policies == graph.policies
    assert found.columns == graph.columns
    assert {name: values.tolist() for name, values in found.attributes.items()} == {"age": [31, 40, 29, 50]}
    assert found.degree.tolist() == graph.degree.tolist()


@pytest.mark.parametrize(
    "ids", [("x", (1, 2), 7.5), (3, 1, 2), ("é", "\U0001f600", "b"), (1, "1", ("a", ("b", 3))), range(3), (2**70, 1, 0)]
)
def test_ids_of_every_kind_come_back(ids, tmp_path):
    graph = Graph.from_arrays([0, 1], [1, 2], ids=ids)
    graph.save(tmp_path / "g")
    found = Graph.load(tmp_path / "g")
    assert list(found.ids) == list(graph.ids)
    assert [type(node) for node in found.ids] == [type(node) for node in graph.ids]
    assert Graph(found.ids, found.edges, found.weights).fingerprint == found.fingerprint == graph.fingerprint
    assert found.index(ids[2]) == 2


def test_arrays_are_mapped_and_not_read(graph, tmp_path):
    graph.save(tmp_path / "g")
    found = read_graph(tmp_path / "g")
    assert isinstance(found.edges.base, np.memmap)
    assert isinstance(found.weights.base, np.memmap)
    assert not found.edges.flags.writeable


def test_a_prepared_graph_is_a_graph_wherever_a_file_is(graph, tmp_path):
    folder = tmp_path / "ties.graph"
    graph.save(folder)
    assert as_graph(folder) == graph
    assert read_graph(folder).source == str(folder)
    assert len(embed(str(folder), p=1, q=1, iterations=2, quiet=True)) == 4


def test_ids_that_no_file_holds_are_refused(tmp_path):
    with pytest.raises(GraphError, match="cannot be saved: ids must be text, numbers"):
        Graph.from_edges([(frozenset("a"), "b")]).save(tmp_path / "g")
    assert not (tmp_path / "g").exists()


def test_what_is_there_is_kept(graph, tmp_path):
    graph.save(tmp_path / "g")
    with pytest.raises(FileExistsError, match="holds a prepared graph already"):
        graph.save(tmp_path / "g")
    graph.unweighted().save(tmp_path / "g", overwrite=True)
    assert Graph.load(tmp_path / "g") == graph.unweighted()
    with pytest.raises(FileExistsError, match="holds other files"):
        graph.save(tmp_path, overwrite=True)
    with pytest.raises(FileExistsError, match="is a file"):
        graph.save(tmp_path / "ties.csv")


def test_a_save_that_fails_leaves_what_was_there(graph, tmp_path, monkeypatch):
    graph.save(tmp_path / "g")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ultrahyperbolic.graph.prepared._write_table", full)
    with pytest.raises(OSError, match="No space left"):
        graph.unweighted().save(tmp_path / "g", overwrite=True)
    assert Graph.load(tmp_path / "g") == graph


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("weight", False),
        ("nodes", ["ann"]),
        ("header", False),
        ("source", 1),
        ("repeated", "max"),
        ("asymmetric", "error"),
        ("weights_are_distances", True),
        ("comments", ""),
        ("encoding", "latin-1"),
    ],
)
def test_options_of_reading_are_said_to_come_too_late(graph, tmp_path, option, value):
    graph.save(tmp_path / "g")
    with pytest.raises(GraphError, match=f"g: {option} says how a file is read, and this graph is prepared"):
        read_graph(tmp_path / "g", **{option: value})


@pytest.mark.parametrize("name", [HEADER, "edges.npy", "weights.npy", "nodes.arrow"])
@pytest.mark.parametrize("damage", ["flipped", "cut", "gone"])
def test_damage_is_one_line(graph, tmp_path, name, damage):
    folder = tmp_path / "g"
    graph.save(folder)
    data = bytearray((folder / name).read_bytes())
    data[len(data) // 2] ^= 1
    if damage == "gone":
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(data if damage == "flipped" else data[:-3])
    if name == HEADER and damage == "gone":
        assert not is_prepared(folder)
        with pytest.raises(GraphError, match="holds no prepared graph"):
            Graph.load(folder)
        return
    with pytest.raises(GraphError, match=r"g: the prepared graph is damaged: .*: prepare it again") as caught:
        read_graph(folder)
    assert "\n" not in str(caught.value)


def test_a_newer_format_is_refused(graph, tmp_path):
    graph.save(tmp_path / "g")
    header = json.loads((tmp_path / "g" / HEADER).read_text())
    (tmp_path / "g" / HEADER).write_bytes(sealed_json(header | {"version": 99}))
    with pytest.raises(GraphError, match=r"newer version of ultrahyperbolic \(format 99, and this one reads 2\)"):
        Graph.load(tmp_path / "g")


def _sealed_again(folder, name, values):
    """Another array in place of a file, with its sha256 in the header: no check of bytes can tell."""
    np.save(folder / name, values)
    header = json.loads((folder / HEADER).read_text())
    header["files"][name] = _described(folder / name)
    (folder / HEADER).write_bytes(sealed_json(header))


@pytest.mark.parametrize(
    ("edges", "reason"),
    [
        ([[0, 1], [1, 40_000_000]], "tie 1 (from 0) joins the nodes 1 and 40000000: give positions i < j from 0 to 3"),
        ([[0, 1], [1, 4]], "tie 1 (from 0) joins the nodes 1 and 4:"),
        ([[-1, 1], [1, 2]], "tie 0 (from 0) joins the nodes -1 and 1:"),
        ([[0, 1], [2, 2]], "tie 1 (from 0) joins the nodes 2 and 2:"),
        ([[1, 0], [1, 2]], "tie 0 (from 0) joins the nodes 1 and 0:"),
        ([[1, 2], [0, 1]], "tie 1 (from 0) does not come after the one before"),
        ([[0, 1], [0, 1]], "tie 1 (from 0) does not come after the one before"),
        ([[0, 1], [1, 2], [2, 3]], "its counts differ"),
        ([0, 1], "edges must be [m, 2] and weights [m]"),
    ],
)
@pytest.mark.parametrize("check", [True, False])
def test_edges_that_loops_would_follow_out_of_bounds_are_refused(graph, tmp_path, edges, reason, check):
    graph.save(tmp_path / "g")
    _sealed_again(tmp_path / "g", "edges.npy", np.array(edges))
    with pytest.raises(GraphError) as caught:
        Graph.load(tmp_path / "g", check=check)
    assert str(caught.value).startswith(f"{tmp_path / 'g'}: the prepared graph is damaged: {reason}")
    assert str(caught.value).endswith(": prepare it again")


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan, np.inf])
def test_weights_that_no_class_can_hold_are_refused(graph, tmp_path, weight):
    graph.save(tmp_path / "g")
    _sealed_again(tmp_path / "g", "weights.npy", np.array([1.0, weight]))
    with pytest.raises(GraphError, match=rf"damaged: tie 1 \(from 0\) weighs {weight:g}: a weight is a finite number"):
        Graph.load(tmp_path / "g")
