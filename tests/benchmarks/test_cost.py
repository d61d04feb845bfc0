"""The parts of the benchmark of cost run and write the figures they print; how fast is not judged
here.
"""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from bench import slope

FOLDER = Path(__file__).parents[2] / "benchmarks"


def figures_of(tmp_path, *words):
    path = tmp_path / "out" / "figures.json"
    source = {**os.environ, "PYTHONPATH": str(FOLDER.parent / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(FOLDER / "cost.py"), *words, "--json", str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=source)
    assert run.returncode == 0, run.stderr
    figures = json.loads(path.read_text(encoding="utf-8"))
    printed = [line.split()[0] for line in run.stdout.splitlines() if line.startswith("  ")]
    assert printed == list(figures)
    return figures


PARTS = {
    "distributed --nodes 900 --iterations 20": ("speedup_2", "speedup_2_cpu", "cpu_2_process_1"),
    "scaling --sizes 100 200 400": ("ms_n400_tau0.01", "slope_n_tau0.0001", "slope_d"),
    "large --nodes 3000 --ties 20000 --iterations 3 --others 50 --device cpu": (
        "spearman_all",
        "recall_at_1",
        "tie_order",
        "ties_per_second",
        "auc_hidden_ties",
        "auc_preferential_attachment",
    ),
    "whole ba --nodes 60 --device cpu": ("ba_map", "ba_recall_at_1", "ba_cpu_seconds"),
    "evaluation --nodes 80 --both 60 --repeats 1": (
        "speedup",
        "seconds",
        "reference_seconds",
        "compiled_seconds",
        "load_seconds",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("words", PARTS)
def test_a_part_writes_its_figures(tmp_path, words):
    figures = figures_of(tmp_path, *words.split())
    assert all(math.isfinite(figures[key]) for key in PARTS[words])
    assert figures.get("same_losses_2", True) is True
    assert figures.get("auc_preferential_attachment", 1.0) > 0.7


@pytest.mark.slow
def test_seeds_are_compared_with_those_of_another_run(tmp_path):
    words = [
        "whole",
        "ring",
        "--nodes",
        "60",
        "--ties",
        "300",
        "--seeds",
        "2",
        "--signature",
        "2",
        "1",
        "--device",
        "cpu",
    ]
    first = figures_of(tmp_path, *words)
    maps = [first[f"ring_seed{seed}_map"] for seed in range(2)]
    assert first["ring_map_mean"] == pytest.approx(np.mean(maps))
    assert first["ring_map_sd"] == pytest.approx(np.std(maps, ddof=1)) != 0.0
    other = {key: value + 0.1 for key, value in first.items()}
    (tmp_path / "other.json").write_text(json.dumps(other), encoding="utf-8")
    again = figures_of(tmp_path, *words, "--against", str(tmp_path / "other.json"))
    assert again["ring_map_t"] == pytest.approx(-0.1 / again["ring_map_sd"])


def test_slopes_are_exponents():
    ties = [1e5, 1e6, 1e7]
    assert slope(ties, [3e-6 * m**1.5 for m in ties]) == pytest.approx(1.5)
