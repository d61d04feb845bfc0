"""Which way to minimise a function on a manifold: χ and the surrogate with a line search, and L-BFGS through φ.

    python benchmarks/minimize.py --json out/minimize.json

Nine functions on four signatures with two β, from the same random starts, by ``minimize``. A run has converged once
‖Df‖ is 1e-7 of what it was at the start, within 500 iterations. Printed are the share of runs that did, the median of
the evaluations of f that they took (what was spent counts where a run did not), and how often a method ended within
1e-6 of the lowest value that any of the three found from that start. Each evaluation of L-BFGS is one of the gradient
too; of the line search's about every other is.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from itertools import product
from typing import Any

import torch
from bench import Figures, parser, save, table
from torch import Tensor

from ultrahyperbolic import PseudoHyperboloid, datasets, minimize
from ultrahyperbolic.objective import RankedPairs, RankingLoss

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "chi": ("χ, Armijo", {"method": "line_search", "direction": "descent"}),
    "surrogate": ("surrogate, Armijo", {"method": "line_search", "direction": "surrogate"}),
    "lbfgs": ("L-BFGS through φ", {"method": "lbfgs"}),
}
SIGNATURES = [(4, 0), (3, 1), (2, 2), (0, 4)]
BETAS = (-1.0, -4.0)
TOLERANCE = 1e-7

Function = Callable[[Tensor], Tensor]
Problem = Callable[[PseudoHyperboloid, torch.Generator], tuple[Function, Tensor]]


def radius(M: PseudoHyperboloid) -> float:
    return float(M.beta.abs().sqrt())


def squares(scale: float) -> Problem:
    """Σ ‖x - a‖² with a on the manifold: the least is 0."""

    def problem(M: PseudoHyperboloid, generator: torch.Generator) -> tuple[Function, Tensor]:
        target = M.random(6, scale=scale, generator=generator)
        return lambda x: (x - target).square().sum(), M.random(6, scale=scale, generator=generator)

    return problem


def quadratic(M: PseudoHyperboloid, generator: torch.Generator) -> tuple[Function, Tensor]:
    """Σ xᵀ A x with positive definite matrices A."""
    d = M.ambient_dim
    root = torch.randn(6, d, d, dtype=torch.float64, generator=generator)
    matrices = root @ root.mT + 0.1 * torch.eye(d, dtype=torch.float64)
    return lambda x: torch.einsum("ni,nij,nj->", x, matrices, x), M.random(6, scale=2.0, generator=generator)


def median(M: PseudoHyperboloid, generator: torch.Generator) -> tuple[Function, Tensor]:
    """The sum of smoothed dissimilarities to twenty points."""
    cloud, epsilon = M.random(20, scale=0.7, generator=generator), 0.1 * radius(M) ** 2
    start = M.random(3, scale=0.7, generator=generator)
    return lambda x: M.smoothed_dissimilarity(x[:, None], cloud, epsilon).sum(), start


def mean(M: PseudoHyperboloid, generator: torch.Generator) -> tuple[Function, Tensor]:
    """The sum of (⟨x, y⟩/β - 1)² over twenty points y, a fourth power of the distance."""
    cloud = M.random(20, scale=0.7, generator=generator)
    start = M.random(3, scale=2.0, generator=generator)
    return lambda x: (M.inner(x[:, None], cloud) / M.beta - 1.0).square().sum(), start


def products(M: PseudoHyperboloid, generator: torch.Generator) -> tuple[Function, Tensor]:
    """Ten points by their table of scalar products: the least is 0."""
    points = M.random(10, generator=generator)
    table = M.inner(points[:, None], points)
    return lambda x: (M.inner(x[:, None], x) - table).square().sum(), M.random(10, generator=generator)


def rosenbrock(M: PseudoHyperboloid, generator: torch.Generator) -> tuple[Function, Tensor]:
    """Rosenbrock's valley, restricted to the manifold."""
    unit = radius(M)

    def function(x: Tensor) -> Tensor:
        y = x / unit
        return (100.0 * (y[:, 1:] - y[:, :-1].square()).square() + (1.0 - y[:, :-1]).square()).sum()

    return function, M.random(4, generator=generator)


def stress(M: PseudoHyperboloid, generator: torch.Generator) -> tuple[Function, Tensor]:
    """A ring of twelve nodes with two chords by its hops, as dissimilarities."""
    n, unit = 12, radius(M)
    ends = [(i, (i + 1) % n) for i in range(n)] + [(0, 6), (3, 9)]
    hops = torch.full((n, n), float(n), dtype=torch.float64).fill_diagonal_(0.0)
    for a, b in ends:
        hops[a, b] = hops[b, a] = 1.0
    for k in range(n):
        hops = torch.minimum(hops, hops[:, k : k + 1] + hops[k])
    i, j = torch.triu_indices(n, n, 1)
    wanted = 0.4 * unit * hops[i, j]

    def function(x: Tensor) -> Tensor:
        return (M.smoothed_dissimilarity(x[i], x[j], 0.1 * unit**2) - wanted).square().sum()

    return function, M.random(n, scale=0.5, generator=generator)


def ranking(M: PseudoHyperboloid, generator: torch.Generator) -> tuple[Function, Tensor]:
    """The paper's loss (Eq. 17) of the karate club, τ = 0.1, the cone smoothed."""
    unit = radius(M)
    loss = RankingLoss(
        RankedPairs.of(datasets.karate()), lambda x, y: M.smoothed_dissimilarity(x, y, 0.1 * unit**2), 0.1 * unit
    )
    return loss, M.random_near_pole(34, epsilon=0.1 * unit, generator=generator)


PROBLEMS: dict[str, tuple[str, Problem]] = {
    "squares": ("‖x - a‖², scale 1", squares(1.0)),
    "far_squares": ("‖x - a‖², scale 3", squares(3.0)),
    "quadratic": ("xᵀ A x", quadratic),
    "median": ("sum of smoothed dissimilarities", median),
    "mean": ("sum of (⟨x, y⟩/β - 1)²", mean),
    "products": ("table of scalar products", products),
    "rosenbrock": ("Rosenbrock", rosenbrock),
    "stress": ("stress of a graph", stress),
    "ranking": ("ranking loss of the club", ranking),
}


def measure(name: str, make: Problem, signatures: list[tuple[int, int]], seeds: int, iterations: int) -> Figures:
    """The shares of the methods that converged and that ended lowest, and their evaluations, from the same starts."""
    rows: dict[str, list[tuple[bool, int, bool]]] = {method: [] for method in METHODS}
    for (p, q), beta, seed in product(signatures, BETAS, range(seeds)):
        M = PseudoHyperboloid(p, q, beta)
        function, start = make(M, torch.Generator().manual_seed(seed))
        tolerance = TOLERANCE * minimize(function, start, M, max_iterations=0).gradient_norm
        limits: dict[str, Any] = {"max_iterations": iterations, "gradient_tolerance": tolerance}
        results = {m: minimize(function, start, M, **limits, **options) for m, (_, options) in METHODS.items()}
        low = min(result.value for result in results.values())
        for method, result in results.items():
            near = result.value <= low + 1e-6 * max(1.0, abs(low))
            rows[method].append((result.gradient_norm <= tolerance, result.evaluations, near))
    figures: Figures = {}
    for method, runs in rows.items():
        converged, evaluations, lowest = zip(*runs, strict=True)
        shares = {"converged": statistics.fmean(converged), "lowest": statistics.fmean(lowest)}
        shares["evaluations"] = statistics.median(evaluations)
        figures |= {f"{name}_{method}_{what}": value for what, value in shares.items()}
    return figures


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--seeds", type=int, default=1)
    made.add_argument("--iterations", type=int, default=500)
    made.add_argument("--quick", action="store_true", help="one signature, seed and function: does it run")
    options = made.parse_args()
    torch.set_num_threads(1)  # of so little work, threads only lose time
    signatures, seeds, problems = SIGNATURES, options.seeds, PROBLEMS
    if options.quick:
        signatures, seeds, problems = [(3, 1)], 1, {"squares": PROBLEMS["squares"]}
    figures: Figures = {}
    for name, (_, make) in problems.items():
        figures |= measure(name, make, signatures, seeds, options.iterations)
    for method in METHODS:
        for what in ("converged", "lowest"):
            figures[f"{method}_{what}"] = statistics.fmean(figures[f"{name}_{method}_{what}"] for name in problems)
        spent = [figures[f"{name}_{method}_evaluations"] for name in problems]
        figures[f"{method}_evaluations"] = statistics.geometric_mean(spent)
    rows = []
    for stem, title in [*((f"{name}_", title) for name, (title, _) in problems.items()), ("", "all")]:
        whats = ("converged", "evaluations", "lowest")
        cells = [[figures[f"{stem}{method}_{what}"] for what in whats] for method in METHODS]
        rows.append([title, *(f"{a:.2f}, {b:.0f}, {c:.2f}" for a, b, c in cells)])
    print(table(["share converged, evaluations, share of the lowest", *(title for title, _ in METHODS.values())], rows))
    save(figures, options.json)


if __name__ == "__main__":
    main()
