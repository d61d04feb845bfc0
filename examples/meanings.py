"""Dissimilarities that are no metric: words with several meanings, placed by `minimize`. No graph
is involved.

    python examples/meanings.py --picture docs/meanings.png

Eighteen words have one or two of four topics, and a word's meanings are points of a plane. Two
words are as far apart as their nearest meanings: "bank" is near "river" and near "loan", which are
far from each other, so the triangle inequality fails. No metric space holds such a table, whatever
its dimension; on Q^{p,q} two points may both be on the light cone of a third, at distance 0 from
it, and as far apart as one likes.

Every geometry of dimension 4 gets the same number of starts, of which the best is kept. The table
is made here, from a seed.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

import ultrahyperbolic as uh
from ultrahyperbolic.options import Dissimilarity

TOPICS = {
    "water": ("river", "stream", "fish"),
    "money": ("loan", "coin", "credit"),
    "sport": ("team", "goal", "ball"),
    "music": ("song", "chord", "choir"),
}
AMBIGUOUS = {
    "bank": ("water", "money"),
    "pool": ("water", "sport"),
    "bass": ("water", "music"),
    "stake": ("money", "sport"),
    "note": ("money", "music"),
    "pitch": ("sport", "music"),
}
WORDS = {word: (topic,) for topic, words in TOPICS.items() for word in words} | AMBIGUOUS
NAMES = list(WORDS)
GEOMETRIES: dict[str, uh.Manifold] = {
    "R^4": uh.Euclidean(4),
    "Q^{4,0}": uh.PseudoHyperboloid(4, 0),
    "Q^{0,4}": uh.PseudoHyperboloid(0, 4),
    "Q^{3,1}": uh.PseudoHyperboloid(3, 1),
    "Q^{2,2}": uh.PseudoHyperboloid(2, 2),
}
# From a smooth function to the one that counts: ε of the smoothed dissimilarity, and at last none.
STAGES = (0.3, 0.03, 0.003, None)


def table(seed: int) -> Tensor:
    """Dissimilarities [n, n] of the words, of mean 1: the distance between the nearest of their
    meanings.
    """
    generator = torch.Generator().manual_seed(seed)
    corners = {"water": (0.0, 0.0), "money": (3.0, 0.0), "sport": (3.0, 3.0), "music": (0.0, 3.0)}
    meanings = []
    for topics in WORDS.values():
        centres = torch.tensor([corners[topic] for topic in topics], dtype=torch.float64)
        meanings.append(
            centres + 0.4 * torch.randn(centres.shape, dtype=torch.float64, generator=generator)
        )
    distances = torch.stack(
        [torch.stack([torch.cdist(a, b).min() for b in meanings]) for a in meanings]
    )
    distances.fill_diagonal_(0.0)
    return distances / distances[distances > 0].mean()


def broken_triangles(D: Tensor) -> float:
    """The share of ordered triples of different words with D[i, j] > D[i, k] + D[k, j]."""
    n = len(D)
    broken = D[:, None, :] > D[:, :, None] + D[None, :, :]
    return int(broken.sum()) / (n * (n - 1) * (n - 2))


@dataclass
class Fit:
    """What was made of the table in one geometry."""

    lengths: Tensor
    """[n, n] the dissimilarities of the points."""
    stress: float
    """√(Σ(fitted - given)²/Σ given²) over all pairs; 0 is perfect."""
    stresses: list[float]
    """Of every start, ascending."""


def start(D: Tensor, manifold: uh.Manifold, generator: torch.Generator) -> Tensor:
    """Where to begin: -cosh D taken for ⟨x, y⟩, by its eigenvectors, and jittered; near 0 in flat
    space.
    """
    if not isinstance(manifold, uh.PseudoHyperboloid):
        return manifold.random_near_pole(len(D), generator=generator)
    values, vectors = torch.linalg.eigh(-torch.cosh(D))
    scaled = vectors * values.abs().sqrt()
    time, space = scaled[:, : manifold.q + 1], scaled[:, len(D) - manifold.p :]
    points = torch.cat((time * time[:, :1].sum().sign(), space), dim=-1)
    return manifold.phi(
        points + 0.1 * torch.randn(points.shape, dtype=torch.float64, generator=generator)
    )


def fit(D: Tensor, manifold: uh.Manifold, starts: int) -> Fit:
    """Machine the words, from several starts, each smoothed first and then less and less."""
    n = len(D)
    i, j = torch.triu_indices(n, n, 1)

    # The dissimilarity of flat space is squared.
    measure: Dissimilarity = "distance" if isinstance(manifold, uh.Euclidean) else "geodesic"

    def stress(points: Tensor, epsilon: float | None) -> Tensor:
        function = manifold.pair_function(measure if epsilon is None else "smoothed", epsilon)
        lengths = function(points[i], points[j])
        total: Tensor = (lengths - D[i, j]).square().sum() / D[i, j].square().sum()
        return total

    found: list[tuple[float, Tensor]] = []
    for seed in range(starts):
        points = start(D, manifold, torch.Generator().manual_seed(seed))
        for epsilon in STAGES:
            function = partial(stress, epsilon=epsilon)
            result = uh.minimize(
                function, points, manifold, max_iterations=50, gradient_tolerance=1e-4
            )
            points = result.point
        found.append((result.value**0.5, manifold.cdist(points, dissimilarity=measure)))
    found.sort(key=lambda pair: pair[0])
    return Fit(found[0][1], found[0][0], [value for value, _ in found])


def draw(D: Tensor, fits: dict[str, Fit], path: Path) -> None:
    """Given against fitted dissimilarities, one panel for each geometry, as a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    n = len(D)
    i, j = torch.triu_indices(n, n, 1)
    ambiguous = torch.tensor([word in AMBIGUOUS for word in NAMES])
    either = ambiguous[i] | ambiguous[j]
    figure, axes = pyplot.subplots(
        1, len(fits), figsize=(2.3 * len(fits), 2.9), sharex=True, sharey=True
    )
    top = 1.05 * max(float(D.max()), *(float(found.lengths.max()) for found in fits.values()))
    for axis, (name, found) in zip(axes, fits.items(), strict=True):
        for chosen, color, label in (
            (~either, "#4c72b0", "one meaning"),
            (either, "#dd8452", "with an ambiguous word"),
        ):
            axis.scatter(
                D[i, j][chosen],
                found.lengths[i, j][chosen],
                s=7,
                color=color,
                label=label,
                linewidths=0,
            )
        axis.plot([0, top], [0, top], color="#999999", linewidth=0.8, zorder=0)
        axis.set_title(f"${name}$: {found.stress:.2f}", fontsize=10)
        axis.set_xlabel("given", fontsize=9)
        axis.tick_params(labelsize=8)
    axes[0].set_ylabel("fitted", fontsize=9)
    axes[0].legend(fontsize=6, frameon=False, loc="upper left")
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--picture", type=Path, default=Path("out/meanings.png"), help="where the picture goes"
    )
    parser.add_argument("--starts", type=int, default=2, help="starts of each geometry")
    parser.add_argument("--seed", type=int, default=0, help="seed of the table")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # of so little work, threads only lose time
    D = table(arguments.seed)
    print(
        f"{len(NAMES)} words; the triangle inequality fails in {100 * broken_triangles(D):.0f} % "
        "of their triples.\n"
    )
    fits = {name: fit(D, manifold, arguments.starts) for name, manifold in GEOMETRIES.items()}
    bank, river, loan = (NAMES.index(word) for word in ("bank", "river", "loan"))
    pairs = {"bank-river": (bank, river), "bank-loan": (bank, loan), "river-loan": (river, loan)}
    print(
        f"  {'':8} {'stress':>7} {'of all starts':>20}"
        + "".join(f" {title:>11}" for title in pairs)
    )
    print(
        f"  {'given':8} {'':7} {'':20}" + "".join(f" {D[at].item():11.2f}" for at in pairs.values())
    )
    for name, found in fits.items():
        every = f"{found.stresses[0]:.3f} to {found.stresses[-1]:.3f}"
        cells = "".join(f" {found.lengths[at].item():11.2f}" for at in pairs.values())
        print(f"  {name:8} {found.stress:7.3f} {every:>20}{cells}")
    try:
        draw(D, fits, arguments.picture)
    except ImportError:
        print("\nNo picture: pip install matplotlib")
    else:
        print(f"\nWrote {arguments.picture}")


if __name__ == "__main__":
    main()
