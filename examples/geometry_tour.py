"""A tour of the geometry: run it with `python examples/geometry_tour.py`."""

from __future__ import annotations

import math

import torch

import ultrahyperbolic as uh
from ultrahyperbolic.optim import DescentSettings, DescentState, Direction, descent_step

DIRECTIONS: dict[Direction, str] = {
    "descent": "-χ",
    "surrogate": "-|P_x|∇f",
    "gradient": "-Df",
    "signed-gradient": "±Df",
}


def three_geodesics() -> None:
    M = uh.PseudoHyperboloid(p=2, q=1, beta=-1.0)
    x = M.origin()
    directions = {"space-like": [0, 0, 1, 0], "null": [0, 1, 1, 0], "time-like": [0, 1, 0, 0]}
    print(f"Geodesics of {M} from the pole, and how far they have come by d_γ and in R⁴:\n")
    print(f"  {'':12} {'t = 1':>16} {'t = 3':>16} {'t = 2π':>16}")
    for name, coordinates in directions.items():
        u = torch.tensor(coordinates, dtype=torch.float64)
        cells = []
        for t in (1.0, 3.0, 2 * math.pi):
            y = M.geodesic(x, u, t)
            cells.append(f"{M.dist(x, y).item():6.3f} {(y - x).norm().item():8.3f}")
        print(f"  {name:12} {cells[0]:>16} {cells[1]:>16} {cells[2]:>16}")
    print("\n  Along a light ray d_γ stays 0; a time-like geodesic comes back after 2π.\n")


def not_every_pair_is_joined() -> None:
    M = uh.PseudoHyperboloid(p=3, q=1)
    generator = torch.Generator().manual_seed(0)
    x, y = M.random(10_000, generator=generator), M.random(10_000, generator=generator)
    joined = M.logmap(x, y).exists.double().mean().item()
    print(
        f"Of 10,000 random pairs on {M}, {100 * joined:.1f} % are joined by a geodesic; D_γ is "
        "defined for all:"
    )
    D = M.dissimilarity(x, y)
    print(f"  the largest is {D.max().item():.3f}, and {D.isnan().sum().item()} are NaN.\n")


def why_not_the_gradient() -> None:
    M = uh.PseudoHyperboloid(p=3, q=1)
    generator = torch.Generator().manual_seed(3)
    target = M.random(10, scale=0.5, generator=generator)
    start = M.expmap(target, 0.5 * M.random_tangent(target, generator=generator))

    def f(x: torch.Tensor) -> torch.Tensor:
        return (x - target).square().sum()

    def gradient_at(x: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(f(x), x)
        return gradient

    print(
        "Bringing ten points to their targets, f = Σ‖x - target‖², with steps of the same size:\n"
    )
    print(f"  {'iteration':>9}" + "".join(f" {title:>12}" for title in DIRECTIONS.values()))
    points = dict.fromkeys(DIRECTIONS, start)
    for iteration in range(401):
        if iteration % 100 == 0:
            print(f"  {iteration:9}" + "".join(f" {f(x).item():12.6f}" for x in points.values()))
        for direction, x in points.items():
            settings = DescentSettings(M, lr=0.02, max_step=0.1, direction=direction)
            points[direction], _ = descent_step(x, gradient_at(x), DescentState(), settings)
    x = points["signed-gradient"]
    rgrad = M.egrad2rgrad(x, gradient_at(x))
    length = rgrad.square().sum(-1)
    share = (M.sqnorm(rgrad).abs() / length)[length > 1e-2]
    print(
        "\n  -Df climbs as often as it falls. ±Df, whichever descends, falls at the rate |⟨Df, "
        "Df⟩|, which is 0 on the"
    )
    print(
        f"  light cone, and ends there: for {len(share)} of the 10 points it is now some "
        f"{share.median():.3f} of ‖Df‖²."
    )
    result = uh.minimize(f, start, M)
    print(
        f"\n  minimize: f = {result.value:.2e} after {result.iterations} iterations "
        f"({result.reason})\n"
    )


def where_the_signed_gradient_sticks() -> None:
    M = uh.PseudoHyperboloid(p=2, q=1)
    x, gradient = M.origin(1), torch.tensor([[0.0, 1.0, 1.0, 0.0]], dtype=torch.float64)
    rgrad = M.egrad2rgrad(x, gradient)
    print(f"f = x_1 + x_2 at the pole of {M}, where Df = {tuple(rgrad[0].int().tolist())} is null:")
    for direction, title in DIRECTIONS.items():
        moved, _ = descent_step(
            x, gradient, DescentState(), DescentSettings(M, lr=0.1, direction=direction)
        )
        print(f"  one step along {title:10} changes f by {(gradient * moved).sum().item():+.3f}")


if __name__ == "__main__":
    three_geodesics()
    not_every_pair_is_joined()
    why_not_the_gradient()
    where_the_signed_gradient_sticks()
