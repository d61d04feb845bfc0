from __future__ import annotations

import json
from pathlib import Path

import pytest

import ultrahyperbolic as uh

for library in ("pandas", "pyarrow", "networkx"):
    pytest.importorskip(library)


@pytest.fixture
def club(call):
    assert call("embed karate -o club --iterations 60 --quiet").exit_code == 0


@pytest.mark.usefixtures("club")
def test_every_format(call):
    import networkx as nx
    import pyarrow.parquet as pq

    assert call("export club --format atlas -k 3").stdout == "files: club/atlas.parquet\n"
    assert [
        len(row["ids"]) for row in pq.read_table("club/atlas.parquet")["neighbors"].to_pylist()
    ] == [3] * 34
    assert "projector_config.pbtxt" in call("export club --format projector -o p").stdout
    assert len(Path("p/metadata.tsv").read_text().splitlines()) == 35
    assert call("export club --format graphml").exit_code == 0
    assert uh.read_graph("club/graph.graphml") == uh.datasets.karate()
    assert call("export club --format gexf -o deep/g.gexf").exit_code == 0
    assert nx.read_gexf("deep/g.gexf").number_of_edges() == 78
    assert (
        uh.load("club").run["stopped"] == "reached 60 iterations"
    )  # the folder is an embedding still


def test_the_graph_is_in_the_folder(call):
    import pyarrow.parquet as pq

    Path("ties.csv").write_text("a,b,2\nb,c,1\nc,d,1\n")
    call("embed ties.csv --iterations 5 -o t --quiet")
    Path("ties.csv").unlink()
    assert call("export t --format graphml").exit_code == 0
    assert uh.read_graph("t/graph.graphml").n_edges == 3
    call("export t --format atlas")
    assert pq.read_table("t/atlas.parquet")["strength"].to_pylist() == [2.0, 3.0, 2.0, 1.0]


@pytest.mark.usefixtures("club")
def test_json_is_all_there_is(call):
    report = json.loads(call("export club --format projector -o p --json").stdout)
    assert report["format"] == "projector"
    assert report["files"] == ["p/vectors.tsv", "p/metadata.tsv", "p/projector_config.pbtxt"]
    assert report["notes"] == []


def test_what_was_changed_is_noted(call):
    Path("t.csv").write_text('"a\tb",c\nc,d\nd,e\n')
    call("embed t.csv --iterations 5 -o t --quiet --no-header --delimiter ,")
    result = call("export t --format projector -o p")
    assert result.stderr.count("note: ") == 1
    assert result.exit_code == 0
    assert result.stderr.startswith("note: 1 ids or labels hold tabs")


@pytest.mark.usefixtures("club")
def test_what_it_refuses(call, refuse):
    assert "'--format'" in refuse("export club")
    assert "'csv'" in refuse("export club --format csv")
    assert "no such folder" in refuse("export nowhere --format atlas")
    call("export club --format atlas")
    assert "is there already" in refuse("export club --format atlas")
    assert call("export club --format atlas --overwrite").exit_code == 0
    assert "is a folder; name a file" in refuse("export club --format atlas -o .")
