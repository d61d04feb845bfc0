"""Scenes, panels and maps drawn by matplotlib; imported only where it is used."""

import io
import re
from collections.abc import Sequence
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d import Axes3D, proj3d
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from ..arrays import Floats, Ints
from ..embedding import Embedding
from ..graph import Graph
from .labels import ALWAYS, draw_into_dots, draw_names, fit_into_dots, place_names, plain, shortened
from .maps import (
    PALETTE,
    REST,
    Column,
    Kinds,
    backbone,
    bow,
    columns,
    edges_among,
    labels_of,
    map_of,
    names_of,
)
from .pieces import Arrow, Curve, Drawing, Mark, Nodes, Scene, Surface

# Where the light comes from, seen from the eye: over its left shoulder.
_LIGHT = np.array([0.55, -0.35, 0.75])
_MOST_INSIDE = 80  # nodes whose ids stand in their dots
_MOST_NAMES = 60  # nodes whose ids stand beside theirs
_STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 10,
    "mathtext.fontset": "dejavusans",
    "pdf.fonttype": 42,
}
_THEMES = {
    "light": ("white", "#1b1f24", "#7d8894"),
    "dark": ("#12161b", "#e8ebee", "#8b96a1"),
}  # paper, ink, ties
_MOST_NODES = 5_000  # on a map
_MARGIN = 28.0  # around it, in points
_HEAD = 0.06  # the length of an arrow's, in inches


class NotebookFigure(Figure):
    """A figure that is shown only as the value of a notebook cell, and opens no window."""

    def _repr_png_(self) -> bytes:
        return written(self, "png", dpi=100)


def written(drawn: Figure, format: str, dpi: float) -> bytes:
    """The figure as "png", "pdf" or "svg"; vector graphics hold surfaces as images of a good
    resolution.

    A PNG is drawn at twice the size and reduced: neighbouring faces then leave no seams.
    """
    from PIL import Image

    out, large = io.BytesIO(), io.BytesIO()
    with mpl.rc_context(_STYLE):
        if format != "png":
            drawn.savefig(
                out,
                format=format,
                dpi=300,
                metadata={"CreationDate": None} if format == "pdf" else None,
            )
            return out.getvalue()
        drawn.savefig(large, format="png", dpi=2 * dpi, facecolor=drawn.get_facecolor())
    with Image.open(large) as image:
        reduced = image.convert("RGB").resize(
            (image.width // 2, image.height // 2), Image.Resampling.LANCZOS
        )
    reduced.save(out, format="png", optimize=True)
    return out.getvalue()


def scenes(panels: Sequence[Scene], *, columns: Sequence[float] | None = None) -> NotebookFigure:
    """Panels side by side, as wide as ``columns`` says."""
    shares = np.array(columns if columns is not None else [1.0] * len(panels), dtype=float)
    edges = np.concatenate(([0.0], shares.cumsum())) / shares.sum()
    with mpl.rc_context(_STYLE):
        drawn = NotebookFigure(figsize=(4.6 * shares.sum(), 5.0))
        for panel, left, right in zip(panels, edges[:-1], edges[1:], strict=True):
            axis = drawn.add_axes(
                (left, 0.12, right - left, 0.80), projection="3d", computed_zorder=False
            )
            _panel(axis, panel)
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
                    handlelength=1.6,
                    columnspacing=1.4,
                )
    return drawn


def _panel(axis: Axes3D, panel: Scene) -> None:
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
    _directions(axis, panel)
    for piece in panel.pieces:
        if isinstance(piece, Curve):
            style = (0, (4, 3)) if piece.dashed else "-"
            axis.plot(*piece.points.T, color=piece.color, lw=piece.width, ls=style, zorder=3)
        elif isinstance(piece, Arrow):
            axis.quiver(
                *piece.start,
                *(piece.end - piece.start),
                color=piece.color,
                lw=3.0,
                arrow_length_ratio=0.12,
                zorder=4,
            )
        elif isinstance(piece, Mark):
            axis.plot(
                *piece.point[:, None],
                "o",
                color=piece.color,
                ms=5.5,
                mec="white",
                mew=0.8,
                zorder=5,
            )
            axis.text(
                *(piece.point + np.array(piece.shift)),
                piece.text,
                color=piece.color,
                fontsize=11,
                zorder=6,
                ha="center",
                va="center",
            )


def _directions(axis: Axes3D, panel: Scene) -> None:
    """Three short lines in the corner instead of a box of axes."""
    tips = project(axis, np.eye(3) * 0.3 * max(panel.limits)) - project(axis, np.zeros((1, 3)))
    corner = np.array([0.07, 0.04])
    for tip, name in zip(tips * (0.07 / np.abs(tips).max()), panel.axes, strict=True):
        axis.add_artist(
            Line2D(
                *np.stack((corner, corner + tip)).T, transform=axis.transAxes, color="0.45", lw=1.1
            )
        )
        axis.text2D(
            *(corner + 1.42 * tip),
            name,
            transform=axis.transAxes,
            color="0.35",
            fontsize=9,
            ha="center",
            va="center",
        )


def project(axis: Axes3D, points: Floats) -> Floats:
    """Where points [n, 3] are on the page."""
    x, y, _ = proj3d.proj_transform(*points.T, axis.get_proj())
    return np.stack((x, y), axis=1)


def _legend(panel: Scene) -> list[Artist]:
    entries: list[Artist] = []
    for piece in panel.pieces:
        if isinstance(piece, Surface) and piece.name:
            entries.append(
                Patch(facecolor=to_rgba(piece.color, max(piece.opacity, 0.35)), label=piece.name)
            )
        elif isinstance(piece, Curve) and piece.name:
            entries.append(Line2D([], [], color=piece.color, lw=piece.width, label=piece.name))
    return entries


def _shaded(surface: Surface, view: tuple[float, float]) -> tuple[Floats, Floats]:
    """The faces [f, 4, 3] of a surface, without NaN, and their colours [f, 4] under one light,
    alike on both sides.
    """
    grid = surface.points
    if min(grid.shape[:2]) == 2:  # long faces cannot be sorted among short ones
        near, far = np.linspace(grid[0], grid[1], 41, axis=1)
        grid = np.linspace(near, far, 41, axis=1)
    quads = np.stack((grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]), axis=2).reshape(
        -1, 4, 3
    )
    quads = quads[np.isfinite(quads).all((1, 2))]
    normal = np.cross(quads[:, 2] - quads[:, 0], quads[:, 3] - quads[:, 1])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    up, around = np.radians(view)
    eye = np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])
    right = np.cross((0.0, 0.0, 1.0), eye)
    right /= np.linalg.norm(right)
    light = _LIGHT[0] * eye + _LIGHT[1] * right + _LIGHT[2] * np.cross(eye, right)
    light /= np.linalg.norm(light)
    bright = np.abs(normal @ light)[:, None]
    glint = 0.22 * bright**12
    color = np.clip(
        np.array(to_rgb(surface.color)) * (0.7 + 0.3 * bright) * (1 - glint) + glint, 0, 1
    )
    return quads, np.column_stack((color, np.full(len(quads), surface.opacity)))


def drawings(panels: Sequence[Drawing]) -> NotebookFigure:
    """Flat panels side by side; loss curves share one scale."""
    with mpl.rc_context(_STYLE):
        drawn = NotebookFigure(figsize=(5.2 * len(panels), 4.6), layout="constrained")
        axes = np.atleast_1d(drawn.subplots(1, len(panels)))
        for axis, panel in zip(axes, panels, strict=True):
            axis.set_title(_math(panel.title), fontsize=11.5)
            axis.set(xlabel=panel.x, ylabel=panel.y)
            axis.spines[["top", "right"]].set_visible(False)
            if panel.nodes is not None:
                _draw_nodes(axis, panel.nodes, by_rank=panel.by_rank)
            else:
                _draw_lines(axis, panel)
        curves = [axis for axis, panel in zip(axes, panels, strict=True) if panel.lines]
        for other in curves[1:]:
            other.sharey(curves[0])
        drawn.draw_without_rendering()  # places the axes: names need to know how much room there is
        drawn.set_layout_engine("none")
        for axis, panel in zip(axes, panels, strict=True):
            if panel.nodes is not None:
                _draw_labels(axis, panel.nodes, drawn.dpi)
    return drawn


def _draw_nodes(axis: Axes, nodes: Nodes, *, by_rank: bool) -> None:
    if len(nodes.ties):
        paths = [bow(*nodes.places[tie]) for tie in nodes.ties]
        widths = 0.35 + 2.0 * nodes.strengths
        many = np.clip(400.0 / len(paths), 0.08, 0.55)
        axis.add_collection(
            LineCollection(paths, colors="#8A94A3", linewidths=widths, alpha=many, zorder=1)
        )
    x, y = nodes.places.T
    axis.scatter(
        x, y, s=nodes.sizes**2, c=_rank_colours(nodes), edgecolors="white", linewidths=0.8, zorder=2
    )
    axis.set_xticks([])
    axis.spines["bottom"].set_visible(False)
    if by_rank:
        n = len(nodes.ranks)
        axis.set_ylim(n + 0.06 * n, 1 - 0.06 * n)
        axis.set_yticks(
            [1, *range(10, n + 1, 10)] if n <= 60 else np.unique(np.linspace(1, n, 6).round())
        )
    else:
        axis.set_yticks([])
        axis.spines["left"].set_visible(False)
        axis.set_aspect("equal", adjustable="datalim")


def _draw_labels(axis: Axes, nodes: Nodes, dpi: float) -> None:
    """Short ids inside the dots if there is room; else ids beside them, the most central first."""
    scale = 72.0 / dpi
    points = scale * (axis.transData.transform(nodes.places) - axis.bbox.min)
    radii, texts = nodes.sizes / 2.0, [shortened(text) for text in nodes.ids]
    if len(texts) <= _MOST_INSIDE and fit_into_dots(texts, points, radii):
        draw_into_dots(axis, texts, points, radii, _rank_colours(nodes))
        return
    order = np.argsort(nodes.ranks, kind="stable")[:_MOST_NAMES]
    draw_names(
        axis,
        place_names(texts, points, radii, scale * np.array(axis.bbox.size), order),
        points,
        "0.1",
        "white",
    )


def _rank_colours(nodes: Nodes) -> Floats:
    return mpl.colormaps["cividis"]((nodes.ranks - 1) / max(1, len(nodes.ranks) - 1))


def _draw_lines(axis: Axes, panel: Drawing) -> None:
    scale = mpl.colormaps["viridis"]
    for line in panel.lines:
        axis.plot(line.x, line.y, color=scale(0.93 * line.share), lw=1.5, label=_math(line.name))
        if line.ended:
            axis.plot(
                line.x[-1],
                line.y[-1],
                "o",
                color=scale(0.93 * line.share),
                ms=5,
                mec="white",
                mew=0.8,
                zorder=3,
            )
    axis.set_yscale("log" if panel.log else "linear")
    axis.xaxis.set_major_locator(MaxNLocator(5))
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.grid(color="0.9", lw=0.7)
    axis.set_axisbelow(True)
    axis.margins(x=0.01)
    if len(panel.lines) > 1:
        axis.legend(fontsize=8.5, frameon=False, ncols=2, columnspacing=1.2, handlelength=1.4)


def _math(text: str) -> str:
    r"""Text in which Q^{p,q} is set as a formula, and nothing else can become one.

    >>> _math("on Q^{3,1}, $5")
    'on $Q^{3,1}$, \\$5'
    """
    return re.sub(r"([QR]\^(?:\{\d+,\d+\}|\d+))", r"$\1$", plain(text))


def draw_map(
    embedding: Embedding,
    graph: Graph | None,
    *,
    colour: str,
    names: int,
    size: tuple[float, float],
    title: str,
    theme: Literal["light", "dark"],
) -> NotebookFigure:
    """See `ultrahyperbolic.plot.plot_map`."""
    graph = embedding.ties if graph is None else graph
    if graph is not None and list(graph.ids) != list(embedding.ids):
        graph = graph.with_nodes(embedding.ids)
    rows = np.argsort(embedding.rank, kind="stable")[:_MOST_NODES]
    places = map_of(embedding, graph, rows)
    known = {column.name: column for column in columns(embedding, graph, rows)}
    if colour not in known:
        raise ValueError(f"colour must be one of {', '.join(map(repr, known))}, got {colour!r}")
    column = known[colour]
    colours = _colours(column)
    dots = _dots(graph, rows)
    paper, ink, line = _THEMES[theme]
    with mpl.rc_context(_STYLE):
        drawn = NotebookFigure(figsize=size, facecolor=paper)
        top = 0.93 if title else 1.0
        axis = drawn.add_axes((0.0, 0.0, 1.0, top))
        axis.set_axis_off()
        room = np.array(size) * 72.0 * (1.0, top)  # in points
        span = np.maximum(np.ptp(places, axis=0), 1e-12)
        points = _MARGIN + (places - places.min(0)) / span * (room - 2.0 * _MARGIN)
        axis.set(xlim=(0, room[0]), ylim=(0, room[1]))
        if graph is not None:
            _draw_ties(
                axis, graph, rows, points, colours if isinstance(column, Kinds) else None, line
            )
        axis.scatter(
            points[:, 0],
            points[:, 1],
            s=dots**2,
            c=colours,
            edgecolors=paper,
            linewidths=0.8,
            zorder=2,
        )
        called = names_of(list(embedding.ids), labels_of(embedding, graph))
        texts = [shortened(called[int(row)]) for row in rows]
        order = np.arange(len(rows))
        if graph is not None:  # the top of the ranking is named first, and then the strongest
            order[ALWAYS:] = ALWAYS + np.argsort(-graph.strength[rows[ALWAYS:]], kind="stable")
        draw_names(
            axis, place_names(texts, points, dots / 2.0, room, order[:names]), points, ink, paper
        )
        if title:
            drawn.text(
                0.02, 0.965, plain(title), color=ink, fontsize=14, fontweight="bold", va="center"
            )
    return drawn


def _colours(column: Column) -> list[Any]:
    if isinstance(column, Kinds):
        shades = [
            PALETTE[k] if kind and k < len(PALETTE) else REST for k, kind in enumerate(column.kinds)
        ]
        return [shades[code] for code in column.codes]
    known = np.isfinite(column.values)
    low, high = (
        (column.values[known].min(), column.values[known].max()) if known.any() else (0.0, 1.0)
    )
    scale = mpl.colormaps["cividis"]((column.values - low) / max(high - low, 1e-300))
    return [color if there else REST for color, there in zip(scale, known, strict=True)]


def _dots(graph: Graph | None, rows: Ints) -> Floats:
    """Diameters [n] in points."""
    n = len(rows)
    crowd = 0.45 if n > 1500 else 0.6 if n > 600 else 0.8 if n > 200 else 1.0
    if graph is None:
        return np.full(n, 8.0 * crowd)
    strength = graph.strength[rows]
    return crowd * (5.0 + 16.0 * np.sqrt(strength / max(float(strength.max(initial=0.0)), 1e-300)))


def _draw_ties(
    axis: Axes, graph: Graph, rows: Ints, points: Floats, kinds: list[Any] | None, line: str
) -> None:
    among, ends = edges_among(graph, rows)
    drawn = backbone(ends, graph.weights[among], len(rows))
    first, second = ends[drawn].T
    if not len(first):
        return
    share = np.arange(len(first)) / max(1, len(first) - 1)  # by strength
    crowd = float(np.clip(np.sqrt(500 / len(first)), 0.25, 1.0))
    within = [
        kinds is not None and kinds[a] == kinds[b] != REST
        for a, b in zip(first, second, strict=True)
    ]
    colours = [
        kinds[a] if kinds is not None and same else line
        for a, same in zip(first, within, strict=True)
    ]
    opacity = crowd * (0.25 + 0.3 * share) * np.where(within, 1.2, 0.7)
    paths = [bow(points[a], points[b]) for a, b in zip(first, second, strict=True)]
    axis.add_collection(
        LineCollection(
            paths, colors=colours, linewidths=0.4 + 1.6 * share**3, alpha=opacity, zorder=1
        )
    )
    if (
        graph.directions is not None
    ):  # a tie that leads one way has the head of an arrow in its middle
        ways = (graph.directions[among[drawn]] > 0.0) @ np.array([1.0, -1.0])
        led = np.flatnonzero(ways)
        along = (points[second] - points[first])[led] * ways[led, None]
        along *= _HEAD / np.linalg.norm(along, axis=1, keepdims=True)
        axis.quiver(
            *np.array(paths)[led, 12].T,
            *along.T,
            color=[colours[k] for k in led],
            alpha=0.8 * crowd,
            angles="xy",
            units="inches",
            scale_units="inches",
            scale=1.0,
            width=_HEAD / 4.0,
            headwidth=3.0,
            headlength=4.0,
            headaxislength=4.0,
            pivot="mid",
            zorder=1,
        )
