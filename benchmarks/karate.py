"""10,000 iterations on the weighted karate club: the compiled loop against Eq. 17 written plainly
in eager torch.

    python benchmarks/karate.py --json out/karate.json

Q^{3,1}, float64, one core, D_γ with the step and temperature of the paper's recipe. The plain form
takes one log-sum-exp over a mask [edges, pairs], differentiates by autograd and moves along χ;
first losses must agree.
"""

import math
from functools import partial

import numpy as np
import torch
from bench import best, finish, parser

from ultrahyperbolic import datasets
from ultrahyperbolic.engines.base import BatchState
from ultrahyperbolic.engines.numba.engine import NumbaEngine
from ultrahyperbolic.objective import RankedPairs
from ultrahyperbolic.training.config import TrainingConfig
from ultrahyperbolic.training.presets import settings

BARS = {"speedup": "at least 100"}


class Plain:
    """Eq. 17 with one mask, and nothing that a careful reader of the paper would leave out or
    add.
    """

    def __init__(
        self, pairs: RankedPairs, signs: torch.Tensor, temperature: float, step: float
    ) -> None:
        everything = np.concatenate((pairs.edges, pairs.nonedges))
        m = pairs.n_edges
        place = np.arange(len(everything))
        weaker = (
            (place[None, :] >= m)
            | (place[None, :] < pairs.weaker[:, None])
            | (place[None, :] == place[:m, None])
        )
        self.i, self.j = torch.from_numpy(everything).unbind(1)
        self.excluded = torch.from_numpy(np.where(weaker, 0.0, -np.inf))
        self.signs, self.temperature, self.step, self.m = signs, temperature, step, m

    def distance(self, points: torch.Tensor) -> torch.Tensor:
        """D_γ of every pair for β = -1, from s = ⟨x-y, x-y⟩."""
        difference = points[self.i] - points[self.j]
        w = (difference * difference) @ self.signs / 4
        root = w.abs().clamp_min(1e-300).sqrt()
        near = 2 * torch.where(w > 0, torch.asinh(root), torch.asin(root.clamp_max(0.75)))
        return torch.where(w < -0.5, math.pi / 2 - 1 - 2 * w, near)

    def iterate(self, points: torch.Tensor) -> tuple[torch.Tensor, float]:
        """The next points, and the loss of these."""
        points = points.detach().requires_grad_()
        scores = self.distance(points) / -self.temperature
        loss = (torch.logsumexp(scores + self.excluded, 1) - scores[: self.m]).sum()
        (gradient,) = torch.autograd.grad(loss, points)
        x, g = points.detach(), gradient
        for _ in range(2):  # χ = Π(G Π(G ∇f)), for β = -1
            g = self.signs * g
            g = g + (self.signs * g * x).sum(1, keepdim=True) * x
        tangent = -self.step * g
        square = (self.signs * tangent * tangent).sum(1, keepdim=True)
        angle = square.abs().sqrt().clamp_min(1e-12)
        moved = torch.where(
            square > 0,
            torch.cosh(angle) * x + torch.sinh(angle) / angle * tangent,
            torch.cos(angle) * x + torch.sin(angle) / angle * tangent,
        )
        return moved, loss.item()


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--iterations", type=int, default=10_000)
    made.add_argument("--plain-iterations", type=int, default=200)
    made.add_argument("--rounds", type=int, default=5)
    options = made.parse_args()
    torch.set_num_threads(1)
    pairs = RankedPairs.of(datasets.karate())
    recipe = {
        **settings(weighted=True, q=1),
        "iterations": options.iterations,
        "dissimilarity": "geodesic",
    }
    config = TrainingConfig(p=3, q=1, **recipe)
    start = config.starting_points(datasets.karate())
    signs = torch.tensor([-1.0, -1.0, 1.0, 1.0, 1.0], dtype=torch.float64)
    plain = Plain(pairs, signs, config.temperature[0], config.step)
    engine = NumbaEngine(pairs, [config.spec()], best_every=config.best_every, threads=1)
    first = engine.advance(BatchState.start([start]), 1)[0, 0]
    plain_first = plain.iterate(torch.from_numpy(start))[1]
    if abs(first - plain_first) > 1e-8 * plain_first:
        raise SystemExit(f"the two forms disagree: {first} and {plain_first}")

    def eager() -> None:
        points = torch.from_numpy(start)
        for _ in range(options.plain_iterations):
            points, _ = plain.iterate(points)

    ours, theirs = [], []
    for _ in range(options.rounds):
        state = BatchState.start([start])
        seconds = best(partial(engine.advance, state, options.iterations), 1)
        ours.append(1e6 * seconds / options.iterations)
        theirs.append(1e6 * best(eager, 1) / options.plain_iterations)
    figures = {
        "iterations": options.iterations,
        "threads": engine.threads or 0,
        "plain_threads": torch.get_num_threads(),
        "compiled_us": min(ours),
        "plain_us": min(theirs),
        "speedup": min(theirs) / min(ours),
    }
    finish(figures, options.json, BARS)


if __name__ == "__main__":
    main()
