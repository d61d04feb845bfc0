"""Figures 1 and 2 of the paper: hyperboloids, geodesics, exp and log in ordinary space."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
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


class Surface(NamedTuple):
    """A grid of points."""

    points: Floats  # [a, b, 3]
    color: str
    opacity: float = 1.0
    name: str = ""  # for the legend; surfaces without a name are not in it


class Curve(NamedTuple):
    """A line through points."""

    points: Floats  # [n, 3]
    color: str
    name: str = ""
    width: float = 2.5
    dashed: bool = False


class Arrow(NamedTuple):
    """A tangent vector."""

    start: Floats  # [3]
    end: Floats
    color: str
    name: str = ""


class Mark(NamedTuple):
    """A point with its label."""

    point: Floats  # [3]
    text: str
    color: str = BLACK
    shift: tuple[float, float, float] = (0.0, 0.0, 0.12)  # where the label stands from the point


Piece = Surface | Curve | Arrow | Mark


class Scene(NamedTuple):
    """One panel of a figure. The last of the three coordinates is drawn upward."""

    title: str
    axes: tuple[str, str, str]
    pieces: Sequence[Piece]
    limits: tuple[float, float, float]  # the panel shows -limit … limit along each axis
    view: tuple[float, float] = (18.0, -60.0)  # elevation and azimuth of the eye, in degrees


# x_0 of the surfaces shown together, in units of √|β|: two below 1, the cone, and two above.
LEVELS = (0.0, 0.7, 1.0, 1.3, 1.7)
_HEIGHT = 2.2
_RINGS, _ROUND = 41, 73
_FAMILY_VIEW = (14.0, -50.0)


def _space(p: int, beta: float) -> tuple[PseudoHyperboloid, float, Tensor]:
    """Q^{p,1}_β, √|β| and the pole."""
    from ..geometry import PseudoHyperboloid

    manifold = PseudoHyperboloid(p, 1, beta)
    return manifold, math.sqrt(-beta), manifold.origin()


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
    around = torch.linspace(0.0, turn, _ROUND, dtype=torch.float64)
    space = (length.square() - 1.0).clamp_min(0.0).sqrt()[:, None] * torch.stack(
        (around.cos(), around.sin()), dim=-1
    )
    unit = (time / length)[:, None].expand(-1, len(around), -1)
    return manifold.psi_inverse(torch.cat((unit, space), dim=-1))[..., [2, 3, 1]].numpy()


def family(beta: float = -1.0) -> list[Scene]:
    """Figure 1: Q^{2,1}_β projected along x_0 to R³. All the hyperboloids at once, then one of each
    kind.
    """
    manifold, root, _ = _space(2, beta)
    axes, limits = ("x₂", "x₃", "x₁"), (_HEIGHT * root * 1.1,) * 2 + (_HEIGHT * root,)
    together = []
    for level in LEVELS:
        grid, name = (
            level_surface(manifold, level, 1.5 * math.pi),
            f"x₀ = {level * root:.3g}: {kind_of(level)}",
        )
        together.append(Surface(grid, _level_color(level), name=name))
    scenes = [Scene("the family, cut open", axes, together, limits, _FAMILY_VIEW)]
    for where, level in {"below": 0.7, "at": 1.0, "above": 1.3}.items():
        alone = [Surface(level_surface(manifold, level), _level_color(level))]
        scenes.append(
            Scene(f"x₀ {where} {root:.3g}: {kind_of(level)}", axes, alone, limits, _FAMILY_VIEW)
        )
    return scenes


def kind_of(level: float, before: str = "") -> str:
    """The name of the surface at a level; ``before`` comes before the number of sheets."""
    return "a cone" if level == 1.0 else before + ("two sheets" if level < 1.0 else "one sheet")


def _level_color(level: float) -> str:
    """Blue below 1, darker the farther; orange at it; vermilion above."""
    if level == 1.0:
        return ORANGE
    base, strength = (BLUE, 1.0 - level) if level < 1.0 else (VERMILION, level - 1.0)
    share = 0.5 + 0.5 * min(1.0, strength)
    mixed = bytes(round(255 - share * (255 - part)) for part in bytes.fromhex(base[1:]))
    return f"#{mixed.hex().upper()}"


# Figure 2 lives on Q^{1,1}, the only signature with three kinds of geodesic that fits into R³: time
# (x_0, x_1) is the ground, space x_2 is upward.
_TALL = 1.55
_AXES = ("x₀", "x₁", "x₂")
# Tangent vectors at the pole, in units of √|β|: one of each kind, and the ξ of exp and log.
DIRECTIONS = {
    "space-like": (0.0, 0.0, 1.0),
    "light-like": (0.0, 1.0, 1.0),
    "time-like": (0.0, 1.0, 0.0),
}
VECTOR = (0.0, 0.35, 1.2)


def _heights() -> Tensor:
    return torch.linspace(-_TALL, _TALL, 81, dtype=torch.float64)[:, None]


def _part(manifold: PseudoHyperboloid, first: Tensor, last: Tensor) -> Floats:
    """Q^{1,1}_β up to a height, as a grid [a, b, 3]: ψ⁻¹ of arcs, from an angle [a, 1] to another
    at each height.
    """
    around = first + torch.linspace(0.0, 1.0, 145, dtype=torch.float64) * (last - first)
    arcs = torch.stack((around.cos(), around.sin(), _heights().expand_as(around)), dim=-1)
    return manifold.psi_inverse(arcs).numpy()


def geodesics(beta: float = -1.0) -> Scene:
    """Figure 2, left: the geodesics of Q^{1,1}_β through a point (Eq. 5): one of each kind, and
    both light rays.
    """
    manifold, root, x = _space(1, beta)
    steps = torch.linspace(-1.0, 1.0, 181, dtype=torch.float64)
    kinds = (
        ("space-like: a branch of a hyperbola", BLUE, DIRECTIONS["space-like"], math.asinh(_TALL)),
        ("light-like: a straight line", ORANGE, DIRECTIONS["light-like"], _TALL),
        ("", ORANGE, (0.0, -1.0, 1.0), _TALL),  # the other light ray
        ("time-like: closed", VERMILION, DIRECTIONS["time-like"], math.pi),
    )
    half = torch.full_like(_heights(), math.pi)
    pieces: list[Piece] = [Surface(_part(manifold, -half, half), GREY, 0.42)]
    for name, color, direction, length in kinds:
        vector = manifold.proju(x, root * torch.tensor(direction, dtype=torch.float64))
        pieces.append(Curve(manifold.geodesic(x, vector, length * steps).numpy(), color, name, 3.0))
    pieces.append(Mark(x.numpy(), "x", BLACK, (0.0, -0.3 * root, -0.05 * root)))
    return Scene("three kinds of geodesic", _AXES, pieces, _limits(root), (16.0, 24.0))


def exp_log(beta: float = -1.0) -> Scene:
    """Figure 2, right: exp and log between the tangent plane at x and Q^{1,1}_β; the part that
    exp_x does not reach.
    """
    manifold, root, x = _space(1, beta)
    vector = manifold.proju(x, root * torch.tensor(VECTOR, dtype=torch.float64))
    way = manifold.geodesic(x, vector, torch.linspace(0.0, 1.0, 61, dtype=torch.float64))
    y = manifold.expmap(x, vector)
    back = x + manifold.logmap(x, y).vector
    corners = torch.tensor(
        [[[0.0, a, b] for a in (-1.15, 1.15)] for b in (-1.35, 1.35)], dtype=torch.float64
    )
    plane = x + manifold.proju(x, root * corners)
    # The angle, seen from the pole x, of the light rays through -x: no geodesic from x goes beyond
    # them.
    edge = (-1.0 / (1.0 + _heights().square()).sqrt()).acos()
    pieces: list[Piece] = [
        Surface(_part(manifold, -edge, edge), SKY, 0.34, "where expₓ leads"),
        Surface(_part(manifold, edge, 2.0 * math.pi - edge), GREY, 0.6, "no geodesic from x"),
        Surface(plane.numpy(), GREEN, 0.34, "the tangent plane at x"),
        Curve(way.numpy(), BLUE, "the geodesic t ↦ expₓ(tξ)", 3.0),
        Curve(torch.stack((back, y)).numpy(), BLACK, "", 1.2, dashed=True),
        Arrow(x.numpy(), back.numpy(), GREEN, "ξ = logₓ(y)"),
        Mark(x.numpy(), "x", BLACK, (0.0, 0.0, -0.27 * root)),
        Mark(back.numpy(), "ξ = logₓ(y)", GREEN, (-0.74 * root, 0.36 * root, 0.06 * root)),
        Mark(y.numpy(), "y = expₓ(ξ)", BLUE, (0.55 * root, -0.25 * root, 0.1 * root)),
    ]
    return Scene("exponential and logarithm map", _AXES, pieces, _limits(root), (14.0, 58.0))


def _limits(root: float) -> tuple[float, float, float]:
    wide = math.sqrt(1.0 + _TALL**2) * root
    return wide, wide, _TALL * root


def draw(panels: Sequence[Scene], *, widths: Sequence[float]) -> NotebookFigure:
    """Panels side by side, with these parts of the width."""
    edges = np.concatenate(([0.0], np.cumsum(widths))) / sum(widths)
    with mpl.rc_context(STYLE):
        drawn = NotebookFigure(figsize=(4.6 * sum(widths), 5.0))
        for panel, left, right in zip(panels, edges[:-1], edges[1:], strict=True):
            place = (left, 0.12, right - left, 0.80)
            _draw_panel(drawn.add_axes(place, projection="3d", computed_zorder=False), panel)
            middle = (left + right) / 2
            drawn.text(middle, 0.955, panel.title, ha="center", va="center", fontsize=11.5)
            if entries := _legend(panel):
                drawn.legend(
                    handles=entries,
                    loc="center",
                    bbox_to_anchor=(middle, 0.075),
                    frameon=False,
                    fontsize=8.5,
                    ncols=2 if len(entries) > 3 else 1,
                )
    return drawn


def _draw_panel(axis: Axes3D, panel: Scene) -> None:
    axis.view_init(*panel.view)
    axis.set_proj_type("persp", focal_length=0.9)
    wide, deep, tall = panel.limits
    axis.set(xlim=(-wide, wide), ylim=(-deep, deep), zlim=(-tall, tall))
    axis.set_box_aspect(panel.limits, zoom=1.32)
    axis.set_axis_off()
    # All surfaces as faces in one list, so that the nearer ones are drawn over the farther.
    shaded = [_shaded(piece, panel.view) for piece in panel.pieces if isinstance(piece, Surface)]
    faces, colors = (np.concatenate(parts) for parts in zip(*shaded, strict=True))
    # Neighbouring faces leave no seam if what is opaque has an edge, and what is translucent is
    # smooth and has none.
    edges = np.where(colors[:, 3:] < 1.0, 0.0, colors)
    smooth = bool((colors[:, 3] < 1.0).any())
    solid = Poly3DCollection(
        faces, facecolors=colors, edgecolors=edges, linewidths=0.3, antialiaseds=smooth, zorder=1
    )
    solid.set_rasterized(True)  # tens of thousands of polygons would make a slow PDF
    axis.add_collection3d(solid)
    around = math.radians(panel.view[1])
    corner = np.array([1.3 * wide * math.sin(around), -1.3 * wide * math.cos(around), -tall])
    for name, step in zip(panel.axes, 0.3 * max(panel.limits) * np.eye(3), strict=True):
        line = np.stack((corner, corner + step)).T
        axis.plot(*line, color="0.45", lw=1.1, zorder=2, clip_on=False)
        axis.text(*(corner + 1.4 * step), name, color="0.35", fontsize=9, ha="center", va="center")
    for piece in panel.pieces:
        if isinstance(piece, Curve):
            style = (0, (4, 3)) if piece.dashed else "-"
            axis.plot(*piece.points.T, color=piece.color, lw=piece.width, ls=style, zorder=3)
        elif isinstance(piece, Arrow):
            along = piece.end - piece.start
            axis.quiver(
                *piece.start, *along, color=piece.color, lw=3.0, arrow_length_ratio=0.12, zorder=4
            )
        elif isinstance(piece, Mark):
            axis.plot(*piece.point[:, None], "o", color=piece.color, ms=5.5, mec="white", zorder=5)
            place = piece.point + np.array(piece.shift)
            middle = {"ha": "center", "va": "center"}
            axis.text(*place, piece.text, color=piece.color, fontsize=11, zorder=6, **middle)


def _legend(panel: Scene) -> list[Artist]:
    entries: list[Artist] = []
    for piece in panel.pieces:
        if isinstance(piece, Surface) and piece.name:
            shade = to_rgba(piece.color, max(piece.opacity, 0.35))
            entries.append(Patch(facecolor=shade, label=piece.name))
        elif isinstance(piece, Curve) and piece.name:
            entries.append(Line2D([], [], color=piece.color, lw=piece.width, label=piece.name))
    return entries


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
