"""What manifold parameters cost: one optimiser step of a million points, and of many small parameters.

    python benchmarks/parameters.py --json out/parameters.json

The same points and gradients in float64, five coordinates. Every optimiser takes a step in turn; the least CPU time
counts. The many small parameters, of ten points each, are moved together, one after the other, and by geoopt.
"""

import time
from functools import partial
from typing import Any

import geoopt
import torch
from bench import Figures, finish, parser
from torch.optim import Optimizer

import ultrahyperbolic as uh
from ultrahyperbolic.optim import PseudoRiemannianAdam, PseudoRiemannianSGD, groups

H, Q = uh.PseudoHyperboloid(4, 0), uh.PseudoHyperboloid(3, 1)
OURS: dict[str, Any] = {
    "sgd": partial(PseudoRiemannianSGD, direction="descent"),
    "adam": partial(PseudoRiemannianAdam, direction="descent"),
}
THEIRS: dict[str, Any] = {"sgd": geoopt.optim.RiemannianSGD, "adam": geoopt.optim.RiemannianAdam}


def parameters(M: uh.Manifold, points: int, count: int, *, by_geoopt: bool = False) -> list[torch.Tensor]:
    starts = [M.random(points, scale=0.3, generator=k) for k in range(count)]
    lorentz = geoopt.Lorentz(k=torch.tensor(1.0, dtype=torch.float64))
    if by_geoopt:
        return [geoopt.ManifoldParameter(start, manifold=lorentz) for start in starts]
    return [uh.ManifoldParameter(start, M) for start in starts]


def step(optimizer: Optimizer) -> float:
    generator = torch.Generator().manual_seed(0)
    for parameter in optimizer.param_groups[0]["params"]:
        parameter.grad = 1e-3 * torch.randn(parameter.shape, dtype=torch.float64, generator=generator)
    start = time.process_time()
    optimizer.step()
    return time.process_time() - start


def large(points: int, rounds: int) -> Figures:
    """Of one parameter, beside geoopt's Lorentz model."""
    optimizers = {}
    for kind in OURS:
        optimizers[f"geoopt_{kind}"] = THEIRS[kind](parameters(H, points, 1, by_geoopt=True), lr=1e-3)
        for M in (H, Q):
            optimizers[f"q{M.p}_{M.q}_{kind}"] = OURS[kind](parameters(M, points, 1), lr=1e-3)
    rows = [{name: step(optimizer) for name, optimizer in optimizers.items()} for _ in range(rounds)]
    figures: Figures = {f"{name}_seconds": min(row[name] for row in rows) for name in optimizers}
    for name in optimizers:
        figures[f"{name}_ratio"] = figures[f"{name}_seconds"] / figures[f"geoopt_{name.rpartition('_')[2]}_seconds"]
    return figures


def many(count: int, rounds: int) -> Figures:
    """Of many small parameters: together, one after the other, and geoopt's."""
    figures, small = Figures(), groups._SMALL
    for kind in OURS:
        mine, others = parameters(Q, 10, count), parameters(H, 10, count, by_geoopt=True)
        for way, params, make in (("together", mine, OURS), ("each", mine, OURS), ("geoopt", others, THEIRS)):
            optimizer = make[kind](params, lr=1e-3)
            groups._SMALL = 0 if way == "each" else small
            figures[f"many_{kind}_{way}_seconds"] = min(step(optimizer) for _ in range(rounds))
        groups._SMALL = small
        each, together = (figures[f"many_{kind}_{way}_seconds"] for way in ("each", "together"))
        figures[f"many_{kind}_each_over_together"] = each / together
    return figures


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--points", type=int, default=1_000_000)
    made.add_argument("--rounds", type=int, default=5)
    made.add_argument("--many", type=int, default=200, help="small parameters in one optimiser")
    made.add_argument("--threads", type=int, default=1)
    options = made.parse_args()
    torch.set_num_threads(options.threads)
    figures: Figures = {"points": options.points, "many": options.many, "threads": options.threads}
    finish(figures | large(options.points, options.rounds) | many(options.many, options.rounds), options.json)


if __name__ == "__main__":
    main()
