"""A labelled map of an embedding as a still picture: what the report shows first, drawn by matplotlib."""

from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from ..arrays import Floats, Ints
from ..embedding import Embedding
from ..graph import Graph
from .colours import PALETTE, REST, Column, Kinds, columns
from .labels import ALWAYS, draw_names, place_names, plain, shortened
from .layout import map_of
from .names import labels_of, names_of
from .on_matplotlib import STYLE, NotebookFigure
from .ties import backbone, bow, edges_among

Theme = Literal["light", "dark"]
_THEMES = {"light": ("white", "#1b1f24", "#7d8894"), "dark": ("#12161b", "#e8ebee", "#8b96a1")}  # paper, ink, ties
_MOST_NODES = 5_000
_MARGIN = 28.0


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
    known = {column.name: column for column in columns(embedding, graph, rows)}
    if colour not in known:
        raise ValueError(f"colour must be one of {', '.join(map(repr, known))}, got {colour!r}")
    column = known[colour]
    colours = _colours(column)
    dots = _dots(graph, rows)
    paper, ink, line = _THEMES[theme]
    with mpl.rc_context(STYLE):
        drawn = NotebookFigure(figsize=size, facecolor=paper)
        top = 0.93 if title else 1.0
        axis = drawn.add_axes((0.0, 0.0, 1.0, top))
        axis.set_axis_off()
        room = np.array(size) * 72.0 * (1.0, top)  # in points
        span = np.maximum(np.ptp(found.places, axis=0), 1e-12)
        points = _MARGIN + (found.places - found.places.min(0)) / span * (room - 2.0 * _MARGIN)
        axis.set(xlim=(0, room[0]), ylim=(0, room[1]))
        if graph is not None:
            _draw_ties(axis, graph, rows, points, colours if isinstance(column, Kinds) else None, line)
        axis.scatter(points[:, 0], points[:, 1], s=dots**2, c=colours, edgecolors=paper, linewidths=0.8, zorder=2)
        called = names_of(list(embedding.ids), labels_of(embedding, graph))
        texts = [shortened(called[int(row)]) for row in rows]
        others = np.arange(ALWAYS, len(rows))
        if graph is not None:
            others = others[np.argsort(-graph.strength[rows[others]], kind="stable")]
        # The top of the ranking is named first, and then the strongest.
        order = np.concatenate((np.arange(min(ALWAYS, len(rows))), others))[:names]
        placed = place_names(texts, points, dots / 2.0, room, order)
        draw_names(axis, placed, points, ink, paper)
        if title:
            drawn.text(0.02, 0.965, plain(title), color=ink, fontsize=14, fontweight="bold", va="center")
    return drawn


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


def _draw_ties(axis: Axes, graph: Graph, rows: Ints, points: Floats, kinds: list[Any] | None, line: str) -> None:
    among, ends = edges_among(graph, rows)
    first, second = ends[backbone(ends, graph.weights[among], len(rows))].T
    if not len(first):
        return
    share = np.arange(len(first)) / max(1, len(first) - 1)  # by strength
    crowd = float(np.clip(np.sqrt(500 / len(first)), 0.25, 1.0))
    within = [kinds is not None and kinds[a] == kinds[b] != REST for a, b in zip(first, second, strict=True)]
    colours = [kinds[a] if kinds is not None and same else line for a, same in zip(first, within, strict=True)]
    opacity = crowd * (0.25 + 0.3 * share) * np.where(within, 1.2, 0.7)
    paths = [bow(points[a], points[b]) for a, b in zip(first, second, strict=True)]
    axis.add_collection(LineCollection(paths, colors=colours, linewidths=0.4 + 1.6 * share**3, alpha=opacity, zorder=1))
