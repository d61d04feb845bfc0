"""One iteration on the NIPS co-authorship graph: the exact loss against the paper's 42,000 sampled non-edges an edge.

    python benchmarks/nips.py --json out/nips.json

Q^{3,1}, τ = 1e-4, D_γ, after 100 iterations from the paper's start. The sampled form is the package's own, plain torch
and autograd over chunks of edges. Both compute on one thread, or on as many as ``--threads`` says: ``threads`` are
those of the exact form, ``sampled_threads`` those that torch had during the sampled. ``hot_over_cold`` is the time of
the exact objective at τ = 1, where every pair counts, over that at τ = 1e-4, where almost none does; both see the same
points.

``--scope`` times the two forms of the loss instead, and gives ratios node/graph.

The file is looked for where ``ultrahyperbolic.datasets.nips`` looks.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ultrahyperbolic import PseudoHyperboloid, datasets
from ultrahyperbolic.engines.base import BatchState, RunSpec, Schedule
from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.objective import RankedPairs, Scope
from ultrahyperbolic.paper.sampled import SAMPLES, SampledEngine
from ultrahyperbolic.training.method import parts_of

BARS = {"speedup": "at least 500", "hot_over_cold": "at most 3"}


def seconds(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


class Watched(SampledEngine):
    """The sampled form, which tells on how many threads it was computed."""

    seen: int = 0

    def objective(self, *arguments: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The loss, and the dissimilarities of edges and of other pairs."""
        self.seen = torch.get_num_threads()
        return super().objective(*arguments)


def measure(graph: Graph, threads: int, samples: int, count: int) -> dict[str, float]:
    """The figures of a graph: ``count`` iterations of the sampled form, many of the exact one."""
    pairs = RankedPairs.of(graph)
    manifold = PseudoHyperboloid(3, 1)
    start = manifold.random_near_pole(
        pairs.n_nodes, epsilon=0.1, generator=torch.Generator().manual_seed(0), perturb_first=False
    )

    def spec(tau: float) -> RunSpec:
        return RunSpec(manifold, Schedule.constant(1000, temperature=tau, step=1e-8), "geodesic")

    state = BatchState.start([start.numpy()])
    cold = NumbaEngine(pairs, [spec(1e-4)], threads=threads)
    hot = NumbaEngine(pairs, [spec(1.0)], threads=threads)
    cold.advance(state, 100)
    hot.evaluate(state)
    figures = {
        "threads": float(threads),
        "cold_pass_ms": 1e3 * seconds(lambda: cold.evaluate(state), 10),
        "hot_pass_ms": 1e3 * seconds(lambda: hot.evaluate(state), 10),
        "iteration_ms": 1e3 * seconds(lambda: cold.advance(state, 20), 5) / 20,
    }
    sampled = Watched(pairs, [spec(1e-4)], samples=samples, seeds=(0,), threads=threads)
    figures["sampled_iteration_ms"] = 1e3 * seconds(lambda: sampled.advance(state, count), 1) / count
    figures["iteration_ms"] = min(figures["iteration_ms"], 1e3 * seconds(lambda: cold.advance(state, 20), 5) / 20)
    figures["speedup"] = figures["sampled_iteration_ms"] / figures["iteration_ms"]
    figures["sampled_threads"] = float(sampled.seen)
    figures["hot_over_cold"] = figures["hot_pass_ms"] / figures["cold_pass_ms"]
    return figures


def scopes(graph: Graph, threads: int) -> dict[str, float]:
    """One iteration with ties compared with the pairs of their ends, over one with those of the whole graph.

    Q^{3,3} near the pole, smoothed, at the method's first and last temperature; all pairs, and the method's parts.
    """
    pairs, manifold = RankedPairs.of(graph), PseudoHyperboloid(3, 3)
    start = manifold.random_near_pole(pairs.n_nodes, epsilon=0.1, generator=torch.Generator().manual_seed(0)).numpy()
    found: dict[str, float] = {}
    for tau, parts in product((0.04, 7e-4), sorted({1, parts_of(graph)})):
        full = np.ones(1000)
        schedule = Schedule(tau * full, 1e-4 * full, 1e-9 * full, 1e-9 * full, parts=parts)
        took: list[float] = []
        scopes: tuple[Scope, ...] = ("node", "graph")
        for scope in scopes:
            engine = NumbaEngine(pairs, [RunSpec(manifold, schedule, "smoothed", scope=scope)], threads=threads)
            state = BatchState.start([start])
            engine.advance(state, 2)
            took.append(seconds(partial(engine.advance, state, 10), 5))
        found[f"scope_ratio_cpu_tau{tau:g}_parts{parts}"] = took[0] / took[1]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--threads", type=int, default=1, help="of both forms (default 1)")
    parser.add_argument("--graph", default="nips", help="another data set, to try it out")
    parser.add_argument("--samples", type=int, default=SAMPLES, help="fewer, to try it out")
    parser.add_argument("--sampled-iterations", type=int, default=1)
    parser.add_argument("--scope", action="store_true", help="compare the two scopes of the loss instead")
    arguments = parser.parse_args()
    graph = datasets.load(arguments.graph)
    if arguments.scope:
        figures = scopes(graph, arguments.threads)
    else:
        figures = measure(graph, arguments.threads, arguments.samples, arguments.sampled_iterations)
    for key, value in figures.items():
        print(f"  {key:24s} {value:12.4g}" + (f"  ({BARS[key]})" if key in BARS else ""))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
