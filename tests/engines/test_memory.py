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
import torch
from machines import ON_LINUX

from ultrahyperbolic import Graph, PseudoHyperboloid
from ultrahyperbolic.engines import memory
from ultrahyperbolic.engines.base import Machine, Problem, RunSpec, Schedule
from ultrahyperbolic.engines.memory import estimate, explaining_shortage, free_bytes
from ultrahyperbolic.objective import RankedPairs
from ultrahyperbolic.training.config import TrainingConfig
from ultrahyperbolic.training.start import start_bytes
from ultrahyperbolic.training.train import embed_many

MEASURE = """
import json, sys
from pathlib import Path
import numpy as np
from ultrahyperbolic import Graph
from ultrahyperbolic.engines.base import Machine
from ultrahyperbolic.training import TrainingConfig, embed_many

backend, n, p, runs, ties = json.loads(sys.argv[1])

def bytes_of(key):
    return int(Path("/proc/self/status").read_text().partition(key)[2].split()[0]) * 1024

def train(graph, runs):
    configs = [TrainingConfig(p=p, q=1, seed=seed, iterations=1) for seed in range(runs)]
    embed_many(graph, configs, measures=False, machine=Machine(backend=backend))

train(Graph.from_arrays(np.arange(200), (np.arange(200) + 1) % 200), 1)  # loads all libraries, and starts their threads
ends = np.random.default_rng(0).integers(0, n, (2, ties * n))
graph = Graph.from_arrays(*ends, ids=n)
Path("/proc/self/clear_refs").write_text("5")  # the peak is counted anew
before = bytes_of("VmRSS:")
train(graph, runs)
print(json.dumps([bytes_of("VmHWM:") - before, graph.n_edges]))
"""


@pytest.mark.slow
@ON_LINUX
@pytest.mark.parametrize(
    ("backend", "n", "p", "runs", "ties"),
    [("numba", 2000, 200, 6, 5), ("numba", 20_000, 3, 1, 2), ("reference", 1000, 3, 2, 5)],
)
def test_the_estimate_is_near_what_a_process_takes(backend, n, p, runs, ties):
    # What libraries take, and what an allocator keeps of freed memory, depends on the machine. The
    # arrays do not: they are measured once the libraries are loaded, each on pages of its own,
    # which are given back when it is freed.
    settings = json.dumps([backend, n, p, runs, ties])
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(1 << 16)}
    command = [sys.executable, "-c", MEASURE, settings]
    child = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    taken, m = json.loads(child.stdout)
    pairs = RankedPairs(n, np.zeros((m, 2), dtype=np.int64), np.zeros(m, dtype=np.int64))
    spec = RunSpec(PseudoHyperboloid(p, 1), Schedule.constant(1, temperature=1.0, step=1.0))
    needed = estimate(Problem(pairs, [spec] * runs), Machine(None, backend), start_bytes(n, m))
    assert 0.6 * taken < needed < 4 * taken + (192 << 20), f"{taken >> 20} MiB, {needed >> 20} MiB"


def graph_of(n):
    return Graph.from_arrays([0, 1, 0], [1, 2, 2], [1.0, 2.0, 3.0], ids=n)


@pytest.mark.slow
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


def test_what_would_help_is_said(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 3 << 30)
    configs = [TrainingConfig(p=12, q=1, seed=seed, iterations=1) for seed in range(9)]
    with pytest.raises(MemoryError, match=r"9 at once.* and 3.0 GiB are free: train fewer seeds"):
        embed_many(graph_of(100_000), configs)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "8")  # the processes of a machine share its memory
    with pytest.raises(MemoryError, match="1 at once"):
        embed_many(graph_of(100_000), configs[:1])


@pytest.mark.parametrize("error", [MemoryError(), torch.OutOfMemoryError("CUDA out of memory")])
def test_memory_that_runs_out_is_one_line(error):
    with (
        pytest.raises(MemoryError, match="memory ran out: train fewer seeds"),
        explaining_shortage(),
    ):
        raise error
    with pytest.raises(RuntimeError, match="another"), explaining_shortage():
        raise RuntimeError("another")


def test_pairs_that_are_too_many_to_list_are_refused_whatever_is_free():
    with pytest.raises(
        MemoryError, match=r"10001 nodes have too many pairs to list.*: use backend 'numba'"
    ):
        embed_many(graph_of(10_001), [TrainingConfig()], machine=Machine(backend="reference"))


@ON_LINUX
def test_the_free_memory_is_that_of_the_machine():
    assert 1 << 26 < free_bytes() < 1 << 46
