"""Speed of the geometry: the two definite limits against geoopt, and χ against Gram–Schmidt.

Everything is float64, forward only and in one run; competitors take turns round by round, so that a
busy machine slows both. What is compared must agree before it is timed, otherwise the run fails.
One thread by default.

The rival of χ is the descent direction of T. Gao, L.-H. Lim and K. Ye, "Semi-Riemannian manifold
optimization" (arXiv:1812.07643, 2018), which the paper discusses in Section 4.2.
"""

import platform
import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import geoopt
import torch
from bench import Bar, Figures, fill, parser, print_bars, save, show, slope, table
from torch import Tensor

from ultrahyperbolic import PseudoHyperboloid
from ultrahyperbolic.optim import gram_schmidt_direction, orthonormal_basis

BARS = {"expmap_ratio": 1.3, "logmap_ratio": 1.3, "dist_ratio": 1.3}
OPERATIONS = ("expmap", "logmap", "dist")
NAMES = ("chi", "gram_schmidt")
# geoopt's formulas cancel for nearby points of the hyperboloid (-⟨x, y⟩ near 1): the digits they
# keep set this bound.
AGREEMENT = 1e-6
SEPARATION = 1e-6
# The first calls of geoopt's scripted functions compile them.
COMPILING_CALLS = 3
Maps = Mapping[str, Callable[[Tensor, Tensor], Tensor]]


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
    work: Mapping[str, Callable[[], object]], rounds: int, warm_up: int = 1
) -> dict[str, list[float]]:
    """Seconds of every call, all functions once a round, each round in the reverse order of the one
    before.
    """
    seconds: dict[str, list[float]] = {name: [] for name in work}
    order = list(work)
    for _ in range(warm_up + rounds):
        order.reverse()
        for name in order:
            start = time.perf_counter()
            work[name]()
            seconds[name].append(time.perf_counter() - start)
    return {name: times[warm_up:] for name, times in seconds.items()}


def our_maps(M: PseudoHyperboloid) -> Maps:
    return {"expmap": M.expmap, "logmap": lambda x, y: M.logmap(x, y).vector, "dist": M.dist}


def geoopt_maps() -> dict[str, Maps]:
    """Lorentz with its projections switched off; the sphere has no such switch."""
    lorentz: Any = geoopt.Lorentz()
    sphere: Any = geoopt.Sphere()
    plain = partial(lorentz.expmap, norm_tan=False, project=False)
    return {
        "lorentz": {"expmap": plain, "logmap": lorentz.logmap, "dist": lorentz.dist},
        "sphere": {name: getattr(sphere, name) for name in OPERATIONS},
    }


def sample(manifold: PseudoHyperboloid, points: int) -> dict[str, tuple[Tensor, Tensor]]:
    """The arguments of the maps: points x spread with scale 1, tangent vectors u and y =
    exp_x(u).
    """
    generator = torch.Generator().manual_seed(0)
    x = manifold.random(points, generator=generator)
    u = manifold.random_tangent(x, scale=0.3, generator=generator)
    y = manifold.expmap(x, u)
    return {"expmap": (x, u), "logmap": (x, y), "dist": (x, y)}


def error_nearby(manifold: PseudoHyperboloid, maps: Maps, x: Tensor, u: Tensor) -> float:
    """The largest relative error of a distance that is 1e-6; rounding y alone costs 1e-10 ‖x‖² or
    so.
    """
    y = manifold.expmap(x, u * (SEPARATION / manifold.norm(u, keepdim=True)))
    return float((maps["dist"](x, y) / SEPARATION - 1.0).abs().max())


def compare_limit(name: str, manifold: PseudoHyperboloid, theirs: Maps, sizes: Sizes) -> Figures:
    """Agreement, errors and times of both libraries on one manifold; a ratio is the median over the
    rounds.
    """
    ours, figures = our_maps(manifold), Figures()
    arguments = sample(manifold, sizes.points)
    for operation in OPERATIONS:
        pair = {
            who: partial(maps[operation], *arguments[operation])
            for who, maps in (("", ours), ("geoopt_", theirs))
        }
        mine, rival = (work().reshape(sizes.points, -1) for work in pair.values())
        difference = float(((mine - rival).norm(dim=-1) / rival.norm(dim=-1)).max())
        if not difference <= AGREEMENT:
            raise SystemExit(
                f"{name} {operation}: differs from geoopt by {difference:.3g}, more than "
                f"{AGREEMENT:g}"
            )
        seconds, stem = interleave(pair, sizes.rounds, COMPILING_CALLS), f"{name}_{operation}"
        figures |= {
            f"{who}{stem}_ms": 1e3 * statistics.median(times) for who, times in seconds.items()
        }
        figures[f"{stem}_ratio"] = statistics.median(
            a / b for a, b in zip(*seconds.values(), strict=True)
        )
        figures[f"{stem}_difference"] = difference
    for who, maps in (("", ours), ("geoopt_", theirs)):
        figures[f"{who}{name}_dist_error_nearby"] = error_nearby(
            manifold, maps, *arguments["expmap"]
        )
    return figures


def benchmark_maps(sizes: Sizes) -> Figures:
    """expmap, logmap and dist on H⁹ and S⁹ beside geoopt's, and on Q^{5,4} for information."""
    theirs, mixed = geoopt_maps(), PseudoHyperboloid(5, 4)
    figures = compare_limit("lorentz", PseudoHyperboloid(9, 0), theirs["lorentz"], sizes)
    figures |= compare_limit("sphere", PseudoHyperboloid(0, 9), theirs["sphere"], sizes)
    arguments, maps = sample(mixed, sizes.points), our_maps(mixed)
    work = {operation: partial(maps[operation], *arguments[operation]) for operation in OPERATIONS}
    for operation, seconds in interleave(work, sizes.rounds).items():
        figures[f"ultrahyperbolic_{operation}_ms"] = 1e3 * statistics.median(seconds)
    for operation in ("expmap", "logmap"):
        figures[f"{operation}_ratio"] = max(
            figures[f"lorentz_{operation}_ratio"], figures[f"sphere_{operation}_ratio"]
        )
    return figures | {"dist_ratio": figures["lorentz_dist_ratio"]}


def metric_signs(manifold: PseudoHyperboloid) -> Tensor:
    """The diagonal [d] of G."""
    return (torch.arange(manifold.ambient_dim) > manifold.q).double() * 2.0 - 1.0


def classical_gram_schmidt(manifold: PseudoHyperboloid, x: Tensor, start: Tensor) -> Tensor:
    """As ``orthonormal_basis``, with the coefficients taken from the untouched vectors: as costly
    and less stable.
    """
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
    """ζ = Σ ⟨Df, e_i⟩ e_i, from the Euclidean gradient and the ambient vectors that the basis is
    made from.
    """
    return gram_schmidt_direction(manifold, x, manifold.egrad2rgrad(x, gradient), start)


def orthonormality(manifold: PseudoHyperboloid, basis: Tensor) -> Tensor:
    """max |⟨e_i, e_j⟩ - ε_i δ_ij| at every point, [n]."""
    gram = (basis * metric_signs(manifold)) @ basis.mT
    return (gram - torch.diag_embed(gram.diagonal(dim1=-2, dim2=-1).sign())).abs().amax((-2, -1))


def problem(manifold: PseudoHyperboloid, points: int) -> tuple[Tensor, Tensor, Tensor]:
    """Points of scale 1 and Euclidean gradients [n, d], and ambient vectors [d-1, d] from which to
    make bases.
    """
    generator, d = torch.Generator().manual_seed(0), manifold.ambient_dim
    x = manifold.random(points, generator=generator)
    gradient = torch.randn(points, d, dtype=torch.float64, generator=generator)
    return x, gradient, torch.randn(d - 1, d, dtype=torch.float64, generator=generator)


def time_directions(manifold: PseudoHyperboloid, d: int, sizes: Sizes) -> Figures:
    """Microseconds a point; the number of points makes the temporaries of a method the same size
    for all d.
    """
    points = {
        "chi": max(1, sizes.chi_elements // d),
        "gram_schmidt": max(1, sizes.gram_schmidt_elements // d**2),
    }
    points["surrogate"] = points["chi"]
    x, gradient, _ = problem(manifold, points["chi"])
    work = {
        "chi": partial(manifold.descent_direction, x, gradient),
        "surrogate": partial(manifold.surrogate_direction, x, gradient),
        "gram_schmidt": partial(gram_schmidt, manifold, *problem(manifold, points["gram_schmidt"])),
    }
    seconds = interleave(work, sizes.dimension_rounds)
    return {
        f"{name}_us_d{d}": 1e6 * statistics.median(seconds[name]) / points[name] for name in work
    }


def residuals(manifold: PseudoHyperboloid, d: int, points: int) -> Figures:
    """What rounding does, at worst, to the bases."""
    x, _, start = problem(manifold, points)
    axes = torch.eye(d, dtype=torch.float64)
    bases = {
        "": orthonormal_basis(manifold, x, start),
        "classical_": classical_gram_schmidt(manifold, x, start),
        "time_first_": orthonormal_basis(manifold, x, axes[:-1]),
        "space_first_": orthonormal_basis(manifold, x, axes.flip(0)[:-1]),
    }
    return {
        f"gram_schmidt_{name}orthonormality_d{d}": float(orthonormality(manifold, made).max())
        for name, made in bases.items()
    }


def benchmark_directions(sizes: Sizes) -> Figures:
    """χ and the Gram–Schmidt direction over d, half time and half space: time, its growth and the
    residuals.
    """
    figures: Figures = {}
    for d in sizes.dimensions:
        manifold = PseudoHyperboloid(d // 2, d - 1 - d // 2)
        figures |= time_directions(manifold, d, sizes) | residuals(
            manifold, d, sizes.residual_points
        )
    # Small d measure how torch reduces short rows as well as how the work grows: the tail says how
    # it goes on.
    tail = sizes.dimensions[len(sizes.dimensions) // 2 :]
    for name, (part, some) in product(NAMES, (("", sizes.dimensions), ("tail_", tail))):
        figures[f"{name}_{part}exponent"] = slope(some, [figures[f"{name}_us_d{d}"] for d in some])
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
        (
            f"largest relative error of our distance at {SEPARATION:g}, sphere"
        ): "sphere_dist_error_nearby",
        "the same of geoopt": "geoopt_sphere_dist_error_nearby",
    }
    growth = {
        f"exponent of d over {first} … {last}": "exponent",
        f"exponent of d over {tail} … {last}": "tail_exponent",
        f"µs at d = {last}": f"us_d{last}",
    }
    drift = {
        "from random tangent vectors": "",
        "the same in the classical form": "classical_",
        "from the coordinate axes, time first": "time_first_",
        "space first": "space_first_",
    }
    by_key = [
        [words, f"`{key}`", f"{figures[key]:.3g}", f"{BARS.get(key, '–')}"]
        for words, key in ratios.items()
    ]
    by_d = [
        [words, *(f"`{n}_{key}` {figures[f'{n}_{key}']:.3g}" for n in NAMES)]
        for words, key in growth.items()
    ]
    keys = {
        words: f"gram_schmidt_{variant}orthonormality_d{last}" for words, variant in drift.items()
    }
    bases = [[words, f"`{key}`", f"{figures[key]:.1g}"] for words, key in keys.items()]
    versions = (
        f"torch {torch.__version__}, geoopt {geoopt.__version__}, {threads} thread(s), "
        f"{platform.machine()}"
    )
    return "\n\n".join(
        [
            f"{sizes.points:,} points of ambient dimension 10, {versions}:",
            table(("ratio to geoopt, projections off", "key", "measured", "bar"), by_key),
            "χ against the Gram–Schmidt direction of Gao, Lim & Ye (2018), time for one point:",
            table(("", "χ", "Gram–Schmidt"), by_d),
            "How far a Gram–Schmidt basis is from orthonormal, the worst of "
            f"{sizes.residual_points} points at d = {last}:",
            table(("basis", "key", "off by"), bases),
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    made = parser(__doc__)
    made.add_argument(
        "--docs",
        type=Path,
        metavar="DIR",
        help="write the section on geometry of DIR/performance.md",
    )
    made.add_argument(
        "--quick", action="store_true", help="a small run that only shows that everything works"
    )
    made.add_argument("--threads", type=int, default=1, help="of torch (default: 1)")
    options = made.parse_args(arguments)
    sizes = QUICK if options.quick else FULL
    torch.set_num_threads(options.threads)
    with torch.no_grad():
        figures = benchmark_maps(sizes) | benchmark_directions(sizes)
    show(figures)
    print_bars(
        [
            Bar(key, figures[key] <= bar, f"{figures[key]:.2f}, at most {bar}")
            for key, bar in BARS.items()
        ]
    )
    if options.docs is not None:
        fill(
            options.docs / "performance.md", {"geometry": section(figures, sizes, options.threads)}
        )
    save(figures | {"threads": options.threads, "points": sizes.points}, options.json)


if __name__ == "__main__":
    main()
