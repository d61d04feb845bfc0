"""The same seed gives the same bits on every processor: points are compared with those that this
machine computes as another processor.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ultrahyperbolic as uh
from ultrahyperbolic.graph import Graph

# Descent and finish, with and without a light cone, few pairs and slabs of many, a directed graph,
# places found from few landmarks: what a processor could round in its own way.
TRAININGS = {
    "cone": ("club", {"p": 2, "q": 2, "iterations": 120}),
    "hyperbolic": ("club", {"p": 4, "q": 0, "iterations": 120}),
    "sphere": ("club", {"p": 0, "q": 3, "iterations": 120}),
    "flat": ("club", {"flat": True, "dim": 3, "iterations": 120}),
    "paper": ("club", {"preset": "paper", "p": 3, "q": 1, "iterations": 200}),
    "slabs": ("made", {"p": 2, "q": 2, "iterations": 20}),
    "directed": ("directed", {"p": 2, "q": 2, "iterations": 20}),
}


def graph_of(name: str) -> Graph:
    if name == "club":
        return uh.datasets.karate()
    n = 900 if name == "made" else 120
    ties = np.arange(3 * n)
    first, second = ties % n, (ties * 7919 + 11) % n
    keep = first != second
    weights = 1.0 + ties[keep] % 5
    return Graph.from_arrays(first[keep], second[keep], weights, ids=n, directed=name == "directed")


def trained(file: Path) -> None:
    np.savez(
        file,
        **{
            name: uh.embed(
                graph_of(graph), quiet=True, device="cpu", backend="numba", **options
            ).points
            for name, (graph, options) in TRAININGS.items()
        },
    )


@pytest.fixture(scope="module")
def points(tmp_path_factory):
    file = tmp_path_factory.mktemp("points") / "here.npz"
    trained(file)
    return np.load(file)


@pytest.mark.slow
@pytest.mark.parametrize(
    "target", ["generic", "haswell" if platform.machine() == "x86_64" else "cortex-a53"]
)
def test_another_processor_computes_the_same_points(target, points, tmp_path):
    file = tmp_path / "there.npz"
    environment = {**os.environ, "NUMBA_CPU_NAME": target, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, __file__, file], env=environment, check=True)
    found = np.load(file)
    for name in TRAININGS:
        np.testing.assert_array_equal(found[name], points[name], err_msg=name)


if __name__ == "__main__":
    trained(Path(sys.argv[1]))
