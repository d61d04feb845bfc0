"""What a manifold parameter costs: one optimiser step of a million points, beside geoopt's Lorentz model.

    python benchmarks/parameters.py --json out/parameters.json

The same points and gradients in float64, five coordinates, one thread unless told otherwise. Every optimiser takes a
step in turn, several rounds of it; of each the least CPU time counts, which other programs disturb least.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import geoopt
import torch
from torch.optim import Optimizer

import ultrahyperbolic as uh
from ultrahyperbolic.optim import PseudoRiemannianAdam, PseudoRiemannianSGD


def measured(optimizer: Optimizer, parameter: torch.Tensor, gradient: torch.Tensor) -> float:
    parameter.grad = gradient.clone()
    start = time.process_time()
    optimizer.step()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    lorentz = geoopt.Lorentz(k=torch.tensor(1.0, dtype=torch.float64))
    runs: dict[str, tuple[Optimizer, torch.Tensor]] = {}
    generator = torch.Generator().manual_seed(0)
    gradient = 1e-3 * torch.randn(arguments.points, 5, dtype=torch.float64, generator=generator)

    def points(M: uh.Manifold) -> torch.Tensor:
        return M.random(arguments.points, scale=0.3, generator=0)

    hyperbolic = uh.PseudoHyperboloid(4, 0)
    theirs = geoopt.ManifoldParameter(points(hyperbolic), manifold=lorentz)
    runs["geoopt SGD, Lorentz"] = geoopt.optim.RiemannianSGD([theirs], lr=1e-3), theirs
    theirs = geoopt.ManifoldParameter(points(hyperbolic), manifold=lorentz)
    runs["geoopt Adam, Lorentz"] = geoopt.optim.RiemannianAdam([theirs], lr=1e-3), theirs
    for M, name in ((hyperbolic, "Q^(4,0)"), (uh.PseudoHyperboloid(3, 1), "Q^(3,1)")):
        ours = uh.ManifoldParameter(points(M), M)
        runs[f"SGD, {name}"] = PseudoRiemannianSGD([ours], lr=1e-3), ours
        ours = uh.ManifoldParameter(points(M), M)
        runs[f"Adam, {name}"] = PseudoRiemannianAdam([ours], lr=1e-3), ours
    seconds = dict.fromkeys(runs, float("inf"))
    for _ in range(arguments.rounds):
        for name, (optimizer, parameter) in runs.items():
            seconds[name] = min(seconds[name], measured(optimizer, parameter, gradient))
    rows = []
    for name, value in seconds.items():
        kind = "Adam" if "Adam" in name else "SGD"
        ratio = value / seconds[f"geoopt {kind}, Lorentz"]
        rows.append({"step": name, "seconds": value, "ratio": ratio})
        print(f"{name:22} {value:7.3f} s  {ratio:5.2f} times geoopt's")
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps({**vars(arguments), "json": str(arguments.json), "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
