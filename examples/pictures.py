"""The pictures of the pages that explain the geometry: run it with `python examples/pictures.py
--folder docs`.

Every distance and every curve is computed by the package; matplotlib only draws.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

import ultrahyperbolic as uh

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

BLUE, ORANGE, GREEN, GREY = "#3b6fb6", "#d9772b", "#3a8f5c", "#8a8a8a"


def spaces(path: Path) -> None:
    """Flat space, the sphere and hyperbolic space, each with the network that suits it."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(10, 3.9))
    flat, sphere, disc = axes
    for k in range(6):
        for a, b in (((k, 0), (k, 5)), ((0, k), (5, k))):
            flat.plot([a[0], b[0]], [a[1], b[1]], color=BLUE, linewidth=1, zorder=1)
    flat.scatter(*np.meshgrid(range(6), range(6)), s=22, color=BLUE, zorder=2)
    flat.set_title("Flat space\na grid fits", fontsize=11)

    turn = np.linspace(0, 2 * math.pi, 200)
    sphere.plot(np.cos(turn), np.sin(turn), color=GREY, linewidth=1)
    for height in (-0.6, 0.0, 0.6):
        radius = math.sqrt(1 - height**2)
        sphere.plot(
            radius * np.cos(turn),
            height + 0.28 * radius * np.sin(turn),
            color="#cfcfcf",
            linewidth=0.8,
        )
    ring = np.linspace(0, 2 * math.pi, 13)
    sphere.plot(np.cos(ring), 0.28 * np.sin(ring), color=ORANGE, linewidth=1.2)
    sphere.scatter(np.cos(ring), 0.28 * np.sin(ring), s=26, color=ORANGE, zorder=3)
    sphere.set_title("Sphere\na ring closes", fontsize=11)

    disc.plot(np.cos(turn), np.sin(turn), color=GREY, linewidth=1)
    _tree(disc)
    disc.set_title("Hyperbolic space\na tree has room to branch", fontsize=11)
    for axis in axes:
        axis.set_aspect("equal")
        axis.axis("off")
    _write(figure, path)


def _tree(axis: Axes) -> None:
    """A tree with three branches at each node, in the Poincaré disc: every tie has the same
    length.
    """
    length, depth = 1.1, 4
    M = uh.PseudoHyperboloid(2, 0)
    spots: list[tuple[torch.Tensor, torch.Tensor]] = []

    def disc(x: torch.Tensor) -> torch.Tensor:
        return x[1:] / (1 + x[0])

    def grow(x: torch.Tensor, directions: list[torch.Tensor], level: int) -> None:
        if level == depth:
            return
        for u in directions:
            y = M.geodesic(x, u, length)
            spots.append((disc(x), disc(y)))
            # Straight on is the image of u; the branches leave it by 60° to either side.
            ahead = (M.geodesic(x, u, length + 1e-5) - M.geodesic(x, u, length - 1e-5)) / 2e-5
            ahead = M.proju(y, ahead)
            side = M.proju(y, torch.tensor([0.0, -ahead[2], ahead[1]], dtype=torch.float64))
            side = side - M.inner(side, ahead) * ahead
            side = side / M.norm(side)
            turns = [math.cos(a) * ahead + math.sin(a) * side for a in (-1.0, 1.0)]
            grow(y, turns, level + 1)

    angles = [2 * math.pi * k / 3 + 0.5 for k in range(3)]
    start = [torch.tensor([0.0, math.cos(a), math.sin(a)], dtype=torch.float64) for a in angles]
    grow(M.origin(), start, 0)
    for a, b in spots:
        axis.plot([a[0], b[0]], [a[1], b[1]], color=GREEN, linewidth=1, zorder=1)
    places = torch.stack([b for _, b in spots])
    axis.scatter(places[:, 0], places[:, 1], s=9, color=GREEN, zorder=2)
    axis.scatter([0], [0], s=30, color=GREEN, zorder=2)


def surface(path: Path) -> None:
    """Q^{1,1}: one surface, and the three kinds of straight line that leave a point of it."""
    from matplotlib import pyplot

    M = uh.PseudoHyperboloid(1, 1)
    figure = pyplot.figure(figsize=(6.4, 5.2))
    axis = figure.add_subplot(projection="3d")
    angle, height = np.meshgrid(np.linspace(0, 2 * math.pi, 60), np.linspace(-2, 2, 40))
    radius = np.sqrt(1 + height**2)
    axis.plot_surface(
        radius * np.cos(angle),
        radius * np.sin(angle),
        height,
        color="#b9c7da",
        alpha=0.35,
        linewidth=0,
    )
    x = M.origin()
    kinds = {
        "time-like: goes round and comes back": ((0.0, 1.0, 0.0), (0.0, 2 * math.pi), ORANGE),
        "light-like: has length 0": ((0.0, 1.0, 1.0), (-2.0, 2.0), GREEN),
        "space-like: runs off for ever": (
            (0.0, 0.0, 1.0),
            (-math.asinh(2.0), math.asinh(2.0)),
            BLUE,
        ),
    }
    for label, (direction, (low, high), color) in kinds.items():
        u = torch.tensor(direction, dtype=torch.float64)
        times = np.linspace(low, high, 120)
        curve = torch.stack([M.geodesic(x, u, float(t)) for t in times]).numpy()
        axis.plot(curve[:, 0], curve[:, 1], curve[:, 2], color=color, linewidth=2.5, label=label)
    axis.scatter(*[[float(value)] for value in x], color="black", s=45, zorder=5)
    axis.view_init(elev=18, azim=28)
    axis.set_axis_off()
    axis.set_box_aspect((1, 1, 0.9), zoom=1.35)
    figure.legend(loc="lower center", ncols=1, fontsize=10, frameon=False)
    _write(figure, path)


def unrolled(angle: float | Floats, height: float | Floats) -> torch.Tensor:
    """The points of Q^{1,1} at an angle around the surface and a height along it."""
    radius = np.sqrt(1 + np.square(height))
    coordinates = np.stack(
        [radius * np.cos(angle), radius * np.sin(angle), np.asarray(height)], axis=-1
    )
    return torch.tensor(coordinates, dtype=torch.float64)


def nearness(path: Path) -> None:
    """The same surface cut open and laid flat: how far every place is from one point."""
    from matplotlib import pyplot

    M = uh.PseudoHyperboloid(1, 1)
    angles, heights = np.meshgrid(np.linspace(-math.pi, math.pi, 401), np.linspace(-3, 3, 301))
    D = M.dissimilarity(M.origin(), unrolled(angles, heights)).numpy()
    figure, axis = pyplot.subplots(figsize=(7.4, 4.4))
    shown = axis.pcolormesh(
        angles, heights, D, cmap="cividis_r", shading="auto", vmin=0, vmax=float(D.max())
    )
    figure.colorbar(shown, ax=axis, label="distance from the hub")
    rays = np.linspace(-3, 3, 200)
    for sign in (1, -1):
        axis.plot(np.arctan(sign * rays), rays, color=GREEN, linewidth=2.2)
    places = {
        "hub": (0.0, 0.0),
        "A": (math.atan(1.5), 1.5),
        "B": (math.atan(-1.5), 1.5),
        "C": (math.atan(-1.5), -1.5),
    }
    points = {name: unrolled(*place) for name, place in places.items()}
    for name, (angle, height) in places.items():
        axis.scatter([angle], [height], s=70, color="white", edgecolor="black", zorder=3)
        axis.annotate(
            name,
            (angle, height),
            xytext=(9, 6),
            textcoords="offset points",
            fontsize=12,
            weight="bold",
        )
    axis.set_xlabel("angle around the surface (time)")
    axis.set_ylabel("height along the surface (space)")
    axis.set_xticks(
        [-math.pi, -math.pi / 2, 0, math.pi / 2, math.pi], ["-π", "-π/2", "0", "π/2", "π"]
    )
    _write(figure, path)
    print("The distances of the picture:")
    for a, b in (("hub", "A"), ("hub", "B"), ("hub", "C"), ("A", "B"), ("A", "C"), ("B", "C")):
        print(f"  {a:>3} to {b}: {M.dissimilarity(points[a], points[b]).item():.2f}")


def central(path: Path) -> None:
    """Who is central: the karate club, with the members of the smallest sum of distances on top."""
    from matplotlib import pyplot

    graph = uh.datasets.karate()
    club = uh.embed(graph, quiet=True)
    places = uh.plot.plane(club)
    figure, axis = pyplot.subplots(figsize=(6.4, 5.0))
    _draw_ties(axis, graph, places)
    sizes = 40 + 500 * (1 - (club.rank - 1) / (len(club) - 1)) ** 2
    shown = axis.scatter(
        places[:, 0],
        places[:, 1],
        s=sizes,
        c=club.delta,
        cmap="cividis",
        edgecolor="white",
        zorder=3,
    )
    for i in np.argsort(club.rank)[:8]:
        text = f"{club.ids[i]}"
        axis.annotate(
            text,
            places[i],
            ha="center",
            va="center",
            color="white",
            fontsize=9,
            weight="bold",
            zorder=4,
        )
    figure.colorbar(shown, ax=axis, label="sum of distances to all other members")
    axis.axis("off")
    _write(figure, path)


def lesmis(path: Path) -> None:
    """Les Misérables: characters who share scenes lie close together, and colours are
    communities.
    """
    book = uh.embed("lesmis", quiet=True)
    _write(book.plot(title="Les Misérables: characters who appear together"), path)


def _draw_ties(axis: Axes, graph: uh.Graph, places: Floats) -> None:
    from matplotlib.collections import LineCollection

    strength = graph.weights / graph.weights.max()
    lines = LineCollection(
        [places[edge] for edge in graph.edges],
        linewidths=0.4 + 2.6 * strength,
        colors=[(0.45, 0.45, 0.5, 0.15 + 0.5 * s) for s in strength],
        zorder=1,
    )
    axis.add_collection(lines)


def _write(figure: Figure, path: Path) -> None:
    from matplotlib import pyplot

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, bbox_inches="tight", pad_inches=0.08)
    pyplot.close(figure)
    print(f"Wrote {path}")


PICTURES: dict[str, Callable[[Path], None]] = {
    "spaces": spaces,
    "surface": surface,
    "nearness": nearness,
    "central": central,
    "map-lesmis": lesmis,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--folder", type=Path, default=Path("out/pictures"), help="where the pictures go"
    )
    parser.add_argument("--only", choices=PICTURES, help="draw this one alone")
    arguments = parser.parse_args()
    try:
        import matplotlib
    except ImportError:
        print("No pictures: pip install matplotlib")
        return
    matplotlib.use("Agg")
    for name, draw in PICTURES.items():
        if arguments.only in (None, name):
            draw(arguments.folder / f"{name}.png")


if __name__ == "__main__":
    main()
