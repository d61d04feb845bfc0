"""Speed of the geometry: the two definite limits against geoopt, and χ against Gram–Schmidt.

Everything is float64, forward only and in one run; competitors take turns round by round, so that a busy machine slows
both. What is compared must agree before it is timed, otherwise the run fails. One thread by default: a kernel on
several waits for the slowest of them, and beside other work the operation with more kernels then looks slower than it
is.

The rival of χ is the descent direction of T. Gao, L.-H. Lim and K. Ye, "Semi-Riemannian manifold optimization"
(arXiv:1812.07643, 2018), which the paper discusses in Section 4.2.
"""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import geoopt
import torch
from bench import Bar, Figures, fill, parser, print_bars, save, slope, table
from torch import Tensor

from ultrahyperbolic import PseudoHyperboloid
from ultrahyperbolic.optim import gram_schmidt_direction, orthonormal_basis

BARS = {"expmap_ratio": 1.3, "logmap_ratio": 1.3, "dist_ratio": 1.3}
OPERATIONS = ("expmap", "logmap", "dist")
NAMES = ("chi", "gram_schmidt")
# geoopt's formulas cancel for nearby points of the hyperboloid (-⟨x, y⟩ near 1): the digits they keep set this bound.
AGREEMENT = 1e-6
SEPARATION = 1e-6
# The first calls of geoopt's scripted functions compile them.
COMPILING_CALLS = 3


class Sizes(NamedTuple):
    """How much work a run does."""

    points: int
    rounds: int
    dimensions: tuple[int, ...]
    dimension_rounds: int
    chi_elements: int
    gram_schmidt_elements: int
    residual_points: int


FULL = Sizes(100_000, 40, (4, 8, 16, 32, 64, 128, 256, 512), 5, 1 << 20, 1 << 21, 32)
QUICK = Sizes(2_000, 3, (4, 8, 16), 3, 1 << 12, 1 << 14, 4)


def interleave(
    functions: Mapping[str, Callable[[], object]], rounds: int, *, warm_up: int = 1
) -> dict[str, list[float]]:
    """Seconds of every call, all functions once a round, each round in the reverse order of the one before."""
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    order = list(functions)
    for turn in range(-warm_up, rounds):
        order.reverse()
        for name in order:
            start = time.perf_counter()
            functions[name]()
            stop = time.perf_counter()
            if turn >= 0:
                seconds[name].append(stop - start)
    return seconds


def median_ratio(ours: Iterable[float], theirs: Iterable[float]) -> float:
    """The median over the rounds: calls of one round saw the same machine."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


class Maps(NamedTuple):
    """The operations of one library on one manifold."""

    expmap: Callable[[Tensor, Tensor], Tensor]
    logmap: Callable[[Tensor, Tensor], Tensor]
    dist: Callable[[Tensor, Tensor], Tensor]


def our_maps(manifold: PseudoHyperboloid) -> Maps:
    return Maps(manifold.expmap, lambda x, y: manifold.logmap(x, y).vector, manifold.dist)


def geoopt_maps() -> dict[str, Maps]:
    """Lorentz with its projections switched off; the sphere has no such switch."""
    lorentz: Any = geoopt.Lorentz()
    sphere: Any = geoopt.Sphere()
    return {
        "lorentz": Maps(partial(lorentz.expmap, norm_tan=False, project=False), lorentz.logmap, lorentz.dist),
        "sphere": Maps(sphere.expmap, sphere.logmap, sphere.dist),
    }


def sample(manifold: PseudoHyperboloid, points: int) -> tuple[Tensor, Tensor, Tensor]:
    """Points x spread with scale 1, tangent vectors u and y = exp_x(u)."""
    generator = torch.Generator().manual_seed(0)
    x = manifold.random(points, generator=generator)
    u = manifold.random_tangent(x, scale=0.3, generator=generator)
    return x, u, manifold.expmap(x, u)


def calls(maps: Maps, x: Tensor, u: Tensor, y: Tensor) -> dict[str, Callable[[], Tensor]]:
    arguments = {"expmap": (x, u), "logmap": (x, y), "dist": (x, y)}
    return {name: partial(getattr(maps, name), *arguments[name]) for name in OPERATIONS}


def largest_difference(ours: Tensor, theirs: Tensor) -> float:
    """The largest relative difference of a row (of vectors [n, d] or scalars [n])."""
    if ours.dim() == 1:
        ours, theirs = ours.unsqueeze(-1), theirs.unsqueeze(-1)
    return float(((ours - theirs).norm(dim=-1) / theirs.norm(dim=-1)).max())


def error_nearby(manifold: PseudoHyperboloid, maps: Maps, x: Tensor, u: Tensor) -> float:
    """The largest relative error of a distance that is 1e-6; rounding y alone costs 1e-10 ‖x‖² or so."""
    y = manifold.expmap(x, u * (SEPARATION / manifold.norm(u, keepdim=True)))
    return float((maps.dist(x, y) / SEPARATION - 1.0).abs().max())


def compare_limit(name: str, manifold: PseudoHyperboloid, theirs: Maps, sizes: Sizes) -> Figures:
    """Agreement, errors and times of both libraries on one manifold."""
    ours = our_maps(manifold)
    x, u, y = sample(manifold, sizes.points)
    mine, rivals = calls(ours, x, u, y), calls(theirs, x, u, y)
    figures: Figures = {}
    for operation in OPERATIONS:
        difference = largest_difference(mine[operation](), rivals[operation]())
        if not difference <= AGREEMENT:
            raise SystemExit(f"{name} {operation}: differs from geoopt by {difference:.3g}, more than {AGREEMENT:g}")
        pair = {"ours": mine[operation], "geoopt": rivals[operation]}
        seconds = interleave(pair, sizes.rounds, warm_up=COMPILING_CALLS)
        figures |= {
            f"{name}_{operation}_ms": 1e3 * statistics.median(seconds["ours"]),
            f"geoopt_{name}_{operation}_ms": 1e3 * statistics.median(seconds["geoopt"]),
            f"{name}_{operation}_ratio": median_ratio(seconds["ours"], seconds["geoopt"]),
            f"{name}_{operation}_difference": difference,
        }
    figures[f"{name}_dist_error_nearby"] = error_nearby(manifold, ours, x, u)
    figures[f"geoopt_{name}_dist_error_nearby"] = error_nearby(manifold, theirs, x, u)
    return figures


def benchmark_maps(sizes: Sizes) -> Figures:
    """expmap, logmap and dist on H⁹ and S⁹ beside geoopt's, and on Q^{5,4} for information."""
    theirs = geoopt_maps()
    figures = compare_limit("lorentz", PseudoHyperboloid(9, 0), theirs["lorentz"], sizes)
    figures |= compare_limit("sphere", PseudoHyperboloid(0, 9), theirs["sphere"], sizes)
    mixed = PseudoHyperboloid(5, 4)
    for operation, seconds in interleave(calls(our_maps(mixed), *sample(mixed, sizes.points)), sizes.rounds).items():
        figures[f"ultrahyperbolic_{operation}_ms"] = 1e3 * statistics.median(seconds)
    for operation in ("expmap", "logmap"):
        figures[f"{operation}_ratio"] = max(figures[f"lorentz_{operation}_ratio"], figures[f"sphere_{operation}_ratio"])
    figures["dist_ratio"] = figures["lorentz_dist_ratio"]
    rows = []
    for name, operation in product(("lorentz", "sphere"), OPERATIONS):
        stem = f"{name}_{operation}"
        keys = (f"{stem}_ms", f"geoopt_{stem}_ms", f"{stem}_ratio", f"{stem}_difference")
        rows.append([stem, *(f"{figures[key]:.2g}" for key in keys)])
    print(table(("float64, forward", "ours [ms]", "geoopt [ms]", "ratio", "largest difference"), rows))
    return figures


def metric_signs(manifold: PseudoHyperboloid) -> Tensor:
    """The diagonal [d] of G."""
    signs = torch.ones(manifold.ambient_dim, dtype=torch.float64)
    signs[: manifold.q + 1] = -1.0
    return signs


def classical_gram_schmidt(manifold: PseudoHyperboloid, x: Tensor, start: Tensor) -> Tensor:
    """As ``orthonormal_basis``, with the coefficients taken from the untouched vectors: as costly and less stable."""
    signs = metric_signs(manifold)
    source = manifold.proju(x.unsqueeze(-2), start)
    basis = source.clone()
    for k in range(basis.shape[-2]):
        vector = basis[:, k]
        square = (vector.square() * signs).sum(-1, keepdim=True)
        vector /= square.abs().sqrt()
        dual = (signs * vector * square.sign()).unsqueeze(-2)
        coefficients = (source[:, k + 1 :] * dual).sum(-1, keepdim=True)
        basis[:, k + 1 :].addcmul_(coefficients, vector.unsqueeze(-2), value=-1.0)
    return basis


def gram_schmidt(manifold: PseudoHyperboloid, x: Tensor, gradient: Tensor, start: Tensor) -> Tensor:
    """ζ = Σ ⟨Df, e_i⟩ e_i, from the Euclidean gradient and the ambient vectors that the basis is made from."""
    return gram_schmidt_direction(manifold, x, manifold.egrad2rgrad(x, gradient), start)


def orthonormality(manifold: PseudoHyperboloid, basis: Tensor) -> Tensor:
    """max |⟨e_i, e_j⟩ - ε_i δ_ij| at every point, [n]."""
    gram = (basis * metric_signs(manifold)) @ basis.mT
    return (gram - torch.diag_embed(gram.diagonal(dim1=-2, dim2=-1).sign())).abs().amax((-2, -1))


def half_and_half(d: int) -> PseudoHyperboloid:
    """The pseudo-hyperboloid in R^d with as many time as space dimensions."""
    return PseudoHyperboloid(d // 2, d - 1 - d // 2)


def problem(manifold: PseudoHyperboloid, points: int) -> tuple[Tensor, Tensor, Tensor]:
    """Points of scale 1 and Euclidean gradients [n, d], and ambient vectors [d-1, d] from which to make bases."""
    generator = torch.Generator().manual_seed(0)
    d = manifold.ambient_dim
    x = manifold.random(points, generator=generator)
    gradient = torch.randn(points, d, dtype=torch.float64, generator=generator)
    return x, gradient, torch.randn(d - 1, d, dtype=torch.float64, generator=generator)


def time_directions(d: int, sizes: Sizes) -> Figures:
    """Microseconds a point; each method has as many points as make its temporaries the same size for all d."""
    manifold = half_and_half(d)
    chi_points, rival_points = max(1, sizes.chi_elements // d), max(1, sizes.gram_schmidt_elements // d**2)
    x, gradient, _ = problem(manifold, chi_points)
    seconds = interleave(
        {
            "chi": partial(manifold.descent_direction, x, gradient),
            "surrogate": partial(manifold.surrogate_direction, x, gradient),
            "gram_schmidt": partial(gram_schmidt, manifold, *problem(manifold, rival_points)),
        },
        sizes.dimension_rounds,
    )
    return {
        f"chi_points_d{d}": chi_points,
        f"gram_schmidt_points_d{d}": rival_points,
        f"chi_us_d{d}": 1e6 * statistics.median(seconds["chi"]) / chi_points,
        f"surrogate_us_d{d}": 1e6 * statistics.median(seconds["surrogate"]) / chi_points,
        f"gram_schmidt_us_d{d}": 1e6 * statistics.median(seconds["gram_schmidt"]) / rival_points,
    }


def direction_residuals(manifold: PseudoHyperboloid, x: Tensor, df: Tensor, zeta: Tensor, square: Tensor) -> Figures:
    """Worst over the points: how far ζ is from tangent, ⟨Df, ζ⟩ from what it should be, and ‖ζ‖/‖Df‖."""
    size = zeta.norm(dim=-1)
    return {
        "tangency": float((manifold.inner(x, zeta).abs() / (x.norm(dim=-1) * size)).max()),
        "descent": float((manifold.inner(df, zeta) / square - 1.0).abs().max()),
        "length": float((size / df.norm(dim=-1)).max()),
    }


def residuals(d: int, points: int) -> Figures:
    """What rounding does to both directions, and to the bases by where they start and how they are made."""
    manifold = half_and_half(d)
    x, gradient, start = problem(manifold, points)
    df, chi = manifold.egrad2rgrad(x, gradient), manifold.descent_direction(x, gradient)
    zeta, basis = gram_schmidt(manifold, x, gradient, start), orthonormal_basis(manifold, x, start)
    coefficients = (basis * (metric_signs(manifold) * df).unsqueeze(-2)).sum(-1)
    directions = {
        "chi": direction_residuals(manifold, x, df, chi, df.square().sum(-1)),
        "gram_schmidt": direction_residuals(manifold, x, df, zeta, coefficients.square().sum(-1)),
    }
    figures = {f"{name}_{key}_d{d}": value for name, found in directions.items() for key, value in found.items()}
    off = orthonormality(manifold, basis)
    figures[f"gram_schmidt_orthonormality_d{d}"] = float(off.max())
    figures[f"gram_schmidt_orthonormality_median_d{d}"] = float(off.median())
    # A vector with |⟨e, e⟩| = 1 is as long as the vector it was made of was close to null.
    figures[f"gram_schmidt_longest_d{d}"] = float(basis.norm(dim=-1).max())
    axes = torch.eye(d, dtype=torch.float64)
    others = {
        "classical": classical_gram_schmidt(manifold, x, start),
        "time_first": orthonormal_basis(manifold, x, axes[:-1]),
        "space_first": orthonormal_basis(manifold, x, axes.flip(0)[:-1]),
    }
    for name, other in others.items():
        figures[f"gram_schmidt_{name}_orthonormality_d{d}"] = float(orthonormality(manifold, other).max())
    return figures


def format_figure(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3g}" if 0.01 <= value < 1000 else f"{value:.1e}"


# Of each d: the keys of a table.
TIMES = ("chi_us", "surrogate_us", "chi_points", "gram_schmidt_us", "gram_schmidt_points")
RESIDUALS = tuple(f"{name}_{key}" for name in NAMES for key in ("tangency", "descent", "length"))
VARIANTS = ("", "classical_", "time_first_", "space_first_")
BASES = ("gram_schmidt_longest", *(f"gram_schmidt_{variant}orthonormality" for variant in VARIANTS))


def benchmark_directions(sizes: Sizes) -> Figures:
    """χ and the Gram–Schmidt direction over d: time, its growth and the residuals."""
    figures: Figures = {}
    for d in sizes.dimensions:
        figures |= time_directions(d, sizes)
        figures |= residuals(d, sizes.residual_points)
    # Small d measure how torch reduces short rows as well as how the work grows: the tail says how it goes on.
    tail = sizes.dimensions[len(sizes.dimensions) // 2 :]
    for name, (part, some) in product(NAMES, (("", sizes.dimensions), ("tail_", tail))):
        figures[f"{name}_{part}exponent"] = slope(some, [figures[f"{name}_us_d{d}"] for d in some])
    for keys in (TIMES, RESIDUALS, BASES):
        rows = [(str(d), *(format_figure(figures[f"{key}_d{d}"]) for key in keys)) for d in sizes.dimensions]
        print(f"\n{table(('d', *keys), rows)}")
    return figures


def section(figures: Figures, sizes: Sizes, threads: int) -> str:
    """The tables of docs/performance.md on the geometry."""
    first, last = sizes.dimensions[0], sizes.dimensions[-1]
    tail = sizes.dimensions[len(sizes.dimensions) // 2]
    ratios = {
        "exponential map, the slower of the two limits": "expmap_ratio",
        "logarithm, the slower of the two limits": "logmap_ratio",
        "distance, Lorentz model": "dist_ratio",
        "distance, sphere": "sphere_dist_ratio",
        f"largest relative error of our distance at {SEPARATION:g}, sphere": "sphere_dist_error_nearby",
        "the same of geoopt": "geoopt_sphere_dist_error_nearby",
    }
    growth = {
        f"exponent of d over {first} … {last}": "exponent", f"exponent of d over {tail} … {last}": "tail_exponent",
        f"µs at d = {last}": f"us_d{last}",
    }  # fmt: skip
    drift = {
        "from random tangent vectors": "", "the same in the classical form": "classical_",
        "from the coordinate axes, time first": "time_first_", "space first": "space_first_",
    }  # fmt: skip
    by_key = [[w, f"`{k}`", format_figure(figures[k]), str(BARS.get(k, "–"))] for w, k in ratios.items()]
    by_d = [[w, *(f"`{n}_{k}` {format_figure(figures[f'{n}_{k}'])}" for n in NAMES)] for w, k in growth.items()]
    keys = {words: f"gram_schmidt_{variant}orthonormality_d{last}" for words, variant in drift.items()}
    bases = [[words, f"`{key}`", format_figure(figures[key])] for words, key in keys.items()]
    versions = f"torch {torch.__version__}, geoopt {geoopt.__version__}, {threads} thread(s), {platform.machine()}"
    return "\n\n".join([
        f"{sizes.points:,} points of ambient dimension 10, {versions}:",
        table(("ratio to geoopt, projections off", "key", "measured", "bar"), by_key),
        "χ against the Gram–Schmidt direction of Gao, Lim & Ye (2018), time for one point:",
        table(("", "χ", "Gram–Schmidt"), by_d),
        f"How far a Gram–Schmidt basis is from orthonormal, the worst of {sizes.residual_points} points at d = {last}:",
        table(("basis", "key", "off by"), bases),
    ])  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    made = parser(__doc__)
    made.add_argument("--docs", type=Path, metavar="DIR", help="write the section on geometry of DIR/performance.md")
    made.add_argument("--quick", action="store_true", help="a small run that only shows that everything works")
    made.add_argument("--threads", type=int, default=1, help="of torch (default: 1)")
    options = made.parse_args(arguments)
    sizes = QUICK if options.quick else FULL
    torch.set_num_threads(options.threads)
    with torch.no_grad():
        figures = benchmark_maps(sizes) | benchmark_directions(sizes)
    print(f"\n{section(figures, sizes, options.threads)}\n")
    print_bars([Bar(key, figures[key] <= bar, f"{figures[key]:.2f}, at most {bar}") for key, bar in BARS.items()])
    if options.docs is not None:
        fill(options.docs / "performance.md", {"geometry": section(figures, sizes, options.threads)})
    save(figures | {"threads": options.threads, "points": sizes.points}, options.json)


if __name__ == "__main__":
    main()
