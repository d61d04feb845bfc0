"""The same seed gives the same bits on every processor."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Mapping

import numpy as np
import pytest

import ultrahyperbolic as uh
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.training import start

# Descent and finish, with and without a light cone, slabs of pairs and few pairs, both precisions,
# places found from few landmarks: what a processor could round in its own way. These are what ARM
# and x86 with and without FMA and AVX-512 compute alike.
TRAININGS = {
    "cone": ("club", {"p": 2, "q": 2, "iterations": 120}),
    "hyperbolic": ("club", {"p": 4, "q": 0, "iterations": 120}),
    "sphere": ("club", {"p": 0, "q": 3, "iterations": 120}),
    "flat": ("club", {"flat": True, "dim": 3, "iterations": 120}),
    "paper": ("club", {"preset": "paper", "p": 3, "q": 1, "iterations": 200}),
    "slabs": ("made", {"p": 2, "q": 2, "iterations": 40}),
    "single": ("made", {"p": 3, "q": 0, "iterations": 30, "precision": "float32"}),
    "landmarks": ("large", {"p": 3, "q": 1, "iterations": 10}),
}
BITS = {
    "cone": "3b5c8a40362adebb",
    "hyperbolic": "b0f7378841b2b112",
    "sphere": "41da8db72b3e1d0d",
    "flat": "251cad3232bd63a3",
    "paper": "5de7a398cd3c0b99",
    "slabs": "118dc5486f54d5b8",
    "single": "114a78a37ad68473",
    "landmarks": "e9dbfbc34234788e",
}

# The paper's presets, in 39 trainings.
_GEOMETRIES = [{"p": p, "q": q} for p, q in ((3, 1), (2, 2), (4, 0), (0, 4))]
PRESETS = [
    (graph, {"preset": "paper", **options})
    for graph in ("club", "lesmis", "made")
    for options in (
        *({"iterations": 150, **geometry} for geometry in _GEOMETRIES),
        *({"iterations": 150, "preset": "paper-text", **geometry} for geometry in _GEOMETRIES),
        *(
            {"iterations": 100, "p": 2, "q": 2, "optimizer": name}
            for name in ("gradient", "phi", "signed-gradient")
        ),
        {"iterations": 100, "p": 3, "q": 1, "seed": 3},
        {"iterations": 100, "flat": True, "dim": 4},
    )
]
BITS_OF_PRESETS = "b6d0b0146f323edb"


def graph_of(name: str) -> Graph:
    if name not in ("made", "large"):
        return uh.datasets.load("karate" if name == "club" else name)
    n = 300 if name == "made" else 600
    ties = np.arange(3 * n)
    first, second = ties % n, (ties * 7919 + 11) % n
    keep = first != second
    return Graph.from_arrays(first[keep], second[keep], 1.0 + ties[keep] % 5, ids=n)


def bits(graph: str, options: Mapping[str, object]) -> str:
    with pytest.MonkeyPatch.context() as patch:
        if graph == "large":
            patch.setattr(start, "_ENTRIES", 0)
        points = uh.embed(
            graph_of(graph), quiet=True, device="cpu", backend="numba", **options
        ).points
    return hashlib.sha256(np.ascontiguousarray(points).tobytes()).hexdigest()[:16]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in ("single", "landmarks")))
        for name in TRAININGS
    ],
)
def test_every_processor_computes_these_bits(name):
    assert bits(*TRAININGS[name]) == BITS[name]


@pytest.mark.slow
def test_the_papers_presets_compute_these_bits():
    found = "".join(bits(*each) for each in PRESETS)
    assert hashlib.sha256(found.encode()).hexdigest()[:16] == BITS_OF_PRESETS


@pytest.mark.slow
@pytest.mark.parametrize(
    "target", ["generic", "haswell" if platform.machine() == "x86_64" else "cortex-a53"]
)
def test_another_processor_computes_these_bits(target, tmp_path):
    environment = {**os.environ, "NUMBA_CPU_NAME": target, "NUMBA_CACHE_DIR": str(tmp_path)}
    found = subprocess.run(
        [sys.executable, __file__], env=environment, capture_output=True, text=True, check=True
    )
    assert dict(line.split() for line in found.stdout.splitlines()) == BITS


if __name__ == "__main__":
    for each in TRAININGS:
        print(each, bits(*TRAININGS[each]))
