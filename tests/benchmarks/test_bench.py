"""What all benchmarks share."""

from __future__ import annotations

import json
import math

import pytest
from bench import Bar, Panel, draw, fill, graph_named, load, print_bars, save, table


def test_figures_are_whole_files_of_plain_json(tmp_path):
    path = tmp_path / "out" / "figures.json"
    save({"a": 1.5, "b": math.nan, "c": math.inf, "d": "text"}, path)
    assert json.loads(path.read_text()) == {"a": 1.5, "b": None, "c": None, "d": "text"}
    assert list(path.parent.iterdir()) == [path]
    assert load([path, tmp_path / "none.json"]) == load([path])
    save({"a": 1}, None)


def test_tables_are_aligned():
    assert table(("a", "long"), [("x", "1")]).splitlines() == [
        "| a | long |",
        "| - | ---- |",
        "| x | 1    |",
    ]


def test_texts_go_between_the_marks_of_a_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "before\n<!-- times: by x -->\nold\n<!-- end of times -->\nafter\n<!-- b -->\n<!-- end of "
        "b -->\n"
    )
    for _ in range(2):  # which must not grow
        fill(page, {"times": "new \\1", "b": "other"})
    lines = page.read_text().splitlines()
    assert lines[:5] == [
        "before",
        "<!-- times: by x -->",
        "new \\1",
        "<!-- end of times -->",
        "after",
    ]
    assert lines[5:] == ["<!-- b -->", "other", "<!-- end of b -->"]
    with pytest.raises(SystemExit, match="must have one <!-- none -->"):
        fill(page, {"none": ""})


def test_bars_are_counted(capsys):
    found = print_bars([Bar("a", True, "1"), Bar("b", False, "2"), Bar("c", None, "3")])
    assert found == {"bars:a": True, "bars:b": False, "bars:c": None, "bars:failed": 1}
    assert "1 hold, 1 fail, of 3" in capsys.readouterr().out


def test_panels_are_drawn(tmp_path):
    line = ([1.0, 2.0], [3.0, 4.0])
    draw(
        tmp_path / "a" / "drawn.png",
        Panel("x", "y", "one", {"a": line}),
        Panel("x", "y", "two", {"a": line, "b": line}),
    )
    assert (tmp_path / "a" / "drawn.png").stat().st_size > 5000


def test_graphs_are_data_sets_files_or_tables_of_a_folder(tmp_path, monkeypatch):
    (tmp_path / "ties.tsv").write_text("a\tb\nb\tc\n")
    assert graph_named("karate").n_nodes == 34
    assert graph_named(str(tmp_path / "ties.tsv")).n_nodes == 3
    monkeypatch.setenv("ULTRAHYPERBOLIC_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match=r"has no nothing\.tsv\.gz"):
        graph_named("nothing")
