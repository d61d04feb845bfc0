"""What more processes bring: ``python benchmarks/distributed.py [--json FILE]``.

The same training by ``ultrahyperbolic embed --threads 1`` and by ``torchrun`` with 2 or more processes of one thread
each, on this machine: seconds of the training itself, as ``run.json`` has them, and whether the losses are the same
bits. Every iteration looks at all pairs (``--preset paper``), or draws samples (``--backend sampled``).

On a machine with other work seconds say little. So the processor's time of each process is measured, too, less that of
a training of 2 iterations: ``speedup_2_cpu`` is that of one process alone over that of the busiest of two. With
``--device cuda`` there is one process for each device, and NCCL carries the messages.

``--group-of-one`` shows what messages cost on a machine with one device: iterations by samples of one process, and of
the same process as a group of its own, all of whose messages go through gloo or NCCL.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import ultrahyperbolic
from ultrahyperbolic.engines.base import Floats, Precision

# Where a process writes the processor's time that it took.
CPU_FOLDER = "ULTRAHYPERBOLIC_BENCHMARK_CPU"
SHORT = 2


class Trained(NamedTuple):
    """What is known of a training."""

    seconds: float
    losses: list[float]
    cpu: list[float]
    """Seconds of each process, from its start to its end."""


def write_graph(path: Path, nodes: int, degree: int) -> None:
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, nodes, (2, nodes * degree // 2))
    rows = zip(i.tolist(), j.tolist(), rng.integers(1, 5, len(i)).tolist(), strict=True)
    path.write_text("".join(f"{a}\t{b}\t{w}\n" for a, b, w in rows if a != b), encoding="ascii")


def command() -> None:
    """Be the command, as a process of a training, and write down the time of the processor."""
    from ultrahyperbolic.cli import main as run

    try:
        run()
    finally:
        used = resource.getrusage(resource.RUSAGE_SELF)
        path = Path(os.environ[CPU_FOLDER]) / os.environ.get("RANK", "0")
        path.write_text(str(used.ru_utime + used.ru_stime), encoding="ascii")


def train(graph: Path, folder: Path, iterations: int, processes: int | None, options: argparse.Namespace) -> Trained:
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"] if processes else []
    line = [
        sys.executable,
        *launcher,
        __file__,
        "embed",
        str(graph),
        "-o",
        str(folder),
        "--iterations",
        str(iterations),
    ]
    line += ["--stop", "iterations", "--threads", "1", "--no-report", "--quiet", "--signature", "3,1"]
    line += ["--backend", options.backend, "--device", options.device]
    if options.backend == "numba":
        line += ["--preset", "paper"]
    cpu = folder.with_suffix(".cpu")
    cpu.mkdir()
    source = str(Path(ultrahyperbolic.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1", CPU_FOLDER: str(cpu)}
    subprocess.run(line, check=True, env=environment)
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    used = [float((cpu / str(k)).read_text(encoding="ascii")) for k in range(processes or 1)]
    return Trained(record["timing"]["seconds"], record["loss"], used)


def measure(options: argparse.Namespace, folder: Path) -> dict[str, float | bool]:
    graph = folder / "ties.tsv"
    write_graph(graph, options.nodes, options.degree)

    def both(name: str, count: int | None) -> tuple[Trained, list[float]]:
        """A training, and the processor's time of its iterations; what is compiled is compiled by a short one."""
        short = train(graph, folder / f"{name}_short", SHORT, count, options)
        whole = train(graph, folder / name, options.iterations, count, options)
        return whole, [a - b for a, b in zip(whole.cpu, short.cpu, strict=True)]

    found: dict[str, float | bool] = {"nodes": options.nodes, "iterations": options.iterations}
    alone, cpu = both("alone", None)
    found |= {"seconds_alone": alone.seconds, "cpu_alone": cpu[0]}
    for count in options.processes:
        those, used = both(f"of{count}", count)
        found |= {f"seconds_{count}": those.seconds, f"speedup_{count}": alone.seconds / those.seconds}
        found |= {f"cpu_{count}_process_{k}": seconds for k, seconds in enumerate(used)}
        found[f"speedup_{count}_cpu"] = cpu[0] / max(used)
        found[f"same_losses_{count}"] = those.losses == alone.losses
    return found


def group_of_one(options: argparse.Namespace) -> dict[str, float | bool]:
    """Seconds of an iteration with messages and without, and by how much losses differ."""
    import torch

    from ultrahyperbolic import PseudoHyperboloid
    from ultrahyperbolic.engines.base import BatchState, Problem, RunSpec, Schedule
    from ultrahyperbolic.engines.communicator import Communicator, joined
    from ultrahyperbolic.engines.sampled import SampledEngine
    from ultrahyperbolic.objective import RankedPairs

    rng, n, iterations = np.random.default_rng(0), options.nodes, options.iterations
    keys = np.unique(rng.integers(0, n * n, n * options.degree))
    edges = np.stack((keys // n, keys % n), 1)
    edges = edges[edges[:, 0] < edges[:, 1]]
    pairs = RankedPairs(n, edges, np.arange(len(edges)) // 1000 * 1000)
    space = PseudoHyperboloid(3, 3)
    start = space.random(n, scale=0.3, generator=torch.Generator().manual_seed(0)).numpy()
    problem = Problem(pairs, [RunSpec(space, Schedule.constant(iterations, temperature=0.1, step=1e-3), "smoothed")])
    precision: Precision = "float64" if options.device == "cpu" else "float32"

    def trained(group: Communicator) -> tuple[float, Floats]:
        engine = SampledEngine(*problem, torch.device(options.device), 1, precision, group)
        engine.advance(BatchState.start([start]), min(2, iterations))
        state, began = BatchState.start([start]), time.perf_counter()
        losses = engine.advance(state, iterations)
        seconds = (time.perf_counter() - began) / iterations
        engine.close()
        return seconds, losses

    alone, expected = trained(Communicator())
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1", LOCAL_RANK="0")
    with joined() as group:
        together, found = trained(group)
    return {
        "nodes": n, "ties": len(edges), "iterations": iterations, "seconds_alone": alone, "seconds_group": together,
        "largest_difference": float(np.max(np.abs(found / expected - 1.0))),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE, under flat keys")
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--degree", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--processes", type=int, nargs="+", default=[2])
    parser.add_argument("--backend", choices=("numba", "sampled"), default="numba")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: with --backend sampled")
    parser.add_argument("--group-of-one", action="store_true", help="what messages cost, with one device")
    options = parser.parse_args()
    if options.group_of_one:
        found = group_of_one(options)
    else:
        with tempfile.TemporaryDirectory() as name:
            found = measure(options, Path(name))
    print("\n".join(f"{name}: {value}" for name, value in found.items()))
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    command() if CPU_FOLDER in os.environ else main()
