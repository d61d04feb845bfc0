from __future__ import annotations

import inspect
import json
import os
import runpy
import sys
from pathlib import Path

import pytest

from ultrahyperbolic.graph import Graph, GraphError, read_graph

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "graphs.md"


def test_the_guide_names_every_option_and_constructor():
    guide = GUIDE.read_text(encoding="utf-8")
    for option in list(inspect.signature(read_graph).parameters)[1:]:
        assert f"`{option}`" in guide
    for name in dir(Graph):
        if name.startswith("from_") and name != "from_rows":
            assert f"`Graph.{name}`" in guide


@pytest.mark.parametrize("policy", ["sum", "max", "first"])
def test_the_guide_names_every_count(policy, tmp_path):
    guide = GUIDE.read_text(encoding="utf-8")
    path = tmp_path / "g.txt"
    path.write_text("# c\na b 1\na b 2\nb a 1\nc c 1\n")
    counts = list(read_graph(path, repeated=policy).policies)
    assert len(counts) == 5
    for count in counts:
        stem, _, past = count.partition("_rows_")
        assert (
            f"`{count}`" in guide
            or f"..._{past}`" in guide
            or f"`{stem}_rows_summed`, ..." in guide
        )


def test_the_help_says_what_to_do_with_distances():
    text = " ".join(inspect.getdoc(read_graph).split())
    assert "A weight is the strength of a tie" in text
    assert "1/d" in text
    assert issubclass(GraphError, ValueError)


@pytest.mark.slow
def test_the_benchmark_of_reading_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        sys,
        "argv",
        [
            "reading.py",
            "--edges",
            "2000",
            "--repeats",
            "1",
            "--json",
            str(tmp_path / "out" / "r.json"),
        ],
    )
    runpy.run_path(str(ROOT / "benchmarks" / "reading.py"), run_name="__main__")
    figures = json.loads((tmp_path / "out" / "r.json").read_text())
    assert figures["edges"] == 2000
    assert 0 < figures["distinct_edges"] <= 2000
    assert figures["ratio_to_pandas"] > 0
    assert figures["graph_cores"] == figures["pandas_cores"]
    if hasattr(os, "sched_setaffinity"):
        assert figures["graph_serial_cores"] == figures["pandas_serial_cores"] == 1
    assert 0 < figures["graph_peak_gib"] < 8
    assert "ratio_to_pandas" in capsys.readouterr().out
