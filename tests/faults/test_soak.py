"""Long trainings stay on the manifold, and memory does not grow by more than what is kept of
them.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from machines import ON_LINUX

pytestmark = ON_LINUX

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "soak.py"


@pytest.mark.slow
@pytest.mark.parametrize("iterations", [70_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_long_training(iterations):
    spec = importlib.util.spec_from_file_location("soak", PROGRAM)
    soak = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(soak)
    found = soak.soak("karate", iterations, 1)
    assert found["iterations"] == iterations
    assert found["largest_drift"] < 1e-12
    assert found["nonfinite"] == 0
    assert found["mib_at_the_end"] - found["mib_after_a_tenth"] < 8 + 2 * found["mib_of_losses"]
