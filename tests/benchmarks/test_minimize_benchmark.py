"""The benchmark of ``minimize`` runs and writes the figures it promises; which method wins is for the full run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "minimize.py"


@pytest.mark.slow
def test_it_runs_and_writes_flat_figures(tmp_path: Path) -> None:
    path = tmp_path / "minimize.json"
    command = [sys.executable, str(SCRIPT), "--quick", "--iterations", "50", "--json", str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    figures = json.loads(path.read_text())
    assert all(isinstance(value, int | float) for value in figures.values())
    for method in ("chi", "surrogate", "lbfgs"):
        for what in ("converged", "lowest"):
            assert 0.0 <= figures[f"squares_{method}_{what}"] == figures[f"{method}_{what}"] <= 1.0
        assert figures[f"squares_{method}_evaluations"] >= 1
    assert figures["lbfgs_converged"] == 1.0
