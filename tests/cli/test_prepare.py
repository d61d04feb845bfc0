from __future__ import annotations

import json
from pathlib import Path

import pytest

from ultrahyperbolic.graph import Graph, read_graph

TIES = "source,target,calls\nann,bob,2\nbob,cid,1\nbob,ann,3\ncid,dan,4\ndan,dan,9\n"


@pytest.fixture
def ties(call):
    Path("ties.csv").write_text(TIES)
    return call


def test_embed_takes_a_prepared_graph(ties):
    assert ties("prepare ties.csv").exit_code == 0
    assert ties("embed ties.csv -o file --iterations 20 --quiet").exit_code == 0
    assert ties("embed ties.graph -o folder --iterations 20 --quiet").exit_code == 0
    first, second = (json.loads(Path(name, "run.json").read_text()) for name in ("file", "folder"))
    assert first["graph"]["fingerprint"] == second["graph"]["fingerprint"]
    assert first["loss"] == second["loss"]
    assert second["graph"]["file"] == str(Path("ties.graph").resolve())
    # What asks for the graph later finds it again, from the folder's own place.
    assert ties("evaluate folder --json").exit_code == 0


def test_options_of_reading_shape_what_is_prepared(ties, refuse):
    Path("nodes.csv").write_text("id,label\ndan,Dan\ncid,Cid\nbob,Bob\nann,Ann\n")
    said = json.loads(ties("prepare ties.csv --unweighted --nodes nodes.csv -o g --json").stdout)
    expected = read_graph("ties.csv", weight=False, nodes="nodes.csv")
    assert said == {"folder": "g", "nodes": 4, "edges": 3, "fingerprint": expected.fingerprint}
    assert Graph.load("g") == expected
    line = refuse("embed g --unweighted")
    assert line.startswith("g: weight says how a file is read, and this graph is prepared: leave it out, or prepare")


def test_what_is_there_is_not_overwritten_unless_asked(ties, refuse):
    ties("prepare ties.csv -o g")
    assert refuse("prepare karate -o g") == (
        "g holds a prepared graph already: name another folder, or overwrite it (--overwrite)"
    )
    assert ties("prepare karate -o g --overwrite --quiet").output == ""
    assert Graph.load("g").n_nodes == 34
    Path("other").mkdir()
    Path("other", "file").touch()
    assert refuse("prepare karate -o other --quiet") == "cannot save the graph: other holds other files"


def test_a_damaged_one_is_refused_in_one_line(ties, refuse):
    ties("prepare ties.csv -o g")
    Path("g", "edges.npy").write_bytes(b"no array")
    assert refuse("embed g").startswith("g: the prepared graph is damaged: edges.npy has 8 bytes")
