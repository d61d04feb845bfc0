"""SIGKILL at random moments: a few here, more by ``make test-all``, 200 by ``python
tests/faults/kill.py``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "kill.py"


@pytest.mark.parametrize(
    ("backend", "kills", "iterations"),
    [
        ("numba", 1, 1_000),
        pytest.param("numba", 100, 40_000, marks=pytest.mark.slow),
        pytest.param("reference", 10, 200, marks=pytest.mark.slow),
    ],
)
def test_killed_trainings_end_with_the_same_bits(tmp_path, backend, kills, iterations):
    words = [
        "--kills",
        kills,
        "--iterations",
        iterations,
        "--backend",
        backend,
        "--seed",
        7,
        "--json",
        tmp_path / "out",
    ]
    result = subprocess.run(
        [sys.executable, PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=900
    )
    assert result.returncode == 0, result.stderr
    found = json.loads((tmp_path / "out").read_text())
    assert (found["kills"], found["resumes"], found["different"]) == (kills, kills, 0)
