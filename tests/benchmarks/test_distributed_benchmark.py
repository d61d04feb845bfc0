"""The benchmarks of processes and of samples write the figures they print; how fast is not judged here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


def figures_of(name, tmp_path, *words):
    path = tmp_path / "out" / "figures.json"
    source = {**os.environ, "PYTHONPATH": str(FOLDER.parent / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(FOLDER / f"{name}.py"), *words, "--json", str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=source)
    assert run.returncode == 0, run.stderr
    figures = json.loads(path.read_text(encoding="utf-8"))
    assert run.stdout.splitlines() == [f"{key}: {value}" for key, value in figures.items()]
    return figures


@pytest.mark.slow
def test_a_group_of_one(tmp_path):
    figures = figures_of("distributed", tmp_path, "--group-of-one", "--nodes", "200", "--iterations", "3")
    assert figures["largest_difference"] == 0.0
    assert figures["seconds_group"] > 0.0


@pytest.mark.slow
def test_two_processes(tmp_path):
    figures = figures_of("distributed", tmp_path, "--nodes", "900", "--iterations", "20")
    assert figures["same_losses_2"] is True
    assert {"speedup_2", "speedup_2_cpu", "cpu_2_process_1"} <= set(figures)


@pytest.mark.slow
def test_samples(tmp_path):
    small = ["--draws", "3", "--nodes", "60", "--others", "4", "8", "--speed", "500", "2000", "--batch", "200"]
    figures = figures_of("sampled", tmp_path, *small, "--negatives", "20")
    assert {"graph_loss_bias_4", "node_gradient_interval_8", "class_sums_pairs", "graph_ties_per_second"} <= set(
        figures
    )
