"""What a training needs is known before it starts, and what does not fit is refused with what would."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from machines import ON_LINUX

from ultrahyperbolic import PseudoHyperboloid
from ultrahyperbolic.engines import memory
from ultrahyperbolic.engines.base import Place, Problem, RunSpec, Schedule, batch_bytes
from ultrahyperbolic.engines.memory import estimate, free_bytes, require_memory
from ultrahyperbolic.objective import RankedPairs

MEASURE = """
import json, sys
from pathlib import Path
import numpy as np
from ultrahyperbolic import Graph, PseudoHyperboloid
from ultrahyperbolic.engines.base import BatchState, Place, Problem, RunSpec, Schedule
from ultrahyperbolic.engines.memory import estimate
from ultrahyperbolic.engines.registry import make_engine
from ultrahyperbolic.objective import RankedPairs

backend, n, p, runs, precision, ties = json.loads(sys.argv[1])

def bytes_of(key):
    return int(Path("/proc/self/status").read_text().partition(key)[2].split()[0]) * 1024

ends = np.random.default_rng(0).integers(0, n, (2, ties * n))
graph = Graph.from_arrays(*ends, ids=n)
Path("/proc/self/clear_refs").write_text("5")  # the peak is counted anew
before = bytes_of("VmRSS:")
manifold = PseudoHyperboloid(p, 1)
spec = RunSpec(manifold, Schedule.constant(1, temperature=0.1, step=1e-3), "smoothed")
problem, place = Problem(RankedPairs.of(graph), [spec] * runs), Place("cpu", backend, precision=precision)
state = BatchState.start([manifold.random_near_pole(n, epsilon=0.1).numpy() for _ in range(runs)])
make_engine(problem, place).advance(state, 1)
print(json.dumps([bytes_of("VmHWM:") - before, *estimate(problem, place)]))
"""


@ON_LINUX
@pytest.mark.parametrize(
    ("backend", "n", "p", "runs", "precision", "ties"),
    [
        ("numba", 2000, 200, 6, None, 5),
        pytest.param("numba", 3000, 200, 5, "float32", 5, marks=pytest.mark.slow),
        ("reference", 1000, 3, 2, None, 5),
        pytest.param("reference", 2500, 3, 1, None, 5, marks=pytest.mark.slow),
    ],
)
def test_the_estimate_is_near_what_a_process_takes(backend, n, p, runs, precision, ties):
    settings = json.dumps([backend, n, p, runs, precision, ties])
    child = subprocess.run([sys.executable, "-c", MEASURE, settings], capture_output=True, text=True, check=True)
    taken, host, device = json.loads(child.stdout)
    assert device == 0
    assert 0.9 * taken < host < 2 * taken, f"{taken >> 20} MiB taken, {host >> 20} MiB estimated"


def problem_of(n, *, p=12, q=1, runs=1, edges=((0, 1), (0, 2), (1, 2))):
    spec = RunSpec(PseudoHyperboloid(p, q), Schedule.constant(1, temperature=0.1, step=1e-3))
    edges = np.array(edges, dtype=np.int64)
    return Problem(RankedPairs(n, edges, np.arange(len(edges))), [spec] * runs)


def nothing(runs):
    return 0


@pytest.mark.parametrize("start", [0, 1 << 40])
def test_what_no_machine_holds_is_refused(start):
    words = r"^10000000 nodes and 3 edges in 302 coordinates, 1 at once, need about \d+"
    with pytest.raises(MemoryError, match=words):
        require_memory(problem_of(10_000_000, p=300), Place(backend="numba"), lambda runs: start)


def test_making_the_start_counts_where_it_takes_more_than_the_engine():
    problem, place = problem_of(100), Place("cpu", "numba")
    engine = estimate(problem, place)
    assert estimate(problem, place, 1) == engine
    assert estimate(problem, place, 1 << 30).host == batch_bytes(problem) + (1 << 30) > engine.host


@pytest.mark.parametrize(
    ("free", "backend", "precision", "runs", "advice"),
    [
        (4.0, "reference", None, 1, "use backend 'numba', which lists no pairs"),
        (2.5, "numba", None, 4, "use precision 'float32'"),
        (2.0, "numba", "float32", 9, "train 3 at a time"),
        (0.1, "numba", "float32", 1, "use fewer dimensions, a smaller graph or a machine with more memory"),
    ],
)
def test_the_mode_that_would_fit_is_named(monkeypatch, free, backend, precision, runs, advice):
    monkeypatch.setattr(memory, "free_bytes", lambda: int(free * 2**30))
    problem = problem_of(9_000 if backend == "reference" else 100_000, runs=runs)
    place = Place(backend=backend, precision=precision)
    with pytest.raises(MemoryError, match=rf"with backend '{backend}', and {free} GiB are free: {advice}$"):
        require_memory(problem, place, nothing)
    if advice.startswith("train"):
        require_memory(replace(problem, specs=problem.specs[:3]), place, nothing)
        with pytest.raises(MemoryError):
            require_memory(replace(problem, specs=problem.specs[:4]), place, nothing)


def test_pairs_that_are_too_many_to_list_are_refused_whatever_is_free(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 1 << 50)
    with pytest.raises(MemoryError, match=r"10001 nodes have too many pairs to list.*: use backend 'numba'"):
        require_memory(problem_of(10_001), Place(backend="reference"), nothing)


@ON_LINUX
def test_the_free_memory_is_that_of_the_machine():
    assert 1 << 26 < free_bytes() < 1 << 46


def test_a_device_needs_more_for_more_of_everything():
    place, many = Place("cuda", "triton"), [(0, k) for k in range(1, 90)]
    few = estimate(problem_of(10_000, p=3), place)
    for problem, where in (
        (problem_of(20_000, p=3), place),
        (problem_of(10_000, p=3, edges=many), place),
        (problem_of(10_000, p=7), place),
        (problem_of(10_000, p=3, runs=2), place),
        (problem_of(10_000, p=3), replace(place, precision="float64")),
    ):
        assert estimate(problem, where).device > few.device
