"""What a second process brings: ``python benchmarks/distributed.py [--json]``.

The same training by ``ultrahyperbolic embed --threads 1`` and by ``torchrun`` with 2 or more processes of one thread
each, on this machine: seconds of the training itself, as ``run.json`` has them, and whether the losses are the same
bits. Every iteration looks at all pairs (``--preset paper``).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import ultrahyperbolic


def write_graph(path: Path, nodes: int, degree: int) -> None:
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, nodes, (2, nodes * degree // 2))
    rows = zip(i.tolist(), j.tolist(), rng.integers(1, 5, len(i)).tolist(), strict=True)
    path.write_text("".join(f"{a}\t{b}\t{w}\n" for a, b, w in rows if a != b), encoding="ascii")


def train(graph: Path, folder: Path, iterations: int, processes: int | None) -> tuple[float, list[float]]:
    """Seconds of a training, and its losses."""
    launcher = ["torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", "-m"] if processes else []
    command = [sys.executable, "-m", *launcher, "ultrahyperbolic", "embed", str(graph), "-o", str(folder)]
    command += ["--preset", "paper", "--iterations", str(iterations), "--threads", "1", "--no-report", "--quiet"]
    command += ["--signature", "3,1", "--backend", "numba", "--device", "cpu"]
    source = str(Path(ultrahyperbolic.__file__).parent.parent)
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"})
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    return record["timing"]["seconds"], record["loss"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--degree", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--processes", type=int, nargs="+", default=[2])
    options = parser.parse_args()
    result: dict[str, object] = {"nodes": options.nodes, "iterations": options.iterations}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        graph = folder / "ties.tsv"
        write_graph(graph, options.nodes, options.degree)
        train(graph, folder / "compile", 2, None)  # what is compiled is compiled before the clock runs
        seconds, losses = train(graph, folder / "alone", options.iterations, None)
        result["seconds_alone"] = seconds
        for count in options.processes:
            took, found = train(graph, folder / f"of{count}", options.iterations, count)
            result[f"seconds_{count}"] = took
            result[f"speedup_{count}"] = seconds / took
            result[f"same_losses_{count}"] = found == losses
    print(json.dumps(result) if options.json else "\n".join(f"{name}: {value}" for name, value in result.items()))


if __name__ == "__main__":
    main()
