"""``select`` at the command."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch

from ultrahyperbolic.cli.select import verdict
from ultrahyperbolic.engines.base import Machine
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.training.selection import Row, Selection


def test_select_prints_plots_and_writes(call, refuse):
    result = call("select karate --dim 2 --seeds 2 --iterations 40 -o chosen")
    assert result.exit_code == 0
    heads, *rows = result.stdout.splitlines()[:5]
    for head in ("score", "mAP", "tie order", "violated orders", "difference to the winner"):
        assert head in heads
    assert ["±" in row for row in rows] == [False, True, True, True]
    assert "fits best" in result.stdout
    assert "26 % of its wedges are closed by a triangle and 74 % are open" in result.stdout
    written = json.loads(Path("chosen/select.json").read_text())["rows"]
    assert {row["geometry"] for row in written} == {"Q^{2,0}", "Q^{1,1}", "Q^{0,2}", "R^2"}
    assert Path("chosen/select.png").read_bytes().startswith(b"\x89PNG")
    said = json.loads(call("select karate --dim 1,2 --iterations 8 --time-limit 60 --json").stdout)
    assert len(said["rows"]) == 7
    for row in said["rows"]:
        assert row["score"] == pytest.approx((row["map"] + row["tie_order"]) / 2.0)
    by_links = call("select karate --dim 1 --by links --seeds 2 --held-out 0.2 --iterations 8")
    assert "held-out ties nearer" in by_links.stdout
    assert "--time-limit must be" in refuse("select karate --dim 1 --time-limit 0")


@pytest.fixture
def no_training(monkeypatch):
    from ultrahyperbolic.engines.numba.engine import NumbaEngine

    monkeypatch.setattr(NumbaEngine, "advance", lambda *_: pytest.fail("a training began"))


@pytest.mark.parametrize("words", ["select karate --dim 2", "embed karate --dim 2", "embed karate"])
def test_devices_that_are_not_there_are_refused(refuse, no_training, words):
    assert refuse(f"{words} --device nonsense").startswith(
        "--device nonsense: torch knows none of that name"
    )
    assert refuse(f"{words} --device meta").startswith("--device meta: nothing is computed there")
    if not torch.cuda.is_available():
        assert refuse(f"{words} --device cuda").startswith(
            "--device cuda: torch finds no CUDA device here"
        )
        assert "triton" in refuse(f"{words} --backend triton")


def test_without_matplotlib_nothing_is_compared(refuse, no_training, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert refuse("select karate --dim 2 -o chosen").endswith("pip install matplotlib")
    assert not Path("chosen").exists()


def test_what_has_no_fixed_order_is_refused_before_the_choice(refuse, no_training, monkeypatch):
    from ultrahyperbolic.training import execution

    monkeypatch.setattr(execution, "resolve", lambda *_: Machine(torch.device("mps"), "reference"))
    line = refuse("embed karate --dim 2 -o club --deterministic")
    assert line == "--deterministic: torch's sums on mps have no fixed order: use triton or the CPU"
    assert not Path("club").exists()


def test_a_comparison_that_does_not_fit_is_one_line(refuse, no_training, monkeypatch):
    from ultrahyperbolic.engines import memory

    monkeypatch.setattr(memory, "free_bytes", lambda: 1000)
    assert "are free" in refuse("select karate --dim 2")
    assert "are free" in refuse("embed karate --dim 2 -o club")


@pytest.mark.parametrize(
    ("differences", "said"),
    [
        ([-0.05, -0.04, -0.06], ", more than two standard errors over the 3 seeds ahead"),
        ([0.05, -0.20, 0.05], "; within two standard errors over the 3 seeds: R^4"),
        ([-0.1], "; one seed cannot tell how much of a difference is noise: try --seeds 5"),
    ],
)
def test_the_verdict_says_what_was_compared(differences, said):
    best = Row(Geometry(3, 1), scores=[0.5] * len(differences))
    other = Row(Geometry(flat=4), differences=differences)
    assert verdict(Selection([best, other], {}, 0.0)) == f"Q^{{3,1}} fits best{said}"


def test_bad_options_are_refused(refuse):
    assert "--dim two" in refuse("select karate --dim two")
    assert "--held-out 1: a share between 0 and 1" in refuse(
        "select karate --by links --held-out 1"
    )
    assert "--held-out 0.2: ties are held out with --by links only" in refuse(
        "select karate --held-out 0.2"
    )
    assert "'nodes' is not one of 'graph', 'links'" in refuse("select karate --by nodes")
    Path("pair.tsv").write_text("a\tb\nb\tc\n")
    assert "a graph of 2 can spare none" in refuse("select pair.tsv --by links")


def test_embed_with_a_dimension_selects(call):
    result = call("embed karate --dim 2 --iterations 40 -o club")
    assert result.exit_code == 0
    assert "was chosen" in result.stdout
    record = json.loads(Path("club/run.json").read_text())
    assert record["select"]["winner"] == record["select"]["rows"][0]["geometry"]
    config = record["config"]
    assert (config["flat"] or config["p"] + config["q"]) == 2


@pytest.mark.parametrize(
    "command", ["embed karate --signature 1,1 --no-report --overwrite", "select karate --dim 1"]
)
def test_the_goal_of_earlier_versions_is_taken_with_a_note(call, command):
    said = f"{command} --goal neighbors --iterations 3"
    assert call(said).stderr.count("note: --goal no longer changes anything") == 1
    assert "--goal" not in call(f"{said} --quiet").stderr
    assert "--goal" not in call(f"{said} --help-all").stdout
