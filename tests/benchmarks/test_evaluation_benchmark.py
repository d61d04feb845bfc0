"""The evaluation benchmark runs from end to end and writes the figures it promises; how fast is not
judged here.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "cost.py"


@pytest.mark.slow
def test_the_figures_are_printed_and_written(tmp_path: Path) -> None:
    path = tmp_path / "out" / "evaluation.json"
    sizes = ["--nodes", "80", "--both", "60", "--repeats", "1"]
    command = [sys.executable, str(SCRIPT), "evaluation", *sizes, "--json", str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    figures: dict[str, float] = json.loads(path.read_text())
    assert figures["nodes"] == 80
    assert figures["edges"] == 400
    assert figures["threads"] == figures["reference_threads"]
    for key in ("speedup", "seconds", "reference_seconds", "compiled_seconds", "load_seconds"):
        assert figures[key] > 0
        assert key in run.stdout
