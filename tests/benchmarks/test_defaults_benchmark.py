"""The benchmark of the default method: what it counts, and that its parts run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def defaults(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    import defaults

    return defaults


def test_a_signature_wins_only_outside_the_noise_of_the_others(defaults):
    shares = {
        "Q^{3,1}": np.array([0.010, 0.011, 0.012]),
        "Q^{2,2}": np.array([0.011, 0.012, 0.013]),
        "Q^{4,0}": np.array([0.050, 0.051, 0.052]),
    }
    assert defaults.fewest(shares) == ["Q^{3,1}", "Q^{2,2}"]
    shares["R^4"] = np.array([0.002, 0.011, 0.030])
    assert "R^4" in defaults.fewest(shares)


def test_of_equals_the_ultrahyperbolic_comes_last(defaults):
    equal = np.zeros(3)
    assert defaults.fewest({"Q^{3,1}": equal, "R^4": equal})[0] == "R^4"


def run(tmp_path, *words):
    path = tmp_path / "out" / "figures.json"
    made = subprocess.run(
        [sys.executable, str(FOLDER / "defaults.py"), *words, "--json", str(path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_graphs_made_to_break_things_do_not(tmp_path):
    figures = run(tmp_path, "adversarial", "--graph", "two ties of one node", "--graph", "weights 1e-9 and 1e9")
    assert (figures["runs"], figures["failures"]) == (12, 0)


def test_a_row_of_the_table(tmp_path):
    figures = run(tmp_path, "table", "--graph", "Davis", "--geometry", "Q3_1", "--seeds", "2")
    assert (figures["ratio_count"], figures["ratio_above_1"]) == (1, 0)
    ratio = figures["davis_Q3_1_violated_orders"] / figures["davis_Q3_1_paper_violated_orders"]
    assert figures["davis_Q3_1_ratio"] == ratio < 0.5
