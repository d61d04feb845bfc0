"""One iteration on the NIPS co-authorship graph: the exact loss against the paper's 42,000 sampled non-edges an edge.

    python benchmarks/nips.py --json out/nips.json

Q^{3,1}, τ = 1e-4, D_γ, after 100 iterations from the paper's start, on all cores (``--threads``). The sampled form is
the package's own, plain torch and autograd over chunks of edges. ``hot_over_cold`` is the time of the exact objective
at τ = 1, where every pair counts, over that at τ = 1e-4, where almost none does; both see the same points.

The file is looked for where ``ultrahyperbolic.datasets.nips`` looks.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import torch

from ultrahyperbolic import PseudoHyperboloid, datasets
from ultrahyperbolic.embedding import BatchState, NumbaEngine, RunSpec, Schedule
from ultrahyperbolic.embedding.engine import Engine
from ultrahyperbolic.objective import RankedPairs
from ultrahyperbolic.pairs import usable_threads
from ultrahyperbolic.paper.sampled import SampledEngine

BARS = {"speedup": "at least 500", "hot_over_cold": "at most 3"}


def seconds(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--threads", type=int, default=usable_threads())
    parser.add_argument("--sampled-iterations", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    pairs = RankedPairs.of(datasets.nips())
    manifold = PseudoHyperboloid(3, 1)
    start = manifold.random_near_pole(
        pairs.n_nodes, epsilon=0.1, generator=torch.Generator().manual_seed(0), perturb_first=False
    )

    def spec(tau: float) -> RunSpec:
        return RunSpec(manifold, Schedule.constant(1000, temperature=tau, step=1e-8), "dissimilarity")

    state = BatchState.start([start.numpy()])
    cold = NumbaEngine(pairs, [spec(1e-4)], threads=arguments.threads)
    hot = NumbaEngine(pairs, [spec(1.0)], threads=arguments.threads)
    cold.advance(state, 100)
    hot.evaluate(state)
    figures = {
        "threads": float(arguments.threads),
        "cold_pass_ms": 1e3 * seconds(lambda: cold.evaluate(state), 10),
        "hot_pass_ms": 1e3 * seconds(lambda: hot.evaluate(state), 10),
        "iteration_ms": 1e3 * seconds(lambda: cold.advance(state, 20), 5) / 20,
    }
    sampled: Engine = SampledEngine(pairs, [spec(1e-4)], seeds=(0,))
    count = arguments.sampled_iterations
    figures["sampled_iteration_ms"] = 1e3 * seconds(lambda: sampled.advance(state, count), 1) / count
    figures["iteration_ms"] = min(figures["iteration_ms"], 1e3 * seconds(lambda: cold.advance(state, 20), 5) / 20)
    figures["speedup"] = figures["sampled_iteration_ms"] / figures["iteration_ms"]
    figures["hot_over_cold"] = figures["hot_pass_ms"] / figures["cold_pass_ms"]
    for key, value in figures.items():
        print(f"  {key:24s} {value:12.4g}" + (f"  ({BARS[key]})" if key in BARS else ""))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
