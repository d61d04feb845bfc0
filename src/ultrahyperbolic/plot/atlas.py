"""A labelled map of an embedding as a still picture: what the report shows first, drawn by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patheffects import withStroke
from matplotlib.textpath import TextPath
from numpy.typing import NDArray

from .colours import PALETTE, REST, Column, Kinds, columns
from .layout import Floats, Ints, map_of
from .names import labels_of, names_of
from .on_matplotlib import STYLE, NotebookFigure, plain, shortened
from .ties import backbone, bow

if TYPE_CHECKING:
    from ..embedding import Embedding
    from ..graph import Graph

Theme = Literal["light", "dark"]
_THEMES = {"light": ("white", "#1b1f24", "#7d8894"), "dark": ("#12161b", "#e8ebee", "#8b96a1")}  # paper, ink, ties
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (0.8, 0.8), (0.8, -0.8), (-0.8, 0.8), (-0.8, -0.8))
_ALWAYS = 10  # so many nodes have their names, wherever there is room
_RINGS = 16
_WORST = 60.0  # beyond this, a name that covers more dots is no worse: it stays near its node
_FIRST = 25  # so many of the names may cover a small dot
_FARTHEST = 220.0  # points that a name may stand away from its node
_MOST_NODES = 5_000


class Name(NamedTuple):
    """A name and where it stands, in points from the lower left corner."""

    node: int
    text: str
    middle: Floats
    size: Floats
    """[2] its width and height."""
    important: bool
    led: bool
    """Whether a line leads to its node."""


def draw_map(
    embedding: Embedding,
    graph: Graph | None,
    *,
    colour: str,
    names: int,
    size: tuple[float, float],
    title: str,
    theme: Theme,
) -> NotebookFigure:
    """See `ultrahyperbolic.plot.plot_map`."""
    graph = embedding.ties if graph is None else graph
    if graph is not None and list(graph.ids) != list(embedding.ids):
        graph = graph.with_nodes(embedding.ids)
    rows = np.argsort(embedding.rank, kind="stable")[:_MOST_NODES]
    found = map_of(embedding, graph, rows)
    column = _chosen(columns(embedding, graph, rows), colour)
    colours = _colours(column)
    dots = _dots(graph, rows)
    paper, ink, line = _THEMES[theme]
    with mpl.rc_context(STYLE):
        drawn = NotebookFigure(figsize=size, facecolor=paper)
        top = 0.93 if title else 1.0
        axis = drawn.add_axes((0.0, 0.0, 1.0, top))
        axis.set_axis_off()
        points = _to_points(found.places, np.array(size) * 72.0 * (1.0, top))
        axis.set(xlim=(0, size[0] * 72.0), ylim=(0, size[1] * 72.0 * top))
        if graph is not None:
            _draw_ties(axis, graph, rows, points, colours if isinstance(column, Kinds) else None, line)
        axis.scatter(points[:, 0], points[:, 1], s=dots**2, c=colours, edgecolors=paper, linewidths=0.8, zorder=2)
        called = names_of(list(embedding.ids), labels_of(embedding, graph))
        texts = [shortened(called[int(row)]) for row in rows]
        order = _importance(graph, rows)[:names]
        placed = place_names(texts, points, dots / 2.0, np.array(size) * 72.0 * (1.0, top), order)
        _draw_names(axis, placed, points, ink, paper)
        if title:
            drawn.text(0.02, 0.965, plain(title), color=ink, fontsize=14, fontweight="bold", va="center")
    return drawn


def _chosen(found: list[Column], name: str) -> Column:
    for column in found:
        if column.name == name:
            return column
    known = ", ".join(repr(column.name) for column in found)
    raise ValueError(f"colour must be one of {known}, got {name!r}")


def _colours(column: Column) -> list[Any]:
    if isinstance(column, Kinds):
        palette = np.array([*PALETTE, REST])
        none = np.array([kind == "" for kind in column.kinds])
        code = np.where(none[column.codes], len(PALETTE), np.minimum(column.codes, len(PALETTE)))
        return [str(value) for value in palette[code]]
    known = np.isfinite(column.values)
    low, high = (column.values[known].min(), column.values[known].max()) if known.any() else (0.0, 1.0)
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


def _to_points(places: Floats, size: Floats) -> Floats:
    """Places stretched over a picture of so many points, with a margin."""
    margin = 28.0
    span = np.maximum(np.ptp(places, axis=0), 1e-12)
    found: Floats = margin + (places - places.min(0)) / span * (size - 2.0 * margin)
    return found


def _draw_ties(axis: Axes, graph: Graph, rows: Ints, points: Floats, kinds: list[Any] | None, line: str) -> None:
    place = np.full(graph.n_nodes, -1)
    place[rows] = np.arange(len(rows))
    ends = place[graph.edges]
    among = np.flatnonzero((ends >= 0).all(axis=1))
    kept = among[backbone(ends[among], graph.weights[among], len(rows))]
    kept = kept[np.argsort(graph.weights[kept], kind="stable")]
    if not len(kept):
        return
    share = np.argsort(np.argsort(graph.weights[kept], kind="stable")) / max(1, len(kept) - 1)
    crowd = float(np.clip(np.sqrt(500 / len(kept)), 0.25, 1.0))
    first, second = ends[kept].T
    within = [kinds is not None and kinds[a] == kinds[b] != REST for a, b in zip(first, second, strict=True)]
    colours = [kinds[a] if kinds is not None and same else line for a, same in zip(first, within, strict=True)]
    opacity = crowd * (0.25 + 0.3 * share) * np.where(within, 1.2, 0.7)
    paths = [bow(points[a], points[b]) for a, b in zip(first, second, strict=True)]
    axis.add_collection(LineCollection(paths, colors=colours, linewidths=0.4 + 1.6 * share**3, alpha=opacity, zorder=1))


def _importance(graph: Graph | None, rows: Ints) -> Ints:
    """The order in which nodes are named: the top of the ranking, and then the strongest."""
    others = np.arange(_ALWAYS, len(rows))
    if graph is not None:
        others = others[np.argsort(-graph.strength[rows[others]], kind="stable")]
    return np.concatenate((np.arange(min(_ALWAYS, len(rows))), others))


def place_names(texts: list[str], points: Floats, radii: Floats, size: Floats, order: Ints) -> list[Name]:
    """Names inside a picture of so many points, none over another: the first ten always, others where there is room."""
    boxes: list[tuple[Floats, Floats]] = []
    found: list[Name] = []
    for number, node in enumerate(order.tolist()):
        text, important = texts[node], number < _ALWAYS
        extent = _extent(text, important)
        middle, cost = _best(_beside(points[node], radii[node] + 2.5, extent), extent, boxes, points, radii, node, size)
        led = False
        away = radii[node] + 12.0
        while important and away < _FARTHEST and (middle is None or cost > 24.0):
            ring = [(float(np.cos(turn)), float(np.sin(turn))) for turn in 2 * np.pi * np.arange(_RINGS) / _RINGS]
            other, price = _best(_beside(points[node], away, extent, ring), extent, boxes, points, radii, node, size)
            if other is not None and (middle is None or price + away / 2.0 < cost):
                middle, cost, led = other, price + away / 2.0, True
            away += 10.0
        if middle is None or (not important and cost >= (8.0 if number < _FIRST else 3.0)):
            continue
        boxes.append((middle - extent / 2.0, middle + extent / 2.0))
        found.append(Name(node, text, middle, extent, important, led))
    return found


def _extent(text: str, important: bool) -> Floats:
    size = 9.5 if important else 7.5
    if not text.strip():
        return np.array([size, size])
    wide = TextPath((0, 0), plain(text), size=size).get_extents().width
    return np.array([wide * (1.18 if important else 1.06) + 4.0, 1.25 * size])


def _beside(at: Floats, away: float, extent: Floats, sides: Any = _SIDES) -> list[Floats]:
    return [at + away * np.array(side) + 0.5 * np.sign(np.round(2.0 * np.array(side))) * extent for side in sides]


def _best(
    middles: list[Floats], extent: Floats, boxes: list[tuple[Floats, Floats]], points: Floats, radii: Floats, own: int,
    size: Floats,
) -> tuple[Floats | None, float]:  # fmt: skip
    """Of places that are free and inside, the one that covers the fewest dots; None where none is."""
    best: Floats | None = None
    least = np.inf
    for number, middle in enumerate(middles):
        low, high = middle - extent / 2.0, middle + extent / 2.0
        if (low < 3.0).any() or (high > size - 3.0).any():
            continue
        if any((low < top).all() and (bottom < high).all() for bottom, top in boxes):
            continue
        gap = np.maximum(np.maximum(low - points, points - high), 0.0)
        hit: NDArray[np.bool_] = (gap**2).sum(1) < radii**2
        hit[own] = False
        cost = min(float((3.0 + radii[hit]).sum()), _WORST) + 0.4 * number
        if cost < least:
            best, least = middle, cost
    return best, least


def _draw_names(axis: Axes, placed: list[Name], points: Floats, ink: str, paper: str) -> None:
    for name in placed:
        if name.led:
            line = np.stack((points[name.node], name.middle))
            axis.plot(*line.T, color=ink, lw=0.6, alpha=0.6, zorder=3)
        x, y = name.middle.tolist()
        axis.text(
            x, y, plain(name.text), ha="center", va="center", color=ink, zorder=4,
            fontsize=9.5 if name.important else 7.5, fontweight="bold" if name.important else "normal",
            path_effects=[withStroke(linewidth=2.2, foreground=paper, alpha=0.85)],
        )  # fmt: skip
