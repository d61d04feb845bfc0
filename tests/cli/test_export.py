from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest

import ultrahyperbolic as uh
from ultrahyperbolic.export.tables import read_table


@pytest.fixture
def club(call):
    assert call("embed karate -o club --iterations 60 --quiet").exit_code == 0


@pytest.mark.usefixtures("club")
def test_formats_and_where_they_are_written(call):
    assert call("export club --format csv").stdout == "files: club/nodes.csv\n"
    assert len(read_table(Path("club/nodes.csv"))) == 34
    report = json.loads(call("export club --format parquet --json").stdout)
    expected = {"files": ["club/nodes.parquet"], "format": "parquet", "notes": []}
    assert report == {"folder": "club", **expected}
    assert call("export club --format graphml --graph karate").exit_code == 0
    assert uh.read_graph("club/graph.graphml") == uh.datasets.karate()
    assert call("export club --format gexf --graph karate -o deep/g.gexf").exit_code == 0
    assert nx.read_gexf("deep/g.gexf").number_of_edges() == 78
    # The folder is an embedding still.
    assert uh.load("club").run["stopped"] == "reached 60 iterations"


def test_the_graph_is_looked_for_where_it_was_read(call, refuse):
    Path("ties.csv").write_text('"a\x07",b,2\nb,c,1\nc,d,1\n')
    call("embed ties.csv --iterations 5 -o t --quiet")
    result = call("export t --format graphml")
    assert result.stderr.startswith("note: 1 ids or labels hold characters that XML cannot write")
    assert uh.read_graph("t/graph.graphml").n_edges == 3
    call("export t --format csv")
    strengths = [float(row["strength"]) for row in read_table(Path("t/nodes.csv"))]
    assert strengths == [2.0, 3.0, 2.0, 1.0]
    Path("ties.csv").unlink()
    assert (
        refuse("export t --format gexf")
        == "gexf needs the graph, and ties.csv is not here: give it with --graph"
    )
    result = call("export t --format csv -o without.csv")
    assert result.stderr.startswith("note: there are no labels and strengths, as ties.csv is not")
    assert "strength" not in read_table(Path("without.csv"))[0]


@pytest.mark.usefixtures("club")
def test_what_it_refuses(call, refuse):
    assert refuse("export club --format gexf --unweighted") == (
        "--unweighted says how a graph is read: name it with --graph"
    )
    assert "'--format'" in refuse("export club")
    assert "'atlas'" in refuse("export club --format atlas")
    assert "no such folder" in refuse("export nowhere --format csv")
    assert "are not in club" in refuse("export club --format gexf --graph lesmis")
    call("export club --format csv")
    assert "is there already" in refuse("export club --format csv")
    assert call("export club --format csv --overwrite").exit_code == 0
    assert "is a folder; name a file" in refuse("export club --format csv -o .")
