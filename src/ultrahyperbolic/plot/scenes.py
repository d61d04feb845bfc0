"""Figures 1 and 2 of the paper: hyperboloids, geodesics, exp and log in ordinary space."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_rgb, to_rgba
from mpl_toolkits.mplot3d import Axes3D
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from ..arrays import Floats
from ..lazy import Tensor, torch
from .files import STYLE, NotebookFigure

if TYPE_CHECKING:
    from ..geometry import PseudoHyperboloid

# Colours that people with any kind of colour vision tell apart (Okabe and Ito).
BLUE = "#0072B2"
SKY = "#56B4E9"
GREEN = "#009E73"
ORANGE = "#E69F00"
VERMILION = "#D55E00"
BLACK = "#222222"
GREY = "#A9B0BA"

# x_0 of the surfaces of Figure 1, in units of √|β|: two below 1, the cone, and two above.
LEVELS = {0.0: BLUE, 0.7: "#5AA4CE", 1.0: ORANGE, 1.3: "#E49A5B", 1.7: "#DB7626"}
_HEIGHT = 2.2  # of Figure 1 above and below the middle, in the same units
_RINGS = 41
_AROUND = 73
# Figure 2 lives on Q^{1,1}, the only signature with three kinds of geodesic that fits into R³: time
# (x_0, x_1) is the ground, space x_2 is upward.
_TALL = 1.55
# Tangent vectors at the pole, in units of √|β|: one of each kind, and the ξ of exp and log.
DIRECTIONS = {
    "space-like": (0.0, 0.0, 1.0),
    "light-like": (0.0, 1.0, 1.0),
    "time-like": (0.0, 1.0, 0.0),
}
VECTOR = (0.0, 0.35, 1.2)


class Surface(NamedTuple):
    """A grid of points [a, b, 3], NaN where it ends, with its name for the legend."""

    points: Floats
    color: str
    opacity: float = 1.0
    name: str = ""


def level_surface(manifold: PseudoHyperboloid, level: float, turn: float = 2.0 * math.pi) -> Floats:
    """The points of Q^{2,1}_β with x_0 = level · √|β|, as a grid [a, b, 3] of (x_2, x_3, x_1), NaN
    between two sheets.

    They are x_2² + x_3² - x_1² = x_0² + β: a hyperboloid of two sheets where x_0² < |β|, a cone
    where they are equal, a hyperboloid of one sheet beyond. ``turn`` below 2π leaves a part of the
    way round out.
    """
    height = torch.linspace(-_HEIGHT, _HEIGHT, 2 * _RINGS - 1, dtype=torch.float64)
    if level <= 1.0:
        # Even steps of the radius, not of the height: the sheets are round where they are nearest.
        nearest, widest = math.sqrt(1.0 - level**2), math.sqrt(_HEIGHT**2 + level**2 - 1.0)
        radius = torch.linspace(0.0, widest, _RINGS, dtype=torch.float64)
        above = (radius.square() + nearest**2).sqrt()
        height = torch.cat((above, above.new_tensor([math.nan]), -above))
    # ψ⁻¹ of a unit time part, along (level, height), and a space part in all directions.
    time = torch.stack((torch.full_like(height, level), height), dim=-1)
    length = time.norm(dim=-1, keepdim=True)
    around = torch.linspace(0.0, turn, _AROUND, dtype=torch.float64)
    space = (length.square() - 1.0).clamp_min(0.0).sqrt()[:, None] * torch.stack(
        (around.cos(), around.sin()), dim=-1
    )
    unit = (time / length)[:, None].expand(-1, len(around), -1)
    return manifold.psi_inverse(torch.cat((unit, space), dim=-1))[..., [2, 3, 1]].numpy()


def kind_of(level: float, before: str = "") -> str:
    """The name of the surface at a level; ``before`` comes before the number of sheets."""
    return "a cone" if level == 1.0 else before + ("two sheets" if level < 1.0 else "one sheet")


def family(beta: float) -> NotebookFigure:
    """Figure 1: all the hyperboloids at once, then one of each kind."""
    manifold, root, _ = _space(2, beta)
    together = [
        Surface(
            level_surface(manifold, level, 1.5 * math.pi),
            color,
            name=f"x₀ = {level * root:.3g}: {kind_of(level)}",
        )
        for level, color in LEVELS.items()
    ]
    panels = {"the family, cut open": together}
    for where, level in {"below": 0.7, "at": 1.0, "above": 1.3}.items():
        title = f"x₀ {where} {root:.3g}: {kind_of(level)}"
        panels[title] = [Surface(level_surface(manifold, level), LEVELS[level])]
    drawn, axes = _panels(list(panels), [1.3, 0.9, 0.9, 0.9])
    limits = (1.1 * _HEIGHT * root, 1.1 * _HEIGHT * root, _HEIGHT * root)
    for axis, surfaces in zip(axes, panels.values(), strict=True):
        _draw_surfaces(axis, surfaces, ("x₂", "x₃", "x₁"), limits, (14.0, -50.0))
    _add_legend(axes[0])
    return drawn


def figure2(beta: float) -> NotebookFigure:
    """Figure 2: the three kinds of geodesic; exp and log, and what no geodesic from x reaches."""
    drawn, axes = _panels(["three kinds of geodesic", "exponential and logarithm map"], [1.2, 1.2])
    _draw_geodesics(axes[0], beta)
    _draw_exp_log(axes[1], beta)
    for axis in axes:
        _add_legend(axis)
    return drawn


def _space(p: int, beta: float) -> tuple[PseudoHyperboloid, float, Tensor]:
    """Q^{p,1}_β, √|β| and the pole."""
    from ..geometry import PseudoHyperboloid

    manifold = PseudoHyperboloid(p, 1, beta)
    return manifold, math.sqrt(-beta), manifold.origin()


def _draw_geodesics(axis: Axes3D, beta: float) -> None:
    """Geodesics of Q^{1,1}_β through a point (Eq. 5): one of each kind, and both light rays."""
    manifold, root, x = _space(1, beta)
    whole = Surface(_part(manifold, -math.pi, math.pi), GREY, 0.42)
    _draw_upright(axis, [whole], root, (16.0, 24.0))
    steps = torch.linspace(-1.0, 1.0, 181, dtype=torch.float64)
    for name, color, direction, length in (
        ("space-like: a branch of a hyperbola", BLUE, "space-like", math.asinh(_TALL)),
        ("light-like: a straight line", ORANGE, "light-like", _TALL),
        ("time-like: closed", VERMILION, "time-like", math.pi),
    ):
        ahead = root * torch.tensor(DIRECTIONS[direction], dtype=torch.float64)
        vectors = [ahead, ahead * torch.tensor([1.0, -1.0, 1.0])]
        for label, vector in zip((name, None), vectors, strict=True):
            points = manifold.geodesic(x, manifold.proju(x, vector), length * steps)
            axis.plot(*points.numpy().T, color=color, lw=3.0, label=label, zorder=3)
    _mark(axis, x, "x", BLACK, root * np.array([0.0, -0.3, -0.05]))


def _draw_exp_log(axis: Axes3D, beta: float) -> None:
    """Exp and log between the tangent plane at x and Q^{1,1}_β; the part that exp_x does not
    reach.
    """
    manifold, root, x = _space(1, beta)
    vector = manifold.proju(x, root * torch.tensor(VECTOR, dtype=torch.float64))
    way = manifold.geodesic(x, vector, torch.linspace(0.0, 1.0, 61, dtype=torch.float64))
    y = manifold.expmap(x, vector)
    back = x + manifold.logmap(x, y).vector
    corners = [[[0.0, a, b] for a in (-1.15, 1.15)] for b in (-1.35, 1.35)]
    plane = x + manifold.proju(x, root * torch.tensor(corners, dtype=torch.float64))
    reached, beyond = parts(manifold)
    surfaces = [
        Surface(reached, SKY, 0.34, "where expₓ leads"),
        Surface(beyond, GREY, 0.6, "no geodesic from x"),
        Surface(plane.numpy(), GREEN, 0.34, "the tangent plane at x"),
    ]
    _draw_upright(axis, surfaces, root, (14.0, 58.0))
    label = "the geodesic t ↦ expₓ(tξ)"
    axis.plot(*way.numpy().T, color=BLUE, lw=3.0, label=label, zorder=3)
    axis.plot(*torch.stack((back, y)).numpy().T, color=BLACK, lw=1.2, ls=(0, (4, 3)), zorder=3)
    axis.quiver(*x, *(back - x), color=GREEN, lw=3.0, arrow_length_ratio=0.12, zorder=4)
    _mark(axis, x, "x", BLACK, root * np.array([0.0, 0.0, -0.27]))
    _mark(axis, back, "ξ = logₓ(y)", GREEN, root * np.array([-0.74, 0.36, 0.06]))
    _mark(axis, y, "y = expₓ(ξ)", BLUE, root * np.array([0.55, -0.25, 0.1]))


def parts(manifold: PseudoHyperboloid) -> tuple[Floats, Floats]:
    """The parts of Q^{1,1}_β that exp of the pole x reaches, and does not: no geodesic goes beyond
    the light rays through -x.
    """
    edge = (-1.0 / (1.0 + _heights().square()).sqrt()).acos()  # their angle, seen from x
    return _part(manifold, -edge, edge), _part(manifold, edge, 2.0 * math.pi - edge)


def _heights() -> Tensor:
    return torch.linspace(-_TALL, _TALL, 81, dtype=torch.float64)[:, None]


def _part(manifold: PseudoHyperboloid, first: Tensor | float, last: Tensor | float) -> Floats:
    """Q^{1,1}_β up to a height, as a grid [a, b, 3]: ψ⁻¹ of arcs, from an angle to another, which
    may be [a, 1], for each height.
    """
    around = first + torch.linspace(0.0, 1.0, 145, dtype=torch.float64) * (last - first)
    height = _heights().expand(-1, 145)
    around = around.expand_as(height)
    return manifold.psi_inverse(torch.stack((around.cos(), around.sin(), height), dim=-1)).numpy()


def _panels(titles: Sequence[str], widths: Sequence[float]) -> tuple[NotebookFigure, list[Axes3D]]:
    """Axes side by side, with these parts of the width."""
    edges = np.concatenate(([0.0], np.cumsum(widths))) / sum(widths)
    axes = []
    with mpl.rc_context(STYLE):
        drawn = NotebookFigure(figsize=(4.6 * sum(widths), 5.0))
        for title, left, right in zip(titles, edges[:-1], edges[1:], strict=True):
            place = (left, 0.12, right - left, 0.80)
            axes.append(drawn.add_axes(place, projection="3d", computed_zorder=False))
            drawn.text((left + right) / 2, 0.955, title, ha="center", va="center", fontsize=11.5)
    return drawn, axes


def _draw_upright(
    axis: Axes3D, surfaces: Sequence[Surface], root: float, view: tuple[float, float]
) -> None:
    """Surfaces of Q^{1,1}."""
    wide = math.sqrt(1.0 + _TALL**2) * root
    _draw_surfaces(axis, surfaces, ("x₀", "x₁", "x₂"), (wide, wide, _TALL * root), view)


def _draw_surfaces(
    axis: Axes3D,
    surfaces: Sequence[Surface],
    names: Sequence[str],
    limits: tuple[float, float, float],
    view: tuple[float, float],
) -> None:
    """All surfaces as faces in one list, so that the nearer ones are drawn over the farther, from
    -limit to limit along each axis, seen from an elevation and an azimuth in degrees.
    """
    axis.view_init(*view)
    axis.set_proj_type("persp", focal_length=0.9)
    wide, deep, tall = limits
    axis.set(xlim=(-wide, wide), ylim=(-deep, deep), zlim=(-tall, tall))
    axis.set_box_aspect(limits, zoom=1.32)
    axis.set_axis_off()
    for surface in surfaces:
        if surface.name:  # for the legend
            shade = to_rgba(surface.color, max(surface.opacity, 0.35))
            axis.plot([], [], [], "s", ms=9.0, color=shade, mew=0.0, label=surface.name)
    shaded = [_shaded(surface, view) for surface in surfaces]
    faces, colors = (np.concatenate(both) for both in zip(*shaded, strict=True))
    # Neighbouring faces leave no seam if what is opaque has an edge, and what is translucent is
    # smooth and has none.
    edges = np.where(colors[:, 3:] < 1.0, 0.0, colors)
    smooth = bool((colors[:, 3] < 1.0).any())
    solid = Poly3DCollection(
        faces, facecolors=colors, edgecolors=edges, linewidths=0.3, antialiaseds=smooth, zorder=1
    )
    solid.set_rasterized(True)  # tens of thousands of polygons would make a slow PDF
    axis.add_collection3d(solid)
    around = math.radians(view[1])
    corner = np.array([1.3 * wide * math.sin(around), -1.3 * wide * math.cos(around), -tall])
    for name, step in zip(names, 0.3 * max(limits) * np.eye(3), strict=True):
        line = np.stack((corner, corner + step)).T
        axis.plot(*line, color="0.45", lw=1.1, zorder=2, clip_on=False)
        axis.text(*(corner + 1.4 * step), name, color="0.35", fontsize=9, ha="center", va="center")


def _add_legend(axis: Axes3D) -> None:
    handles, labels = axis.get_legend_handles_labels()
    axis.legend(
        handles,
        labels,
        loc="center",
        bbox_to_anchor=(0.5, -0.06),
        frameon=False,
        fontsize=8.5,
        ncols=2 if len(labels) > 3 else 1,
    )


def _shaded(surface: Surface, view: tuple[float, float]) -> tuple[Floats, Floats]:
    """The faces [f, 4, 3] of a surface, without NaN, and their colours [f, 4] under a light above
    the eye, alike on both sides.
    """
    grid = surface.points
    if min(grid.shape[:2]) == 2:  # long faces cannot be sorted among short ones
        near, far = np.linspace(grid[0], grid[1], 41, axis=1)
        grid = np.linspace(near, far, 41, axis=1)
    corners = (grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:])
    quads = np.stack(corners, axis=2).reshape(-1, 4, 3)
    quads = quads[np.isfinite(quads).all((1, 2))]
    normal = np.cross(quads[:, 2] - quads[:, 0], quads[:, 3] - quads[:, 1])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    up, around = np.radians(view)
    light = np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up) + 1.0])
    bright = np.abs(normal @ (light / np.linalg.norm(light)))[:, None]
    color = np.array(to_rgb(surface.color)) * (0.6 + 0.4 * bright)
    return quads, np.column_stack((color, np.full(len(quads), surface.opacity)))


def _mark(axis: Axes3D, point: Tensor, text: str, color: str, shift: Floats) -> None:
    """A point, and its name beside it."""
    axis.plot(*point.numpy()[:, None], "o", color=color, ms=5.5, mec="white", zorder=5)
    middle = {"ha": "center", "va": "center"}
    axis.text(*(point.numpy() + shift), text, color=color, fontsize=11, zorder=6, **middle)
