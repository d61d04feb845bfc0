"""What manifold parameters cost: one optimiser step of a million points, and of many small parameters.

    python benchmarks/parameters.py --json out/parameters.json

The same points and gradients in float64, five coordinates, one thread unless told otherwise. Every optimiser takes a
step in turn, several rounds of it; of each the least CPU time counts, which other programs disturb least. The many
small parameters, of ten points each, are moved together, as our optimisers do, one after the other, and by geoopt.
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
from ultrahyperbolic.optim import PseudoRiemannianAdam, PseudoRiemannianSGD, groups


def measured(optimizer: Optimizer, parameter: torch.Tensor, gradient: torch.Tensor) -> float:
    parameter.grad = gradient.clone()
    start = time.process_time()
    optimizer.step()
    return time.process_time() - start


def many(count: int, rounds: int) -> dict[str, float]:
    """Seconds of a step of so many small parameters: together, one after the other, and geoopt's."""
    Q, H = uh.PseudoHyperboloid(3, 1), uh.PseudoHyperboloid(4, 0)
    lorentz = geoopt.Lorentz(k=torch.tensor(1.0, dtype=torch.float64))
    generator, small = torch.Generator().manual_seed(0), groups._SMALL
    gradients = [1e-3 * torch.randn(10, 5, dtype=torch.float64, generator=generator) for _ in range(count)]
    found: dict[str, float] = {}
    for kind, ours, theirs in (
        ("sgd", PseudoRiemannianSGD, geoopt.optim.RiemannianSGD),
        ("adam", PseudoRiemannianAdam, geoopt.optim.RiemannianAdam),
    ):
        mine = [uh.ManifoldParameter(Q.random(10, scale=0.3, generator=k), Q) for k in range(count)]
        others = [
            geoopt.ManifoldParameter(H.random(10, scale=0.3, generator=k), manifold=lorentz) for k in range(count)
        ]
        for way, params, make in (("together", mine, ours), ("each", mine, ours), ("geoopt", others, theirs)):
            optimizer = make(params, lr=1e-3) if way == "geoopt" else make(params, lr=1e-3, direction="descent")
            groups._SMALL = 0 if way == "each" else small
            for _ in range(rounds):
                for parameter, gradient in zip(params, gradients, strict=True):
                    parameter.grad = gradient.clone()
                start = time.process_time()
                optimizer.step()
                seconds = time.process_time() - start
                name = f"many_{kind}_{way}_seconds"
                found[name] = min(found.get(name, seconds), seconds)
        groups._SMALL = small
        found[f"many_{kind}_each_over_together"] = (
            found[f"many_{kind}_each_seconds"] / found[f"many_{kind}_together_seconds"]
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--many", type=int, default=200, help="small parameters in one optimiser")
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
        runs[f"Adam, {name}"] = PseudoRiemannianAdam([ours], lr=1e-3, direction="descent"), ours
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
    small = many(arguments.many, arguments.rounds)
    for kind in ("sgd", "adam"):
        together, each, theirs = (small[f"many_{kind}_{way}_seconds"] for way in ("together", "each", "geoopt"))
        print(
            f"{arguments.many} small parameters, {kind:4} {1e3 * together:6.1f} ms together, "
            f"{1e3 * each:6.1f} ms one by one ({each / together:.0f} times), geoopt {1e3 * theirs:6.1f} ms"
        )
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(
            json.dumps({**vars(arguments), "json": str(arguments.json), **small, "rows": rows}, indent=2)
        )


if __name__ == "__main__":
    main()
