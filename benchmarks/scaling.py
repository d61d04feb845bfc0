"""How an iteration's cost grows with the number of nodes and of coordinates, on the CPU.

    python benchmarks/scaling.py --json out/scaling.json --plot out/scaling.png

The exact objective with the smoothed dissimilarity on random graphs of five edges a node, on all cores, at τ = 0.01 and
at τ = 1e-4. Slopes are those of log time over log n from 3,000 nodes on, and over log d from d = 5 on.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from ultrahyperbolic import PseudoHyperboloid
from ultrahyperbolic.engines.base import BatchState, RunSpec, Schedule
from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.graph import Graph
from ultrahyperbolic.objective import RankedPairs
from ultrahyperbolic.pairs import usable_threads

Figures = dict[str, float]
NODES = (1_000, 3_000, 10_000, 30_000)
COORDINATES = (3, 5, 10, 20, 40)


def milliseconds(n: int, d: int, tau: float, repeats: int) -> float:
    """The best time of the objective, value and gradient."""
    ends = np.random.default_rng(0).integers(0, n, (5 * n, 2))
    ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    pairs = RankedPairs.of(Graph.from_arrays(ends[:, 0], ends[:, 1], ids=n))
    manifold = PseudoHyperboloid(d - 2, 1)
    points = manifold.random(n, scale=0.7, generator=torch.Generator().manual_seed(0))
    schedule = Schedule.constant(1, temperature=tau, step=1e-6, epsilon=0.1)
    engine = NumbaEngine(pairs, [RunSpec(manifold, schedule, "smoothed")])
    state = BatchState.start([points.numpy()])
    engine.evaluate(state)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        engine.evaluate(state)
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def slope(x: list[int], y: list[float]) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def plot(figures: Figures, path: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    drawing, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6))
    for name in ("0.01", "0.0001"):
        left.loglog(NODES, [figures[f"ms_n{n}_tau{name}"] for n in NODES], "o-", label=f"τ = {name}")
    left.set(xlabel="nodes", ylabel="ms", title="five coordinates")
    left.legend()
    right.loglog(COORDINATES, [figures[f"ms_d{d}"] for d in COORDINATES], "o-")
    right.set(xlabel="coordinates", ylabel="ms", title="3,000 nodes, τ = 0.01")
    drawing.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--plot", type=Path, help="draw them here")
    arguments = parser.parse_args()
    figures: Figures = {"threads": float(usable_threads())}
    for tau in (0.01, 1e-4):
        for n in NODES:
            figures[f"ms_n{n}_tau{tau:g}"] = milliseconds(n, 5, tau, 3 if n < 30_000 else 1)
    for d in COORDINATES:
        figures[f"ms_d{d}"] = milliseconds(3_000, d, 0.01, 3)
    large = [n for n in NODES if n >= 3_000]
    for tau in (0.01, 1e-4):
        figures[f"slope_n_tau{tau:g}"] = slope(large, [figures[f"ms_n{n}_tau{tau:g}"] for n in large])
    wide = [d for d in COORDINATES if d >= 5]
    figures["slope_d"] = slope(wide, [figures[f"ms_d{d}"] for d in wide])
    for key, value in figures.items():
        print(f"  {key:20s} {value:10.4g}")
    if arguments.plot:
        plot(figures, arguments.plot)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
