"""The CUDA engine on one GPU: right, how fast, and how cost and memory grow.

    python benchmarks/gpu.py --data nips_edges.txt --json out/gpu.json --plot out/gpu.png

Needs torch, triton and numpy alone (and matplotlib for the plot). First value and gradient are compared with the
reference. Then are timed: a whole iteration on the NIPS co-authorship graph (Q^{3,1}, τ = 1e-4, D_γ), replayed as a
captured graph; the pass over all pairs at 100,000 nodes, with the sweep that finds the nearest pair before it; and the
pass against n and d. Rates are of ordered pairs, as the pass visits them.

The limit of the card is reckoned from the operations that one pair needs: three for each coordinate (difference,
square, gradient) and 42 for D_γ, its slope and the exponential, at 128 a multiprocessor and clock. The five special
functions of a pair (three reciprocal roots, a logarithm, an exponential) at 16 a clock would allow more. Graphs of the
scaling have five random edges a node. The smoothed dissimilarity, whose float32 coordinates are split so that nothing
is lost near the light cone, is timed beside D_γ. ``--scope`` times the two forms of the loss instead.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton

from ultrahyperbolic import PseudoHyperboloid
from ultrahyperbolic.engines.base import BatchState, Precision, RunSpec, Schedule
from ultrahyperbolic.engines.reference import ReferenceEngine
from ultrahyperbolic.engines.triton.engine import TritonEngine
from ultrahyperbolic.engines.triton.pair_kernels import GEODESIC, SMOOTHED
from ultrahyperbolic.engines.triton.passes import Passes
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.objective import RankedPairs, Scope

Figures = dict[str, float]
# For D_γ with its slope, exp, and what adds them up, as the kernel writes them.
OPERATIONS = 42
BARS = {"nips_iteration_ms": 0.1, "pairs_per_second_d5": 3e11}
DEVICE = torch.device("cuda")
SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
DIMENSIONS = (3, 5, 10, 16, 32, 64)
PRECISIONS: tuple[Precision, ...] = ("float32", "float64")


def milliseconds(work: Callable[[], object], repeats: int = 5) -> float:
    """The best of several, by the device's clock."""
    work()
    times = []
    for _ in range(repeats):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        start.record()
        work()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop))
    return float(min(times))


def random_edges(n: int, seed: int = 0) -> np.ndarray[Any, np.dtype[np.int64]]:
    ends = np.random.default_rng(seed).integers(0, n, (5 * n, 2))
    edges: np.ndarray[Any, np.dtype[np.int64]] = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    return edges


def pass_of(n: int, d: int, kind: Any = GEODESIC) -> tuple[Passes, tuple[torch.Tensor, ...]]:
    """A pass in d coordinates, two of them time, and what to launch it with (τ = 1/2)."""
    passes = Passes(n, random_edges(n), 1, d, 2, int(kind.value), torch.float32, DEVICE)
    points = PseudoHyperboloid(d - 2, 1).random(n, scale=0.7, generator=torch.Generator().manual_seed(0))
    factors = torch.full((1, d), 0.25, dtype=torch.float32, device=DEVICE)
    factors[0, :2] *= -1.0
    schedule = torch.tensor([[[0.5], [0.1], [1e-6], [1e9]]], dtype=torch.float64, device=DEVICE)
    radius, iteration = (
        torch.ones(1, dtype=torch.float64, device=DEVICE),
        torch.zeros(1, dtype=torch.int64, device=DEVICE),
    )
    pair_points = passes.pair_points(points.T.contiguous().to(DEVICE)[None], radius).contiguous()
    return passes, (pair_points, factors, radius, schedule, iteration)


def correctness() -> Figures:
    rng = np.random.default_rng(0)
    worst = {"float64": 0.0, "float32": 0.0}
    signatures = ((4, 0), (3, 1), (2, 2), (0, 4), (9, 4))
    for (p, q), beta, spread in product(signatures, (-0.25, -1.0, -4.0), (0.3, 0.7, 1.5)):
        manifold = PseudoHyperboloid(p, q, beta)
        n = 700
        edges = random_edges(n)
        graph = Graph.from_arrays(edges[:, 0], edges[:, 1], rng.integers(1, 4, len(edges)).astype(float), ids=n)
        pairs = RankedPairs.of(graph)
        points = manifold.random(n, scale=spread, generator=torch.Generator().manual_seed(0))
        state = BatchState.start([points.numpy()])
        for tau in (1.0, 0.01):
            spec = RunSpec(manifold, Schedule.constant(2, temperature=tau, step=1e-6), "smoothed")
            expected = ReferenceEngine(pairs, [spec]).evaluate(state)
            true = manifold.egrad2rgrad(points, torch.from_numpy(expected.gradient[0]))
            for precision in PRECISIONS:
                found = TritonEngine(pairs, [spec], precision=precision).evaluate(state)
                got = manifold.egrad2rgrad(points, torch.from_numpy(found.gradient[0]))
                gradient = ((got - true).abs().max() / true.abs().max()).item()
                value = abs(found.loss[0] / expected.loss[0] - 1.0)
                worst[precision] = max(worst[precision], gradient, float(value))
    return {f"error_{precision}": error for precision, error in worst.items()}


def nips(path: Path | None) -> Figures:
    if path is None:
        return {}
    rows = np.loadtxt(path)
    ends = rows[:, :2].astype(np.int64) - 1
    graph = Graph.from_arrays(ends[:, 0], ends[:, 1], rows[:, 2], ids=int(ends.max()) + 1)
    pairs, manifold = RankedPairs.of(graph), PseudoHyperboloid(3, 1)
    start = manifold.random_near_pole(pairs.n_nodes, epsilon=0.1, generator=torch.Generator().manual_seed(0)).numpy()
    figures: Figures = {}
    for precision in PRECISIONS:
        spec = RunSpec(manifold, Schedule.constant(11_000, temperature=1e-4, step=1e-8), "geodesic")
        engine = TritonEngine(pairs, [spec], precision=precision)
        state = BatchState.start([start])
        engine.advance(state, 100)
        suffix = "" if precision == "float32" else "_float64"
        figures[f"nips_iteration_ms{suffix}"] = milliseconds(partial(engine.advance, state, 1000)) / 1000
    return figures


def scopes() -> Figures:
    """One iteration with ties compared with the pairs of their ends, over one with those of the whole graph.

    Q^{3,3}, float32, five random ties a node, at the method's first and last temperature.
    """
    figures: Figures = {}
    manifold = PseudoHyperboloid(3, 3)
    for n, tau in product((1_000, 2_715, 10_000, 30_000), (0.04, 7e-4)):
        edges = random_edges(n)
        weights = np.random.default_rng(0).integers(1, 4, len(edges)).astype(float)
        pairs = RankedPairs.of(Graph.from_arrays(edges[:, 0], edges[:, 1], weights, ids=n))
        start = manifold.random_near_pole(n, epsilon=0.1, generator=torch.Generator().manual_seed(0)).numpy()
        took: list[float] = []
        scopes: tuple[Scope, ...] = ("node", "graph")
        for scope in scopes:
            schedule = Schedule.constant(2000, temperature=tau, step=1e-9, epsilon=1e-4)
            engine = TritonEngine(pairs, [RunSpec(manifold, schedule, "smoothed", scope=scope)])
            state = BatchState.start([start])
            engine.advance(state, 20)
            took.append(milliseconds(partial(engine.advance, state, 100)) / 100)
            figures[f"scope_{scope}_ms_cuda_n{n}_tau{tau:g}"] = took[-1]
            engine.close()
        figures[f"scope_ratio_cuda_n{n}_tau{tau:g}"] = took[0] / took[1]
    return figures


def all_pairs() -> Figures:
    figures: Figures = {}
    properties = torch.cuda.get_device_properties(DEVICE)
    clock = getattr(properties, "clock_rate", 1_980_000) * 1e3
    for d in (5, 10, 16):
        n = 100_000
        passes, arguments = pass_of(n, d)
        time = milliseconds(partial(passes.launch, *arguments), 3)
        figures[f"pass_ms_d{d}"] = time
        figures[f"pairs_per_second_d{d}"] = n * (n - 1) / time * 1e3
        limit = properties.multi_processor_count * 128 * clock / (3 * d + OPERATIONS)
        figures[f"limit_pairs_per_second_d{d}"] = limit
        figures[f"share_of_limit_d{d}"] = figures[f"pairs_per_second_d{d}"] / limit
        passes, arguments = pass_of(n, d, SMOOTHED)
        figures[f"pairs_per_second_smoothed_d{d}"] = (
            n * (n - 1) / milliseconds(partial(passes.launch, *arguments), 3) * 1e3
        )
    return figures


def scaling() -> Figures:
    figures: Figures = {}
    for n in SIZES:
        passes = arguments = None  # what the last size held is given back first
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        passes, arguments = pass_of(n, 5)
        figures[f"pass_ms_n{n}"] = milliseconds(partial(passes.launch, *arguments), 2)
        figures[f"memory_mib_n{n}"] = torch.cuda.max_memory_allocated() / 2**20
    for d in DIMENSIONS:
        passes, arguments = pass_of(30_000, d)
        figures[f"pass_ms_n30000_d{d}"] = milliseconds(partial(passes.launch, *arguments), 3)
    large = [n for n in SIZES if n >= 30_000]
    figures["slope_n"] = _slope(large, [figures[f"pass_ms_n{n}"] for n in large])
    lists = [n for n in SIZES if n >= 100_000]  # without the bitmap of small graphs
    figures["slope_memory"] = _slope(lists, [figures[f"memory_mib_n{n}"] for n in lists])
    wide = [d for d in DIMENSIONS if d >= 5]
    figures["slope_d"] = _slope(wide, [figures[f"pass_ms_n30000_d{d}"] for d in wide])
    return figures


def _slope(x: list[int], y: list[float]) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def plot(path: Path, figures: Figures) -> None:
    """Time and memory of the pass against n, and its time against d, with their slopes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    panels = (
        ("nodes", "ms a pass, d = 5", SIZES, "pass_ms_n{}", "slope_n"),
        ("nodes", "MiB", SIZES, "memory_mib_n{}", "slope_memory"),
        ("coordinates d", "ms a pass, 30,000 nodes", DIMENSIONS, "pass_ms_n30000_d{}", "slope_d"),
    )
    for axis, (x_label, y_label, xs, key, slope) in zip(axes, panels, strict=True):
        axis.loglog(xs, [figures[key.format(x)] for x in xs], "o-", color="#0072B2")
        axis.set(xlabel=x_label, ylabel=y_label, title=f"exponent {figures[slope]:.2f}")
        axis.set_xticks(xs, [f"{x:g}" for x in xs] if xs is DIMENSIONS else [f"{x:.0e}" for x in xs], fontsize=8)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[1].set_title(f"exponent {figures['slope_memory']:.2f} from 1e5 on; a bitmap below", fontsize=11)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--plot", type=Path, help="draw how time and memory grow")
    parser.add_argument("--data", type=Path, help="nips_edges.txt; its iteration is left out without it")
    parser.add_argument("--scope", action="store_true", help="compare the two scopes of the loss instead")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("this benchmark needs a CUDA device, and torch finds none")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__}", flush=True)
    figures: Figures = {}
    parts: tuple[Callable[[], Figures], ...] = (correctness, lambda: nips(arguments.data), all_pairs, scaling)
    if arguments.scope:
        parts = (scopes,)
    for part in parts:
        found = part()
        figures.update(found)
        for key, value in found.items():
            bar = f"  (bar {BARS[key]:g})" if key in BARS else ""
            print(f"  {key:40s} {value:14.6g}{bar}", flush=True)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if arguments.plot:
        plot(arguments.plot, figures)


if __name__ == "__main__":
    main()
