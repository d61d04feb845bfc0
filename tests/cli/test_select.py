"""``select`` at the command."""

from __future__ import annotations

import json
from pathlib import Path


def test_select_prints_plots_and_writes(call):
    result = call("select karate --dim 2 --seeds 2 --iterations 40 -o chosen")
    assert result.exit_code == 0
    assert "fits best" in result.stdout
    assert "Gromov's δ" in result.stdout
    assert "26 % of its wedges are closed by a triangle and 74 % are open" in result.stdout
    assert {row["geometry"] for row in json.loads(Path("chosen/select.json").read_text())["rows"]} == {
        "Q^{2,0}", "Q^{1,1}", "Q^{0,2}", "R^2",
    }  # fmt: skip
    assert Path("chosen/select.png").read_bytes().startswith(b"\x89PNG")


def test_several_dimensions_as_json(call):
    said = json.loads(call("select karate --dim 1,2 --seeds 1 --iterations 20 --json").stdout)
    assert len(said["rows"]) == 7
    assert said["within_noise"]  # one seed tells nothing apart


def test_bad_options_are_refused(refuse):
    assert "--dim two" in refuse("select karate --dim two")
    assert "--held-out 1" in refuse("select karate --held-out 1")


def test_embed_with_a_dimension_selects(call):
    result = call("embed karate --dim 2 --iterations 40 -o club")
    assert result.exit_code == 0
    assert "was chosen" in result.stdout
    record = json.loads(Path("club/run.json").read_text())
    assert record["select"]["winner"] == record["select"]["rows"][0]["geometry"]
    config = record["config"]
    assert (config["flat"] or config["p"] + config["q"]) == 2
