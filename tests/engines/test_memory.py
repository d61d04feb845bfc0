"""What a training needs is known before it starts, and what does not fit is refused with what
would.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from machines import ON_LINUX

from ultrahyperbolic import Graph, PseudoHyperboloid
from ultrahyperbolic.engines import memory
from ultrahyperbolic.engines.base import Machine, Problem, RunSpec, Schedule
from ultrahyperbolic.engines.memory import LIBRARY_BYTES, estimate, free_bytes
from ultrahyperbolic.objective import RankedPairs
from ultrahyperbolic.training.config import TrainingConfig
from ultrahyperbolic.training.start import start_bytes
from ultrahyperbolic.training.train import check_memory, embed_many, problem_of

MEASURE = """
import json, sys
from pathlib import Path
import numpy as np
from ultrahyperbolic import Graph
from ultrahyperbolic.engines.base import Machine
from ultrahyperbolic.training import TrainingConfig, embed_many

backend, n, p, runs, precision, ties, without = json.loads(sys.argv[1])
sys.modules.update(dict.fromkeys(without))

def bytes_of(key):
    return int(Path("/proc/self/status").read_text().partition(key)[2].split()[0]) * 1024

def train(graph, runs):
    configs = [TrainingConfig(p=p, q=1, seed=seed, iterations=1) for seed in range(runs)]
    embed_many(graph, configs, measures=False, machine=Machine(backend=backend, precision=precision))

train(Graph.from_arrays(np.arange(200), (np.arange(200) + 1) % 200), 1)  # loads all libraries, and starts their threads
ends = np.random.default_rng(0).integers(0, n, (2, ties * n))
graph = Graph.from_arrays(*ends, ids=n)
Path("/proc/self/clear_refs").write_text("5")  # the peak is counted anew
before = bytes_of("VmRSS:")
train(graph, runs)
print(json.dumps([bytes_of("VmHWM:") - before, graph.n_edges]))
"""


def needed(n, edges, dims, backend, precision=None):
    """The estimate for runs on Q^{p,1}, their spectral start included."""
    pairs = RankedPairs(n, np.zeros((edges, 2), dtype=np.int64), np.zeros(edges, dtype=np.int64))
    schedule = Schedule.constant(1, temperature=1.0, step=1.0)
    problem = Problem(pairs, [RunSpec(PseudoHyperboloid(p, 1), schedule) for p in dims])
    return estimate(problem, Machine(None, backend, None, precision), start_bytes(n, edges))


@pytest.mark.slow
@ON_LINUX
@pytest.mark.parametrize(
    ("backend", "n", "p", "runs", "precision", "ties", "without"),
    [
        pytest.param("numba", 2000, 200, 6, None, 5, [], marks=pytest.mark.slow),
        pytest.param("numba", 3000, 200, 5, "float32", 5, [], marks=pytest.mark.slow),
        pytest.param(
            "numba", 20_000, 3, 1, None, 2, [], marks=pytest.mark.slow
        ),  # the start takes most
        pytest.param("numba", 20_000, 3, 1, None, 2, ["scipy"], marks=pytest.mark.slow),
        ("reference", 1000, 3, 2, None, 5, []),
        pytest.param("reference", 2500, 3, 1, None, 5, [], marks=pytest.mark.slow),
    ],
)
def test_the_estimate_is_near_what_a_process_takes(backend, n, p, runs, precision, ties, without):
    # What libraries take, and what an allocator keeps of freed memory, depends on the machine. The
    # arrays do not: they are measured once the libraries are loaded, each on pages of its own,
    # which are given back when it is freed.
    settings = json.dumps([backend, n, p, runs, precision, ties, without])
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(1 << 16)}
    command = [sys.executable, "-c", MEASURE, settings]
    child = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    taken, edges = json.loads(child.stdout)
    host, device = needed(n, edges, [p] * runs, backend, precision)
    assert device == 0
    arrays = host - LIBRARY_BYTES
    assert 0.9 * taken < arrays < 2 * taken, (
        f"{taken >> 20} MiB taken, {arrays >> 20} MiB estimated"
    )


def graph_of(n):
    return Graph.from_arrays([0, 1, 0], [1, 2, 2], [1.0, 2.0, 3.0], ids=n)


def test_what_no_machine_holds_is_refused_before_it_starts():
    begun = []
    with pytest.raises(
        MemoryError,
        match=r"^10000000 nodes and 3 ties in 302 coordinates, 1 at once, need about \d+",
    ):
        embed_many(
            graph_of(10_000_000),
            [TrainingConfig(p=300, q=1)],
            callbacks=[begun.append],
            machine=Machine(backend="numba"),
        )
    assert begun == []


@pytest.mark.parametrize(
    ("free", "backend", "precision", "runs", "advice"),
    [
        (4.0, "reference", None, 1, "use backend 'numba', which lists no pairs"),
        (3.0, "numba", None, 4, "use precision 'float32'"),
        (2.3, "numba", "float32", 9, "train 3 at a time"),
        (
            0.1,
            "numba",
            "float32",
            1,
            "use fewer dimensions, a smaller graph or a machine with more memory",
        ),
    ],
)
def test_the_mode_that_would_fit_is_named(monkeypatch, free, backend, precision, runs, advice):
    monkeypatch.setattr(memory, "free_bytes", lambda: int(free * 2**30))
    graph = graph_of(9_000 if backend == "reference" else 100_000)
    configs = [TrainingConfig(p=12, q=1, seed=seed) for seed in range(runs)]
    place = Machine(None, backend, None, precision)
    with pytest.raises(
        MemoryError, match=rf"with backend '{backend}', and {free} GiB are free: {advice}$"
    ):
        check_memory(problem_of(graph, configs), configs, place)
    if advice.startswith("train"):
        check_memory(problem_of(graph, configs[:3]), configs[:3], place)
        with pytest.raises(MemoryError):
            check_memory(problem_of(graph, configs[:4]), configs[:4], place)


def test_pairs_that_are_too_many_to_list_are_refused_whatever_is_free():
    with pytest.raises(
        MemoryError, match=r"10001 nodes have too many pairs to list.*: use backend 'numba'"
    ):
        embed_many(graph_of(10_001), [TrainingConfig()], machine=Machine(backend="reference"))


@ON_LINUX
def test_the_free_memory_is_that_of_the_machine():
    assert 1 << 26 < free_bytes() < 1 << 46


def test_a_device_needs_more_for_more_of_everything():
    few = needed(10_000, 50_000, [3], "triton")
    for more in (
        needed(20_000, 50_000, [3], "triton"),
        needed(10_000, 90_000, [3], "triton"),
        needed(10_000, 50_000, [7], "triton"),
        needed(10_000, 50_000, [3, 3], "triton"),
        needed(10_000, 50_000, [3], "triton", "float64"),
    ):
        assert more.device > few.device
