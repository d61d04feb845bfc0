"""geoopt's Lorentz model or its sphere with our ranking loss (Eq. 17), by its Riemannian Adam."""

from __future__ import annotations

import geoopt
import torch
from peer import Given, Placed, main

from ultrahyperbolic.graph import Graph
from ultrahyperbolic.objective import RankingLoss

# τ at the start and at the end, as our own method has it on these two.
TEMPERATURES = {"lorentz": (0.2, 0.1), "sphere": (0.04, 0.001)}


def train(given: Given) -> Placed:
    """All pairs in every iteration; the step and τ fall geometrically."""
    name = given.options.get("space", "lorentz")
    graph = Graph.from_arrays(given.edges[:, 0], given.edges[:, 1], given.weights, ids=given.n)
    space = geoopt.Lorentz() if name == "lorentz" else geoopt.Sphere()
    generator = torch.Generator().manual_seed(given.seed)
    noise = torch.randn(given.n, given.dim + 1, generator=generator, dtype=torch.float64)
    start = space.projx(0.1 * noise) if name == "lorentz" else space.projx(noise)
    points = geoopt.ManifoldParameter(start, manifold=space)
    iterations = int(given.number("iterations", 1000 if given.n < 1000 else 300))
    first, last = TEMPERATURES[name]
    step = given.number("step", 0.1)
    optimizer = geoopt.optim.RiemannianAdam([points], lr=step)
    loss = RankingLoss(graph, space.dist, first)
    for iteration in range(iterations):
        share = iteration / max(1, iterations - 1)
        loss.temperature = first * (last / first) ** share
        optimizer.param_groups[0]["lr"] = step * 0.01**share
        optimizer.zero_grad()
        torch.autograd.backward(loss(points))
        with torch.no_grad():
            points.grad.nan_to_num_(0.0, 0.0, 0.0)  # of points that coincide, whose distance has no slope
        optimizer.step()
    return Placed(points.detach().numpy(), name)


if __name__ == "__main__":
    main(train)
